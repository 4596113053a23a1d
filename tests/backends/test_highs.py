"""HiGHS driven directly: certified answers, one model through a run, what happens when it cannot go on."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from support.problems import REFERENCE_U, noisy_stumps, reference_erlpboost, reference_lpboost
from support.random_programs import draw_program
from support.speeds import many

import boostopt
from boostopt import (
    MarginMatrix,
    OptionError,
    Outcome,
    Program,
    Solution,
    get_backend,
    get_formulation,
    list_backends,
)
from boostopt._utils.files import write_plain_npz
from boostopt.authoring import (
    AbsoluteEdge,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    EdgeFunction,
    FixedEdges,
    Hinge,
    LinearEdges,
    MaximumEdge,
    Regularizer,
    Tilted,
)
from boostopt.backends.base import Attempt, Deadline, WarmStart
from boostopt.backends.highs import highs_backend as highs
from boostopt.backends.highs.highs_backend import AttemptSettings, ModelHandle
from boostopt.backends.highs.linear_program import LinearProgram
from boostopt.functions.edge_functions.base import Epigraph
from boostopt.functions.edge_functions.tied_edges import TiedEdges

pytestmark = pytest.mark.every(2)

VARIANTS = {"highs:dual": "dual simplex", "highs:primal": "primal simplex", "highs:ipm": "interior point"}
# Merged examples are others in each round, and a first solve of them leaves nothing to go on from.
solve = functools.partial(boostopt.solve, merge=False)
LINEAR = ("lpboost", "lp_adaboost", "lp_reg_adaboost", "l1_adaboost")
SPACE_NAMES = ("d", "w")


def program_of_functions(U: Any, F: Regularizer, G: EdgeFunction) -> Program:
    """A program of any pieces."""
    return replace(get_formulation("lpboost").bind(U, nu=1), regularizer=F, edge_function=G)


def forms(solution: Solution) -> list[str]:
    return [attempt.form for attempt in solution.attempts]


def handle(solution: Solution) -> ModelHandle:
    assert isinstance(solution.start.state, ModelHandle)
    return solution.start.state


def assert_solved(solution: Solution, *words: str, attempts: int = 1) -> None:
    """Certified, after so many attempts, the last of a form that these words tell."""
    assert solution.certificate.scaled_gap <= solution.tol
    assert len(solution.attempts) == attempts, forms(solution)
    for word in words:
        assert word in forms(solution)[-1]


@pytest.mark.parametrize("name", LINEAR)
def test_random_programs_are_certified_to_1e_9_and_agree_with_clarabel(name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(many(25, 5)):
        program = draw_program(rng, name, largest_N=120, largest_t=20)
        certificate = program.solve("highs", tol=1e-9).certificate
        assert certificate.scaled_gap <= 1e-9
        assert certificate.overlaps(program.solve("cvxpy:clarabel", tol=1e-7).certificate)


PIECES: dict[str, EdgeFunction] = {
    "largest edge": MaximumEdge(),
    "largest absolute edge": AbsoluteEdge(),
    "bounded edges": BoundedEdges(0.05),
    "fixed edges": FixedEdges(0.0),
    "tied edges": TiedEdges(),
    "linear edges": LinearEdges(-0.3),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("simplex", (True, False), ids=("simplex", "box"))
@pytest.mark.parametrize("edges", PIECES)
def test_all_polyhedral_pieces_with_all_linear_ones(edges: str, simplex: bool) -> None:
    rng = np.random.default_rng(1)
    for k in range(8):
        N, t = int(rng.integers(4, 40)), 2 if edges == "tied edges" else int(rng.integers(1, 6))
        half = rng.uniform(-1, 1, (N, t)) if k % 2 else rng.choice([-1.0, 0.0, 1.0], (N, t))
        c = np.tile(rng.uniform(0.5, 2.0, N), 2)
        # With each row its negation: the weights c have edges 0, so that all these programs are feasible.
        base = CappedSimplexIndicator(CappedSimplex(c, float(0.4 * c.sum()))) if simplex else Hinge(c, 0.2)
        F = Tilted(base, rng.normal(size=2 * N)) if k % 4 > 1 else base
        program = program_of_functions(np.vstack([half, -half]), F, PIECES[edges])
        solution = program.solve("highs", tol=1e-9)
        if edges in ("fixed edges", "tied edges"):
            # At a vertex nothing has room to move: no point that satisfies the equations exactly is known to be near.
            first = solution.attempts[0]
            assert program.certify(first.d, first.w).kkt.holds_within(1e-8)
            continue
        assert_solved(solution, "d-space")
        clarabel = program.solve("cvxpy:clarabel", tol=1e-7)
        assert clarabel.certificate.scaled_gap <= 1e-7
        assert solution.certificate.overlaps(clarabel.certificate)


@pytest.mark.parametrize("backend", VARIANTS)
def test_variants_use_one_algorithm(backend: str) -> None:
    rng = np.random.default_rng(2)
    assert get_backend(backend).name == backend
    assert backend not in list_backends()
    for name in LINEAR:
        program = draw_program(rng, name, largest_N=80, largest_t=12)
        solution = program.solve(backend, tol=1e-8)
        assert solution.certificate.scaled_gap <= 1e-8
        assert all(VARIANTS[backend] in form for form in forms(solution))
        assert (solution.iterations or 0) > 0


def test_the_backend_is_listed_once() -> None:
    assert [name for name in list_backends() if name.startswith("highs")] == ["highs"]
    assert get_backend("highs").version == get_backend("cvxpy:highs").version != ""


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'highs:duel'.*'highs:dual'"):
        get_backend("highs:duel")


# One model through a run


def first_columns(t: int, kind: str) -> Any:
    """The first columns of a matrix, as `MarginMatrix` that know their descent or as arrays."""
    U = noisy_stumps(150, 40)[:, 1::2]
    if kind == "arrays":
        return U[:, :t].copy()
    if kind == "sparse arrays":
        return scipy.sparse.csr_array(U[:, :t] * (U[:, :t] > 0))
    margins = MarginMatrix(U[:, :1])
    for q in range(1, t):
        margins = margins.append(U[:, q])
    return margins


BOUND: dict[str, Any] = {
    "lpboost": lambda U, share: get_formulation("lpboost").bind(U, nu=share * 150),
    "two-sided": lambda U, share: get_formulation("lpboost").bind(U, nu=share * 150, two_sided=True),
    "hinge": lambda U, share: get_formulation("l1_adaboost").bind(U, C=share),
    "linear edges": lambda U, share: program_of_functions(
        U, CappedSimplexIndicator(CappedSimplex(np.ones(150), share * 150)), LinearEdges(share)
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ("highs", "highs:dual", "highs:primal"))
@pytest.mark.parametrize("name", BOUND)
def test_appended_columns_hot_are_as_cold(name: str, backend: str) -> None:
    margins, solution = MarginMatrix(first_columns(1, "arrays")), None
    U = first_columns(20, "arrays")
    for t in range(1, 21):
        program = BOUND[name](margins, 0.2)
        solution = solve(program, backend, tol=1e-9, start=solution)
        assert_solved(solution, "cold" if t == 1 else "hot")
        assert solution.certificate.overlaps(solve(program, backend, tol=1e-9).certificate)
        margins = margins.append(U[:, t]) if t < 20 else margins


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ("margins", "arrays", "sparse arrays"))
@pytest.mark.parametrize("name", BOUND)
def test_many_columns_at_once_and_none(name: str, kind: str) -> None:
    solution = None
    for t in (3, 9, 9, 20):
        program = BOUND[name](first_columns(t, kind), 0.3)
        solution = solve(program, "highs", tol=1e-9, start=solution)
        # Margins made twice have no common descent, and are compared by their numbers.
        assert_solved(solution, "cold" if t == 3 else "hot")
        assert solution.certificate.overlaps(solve(program, "cvxpy:clarabel", tol=1e-7).certificate)


def test_the_same_program_again_takes_no_iteration() -> None:
    program = BOUND["lpboost"](first_columns(20, "arrays"), 0.1)
    again = solve(program, "highs", start=solve(program, "highs"))
    assert_solved(again, "hot")
    assert again.iterations == 0


@pytest.mark.parametrize("name", BOUND)
def test_other_parameters_are_changed_in_place(name: str) -> None:
    U, solution, models = MarginMatrix(first_columns(20, "arrays")), None, set[int]()
    for share in (0.1, 0.15, 0.4, 0.9, 0.05, 0.1):
        program = BOUND[name](U, share)
        solution = solve(program, "highs", tol=1e-9, start=solution)
        assert_solved(solution)
        models.add(id(handle(solution).model))
        assert solution.certificate.overlaps(solve(program, "highs", tol=1e-9).certificate)
    assert len(models) == 1


def test_other_costs_and_bounds_and_columns_at_once() -> None:
    rng, solution = np.random.default_rng(3), None
    for t, gamma in ((4, 0.3), (5, 0.2), (5, 0.4), (9, 0.5)):
        F = Tilted(CappedSimplexIndicator(CappedSimplex(rng.uniform(0.5, 1.5, 150), 15.0)), rng.normal(size=150))
        program = program_of_functions(first_columns(t, "margins"), F, BoundedEdges(gamma))
        solution = solve(program, "highs", tol=1e-9, start=solution)
        assert_solved(solution, "cold" if t == 4 else "hot")
        assert solution.certificate.overlaps(solve(program, "cvxpy:clarabel", tol=1e-7).certificate)


def test_few_examples_and_many_hypotheses_are_a_matter_of_w_space() -> None:
    U = np.random.default_rng(4).choice([-1.0, 1.0], (8, 40))
    solution, spaces = None, list[str]()
    for t in range(1, 41):
        solution = solve(get_formulation("lpboost").bind(U[:, :t], nu=3), "highs", tol=1e-9, start=solution)
        assert_solved(solution)
        spaces.append(forms(solution)[-1])
    assert spaces[15] == "d-space, hot dual simplex"
    assert spaces[16:] == ["w-space, cold dual simplex, perturbed", *["w-space, hot primal simplex"] * 23]


def test_a_stale_handle_is_built_anew() -> None:
    first = solve(BOUND["lpboost"](first_columns(5, "margins"), 0.2), "highs")
    model = handle(first).model
    after = solve(BOUND["lpboost"](first_columns(6, "margins"), 0.2), "highs", start=first)
    assert handle(after).model is model
    later = solve(BOUND["lpboost"](first_columns(7, "margins"), 0.3), "highs", tol=1e-9, start=first)
    assert_solved(later, "cold")
    assert handle(later).model is not model
    assert_solved(solve(BOUND["lpboost"](first_columns(8, "margins"), 0.2), "highs", start=after), "hot")


@pytest.mark.parametrize(
    "unrelated",
    (
        lambda: BOUND["lpboost"](-first_columns(5, "arrays"), 0.2),
        lambda: BOUND["lpboost"](first_columns(5, "arrays")[:, ::-1].copy(), 0.2),
        lambda: BOUND["two-sided"](first_columns(5, "arrays"), 0.2),
        lambda: BOUND["hinge"](first_columns(5, "arrays"), 0.2),
        lambda: get_formulation("lpboost").bind(first_columns(5, "arrays")[1:], nu=20),
        lambda: BOUND["lpboost"](first_columns(4, "arrays"), 0.2),
    ),
    ids=("negated", "reversed", "other G", "other F", "other examples", "fewer columns"),
)
def test_an_unrelated_program_is_built_anew(unrelated: Any) -> None:
    first = solve(BOUND["lpboost"](first_columns(5, "arrays"), 0.2), "highs")
    start = WarmStart(backend="highs", state=first.start.state)
    assert_solved(solve(unrelated(), "highs", tol=1e-9, start=start), "cold")


def test_a_matrix_that_was_written_to_is_another_one() -> None:
    U = first_columns(6, "arrays").astype(np.float64)
    first = solve(BOUND["lpboost"](U, 0.2), "highs")
    U[:, 2] *= -0.5
    after = solve(BOUND["lpboost"](U, 0.2), "highs", tol=1e-9, start=first)
    assert_solved(after, "cold")
    again = first.program.certify(first.d, first.w)
    assert (again.lower, again.upper) == (first.certificate.lower, first.certificate.upper)


@pytest.mark.parametrize("copied", (copy.deepcopy, lambda solution: pickle.loads(pickle.dumps(solution))))
def test_a_model_does_not_leave_its_process(copied: Any) -> None:
    attempt = copied(solve(BOUND["lpboost"](first_columns(5, "arrays"), 0.2), "highs").attempts[0])
    assert attempt.state is None
    assert attempt.status == "Optimal"


def test_failed_forms_come_last_in_later_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "ITERATIONS_PER_ROW", 0)
    program = BOUND["lpboost"](first_columns(12, "margins"), 0.2)
    first = solve(program, "highs")
    assert [attempt.status for attempt in first.attempts[:4]] == ["Iteration limit reached"] * 4
    assert forms(first) == [
        "d-space, cold dual simplex, perturbed",
        "d-space, cold primal simplex",
        "w-space, cold dual simplex, perturbed",
        "w-space, cold primal simplex",
        "d-space, cold interior point",
    ]
    assert_solved(first, attempts=5)
    second = solve(BOUND["lpboost"](first_columns(13, "margins"), 0.2), "highs", start=first)
    assert_solved(second, "d-space, cold interior point")


def test_a_hot_method_that_has_failed_is_not_used_hot_again() -> None:
    first = solve(BOUND["lpboost"](first_columns(12, "margins"), 0.2), "highs").start
    failed = frozenset({AttemptSettings("d", highs.DUAL)})
    start = replace(first, state=replace(first.state, failed=failed))
    second = solve(BOUND["lpboost"](first_columns(13, "margins"), 0.2), "highs", start=start)
    assert_solved(second, "d-space, hot dual simplex, perturbed")


# States in files


def through_a_file(backend: str, state: Any) -> Any:
    """A state as another process would read it: arrays of numbers alone."""
    packed = get_backend(backend).packed(state)
    assert packed is not None
    file = io.BytesIO()
    write_plain_npz(file, packed)
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return get_backend(backend).deserialize_state(dict(arrays))


STUMPS = noisy_stumps(300, 80)[:, 1::2]
REALS = np.random.default_rng(4).uniform(-1, 1, (18, 40))
BASIS_CASES: dict[str, Any] = {
    "d-space": (lambda U: get_formulation("lpboost").bind(U, nu=30), STUMPS),
    "two-sided": (lambda U: get_formulation("lpboost").bind(U, nu=30, two_sided=True), STUMPS),
    "hinge": (
        lambda U: get_formulation("l1_adaboost").bind(U, C=1.0),
        np.random.default_rng(5).uniform(-1, 1, (300, 40)),
    ),
    "w-space": (lambda U: get_formulation("lpboost").bind(U, nu=6), REALS),
}


@pytest.mark.parametrize("case", BASIS_CASES)
def test_a_stored_basis_is_where_the_next_solve_begins_in_every_process(case: str) -> None:
    bind, U = BASIS_CASES[case]
    first = None
    for t in range(36, 39):
        first = solve(bind(U[:, :t]), "highs", tol=1e-9, start=first)
    # Two columns have joined since.
    assert first is not None
    program, cold = bind(U), solve(bind(U), "highs", tol=1e-9)
    state = through_a_file("highs", first.start.state)
    answers = [solve(program, "highs", tol=1e-9, start=replace(first.start, state=state)) for _ in range(2)]
    answers.append(solve(program, "highs", tol=1e-9, start=replace(first.start, state=through_a_file("highs", state))))
    for answer in answers:
        assert_solved(answer, "hot")
        assert 0 < (answer.iterations or 0) < (cold.iterations or 0)
        np.testing.assert_array_equal(answer.attempts[0].d, answers[0].attempts[0].d)
        np.testing.assert_array_equal(answer.attempts[0].w, answers[0].attempts[0].w)
        assert answer.certificate.overlaps(cold.certificate)
    repeated_solution = solve(bind(U[:, :38]), "highs", start=replace(first.start, state=state))
    assert repeated_solution.iterations == 0


def test_failed_forms_are_stored_with_the_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "ITERATIONS_PER_ROW", 0)
    first = solve(BOUND["lpboost"](first_columns(12, "margins"), 0.2), "highs")
    state = through_a_file("highs", first.start.state)
    after = solve(BOUND["lpboost"](first_columns(13, "margins"), 0.2), "highs", start=replace(first.start, state=state))
    assert_solved(after, "d-space, cold interior point")


def test_a_stored_basis_of_another_program_is_none() -> None:
    first = solve(BOUND["lpboost"](first_columns(5, "arrays"), 0.2), "highs")
    state = through_a_file("highs", first.start.state)
    for name, t in (("hinge", 5), ("lpboost", 4), ("two-sided", 5)):
        solution = solve(BOUND[name](first_columns(t, "arrays"), 0.2), "highs", tol=1e-9, start=WarmStart(state=state))
        assert_solved(solution, "cold")
    # Other numbers of the same sizes: a poor start, and no wrong answer.
    solution = solve(
        BOUND["lpboost"](-first_columns(5, "arrays"), 0.3), "highs", tol=1e-9, start=WarmStart(state=state)
    )
    assert_solved(solution, "hot")


def test_states_that_are_not_of_a_backend_are_not_stored() -> None:
    first = solve(BOUND["lpboost"](first_columns(5, "margins"), 0.2), "highs")
    solve(BOUND["lpboost"](first_columns(6, "margins"), 0.2), "highs", start=first)
    backend = get_backend("highs")
    moved_on = through_a_file("highs", first.start.state)
    assert moved_on.basis is None and not moved_on.failed
    assert backend.packed(None) is None
    assert backend.deserialize_state({"columns": np.zeros(3)}) is None
    assert get_backend("interior").packed(first.start.state) is None


@pytest.mark.parametrize("invalid", (np.full(151, 9), np.zeros(151), np.ones(7)))
def test_a_basis_that_is_none_is_not_taken(invalid: np.ndarray) -> None:
    first = solve(BOUND["lpboost"](first_columns(5, "margins"), 0.2), "highs")
    packed = get_backend("highs").packed(first.start.state)
    assert packed is not None
    state = get_backend("highs").deserialize_state({**packed, "columns": invalid.astype(np.int8)})
    assert_solved(solve(first.program, "highs", start=WarmStart(state=state)), "cold")


# The two spaces


def drawn_linear_program(rng: np.random.Generator) -> tuple[LinearProgram, Any]:
    """A linear program with all there can be, and scipy's answer: a box off 0, equations, further variables, costs."""
    N, t, k, j = 12, 4, int(rng.integers(1, 7)), 2
    U = rng.choice([-1.0, 1.0], (N, t)) if rng.random() < 0.5 else rng.uniform(-1, 1, (N, t))
    lower = rng.uniform(0.0, 0.05, N)
    upper, inside = lower + 0.3, rng.dirichlet(np.full(N, 20.0)) * 0.5
    on_simplex = bool(rng.random() < 0.5)
    inside = lower + inside * (1 - lower.sum()) / 0.5
    A, B, g = rng.normal(size=(k, t)), -rng.uniform(0.1, 1, (k, j)), rng.uniform(0.1, 1, j)
    equality = np.arange(k) < min(k // 3, 2)
    x = rng.normal(size=j)
    b = A @ U.T @ inside + B @ x + np.where(equality, 0.0, rng.uniform(0, 0.1, k))
    # g = -B'y for some y >= 0 bounds the program from below.
    g = -B.T @ rng.uniform(0, 1, k)
    cost = rng.normal(size=N)
    G = Epigraph(A, B, b, equality, g, np.zeros((j, j)), np.zeros(t))
    rows = np.hstack([A @ U.T, B])
    ones = np.append(np.ones(N), np.zeros(j))[np.newaxis]
    answer = scipy.optimize.linprog(
        np.append(cost, g),
        A_ub=rows[~equality],
        b_ub=b[~equality],
        A_eq=np.vstack([rows[equality], ones[: int(on_simplex)]]),
        b_eq=np.append(b[equality], np.ones(int(on_simplex))),
        bounds=[*zip(lower, upper, strict=True), *[(None, None)] * j],
    )
    return LinearProgram(MarginMatrix(U), cost, lower, upper, on_simplex, G), answer


@pytest.mark.parametrize("algorithm", (highs.DUAL, highs.PRIMAL, highs.INTERIOR))
def test_both_spaces_are_the_linear_program_that_scipy_solves(algorithm: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(many(20, 4)):
        lp, scipys = drawn_linear_program(rng)
        assert scipys.status == 0
        for space in SPACE_NAMES:
            attempt = run_attempt(lp, AttemptSettings(space, algorithm))
            assert attempt.status == "Optimal"
            assert attempt.d is not None and attempt.w is not None
            objective = attempt.statistics["objective"]
            if space == "w":  # what is maximized, with its sign changed, over d - lower
                objective = float(lp.cost @ lp.lower) - objective
            assert abs(objective - scipys.fun) <= 1e-7
            d = attempt.d
            assert (d >= lp.lower - 1e-7).all() and (d <= lp.upper + 1e-7).all()
            assert not lp.on_simplex or abs(d.sum() - 1) <= 1e-7
            # With the right w, d is one of the cheapest points of the box and the simplex at the slopes cost + U w.
            slopes = lp.cost + lp.margins.margins(attempt.w)
            cheapest = scipy.optimize.linprog(
                slopes,
                A_eq=np.ones((1, lp.N)) if lp.on_simplex else None,
                b_eq=np.ones(1) if lp.on_simplex else None,
                bounds=[*zip(lp.lower, lp.upper, strict=True)],
            )
            assert float(slopes @ d) - cheapest.fun <= 1e-7


def run_attempt(lp: LinearProgram, rung: AttemptSettings, seconds: float | None = None, hot: Any = None) -> Attempt:
    """One rung alone."""
    deadline = Deadline.after(seconds)
    return highs._attempt(lp, rung, 1e-10, deadline, time.perf_counter(), frozenset(), hot)  # pyright: ignore[reportPrivateUsage]


# What cannot be solved


@pytest.mark.parametrize("backend", ("highs", *VARIANTS))
@pytest.mark.parametrize("t", (3, 60), ids=("d-space", "w-space"))
def test_infeasible_programs_are_proved_to_be(t: int, backend: str) -> None:
    U = np.abs(np.random.default_rng(6).uniform(0.1, 1, (10, t)))
    program = program_of_functions(U, CappedSimplexIndicator(CappedSimplex(np.ones(10), 4.0)), BoundedEdges(-0.5))
    solution = solve(program, backend)
    assert solution.outcome is Outcome.INFEASIBLE
    assert solution.certificate.excess >= 0.5
    assert forms(solution)[0].startswith("d" if t == 3 else "w")
    assert not solution.attempts[0].claims


@pytest.mark.parametrize("G", (FixedEdges(-0.2), TiedEdges()))
def test_edges_that_cannot_be_equal_are_proved_not_to_be(G: EdgeFunction) -> None:
    U = np.column_stack([np.linspace(0.5, 1, 10), np.linspace(0.0, 0.4, 10)])
    for F in (
        CappedSimplexIndicator(CappedSimplex(np.ones(10), 4.0)),
        Tilted(CappedSimplexIndicator(CappedSimplex(np.ones(10), 1.0)), np.arange(10.0)),
    ):
        solution = solve(program_of_functions(U, F, G), "highs")
        assert solution.outcome is Outcome.INFEASIBLE
        assert len(solution.attempts) == 1
    # Without the simplex all weights may be 0.
    feasible = solve(program_of_functions(U, Hinge(np.ones(10), 1.0), TiedEdges()), "highs")
    assert feasible.certificate.scaled_gap <= 1e-8


def test_a_program_becomes_infeasible_hot_and_feasible_again() -> None:
    F, U = CappedSimplexIndicator(CappedSimplex(np.ones(150), 30.0)), MarginMatrix(first_columns(12, "arrays"))
    value = solve(program_of_functions(U, F, MaximumEdge()), "highs").certificate.upper
    solution = None
    for gamma in (value + 0.01, value - 0.01, value + 0.02, value - 0.02):
        solution = solve(program_of_functions(U, F, BoundedEdges(gamma)), "highs", tol=1e-9, start=solution)
        assert solution.certificate.infeasible == (gamma < value)
        assert len(solution.attempts) == 1
    assert solution is not None
    assert "hot" in forms(solution)[0]


@pytest.mark.parametrize("space", SPACE_NAMES)
@pytest.mark.parametrize("algorithm", (highs.DUAL, highs.PRIMAL, highs.INTERIOR))
def test_out_of_time_is_a_status(algorithm: str, space: str) -> None:
    lp = LinearProgram.from_program(get_formulation("lpboost").bind(noisy_stumps(4000, 80)[:, ::2], nu=1200))
    attempt = run_attempt(lp, AttemptSettings(space, algorithm), seconds=1e-3)
    assert attempt.status == "Time limit reached"
    assert not attempt.claims


def test_the_time_limit_is_that_of_this_run_and_not_of_all_the_model_has_had() -> None:
    lp = LinearProgram.from_program(BOUND["lpboost"](first_columns(12, "margins"), 0.2))
    first = run_attempt(lp, AttemptSettings("d", highs.DUAL), seconds=5.0)
    model = first.state.model
    assert model.seconds > 0
    second = run_attempt(lp, AttemptSettings("d", highs.DUAL), seconds=5.0, hot=model)
    _, limit = model.highs.getOptionValue("time_limit")
    assert second.options["time_limit"] <= 5.0 < limit <= 5.0 + model.seconds


def test_without_time_nothing_is_started() -> None:
    solution = solve(reference_lpboost(), "highs", time_limit=1e-9)
    assert solution.outcome is Outcome.FAILED
    assert solution.solver_status == "not started"


def test_numbers_that_highs_refuses_are_an_error_and_no_exception() -> None:
    program = program_of_functions(REFERENCE_U, CappedSimplexIndicator(CappedSimplex(np.ones(6), 2.0)), Steep())
    for backend in ("highs", *VARIANTS):
        solution = solve(program, backend)
        assert solution.outcome is Outcome.FAILED
        assert {attempt.status for attempt in solution.attempts} == {"refused"}
        assert {(attempt.error or "").split()[-1] for attempt in solution.attempts} == {"rows", "columns"}


class Steep(MaximumEdge):
    """An edge function whose rows hold larger numbers than HiGHS takes."""

    def epigraph(self, t: int) -> Epigraph:
        return Epigraph.from_rows(t, np.zeros(t), 1e20 * np.eye(t), largest=True)


def test_boxes_that_highs_takes_for_endless_are_no_answer_and_no_lie() -> None:
    solution = solve(get_formulation("l1_adaboost").bind(REFERENCE_U, C=1e99), "highs")
    assert solution.attempts[0].status == "Unbounded"
    assert solution.certificate.lower <= solution.certificate.upper
    assert not any(attempt.claims for attempt in solution.attempts)


@pytest.mark.parametrize("backend", ("highs", *VARIANTS))
def test_nothing_is_printed(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    solve(reference_lpboost(), backend)
    solve(
        program_of_functions(REFERENCE_U, CappedSimplexIndicator(CappedSimplex(np.ones(6), 2.0)), BoundedEdges(-2.0)),
        backend,
    )
    solve(get_formulation("l1_adaboost").bind(REFERENCE_U, C=1e99), backend)
    solve(get_formulation("lpboost").bind(noisy_stumps(2000, 40), nu=600), backend, time_limit=0.05)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("program", "reason"),
    (
        (reference_erlpboost, "exponential cones"),
        (lambda: get_formulation("qp_reg_adaboost").bind(REFERENCE_U, C=1), "quadratic objective"),
        (lambda: get_formulation("norm_penalty").bind(REFERENCE_U, r=2.0, p=np.inf), "not known"),
        (
            lambda: program_of_functions(
                REFERENCE_U, Kinked(CappedSimplexIndicator(CappedSimplex(np.ones(6), 2.0)).domain), MaximumEdge()
            ),
            "piecewise linear",
        ),
        (
            lambda: program_of_functions(
                REFERENCE_U, CappedSimplexIndicator(CappedSimplex(np.ones(6), 2.0)), Unknown()
            ),
            "edge function",
        ),
    ),
    ids=("entropy", "quadratic", "norm", "kinks", "edges"),
)
def test_unsupported_programs_are_refused_with_a_reason(program: Any, reason: str) -> None:
    able = get_backend("highs").takes(program())
    assert not able
    assert reason in able.reason


class Kinked(CappedSimplexIndicator):
    """A piecewise linear function of each weight."""

    def derivatives(self, d: np.ndarray) -> np.ndarray:
        return np.where(d < 0.5 * self.upper, 0.0, 1.0)


class Unknown(MaximumEdge):
    """An edge function without an epigraph."""

    def epigraph(self, t: int) -> None:
        return None


def test_highs_with_a_gap_of_rounding_tries_no_further_algorithm() -> None:
    U = np.random.default_rng(0).uniform(-1, 1, (200, 4))
    solution = get_formulation("l1_adaboost").bind(U, C=700.0).solve("highs", tol=1e-15)
    assert len(solution.attempts) < 6
    assert solution.certificate.gap <= 4.0 * solution.certificate.slack
