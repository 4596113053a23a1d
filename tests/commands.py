"""The command line, run in this process, for its tests."""

from __future__ import annotations

import re
from typing import Any

from typer.testing import CliRunner

from boostopt.cli import app


def run(*arguments: object) -> Any:
    """Run the command line; an exception that is no exit fails the test."""
    # Neither the terminal that the tests run in nor a wish for colours changes what is tested.
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def refused(message: str, *arguments: object) -> None:
    """Bad input: status 2, the message on the standard error, nothing on the standard output."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(rf"^error: {message}", result.stderr, re.MULTILINE), result.stderr
