"""The subject of a certificate of a class: the same words and the same numbers however F is written, and true ones.

Each F is written in every way that there is. Over a finite class the truth is the optimum of the program of F0 and the
largest edge, by a solver that knows nothing of boosting.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import ProblemError, boost, verify
from boostopt.authoring import (
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyRegularizer,
    Examples,
    Formulation,
    LogExponentialLoss,
    MaximumEdge,
    NormBall,
    NormPenalty,
    Regularizer,
    RelativeEntropy,
    Separable,
    Squares,
    formula,
    prototype,
    simplex,
)
from boostopt.boosting.objectives.soft_margin import MEASURES, SoftMarginObjective
from boostopt.boosting.run.run import Run
from boostopt.functions.regularizer_statements import defines_own_kind
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.oracles import GivenMargins

N, T, NU, MU, ETA, R = 4, 3, 2.5, 0.7, 3.0, 0.7
C = np.array([1.0, 1.0, 2.0, 1.0])
D0 = C / C.sum()
U = np.random.default_rng(39).choice([-1.0, -0.5, 0.5, 1.0], (N, T))
Z = np.array([0.3, -0.2, 0.1, -0.3])
ZERO_WEIGHTS = np.zeros(N)
EPSILON = 1e-2
CAPS = CappedSimplex(C, NU)
SIMPLEX = CappedSimplex(C, 1.0)

SOFT, VALUE = "soft margin", "value of the program"
REST = f"{VALUE} without its smoothing term"


@dataclass(frozen=True, eq=False)
class UserRegularizer(Separable):
    """A class of one's own: the linear and the square term on the caps, by its values and slopes alone."""

    z: np.ndarray
    mu: float

    @property
    def N(self) -> int:
        return N

    @property
    def upper(self) -> np.ndarray:
        return C / NU

    @property
    def value_bound(self) -> float:
        return CappedSimplexIndicator(CAPS).support(self.z + 0.5 * self.mu * self.upper / C)

    @property
    def magnitude(self) -> float:
        return float(np.abs(self.z).max()) + self.mu

    @property
    def weight_scale(self) -> np.ndarray:
        return D0

    def values(self, d: np.ndarray) -> np.ndarray:
        return self.z * d + 0.5 * self.mu * d**2 / C

    def derivatives(self, d: np.ndarray) -> np.ndarray:
        return self.z + self.mu * d / C

    def maximizers(self, y: np.ndarray) -> np.ndarray:
        if self.mu == 0.0:
            return np.where(y > self.z, self.upper, 0.0)
        return np.clip((y - self.z) * C / self.mu, 0.0, self.upper)

    def project(self, d: np.ndarray | None) -> np.ndarray:
        return self.conjugate_at(np.zeros(N)).d if d is None else CAPS.repair(d, D0)

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        return expression(d, self.z, self.mu), CappedSimplexIndicator(CAPS).cvxpy_value(d)[1]

    def cvxpy_conjugate(self, z: Any) -> tuple[Any, list[Any]]:
        raise ProblemError("only the primal is known")


class Smoothed(UserRegularizer):
    """The same, its author saying that the term only smooths."""

    @property
    def unsmoothed(self) -> Regularizer:
        return CappedSimplexIndicator(CAPS)


def expression(d: Any, z: np.ndarray = ZERO_WEIGHTS, mu: float = 0.0) -> Any:
    return z @ d + 0.5 * mu * cp.sum(cp.multiply(1.0 / C, cp.square(d)))


def entropy(d: Any) -> Any:
    return cp.sum(cp.rel_entr(d, D0)) / ETA


def norm(d: Any) -> Any:
    return cp.norm(cp.multiply(1.0 / np.sqrt(C), d))


def cvxpy_regularizer(f: Callable[[Any], Any], constraints: Any = None, domain: CappedSimplex = CAPS) -> Regularizer:
    return CvxpyRegularizer(domain, f, D0, **({} if constraints is None else {"constraints": constraints}))


def smoothing(domain: CappedSimplex = CAPS) -> Any:
    return formula("d*log(d/d0)/eta", domain, D0, is_smoothing=True, eta=ETA)


def by_formula(text: str, domain: CappedSimplex = CAPS) -> Any:
    values: dict[str, Any] = {"z": Z, "mu": MU, "eta": ETA}
    return formula(text, domain, D0, **{name: value for name, value in values.items() if name in text})


ENTROPY = "d*log(d/d0)/eta"
SQUARES = "mu/2*d**2/c"

Ways = dict[str, Callable[[], Regularizer]]

