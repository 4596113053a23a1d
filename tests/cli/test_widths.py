"""On 80 columns, and on 120, no line of the command line is wider, no word is broken, and a command can be copied."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, cast

import pytest
from command_runner import write_examples
from support.problems import reference_lpboost, right
from typer.main import get_command
from typer.testing import CliRunner

import boostopt.cli
from boostopt import compare
from boostopt.cli.application import EXAMPLE_WIDTH, wrap_shell_commands
from boostopt.comparison.rendering.progress_output import ComparisonProgress

COMMANDS: list[str] = sorted(cast(Any, get_command(boostopt.cli.app)).commands)
HELPS = [
    [],
    *([name] for name in COMMANDS),
    *(["new", kind] for kind in ("regularizer", "formulation", "oracle", "backend")),
]


def lines(width: int, *arguments: object) -> list[str]:
    """Run a command whose output is no terminal, and return its lines."""
    runner = CliRunner(env={"COLUMNS": str(width), "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    result = runner.invoke(boostopt.cli.app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.stderr
    return result.stdout.splitlines()


def test_every_command_is_looked_at() -> None:
    assert {"boost", "compare", "fit", "list", "path", "predict"} < set(COMMANDS)


@pytest.mark.parametrize("words", HELPS, ids=lambda words: " ".join(words) or "boostopt")
def test_help_fits_and_breaks_no_word(words: list[str]) -> None:
    help_lines = lines(80, *words, "--help")
    assert max(map(len, help_lines)) <= 80
    assert not [line for line in help_lines if re.search(r"[a-z]-$", line)]
    # A sentence that was cut off would end so; a list of examples ends with a comma before it.
    sentences = [line for line in help_lines if "[ARGS]" not in line and "Usage:" not in line]
    assert not [line for line in sentences if re.search(r"(?<!,)(?<!, )\.\.\.$", line)]


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit(tmp_path: Path, width: int) -> None:
    data = write_examples(tmp_path / "data.npz")
    how = ("--data", data, "--nu", "0.3", "--epsilon", "0.3")
    for words in (
        ("list", "--backends", "interior,highs"),
        ("compare", "lpboost", "--data", data, "--nu", "0.3", "--columns", 5, "--backends", "interior,highs"),
        ("compare", "lpboost", "--data", data, "--nu", "0.3", "--columns", 5, "--backends", "highs", "--repeats", 1),
        ("boost", "erlpboost", *how),
        ("path", "erlpboost", "--data", data, "--nu", "0.3,0.6", "--epsilon", "0.3"),
        ("fit", "--out", tmp_path / f"{width}.npz", *how),
        ("export", "lpboost", "--data", data, "--nu", "0.3", "--out", tmp_path / f"{width}.mps"),
        ("check", "lpboost", "--verbose"),
    ):
        output_lines = lines(width, *words)
        # The path of a file is as long as it is.
        assert max(len(line) for line in output_lines if str(tmp_path) not in line) <= width, words
        assert not any("…" in line for line in output_lines), words
        # A column of one letter has three with the blanks beside it.
        borders = [line for line in output_lines if line.startswith(("┏", "┌"))]
        assert min((len(part) for line in borders for part in re.findall("[━─]+", line)), default=4) > 3, words


@pytest.mark.parametrize(
    "command",
    [
        "boostopt list",
        "boostopt compare erlpboost --data breast_cancer --nu 0.1 --eta 1000 --backends interior,cvxpy:scs --json",
        "boostopt certify lpboost ANSWER --data 'a file; of mine, long enough.npz' --set nu=5.7 --set eta=1000.0",
    ],
)
def test_a_folded_command_is_the_same_command(command: str) -> None:
    folded_command = wrap_shell_commands(command)
    assert shlex.split(folded_command.replace("\\\n", "")) == shlex.split(command)
    assert all(len(line) <= EXAMPLE_WIDTH + 2 for line in folded_command.splitlines())
    assert not re.search(r"--\w+ \\\n", folded_command)


def test_commands_after_each_other_begin_a_line_each() -> None:
    assert (
        wrap_shell_commands("boostopt fit --out m.npz; boostopt predict m.npz")
        == "boostopt fit --out m.npz;\nboostopt predict m.npz"
    )


# Progress of one comparison


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


def comparison_text(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """Return the text of a comparison of two solvers."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "80", **environment}.items():
        monkeypatch.setenv(name, value)
    program = reference_lpboost()
    with redirect_stderr(stream):
        compare(program, [right("a"), right("b")], 1e-4, progress=True)
    return stream.getvalue()


def test_on_a_terminal_solvers_follow_each_other_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = comparison_text(Terminal(), monkeypatch)
    plain_text: Any = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert re.search(r"\bsolver 1 of 2, a\b.*\bsolver 2 of 2, b, a: bounded, gap ", plain_text, re.DOTALL)
    assert "..." not in plain_text and plain_text.count("\n") <= 1


def test_elsewhere_a_line_says_what_runs_and_one_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    progress_lines = comparison_text(io.StringIO(), monkeypatch).splitlines()
    assert [line.partition(":")[0] for line in progress_lines] == ["a ...", "a", "b ...", "b"]


def test_a_narrow_line_leaves_out_what_came_of_the_last_one_first() -> None:
    line = ComparisonProgress(5, print, 1, "cvxpy:clarabel: bounded, gap 1.0e-10, 0.11 s")
    full = "solver 2 of 5, highs, cvxpy:clarabel: bounded, gap 1.0e-10, 0.11 s"
    assert [line.line("highs", width) for width in (None, len(full), 60, 10)] == [
        *(full, full, "solver 2 of 5, highs", "highs")
    ]
