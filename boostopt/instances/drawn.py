"""Toy data of the papers, drawn from a seed.

In all of them `noise` is the fraction of wrong labels: round(noise N) examples, drawn without replacement, have their
label turned over. The papers describe these data in a line or two; what they leave open is chosen here, and said.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from boostopt.datasets import Dataset
from boostopt.errors import ProblemError
from boostopt.instances.base import checked_between, checked_count, checked_generator
from boostopt.shapes import Array, Int8


def softboost_synthetic(
    N: int,
    random_state: int | np.random.Generator = 0,
    noise: float = 0.1,
    dimension: int = 100,
    relevant: int = 11,
) -> Dataset:
    """Draw points of the hypercube whose label is the majority of a few coordinates hidden among many, with noise.

    Hypotheses are meant to be the coordinates: weighting the relevant ones equally gives every example with a
    right label a margin of 1 / relevant or more.

    The kind of data (high dimension, few relevant coordinates, wrong labels) is that of the paper's synthetic
    experiment; it is no copy of that. Ours are the uniform distribution, the majority with equal weights, the random
    choice of the relevant coordinates, and the numbers: 11 of 100 coordinates, 0.1 of the labels.

    Parameters
    ----------
    N
        Number of examples, at least 1.
    random_state
        Seed or generator; equal seeds give equal data.
    noise
        Fraction of wrong labels, 0 <= noise < 1/2.
    dimension
        Number of coordinates, at least `relevant`.
    relevant
        Number of coordinates that decide, odd.

    Returns
    -------
    Dataset with X of shape (N, dimension), entries -1.0 or 1.0, and y. Its name lists the relevant coordinates.

    Raises
    ------
    ProblemError
        An argument lies outside its range.

    References
    ----------
    Warmuth, Glocer, Raetsch 2007, the experiments on synthetic data.
    """
    rng = checked_generator(random_state)
    _check_majority(N, dimension, relevant)
    return _majority(N, dimension, np.sort(rng.permutation(dimension)[:relevant]), noise, rng)


def hypercube(
    N: int,
    dimension: int = 100,
    random_state: int | np.random.Generator = 0,
    noise: float = 0.0,
    relevant: int = 5,
) -> Dataset:
    """Draw uniform points of {-1, 1}^dimension whose label is the sign of the sum of the first few coordinates.

    Weighting the relevant coordinates equally gives every example with a right label a margin of 1 / relevant or more.

    Parameters
    ----------
    N
        Number of examples, at least 1.
    dimension
        Number of coordinates, at least `relevant`.
    random_state
        Seed or generator; equal seeds give equal data.
    noise
        Fraction of wrong labels, 0 <= noise < 1/2.
    relevant
        Number of coordinates that decide, odd: the first ones.

    Returns
    -------
    Dataset with X of shape (N, dimension), entries -1.0 or 1.0, and y.

    Raises
    ------
    ProblemError
        An argument lies outside its range.
    """
    rng = checked_generator(random_state)
    _check_majority(N, dimension, relevant)
    return _majority(N, dimension, np.arange(relevant), noise, rng)


def banana(N: int, noise: float = 0.0, random_state: int | np.random.Generator = 0, spread: float = 0.15) -> Dataset:
    """Draw two arcs in the plane that reach into each other, one for each class, with noise.

    A point of class 1 lies on the half circle (cos a, sin a), a point of class -1 on (1 - cos a, 1/2 - sin a), a
    uniform on [0, pi]; both coordinates are then moved by normal deviates. The shape is ours: these are not the points
    of the benchmark set of the same name.

    Parameters
    ----------
    N
        Number of examples, at least 2; half of them, rounded up, are drawn of class 1.
    noise
        Fraction of wrong labels, 0 <= noise < 1/2. The paper's levels are 0, 0.09 and 0.16.
    random_state
        Seed or generator; equal seeds give equal data.
    spread
        Standard deviation of the points about their arc, strictly between 0 and 10.

    Returns
    -------
    Dataset with X of shape (N, 2), and y, in random order.

    Raises
    ------
    ProblemError
        An argument lies outside its range.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, for the noise levels.
    """
    checked_count("N", N, 2, "Ask for an example of each class.")
    checked_between("spread", spread, 0, 10, "Try 0.15.")
    rng = checked_generator(random_state)
    angle = rng.uniform(0, np.pi, size=N)
    y = rng.permutation(np.where(np.arange(N) < (N + 1) // 2, 1, -1)).astype(np.int8)
    arcs = np.where(
        y[:, np.newaxis] == 1,
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)]),
    )
    X = arcs + spread * rng.normal(size=(N, 2))
    return Dataset(f"banana, label noise {noise:g}", X, _with_noise(y, noise, rng))


def _check_majority(N: int, dimension: int, relevant: int) -> None:
    """Raise ProblemError unless there are examples and an odd number of coordinates decides."""
    checked_count("N", N, 1, "Ask for one example or more.")
    if checked_count("relevant", relevant, 1, "One coordinate at least must decide.") % 2 == 0:
        raise ProblemError(f"relevant must be odd; got {relevant}. An even number of coordinates may be tied.")
    checked_count("dimension", dimension, relevant, "Raise it, or lower relevant.")


def _majority(
    N: int, dimension: int, relevant: npt.NDArray[np.int64], noise: float, rng: np.random.Generator
) -> Dataset:
    """Draw uniform points and label them by the majority of some coordinates."""
    X = 2.0 * rng.integers(2, size=(N, dimension)) - 1.0
    y = np.sign(X[:, relevant].sum(axis=1)).astype(np.int8)
    y = _with_noise(y, noise, rng)
    which = ", ".join(str(j) for j in relevant)
    return Dataset(f"majority of coordinates {which} of {dimension}, label noise {noise:g}", X, y)


def _with_noise(y: Int8[Array, " N"], noise: float, rng: np.random.Generator) -> Int8[Array, " N"]:
    """Turn over the labels of a fraction of the examples."""
    if noise != 0:
        checked_between("noise", noise, 0, 0.5, "Pass 0 for right labels only.")
    wrong = rng.permutation(len(y))[: round(noise * len(y))]
    signs = np.ones(len(y), dtype=np.int8)
    signs[wrong] = -1
    return y * signs
