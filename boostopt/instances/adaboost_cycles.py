"""Matrices on which AdaBoost's distribution follows a cycle that is known in closed form.

With entries +-1, a round is d_n <- d_n / (1 + U[n, j] r), where j is the chosen column and r = u^j d its edge. In exact
arithmetic d keeps its sum. In floating point, an error of the sum grows by the factor 1 / (1 - r^2) in each round, so
renormalize every time. The cycle's classifier weights the columns by AdaBoost's normalized steps.
"""

from __future__ import annotations

import math

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError
from boostopt.instances.known_instance import Instance, validate_count

REFERENCE_TEXT = "Rudin, Daubechies, Schapire 2004"

SQRT5 = math.sqrt(5)
SMALLEST_CYCLE_WEIGHT, MIDDLE_CYCLE_WEIGHT = (3 - SQRT5) / 4, (SQRT5 - 1) / 4
"""The two smaller weights on a cycle of period three; the largest is 1/2."""
CYCLE_EDGE = (SQRT5 - 1) / 2
"""The edge in every round of this cycle."""

MAX_SIZE = 50
"""The largest size: for much larger m, 1 - edge, about 2^(1 - m), is lost in rounding."""


def cycle_3x3() -> Instance:
    """Return the smallest matrix on which AdaBoost cycles, U = 1 1' - 2 I, and its two cycles of period three.

    Both cycles are attracting: from a random start, AdaBoost converges to one of them. Its classifier then has the
    maximum margin.

    Returns
    -------
    Instance of shape (3, 3) with nu = 1, and d0 on the first cycle. Row k of a cycle is the distribution for which the
    k-th column of the cycle's order is chosen.

    References
    ----------
    Rudin, Daubechies, Schapire 2004, the 3 x 3 case.
    """
    cycle = np.array(
        [
            [SMALLEST_CYCLE_WEIGHT, MIDDLE_CYCLE_WEIGHT, 0.5],
            [0.5, SMALLEST_CYCLE_WEIGHT, MIDDLE_CYCLE_WEIGHT],
            [MIDDLE_CYCLE_WEIGHT, 0.5, SMALLEST_CYCLE_WEIGHT],
        ]
    )
    return Instance(
        name="cycle, 3 x 3",
        U=_one_error_per_column(3),
        shows="AdaBoost's distribution converges to a cycle, and its margin to the maximum.",
        sources=(f"{REFERENCE_TEXT}, the 3 x 3 case",),
        parameters={"nu": 1.0, "d0": cycle[0]},
        answers={
            "cycle of the columns 0, 1, 2": cycle,
            "cycle of the columns 0, 2, 1": cycle[:, [0, 2, 1]],
            "edge in every round": CYCLE_EDGE,
            "contraction over a period": (SQRT5 - 2) ** 2,
            "AdaBoost w": np.full(3, 1 / 3),
            "AdaBoost margin": 1 / 3,
            "LPBoost optimum": 1 / 3,
            "LPBoost d": np.full(3, 1 / 3),
            "LPBoost w": np.full(3, 1 / 3),
        },
    )


def cycle_mxm(m: int) -> Instance:
    """Return U = 1 1' - 2 I of any size with AdaBoost's cycle d = (x^(m-1), ..., x, 1) / 2, 1 + x + ... + x^(m-1) = 2.

    There is such a cycle of period m for each of the (m - 1)! cyclic orders of the columns.

    Parameters
    ----------
    m
        Number of examples and of hypotheses, at least 3 and at most 50.

    Returns
    -------
    Instance of shape (m, m) with nu = 1, and d0 on the cycle with the order 0, 1, ..., m - 1. Row k of the cycle is the
    distribution for which column k is chosen.

    Raises
    ------
    ProblemError
        m is smaller than 3 or larger than 50.

    References
    ----------
    Rudin, Daubechies, Schapire 2004, the m x m case.
    """
    m = validate_count("m", m, 3, "Take 3 or more: with 2 all edges are 0 at once.")
    if m > MAX_SIZE:
        raise ProblemError(
            f"m must be at most {MAX_SIZE}; got {m}. Take a smaller one: its edges would be 1 to rounding."
        )
    x = _cycle_ratio(m)
    first = 0.5 * x ** np.arange(m)[::-1]
    return Instance(
        name=f"cycle, {m} x {m}",
        U=_one_error_per_column(m),
        shows="AdaBoost's distribution has a cycle through all columns, and its margin there is the maximum.",
        sources=(f"{REFERENCE_TEXT}, the m x m case",),
        parameters={"nu": 1.0, "d0": first},
        answers={
            "order of columns": np.arange(m),
            "cycle": np.array([np.roll(first, k) for k in range(m)]),
            "edge in every round": 1 - x ** (m - 1),
            "number of cycles": math.factorial(m - 1),
            "AdaBoost w": np.full(m, 1 / m),
            "AdaBoost margin": (m - 2) / m,
            "LPBoost optimum": (m - 2) / m,
            "LPBoost d": np.full(m, 1 / m),
            "LPBoost w": np.full(m, 1 / m),
        },
    )


