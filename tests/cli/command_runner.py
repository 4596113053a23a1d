"""The command line in this process, and small data for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from support.command_lines import run


def refused(facts: str, *arguments: object) -> None:
    """Bad input: status 2, an error with these facts on the standard error, nothing on the standard output."""
    result = run(*arguments)
    assert result.exit_code == 2, result.stdout
    assert result.stdout == ""
    assert re.search(rf"^error: .*?(?:{facts})", result.stderr, re.MULTILINE), result.stderr


def document(*arguments: object, status: int = 0) -> dict[str, Any]:
    """Run a command that prints JSON and nothing else."""
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.stderr
    return json.loads(result.stdout)


def examples(N: int = 40, seed: int = 0) -> tuple[Any, Any]:
    """Four features, and a noisy line between two classes of the first two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4)).round(3)
    return X, np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=N) > 0, 1, -1)


def write_examples(path: Path) -> Path:
    """Write them as an npz file."""
    X, y = examples()
    np.savez(path, X=X, y=y)
    return path


def write_csv(path: Path, header: str, rows: Any) -> Path:
    """Write a CSV file."""
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def examples_of_help(command: str) -> list[list[str]]:
    """Return the commands of the line "Example:" in the help of a command, word by word."""
    text = " ".join(run(command, "--help").stdout.replace("\\\n", "").split())
    line = re.search(r"Example: (.*?) (?:Arguments|Options):", text)
    assert line is not None, text
    return [part.split()[1:] for part in line.group(1).split(";")]
