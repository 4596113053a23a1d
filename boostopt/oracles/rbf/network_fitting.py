"""RBF networks with adaptive centres [Raetsch, Onoda, Mueller 2001, appendix D and figure 15]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, Num
from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.validation import check_integer, check_positive
from boostopt.errors import ProblemError
from boostopt.oracles.rbf.conjugate_gradients import conjugate_gradients
from boostopt.oracles.rbf.kmeans import kmeans
from boostopt.oracles.rbf.network_error import ReducedError
from boostopt.oracles.rbf.radial_basis_network import LARGEST, RBFNetwork

__all__ = ["RBFNetwork", "RBFSettings", "fit_rbf"]

LAMBDA_ADVICE = "Take the paper's, 1e-6."
"""Advice about the regularization."""

WIDTH_RANGE = 1e-5, 1e3
"""Smallest and largest width in a fit, in half ranges of the features.

At the smallest width, the rounding of products leaves five digits of the exponents; the largest is as good as
constant.
"""

MAX_STEP = 2.0
"""Largest change in a step, of a logarithm of a width, or of a centre in units of its first width."""

SMALLEST_RANGE = 1e-280
"""Half ranges below this number count as 0: widths would lose their digits."""


@dataclass(frozen=True)
class RBFSettings:
    """The settings of a fit. `RBFNetworks` takes the settings whole, as `settings`, or one by one by their names.

    Attributes
    ----------
    K
        Number of centres, at least 1; the number of different points if there are fewer.
    iterations
        Largest number of steps of conjugate gradients in each fit, from 0.
    lambda_
        Factor of |w|² / (2N), the regularization of the output weights w, positive.

    Raises
    ------
    OptionError
        A setting is out of its range.
    """

    K: int = 20
    iterations: int = 10
    lambda_: float = 1e-6

    def __post_init__(self) -> None:
        """Check the settings, and convert them to plain numbers."""
        centres = check_integer("K", self.K, 1, "a whole number of centres", "Ask for one or more.")
        steps = check_integer(
            "iterations", self.iterations, 0, "a whole number of steps", "Pass how many steps may be taken."
        )
        object.__setattr__(self, "K", centres)
        object.__setattr__(self, "iterations", steps)
        object.__setattr__(self, "lambda_", check_positive("lambda_", self.lambda_, advice=LAMBDA_ADVICE))


@limit_blas_threads()
def fit_rbf(
    X: Float[Array, "N features"],
    y: Num[Array, " targets *outputs"],
    weights: Float[Array, " weights"] | None = None,
    settings: RBFSettings | None = None,
    random_state: int | np.random.Generator | None = None,
    **keywords: Any,
) -> RBFNetwork:
    """Return an RBF network fitted to weighted examples.

    The centres start from weighted k-means, the widths from the distance to the nearest other centre. Conjugate
    gradients follow, with the best output weights at every point of every line search.

    Parameters
    ----------
    X
        Features, shape (N, features), finite. One width serves all features, so give them similar scales.
    y
        Targets, shape (N,) or (N, outputs), finite, such as labels -1 and 1.
    weights
        s, shape (N,), non-negative, 1 by default. A weight k counts as k copies, and sum s is the N of the formulas.
        So pass a distribution d as N d. Examples with 0 are left out.
    settings
        Number of centres, steps and regularization; the defaults if None.
    random_state
        Seed or generator of the first centres; None for a deterministic start.
    **keywords
        Fields of `RBFSettings`, which override the settings.

    Returns
    -------
    RBFNetwork whose output weights have the shape (K,) or (K, outputs).

    Raises
    ------
    ProblemError
        X, y or weights are no such examples.
    OptionError
        A setting is out of its range.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, appendix D and figure 15, corrected as in `network_error`.
    """
    settings = replace(settings or RBFSettings(), **keywords)
    points, targets, s = _check_examples(X, y, weights)
    N = float(s.sum())
    if not math.isfinite(settings.lambda_ / N / N):
        raise ProblemError(f"the weights must not sum to almost 0; got {N:.6g}. Pass N times a distribution.")
    origin, unit = _center_and_scale(points)
    scaled = (points - origin) / unit
    rng = None if random_state is None else np.random.default_rng(random_state)
    first_centres = kmeans(scaled, s, settings.K, rng)
    widths = np.clip(_initial_widths(scaled, first_centres), *WIDTH_RANGE)
    problem = ReducedError(scaled, targets.reshape(len(s), -1), s, settings.lambda_)
    start = np.concatenate([np.zeros(first_centres.size), np.log(widths)])
    solution = conjugate_gradients(
        partial(_objective, problem, first_centres, widths), start, settings.iterations, MAX_STEP
    ).x
    centres, log_widths = _unpack_variables(first_centres, widths, solution)
    w = problem.evaluate(centres, log_widths).output_weights
    with np.errstate(over="ignore"):  # a centre far from examples near the largest numbers
        centres = np.clip(origin + unit * centres, -LARGEST, LARGEST)
        sigma = np.clip(unit * np.exp(log_widths), None, LARGEST)
    return RBFNetwork(centres, sigma, w.reshape(-1, *targets.shape[1:]))


def _objective(
    problem: ReducedError, first_centres: Float[Array, "K features"], widths: Float[Array, " K"], x: Float[Array, " n"]
) -> tuple[float, Float[Array, " n"]]:
    """Return E / N and its gradient in the variables of the fit; E / N does not depend on the scale of the weights."""
    centres, log_widths = _unpack_variables(first_centres, widths, x)
    evaluation = problem.evaluate(centres, log_widths)
    free = log_widths == x[first_centres.size :]
    by_centres = widths[:, np.newaxis] * evaluation.by_centres
    gradient = np.concatenate([by_centres.ravel(), free * evaluation.by_log_widths])
    return evaluation.error / problem.total, gradient / problem.total


def _unpack_variables(
    first_centres: Float[Array, "K features"], widths: Float[Array, " K"], x: Float[Array, " n"]
) -> tuple[Float[Array, "K features"], Float[Array, " K"]]:
    """Return the centres and ln sigma, bounded, from the variables of the fit.

    The variables are the displacements of the centres in units of their first widths, and ln sigma. With the
    centres themselves as variables, ten steps left a tenth more of the error on noisy bananas.
    """
    displacements = x[: first_centres.size].reshape(first_centres.shape)
    return first_centres + widths[:, np.newaxis] * displacements, np.clip(
        x[first_centres.size :], math.log(WIDTH_RANGE[0]), math.log(WIDTH_RANGE[1])
    )


def _initial_widths(X: Float[Array, "N features"], centres: Float[Array, "K features"]) -> Float[Array, " K"]:
    """Return the distance from each centre to the nearest other one; the spread of the points for a single centre."""
    difference = centres[:, np.newaxis] - centres
    distances = np.sqrt(np.einsum("klj,klj->kl", difference, difference))
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    spread = math.sqrt(float(np.square(X - X.mean(axis=0)).sum(axis=1).mean()))
    return np.where(np.isfinite(nearest) & (nearest > 0), nearest, spread or 1.0)


def _center_and_scale(X: Float[Array, "N features"]) -> tuple[Float[Array, " features"], float]:
    """Return the centre of the ranges of the features, and the largest half range, 1 if all features are constant."""
    low, high = 0.5 * X.min(axis=0), 0.5 * X.max(axis=0)
    unit = float((high - low).max())
    return low + high, unit if unit > SMALLEST_RANGE else 1.0


def _check_examples(
    X: Float[Array, "N features"], y: Num[Array, " targets *outputs"], weights: Float[Array, " weights"] | None
) -> tuple[Float[Array, "n features"], Float[Array, " n *outputs"], Float[Array, " n"]]:
    """Return features, targets and weights of the examples that count, checked."""
    s = np.ones(len(X)) if weights is None else weights
    targets = y.astype(np.float64)
    if X.ndim != 2 or 0 in X.shape or targets.shape[:1] != X.shape[:1] or targets.ndim > 2 or s.shape != X.shape[:1]:
        raise ProblemError(
            "a network is fitted to X of shape (N, features), y of shape (N,) or (N, outputs) and N weights; got "
            f"{X.shape}, {targets.shape} and {s.shape}. Pass one of each for every example."
        )
    if not (np.isfinite(X).all() and np.isfinite(targets).all()):
        raise ProblemError("a network is fitted to finite numbers; X or y holds others. Impute or drop them.")
    with np.errstate(over="ignore"):  # refused here
        total = float(s.sum())
    if not (s >= 0).all() or not 0 < total < math.inf:
        raise ProblemError(
            "the weights must be finite numbers of at least 0, not all 0; got a smallest one of "
            f"{s.min():.6g} and a sum of {total:.6g}. Pass N times a distribution."
        )
    rows = s > 0
    return X[rows], targets[rows], s[rows]
