"""The entry of a format of files: its ending, its programs, and the function that prepares a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program

FileWriter = Callable[[IO[bytes]], object]
"""A function that writes into an open file."""


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A format in which a program, or its instance, can be written.

    Attributes
    ----------
    ending
        The ending of its files, in lower case with the dot.
    scope
        The programs that it holds, for help texts and messages.
    is_instance
        Whether it holds the instance, from which the program is bound, and not a side of the program.
    prepare
        Function of a program and a side that returns the writer of the file. It raises OptionError or DataError, before
        there is a file, for a program that the format cannot hold.
    """

    ending: str
    scope: str
    is_instance: bool = False
    prepare: Callable[[Program, Side], FileWriter]
