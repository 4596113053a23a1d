"""Expressions are read as CVXPY computes them; what has no rule is refused in words."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Callable
from typing import Any

import cvxpy.atoms
import cvxpy.atoms.affine.wraps as wraps
import numpy as np
import pytest
import scipy.sparse
from convex_problems import cp
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.elementwise.hyperbolic import sinh
from cvxpy.constraints.constraint import Constraint

from boostopt import ProblemError, SolverNotFound, assert_certified, certify_problem
from boostopt.errors import OptionError
from boostopt.problem_certificates.affine_atoms import AFFINE_RULES
from boostopt.problem_certificates.arithmetic.balls import balls, midpoints, working_precision
from boostopt.problem_certificates.atoms.cone_inequalities import CONSTRAINT_REASONS
from boostopt.problem_certificates.atoms.equivalent_atoms import EXPANSIONS
from boostopt.problem_certificates.atoms.function_rules import FUNCTION_RULES, REFUSALS
from boostopt.problem_certificates.leaf_values import value_of
from boostopt.problem_certificates.problem_reader import read_problem

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(3, 4))
SPARSE = scipy.sparse.csr_array(np.diag([1.0, 0.0, 2.0, -1.0]))
P = MATRIX @ MATRIX.T + np.eye(3)

SCALE = cp.Variable(nonneg=True, value=0.7)

Expression = Callable[[Any, Any, Any], Any]

EXPRESSIONS: dict[str, Expression] = {
    "matmul": lambda x, X, S: MATRIX @ x,
    "matmul from the right": lambda x, X, S: x @ MATRIX.T,
    "matrix times matrix": lambda x, X, S: MATRIX[:, :3] @ X @ MATRIX.T,
    "inner product": lambda x, X, S: np.arange(4.0) @ x,
    "sparse": lambda x, X, S: SPARSE @ x,
    "scalar times": lambda x, X, S: 3 * X - X / 7,
    "constant over": lambda x, X, S: x / np.arange(1.0, 5),
    "multiply broadcast": lambda x, X, S: cp.multiply(x[:, None], np.ones((4, 2))),
    "outer": lambda x, X, S: cp.outer(np.arange(2.0), x),
    "vdot": lambda x, X, S: cp.vdot(x, np.arange(4.0)),
    "sum": lambda x, X, S: cp.sum(X),
    "sum of rows": lambda x, X, S: cp.sum(X, axis=1),
    "sum keepdims": lambda x, X, S: cp.sum(X, axis=0, keepdims=True),
    "mean": lambda x, X, S: cp.mean(X, axis=0),
    "cumsum": lambda x, X, S: cp.cumsum(X, axis=1),
    "cumsum of columns and of all": lambda x, X, S: cp.cumsum(X, axis=0) + cp.sum(cp.cumsum(X)),
    "diff": lambda x, X, S: cp.diff(x),
    "trace": lambda x, X, S: cp.trace(S) + cp.trace(S @ P),
    "diagonal": lambda x, X, S: cp.diag(S) + cp.diag(cp.diag(x[:3])) @ np.ones(3),
    "second diagonal": lambda x, X, S: cp.diag(S, k=1),
    "kron": lambda x, X, S: cp.kron(MATRIX[:2, :2], X),
    "kron from the right": lambda x, X, S: cp.kron(X, MATRIX[:2, :3]),
    "convolve": lambda x, X, S: cp.convolve(np.arange(1.0, 4), x),
    "reshape": lambda x, X, S: cp.reshape(X, (2, 6), order="F") + cp.reshape(X, (2, 6), order="C"),
    "vec": lambda x, X, S: cp.vec(X, order="F"),
    "stacks": lambda x, X, S: cp.vstack([cp.hstack([X, S]), cp.bmat([[X, S]])]),
    "index": lambda x, X, S: X[1:3, ::2],
    "list index": lambda x, X, S: x[[0, 3, 3]],
    "transpose": lambda x, X, S: X.T,
    "upper_tri": lambda x, X, S: cp.upper_tri(S),
    "broadcast": lambda x, X, S: cp.broadcast_to(x, (2, 4)),
    "concatenate": lambda x, X, S: cp.concatenate([x, x]),
    "psd_wrap": lambda x, X, S: cp.quad_form(x[:3], cp.psd_wrap(P)),
    "partial trace": lambda x, X, S: cp.partial_trace(cp.kron(np.eye(2), S), (2, 3), 0),
    "exp": lambda x, X, S: cp.exp(X),
    "log": lambda x, X, S: cp.log(x),
    "log1p": lambda x, X, S: cp.log1p(x),
    "entr": lambda x, X, S: cp.entr(x),
    "logistic": lambda x, X, S: cp.logistic(X),
    "huber": lambda x, X, S: cp.huber(X, 0.8),
    "square": lambda x, X, S: cp.square(X),
    "power": lambda x, X, S: cp.power(x, 1.7) + cp.power(x, 3) + cp.power(x, -0.5) + cp.power(x, 1) + cp.power(x, 0),
    "exact power": lambda x, X, S: cp.power(x, 0.3, approx=False),
    "sqrt, inv_pos": lambda x, X, S: cp.sqrt(x) + cp.inv_pos(x),
    "abs, pos, neg": lambda x, X, S: cp.abs(X) + cp.pos(X) + cp.neg(X),
    "kl_div": lambda x, X, S: cp.kl_div(x, 2.0),
    "rel_entr": lambda x, X, S: cp.rel_entr(3.0, x),
    "maximum": lambda x, X, S: cp.maximum(x, 1.0, 2 * x - 1),
    "minimum": lambda x, X, S: cp.minimum(x[:, None], np.ones((1, 3))),
    "max": lambda x, X, S: cp.max(X, axis=0),
    "min": lambda x, X, S: cp.min(X, axis=1, keepdims=True),
    "ptp": lambda x, X, S: cp.ptp(x),
    "sum_largest": lambda x, X, S: cp.sum_largest(X, 2.5) + cp.sum_largest(x, 2) + cp.sum_smallest(x, 1),
    "cvar": lambda x, X, S: cp.cvar(x, 0.6),
    "norm1": lambda x, X, S: cp.norm1(X) + cp.norm(x, 1),
    "norm2": lambda x, X, S: cp.norm(X, 2, axis=1),
    "norms": lambda x, X, S: cp.pnorm(x, 1.7) + cp.pnorm(x, 3) + cp.norm(x, "inf") + cp.norm(X, "fro"),
    "mixed_norm": lambda x, X, S: cp.mixed_norm(X, 2, 1),
    "tv": lambda x, X, S: cp.tv(X) + cp.tv(x),
    "std": lambda x, X, S: cp.std(x) + cp.var(x),
    "log_sum_exp": lambda x, X, S: cp.log_sum_exp(X, axis=1),
    "geo_mean": lambda x, X, S: cp.geo_mean(x, [1, 2, 0, 3]) + cp.geo_mean(x),
    "harmonic_mean": lambda x, X, S: cp.harmonic_mean(x) + cp.pnorm(x, 0.5),
    "quad_over_lin": lambda x, X, S: cp.quad_over_lin(X, x[0]) + cp.sum_squares(X),
    "quad_over_lin of rows": lambda x, X, S: cp.quad_over_lin(X, 2.0, axis=1),
    "quad_form": lambda x, X, S: cp.quad_form(x[:3], P) + cp.quad_form(np.arange(3.0), P),
    "matrix_frac": lambda x, X, S: cp.matrix_frac(X, S) + cp.matrix_frac(x[:3], S),
    "lambda_max": lambda x, X, S: cp.lambda_max(S) + cp.lambda_min(S),
    "log_det": lambda x, X, S: cp.log_det(S),
    "tr_inv": lambda x, X, S: cp.tr_inv(S),
    "sigma_max": lambda x, X, S: cp.sigma_max(X) + cp.normNuc(X) + cp.norm(X, 2),
    "lambda_sum_largest": lambda x, X, S: cp.lambda_sum_largest(S, 2) + cp.lambda_sum_largest(S, 1.5),
    "lambda_sum_smallest": lambda x, X, S: -cp.lambda_sum_smallest(S, 2) + cp.lambda_sum_largest(S, 3),
    "von_neumann_entr": lambda x, X, S: cp.von_neumann_entr(S),
    "dotsort": lambda x, X, S: cp.dotsort(x, [2.0, -1.0, 2.0]) + cp.dotsort(X, np.arange(7)) + cp.dotsort(x, [0, 0.5]),
    "cummax": lambda x, X, S: cp.cummax(X) + cp.cummax(X, axis=1),
    "cummax of a vector": lambda x, X, S: cp.cummax(x, axis=-1),
    "xexp": lambda x, X, S: cp.xexp(x) + cp.xexp(-x),
    "means of one weight": lambda x, X, S: cp.geo_mean(-x, [0, 0, 3, 0]) + cp.geo_mean(X[0, 0]),
    "perspective": lambda x, X, S: cp.perspective(
        cp.log_sum_exp(x - 2) + cp.sum_squares(MATRIX @ x + 1) + cp.norm(x) - cp.sum(cp.sqrt(x)) + cp.sum(x) + 3, SCALE
    ),
    "loggamma": lambda x, X, S: cp.loggamma(x),
    "log_normcdf": lambda x, X, S: cp.log_normcdf(X),
    "inv_prod": lambda x, X, S: cp.inv_prod(x),
    "scalene": lambda x, X, S: cp.scalene(X, 2.0, 3.0),
    "products": lambda x, X, S: cp.scalar_product(x, np.arange(4.0)) + cp.matmul(np.arange(4.0), x) + cp.norm2(x),
    "einsum": lambda x, X, S: cp.einsum("ij,j->i", MATRIX, x),
    "orders of axes": lambda x, X, S: cp.moveaxis(X, [0], [1]) + cp.swapaxes(X, 0, 1) + cp.permute_dims(X, (1, 0)),
    "shapes": lambda x, X, S: cp.squeeze(cp.stack([x, x])[:1, :], axis=0) + cp.promote(X[0, 0], (4,)),
    "partial_transpose": lambda x, X, S: cp.partial_transpose(cp.kron(np.eye(2), S), (2, 3), 0),
    "vec_to_upper_tri": lambda x, X, S: cp.vec_to_upper_tri(x[:3], strict=True),
    "wraps": lambda x, X, S: (
        wraps.nonneg_wrap(x[:3])
        + wraps.nonpos_wrap(x[:3])
        + cp.real(x[:3])
        + cp.conj(wraps.symmetric_wrap(S))[0]
        + wraps.hermitian_wrap(S)[0]
        + wraps.nsd_wrap(cp.Constant(-P))[0]
        + wraps.skew_symmetric_wrap(X[:, :3])[0]
    ),
    "constant atoms": lambda x, X, S: (
        x * cp.exp(1.0) + cp.norm(np.arange(3.0)) + cp.log_det(P) + cp.sum(np.ones(3)) / 3
    ),
}
"""Expressions in a vector of positive numbers, a matrix and a positive definite matrix."""


@pytest.mark.every(2)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_are_those_of_cvxpy(name: str) -> None:
    rng = np.random.default_rng(len(name))
    x, X, S = cp.Variable(4), cp.Variable((3, 4)), cp.Variable((3, 3), symmetric=True)
    x.value, X.value = rng.exponential(size=4) + 0.1, rng.normal(size=(3, 4))
    root = rng.normal(size=(3, 3))
    S.value = root @ root.T + np.eye(3)
    expression = EXPRESSIONS[name](x, X, S)
    problem = cp.Problem(cp.Minimize(0), [expression <= 1, cp.sum(x) + cp.sum(X) + cp.sum(S) == 0])
    with working_precision():
        read = read_problem(problem)
        point = read.point_of_values()
        assert point is not None
        values = midpoints(read.inequalities.rows.values(read.evaluate(balls(point)))) + 1
    expected = expression.value
    expected = expected.toarray() if scipy.sparse.issparse(expected) else np.asarray(expected)
    assert values == pytest.approx(expected.ravel(), rel=1e-9, abs=1e-9)


def test_every_rule_is_read_somewhere() -> None:
    """A rule for a class that CVXPY has no more, or that no expression here has, is not tested."""
    x, X, S = cp.Variable(4), cp.Variable((3, 4)), cp.Variable((3, 3), symmetric=True)
    names = set[str]()

    def visit(expression: Any) -> None:
        names.add(type(expression).__name__)
        for argument in expression.args:
            visit(argument)

    for make in EXPRESSIONS.values():
        visit(make(x, X, S))
    old_names = {"Power", "Pnorm", "GeoMean", "conv", "trace", "Stack", "stack", "squeeze"}
    old_names |= {"permute_dims", "swapaxes", "moveaxis"}
    untested = {*FUNCTION_RULES, *AFFINE_RULES, *EXPANSIONS} - names - old_names
    assert not untested, "add an expression to EXPRESSIONS"


def all_subclasses(base: type) -> set[type]:
    """Return the subclasses that CVXPY defines, also indirect ones."""
    result = {subclass for subclass in base.__subclasses__() if subclass.__module__.startswith("cvxpy.")}
    return result.union(*(all_subclasses(subclass) for subclass in result))


def test_every_atom_of_cvxpy_has_a_rule_or_a_reason() -> None:
    """A new atom of CVXPY fails this test, and so does a reason without an atom."""
    for module in pkgutil.walk_packages(cvxpy.atoms.__path__, "cvxpy.atoms."):
        importlib.import_module(module.name)
    bases = {"Wrap", "LogicExpression", "_NaryLogicExpression"}  # not abstract, but never an expression themselves
    names = {atom.__name__ for atom in all_subclasses(Atom) if not inspect.isabstract(atom)} - bases
    rules = {*FUNCTION_RULES, *AFFINE_RULES, *EXPANSIONS}
    assert names - rules - set(REFUSALS) == {"perspective"}  # read by itself
    assert not rules & set(REFUSALS)
    assert set(REFUSALS) - names == {"indicator", "PartialProblem"}  # expressions, but no atoms


def test_every_constraint_of_cvxpy_has_a_rule_or_a_reason() -> None:
    names = {constraint.__name__ for constraint in all_subclasses(Constraint)} - {"Cone"}
    assert names - set(CONSTRAINT_REASONS) == set(
        "Inequality NonPos NonNeg Equality Zero PSD SOC ExpCone PowCone3D PowCone3DApprox PowConeND".split()
    )


def test_every_function_of_cvxpy_is_read_here_or_makes_atoms_that_are_refused() -> None:
    names = {name for make in EXPRESSIONS.values() for name in make.__code__.co_names}
    functions = {
        name
        for name, value in vars(cp).items()
        if inspect.isfunction(value) and value.__module__.startswith("cvxpy.atoms.")
    }
    of_logarithms = {"prod", "resolvent", "diff_pos"}
    assert functions - names == of_logarithms | {"quantum_cond_entr", "deep_flatten"}


def test_atoms_are_refused_with_their_reason() -> None:
    x, X = cp.Variable(2, nonneg=True), cp.Variable((2, 2), PSD=True)
    x.value, X.value = np.ones(2), np.eye(2)
    level, s, t = cp.sum(x) <= 1, cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    for expression, constraints, message in (
        (cp.quantum_rel_entr(X, np.eye(2)), [], "quadrature, whose error"),
        (cp.von_neumann_entr(X, (3, 3)), [], "got an approximation by quad_approx"),
        (cp.transforms.suppfunc(cp.Variable(2), [])(x), [], "write the support function by norms"),
        (cp.transforms.indicator([level]), [], "as constraints of the problem"),
        (sinh(x[0]), [], "neither convex nor concave"),
        (cp.imag(x[0]), [], "variables of their own"),
        (cp.prod(x), [], "pass the log form"),
        (cp.perspective(cp.perspective(cp.square(x[0]), s) + s, t), [], "must contain no other"),
        (cp.dotsort(x, cp.exp(np.ones(2))), [], "weights of dotsort must be numbers"),
        (cp.cummax(X, axis=None)[0, 0], [], "cummax must have one axis"),
        (x[0], [cp.constraints.exponential.RelEntrConeQuad(x[0], x[1], 1.0, 3, 3)], "write cp.rel_entr"),
        (x[0], [cp.FiniteSet(x[0], [1.0, 2.0])], "finitely many values"),
    ):
        with working_precision(), pytest.raises(ProblemError, match=message):
            read_problem(cp.Problem(cp.Minimize(expression), constraints))


def test_a_perspective_has_no_value_at_zero() -> None:
    x, s = cp.Variable(), cp.Variable(nonneg=True)
    problem = problem_with_answer(cp.Minimize(cp.perspective(cp.square(x), s)), [x >= 1, s <= 0.5])
    certificate = assert_certified(problem, gap=1e-6)
    assert certificate.lower <= 2.0 <= certificate.upper + 1e-12
    x.value, s.value = 0.0, 0.0
    forced = cp.Problem(cp.Minimize(cp.perspective(cp.exp(x), s)), [x == 0, s <= 0])
    assert certify_problem(forced).upper == np.inf  # CVXPY asks for another function there


def refused(message: str, problem: Any, **options: Any) -> None:
    with pytest.raises((ProblemError, OptionError, SolverNotFound), match=message):
        certify_problem(problem, **options)


def problem_with_answer(objective: Any, constraints: list[Any] | None = None) -> Any:
    problem = cp.Problem(objective, constraints or [])
    problem.solve("CLARABEL")
    return problem


def test_certify_problem_of_unsupported_arguments_is_refused() -> None:
    refused(r"must be a cvxpy.Problem; got 3\. Pass", 3)
    x = cp.Variable(name="x")
    refused("got none for x. Call problem.solve", cp.Problem(cp.Minimize(cp.square(x))))
    refused(
        "which is boolean or integer. Use relaxation=True",
        cp.Problem(cp.Minimize(cp.Variable(integer=True))),
        solver="auto",
    )
    refused(
        "got x, which is complex", cp.Problem(cp.Minimize(cp.abs(cp.Variable(complex=True, name="x")))), solver="auto"
    )
    parameter = cp.Parameter(name="p")
    refused("got p without one. Set p.value", cp.Problem(cp.Minimize(cp.square(x - parameter))), solver="auto")
    x.value = 1.0
    refused("constants must be finite; got nan", cp.Problem(cp.Minimize(cp.square(x) + float("nan") * x)))
    refused("constants must be real", cp.Problem(cp.Minimize(cp.abs(x * 1j))))
    refused(
        r"lower bounds must not exceed upper bounds; got 2 > 1 for x",
        problem_with_answer(cp.Minimize(cp.square(x))),
        bounds={x: (2, 1)},
    )
    refused(
        "keys of bounds must be variables",
        problem_with_answer(cp.Minimize(cp.square(x))),
        bounds={cp.Variable(): (0, 1)},
    )
    refused("tolerance must lie in", problem_with_answer(cp.Minimize(cp.square(x))), tolerance=-1)
    refused("goal must lie in", problem_with_answer(cp.Minimize(cp.square(x))), goal=0)
    refused("installed.*got 'gurobii'", problem_with_answer(cp.Minimize(cp.square(x))), solver="gurobii")


def test_atoms_without_a_rule_are_refused_by_name() -> None:
    x = cp.Variable(2, nonneg=True)
    x.value = np.ones(2)
    refused("got imag in", cp.Problem(cp.Minimize(cp.sum(cp.imag(x)))))

    class exp(cp.exp):  # noqa: N801
        """A class of the same name means something else."""

    refused("got exp in", cp.Problem(cp.Minimize(cp.sum(exp(x)))))

    class perspective(cp.perspective):  # noqa: N801
        """Likewise."""

    s = cp.Variable(nonneg=True, value=1.0)
    refused("got perspective in", cp.Problem(cp.Minimize(perspective(cp.square(x[0]), s))))


def test_problems_of_other_rules_are_refused() -> None:
    x, y = cp.Variable(pos=True), cp.Variable(pos=True)
    x.value = y.value = 1.0
    refused("geometric program.*log form", cp.Problem(cp.Minimize(x / y), [x * y >= 1]))
    z = cp.Variable(2)
    z.value = np.ones(2)
    refused("quasiconvex", cp.Problem(cp.Minimize(cp.ceil(z[0]))))
    refused("one constant factor", cp.Problem(cp.Minimize(z[0] * z[1])))


def test_problems_that_are_not_convex_prove_no_lower_bound() -> None:
    x = cp.Variable(2)
    x.value = np.zeros(2)
    certificate = certify_problem(cp.Problem(cp.Minimize(-cp.sum_squares(x)), [cp.norm(x) <= 1]))
    assert certificate.lower <= -1 and certificate.upper >= -1
    certificate = certify_problem(cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) >= 1, x >= -5, x <= 5]))
    assert certificate.lower <= -10


def test_empty_and_constant_problems() -> None:
    certificate = certify_problem(problem_with_answer(cp.Minimize(3)))
    assert (certificate.lower, certificate.upper, certificate.status) == (3.0, 3.0, "bounded")
    x = cp.Variable(2)
    certificate = certify_problem(problem_with_answer(cp.Minimize(2), [x == 1]))
    assert (certificate.lower, certificate.upper) == (2.0, 2.0)
    certificate = certify_problem(problem_with_answer(cp.Maximize(0), [cp.Constant(0) == 1]))
    assert certificate.status == "infeasible" and certificate.lower == certificate.upper == -np.inf
    certificate = certify_problem(problem_with_answer(cp.Minimize(0), [cp.Constant(1) <= 0]))
    assert certificate.status == "infeasible"


def test_infeasible_and_unbounded_problems_are_proved_so() -> None:
    x, X = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    for constraints in (
        [x[0] + x[1] <= 1, x[0] - x[1] <= 1, x[0] >= 1.5],
        [cp.norm(x) <= 1, x[0] + x[1] >= 1.5],
        [X >> 0, cp.trace(X) == 1, X[0, 1] >= 0.6],
        [x[0] == 1, x[0] == 2],
        [cp.sum(cp.exp(x)) <= 1, cp.sum(x) == 0],
    ):
        assert certify_problem(problem_with_answer(cp.Minimize(0), constraints)).status == "infeasible"
    certificate = certify_problem(problem_with_answer(cp.Minimize(x[0]), [x[0] + x[1] == 1, x[1] >= 0]))
    assert certificate.status == "unbounded" and certificate.upper == -np.inf
    certificate = certify_problem(
        problem_with_answer(cp.Maximize(cp.sum(x) - cp.square(x[0])), [x >= 0, x[0] - x[1] <= 1])
    )
    assert certificate.status == "unbounded" and certificate.lower == np.inf


@pytest.mark.parametrize(
    "constraints",
    [
        lambda x, X: [cp.exp(x[0]) <= 0],
        lambda x, X: [cp.log(x[0]) >= -9 - x[1], x[0] <= 0],
        lambda x, X: [cp.log1p(x[0]) + x[1] >= 0, x[0] == -1],
        lambda x, X: [cp.inv_pos(x[0]) <= x[1], x[1] <= 0],
        lambda x, X: [cp.power(x[0], -0.5) <= x[1], x[0] <= 0],
        lambda x, X: [cp.logistic(x[0]) <= 0],
        lambda x, X: [cp.log_det(X) >= x[0], X[0, 0] <= 0],
        lambda x, X: [cp.tr_inv(X) <= x[0], X[1, 1] == 0],
    ],
)
def test_ends_of_domains_and_of_values_that_are_not_attained_prove_infeasibility(constraints: Any) -> None:
    """By 1e-9 more, all are feasible."""
    x, X = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    for item in (x, X):
        item.value = np.zeros(item.shape)
    assert certify_problem(cp.Problem(cp.Minimize(0), constraints(x, X))).status == "infeasible"


@pytest.mark.parametrize(
    "constraints",
    [
        lambda x, X: [cp.entr(x[0]) >= 0, x[0] <= 0],
        lambda x, X: [cp.sqrt(x[0]) >= 0, x[0] <= 0],
        lambda x, X: [cp.power(x[0], 1.5) <= 0],
        lambda x, X: [cp.von_neumann_entr(X) >= 0, X[0, 0] <= 0, X[1, 1] == 1],
        lambda x, X: [cp.log(x[0]) >= -800, x[0] <= 1e-300],
        lambda x, X: [cp.quad_over_lin(x[0], x[1]) <= 1, x[1] <= 0],  # feasible for CVXPY's solvers
        lambda x, X: [cp.rel_entr(x[0], x[1]) <= 1, x[1] <= 0],
    ],
)
def test_ends_of_domains_that_are_attained_or_in_the_closure_prove_nothing(constraints: Any) -> None:
    x, X = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    for item in (x, X):
        item.value = np.zeros(item.shape)
    assert certify_problem(cp.Problem(cp.Minimize(0), constraints(x, X))).status != "infeasible"


def test_a_level_set_without_bounds_leaves_an_end_open_and_says_why() -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.exp(x[0]) + cp.exp(-x[0] - x[1]) + cp.exp(x[1] - 800)))
    x.value = np.zeros(2)
    certificate = certify_problem(problem)
    assert certificate.lower >= 0  # by the values of its atoms
    # 0.6^2 + 0.8^2 is not exactly 1 in floats: no slope in the unit ball may make the objective constant.
    skewed = cp.Problem(cp.Minimize(cp.norm(x) - np.array([0.6, 0.8]) @ x))
    certificate = certify_problem(skewed)
    assert certificate.status == "open" and certificate.lower == -np.inf
    assert "pass bounds=" in certificate.reasons[0]
    assert certify_problem(skewed, bounds={x: (-9, 9)}).status == "bounded"


def test_equalities_that_depend_on_each_other_up_to_rounding() -> None:
    X = cp.Variable((4, 5), nonneg=True)
    rows, columns = cp.sum(X, axis=1) == np.full(4, 0.25), cp.sum(X, axis=0) == np.full(5, 0.2)
    problem = problem_with_answer(
        cp.Minimize(cp.sum(cp.multiply(np.arange(20.0).reshape(4, 5) % 7, X))), [rows, columns]
    )
    certificate = certify_problem(problem)
    assert certificate.status == "infeasible" and "tolerance=1e-12" in certificate.reasons[0]
    certificate = certify_problem(problem, tolerance=1e-12)
    assert certificate.scaled_gap <= 1e-6 and 0 < certificate.right_side_change <= 1e-12
    assert re.search(r"\bright sides\b.*\bmoved\b", certificate.reasons[0])


def test_a_mean_of_one_weight_may_be_negative() -> None:
    x = cp.Variable(3)
    problem = problem_with_answer(cp.Minimize(cp.sum_squares(x) - cp.geo_mean(x, [0, 2, 0])), [x <= -1])
    certificate = assert_certified(problem, gap=1e-6)
    assert certificate.lower <= 4.0 <= certificate.upper + 1e-12


def test_parameters_relaxations_and_attributes() -> None:
    x, p = cp.Variable(3, boolean=True), cp.Parameter(3, value=np.array([1.0, -2.0, 0.5]))
    problem = cp.Problem(cp.Minimize(p @ x + 0.1 * cp.sum_squares(x)))
    certificate = certify_problem(problem, relaxation=True, solver="auto")
    assert certificate.lower == pytest.approx(-1.9) and certificate.upper == pytest.approx(-1.9)
    assert "continuous" in certificate.reasons[0]
    partly = cp.Variable(2, boolean=[(0,)])
    problem = cp.Problem(cp.Maximize(cp.sum(partly)), [partly <= 3])
    certificate = certify_problem(problem, relaxation=True)
    assert certificate.lower == pytest.approx(4) and certificate.upper == pytest.approx(4)
    for attributes in (
        {"nonneg": True},
        {"nonpos": True},
        {"symmetric": True},
        {"PSD": True},
        {"NSD": True},
        {"diag": True},
        {"bounds": [-0.5, 0.5]},
        {"sparsity": [(0, 1), (0, 0)]},
    ):
        X = cp.Variable((2, 2), **attributes)
        target = np.array([[1.0, -1.0], [-1.0, 1.0]]) * (-1.0 if "NSD" in attributes else 1.0)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(X - target) + 0.1 * cp.sum(cp.abs(X))))
        with warnings.catch_warnings(action="ignore"):  # CVXPY's own of sparse values
            problem.solve("CLARABEL")
        certificate = assert_certified(problem, gap=1e-6)
        assert certificate.status == "bounded"
        # An auxiliary solve, as for an answer that is infeasible, leaves the values as they are.
        previous = value_of(X)
        certify_problem(cp.Problem(problem.objective, [cp.sum(X) <= 0.3, cp.sum(X) >= -0.3]))
        difference = value_of(X) - previous
        assert np.max(np.abs(difference.toarray() if scipy.sparse.issparse(difference) else difference)) == 0


def test_certificates_print() -> None:
    x = cp.Variable(2)
    certificate = certify_problem(problem_with_answer(cp.Minimize(cp.sum_squares(x - 1)), [x <= 0.5]))
    assert repr(certificate).startswith("ProblemCertificate(lower=0.")
    assert certificate.words.startswith("[0.4") or certificate.words.startswith("[0.5")


def test_present_duals_are_those_of_a_new_reading_without_building_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z, X = cp.Variable(2), cp.Variable(2), cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    constraints = [
        x <= 3,
        cp.sum(x) == 1,
        X >> 0,
        cp.SOC(y[0], x),
        cp.ExpCone(x, y, z),
        cp.PowCone3D(x, y, z, 0.3),
        cp.PowConeND(cp.vstack([x, y]), z, np.full((2, 2), 0.5)),
    ]
    problem = cp.Problem(cp.Minimize(cp.sum(z) + cp.trace(X)), constraints)
    without_duals = read_problem(problem)
    rng = np.random.default_rng(0)
    for constraint in constraints:
        for dual in constraint.dual_variables:
            dual.save_value(rng.normal(size=dual.shape))
    expected = read_problem(problem)

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("expected no new expression")

    monkeypatch.setattr("boostopt.problem_certificates.problem_reader.constraint_parts", refuse)
    present = without_duals.with_present_duals()
    assert expected.inequalities.duals.any() and (present.inequalities.duals == expected.inequalities.duals).all()
    assert (present.equalities.duals == expected.equalities.duals).all()
    assert (present.matrices[0].dual == expected.matrices[0].dual).all()
