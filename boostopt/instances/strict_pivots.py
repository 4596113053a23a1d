"""Matrices with a strict pivot, with known solutions, and the behaviour of LPBoost on them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError
from boostopt.instances.known_instance import Instance, validate_between, validate_count, validate_generator
from boostopt.rows.margin_matrix import MarginMatrix


def pivot(N: int, t: int, random_state: int | np.random.Generator = 0) -> Instance:
    """Return a random matrix with a strict pivot: an entry largest in its row and smallest in its column.

    The value of the program is the pivot U[i, j], and d = e_i and w = e_j are its only solution.

    Parameters
    ----------
    N, t
        Rows and columns, at least 1.
    random_state
        Seed or generator; equal seeds give equal matrices.

    Returns
    -------
    Instance of shape (N, t) with nu = 1. Every other entry of the pivot's row and column differs from the pivot by at
    least a fortieth. The remaining entries are uniform on [-1, 1).

    Raises
    ------
    ProblemError
        N or t is not a positive whole number, or random_state is neither a seed nor a generator.

    References
    ----------
    Glocer 2009, definition 2.3, lemma 2.4.
    """
    rows = validate_count("N", N, 1, "Ask for one example or more.")
    t = validate_count("t", t, 1, "Ask for one hypothesis or more.")
    rng = validate_generator(random_state)
    U = rng.uniform(-1, 1, size=(rows, t))
    i, j, value = int(rng.integers(rows)), int(rng.integers(t)), float(rng.uniform(-0.5, 0.5))
    U[i] = value - (1 + value) * rng.uniform(0.05, 1, size=t)
    U[:, j] = value + (1 - value) * rng.uniform(0.05, 1, size=rows)
    U[i, j] = value
    return Instance(
        name="pivot",
        U=U,
        shows="a strict pivot is the value of the program, and its row and column are the only solution.",
        sources=("Glocer 2009, definition 2.3, lemma 2.4",),
        parameters={"nu": 1.0},
        answers={
            "pivot": (i, j),
            "LPBoost optimum": value,
            "LPBoost d": _unit_vector(rows, i),
            "LPBoost w": _unit_vector(t, j),
        },
    )


def iteration_lower_bound(N: int, delta: float | None = None, repeat: int = 1) -> Instance:
    """Return the matrix on which LPBoost needs N / 2 rounds before its value rises above nearly -1.

    With a uniform start and the oracle that returns the column of the largest edge, every solver adds the columns in
    their order: after t <= N / 2 rounds the matrix has a strict pivot, so that d is unique. The last column raises the
    value above delta / 2.

    Parameters
    ----------
    N
        Number of different examples, even, at least 4.
    delta
        A number strictly between 0 and 2 / (2N + 1), for which the order of the columns has no ties; 1 / (2N) by
        default.
    repeat
        Number of adjacent copies of each row, at least 1: LPBoost behaves the same under the cap nu = repeat.

    Returns
    -------
    Instance of shape (N repeat, N / 2 + 1) with nu = repeat.

    Raises
    ------
    ProblemError
        N is odd or smaller than 4, or delta or repeat is out of range.

    References
    ----------
    Glocer 2009, theorem 2.5, figure 2.8; Warmuth, Glocer, Raetsch 2007, theorem 1.
    """
    rows = validate_count("N", N, 4, "Take 4: the construction starts there.")
    if rows % 2:
        raise ProblemError(f"N must be even; got {rows}. Take {rows + 1}: one half of the examples has the pivots.")
    repeat = validate_count("repeat", repeat, 1, "Take 1 for each row once.")
    largest = 2 / (2 * rows + 1)
    delta = (
        1 / (2 * rows)
        if delta is None
        else validate_between("delta", delta, 0, largest, "Take a smaller one: from 2 / (2N + 1) on columns are tied.")
    )
    half = rows // 2
    t = np.arange(1, half + 1)  # the column's number, and the round that takes it
    U = np.tile(np.append(-1 + (2 * t + 1) * delta, 1 - delta), (rows, 1))
    U[:half, 0] = 1
    U[:half, half] = -1 + delta
    U[half + t - 1, t - 1] = -1 + 2 * t * delta
    U[half + t[:-1] - 1, t[:-1]] = 1
    return Instance(
        name="iteration lower bound",
        U=np.repeat(U, repeat, axis=0),
        shows="LPBoost may need N / 2 rounds, each of which raises its value by 2 delta only.",
        sources=("Glocer 2009, theorem 2.5, figure 2.8", "Warmuth, Glocer, Raetsch 2007, theorem 1"),
        parameters={"nu": float(repeat)},
        answers={
            "delta": delta,
            "order of columns": np.arange(half + 1),
            "example with all the weight after t = 1, ..., N / 2 rounds, not counting copies": half + t - 1,
            "LPBoost optimum after t = 1, ..., N / 2 rounds": -1 + 2 * t * delta,
            "LPBoost optimum is at least": delta / 2,
            "what is missing to it after N / 2 rounds is at least": 1 - (rows - 0.5) * delta,
        },
    )


def bad_example_and_hypothesis(U: npt.ArrayLike | None = None, delta: float = 1 / 16) -> Instance:
    """Return a matrix spoilt by one example that all hypotheses misclassify, and one hypothesis that is always wrong.

    Below U is the row -3 delta, beside it the column -delta, and in the corner -2 delta. The corner is a strict pivot:
    the hard margin puts all its weight on the bad hypothesis and misclassifies every example, however well the columns
    of U separate the others.

    For the default U, the bad column comes last. After five rounds the optimum is -3 delta (the figure prints this
    value for the four rounds before as well), w is not unique, and the smallest edge so far exceeds the optimum by (35
    / 9) delta. LPBoost continues to the bad column iff its epsilon is smaller than this difference. For the default U,
    a cap nu = 2 or 3 removes the effect, unless the rows are repeated; nu = 1.5 does not remove it.

    Parameters
    ----------
    U
        Margin matrix of the good examples and hypotheses, shape (N, t), entries in [-1, 1]; by default that of
        `iteration_lower_bound(8, delta)`.
    delta
        A number strictly between 0 and 1/3; for the default U between 0 and 1/11, for which the order of the columns
        has no ties.

    Returns
    -------
    Instance of shape (N + 1, t + 1) with nu = 1, and with epsilon = delta for the default U.

    Raises
    ------
    ProblemError
        U is not a margin matrix, or delta is out of range.

    References
    ----------
    Glocer 2009, section 2.5, figure 2.9.
    """
    delta = validate_between("delta", delta, 0, 1 / 11 if U is None else 1 / 3, "Try 1/16.")
    base_margins = iteration_lower_bound(8, delta).U if U is None else MarginMatrix(U).to_array()
    N, t = base_margins.shape
    spoilt = np.full((N + 1, t + 1), -delta)
    spoilt[:N, :t] = base_margins
    spoilt[N] = -3 * delta
    spoilt[N, t] = -2 * delta
    answers = {
        "LPBoost optimum": -2 * delta,
        "LPBoost d": _unit_vector(N + 1, N),
        "LPBoost w": _unit_vector(t + 1, t),
        "margins at w": np.append(np.full(N, -delta), -2 * delta),
        "misclassified examples": N + 1,
    }
    if U is None:
        answers |= {
            "order of columns": np.arange(6),
            "LPBoost optimum after t = 1, ..., 6 rounds": np.append(
                -1 + 2 * np.arange(1, 5) * delta, [-3 * delta, -2 * delta]
            ),
            "smallest edge seen minus optimum after 5 rounds": 35 / 9 * delta,
        }
    return Instance(
        name="bad example and bad hypothesis",
        U=spoilt,
        shows="one bad example and one bad hypothesis make the hard margin misclassify every example.",
        sources=("Glocer 2009, section 2.5, figure 2.9",),
        parameters={"nu": 1.0} | ({"epsilon": delta} if U is None else {}),
        answers=answers,
    )


def _unit_vector(size: int, position: int) -> Float[Array, " size"]:
    """Return a unit vector."""
    return np.eye(1, size, position)[0]
