"""The command line, run in this process, for its tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer.main
import typer.testing
from typer.testing import CliRunner

from boostopt.cli import app

# The runner reads the parameters of all commands anew for every call; the commands do not change.
setattr(typer.testing, "_get_command", cache(typer.main.get_command))  # noqa: B010


def run(*arguments: object) -> Any:
    """Run the command line; an exception that is no exit fails the test."""
    # Neither the terminal that the tests run in nor a wish for colours changes what is tested.
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
