"""Checks before any work: the packages that reports need, and the path of the report."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from tempfile import NamedTemporaryFile

from boostopt._utils.files import is_same_file, resolve_target
from boostopt._utils.validation import check_list, check_path
from boostopt.errors import BoostoptError, DataError, reason_of

REQUIRED_PACKAGES = ("jinja2", "latex2mathml", "matplotlib")
"""Packages that reports need."""


class ReportToolsNotFound(BoostoptError, ImportError):
    """Reports need Jinja, latex2mathml and matplotlib, and one of them is not installed."""


def check_tools() -> None:
    """Check that every package that reports need is installed.

    Raises
    ------
    ReportToolsNotFound
        A package is not installed.
    """
    missing = [name for name in REQUIRED_PACKAGES if find_spec(name) is None]
    if missing:
        raise ReportToolsNotFound(
            f"reports expected an installed {' and '.join(missing)}; there is none. Install what reports need: "
            'pip install "boostopt[report]".'
        )


def check_place(path: str | os.PathLike[str], input_paths: Iterable[str | os.PathLike[str] | None] = ()) -> None:
    """Check that a report can be written to a path, without touching an existing file.

    Parameters
    ----------
    path
        The path of the report.
    input_paths
        Input files that the report must not replace; None for none.

    Raises
    ------
    DataError
        The report cannot be written, or it would replace an input file.
    """
    path = check_path("path", path, DataError)
    inputs = (
        [input_paths]
        if isinstance(input_paths, str | os.PathLike)
        else check_list("read", input_paths, "paths of files")
    )
    for input_path in inputs:
        if input_path is not None and is_same_file(path, check_path("read", input_path, DataError)):
            raise DataError(f"expected a file of its own for the report; {path} is read. Choose another name.")
    target = resolve_target(path)
    try:
        # A file is created and removed, because permissions alone do not prove that the disk can be written.
        with NamedTemporaryFile(prefix=f".{target.name}.", suffix=".partial", dir=target.parent):
            pass
    except (OSError, ValueError) as failure:
        raise DataError(f"{path} cannot be written: {reason_of(failure)}. Choose another place.") from failure
