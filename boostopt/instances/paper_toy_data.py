"""Toy data of the papers, drawn from a seed.

In all of them `noise` is the fraction of wrong labels: the labels of round(noise N) examples, drawn without
replacement, are flipped. `input_noise` moves points instead, and does not change labels. The papers describe these data
in a line or two. The docstrings state the choices that the papers leave open.
"""

from __future__ import annotations

import numpy as np

from boostopt._utils.array_types import Array, Int8
from boostopt._utils.validation import check_number
from boostopt.data.datasets import Dataset
from boostopt.errors import ProblemError
from boostopt.instances.known_instance import validate_between, validate_count, validate_generator


def softboost_synthetic(
    N: int = 2000,
    random_state: int | np.random.Generator = 0,
    noise: float = 0.1,
    dimension: int = 100,
    informative: int = 10,
) -> Dataset:
    """Draw uniform features, a few of which are shifted for one class, with wrong labels.

    Every feature is uniform on [0, 1]. For the first half of the examples, class 1, the first `informative` features
    are raised by 1/2. These features are then rescaled to [0, 1]. The paper's hypotheses are the features themselves
    and their negations, with values in [0, 1] and [-1, 0]: `oracles.RawFeatures(X, y)`. No single feature separates the
    classes, but many together nearly do. The wrong labels call for a soft margin.

    Parameters
    ----------
    N
        Number of examples, at least 2; the paper has 2000 and trains on 500 of them.
    random_state
        Seed or generator; equal seeds give equal data.
    noise
        Fraction of wrong labels, 0 <= noise < 1/2; the paper has 0.1.
    dimension
        Number of features, at least `informative`; the paper has 100.
    informative
        Number of features that distinguish the classes, which come first; the paper has 10.

    Returns
    -------
    Dataset with X of shape (N, dimension), entries in [0, 1], and y. Before noise, the first ceil(N / 2) labels are 1.

    Raises
    ------
    ProblemError
        An argument is out of range.

    References
    ----------
    Warmuth, Glocer, Raetsch 2007, section 5.
    """
    rows = validate_count("N", N, 2, "Ask for an example of each class.")
    informative = validate_count("informative", informative, 1, "Raise it: without one, the classes do not differ.")
    dimension = validate_count("dimension", dimension, informative, "Raise it, or lower informative.")
    rng, noise = validate_generator(random_state), _validate_noise(noise)
    X = rng.uniform(size=(rows, dimension))
    y = np.where(np.arange(rows) < (rows + 1) // 2, 1, -1).astype(np.int8)
    # Raised by 1/2, the values of class 1 lie in [1/2, 3/2], so all values are divided by 3/2.
    X[:, :informative] = (X[:, :informative] + 0.5 * (y == 1)[:, np.newaxis]) / 1.5
    name = f"{informative} informative features of {dimension}, label noise {noise:g}"
    return Dataset(name, X, _flip_labels(y, noise, rng))


def hypercube(
    N: int,
    dimension: int = 100,
    random_state: int | np.random.Generator = 0,
    noise: float = 0.0,
    relevant: int = 5,
) -> Dataset:
    """Draw uniform points of {-1, 1}^dimension whose label is the sign of the sum of the first few coordinates.

    Equal weights on the relevant coordinates give every correctly labelled example a margin of 1 / relevant or more.

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
        Number of coordinates that determine the label, odd; they come first.

    Returns
    -------
    Dataset with X of shape (N, dimension), entries -1.0 or 1.0, and y.

    Raises
    ------
    ProblemError
        An argument is out of range.
    """
    rng, noise = validate_generator(random_state), _validate_noise(noise)
    rows = validate_count("N", N, 1, "Ask for one example or more.")
    relevant = validate_count("relevant", relevant, 1, "Take one at least to decide.")
    if relevant % 2 == 0:
        raise ProblemError(f"relevant must be odd; got {relevant}. Take one more: an even number may be tied.")
    dimension = validate_count("dimension", dimension, relevant, "Raise it, or lower relevant.")
    X = 2.0 * rng.integers(2, size=(rows, dimension)) - 1.0
    y = _flip_labels(np.sign(X[:, :relevant].sum(axis=1)).astype(np.int8), noise, rng)
    relevant_text = ", ".join(map(str, range(relevant)))
    return Dataset(f"majority of coordinates {relevant_text} of {dimension}, label noise {noise:g}", X, y)


def banana(
    N: int,
    noise: float = 0.0,
    random_state: int | np.random.Generator = 0,
    spread: float = 0.15,
    input_noise: float = 0.0,
) -> Dataset:
    """Draw two interlocking arcs in the plane, one for each class, with noise.

    A point of class 1 lies on the half circle (cos a, sin a), and a point of class -1 on (1 - cos a, 1/2 - sin a), with
    a uniform on [0, pi]. Normal deviates are then added to both coordinates, and uniform ones if there is input noise.
    The shape is our own choice: these are not the points of the benchmark set of the same name. With the same seed,
    label noise changes only labels, and input noise changes only points.

    Parameters
    ----------
    N
        Number of examples, at least 2; half of them, rounded up, are drawn of class 1.
    noise
        Fraction of wrong labels, 0 <= noise < 1/2. The paper flips no labels.
    random_state
        Seed or generator; equal seeds give equal data.
    spread
        Standard deviation of the points about their arc, strictly between 0 and 10.
    input_noise
        The paper's sigma^2, 0 <= sigma^2 < 100; the paper has 0, 0.09 and 0.16. A uniform deviate of mean 0 and this
        variance, at most sqrt(3) sigma in size, is added to each coordinate. The paper writes U(0.0, sigma^2). We read
        this as mean and variance; as an interval it would move no point by more than 0.16 in a coordinate.

    Returns
    -------
    Dataset with X of shape (N, 2), and y, in random order.

    Raises
    ------
    ProblemError
        An argument is out of range.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, sections 3 and 5.1, for the input noise.
    """
    rows = validate_count("N", N, 2, "Ask for an example of each class.")
    spread = validate_between("spread", spread, 0, 10, "Try 0.15.")
    rng, noise = validate_generator(random_state), _validate_noise(noise)
    stay = "Pass 0 for points that stay where they are."
    expected = "a number of at least 0 and below 100"
    input_noise = check_number("input_noise", input_noise, expected, lambda x: 0.0 <= x < 100.0, stay, ProblemError)
    angle = rng.uniform(0, np.pi, size=rows)
    y = rng.permutation(np.where(np.arange(rows) < (rows + 1) // 2, 1, -1)).astype(np.int8)
    arcs = np.where(
        y[:, np.newaxis] == 1,
        np.column_stack([np.cos(angle), np.sin(angle)]),
        np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)]),
    )
    points = arcs + spread * rng.normal(size=(rows, 2))
    y = _flip_labels(y, noise, rng)
    noise_text = f", input noise {input_noise:g}" if input_noise else ""
    # The input noise is drawn last, so that nothing else depends on it.
    points = points + np.sqrt(3 * input_noise) * rng.uniform(-1, 1, size=(rows, 2))
    return Dataset(f"banana, label noise {noise:g}{noise_text}", points, y)


def _validate_noise(noise: object) -> float:
    """Return a fraction of wrong labels, or raise ProblemError."""
    advice = "Pass 0 for right labels only."
    return check_number(
        "noise", noise, "a number of at least 0 and below 1/2", lambda x: 0.0 <= x < 0.5, advice, ProblemError
    )


def _flip_labels(y: Int8[Array, " N"], noise: float, rng: np.random.Generator) -> Int8[Array, " N"]:
    """Flip the labels of a fraction of the examples."""
    flipped = rng.permutation(len(y))[: round(noise * len(y))]
    signs = np.ones(len(y), dtype=np.int8)
    signs[flipped] = -1
    return y * signs
