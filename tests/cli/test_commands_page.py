"""The page of the command line: what it shows runs, and it shows what the help does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_runner import examples_of_help, run

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
RUN = ("boost", "fit", "path", "predict")
"""Commands whose lines need nothing but what the lines before have made."""


def commands_of_page() -> list[list[str]]:
    """Return the commands of the page, word by word, in their order."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines() if line]
    return [shlex.split(part.partition(" > ")[0])[1:] for line in lines for part in line.split(";")]


@pytest.mark.parametrize("command", RUN)
def test_the_examples_of_the_help_are_on_the_page(command: str) -> None:
    help_examples = examples_of_help(command)
    assert help_examples and all(words in commands_of_page() for words in help_examples)


@pytest.mark.thorough
def test_commands_on_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The commands of a cluster run in test_cluster_commands.py, which has a cluster.
    commands = [words for words in commands_of_page() if words[0] in RUN and "--cluster" not in words]
    assert {words[0] for words in commands} == set(RUN)
    for words in commands:
        result = run(*words)
        assert result.exit_code == 0, (words, result.stderr)
    file_names = {"model.npz", "wine.npz", "predictions.csv", "going.npz", "run.npz", "class.json", "proof.json"}
    file_names |= {"bounds.png", "path.png"}
    assert {path.name for path in tmp_path.iterdir()} == file_names
