"""Instances that test bounds for exact distributions when a solver returns approximate ones."""

from __future__ import annotations

import math

import numpy as np

from boostopt._utils.array_types import Array, Float, Int
from boostopt.errors import ProblemError
from boostopt.instances.known_instance import Instance, validate_count, validate_generator

N, N_FIRST, SUBSET_SIZE, MAX_FRACTIOND = 160, 80, 10, 5
"""The number of examples, of those where the first hypothesis is 0, of members of a subset, and of shared members."""

EPSILON = 0.2

MAX_ROUNDS = 10_000
"""The most rounds for which the subsets are found within seconds."""

BATCH_SIZE = 512
"""Number of subsets drawn at a time."""


def stalled_criterion(rounds: int = 8171, random_state: int | np.random.Generator = 0) -> Instance:
    """Return the columns of a run of ERLPBoost that makes no progress although each of its steps is legal.

    The first hypothesis is 0 on the first 80 of 160 examples and 1 on the others, so that the optimum has nearly
    uniform weights on the 80. In every later round the solver returns the uniform distribution on 10 of the 80, each
    time on another subset. No two subsets share more than 5 examples. At this distribution, all hypotheses so far have
    an edge of 0 or less, and the entropy costs 0.041 more than at the optimum, so the distribution is accurate to
    epsilon / 4. The oracle answers with +1 on the subset and -1 elsewhere, which has an edge of 1. Under the exact
    distribution this hypothesis has a negative edge, so the optimum does not change. The criterion is the smallest
    primal value of the returned distributions minus the optimum, and it never falls below 0.48. After 8171 rounds the
    run exceeds (64 / epsilon^2) ln N = 8120, the bound of theorem 3.12, whose proof assumes that the hypothesis is
    chosen at the exact distribution.

    Parameters
    ----------
    rounds
        Number of columns, from 2 to 10000: the first hypothesis and one for each subset.
    random_state
        Seed or generator for the subsets; equal seeds give equal subsets, and a longer run begins with those of a
        shorter one.

    Returns
    -------
    Instance of shape (160, rounds) with nu = 1, epsilon = 0.2 and the eta of the theorem. Row k of the subsets holds
    the examples of the uniform distribution that is returned after k + 1 rounds; column k + 1 of U is 1 on them.

    Raises
    ------
    ProblemError
        rounds is out of range, or random_state is neither a seed nor a generator.

    References
    ----------
    Glocer 2009, lemma 3.11, theorem 3.12; lemma 3.22 and theorem 3.23 fail likewise.
    """
    rounds = validate_count("rounds", rounds, 2, "Take more: the first shows nothing yet.")
    if rounds > MAX_ROUNDS:
        raise ProblemError(
            f"rounds must be at most {MAX_ROUNDS}; got {rounds}. Take 8121: the bound is exceeded from there."
        )
    subsets = _draw_subsets(rounds - 1, validate_generator(random_state))
    U = np.full((N, rounds), -1.0)
    U[:, 0] = np.repeat([0.0, 1.0], [N_FIRST, N - N_FIRST])
    np.put_along_axis(U[:, 1:], subsets.T, 1.0, axis=0)
    eta = 2 / EPSILON * math.log(N)
    weights = np.where(U[:, 0] == 0, 1.0, math.exp(-eta))
    optimum = -math.log(weights.mean()) / eta
    cost = math.log(N / SUBSET_SIZE) / eta
    return Instance(
        name="stalled criterion",
        U=U,
        shows="distributions accurate to epsilon / 4 can keep ERLPBoost from any progress, beyond the printed bound.",
        sources=("Glocer 2009, lemma 3.11, theorem 3.12",),
        parameters={"nu": 1.0, "epsilon": EPSILON, "eta": eta},
        answers={
            "subsets": subsets,
            "edge of each hypothesis from the second on, when it comes": 1.0,
            "ERLPBoost optimum after any number of rounds": optimum,
            "ERLPBoost d": weights / weights.sum(),
            "ERLPBoost w": np.eye(1, rounds)[0],
            "primal value of each returned distribution, over the columns before it": cost,
            "criterion": min(0.5, 1 + cost) - optimum,
            "printed bound of the rounds": 64 / EPSILON**2 * math.log(N),
            "LPBoost optimum": 0.0,
        },
    )


def _draw_subsets(count: int, rng: np.random.Generator) -> Int[Array, "count size"]:
    """Return sorted subsets of the first examples, chosen greedily from uniform draws so that any two share few."""
    indicators: Float[Array, "kept half"] = np.zeros((count, N_FIRST), dtype=np.float32)
    n_drawn = 0
    while n_drawn < count:
        batch = np.zeros((BATCH_SIZE, N_FIRST), dtype=np.float32)
        np.put_along_axis(
            batch, rng.random((BATCH_SIZE, N_FIRST)).argpartition(SUBSET_SIZE, axis=1)[:, :SUBSET_SIZE], 1.0, axis=1
        )
        batch = batch[(batch @ indicators[:n_drawn].T).max(axis=1, initial=0.0) <= MAX_FRACTIOND]
        # A remaining subset that shares too many with an earlier one of the batch is dropped, even if both are dropped.
        new = batch[np.triu(batch @ batch.T, 1).max(axis=0, initial=0.0) <= MAX_FRACTIOND][: count - n_drawn]
        indicators[n_drawn : n_drawn + len(new)] = new
        n_drawn += len(new)
    return np.nonzero(indicators)[1].reshape(count, SUBSET_SIZE)
