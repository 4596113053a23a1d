"""The command line `boostopt`."""

from __future__ import annotations

from boostopt._utils.lazy_names import import_modules
from boostopt.cli.application import app, report_write_error
from boostopt.cli.standard_streams import discard_unwritable_stdout, harden_std_streams

__all__ = ["app", "main"]

import_modules("boostopt.cli.commands")  # each of them adds its command to the application


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
