"""Problems that once had a false certificate, or none in words; each with the value that is true."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from convex_problems import cp
from cvxpy.utilities.warn import CvxpyDeprecationWarning

from boostopt import ProblemCertificate, ProblemError, certify_problem
from boostopt.problem_certificates import problem_certificate
from boostopt.problem_certificates.arithmetic.balls import ball, exact_fraction, exact_rank


def certify_at(problem: Any, *values: Any, **options: Any) -> ProblemCertificate:
    """Certify a problem with values of its variables, without a solver."""
    for variable, value in zip(problem.variables(), values, strict=True):
        variable.save_value(np.asarray(value, dtype=float))
    return certify_problem(problem, **options)


def certify_solved(objective: Any, constraints: list[Any] | None = None, **options: Any) -> ProblemCertificate:
    problem = cp.Problem(objective, constraints or [])
    with warnings.catch_warnings(action="ignore"):
        problem.solve("CLARABEL")
    return certify_problem(problem, **options)


def assert_contains(certificate: ProblemCertificate, optimum: float, tol: float = 1e-9) -> None:
    assert certificate.status == "bounded"
    assert certificate.lower <= optimum + tol and certificate.upper >= optimum - tol
    assert certificate.scaled_gap <= 1e-6


def test_sums_of_fixed_entries_are_exact_in_ranks_of_equalities() -> None:
    """2^60 + 2^-100 has more than 128 bits: as a ball it is no exact number."""
    y, f = cp.Variable(), cp.Variable(3, bounds=[np.ones(3), np.ones(3)])
    large, small = 2.0**60, 2.0**-100
    constraints = [y + large * f[0] + small * f[1] - large * f[2] == 0, y + small * f[1] == 0]
    certificate = certify_at(cp.Problem(cp.Minimize(y), constraints), 0.0, np.ones(3))
    assert certificate.status == "bounded"
    assert certificate.lower <= -small <= certificate.upper
    constraints = [y + large * f[0] + small * f[1] == 0, y + large * f[0] == 0]
    certificate = certify_at(cp.Problem(cp.Minimize(y), constraints), 0.0, np.ones(3))
    assert certificate.status == "infeasible"


def test_fractions_are_of_exact_balls_only() -> None:
    assert exact_fraction(ball(0.375)) * 8 == 3
    for value in (ball(1.0) / 3, ball(math.inf), ball(math.nan)):
        with pytest.raises(ValueError, match="expected an exact ball"):
            exact_fraction(value)
    half, one = exact_fraction(ball(0.5)), exact_fraction(ball(1.0))
    assert exact_rank([[half, one], [one, 2 * one]]) == 1
    assert exact_rank([]) == 0


def test_coefficients_below_all_floats_bound_a_ray() -> None:
    x = cp.Variable(2)
    row = 1e-200 * (1e-200 * (x[0] - x[1]))
    certificate = certify_at(cp.Problem(cp.Minimize(x[0] - x[1]), [row >= 0]), np.ones(2))
    assert certificate.lower <= 0 <= certificate.upper
    assert certificate.status == "open"


def test_products_of_constants_that_are_too_large_are_refused() -> None:
    x = cp.Variable(2)
    for constraint in (1e200 * (1e200 * (x[0] - x[1])) >= 0, 1e200 * (1e200 * x[0]) == 0, 1e160 * x[0] <= 1):
        with pytest.raises(ProblemError, match=r"\bcoefficients\b.* at most 1e\+150\b.*\. Scale\b"):
            certify_at(cp.Problem(cp.Minimize(x[0] - x[1]), [constraint]), np.ones(2))
    with pytest.raises(ProblemError, match=r"\bconstant terms\b.*\bfinite\b"):
        certify_at(cp.Problem(cp.Minimize(x[0]), [x[0] >= cp.Constant(1e200) * cp.Constant(1e200)]), np.ones(2))
    with pytest.raises(ProblemError, match=r"\bcoefficients\b.* at most\b"):
        certify_at(cp.Problem(cp.Minimize(cp.quad_form(x, np.diag([1e308, 1.0])))), np.ones(2))


def test_even_powers_other_than_powers_of_two_are_read_in_both_ways() -> None:
    """CVXPY's `power(x, 6)` demands x >= 0, and so says its page; with approx=False it does not."""
    x = cp.Variable()
    optimum = 6**-1.2 - 6**-0.2
    for is_approximate in (True, False):
        certificate = certify_at(cp.Problem(cp.Minimize(cp.power(x, 6, approx=is_approximate) + x)), -0.5)
        assert certificate.lower <= optimum < 0 <= certificate.upper
        limits = [cp.power(x, 6, approx=is_approximate) <= 5, x <= -1]
        certificate = certify_at(cp.Problem(cp.Minimize(0 * x), limits), -1.0)
        assert certificate.status == "open" and certificate.point is None
    assert_contains(certify_solved(cp.Minimize(cp.power(x, 6) - x), [x <= 4]), optimum)
    assert_contains(certify_solved(cp.Minimize(cp.power(x, 4) + x), [x <= -1]), 0.0)


