"""The entry point: write a program in the format that the ending of the file names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from boostopt._utils.files import write_atomically
from boostopt._utils.lazy_names import import_modules
from boostopt._utils.validation import check_choice, check_path
from boostopt.errors import OptionError
from boostopt.exporting.file_format import FileFormat
from boostopt.programs.cvxpy_models import Side
from boostopt.programs.program import Program
from boostopt.solving.solve import check_program

FORMATS: Mapping[str, FileFormat] = {
    module.FORMAT.ending: module.FORMAT for module in import_modules("boostopt.exporting.formats")
}
"""The formats by the endings of their files: a module of `formats` states each."""

FORMAT_LIST = ", ".join(f"{ending} ({entry.scope})" for ending, entry in FORMATS.items())
"""The endings with the programs that they hold, for help texts and messages."""

SIDES: tuple[Side, ...] = ("primal", "dual")


def export(program: Program, path: str | os.PathLike[str], side: str = "primal") -> None:
    """Write a bound program, or its instance, in a format that other tools read.

    Parameters
    ----------
    program
        The program to write.
    path
        ".mps" for linear and convex quadratic programs; ".cbf" (version 3) also for programs with second-order,
        exponential and power cones; ".npz" for the instance: U, c and d0, from which the same program can be bound.
    side
        "primal" (over d) or "dual" (over w, as the minimum of minus its objective); ignored for an instance.

    Raises
    ------
    OptionError
        The side or the ending is unknown, the format cannot hold the program, or the dual cannot be derived.
    DataError
        The file cannot be written, or the instance is too large for its format.

    Notes
    -----
    Columns are named d_1, ..., d_N (w_1, ..., w_t) and e_q (m_n) in MPS; in CBF they are the first ones. The first
    rows are e - U'd = 0, named w_q (Uw - m = 0, named d_n); their multipliers are the other side's variables.
    """
    check_program(program)
    target, side = check_path("path", path), check_choice("side", side, SIDES)
    write_atomically(target, format_of(target).prepare(program, side))


def format_of(path: Path) -> FileFormat:
    """Return the format that the ending of a path names.

    Raises
    ------
    OptionError
        The ending is unknown.
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise OptionError(
            f"expected a path that ends in {FORMAT_LIST}; got {str(path)!r}. Choose one of these endings."
        )
    return FORMATS[ending]
