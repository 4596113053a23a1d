"""Decision stumps that AdaBoost chooses: hypotheses for a program that is not trivial."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float, Int8
from boostopt._utils.validation import check_integer, generator
from boostopt.oracles.base import Query
from boostopt.oracles.labelled_examples import LabelledExamples, check_examples, check_features_and_labels
from boostopt.oracles.stumps.exhaustive_stump_oracle import DecisionStumps
from boostopt.oracles.stumps.random_stump_matrix import draw_stumps
from boostopt.oracles.stumps.stump import Stump

MAX_ROWS = 2_000
"""Number of rows from which stumps are chosen; the seed draws as many if there are more."""

MAX_ROUNDS = 4
"""Rounds of AdaBoost for each column wanted."""

N_CANDIDATES = 10
"""Stumps that the oracle offers in a round; the best new one of them is added."""

MAX_EDGE = 1.0 - 1e-9
"""Edge above which the step of AdaBoost no longer grows."""


def boosted_stump_matrix(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    t: int,
    random_state: int | np.random.Generator | None = 0,
    c: npt.ArrayLike | None = None,
) -> Int8[Array, "N columns"]:
    """Choose decision stumps by boosting and return their margin matrix U[n, q] = y_n h_q(x_n).

    AdaBoost begins with example weights that the seed draws uniformly from the simplex, times the multiplicities. In
    each round the stump with the largest edge joins, and the weights are multiplied by exp(-alpha u), where u are its
    margins, e is its edge, and alpha = ln((1 + e) / (1 - e)) / 2 (Freund and Schapire 1997). No stump joins twice, and
    all stumps of a feature have the direction of its first one. If boosting finds no further stump, the seed draws the
    others as `stump_matrix` does.

    `stump_matrix` draws each stump with its negation. Then equal weights of the hypotheses prove a soft margin of 0,
    and on noisy examples 0 is the optimum of LPBoost. With one direction for each feature it is so less often.

    Parameters
    ----------
    X
        Features, shape (N, features), finite. If more than 2,000 rows count, the seed draws 2,000 to choose by.
    y
        Labels, shape (N,): -1 and 1, 0 and 1, or False and True; the larger one is class 1. Both must occur.
    t
        Number of columns wanted, at least 1.
    random_state
        Seed or generator. Equal seeds give equal matrices.
    c
        Multiplicities, shape (N,), non-negative, 1 by default. Examples with 0 do not count, but they have margins.

    Returns
    -------
    int8 array of shape (N, columns), entries -1 or 1, in the order of choice: t columns, or fewer if there are fewer
    stumps.

    Raises
    ------
    ProblemError
        X, y or c has a wrong shape, an entry of X is not a finite number, labels are invalid or of one class only, or a
        multiplicity is negative.
    OptionError
        t is smaller than 1, or the seed is negative.
    """
    t = check_integer("t", t, 1, "a whole number of columns", "Ask for one or more.")
    rng = generator("random_state", random_state)
    features, labels = check_features_and_labels(X, y)
    examples = check_examples(features, labels, c)
    stumps = _choose_stumps(_sample(examples, rng), t, rng)
    dense = features.toarray() if scipy.sparse.issparse(features) else features
    if len(stumps) < t:
        stumps += _draw_further(dense[examples.input_rows], examples, stumps, t, rng)
    if not stumps:  # all features are constant: so is the only hypothesis
        sign = 1 if examples.c @ examples.y >= 0.0 else -1
        stumps = [Stump(0, -math.inf, sign, dense.shape[1])]
    return np.stack([stump(dense).astype(np.int8) * labels for stump in stumps], axis=1)


def _sample(examples: LabelledExamples, rng: np.random.Generator) -> DecisionStumps:
    """Return the oracle over the examples, or over MAX_ROWS of them."""
    if examples.N <= MAX_ROWS:
        return DecisionStumps(examples.X, examples.y, examples.c)
    rows = np.sort(rng.choice(examples.N, MAX_ROWS, replace=False))
    return DecisionStumps(examples.X[rows], examples.y[rows], examples.c[rows])


def _choose_stumps(oracle: DecisionStumps, t: int, rng: np.random.Generator) -> list[Stump]:
    """Return at most t different stumps in the order in which AdaBoost chooses them."""
    log_weights = np.log(oracle.c) + np.log(rng.exponential(size=oracle.N))
    stumps: dict[tuple[int, float], Stump] = {}
    signs: dict[int, int] = {}
    for _ in range(MAX_ROUNDS * t):
        d: ExampleVector = np.exp(log_weights - log_weights.max())
        columns = oracle.best(Query(d / d.sum(), N_CANDIDATES)).columns
        if len(stumps) == t or columns[0].edge <= 0.0 or math.isinf(cast(Stump, columns[0].hypothesis).threshold):
            break
        for column in columns:
            stump = cast(Stump, column.hypothesis)
            place = stump.feature, stump.threshold
            if column.edge > 0.0 and place not in stumps and signs.setdefault(stump.feature, stump.sign) == stump.sign:
                stumps[place] = stump
                break
        else:
            column = columns[0]  # no stump is added, but the weights change
        log_weights -= math.atanh(min(column.edge, MAX_EDGE)) * column.margins
    return list(stumps.values())


def _draw_further(
    X: Float[Array, "N features"], examples: LabelledExamples, stumps: list[Stump], t: int, rng: np.random.Generator
) -> list[Stump]:
    """Draw further stumps until there are t, in the direction of other stumps of their feature."""
    signs = {stump.feature: stump.sign for stump in stumps}
    places = {(stump.feature, stump.threshold) for stump in stumps}
    new_places = [place for place in draw_stumps(X, t, rng) if place not in places][: t - len(stumps)]
    for feature, threshold in new_places:
        signed_counts = np.where(X[:, feature] > threshold, examples.c, -examples.c)
        signs.setdefault(feature, 1 if signed_counts @ examples.y >= 0.0 else -1)
    return [Stump(feature, threshold, signs[feature], X.shape[1]) for feature, threshold in new_places]
