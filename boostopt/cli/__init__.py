"""The command line `boostopt`."""

from __future__ import annotations

from boostopt.cli.application import app, report_write_error
from boostopt.cli.commands import (
    boost,
    certify,
    certify_problem,
    check,
    compare,
    export,
    fit,
    new,
    path,
    predict,
    report,
    verify,
)
from boostopt.cli.commands import list as listing
from boostopt.cli.standard_streams import discard_unwritable_stdout, harden_std_streams

__all__ = [
    "app",
    "boost",
    "certify",
    "certify_problem",
    "check",
    "compare",
    "export",
    "fit",
    "listing",
    "main",
    "new",
    "path",
    "predict",
    "report",
    "verify",
]


def main() -> None:
    """Run the command line; the exit status is 2 if the output cannot be written, also for help and version."""
    harden_std_streams()
    try:
        app()
    except OSError as failure:
        report_write_error(failure)
        raise SystemExit(2) from None
    finally:
        discard_unwritable_stdout()
