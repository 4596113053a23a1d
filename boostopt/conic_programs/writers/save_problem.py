"""Programs to files: the writer of a file is chosen by the ending of the name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boostopt._utils.files import write_atomically
from boostopt._utils.validation import check_instance, check_path
from boostopt.conic_programs.conic_program import ConeConstraint, ConicProgram
from boostopt.conic_programs.readers.cbf_reader import read_cbf
from boostopt.conic_programs.readers.matlab_reader import read_matlab
from boostopt.conic_programs.readers.mps_reader import read_mps
from boostopt.conic_programs.readers.npz_reader import read_program_archive
from boostopt.conic_programs.readers.sdpa_reader import read_sdpa
from boostopt.conic_programs.writers.cbf_writer import cbf_lines
from boostopt.conic_programs.writers.matlab_writer import matlab_content
from boostopt.conic_programs.writers.mps_writer import mps_lines
from boostopt.conic_programs.writers.npz_writer import archive_content
from boostopt.conic_programs.writers.sdpa_writer import sdpa_lines
from boostopt.errors import BoostoptError, DataError, OptionError

Format = tuple[Callable[[ConicProgram], bytes], Callable[[Path, bytes], ConicProgram]]
"""The content of a file, and its reader."""


def _text_format(lines: Callable[[ConicProgram], Any], read: Callable[[Path, str], ConicProgram]) -> Format:
    def write(program: ConicProgram) -> bytes:
        return "".join(f"{line}\n" for line in lines(program)).encode()

    return write, lambda path, content: read(path, content.decode())


FORMATS: dict[str, Format] = {
    ".npz": (archive_content, read_program_archive),
    ".mps": _text_format(mps_lines, read_mps),
    ".qps": _text_format(mps_lines, read_mps),
    ".cbf": _text_format(cbf_lines, read_cbf),
    ".dat-s": _text_format(sdpa_lines, read_sdpa),
    ".mat": (matlab_content, read_matlab),
}
"""The formats by the endings of their files."""

NUMBERS = ("c", "lower", "upper", "row_lower", "row_upper")


def save_problem(program: ConicProgram, path: str | os.PathLike[str]) -> None:
    """Write a convex program to a file that `load_problem` reads as the same program.

    Parameters
    ----------
    program
        The program.
    path
        `.npz` holds every program with all its attributes. MPS (`.mps`, `.qps`) holds linear and quadratic programs,
        CBF (`.cbf`) also second-order, exponential and power cones, SDPA's sparse format (`.dat-s`) semidefinite ones.
        A MATLAB file (`.mat`) has the arrays of LPnetlib, or of qpbenchmark. These four hold no meaning of numbers
        (`ConicProgram.numbers`), and CBF, SDPA and MATLAB no names.

    Raises
    ------
    OptionError
        The ending is unknown, or its format cannot hold this program. Then no file is written.
    DataError
        The file cannot be written.
    """
    check_instance("program", program, ConicProgram, "a boostopt.ConicProgram", "Call load_problem for a file.")
    target = check_path("path", path, DataError)
    ending = target.suffix.lower()
    if ending not in FORMATS:
        raise OptionError(
            f"expected a path that ends in {', '.join(FORMATS)}; got {str(target)!r}. Choose one of these endings."
        )
    write, read = FORMATS[ending]
    try:
        content = write(program)
    except UnicodeEncodeError as failure:
        raise OptionError(
            f"names must be texts of Unicode to be written; got one with {failure.reason}. Rename it, or write a path "
            "that ends in .npz."
        ) from failure
    try:
        different = differences(program, read(target, content))
    except BoostoptError as failure:
        raise OptionError(
            f"a file {ending} must be read as the same program; its reader says: {failure} Write a path that ends in "
            ".npz."
        ) from failure
    if different:
        raise OptionError(
            f"a file {ending} must be read as the same program; it would have another {', '.join(different)}. Write a "
            "path that ends in .npz."
        )
    write_atomically(target, lambda file: file.write(content))


def differences(program: ConicProgram, second: ConicProgram) -> list[str]:
    """Return the attributes in which two programs differ; of names, those that both have."""
    if program.shape != second.shape:
        return ["shape"]
    different = [name for name in NUMBERS if (getattr(program, name) != getattr(second, name)).any()]
    if (program.A != second.A).nnz:
        different.append("A")
    if (program.P is None) != (second.P is None) or (program.P is not None and (program.P != second.P).nnz):
        different.append("P")
    different += [name for name in ("offset", "is_maximized") if getattr(program, name) != getattr(second, name)]
    if len(program.cones) != len(second.cones) or not all(map(_are_equal, program.cones, second.cones)):
        different.append("cones")
    for name in ("column_names", "row_names"):
        names, second_names = getattr(program, name), getattr(second, name)
        if names and second_names and names != second_names:
            different.append(name)
    return different


def _are_equal(cone: ConeConstraint, second: ConeConstraint) -> bool:
    if (cone.kind, cone.A.shape) != (second.kind, second.A.shape):
        return False
    has_same_exponent = cone.kind != "power" or cone.exponent == second.exponent
    return has_same_exponent and not (cone.A != second.A).nnz and not (cone.b != second.b).any()
