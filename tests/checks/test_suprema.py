"""A solver's supremum is compared only as far as it is reliable: its inf is none, its maximizer is rough."""

from __future__ import annotations

import re
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import typechecker
from test_wrong_pieces import MAKERS, ExpressionThatAllowsNegativeWeights, ExpressionWithoutTheEquation

from boostopt import OptionError
from boostopt.authoring import (
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyRegularizer,
    Domain,
    Examples,
    Regularizer,
    interval,
)
from boostopt.checks.domain_checks import forbidden
from boostopt.checks.references import measurements as measuring
from boostopt.checks.references import random_instances as drawing
from boostopt.checks.references.measurements import optimal_value, run_check
from boostopt.checks.references.random_test_points import RegularizerProbe
from boostopt.checks.regularizer_checks import REGULARIZER_CHECKS

x: Any = cp.Variable(2, name="x")
SUM_IS_ONE: Any = cp.sum(x) == 1.0
SUM_IS_NEGATIVE: Any = cp.sum(x) == -1.0


def alpha_divergence(a: float) -> CvxpyRegularizer:
    """The divergence of order a from equal shares of six examples."""
    s = np.full(6, 1.0 / 6.0)
    return CvxpyRegularizer(
        CappedSimplex(np.ones(6), 3.0),
        lambda d: (s ** (1 - a) @ cp.power(d, a, approx=False) - 1) / (a * (a - 1) * 0.7),
        inside=s,
    )


@pytest.mark.thorough
def test_an_infinite_supremum_that_is_none_is_not_compared() -> None:
    """The solver calls the problem unbounded; the domain is bounded."""
    probe = RegularizerProbe(alpha_divergence(23.0), 3, 1)
    words = run_check("conjugate", REGULARIZER_CHECKS["conjugate"](probe)).words
    assert "inf" not in words
    assert "interval(" in words  # what to do


def claims(monkeypatch: pytest.MonkeyPatch, claim: float) -> None:
    """Let the solver's first answer be a claim; the others are its own."""
    answer, first = measuring._answer, [claim]  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(measuring, "_answer", lambda problem: (first.pop(), 0.0) if first else answer(problem))