STATEMENTS: dict[str, tuple[str, Callable[[Any], Any], list[Any], Ways]] = {
    "nothing": (
        SOFT,
        lambda d: 0.0,
        [NU],
        {
            "built-in": lambda: CappedSimplexIndicator(CAPS),
            "sum": lambda: CappedSimplexIndicator(CAPS) + CappedSimplexIndicator(CAPS),
            "tilted": lambda: Tilted(CappedSimplexIndicator(CAPS), ZERO_WEIGHTS),
            "described": lambda: cvxpy_regularizer(lambda d: cp.Constant(0.0)),
            "described with d": lambda: cvxpy_regularizer(lambda d: 0.0 * cp.sum(d)),
            "formula": lambda: by_formula("0*d"),
            "own": lambda: UserRegularizer(ZERO_WEIGHTS, 0.0),
        },
    ),
    "a linear term": (
        VALUE,
        lambda d: Z @ d,
        [NU],
        {
            "tilted": lambda: Tilted(CappedSimplexIndicator(CAPS), Z),
            "sum": lambda: by_formula("z*d") + CappedSimplexIndicator(CAPS),
            "described": lambda: cvxpy_regularizer(lambda d: Z @ d),
            "formula": lambda: by_formula("z*d"),
            "own": lambda: UserRegularizer(Z, 0.0),
        },
    ),
    "squares": (
        VALUE,
        lambda d: expression(d, mu=MU),
        [NU],
        {
            "sum": lambda: CappedSimplexIndicator(CAPS) + Squares(C, MU),
            "sum of formulas": lambda: by_formula(SQUARES) + CappedSimplexIndicator(CAPS),
            "tilted": lambda: Tilted(CappedSimplexIndicator(CAPS) + Squares(C, MU), ZERO_WEIGHTS),
            "described": lambda: cvxpy_regularizer(lambda d: expression(d, mu=MU)),
            "formula": lambda: by_formula(SQUARES),
            "own": lambda: UserRegularizer(ZERO_WEIGHTS, MU),
        },
    ),
    "a linear term and squares": (
        VALUE,
        lambda d: expression(d, Z, MU),
        [NU],
        {
            "tilted": lambda: Tilted(CappedSimplexIndicator(CAPS) + Squares(C, MU), Z),
            "sum": lambda: by_formula("z*d") + Squares(C, MU),
            "described": lambda: cvxpy_regularizer(lambda d: expression(d, Z, MU)),
            "formula": lambda: by_formula(f"z*d + {SQUARES}"),
            "own": lambda: UserRegularizer(Z, MU),
        },
    ),
    "an entropy": (
        VALUE,
        entropy,
        [1.0],
        {
            "built-in": lambda: LogExponentialLoss.capped(C, 1.0, ETA, D0),
            "described": lambda: cvxpy_regularizer(entropy, domain=SIMPLEX),
            "formula": lambda: by_formula(ENTROPY, SIMPLEX),
            "sum": lambda: by_formula(ENTROPY, SIMPLEX) + CappedSimplexIndicator(SIMPLEX),
        },
    ),
    "an entropy that smooths": (
        SOFT,
        lambda d: 0.0,
        [NU],
        {
            "built-in": lambda: RelativeEntropy.capped(C, NU, ETA, D0),
            "sum": lambda: RelativeEntropy.capped(C, NU, ETA, D0) + CappedSimplexIndicator(CAPS),
            "tilted": lambda: Tilted(RelativeEntropy.capped(C, NU, ETA, D0), ZERO_WEIGHTS),
            "formula": smoothing,
            "own": lambda: Smoothed(ZERO_WEIGHTS, MU),
        },
    ),
    "squares beside an entropy that smooths": (
        REST,
        lambda d: expression(d, mu=MU),
        [NU],
        {
            "sum": lambda: RelativeEntropy.capped(C, NU, ETA, D0) + Squares(C, MU),
            "sum of formulas": lambda: smoothing() + by_formula(SQUARES),
            "sum with a class": lambda: smoothing() + UserRegularizer(ZERO_WEIGHTS, MU),
        },
    ),
    "a linear term beside an entropy that smooths": (
        REST,
        lambda d: Z @ d,
        [NU],
        {
            "tilted": lambda: Tilted(RelativeEntropy.capped(C, NU, ETA, D0), Z),
            "tilted formula": lambda: Tilted(smoothing(), Z),
            "sum": lambda: smoothing() + by_formula("z*d"),
        },
    ),
    "a ball": (
        SOFT,
        lambda d: 0.0,
        [1.0, R],
        {
            "built-in": lambda: NormBall(simplex(C), C, 2.0, R),
            "described": lambda: cvxpy_regularizer(lambda d: cp.Constant(0.0), lambda d: [norm(d) <= R], SIMPLEX),
        },
    ),
    "a penalty": (
        VALUE,
        lambda d: R * norm(d),
        [1.0],
        {
            "built-in": lambda: NormPenalty(simplex(C), C, 2.0, R),
            "described": lambda: cvxpy_regularizer(lambda d: R * norm(d), domain=SIMPLEX),
        },
    ),
}
"""For each F: the bounded quantity; F0 and its domain for the truth, nu and a radius; the forms of F."""