def test_the_argument_of_a_power_of_0_keeps_its_domain() -> None:
    x = cp.Variable()
    assert_contains(certify_solved(cp.Minimize(x + cp.power(cp.log(x), 0)), [x >= -1]), 1.0)


def test_exponents_are_exact() -> None:
    x = cp.Variable()
    nearly_two = Fraction(2) + Fraction(1, 10**20)  # its domain is x >= 0
    certificate = certify_at(cp.Problem(cp.Minimize(cp.power(x, nearly_two)), [x <= -1, x >= -2]), -1.0)
    assert certificate.status == "infeasible"
    y = cp.Variable(2)
    nearly_euclidean = certify_at(cp.Problem(cp.Minimize(cp.pnorm(y, nearly_two)), [y == 1]), np.ones(2))
    assert nearly_euclidean.lower <= math.sqrt(2) + 1e-15 and nearly_euclidean.scaled_gap <= 1e-12
    for exponent in (1 + Fraction(1, 10**20), Fraction(1, 10**400), 10**7):
        with pytest.raises(ProblemError, match="exponent must lie within"):
            certify_at(cp.Problem(cp.Minimize(cp.power(x, exponent, approx=False)), [x >= 1]), 1.0)
    large = certify_at(cp.Problem(cp.Minimize(cp.power(x, 2**14, approx=False)), [x >= 1]), 1.0)
    assert large.lower <= 1 <= large.upper


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_weights_of_geometric_means_of_matrices_count_columns_first(axis: int | None) -> None:
    X = cp.Variable((2, 2))
    bounds = np.array([[0.1, 0.2], [0.4, 0.3]])
    weights = [1, 2, 3, 4] if axis is None else [1, 3]
    mean = cp.sum(cp.geo_mean(X, weights, axis=axis))
    if axis is None:
        optimum = float(np.prod(bounds.ravel(order="F") ** (np.array(weights) / 10)))
    else:
        shares = np.array([0.25, 0.75])
        optimum = float(np.prod(bounds ** (shares[:, None] if axis == 0 else shares), axis=axis).sum())
    assert_contains(certify_solved(cp.Maximize(mean), [X <= bounds]), optimum, 1e-8)


def test_a_geometric_mean_of_one_entry_is_that_entry() -> None:
    x, y = cp.Variable(2), cp.Variable()
    assert_contains(certify_solved(cp.Maximize(cp.geo_mean(x, [1, 0])), [x[0] <= -1, x[1] == 0]), -1.0)
    assert_contains(certify_solved(cp.Maximize(cp.geo_mean(y)), [y <= -2]), -2.0)


def test_weights_of_geometric_means_are_the_fractions_that_were_written() -> None:
    x = cp.Variable(2)
    thirds = [Fraction(1, 3), Fraction(2, 3)]
    certificate = certify_solved(cp.Maximize(cp.geo_mean(x, thirds)), [cp.sum(x) <= 1])
    assert_contains(certificate, math.exp(math.log(1 / 3) / 3 + 2 * math.log(2 / 3) / 3))


def test_traces_of_stacks_of_matrices_and_what_has_no_rule_for_stacks() -> None:
    X = cp.Variable((2, 2, 2))
    floor = np.arange(8.0).reshape(2, 2, 2)
    certificate = certify_solved(cp.Minimize(cp.trace(X) @ np.array([1.0, 10.0])), [X >= floor])
    assert_contains(certificate, 3.0 + 110.0, 1e-6)
    with pytest.raises(ProblemError, match=r"\bsemidefinite constraints\b.*\bone matrix\b"):
        certify_at(cp.Problem(cp.Minimize(cp.sum(X)), [X >> 0]), np.ones((2, 2, 2)))
    for attribute in ("symmetric", "PSD"):
        Y = cp.Variable((2, 2, 2), **{attribute: True})
        with pytest.raises(ProblemError, match="must have two dimensions"):
            certify_at(cp.Problem(cp.Minimize(cp.sum(Y)), [Y >= 1]), np.ones((2, 2, 2)))


