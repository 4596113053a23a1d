"""The program of a certificate file: in the file, in a file beside it, or the data of the verifier."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from boostopt._utils.files import file_suffix
from boostopt._utils.validation import check_path
from boostopt.conic_programs.conic_program import ConicProgram, Numbers
from boostopt.errors import ProblemError, short_repr
from boostopt.verification.statement_files import StatementFormat
from boostopt.verification.trusted_kernel.json_parsing import parse_json, reject


@dataclass(frozen=True)
class ProgramStatements:
    """The form in which certificates of one kind state their programs.

    Attributes
    ----------
    files
        The format of files that hold a statement alone.
    to_json
        Returns the statement of a program.
    parse
        Returns what a statement means, to be compared; Rejected for another value.
    supports
        Whether a program may be stated.
    noun
        The programs, in words.
    """

    files: StatementFormat
    to_json: Callable[[ConicProgram], dict[str, Any]]
    parse: Callable[[Any], Any]
    supports: Callable[[ConicProgram], bool]
    noun: str

    def with_program(self, top: Mapping[str, Any], data: Any, folder: Path | None) -> Mapping[str, Any]:
        """Return the object of a certificate with the statement of its program, which is that of the data.

        Parameters
        ----------
        top
            The object.
        data
            The ConicProgram that the file must state, or its MPS file or another one that `load_problem` reads; or the
            path of the file of the statement; None to check the program of the certificate.
        folder
            The folder of the certificate, in which the file of its program may lie; None if there is none.

        Raises
        ------
        Rejected
            The certificate states another program, or there is no statement.
        ProblemError
            The data are neither such a program nor a path.
        DataError
            A file of a program is not as its format states.
        """
        place = top.get(self.files.name)
        is_beside = self.files.is_beside(top)
        if data is not None and (is_program_file(data) or not isinstance(data, str | PathLike)):
            statement = self._equal_statement(place, is_beside, self._statements_of(data))
            return {**top, self.files.name: statement}
        if is_beside and isinstance(place, dict):
            path = self.files.path_beside(place, folder) if data is None else check_path("data", data)
            return {**top, self.files.name: self.files.read(path, place)}
        if data is not None:
            reject("the certificate holds its program, and no other statement belongs to it; leave the data out")
        return top

    def _statements_of(self, data: Any) -> list[Any]:
        """Return the statements of a program, as JSON has them; of a file, with both meanings of its numbers."""
        from boostopt.conic_programs.readers.load_problem import load_problem

        programs = [data]
        if is_program_file(data):
            programs = [replace(load_problem(data), numbers=numbers) for numbers in get_args(Numbers)]
        for program in programs:
            if not isinstance(program, ConicProgram) or not self.supports(program):
                raise ProblemError(
                    f"expected the {self.noun} that the file states, a boostopt.ConicProgram or the path of its file; "
                    f"got {short_repr(data)}. Leave the data out to check the program of the certificate."
                )
        return [parse_json(json.dumps(self.to_json(program)).encode()) for program in programs]

    def _equal_statement(self, place: Any, is_beside: bool, statements: Sequence[Any]) -> Any:
        """Return the statement that is the one of the certificate; Rejected if none is."""
        for statement in statements:
            if is_beside and self.files.digest_of(statement) == place["sha256"]:
                return statement
            if not is_beside and self.parse(statement) == self.parse(place):
                return statement
        reject("the certificate states another program than the data")


def is_program_file(path: Any) -> bool:
    """Return whether a value is the path of a file that `load_problem` reads."""
    from boostopt.conic_programs.readers.load_problem import ENDINGS

    return isinstance(path, str | PathLike) and file_suffix(check_path("data", path)) in ENDINGS
