"""Ten random classes of hypotheses, what scipy's linear programs say of them, oracles that keep what they said."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.special import xlogy

from boostopt.boosting.run.run import Run
from boostopt.oracles import GivenMargins
from boostopt.oracles.base import Answer, Query

SEEDS = range(10)

ORACLES = ("best", "weakest")

BIT = 1e-6
"""By how much the guarantee of the weakest oracle lies below scipy's optimum, which is accurate to some 1e-9."""

LP = 1e-8
"""The error that scipy's optimum may have."""

EPSILON = 0.4
"""The accuracy of most runs."""

ROUNDING = 1e-12

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class RecordingMargins(GivenMargins):
    """An oracle that keeps the distributions that it was asked with, and the margins that it answered first."""

    def __init__(self, U: Any, **options: Any) -> None:
        super().__init__(U, **options)
        self.d: list[np.ndarray] = []
        self.u: list[np.ndarray] = []

    def best(self, query: Query) -> Answer:
        answer = super().best(query)
        self.d.append(query.d.copy())
        self.u.append(np.asarray(answer.columns[0].margins, dtype=float))
        return answer

    @property
    def edges(self) -> np.ndarray:
        """The edges of all answers, by the sum of products."""
        return np.array([u @ d for u, d in zip(self.u, self.d, strict=True)])


@dataclass(frozen=True, eq=False)
class RandomClass:
    """Margins of all hypotheses of a class, multiplicities of the examples, and how many must share the weight."""

    U: np.ndarray
    c: np.ndarray
    nu: float

    @property
    def total(self) -> float:
        """The N of the bounds: the number of examples, counted with multiplicity."""
        return float(self.c.sum())

    @property
    def d0(self) -> np.ndarray:
        """The reference distribution."""
        return self.c / self.c.sum()

    @property
    def entropy_range(self) -> float:
        """C of the relative entropy: d_n / d0_n <= (sum c) / nu."""
        return float(np.log(self.total / self.nu))

    @property
    def binary_range(self) -> float:
        """C of the binary entropy: (N / nu) H(nu / N), attained where the first examples fill their caps."""
        x = self.nu / self.total
        return float(-(xlogy(x, x) + xlogy(1 - x, 1 - x)) / x)

    @cached_property
    def optimum(self) -> float:
        """P_LP of the class by linear programming."""
        return self.optimum_of(self.U)

    def optimum_of(self, U: np.ndarray, nu: float | None = None) -> float:
        """P_LP of some hypotheses by linear programming: the smallest largest edge over the capped simplex."""
        return linear_program(U, self.c, self.nu if nu is None else nu)

    @property
    def hard(self) -> RandomClass:
        """The same class with nu at the smallest multiplicity, where no cap binds."""
        return RandomClass(self.U, self.c, float(self.c.min()))

    def oracle(self, choose: str, **options: Any) -> RecordingMargins:
        """The best oracle, or the weakest that is legal: its guarantee is the optimum of the class less a bit."""
        guarantee = {"guarantee": self.optimum - BIT} if choose == "weakest" else {}
        return RecordingMargins(self.U, choose=choose, c=self.c, **guarantee, **options)

    def soft_margin(self, w: np.ndarray, U: np.ndarray) -> float:
        """The mean of the nu smallest margins of w / sum w, filled up one by one in order."""
        m = U @ w / w.sum()
        order = np.argsort(m)
        sums_before = np.concatenate([[0.0], np.cumsum(self.c[order])[:-1]])
        return float(np.clip(self.nu - sums_before, 0.0, self.c[order]) @ m[order]) / self.nu

    def entropy(self, d: np.ndarray) -> float:
        """The relative entropy to d0, term by term."""
        return float(np.sum(xlogy(d, d) - xlogy(d, self.d0)))

    def binary_entropy(self, d: np.ndarray) -> float:
        """The binary relative entropy to d0 within the caps, term by term."""
        rest, rest0 = self.c / self.nu - d, self.c / self.nu - self.d0
        return self.entropy(d) + float(np.sum(xlogy(rest, rest) - xlogy(rest, rest0)))


def linear_program(U: np.ndarray, c: np.ndarray, nu: float) -> float:
    """Minimize gamma over Uᵀd <= gamma, sum d = 1, 0 <= d <= c / nu, by scipy: no line of boostopt."""
    N, t = U.shape
    answer: Any = scipy.optimize.linprog(
        np.append(np.zeros(N), 1.0),
        A_ub=np.column_stack([U.T, -np.ones(t)]),
        b_ub=np.zeros(t),
        A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[*((0, cap) for cap in c / nu), (None, None)],
        method="highs",
        options=EXACT,
    )
    assert answer.status == 0, answer.message
    return float(answer.fun)


@cache
def draw_class(seed: int, signs: bool | None = None, right: float = 0.6) -> RandomClass:
    """Class number `seed`: entries -1 and 1 in the even ones, real ones in the others; three with uneven c.

    A share `right` of the signs is 1; the real entries are uniform between 2 right - 2 and 1.
    """
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(26, 35)), int(rng.integers(40, 61))
    even = seed % 2 == 0 if signs is None else signs
    U = np.where(rng.random((N, t)) < right, 1.0, -1.0) if even else rng.uniform(2.0 * right - 2.0, 1.0, (N, t))
    c = rng.choice([0.5, 1.0, 2.5], N) if seed in (2, 5, 8) else np.ones(N)
    nu = (1.0, 3.0, 4.5, 6.0, 8.0)[seed // 2]
    return RandomClass(U, c, nu)


def separable(seed: int, signs: bool | None = None) -> RandomClass:
    """A class of the same kind with a hard margin that is large, where no cap binds."""
    return draw_class(seed, signs, right=0.75).hard


def row(trace: Any, name: str) -> np.ndarray:
    """A column of a trace as floats."""
    return np.asarray(trace[name], dtype=float)


def assert_stopped(random_class: RandomClass, run: Run, choose: str, epsilon: float = EPSILON) -> None:
    """The weights of the classifier have a soft margin of at least g - epsilon, and no more than scipy's optimum."""
    U = run.program.margins.to_array()
    guarantee = random_class.optimum - (BIT if choose == "weakest" else LP)
    soft_margin = random_class.soft_margin(run.w, U)
    assert guarantee - epsilon <= soft_margin <= random_class.optimum + LP
    assert run.class_certificate.lower == pytest.approx(soft_margin, abs=1e-9)
    assert not run.reason.startswith("the limit")


def assert_bounds(random_class: RandomClass, run: Run) -> None:
    """No bound of any round passes scipy's optimum: over the class, and over the hypotheses collected."""
    assert (row(run.trace, "upper") >= random_class.optimum - LP).all()
    assert (np.diff(row(run.trace, "upper")) <= 0.0).all()
    assert (row(run.trace, "soft_margin") <= random_class.optimum + LP).all()
    assert run.class_certificate.lower <= random_class.optimum + LP
    assert run.class_certificate.upper >= random_class.optimum - LP
    hypotheses = row(run.trace, "hypotheses").astype(int)
    U = run.program.margins.to_array()
    for k in {1, run.rounds // 2, run.rounds} - {0}:
        assert run.trace[k - 1].soft_margin <= random_class.optimum_of(U[:, : hypotheses[k - 1]]) + LP