def manifold_4x5() -> Instance:
    """Return the matrix on which AdaBoost with a suboptimal oracle keeps a margin below the maximum.

    The oracle chooses columns 4, 3, 2 in turn. Their edges exceed the maximum margin 1/2, which is all that a weak
    learner promises, but they are not the largest edges. Every start (s, A - s, 1/2, B) with 0 <= s <= A recurs after
    three rounds: the cycles form a manifold. The margin stays 1/3.

    Returns
    -------
    Instance of shape (4, 5) with nu = 1, and d0 in the middle of the manifold. Row k of a cycle is the distribution for
    which the k-th column of the order is chosen.

    References
    ----------
    Rudin, Daubechies, Schapire 2004, section 3, the 4 x 5 case; no figure shows it.
    """
    U = np.column_stack([_one_error_per_column(4), [-1.0, -1.0, 1.0, 1.0]])
    cycle = np.array(
        [
            [SMALLEST_CYCLE_WEIGHT / 2, SMALLEST_CYCLE_WEIGHT / 2, 0.5, MIDDLE_CYCLE_WEIGHT],
            [0.25, 0.25, MIDDLE_CYCLE_WEIGHT, SMALLEST_CYCLE_WEIGHT],
            [MIDDLE_CYCLE_WEIGHT / 2, MIDDLE_CYCLE_WEIGHT / 2, SMALLEST_CYCLE_WEIGHT, 0.5],
        ]
    )
    return Instance(
        name="manifold of cycles, 4 x 5",
        U=U,
        shows="AdaBoost with a legal but not the best oracle stays at the margin 1/3, where 1/2 is possible.",
        sources=(f"{REFERENCE_TEXT}, section 3, the 4 x 5 case",),
        parameters={"nu": 1.0, "d0": cycle[0]},
        answers={
            "order of columns": np.array([4, 3, 2]),
            "cycle": cycle,
            "ends of the manifold": np.array(
                [
                    [0, SMALLEST_CYCLE_WEIGHT, 0.5, MIDDLE_CYCLE_WEIGHT],
                    [SMALLEST_CYCLE_WEIGHT, 0, 0.5, MIDDLE_CYCLE_WEIGHT],
                ]
            ),
            "edge in every round": CYCLE_EDGE,
            "AdaBoost w": np.array([0, 0, 1, 1, 1]) / 3,
            "AdaBoost margin": 1 / 3,
            "LPBoost optimum": 1 / 2,
            "LPBoost d": np.full(4, 0.25),
            "LPBoost w": np.array([0.25, 0.25, 0.25, 0.25, 0]),
        },
    )


def _one_error_per_column(m: int) -> Float[Array, "m m"]:
    """Return 1 1' - 2 I: hypothesis j is wrong only on example j."""
    return np.ones((m, m)) - 2 * np.eye(m)


def _cycle_ratio(m: int) -> float:
    """Return the x < 1 with 1 + x + ... + x^(m-1) = 2, as the fixed point of x = (1 + x^m) / 2 from below."""
    x, smaller = 0.5, 0.0
    while x > smaller:  # the iterates increase until rounding stops them; a step cuts the error by m x^(m-1) / 2 < 0.6
        x, smaller = (1 + x**m) / 2, x
    return x
