"""A run of boosting as a classifier after each of its rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from boostopt.boosting.classifier import combined
from boostopt.boosting.run import Run
from boostopt.errors import OptionError
from boostopt.oracles import Given, evaluate
from boostopt.shapes import Array, Float


def stages(run: Run, X: Any) -> Iterator[Float[Array, " n"]]:
    """Yield f(x) for each row of X after each round; the last is that of the final weights.

    Each hypothesis is evaluated once.

    Raises
    ------
    OptionError
        The weights of the rounds were not kept.
    """
    history = run.record.history
    if not history.wanted:
        raise OptionError(
            "stages need the weights of every round; a corrective run that may be long does not keep them. "
            "Set max_iter to 1000 at most."
        )
    H = np.column_stack(list(evaluate(run.hypotheses, X)))
    columns = [Given(q) for q in range(H.shape[1])]
    for kept in history.rounds[:-1]:
        yield combined(columns[: kept.t], kept.w.full, H)
    yield run.decision_function(X)