CASES = [(statement, way) for statement, (_, _, _, ways) in STATEMENTS.items() for way in ways]

FAST = ("nothing", "a linear term")
"""Each F whose description is boosted in little time."""


def is_slow(case: str, way: str) -> bool:
    """Return whether a run takes long: sums halve all weights again and again, descriptions ask a solver."""
    return way.startswith("sum") or (way == "described" and case not in FAST)


RUNS = [pytest.param(*case, marks=[pytest.mark.thorough] if is_slow(*case) else []) for case in CASES]


def truth(case: str) -> float:
    """The best value over the class, by Clarabel alone."""
    _, F0, (nu, *radius), _ = STATEMENTS[case]
    d, gamma = cp.Variable(N, nonneg=True), cp.Variable()
    conditions: list[Any] = [cp.sum(d) == 1, d <= C / nu, U.T @ d <= gamma, *(norm(d) <= r for r in radius)]
    problem = cp.Problem(cp.Minimize(gamma + F0(d)), conditions)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)  # pyright: ignore[reportArgumentType]


def html(run: Any) -> str:
    return run._repr_html_()


def formulation_of(case: str, way: str) -> Formulation[Any]:
    F = STATEMENTS[case][3][way]()
    return prototype("written", lambda p, examples: F)


def boost_case(case: str, way: str) -> tuple[Formulation[Any], GivenMargins, Run]:
    formulation, oracle = formulation_of(case, way), GivenMargins(U, c=C)
    return formulation, oracle, boost(formulation, oracle, epsilon=EPSILON)


@pytest.mark.parametrize(("case", "way"), CASES)
def test_the_bounded_objective_follows_from_f_alone(case: str, way: str) -> None:
    F = STATEMENTS[case][3][way]()
    goal = SoftMarginObjective.from_pair(F, MaximumEdge(), Examples(C, D0))
    assert (
        goal is not None
        and SoftMarginObjective.name_of(goal) == STATEMENTS[case][0]
        and STATEMENTS[case][0] in MEASURES
    )
    assert (goal.nu is None) == (STATEMENTS[case][0] != SOFT or case == "a ball")


@pytest.mark.every(6)
@pytest.mark.parametrize(("case", "way"), RUNS)
def test_the_words_and_the_numbers_are_those_of_f(case: str, way: str, tmp_path: Path) -> None:
    formulation, oracle, run = boost_case(case, way)
    certificate, best, name = run.class_certificate, truth(case), STATEMENTS[case][0]
    assert certificate.lower - 1e-8 <= best <= certificate.upper + 1e-8
    assert certificate.gap <= EPSILON + run.problem.F.price + 1e-8, run.reason
    assert certificate.quantity == run.problem.measure == name
    assert f"the best {name} over" in str(certificate) and name in run.reason
    if name != SOFT:
        assert SOFT not in str(certificate) + run.reason + html(run)
    assert run.verify_class(oracle).quantity == name
    F0 = run.problem.class_pair[0]
    if defines_own_kind(F0) and F0.statement(C, D0) is not None:
        path = tmp_path / "class.json"
        run.save_certificate(path, oracle)
        assert json.loads(path.read_text())["claim"]["what"] == name
        verification = verify(path, oracle, formulation=formulation)
        assert verification and verification.quantity == name and f"of the best {name}" in verification.reason
        assert verification.lower - 1e-8 <= best <= verification.upper + 1e-8
        for word in {SOFT, VALUE, REST} - {name}:
            text = json.loads(path.read_text())
            text["claim"]["what"] = word
            (tmp_path / "other.json").write_text(json.dumps(text))
            refused = verify(tmp_path / "other.json", oracle, formulation=formulation)
            assert not refused and f"means the best {name}" in refused.reason
        older = json.loads(path.read_text())
        del older["claim"]["what"]
        (tmp_path / "older.json").write_text(json.dumps(older))
        assert verify(tmp_path / "older.json", oracle, formulation=formulation).quantity == name