def test_constants_that_are_not_symmetric_are_refused_where_a_matrix_must_be() -> None:
    S, t = cp.Variable((2, 2), symmetric=True), cp.Variable()
    skew = np.array([[1.0, 1.0], [-1.0, 1.0]])
    for expression in (cp.lambda_max(S + skew), cp.log_det(skew) + t, cp.tr_inv(S + skew)):
        problem = cp.Problem(cp.Minimize(t), [t >= expression, S == 0])
        with pytest.raises(ProblemError, match="must have a symmetric matrix"):
            for variable in problem.variables():
                variable.save_value(np.zeros(variable.shape))
            certify_problem(problem)
    root = np.random.default_rng(0).normal(size=(2, 5))
    product = root @ np.diag(np.arange(1.0, 6)) @ root.T  # symmetric up to rounding
    assert certify_solved(cp.Minimize(cp.lambda_max(S + product)), [S == 0]).status == "bounded"


def test_infinite_bounds_have_no_point() -> None:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 0])
    for bounds in ((math.inf, math.inf), (-math.inf, -math.inf)):
        assert certify_at(problem, 1.0, bounds={x: bounds}).status == "infeasible"
    assert certify_at(problem, 1.0, bounds={x: (-math.inf, math.inf)}).lower == 0


@pytest.mark.parametrize("bound", [np.zeros(3), None, "a", 1j, cp.Parameter()])
def test_bounds_that_are_no_numbers_of_the_shape_are_refused(bound: Any) -> None:
    x = cp.Variable(2)
    with pytest.raises(ProblemError, match="bounds must"):
        certify_at(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0]), np.ones(2), bounds={x: (bound, 4)})


def test_a_power_of_a_convex_expression_has_a_point_with_slack() -> None:
    """Its domain exp(x) >= 0 is no convex constraint."""
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.power(cp.exp(x), 1.5) - 2 * x), [x <= 0.1])
    problem.solve("CLARABEL")
    x.save_value(0.1 + 1e-9)
    assert_contains(certify_problem(problem), math.exp(0.15) - 0.2)


def test_bounds_of_entries_that_are_always_0_must_allow_0() -> None:
    D = cp.Variable((2, 2), diag=True)
    problem = cp.Problem(cp.Minimize(cp.sum(D)))
    for bounds in ((1, 2), (-2, -1), (np.array([[1, 0.5], [0, 1]]), 2)):
        with pytest.raises(ProblemError, match=r"\bbounds must\b.*\balways 0\b"):
            certify_at(problem, np.eye(2), bounds={D: bounds})
    assert_contains(certify_at(problem, np.eye(2), bounds={D: (np.eye(2), 2)}), 2.0)


def test_bounds_of_relaxations_are_of_variables_of_the_problem() -> None:
    x = cp.Variable(2, boolean=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[0] + x[1] >= 0.5])
    for key in (3, cp.Variable()):
        with pytest.raises(ProblemError, match=r"\bkeys of bounds\b.*\bvariables\b"):
            certify_problem(problem, relaxation=True, bounds={key: (0, 1)})
    assert certify_problem(problem, relaxation=True, bounds={x: (0.5, 1)}).lower == 1


def test_sums_of_more_entries_than_there_are_are_refused() -> None:
    """The solvers of CVXPY call it unbounded, its values are the sum of all."""
    x = cp.Variable(2)
    for count in (3, math.nan):
        with pytest.raises(ProblemError, match="sum_largest must count"):
            certify_at(cp.Problem(cp.Minimize(cp.sum_largest(x, count)), [x >= 1]), np.ones(2))


def test_rows_are_no_arguments_of_convolutions() -> None:
    x = cp.Variable((1, 3))
    with pytest.warns(CvxpyDeprecationWarning):
        expression = cp.conv(np.ones(2), x)
    with pytest.raises(ProblemError, match=r"\bconvolution\b.*\bvectors\b.*\bcolumns\b"):
        certify_at(cp.Problem(cp.Minimize(cp.sum(expression)), [x >= 1]), np.ones((1, 3)))


def test_arrays_of_one_entry_divide_numbers() -> None:
    x = cp.Variable()
    assert_contains(certify_solved(cp.Minimize(cp.sum(x / np.array([[4.0]]))), [x >= 1]), 0.25)


