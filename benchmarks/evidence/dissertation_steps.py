"""The corrective algorithms of the dissertation over features that are 0 or 1, at nu = 1, without certificates.

A round takes one product with the features, one step and one distribution. `boost` takes the same rounds. It also
bounds the class from both sides in each of them, and needs some eight times as long.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.errors import ProblemError

TIE = 1e-12
"""Edges that differ by less are equal: the hypothesis of lowest number comes first."""

MASS_TOL = 1e-12
"""The largest distance of the sum of a distribution of the binary entropy from 1."""


class BinaryFeatures:
    """A hypothesis class over features that are 0 or 1, without its negations.

    Parameters
    ----------
    X
        Features of the examples for training, shape (N, features), sparse, of zeros and ones.
    y
        Their labels, -1 and 1, shape (N,).
    hypotheses
        "raw", the features; "stumps", 2 x_j - 1 for each feature that is not the same in all examples; "SVM", the
        examples x_k as columns of the linear kernel, x . x_k / |x_k|^2.

    Raises
    ------
    ProblemError
        A feature is neither 0 nor 1.
    """

    def __init__(self, X: Any, y: ExampleVector, hypotheses: str) -> None:
        if not np.isin(X.data, (0.0, 1.0)).all():
            raise ProblemError(f"features must be 0 or 1; got values up to {X.data.max():g}. Use `boost` for others.")
        self.X = scipy.sparse.csr_array(X)
        self.y = y
        self.hypotheses = hypotheses
        self._transposed = scipy.sparse.csr_array(X.T)
        counts = np.asarray(X.sum(axis=0)).ravel()
        self._varies = (counts > 0) & (counts < X.shape[0])
        first = np.unique(X.toarray(), axis=0, return_index=True)[1] if hypotheses == "SVM" else np.array([], dtype=int)
        # Examples that are 0 give no column; equal ones give one, that of the first.
        rows = np.sort(first)
        sizes = np.asarray(X.sum(axis=1)).ravel()
        self._centers = self.X[rows[sizes[rows] > 0]]
        self._scales: Float[Array, " k"] = sizes[rows[sizes[rows] > 0]]

    def best(self, d: ExampleVector) -> tuple[int, int, float]:
        """Return number and sign of the hypothesis of largest edge under a distribution, and the edge."""
        signed = self.y * d
        edges = self._transposed @ signed
        if self.hypotheses == "stumps":
            edges = np.where(self._varies, 2.0 * edges - signed.sum(), 0.0)
        elif self.hypotheses == "SVM":
            edges = self._centers @ edges / self._scales
        sizes = np.abs(edges)
        q = int(np.argmax(sizes >= sizes.max() - TIE))
        return q, -1 if edges[q] < 0.0 else 1, float(sizes[q])

    def values(self, q: int, X: Any) -> Float[Array, " n"]:
        """Return the values of a hypothesis on examples, shape (n,)."""
        if self.hypotheses == "SVM":
            products = (scipy.sparse.csr_array(X) @ self._centers[[q]].T).toarray().ravel()
            return np.minimum(products / self._scales[q], 1.0)
        if self.hypotheses == "raw":
            return X[:, [q]].toarray().ravel()
        return 2.0 * X[:, [q]].toarray().ravel() - 1.0


@dataclass(frozen=True, eq=False)
class Steps:
    """A run of a corrective algorithm.

    Attributes
    ----------
    weights
        Weights of hypotheses by their numbers and signs; the sign of a negation is -1.
    rounds
        The number of steps.
    delta
        The difference of the practical rule at the last query.
    ended_by_rule
        Whether delta came to half of epsilon.
    seconds
        Seconds of the processor.
    """

    weights: dict[tuple[int, int], float]
    rounds: int
    delta: float
    ended_by_rule: bool
    seconds: float

    def predict(self, features: BinaryFeatures, X: Any) -> Float[Array, " n"]:
        """Return the classes of examples; where f = 0 that of more examples for training."""
        f = np.zeros(X.shape[0])
        for (q, sign), weight in self.weights.items():
            f += sign * weight * features.values(q, X)
        return np.where(f == 0.0, 1.0 if 2 * (features.y > 0).sum() >= len(features.y) else -1.0, np.sign(f))


def take_steps(features: BinaryFeatures, binary: bool, eta: float, epsilon: float, rounds: int) -> Steps:
    """Run algorithm 4.1, or 4.3 for the binary entropy, with the practical rule [Glocer 2009], nu being 1.

    The step is clip(x . d / (eta max |x|^2), 0, 1), x = u - Uw, with the square that print lacks.

    Parameters
    ----------
    features
        The class; its negations belong to it.
    binary
        Whether the entropy is the binary one.
    eta, epsilon
        Positive.
    rounds
        The largest number of steps.
    """
    began, N = time.process_time(), len(features.y)
    d, m, entropy, dual, offset = np.full(N, 1.0 / N), np.zeros(N), 0.0, -math.inf, math.log(N - 1)
    margins, weights = dict[tuple[int, int], ExampleVector](), dict[tuple[int, int], float]()
    smallest_primal, delta, n_steps = math.inf, math.inf, 0
    for n_steps in range(rounds + 1):
        q, sign, edge = features.best(d)
        smallest_primal = min(smallest_primal, edge + entropy)
        delta = smallest_primal - dual
        if delta <= 0.5 * epsilon or n_steps == rounds:
            break
        if (q, sign) not in margins:
            margins[q, sign] = sign * features.y * features.values(q, features.X)
        x = margins[q, sign] - m
        largest = float(np.abs(x).max())
        # The first mixture is the first hypothesis.
        size = 1.0 if not weights else min(max(float(x @ d) / (eta * largest * largest), 0.0), 1.0) if largest else 0.0
        m = m + size * x
        weights = {hypothesis: (1.0 - size) * weight for hypothesis, weight in weights.items()}
        weights[q, sign] = weights.get((q, sign), 0.0) + size
        if binary:
            d, offset = _binary_weights(eta * m, offset)
            entropy = _binary_entropy(d) / eta
        else:
            d, entropy = _relative_weights(eta * m)
            entropy /= eta
        dual = float(m @ d) + entropy
    return Steps(weights, n_steps, delta, delta <= 0.5 * epsilon, time.process_time() - began)


def _relative_weights(z: ExampleVector) -> tuple[ExampleVector, float]:
    """Return the distribution that is proportional to exp(-z), and its entropy relative to the uniform one."""
    smallest = float(z.min())
    d = np.exp(smallest - z)
    total = float(d.sum())
    d /= total
    return d, math.log(len(z) / total) + smallest - float(z @ d)


def _binary_weights(z: ExampleVector, offset: float) -> tuple[ExampleVector, float]:
    """Return the distribution 1 / (1 + exp(z + offset)), and the offset with which it sums to 1: Newton, bracketed."""
    low, high = math.log(len(z) - 1) - float(z.max()), math.log(len(z) - 1) - float(z.min())
    while True:
        with np.errstate(over="ignore"):
            d = 1.0 / (1.0 + np.exp(z + offset))
        mass = float(d.sum())
        if abs(mass - 1.0) <= MASS_TOL or high - low <= np.spacing(max(abs(low), abs(high))):
            return d, offset
        low, high = (offset, high) if mass > 1.0 else (low, offset)
        slope = float(d @ (1.0 - d))
        newton = offset + mass * math.log(mass) / slope if slope > 0.0 and mass > 0.0 else math.nan
        offset = newton if low < newton < high else 0.5 * (low + high)


def _binary_entropy(d: ExampleVector) -> float:
    """Return sum_n d_n ln(N d_n) + (1 - d_n) ln((1 - d_n) / (1 - 1 / N))."""
    from scipy.special import xlog1py, xlogy

    N = len(d)
    return float((xlogy(d, N * d) + xlog1py(1.0 - d, -d)).sum()) - (N - float(d.sum())) * math.log1p(-1.0 / N)
