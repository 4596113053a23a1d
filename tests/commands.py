"""The command line, run in this process, for its tests."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from boostopt.cli import app


def run(*arguments: object) -> Any:
    """Run the command line; an exception that is no exit fails the test."""
    # Neither the terminal that the tests run in nor a wish for colours changes what is tested.
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