def test_exponents_that_are_arrays_are_refused() -> None:
    x = cp.Variable(2)
    with pytest.raises(ProblemError, match="exponent must be one number"):
        certify_at(
            cp.Problem(cp.Minimize(cp.sum(cp.power(x, cp.Parameter(2, value=np.array([2.0, 3.0])))))), np.ones(2)
        )


def matrix_problem() -> Any:
    X = cp.Variable((2, 2), symmetric=True)
    total = cp.lambda_max(X) + cp.normNuc(X) + cp.sigma_max(X) - cp.log_det(X) + cp.tr_inv(X) + cp.matrix_frac(X[0], X)
    return cp.Problem(cp.Minimize(total), [X >> 0, X <= 5, cp.trace(X) == 3])


@pytest.mark.thorough
@pytest.mark.parametrize("value", [1e308, -1e308, 1e200, 0.0, -3.0, 1e-320])
def test_values_and_duals_of_any_size_prove_nothing_false(value: float) -> None:
    problem = matrix_problem()
    optimum = problem.solve("CLARABEL")
    X, dual = problem.variables()[0], problem.constraints[0].dual_variables[0]
    answer = np.array(X.value)
    X.save_value(np.full((2, 2), value))
    certificate = certify_problem(problem)
    assert certificate.lower <= optimum + 1e-6 and certificate.upper >= optimum - 1e-6
    X.save_value(answer)
    dual.save_value(np.full((2, 2), value))
    certificate = certify_problem(problem)
    assert certificate.lower <= optimum + 1e-6 and certificate.upper >= optimum - 1e-6
    assert certificate.status == "bounded" or certificate.reasons


@pytest.mark.parametrize("dual", ["abc", [[1, 2], [3]], np.array([1j, 1]), np.ones(3), np.full(2, np.inf)], ids=repr)
def test_duals_that_are_no_numbers_of_the_shape_count_as_missing(dual: Any) -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    problem.solve("CLARABEL")
    problem.constraints[0].dual_variables[0]._value = dual
    certificate = certify_problem(problem)
    assert certificate.lower <= 2 <= certificate.upper + 1e-9


def test_values_that_are_no_numbers_count_as_missing() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    problem.solve("CLARABEL")
    x._value = "abc"
    certificate = certify_problem(problem)
    assert certificate.lower <= 2 <= certificate.upper


def test_a_nuclear_norm_outside_the_domain_of_its_argument_has_no_value() -> None:
    X = cp.Variable((2, 2))
    certificate = certify_at(cp.Problem(cp.Minimize(cp.normNuc(cp.log(X))), [X <= 1]), [[-1.0, 1.0], [1.0, 1.0]])
    assert certificate.lower <= 0 <= certificate.upper


@pytest.mark.parametrize(
    "make",
    [
        lambda e, E: cp.sum(cp.sum(E, axis=0)) + cp.sum(cp.norm(E, 2, axis=0)) + cp.norm1(E) + cp.sum_squares(e),
        lambda e, E: cp.trace(E[:, :0]) + cp.sum(cp.cumsum(e)) + cp.sum(cp.cummax(e)) + cp.sum(cp.max(E, axis=1)),
    ],
)
def test_sums_over_no_entries_are_0(make: Any) -> None:
    x, e, E = cp.Variable(), cp.Variable(0), cp.Variable((0, 2))
    problem = cp.Problem(cp.Minimize(x + make(e, E)), [x >= 1])
    for variable in problem.variables():
        variable.save_value(np.ones(variable.shape))
    assert_contains(certify_problem(problem), 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda e, E: cp.max(e),
        lambda e, E: cp.norm_inf(e),
        lambda e, E: cp.log_sum_exp(e),
        lambda e, E: cp.sigma_max(E),
        lambda e, E: cp.matrix_frac(e, E),
    ],
)
def test_functions_of_no_entries_are_refused(make: Any) -> None:
    x, e, E = cp.Variable(), cp.Variable(0), cp.Variable((0, 0))
    problem = cp.Problem(cp.Minimize(x + make(e, E)), [x >= 1])
    for variable in problem.variables():
        variable.save_value(np.ones(variable.shape))
    with pytest.raises(ProblemError, match="entries"):
        certify_problem(problem)


def test_a_sum_of_all_entries_is_bounded_by_its_equality() -> None:
    x = cp.Variable(2)
    for expression in (cp.sum_largest(x, 2), cp.dotsort(x, np.ones(2)), cp.lambda_sum_largest(cp.diag(x), 2)):
        assert_contains(certify_at(cp.Problem(cp.Minimize(expression), [cp.sum(x) == -0.75]), [0.0, -0.75]), -0.75)


