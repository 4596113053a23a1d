"""AdaBoost as an iterated map of the simplex: trajectories, cycles and their pictures.

On margins of +-1, a round of AdaBoost is the reduced map d_n <- d_n / (1 + M[n, j] r), where j is the chosen hypothesis
and r is its edge. M is the margin matrix, the paper's name of U. In exact arithmetic the map keeps the sum of d, as the
paper prints. An error of this sum grows by 1 / (1 - r^2) in a round, so every round divides d by its sum.

    trajectory, choices = iterate(M, d, 90)
    cycle = find_cycle(M, trajectory, choices)

References: Rudin, Daubechies, Schapire 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector, Int
from boostopt.errors import ProblemError

SIDE_TOL = 1e-6
"""The largest error of a largest weight of 1/2 on the inner triangle, and of the sum of d: iteration errors."""

ChoiceRule = Callable[[HypothesisVector], int]
"""A function that chooses a hypothesis from the edges of all."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """A cycle of AdaBoost's distribution. It starts where its choices are lexicographically smallest.

    Attributes
    ----------
    points
        The distributions, shape (period, N); hypothesis `choices[k]` is chosen on `points[k]`.
    choices
        The chosen hypotheses in order, shape (period,).
    edges
        The edge of each chosen hypothesis, shape (period,).
    w
        The classifier of a run that stays on the cycle, shape (t,): the steps artanh(edge), normalized. (The paper
        prints the normalized edges, which are the same only if all edges are equal.)
    """

    points: Float[Array, "period N"]
    choices: Int[Array, " period"]
    edges: Float[Array, " period"]
    w: HypothesisVector

    @property
    def period(self) -> int:
        """The number of rounds of the cycle."""
        return len(self.points)


def reduced_map(
    M: Float[Array, "N t"], d: ExampleVector, j: int | None = None, renormalize: bool = True
) -> ExampleVector:
    """Return the distribution after a round of AdaBoost.

    Parameters
    ----------
    M
        Margin matrix, shape (N, t), entries -1 and 1.
    d
        Distribution, shape (N,), non-negative, sum 1.
    j
        The chosen hypothesis; by default the first one with the largest edge.
    renormalize
        Whether to divide by the sum. Otherwise errors of the sum grow.

    Raises
    ------
    ProblemError
        An entry of M is not -1 or 1, there is no hypothesis j, or it is right or wrong on all examples with weight:
        the map is not defined for it.

    References
    ----------
    Rudin, Daubechies, Schapire 2004.
    """
    _check(M, d)
    return _round(M, d, int(np.argmax(M.T @ d)) if j is None else j, renormalize)


def iterate(
    M: Float[Array, "N t"],
    d: ExampleVector,
    rounds: int,
    choose: Sequence[int] | ChoiceRule | None = None,
    renormalize: bool = True,
) -> tuple[Float[Array, "points N"], Int[Array, " rounds"]]:
    """Return the distributions of a run of AdaBoost and the chosen hypotheses.

    Parameters
    ----------
    M, d, renormalize
        As for `reduced_map`; d is the start of the run.
    rounds
        Number of rounds.
    choose
        The sequence of hypotheses, which is repeated when it ends, or a function of the edges; by default the largest
        edge.

    Returns
    -------
    Distributions, shape (rounds + 1, N), and choices, shape (rounds,): choice k is made on distribution k.

    Raises
    ------
    ProblemError
        As for `reduced_map`.
    """
    _check(M, d)
    trajectory, choices = np.empty((rounds + 1, len(d))), np.empty(rounds, dtype=np.int64)
    trajectory[0] = d
    for k in range(rounds):
        if isinstance(choose, Sequence):
            choices[k] = choose[k % len(choose)]
        else:
            edges = M.T @ trajectory[k]
            choices[k] = np.argmax(edges) if choose is None else choose(edges)
        trajectory[k + 1] = _round(M, trajectory[k], int(choices[k]), renormalize)
    return trajectory, choices


def find_cycle(
    M: Float[Array, "N t"],
    trajectory: Float[Array, "points N"],
    choices: Int[Array, " rounds"],
    tol: float = 1e-9,
    longest: int | None = None,
) -> Cycle | None:
    """Return the cycle in which a run has ended; None if there is no cycle.

    Parameters
    ----------
    M
        Margin matrix, shape (N, t).
    trajectory, choices
        As `iterate` returns them.
    tol
        The largest change of a weight over a period.
    longest
        The longest period; by default and at most half of the rounds, because a cycle must occur twice.

    Returns
    -------
    The cycle of the shortest period p such that the last p distributions equal those p rounds before, with the same
    choices. Changes below `tol` count as 0. A run that rests at a distribution without edges is not a cycle, because it
    makes no steps.
    """
    rounds = len(choices)
    max_period = rounds // 2 if longest is None else min(longest, rounds // 2)
    for p in range(1, max_period + 1):
        if np.abs(trajectory[-1] - trajectory[-1 - p]).max() > tol or (choices[-p:] != choices[-2 * p : -p]).any():
            continue
        points = trajectory[-1 - p : -1]
        if np.abs(points - trajectory[-1 - 2 * p : -1 - p]).max() <= tol:
            cycle = _cycle(M, points, choices[-p:])
            return cycle if np.isfinite(cycle.w).all() else None
    return None


def contraction(M: Float[Array, "N t"], cycle: Cycle) -> float:
    """Return the factor by which distances to a cycle change over a period with fixed choices; below 1 it attracts.

    The factor is the spectral radius of the derivative of the reduced map over a period, on directions that preserve
    the sum of d.
    """
    N = len(M)
    # An orthonormal basis of the directions of sum 0: all but the first column, which is along the vector of ones.
    tangent = np.linalg.qr(np.column_stack([np.ones(N), np.eye(N)[:, 1:]]))[0][:, 1:]
    # Every step is projected to them: across them, the map without the division expands by 1 / (1 - r^2).
    derivative = np.eye(N - 1)
    for d, j, r in zip(cycle.points, cycle.choices, cycle.edges, strict=True):
        u = M[:, j]
        divisor = 1 + u * r
        step = np.diag(1 / divisor) - np.outer(d * u / divisor**2, u)
        derivative = tangent.T @ step @ tangent @ derivative
    return float(np.abs(np.linalg.eigvals(derivative)).max())


def triangle_coordinates(d: Float[Array, "*points 3"]) -> Float[Array, "*points 2"]:
    """Return the plane coordinates of distributions over three examples, shape (..., 2).

    The simplex is the triangle with the corners (0, 0), (1, 0), (1/2, sqrt(3)/2): all weight on example 0, 1, 2.
    """
    return d @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def unfolded_triangle(d: Float[Array, "*points 3"]) -> Float[Array, "*points"]:
    """Return the positions of distributions over three examples along the inner triangle, shape (...), in [0, 3).

    On M = 1 1' - 2 I the last chosen hypothesis j has the edge 0, so that d_j = 1/2. After a round all distributions
    lie on the triangle between the midpoints of the sides of the simplex. AdaBoost maps the unfolded triangle, a line,
    to itself: side j, where d_j = 1/2, goes to [j, j + 1] by the position j + 2 d_(j+1), indices modulo 3, and 3 is 0.

    Raises
    ------
    ProblemError
        A distribution lies off the inner triangle.

    References
    ----------
    Rudin, Daubechies, Schapire 2004, figure 2(a), and 2(b), which shows three iterations of the map.
    """
    j = np.argmax(d, axis=-1)
    error = np.abs(np.take_along_axis(d, j[..., np.newaxis], axis=-1) - 0.5)
    if error.size and float(error.max()) > SIDE_TOL:
        raise ProblemError(
            f"the largest weight must be 1/2, as it is after a round; got an error of {float(error.max()):.3g}. "
            "Leave out the start of the trajectory."
        )
    next_weight = np.take_along_axis(d, (j[..., np.newaxis] + 1) % 3, axis=-1)[..., 0]
    return np.mod(j + 2 * next_weight, 3)


def _check(M: Float[Array, "N t"], d: ExampleVector) -> None:
    """Raise ProblemError if the reduced map is not defined."""
    if not (np.abs(M) == 1).all():
        n, q = np.argwhere(np.abs(M) != 1)[0]
        raise ProblemError(
            f"the reduced map needs margins of -1 and 1; got {M[n, q]:.6g} at ({n}, {q}). Use boost for other margins."
        )
    if not ((d >= 0).all() and abs(d.sum() - 1) <= SIDE_TOL):
        raise ProblemError(f"d must be non-negative with sum 1; got the sum {d.sum():.10g}. Divide it by its sum.")


def _round(M: Float[Array, "N t"], d: ExampleVector, j: int, renormalize: bool) -> ExampleVector:
    """Return the distribution after a round with the hypothesis j."""
    if not 0 <= j < M.shape[1]:
        raise ProblemError(f"a hypothesis must be one of 0, ..., {M.shape[1] - 1}; got {j}. Count from 0.")
    u = M[:, j]
    r = float(u @ d)
    if not (d[u > 0].any() and d[u < 0].any()):
        raise ProblemError(
            f"hypothesis {j} must be right on some examples with weight and wrong on others; its edge is {r:.6g}, so "
            "AdaBoost's step is infinite. Stop before this round."
        )
    d = d / (1 + u * r)
    return d / d.sum() if renormalize else d


def _cycle(M: Float[Array, "N t"], points: Float[Array, "period N"], choices: Int[Array, " period"]) -> Cycle:
    """Return the cycle from its canonical start, with edges and classifier."""
    first = min(range(len(choices)), key=lambda k: np.roll(choices, -k).tolist())
    points, choices = np.roll(points, -first, axis=0), np.roll(choices, -first)
    edges = (points * M[:, choices].T).sum(axis=1)
    steps = np.bincount(choices, np.arctanh(edges), minlength=M.shape[1])
    total = float(steps.sum())
    return Cycle(points, choices, edges, steps / total if total > 0 else np.full(len(steps), np.nan))