@pytest.mark.parametrize(
    ("problem", "claim", "right"),
    [
        (cp.Problem(cp.Maximize(-cp.sum_squares(x - 3.0) + 1.0)), np.inf, 1.0),
        (cp.Problem(cp.Minimize(cp.sum_squares(x - 3.0) - 1.0)), -np.inf, -1.0),
        (cp.Problem(cp.Maximize(x[0]), [x[0] <= 2.0]), np.inf, 2.0),  # x[1] is free: the box holds it
        (cp.Problem(cp.Maximize(cp.sum(x))), np.inf, np.inf),
        (cp.Problem(cp.Minimize(x[0]), [x[1] <= 0.0, SUM_IS_ONE]), -np.inf, 1.0),
        (cp.Problem(cp.Minimize(x[0]), [x >= 0.0, SUM_IS_ONE]), np.inf, None),
        (cp.Problem(cp.Maximize(x[0]), [x >= 0.0, SUM_IS_ONE]), -np.inf, None),
        (cp.Problem(cp.Minimize(x[0]), [x >= 0.0, SUM_IS_NEGATIVE]), np.inf, np.inf),
        (cp.Problem(cp.Maximize(x[0]), [cp.norm2(x) <= 1.0, x[0] >= 1.5]), -np.inf, -np.inf),
    ],
)
def test_a_claim_is_taken_only_where_other_problems_confirm_it(
    problem: Any, claim: float, right: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims(monkeypatch, claim)
    optimum = optimal_value(problem)
    assert optimum == right or (optimum is not None and right is not None and abs(optimum - right) <= 1e-6)


def test_conjugate_check_of_a_rough_maximizer_allows_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Q = np.array([[2.0, -1.0, 1.0], [-1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])  # not diagonal: no polishing ends at once
    F = CvxpyRegularizer(CappedSimplex(np.ones(3), 1.0), lambda d: cp.quad_form(d, Q), np.full(3, 1.0 / 3.0))
    probe = RegularizerProbe(F, 0, 1)
    supremum_at = probe.supremum.value

    def rough(z: np.ndarray) -> float | None:
        value = supremum_at(z)
        # The objective misses its supremum by about 1e-8 where the weights are off by 1e-4 of themselves.
        probe.variable.value = probe.variable.value * (1.0 + 1e-4 * (-1.0) ** np.arange(3))
        return value

    monkeypatch.setattr(probe.supremum, "value", rough)
    check = run_check("conjugate", REGULARIZER_CHECKS["conjugate"](probe))
    assert check.passed, check.words


class LooseByAThousandth(CvxpyRegularizer):
    """A bound that is valid and needlessly loose."""

    def conjugate_at(self, z: Any, start: Any = None) -> Any:
        point = super().conjugate_at(z, start)
        object.__setattr__(point, "value", point.value + 1e-3)
        return point


def test_a_bound_that_is_loose_at_a_good_maximizer_is_caught() -> None:
    F = LooseByAThousandth(CappedSimplex(np.ones(4), 1.0), cp.sum_squares, np.full(4, 0.25))
    check = run_check("conjugate", REGULARIZER_CHECKS["conjugate"](RegularizerProbe(F, 0, 1)))
    assert not check.passed
    assert check.worst == pytest.approx(1e-3, rel=1e-6)  # the bound minus the supremum
    assert "F*(z)" in check.words


@pytest.mark.parametrize("kind", (ExpressionThatAllowsNegativeWeights, ExpressionWithoutTheEquation))
def test_expression_that_allows_points_outside_the_domain_fails_its_check(kind: type[Regularizer]) -> None:
    make = next(make for family, make in MAKERS.items() if issubclass(kind, family))
    right, faulty = make(kind.__mro__[1]), make(kind)
    assert run_check("cvxpy-value", forbidden(RegularizerProbe(right, 0, 1))).passed
    check = run_check("cvxpy-value", forbidden(RegularizerProbe(faulty, 0, 1)))
    assert not check.passed and re.search(r"\boutside\b.*\bcvxpy_value\b", check.words)


class OwnVariables(CappedSimplexIndicator):
    """The caps hold of a variable of the expression's own."""

    def cvxpy_value(self, d: Any) -> tuple[Any, list[Any]]:
        s = cp.Variable(self.N, nonneg=True)
        return cp.Constant(0.0), [d + s == self.domain.upper, cp.sum(d) == 1, d >= 0]


def test_an_expression_may_forbid_by_variables_of_its_own() -> None:
    F = OwnVariables(CappedSimplex(np.ones(4), 2.0))
    assert run_check("cvxpy-value", forbidden(RegularizerProbe(F, 0, 1))).passed


class TestInterval:
    """The range of a parameter between the bounds of its author."""

    EXAMPLES = Examples(np.ones(3), np.full(3, 1.0 / 3.0))

    @pytest.mark.parametrize(("lower", "upper"), [(50.0, 60.0), (1.1, 4.0), (-3.0, -2.0), (1e-6, 1e6)])
    def test_the_checks_draw_from_all_of_it(self, lower: float, upper: float) -> None:
        domain, rng = interval(lower, upper), np.random.default_rng(0)
        values = [drawing._draw_parameter(domain, self.EXAMPLES, rng) for _ in range(200)]  # pyright: ignore[reportPrivateUsage]
        assert all(domain.contains(value, self.EXAMPLES) for value in (*values, lower, upper, domain.typical_value))
        assert not any(domain.contains(value, self.EXAMPLES) for value in (lower - 1e-9, upper + 1e-3, np.nan))
        middle = np.sqrt(lower * upper) if lower > 0 else 0.5 * (lower + upper)
        assert 50 < sum(value < middle for value in values) < 150

    @pytest.mark.parametrize(
        ("lower", "upper", "name"), [(2.0, 1.0, "upper"), (1.0, 1.0, "upper"), ("1", 2, "lower"), (0, np.inf, "upper")]
    )
    def test_invalid_bounds_are_refused(self, lower: Any, upper: Any, name: str) -> None:
        came = re.escape(repr({"lower": lower, "upper": upper}[name]))
        with typechecker.unchecked(), pytest.raises(OptionError, match=rf"^{name}\b.*{came}"):
            interval(lower, upper)

    @pytest.mark.parametrize("bounds", [(1.0,), (2.0, 1.0), (1.0, 1.0), (2.0, 3.0), "ab", (0.0, np.inf)])
    def test_bounds_of_a_domain_hold_its_typical_value(self, bounds: Any) -> None:
        with typechecker.unchecked(), pytest.raises(OptionError, match=r"^bounds\b.*interval\("):
            Domain("a range", lambda value, examples: True, bounds=bounds)
