"""Programs from files: the reader of a file is chosen by the ending of the name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from boostopt._utils.files import file_suffix, read_bytes
from boostopt._utils.validation import check_path
from boostopt.conic_programs.conic_program import ConicProgram
from boostopt.conic_programs.readers.cbf_reader import read_cbf
from boostopt.conic_programs.readers.matlab_reader import read_matlab
from boostopt.conic_programs.readers.mps_reader import read_mps
from boostopt.conic_programs.readers.npz_reader import read_program_archive
from boostopt.conic_programs.readers.sdpa_reader import read_sdpa
from boostopt.errors import DataError, ProblemError

TEXT_READERS: dict[str, Callable[[Path, str], ConicProgram]] = {
    ".mps": read_mps,
    ".qps": read_mps,
    ".sif": read_mps,
    ".cbf": read_cbf,
    ".dat-s": read_sdpa,
    ".sdpa": read_sdpa,
}
"""Readers of text formats by the ending of the file."""

BINARY_READERS: dict[str, Callable[[Path, bytes], ConicProgram]] = {".mat": read_matlab, ".npz": read_program_archive}
"""Readers of other formats."""

ENDINGS = (*TEXT_READERS, *BINARY_READERS)
"""Endings of files that are read; `.gz`, `.bz2` and `.xz` may follow."""


def load_problem(path: str | os.PathLike[str]) -> ConicProgram:
    """Return the convex program of a file.

    Parameters
    ----------
    path
        MPS and QPS (`.mps`, `.qps`, `.sif`, fixed or free), CBF (`.cbf`), SDPA's sparse format (`.dat-s`, `.sdpa`), the
        MATLAB files of LPnetlib and qpbenchmark (`.mat`), or archives of `save_problem` (`.npz`); compressed or not.

    Raises
    ------
    DataError
        There is no such file, its ending is unknown, or its content is not as the format states, or tools read it as
        different programs. Messages about a line of a text name the line.
    """
    file = check_path("path", path, DataError)
    suffix = file_suffix(file)
    if suffix not in ENDINGS:
        raise DataError(f"{file}: expected a file ending in {', '.join(ENDINGS)}; got {suffix!r}. Rename the file.")
    content = read_bytes(file)
    if suffix in BINARY_READERS:
        return BINARY_READERS[suffix](file, content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    try:
        return TEXT_READERS[suffix](file, text)
    except ProblemError as failure:
        raise DataError(f"{file}: expected numbers of a program; {failure}") from failure
    except MemoryError as failure:
        raise DataError(
            f"{file}: expected a program that fits into the memory; got a larger one. State less."
        ) from failure
