"""F and G as minima over further variables: optimal transport, sorted norms, eigenvalues, fairness.

Three references have no rounding. The transport distance with unit costs is the total variation sum (d - a)_+, and its
conjugate on the simplex is sum of a_n max(z_n, max z - 1). The sorted norm is sum of lambda_k |x|_(k). The duals of the
fairness program are those of a linear program that HiGHS solves.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from support.descriptions import (
    BOUND,
    CAPPED,
    COLUMN,
    DESCRIPTIONS,
    SIMPLEX,
    UNIFORM,
    WEIGHTS,
    A,
    N,
    cone_and_equation,
    fairness,
    make_program,
    nuclear_norm,
    sorted_norm,
    transport,
)
from support.reference_formulas import optimum, program
from support.speeds import many

from boostopt import ProblemError
from boostopt.authoring import (
    COUNT,
    CappedSimplex,
    CappedSimplexIndicator,
    ConjugatePoint,
    CvxpyEdges,
    CvxpyRegularizer,
    parameter,
    prototype,
)
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.programs.cvxpy_functions import partial_minimum


def reference(program: Any, margins: np.ndarray) -> float:
    """The optimum by Clarabel on the plain model, up to 1e-7."""
    d = cp.Variable(N)
    F, constraints = program.regularizer.cvxpy_value(d)
    problem = cp.Problem(cp.Minimize(F + cp.max(margins.T @ d)), constraints)
    return optimum(problem)


@pytest.fixture(scope="module")
def unit_transport() -> CvxpyRegularizer:
    return CvxpyRegularizer(SIMPLEX, transport, UNIFORM)


def test_the_transport_distance_with_unit_costs_is_the_total_variation(unit_transport: CvxpyRegularizer) -> None:
    rng = np.random.default_rng(1)
    for _ in range(many(10, 2)):
        d = rng.multinomial(64, rng.dirichlet(np.ones(N))) / 64
        exact = float(np.maximum(d - UNIFORM, 0).sum())
        point = unit_transport.project(d)
        assert exact - 1e-14 <= unit_transport.value(point) <= exact + 1e-11
        assert np.abs(point - d).sum() <= 1e-11


def test_the_bound_of_its_conjugate_is_never_below_the_exact_one_and_near_it(unit_transport: CvxpyRegularizer) -> None:
    rng = np.random.default_rng(2)
    for _ in range(many(10, 2)):
        z = rng.uniform(-2, 2, N)
        exact = sum((max(Fraction(v), Fraction(float(z.max())) - 1) for v in z.tolist()), Fraction(0)) / N
        bound = unit_transport.conjugate_at(z)
        assert Fraction(bound.value) >= exact
        assert bound.value <= float(exact) + 1e-12


def test_a_sorted_norm_has_its_closed_form_and_the_conjugate_of_sums_of_largest() -> None:
    F = CvxpyRegularizer(CAPPED, sorted_norm, UNIFORM)
    steps = WEIGHTS - np.append(WEIGHTS[1:], 0)
    largest_sums = CvxpyRegularizer(
        CAPPED,
        lambda d: cp.sum([steps[k] * cp.sum_largest(cp.abs(d - UNIFORM), k + 1) for k in range(N) if steps[k]]),
        UNIFORM,
    )
    rng = np.random.default_rng(3)
    for _ in range(many(4, 1)):
        d = CAPPED.repair(rng.dirichlet(np.ones(N)), UNIFORM)
        exact = float(np.sort(np.abs(d - UNIFORM))[::-1] @ WEIGHTS)
        assert exact - 1e-14 <= F.value(d) <= exact + 1e-12
        z = rng.uniform(-1, 1, N)
        bounds = F.conjugate_at(z).value, largest_sums.conjugate_at(z).value
        assert min(bounds) >= z @ d - exact - 1e-14
        assert bounds[0] == pytest.approx(bounds[1], abs=1e-7)


@pytest.mark.parametrize(
    ("f", "twin"),
    [
        (lambda d: -cp.log_det(cp.diag(d)) / 9, lambda d: -cp.sum(cp.log(d)) / 9),
        (lambda d: cp.tr_inv(cp.diag(d)) / 99, lambda d: cp.sum(cp.inv_pos(d)) / 99),
        (lambda d: cp.lambda_max(cp.diag(d)), cp.max),
    ],
)
def test_functions_of_eigenvalues_are_those_of_the_diagonal(f: Any, twin: Any) -> None:
    mine, theirs = (CvxpyRegularizer(CAPPED, make, UNIFORM) for make in (f, twin))
    rng = np.random.default_rng(4)
    for _ in range(many(4, 1)):
        d, z = CAPPED.repair(rng.dirichlet(np.ones(N)) + 0.1, UNIFORM), rng.uniform(-1, 1, N)
        assert mine.value(d) == pytest.approx(theirs.value(d), rel=1e-12)
        bound = mine.conjugate_at(z).value
        assert bound >= z @ d - theirs.value(d) - 1e-14
        assert bound == pytest.approx(theirs.conjugate_at(z).value, abs=1e-6)


def test_the_conjugate_of_a_nuclear_norm_is_tight_at_matrices_of_rank_one() -> None:
    F = CvxpyRegularizer(CAPPED, nuclear_norm, UNIFORM)
    rng = np.random.default_rng(0)
    for _ in range(many(20, 3)):
        z = rng.uniform(-1, 1, N)
        bound = F.conjugate_at(z)
        assert 0.0 <= F.gaps(bound.d, z, bound).sum() <= 1e-6


@pytest.mark.thorough_cases("largest eigenvalue", "nuclear norm", "sorted norm")
@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_backends_prove_overlapping_narrow_intervals(name: str) -> None:
    margins = np.sign(np.random.default_rng(5).normal(size=(N, 4)) + 0.3)
    program = make_program(DESCRIPTIONS[name], margins)
    is_linear = program.regularizer.cones == {"linear"}
    backends = ("cvxpy:clarabel", "cvxpy:scs", *(["cvxpy:highs"] if is_linear else []))
    certificates = [program.solve(backend, tol=1e-6).certificate for backend in backends]
    best = reference(program, margins)
    for certificate in certificates:
        assert certificate.scaled_gap <= 1e-6
        assert certificate.lower - 1e-7 <= best <= certificate.upper + 1e-7
        assert certificate.overlaps(certificates[0])


def test_weights_of_a_fair_program_are_those_of_the_linear_program() -> None:
    margins = np.sign(np.random.default_rng(6).normal(size=(N, 5)) + 0.3)
    formulation = prototype(
        "fair",
        lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)),
        lambda p: CvxpyEdges(fairness),
        nu=parameter("the number of examples", COUNT),
    )
    certificate = formulation.bind(margins, nu=3).solve("cvxpy:highs", tol=1e-9).certificate
    w, psi, rho = cp.Variable(5, nonneg=True), cp.Variable(N, nonneg=True), cp.Variable()
    bounds: list[Any] = [margins @ w + psi >= rho, cp.sum(w) == 1, A @ w <= BOUND, A @ w >= -BOUND]
    soft_margin = optimum(cp.Problem(cp.Maximize(rho - cp.sum(psi) / 3), bounds))
    assert certificate.scaled_gap <= 1e-9
    assert certificate.lower - 1e-9 <= soft_margin <= certificate.upper + 1e-9
    assert np.abs(A @ certificate.w).max() <= BOUND + 1e-9


def test_the_conjugate_of_a_fair_edge_function_is_0_where_weights_are_fair() -> None:
    G, w = CvxpyEdges(fairness), cp.Variable(5, nonneg=True)
    bounds: list[Any] = [cp.sum(w) == 1, cp.abs(A @ w) <= BOUND / 2]
    cp.Problem(cp.Minimize(cp.sum_squares(w)), bounds).solve("CLARABEL")
    value = np.asarray(w.value)
    assert -1e-15 <= G.conjugate(value) <= 1e-7
    unfair = np.eye(5)[int(np.argmax(np.abs(A).max(axis=0)))]
    assert G.conjugate(unfair) > 0.1
    e = np.random.default_rng(7).uniform(-1, 1, 5)
    assert G.value(e) >= value @ e - 1e-7
    assert G.gaps(e, value).sum() == pytest.approx(G.value(e) + G.conjugate(value) - value @ e, abs=1e-12)


def junk_points(rng: np.random.Generator, k: int) -> list[np.ndarray | None]:
    return [
        rng.normal(size=k),
        np.full(k, 1e9),
        -np.ones(k),
        np.zeros(k),
        np.full(k, np.nan),
        rng.dirichlet(np.ones(k)),
    ]


@pytest.mark.thorough_cases("largest eigenvalue", "nuclear norm", "sorted norm", "cone and equation")
@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_wrong_answers_prove_nothing_false(name: str) -> None:
    rng = np.random.default_rng(8)
    margins = np.sign(rng.normal(size=(N, 4)) + 0.3)
    program = make_program(DESCRIPTIONS[name], margins)
    best = reference(program, margins)
    for d, w in list(zip(junk_points(rng, N), junk_points(rng, 4), strict=True))[: many(6, 3)]:
        certificate = program.certify(d, w)
        assert certificate.lower <= best + 1e-7
        assert certificate.upper >= best - 1e-7


@pytest.mark.thorough_cases("junk", "no answer", "stale")
@pytest.mark.parametrize("lie", ["junk", "negated duals", "no answer", "stale"])
def test_a_solver_that_lies_inside_proves_nothing_false(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    F = CvxpyRegularizer(SIMPLEX, transport, UNIFORM)
    rng, solve = np.random.default_rng(9), partial_minimum.solve_quietly

    def answer(problem: Any, solver: str, **options: Any) -> BaseException | None:
        if lie == "no answer":
            return RuntimeError("none")
        if lie != "stale":
            solve(problem, solver, **options)
        for variable in problem.variables():
            junk = rng.normal(size=variable.shape)
            variable.save_value(junk if lie in ("junk", "stale") else variable.value)
        for constraint in problem.constraints:
            for dual in constraint.dual_variables if lie != "stale" else ():
                dual.save_value(rng.normal(size=dual.shape) if lie == "junk" else -dual.value)
        return None

    monkeypatch.setattr(partial_minimum, "solve_quietly", answer)
    for _ in range(many(6, 2)):
        d, z = rng.dirichlet(np.ones(N)), rng.uniform(-2, 2, N)
        exact = sum((max(Fraction(v), Fraction(float(z.max())) - 1) for v in z.tolist()), Fraction(0)) / N
        assert F.value(d) >= float(np.maximum(d - UNIFORM, 0).sum()) - 1e-14
        assert Fraction(F.conjugate_at(z).value) >= exact


def test_a_regularizer_with_an_equation_of_d_proves_points_that_satisfy_it() -> None:
    F = CvxpyRegularizer(CAPPED, cone_and_equation, UNIFORM)
    d = CAPPED.repair(np.random.default_rng(10).dirichlet(np.ones(N)), UNIFORM)
    assert F.residuals(d)["F finite"] > 1e-6
    assert F.value(d) == np.inf
    point = F.project(d)
    assert max(F.residuals(point).values()) <= 1e-15
    assert abs(COLUMN @ point - COLUMN.mean()) <= 1e-15
    assert np.linalg.norm(point - UNIFORM) <= 0.3 + 1.0  # v[1] is free, at a price
    assert np.isfinite(F.value(point))


@pytest.mark.parametrize("has_variable", [False, True])
def test_an_equation_that_is_exact_at_the_inner_point_counts_at_all_other_points(has_variable: bool) -> None:
    def half(d: Any) -> Any:
        v = cp.Variable() if has_variable else 0.0
        return cp.sum_squares(d) + v, [cp.sum(d[:2]) == 0.5, *([v >= 0] if has_variable else [])]

    F = CvxpyRegularizer(CappedSimplex(np.ones(4), 2.0), half, np.full(4, 0.25))
    for d in ([0.5, 0.4, 0.1, 0.0], [0.5, 0.5, 0.0, 0.0], [0.25 + 1e-9, 0.25, 0.25 - 1e-9, 0.25]):
        assert F.value(np.array(d)) == np.inf
        assert F.residuals(np.array(d))["F finite"] > 0
        assert abs(F.project(np.array(d))[:2].sum() - 0.5) <= 1e-15
    assert -1e-14 <= F.value(np.array([0.375, 0.125, 0.25, 0.25])) - 0.28125 <= 1e-9  # v is moved inside


def test_programs_with_equal_weights_of_two_groups_are_those_of_linear_programming() -> None:
    rng = np.random.default_rng(12)
    for _ in range(many(300, 8)):
        n, t = 2 * int(rng.integers(2, 5)), int(rng.integers(1, 5))
        nu = float(rng.integers(1, n // 2 + 1)) if n > 4 else 1.5
        margins, half = rng.integers(-2, 3, (n, t)) / 2.0, n // 2
        formulation = prototype(
            "groups",
            lambda p, examples: CvxpyRegularizer(
                CappedSimplex(examples.c, p.nu),
                lambda d: 0.0 * cp.sum(d),
                examples.c / examples.c.sum(),
                constraints=lambda d: [cp.sum(d[: examples.N // 2]) == 0.5],
            ),
            nu=parameter("the number of examples", COUNT),
        )
        certificate = formulation.bind(margins, nu=nu).solve(tol=1e-7).certificate
        groups = np.array([[1.0] * half + [0.0] * half + [0.0], [0.0] * half + [1.0] * half + [0.0]])
        answer = linprog(
            np.eye(n + 1)[n],
            A_ub=np.hstack([margins.T, -np.ones((t, 1))]),
            b_ub=np.zeros(t),
            A_eq=groups,
            b_eq=[0.5, 0.5],
            bounds=[(0, 1 / nu)] * n + [(None, None)],
        )
        assert certificate.lower - 1e-10 <= answer.fun <= certificate.upper + 1e-10
        assert certificate.gap <= 1e-6


def test_an_equation_of_edges_alone_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"\bfinite\b.*\bwithout any\b.*\bpenalty\b"):
        CvxpyEdges(lambda e: (cp.sum(e), [e[0] == 0])).value(np.zeros(2))


def test_further_variables_of_a_program_are_new_in_each_model() -> None:
    F, d = CvxpyRegularizer(CAPPED, transport, UNIFORM), cp.Variable(N)
    first, second = (F.cvxpy_value(d)[0].variables() for _ in range(2))
    assert not {item.id for item in first} & {item.id for item in second}
    assert all(item.attributes["nonneg"] for item in (*first, *second))


def test_a_copy_for_another_process_has_the_same_bounds() -> None:
    F = CvxpyRegularizer(CAPPED, transport, UNIFORM)
    twin, z = pickle.loads(pickle.dumps(F)), np.linspace(-1, 1, N)
    assert twin.conjugate_at(z).value == F.conjugate_at(z).value
    assert twin.value(UNIFORM) == F.value(UNIFORM)


def test_deep_copies_of_several_threads_and_a_copy_that_they_share_have_bounds() -> None:
    F = CvxpyRegularizer(CAPPED, transport, UNIFORM)
    for _ in range(3):
        copies = [copy.deepcopy(F) for _ in range(3)]
        for group in (copies, [pickle.loads(pickle.dumps(F))] * 3):
            with ThreadPoolExecutor(3) as threads:
                values = list(threads.map(lambda item: item.value(UNIFORM), group))
            assert all(0.0 <= value < np.inf for value in values)


def test_a_copy_reads_its_problem_when_a_bound_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    F, n_reads = CvxpyRegularizer(CAPPED, transport, UNIFORM), list[int]()
    read = partial_minimum.read_problem

    def counted(problem: Any) -> Any:
        n_reads.append(1)
        return read(problem)

    monkeypatch.setattr(partial_minimum, "read_problem", counted)
    twin = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(F))))
    twin.cvxpy_value(cp.Variable(N))
    assert not n_reads
    assert twin.value(UNIFORM) == F.value(UNIFORM)
    assert len(n_reads) == 1
    with pytest.raises(AttributeError, match="no attribute"):
        _ = twin._minimum.nothing


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a third entry": (lambda d: (cp.sum(d), [], []), r"pair.*Return \(expression, \[constraints\]\)"),
    "no list": (lambda d: (cp.sum(d), d >= 0), r"\bpair\b"),
    "no constraint": (lambda d: (cp.sum(d), [0.5]), r"\bconstraints\b.*Write <="),
    "a concave bound": (lambda d: (cp.sum(d), [cp.norm(d) >= 0.5]), r"\bdisciplined\b"),
    "a parameter": (lambda d: (cp.sum(d) * 0, [d <= cp.Parameter(N)]), r"\bparameter\b"),
    "an integer": (lambda d: (cp.sum(d), [cp.Variable(N, integer=True) >= d]), r"\binteger\b"),
    "equations that follow": (
        lambda d: (
            cp.sum(T := cp.Variable((N, 3), nonneg=True)),
            [cp.sum(T, axis=1) == d, cp.sum(T, axis=0) == np.full(3, 1 / 3)],
        ),
        r"\bequations that follow\b",
    ),
    "nothing feasible": (lambda d: (cp.sum(d), [cp.Variable(nonneg=True) <= -1 - d[0]]), r"\binner point\b"),
    "no slack": (lambda d: (cp.sum(d), [cp.square(cp.Variable() - d[0]) <= 1e-40]), r"\binner point\b.*\bno slack\b"),
    "no argument": (lambda d: (cp.Variable(nonneg=True), []), r"\bdepend\b"),
    "a vector": (lambda d: (d, [cp.Variable() >= d]), r"\bscalar\b"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_descriptions_without_a_proof_are_refused(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(ProblemError, match=words):
        CvxpyRegularizer(CAPPED, make, UNIFORM)


def test_projections_move_only_as_far_inside_as_a_proof_needs() -> None:
    def near_uniform(d: Any) -> Any:
        radius = cp.Variable()
        return cp.sum_squares(d) + radius, [cp.norm(d - UNIFORM) <= radius, radius <= 0.1]

    F = CvxpyRegularizer(CAPPED, near_uniform, UNIFORM)
    for point in (np.eye(N)[0] + np.eye(N)[1], np.arange(N, dtype=float)):
        projected = F.project(point / point.sum())
        assert 0.0999 <= np.linalg.norm(projected - UNIFORM) <= 0.1 and np.isfinite(F.value(projected))


def test_a_subclass_with_closed_forms_may_have_further_variables() -> None:
    class Mine(CvxpyRegularizer):
        def conjugate_at(self, z: np.ndarray, start: np.ndarray | None = None) -> ConjugatePoint:
            point = super().conjugate_at(z, start)
            return ConjugatePoint(point.value - 0.01, point.d, point.multipliers)  # wrong: nothing may rest on it

    z = np.linspace(-1.0, 1.0, N)
    exact, mine = CvxpyRegularizer(CAPPED, transport, UNIFORM), Mine(CAPPED, transport, UNIFORM)
    bound = mine.conjugate_bound(z, mine.conjugate_at(z))
    assert bound == pytest.approx(exact.conjugate_at(z).value, abs=1e-9)
    with pytest.raises(ProblemError, match=r"\bMine\b.*\bgaps\b"):
        mine.gaps(UNIFORM, z, mine.conjugate_at(z))


BOTH_MARGINALS = {
    "quarters": np.full(4, 0.25),
    "powers of 2": np.array([0.5, 0.25, 0.125, 0.0625, 0.0625]),
    "tenths": np.array([0.3, 0.3, 0.4]),
    "one place": np.array([1.0]),
}
"""Distributions of floats whose sum is exactly 1: with sum d = 1, one of the equations of transport is redundant."""


def transport_to(q: np.ndarray, cost: np.ndarray) -> Callable[[Any], Any]:
    def describe(d: Any) -> tuple[Any, list[Any]]:
        T = cp.Variable(cost.shape, nonneg=True)
        rows: Any = cp.sum(T, axis=1)
        columns: Any = cp.sum(T, axis=0)
        return cp.sum(cp.multiply(cost, T)), [rows == d, columns == q]

    return describe


@pytest.mark.every(2)
@pytest.mark.parametrize("name", BOTH_MARGINALS)
def test_transport_with_a_redundant_equation_is_certified(name: str) -> None:
    q, rng = BOTH_MARGINALS[name], np.random.default_rng(0)
    assert sum(map(Fraction, q.tolist())) == 1
    n = len(q) + 1
    cost = np.abs(np.subtract.outer(np.arange(n), np.arange(len(q)))) / n
    domain, inside = CappedSimplex(np.ones(n), 1.5), np.full(n, 1 / n)
    F = CvxpyRegularizer(domain, transport_to(q, cost), inside)
    reduced = CvxpyRegularizer(domain, without_the_last(transport_to(q, cost)), inside)
    for d in (np.full(n, 1 / n), F.project(rng.dirichlet(np.ones(n)))):
        assert F.value(d) == pytest.approx(reduced.value(d), abs=1e-7)
        z = rng.normal(size=n)
        assert F.conjugate_at(z).value == pytest.approx(reduced.conjugate_at(z).value, abs=1e-6)
    margins = rng.uniform(-1, 1, (n, 4))
    certificate = program(margins, F, MaximumEdge()).solve("cvxpy:clarabel", tol=1e-6).certificate
    assert certificate.scaled_gap <= 1e-6
    reduced_certificate = program(margins, reduced, MaximumEdge()).solve("cvxpy:clarabel", tol=1e-6).certificate
    assert certificate.lower <= reduced_certificate.upper and reduced_certificate.lower <= certificate.upper


def without_the_last(describe: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same description without the equation that follows from the others."""

    def short(d: Any) -> tuple[Any, list[Any]]:
        value, (rows, columns) = describe(d)
        total, q = columns.args
        return value, [rows, total[:-1] == q.value[:-1]] if q.size > 1 else [rows]

    return short


def test_an_equation_that_contradicts_others_by_rounding_is_named() -> None:
    """Five floats 0.2 have a sum above 1."""
    n = 5
    with pytest.raises(ProblemError, match=r"contradict others by rounding: .*== "):
        CvxpyRegularizer(
            CappedSimplex(np.ones(n), 2.0), transport_to(np.full(n, 0.2), np.ones((n, n))), np.full(n, 1 / n)
        )