def test_a_tilted_cap_is_not_called_a_soft_margin() -> None:
    """By hand: w = (1/2, 1/2) has the margins 0, 0, 1, 1, no w has a larger mean of the two smallest."""
    margins, theta = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), np.array([0.3, 0.3, 0.0, 0.0])
    formulation = prototype(
        "tilted", lambda p, examples: Tilted(CappedSimplexIndicator(CappedSimplex(examples.c, 2.0)), -theta)
    )
    certificate = boost(formulation, GivenMargins(margins)).class_certificate
    assert certificate.lower <= -0.3 <= certificate.upper and certificate.gap <= 1e-6
    assert certificate.quantity == VALUE
    plain = boost("lpboost", GivenMargins(margins), nu=2.0).class_certificate
    assert plain.lower <= 0.0 <= plain.upper and plain.gap <= 1e-6 and plain.quantity == SOFT


@pytest.mark.parametrize(
    ("F", "case"),
    [
        (lambda: RelativeEntropy.capped(C, NU, ETA, D0), SOFT),
        (lambda: by_formula(ENTROPY), f"{VALUE} with the largest edge for G"),
        (
            lambda: Tilted(smoothing(), Z),
            f"{VALUE} with the largest edge for G and without its smoothing term",
        ),
    ],
)
def test_a_bound_of_the_edges_is_not_what_is_bounded_over_a_class(F: Callable[[], Any], case: str) -> None:
    """F0(d) + the largest edge is bounded, which is no value of a program whose edges are held below a bound."""
    regularizer = F()
    formulation = prototype("bounded", lambda p, examples: regularizer, lambda p: BoundedEdges(0.5))
    run = boost(formulation, GivenMargins(U, c=C), epsilon=0.05, max_rounds=20)
    assert run.class_certificate.quantity == case and case in MEASURES
    assert run.class_certificate.lower - 1e-8 <= bounded_truth(regularizer) <= run.class_certificate.upper + 1e-8


def bounded_truth(F: Regularizer) -> float:
    d, gamma = cp.Variable(N), cp.Variable()
    # The interval is that of a description, F0 as CVXPY has it.
    value, conditions = F.unsmoothed.cvxpy_value(d)
    problem = cp.Problem(cp.Minimize(gamma + value), [*conditions, U.T @ d <= gamma])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)  # pyright: ignore[reportArgumentType]


ALL_RIGHT = np.array([[0.3, 0.5], [0.3, 0.1], [0.3, 0.2]])
"""Every distribution has an edge of 0.3 at least."""


def shifted_formulation(by: float) -> Formulation[Any]:
    """Edges held below 0, which no distribution can, and an entropy with a constant in F."""
    return prototype(
        "shifted",
        lambda p, examples: Tilted(RelativeEntropy.capped(examples.c, 1.5, 1.0, examples.d0), np.full(3, by)),
        lambda p: BoundedEdges(0.0),
    )


def test_a_search_below_a_bound_of_the_edges_ends_at_margins_not_at_values() -> None:
    """The value 0.3 - 0.5 never exceeds the bound; the smallest margin does at once."""
    run = boost(shifted_formulation(-0.5), GivenMargins(ALL_RIGHT), update="line_search", max_rounds=40, epsilon=0.05)
    assert np.isfinite(run.w).all() and run.class_certificate.lower <= -0.2 <= run.class_certificate.upper


@pytest.mark.parametrize("by", [-0.5, 0.5])
@pytest.mark.parametrize("rule", ["boundary", "infeasible"])
def test_rules_about_distributions_speak_of_edges(rule: str, by: float) -> None:
    run = boost(
        shifted_formulation(by), GivenMargins(ALL_RIGHT), update="step", rules=rule, max_rounds=40, epsilon=0.05
    )
    assert run.reason.startswith(f"{rule}: ") and " 0.3 - 0.05" in run.reason


def test_nu_is_the_count_of_a_cap_and_none_of_other_functions() -> None:
    c, d0 = np.array([1.0, 2.0, 3.0]), np.full(3, 1 / 3)
    entropy, penalty = RelativeEntropy.capped(c, 4.0, 5.0, d0), NormPenalty(simplex(c), c, 2.0, 0.5)
    for F, nu in ((entropy, 4.0), (penalty, None)):
        objective = SoftMarginObjective.from_pair(F, MaximumEdge(), Examples(c, d0))
        assert objective is not None
        assert objective.nu == (None if nu is None else pytest.approx(nu, rel=1e-12))
