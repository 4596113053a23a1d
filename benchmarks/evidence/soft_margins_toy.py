"""The toy data of Raetsch, Onoda and Mueller 2001, AdaBoost on them, and what their figures have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.evidence.experiment import (
    SHARED,
    Claim,
    Experiment,
    Parameters,
    printed_numbers,
    round_digits,
)
from boostopt import boost
from boostopt._utils.array_types import Array, Float, Int8
from boostopt.boosting.run.run import Run
from boostopt.errors import require_not_none
from boostopt.instances import banana
from boostopt.oracles import RBFNetworks

FILE = "data/ida/banana.npz"
PAPER = "Rätsch, Onoda and Müller 2001"
PATTERNS, TESTED = 300, 2000
STEPS = 4
"""Steps of conjugate gradients in a fit, as cross-validation of the single network chooses them on the set."""

CENTRES = 20
"""The choice of the same cross-validation, because the paper names none."""

NEAR = 0.02
"""The largest distance to the smallest margin of the patterns that make the step."""

GRID = 71
"""Points along an axis at which decisions are stored."""


@dataclass(frozen=True, eq=False)
class Toy:
    """Patterns to learn from, those to test on, and others that only tell where the best line is."""

    X: Float[Array, "N 2"]
    y: Int8[Array, " N"]
    X_test: Float[Array, "n 2"]
    y_test: Int8[Array, " n"]
    X_others: Float[Array, "m 2"]
    y_others: Int8[Array, " m"]


def toy(data: str, noise: float, seed: int) -> Toy:
    """Draw 300 patterns: rows of the set banana, or two arcs of our own; the noise is the variance of the inputs'."""
    X, y = _rows(noise, seed) if data == "banana" else _arcs(noise, seed)
    first, last = PATTERNS, PATTERNS + TESTED
    return Toy(X[:first], y[:first], X[first:last], y[first:last], X[last:], y[last:])


def _rows(noise: float, seed: int) -> tuple[Float[Array, "n 2"], Int8[Array, " n"]]:
    with np.load(SHARED / FILE) as file:
        rng, X, y = np.random.default_rng(seed), file["X"], file["y"]
    rows = rng.permutation(len(y))
    return X[rows] + math.sqrt(3 * noise) * rng.uniform(-1, 1, X.shape), y[rows]


def _arcs(noise: float, seed: int) -> tuple[Float[Array, "n 2"], Int8[Array, " n"]]:
    examples = banana(5300, random_state=seed, spread=0.25, input_noise=noise)
    return require_not_none(examples.X, "features"), require_not_none(examples.y, "labels")


def boosted(toy_data: Toy, K: int, rounds: int, seed: int, C: float = 0.0, history: bool = False) -> Run:
    """Boost RBF networks by AdaBoost_REG with p = 2; it is AdaBoost at C = 0, and tells influences even then."""
    networks = RBFNetworks(toy_data.X, toy_data.y, K=K, iterations=STEPS, random_state=seed)
    options: dict[str, Any] = {"max_rounds": rounds, "history": history, "test": (toy_data.X_test, toy_data.y_test)}
    return boost("adaboost_reg", networks, C=C, p=2, **options)


def margins_of(run: Run) -> Float[Array, " N"]:
    """Return the normalized margins of a run."""
    return run.record.pool.margins.margins(run.w) / run.w.sum()


def heights_apart(m: Sequence[float], other_margins: Sequence[float] | Float[Array, " n"]) -> float:
    """Return the largest difference of the heights of two distributions of margins, both in ascending order."""
    sides = np.asarray(m), np.asarray(other_margins)
    points = np.concatenate(sides)
    fractions_below = [np.searchsorted(values, points, side="right") / len(values) for values in sides]
    return float(np.abs(fractions_below[0] - fractions_below[1]).max())


def on_grid(decision: Any, X: Float[Array, "N 2"]) -> dict[str, Any]:
    """Return where a grid over points begins and ends, and a function's values there, row by row."""
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - 0.06 * (high - low), high + 0.06 * (high - low)
    points = np.stack(np.meshgrid(*np.linspace(low, high, GRID).T), axis=-1).reshape(-1, 2)
    return {"low": round_digits(low), "high": round_digits(high), "f": round_digits(decision(points), 3)}


class StoredFunction:
    """A decision function that was stored on a grid, linear in between."""

    def __init__(self, grid: Mapping[str, Any]) -> None:
        self.ticks = [np.linspace(a, b, GRID) for a, b in zip(grid["low"], grid["high"], strict=True)]
        self.f = np.reshape(grid["f"], (GRID, GRID))

    def decision_function(self, X: Float[Array, "n 2"]) -> Float[Array, " n"]:
        from scipy.interpolate import RegularGridInterpolator

        interpolator: Any = RegularGridInterpolator
        return interpolator(tuple(self.ticks), self.f.T, bounds_error=False, fill_value=None)(X)

    def line(self, axis: Any, style: str, color: str = "0.2", width: float = 1.0) -> None:
        """Draw where it is 0."""
        if self.f.min() < 0 < self.f.max():
            axis.contour(*self.ticks, self.f, levels=[0], colors=color, linestyles=style, linewidths=width)


def log_odds(toy_data: Toy) -> Any:
    """Return the logarithm of the ratio of both classes' densities, estimated by kernels from the other patterns."""
    import scipy.stats

    stats: Any = scipy.stats
    share = np.mean(toy_data.y_others > 0)
    densities = {
        label: stats.gaussian_kde(toy_data.X_others[toy_data.y_others == label].T, bw_method=0.15) for label in (1, -1)
    }

    def ratio(X: Float[Array, "n 2"]) -> Float[Array, " n"]:
        return densities[1].logpdf(X.T) - densities[-1].logpdf(X.T) + math.log(share / (1 - share))

    return ratio


def of_seeds(holds: Sequence[bool]) -> str:
    """Return for how many of the seeds something holds."""
    return f"{sum(holds)} of {len(holds)} seeds"


def in_print(place: int | str, quantity: str) -> Any:
    """Return what print says of a figure, or at a place, by the first words of the quantity."""
    rows = printed_numbers("R_numbers")["rows"]
    return next(
        row["value"] for row in rows
        if place in (row.get("figure"), row.get("place")) and row["quantity"].startswith(quantity)
    )  # fmt: skip


def first_of(units: list[tuple[Parameters, dict[str, Any]]]) -> dict[str, Any]:
    """Return the result of the smallest seed."""
    return min(units, key=lambda pair: pair[0]["seed"])[1]


def figure_of(
    number: str,
    title: str,
    units: Any,
    work: Any,
    write_page: Any,
    data: tuple[str, ...] = (),
    claims: tuple[Claim, ...] = (),
) -> Experiment:
    """Return an experiment that is a figure of the paper, or some figures."""
    figures = "figure" if number.isdigit() else "figures"
    return Experiment(
        name=f"R_{figures}_{number.replace(', ', '_').replace(' and ', '_')}",
        title=f"{figures.capitalize()} {number}: {title}",
        source=f"{PAPER}, {figures} {number}",
        page="soft_margins",
        units=units,
        work=work,
        write_page=write_page,
        data=data,
        claims=claims,
    )
