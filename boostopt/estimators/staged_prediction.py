"""Runs of boosting as a classifier after each of their rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.boosting.run.combined_hypothesis import combined
from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError
from boostopt.estimators.binary_model import side_by_side
from boostopt.oracles import Given, evaluate


def stages(runs: Sequence[Run], X: Any) -> Iterator[Float[Array, " n *classes"]]:
    """Yield the decision function after each round; runs that have ended stay as they are.

    Raises
    ------
    OptionError
        The weights of the rounds were not kept.
    """
    last: list[Any] = [None] * len(runs)
    for values in zip_longest(*(_of_run(run, X) for run in runs)):
        last = [before if now is None else now for before, now in zip(last, values, strict=True)]
        yield side_by_side(last)


def _of_run(run: Run, X: Any) -> Iterator[Float[Array, " n"]]:
    """Yield f(x) for each row of X after each round; the last is that of the final weights.

    Each hypothesis is evaluated once.
    """
    history = run.record.history
    if not history.wanted:
        raise OptionError(
            "stages need the weights of every round; a corrective run with a max_iter above 1000 does not keep them. "
            "Set max_iter to at most 1000."
        )
    H = np.column_stack(list(evaluate(run.hypotheses, X)))
    columns = [Given(q) for q in range(H.shape[1])]
    for kept in history.rounds[:-1]:
        yield combined(columns[: kept.t], kept.w.full, H)
    yield run.decision_function(X)
