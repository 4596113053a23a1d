"""Messages of the library in the words of a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_runner import write_examples
from support.command_lines import run

from boostopt.cli.option_names import with_option_names

OPTIONS = ("nu", "eta", "epsilon", "max_iter", "time_limit", "reflexive", "update", "tol", "hypotheses")
"""Parameters of a command."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Correct drop=...", "Correct --drop."),
        ("Name it with label=... Known: a.", "Name it with --label. Known: a."),
        ("Leave out weights=...: an npz file has c.", "Leave out --weights: an npz file has c."),
        ("the classes with label=... (here 'x').", "the classes with --label (here 'x')."),
        ("Make the oracle with reflexive=True.", "Make the oracle with --reflexive."),
        ("update='step' needs a sum.", "--update step needs a sum."),
        ('Use update="total".', "Use --update total."),
        ("got max_iter=None.", "got no --max-iter."),
        ("Raise max_iter, or epsilon = 0.1.", "Raise --max-iter, or --epsilon = 0.1."),
        ("Pass max_iter or time_limit.", "Pass --max-iter or --time-limit."),
        ("tol must lie in (0, 1); got 2.", "--tol must lie in (0, 1); got 2."),
        ("hypotheses must be one of stumps; got 'x'.", "--hypotheses must be one of stumps; got 'x'."),
        # Names of files, columns and options of a solver stay as they are.
        ("max_iter.csv has no column 'max_iter'.", "max_iter.csv has no column 'max_iter'."),
        (
            "got time_limit=3, highs.time_limit=3 and other_max_iter.",
            "got time_limit=3, highs.time_limit=3 and other_max_iter.",
        ),
        ("the update of epsilon and the hypotheses.", "the update of epsilon and the hypotheses."),
    ],
)
def test_names_are_those_of_options(text: str, message: str) -> None:
    assert with_option_names(text, OPTIONS) == message


def test_names_that_a_command_lacks_stay() -> None:
    text = 'max_iter, update="total"'
    assert with_option_names(text, ("nu",)) == text


def test_reasons_against_several_programs_are_sentences(tmp_path: Path) -> None:
    result = run("compare", "softboost,svm", "--data", write_examples(tmp_path / "a.npz"))
    assert result.exit_code == 2
    assert re.search(r"\bsoftboost on \S*a\.npz: .*[a-z)]\. svm on \S*a\.npz: .*\.$", result.stderr.strip())
    assert not re.search(r"\.[;.]", result.stderr.replace("...", ""))