class PanicException(BaseException):
    """Named as the exception of a failed assertion in Clarabel."""


@pytest.mark.parametrize("failure", [Exception("Bad input data"), IndexError("7"), PanicException("assertion failed")])
def test_failures_of_solvers_of_any_kind_are_reasons(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise failure

    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 1])
    problem.solve("CLARABEL")
    x.save_value(math.nan)
    monkeypatch.setattr(cp.Problem, "solve", fail)
    certificate = certify_problem(problem, solver="CLARABEL")
    assert certificate.lower <= 1 and certificate.upper == math.inf
    assert any(f"CLARABEL failed: {failure}" in reason for reason in certificate.reasons)


def test_a_constant_matrix_that_is_singular_is_semidefinite() -> None:
    """CVXPY 1.9.3 makes bad input for Clarabel of it, if there are parameters, too."""
    x, P = cp.Variable(), cp.Variable((2, 2), PSD=True)
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert_contains(certify_solved(cp.Minimize(x), [x >= 1, cp.Constant(singular) >> 0]), 1.0)
    assert_contains(certify_solved(cp.Minimize(P[0, 1]), [singular == P]), 2.0)
    indefinite = np.array([[1.0, 2.0], [2.0, math.nextafter(4.0, 0)]])
    assert certify_solved(cp.Minimize(P[0, 1]), [indefinite == P]).upper == math.inf
    with warnings.catch_warnings(action="ignore"):
        problem = cp.Problem(cp.Minimize(x), [x >= 1, cp.Constant(indefinite) >> 0])
        assert certify_at(problem, 1.0).upper == math.inf


def test_a_singular_quadratic_form_needs_no_bounds() -> None:
    """(x + y)^2 - x - y is constant along a line."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, np.ones((2, 2))) - cp.sum(x)))
    assert_contains(certify_at(problem, np.full(2, 0.25)), -0.25)


def test_a_quadratic_form_of_zeros_has_no_tangents() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, np.zeros((2, 2))) + cp.sum_squares(x) - cp.sum(x)), [x <= 1])
    assert_contains(certify_at(problem, np.array([0.5, 0.5 + 1e-7])), -0.5)


@pytest.mark.thorough
def test_a_singular_quadratic_form_bounds_nothing_in_its_null_space() -> None:
    x = cp.Variable(2)
    laplacian = np.array([[2.0, -1, -1], [-1, 1, 0], [-1, 0, 1]])
    y = cp.Variable(3)
    assert_contains(certify_solved(cp.Minimize(cp.quad_form(y, laplacian) + y[0] - y[1])), -0.25)
    for form in (np.diag([1.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-40]])):
        certificate = certify_at(cp.Problem(cp.Minimize(cp.quad_form(x, form) - cp.sum(x))), np.ones(2))
        assert certificate.lower == -math.inf


def test_a_lack_of_multipliers_is_a_reason() -> None:
    problem = matrix_problem()
    problem.solve("CLARABEL")
    problem.constraints[0].dual_variables[0].save_value(np.full((2, 2), 1e308))
    certificate = certify_problem(problem)
    assert certificate.status == "open" and "no multipliers were found" in certificate.reasons[0]


def test_highs_is_not_asked_for_quadratic_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS 1.15 cycles on one such program, and ends the process on others."""
    names = list[str]()

    def solve(problem: Any, name: str) -> str:
        names.append(name)
        return "no solver is asked"

    monkeypatch.setattr(problem_certificate, "_solve", solve)
    x = cp.Variable(2)
    for objective, is_asked in ((cp.sum_squares(x) - cp.sum(x), False), (-cp.sum(x), True)):
        # No upper bound is proved for an equality with an atom that is not affine.
        certify_at(cp.Problem(cp.Minimize(objective), [x <= 1, cp.exp(x[0]) == 1]), [0.0, 0.0], solver="auto")
        assert "CLARABEL" in names and ("HIGHS" in names) == is_asked
        names.clear()


def test_data_whose_convexity_cvxpy_cannot_test_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(problem: Any) -> bool:
        raise ValueError("array must not contain infs or NaNs")

    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 1])
    monkeypatch.setattr(cp.Problem, "is_dcp", fail)
    with pytest.raises(ProblemError, match=r"convexity .* infs or NaNs\. Scale the data\.$"):
        certify_problem(problem, solver="CLARABEL")
