"""The command line."""

from __future__ import annotations

from boostopt.cli.application import app, say_unwritten
from boostopt.cli.commands import boost, certify, check, compare, export, fit, new, path, predict, report, verify
from boostopt.cli.commands import list as listing
from boostopt.cli.standard_streams import give_up_output, steady_streams

__all__ = [
    "app",
    "boost",
    "certify",
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
    steady_streams()
    try:
        app()
    except OSError as failure:
        say_unwritten(failure)
        raise SystemExit(2) from None
    finally:
        give_up_output()
