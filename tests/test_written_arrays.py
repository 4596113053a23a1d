"""No array that a certificate rests on can be changed: by the caller after `bind`, or by a piece during a call.

Each test runs an entry twice, with pieces that write to all arrays that they can reach and without, and compares the
intervals and the caller's data.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from support.problems import Fake, reference_erlpboost
from support.writing_components import Careless, Vandal, arrays_of, ravage, state_of

import boostopt
from boostopt import (
    MarginMatrix,
    ProblemError,
    Program,
    get_formulation,
    list_formulations,
)
from boostopt.authoring import (
    PER_EXAMPLE,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    MaximumEdge,
    RelativeEntropy,
    edge_formula,
    formula,
    parameter,
    prototype,
)
from boostopt.backends import get_backend
from boostopt.boosting.stopping_rules import Rule, RuleContext
from boostopt.comparison import ConeSolver, FunctionSolver
from boostopt.ensembles import reweight, reweight_one_vs_rest
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import DecisionStumps, Estimators, GivenMargins
from boostopt.oracles.base import Answer, Query
from boostopt.programs.parameters import typical_value

N, T = 12, 3
RNG = np.random.default_rng(0)
U = RNG.uniform(-1, 1, (N, T))
C = RNG.uniform(0.5, 1.5, N)
X = np.array(RNG.normal(size=(40, 3)))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.2 * RNG.normal(size=40) > 0, 1, -1)


def ends(certificate: Any) -> tuple[float, float]:
    return certificate.lower, certificate.upper


def bound(name: str, U: Any, c: Any) -> Program:
    page = get_formulation(name)
    parameters = {key: typical_value(p.domain, N) for key, p in page.parameters.items() if p.required}
    d0 = {"d0": np.full(N, 1.0 / N)} if page.uses_reference else {}
    return page.bind(U[:, : page.columns], c=c, **d0, **parameters)


class LinearRegularizer(CappedSimplexIndicator):
    """A regularizer of a user, with an array of its own."""

    kind: ClassVar[str] = ""

    z: np.ndarray

    def __init__(self, domain: CappedSimplex, z: np.ndarray) -> None:
        super().__init__(domain)
        object.__setattr__(self, "z", z)

    def value(self, d: Any) -> float:
        return float(d @ self.z)

    def conjugate_at(self, z: Any, start: Any = None) -> Any:
        return super().conjugate_at(z - self.z)


def closed_over(z: np.ndarray) -> dict[str, Any]:
    """Formulations that have an array z in all the ways in which a user's file may have one."""

    def domain(examples: Any) -> CappedSimplex:
        return CappedSimplex(examples.c, 2.0)

    of_z = {"z": parameter("prices", PER_EXAMPLE)}
    return {
        "described": prototype(
            "described",
            lambda p, x: CvxpyRegularizer(domain(x), lambda d: z @ d + cp.sum_squares(d), x.c / x.total),
        ),
        "parameter": prototype(
            "parameter",
            lambda p, x: CvxpyRegularizer(domain(x), lambda d: p.z @ d, x.c / x.total),
            **of_z,
        ),
        "formula": prototype("formula", lambda p, x: formula("z*d + d**2", domain(x), z=z)),
        "formula of a parameter": prototype("stated", lambda p, x: formula("z*d + d**2", domain(x), z=p.z), **of_z),
        "edges": prototype(
            "edges",
            lambda p, x: CappedSimplexIndicator(domain(x)),
            lambda p: CvxpyEdges(lambda e: cp.max(e + z[: e.size]) + cp.sum_squares(e)),
        ),
        "own": prototype("own", lambda p, x: LinearRegularizer(domain(x), z)),
    }


# Writes of the user after `bind`, and writes of anybody to the program.


@pytest.mark.parametrize("name", list_formulations())
def test_a_program_is_what_it_was_when_it_was_bound(name: str) -> None:
    copy, c = U.copy(), C.copy()
    program, twin = bound(name, copy, c), bound(name, U, C)
    state = state_of(copy, c)
    first = program.certify()
    ravage(program, first)
    assert state_of(copy, c) == state
    copy *= 0.5
    c[0] += 3.0
    assert ends(program.certify()) == ends(first) == ends(twin.certify())
    assert not any(array.flags.writeable for array in arrays_of((program.parameters, program.examples)))


@pytest.mark.parametrize("storage", ("columns", "cut", "int8", "int64", "float32", "csr", "csc", "coo", "over bytes"))
def test_every_storage_of_a_matrix_is_a_copy(storage: str) -> None:
    signs = np.sign(U)
    matrix: Any = {
        "columns": lambda: np.asfortranarray(U),
        "cut": lambda: np.repeat(U, 2, axis=1)[:, ::2],
        "int8": lambda: signs.astype(np.int8),
        "int64": lambda: signs.astype(np.int64),
        "float32": lambda: U.astype(np.float32),
        "csr": lambda: scipy.sparse.csr_array(U),
        "csc": lambda: scipy.sparse.csc_array(U),
        "coo": lambda: scipy.sparse.coo_array(U),
        "over bytes": lambda: np.frombuffer(U.tobytes()).reshape(U.shape),
    }[storage]()
    program = get_formulation("lpboost").bind(matrix, nu=2)
    twin = get_formulation("lpboost").bind(copy.copy(matrix), nu=2)
    state, first = state_of(matrix), program.certify()
    grown = program.margins.append(np.ones(N))
    ravage(program, grown, grown.append(-np.ones(N)), program.margins.take_rows(np.arange(5)), program.margins)
    assert state_of(matrix) == state
    if storage != "over bytes":
        entries = matrix.data if scipy.sparse.issparse(matrix) else matrix
        entries[...] = 0
    assert ends(program.certify()) == ends(first) == ends(twin.certify())
    assert (grown.column(T) == 1.0).all() and (grown.column(0) == program.margins.column(0)).all()


@pytest.mark.parametrize("mode", ("r", "r+", "c"))
@pytest.mark.parametrize("dtype", (np.float64, np.int8))
def test_a_mapped_file_stays_on_disk_and_must_stay_as_it_is(mode: Any, dtype: type[Any], tmp_path: Path) -> None:
    np.save(tmp_path / "U.npy", np.sign(U).astype(dtype))
    mapped = np.load(tmp_path / "U.npy", mmap_mode=mode)
    program, oracle = get_formulation("lpboost").bind(mapped, nu=2), GivenMargins(mapped)
    first, query = program.certify(), Query(np.full(N, 1.0 / N))
    largest = oracle.best(query).edge_bound
    ravage(program)
    assert ends(program.certify()) == ends(first) and oracle.best(query).edge_bound == largest
    writeable: Any = np.load(tmp_path / "U.npy", mmap_mode="r+") if mode == "r" else mapped
    writeable[0] *= -1
    for call in (lambda: program.certify(first.d, first.w), lambda: oracle.best(query)):
        with pytest.raises(ProblemError, match="mapped file"):
            call()


@pytest.mark.parametrize("file_kind", closed_over(np.ones(N)))
def test_arrays_that_a_users_file_closes_over_are_read_when_it_is_bound(file_kind: str) -> None:
    z = np.linspace(-0.4, 0.6, N)
    page, twin = closed_over(z)[file_kind], closed_over(z.copy())[file_kind]
    arrays = {"z": z} if "z" in page.parameters else {}
    program, honest = page.bind(U, **arrays), twin.bind(U, **{name: z.copy() for name in arrays})
    state = state_of(z)
    first = program.certify()
    ravage(program)
    assert state_of(z) == state
    z *= -3.0
    again, true = program.certify(first.d, first.w), honest.certify(first.d, first.w)
    assert ends(again) == ends(true)
    assert ends(program.certify()) == ends(first)


OUTER = np.linspace(0.0, 1.0, N)


class Reaching(CappedSimplexIndicator):
    """A regularizer that refers to an array of its file."""

    kind: ClassVar[str] = ""

    def value(self, d: Any) -> float:
        return float(d @ OUTER)

    def conjugate_at(self, z: Any, start: Any = None) -> Any:
        return super().conjugate_at(z - OUTER)


def reaching_by(how: str, outer: np.ndarray) -> Any:
    class Closing(CappedSimplexIndicator):
        """A regularizer that closes over an array."""

        kind: ClassVar[str] = ""

        def value(self, d: Any) -> float:
            return float(d @ outer)

        def conjugate_at(self, z: Any, start: Any = None) -> Any:
            return super().conjugate_at(z - outer)

    class Having(CappedSimplexIndicator):
        """A regularizer whose class has an array."""

        kind: ClassVar[str] = ""
        prices: ClassVar[np.ndarray] = outer

        def value(self, d: Any) -> float:
            return float(d @ self.prices)

        def conjugate_at(self, z: Any, start: Any = None) -> Any:
            return super().conjugate_at(z - self.prices)

    return {"closure": Closing, "class": Having, "global": Reaching}[how]


@pytest.mark.parametrize("how", ("closure", "class", "global"))
def test_arrays_that_a_users_class_refers_to_are_watched(how: str) -> None:
    z = OUTER if how == "global" else OUTER.copy()
    program = prototype("p", lambda p, x: reaching_by(how, z)(CappedSimplex(x.c, 2.0))).bind(U)
    first = program.certify()
    assert ends(program.certify()) == ends(first)
    z += 1.0
    try:
        with pytest.raises(ProblemError, match="refers to"):
            program.certify()
    finally:
        z -= 1.0


def test_results_cannot_be_changed() -> None:
    program = get_formulation("erlpboost").bind(U, c=C, nu=3, eta=5)
    solution = program.solve("interior")
    first, words = solution.certificate, str(solution.explain())
    recovery = program.recover(solution.d)
    d, w = first.d.copy(), first.w.copy()
    again = ends(program.certify(solution.d, solution.w))
    ravage(solution, recovery, solution.start, solution.multipliers)
    assert state_of(solution.d, solution.w) == state_of(d, w) and str(solution.explain()) == words
    assert str(program.explain(first)) == words
    assert ends(program.certify(solution.d, solution.w)) == again == pytest.approx(ends(first), abs=1e-12)
    assert str(program.recover(solution.d)) == str(recovery)


def test_answers_are_read_once() -> None:
    program = get_formulation("lpboost").bind(U, nu=2)
    d, w = np.full(N, 1.0 / N), np.full(T, 1.0 / T)
    certificate = program.certify(d, w)
    d[:], w[:] = 0.0, 5.0
    assert ends(program.certify(certificate.d, certificate.w)) == ends(certificate)
    assert certificate.d.sum() == pytest.approx(1.0) and certificate.w.sum() == pytest.approx(1.0)


# Backends.


@pytest.mark.parametrize("name", ("lpboost", "erlpboost", "softboost", "qp_reg_adaboost"))
@pytest.mark.parametrize("inner", ("interior", "cvxpy:clarabel"))
def test_a_backend_that_writes_changes_no_certificate(name: str, inner: str) -> None:
    copy, c = np.repeat(U, 2, axis=0)[:N].copy(), C.copy()
    program = bound(name, copy, c)
    state = state_of(copy, c)
    solution = boostopt.solve(program, Vandal(get_backend(inner)))
    honest = boostopt.solve(bound(name, copy.copy(), c.copy()), inner)
    assert state_of(copy, c) == state
    fresh = bound(name, copy.copy(), c.copy())
    assert ends(fresh.certify(solution.d, solution.w)) == ends(program.certify(solution.d, solution.w))
    assert solution.certificate.overlaps(honest.certificate) and solution.certificate.scaled_gap <= 1e-6


def test_a_backend_that_writes_in_passing_is_named() -> None:
    copy = U.copy()
    program = get_formulation("lpboost").bind(copy, nu=2)
    solution = boostopt.solve(program, Careless(get_backend("interior")))
    assert solution.outcome is boostopt.Outcome.FAILED and (copy == U).all()
    (attempt,) = solution.attempts
    assert "the backend careless" in (attempt.error or "") and "read-only" in (attempt.error or "")
    assert ends(solution.certificate) == ends(get_formulation("lpboost").bind(U, nu=2).certify())


class InPlace(Fake):
    """A backend that goes on writing to the iterate that it has measured and yielded."""

    def attempts(self, task: Any) -> Iterator[Any]:
        d, w = np.full(N, 1.0 / N), np.full(T, 1.0 / T)
        measured = task.gap(d, w)
        d[:], w[:] = np.eye(N)[0], np.eye(T)[0]
        changed = task.gap(d, w)
        yield boostopt.authoring.Attempt("", {}, f"{measured} {changed}", False, d=d, w=w)
        d[:], w[:] = np.nan, np.nan


def test_an_iterate_that_changes_in_place_is_certified_as_it_is_yielded() -> None:
    program = get_formulation("lpboost").bind(U, nu=1)
    solution = boostopt.solve(program, InPlace())
    measured, changed = map(float, solution.attempts[0].status.split())
    assert measured == program.certify(np.full(N, 1.0 / N), np.full(T, 1.0 / T)).scaled_gap
    assert changed == program.certify(np.eye(N)[0], np.eye(T)[0]).scaled_gap == solution.certificate.scaled_gap
    assert (solution.attempts[0].d == np.eye(N)[0]).all()


@pytest.mark.parametrize("command", ("compare", "benchmark"))
def test_comparisons_with_a_backend_that_writes(command: str) -> None:
    copy = U.copy()
    program, vandal = get_formulation("lpboost").bind(copy, nu=2), Vandal(get_backend("interior"))
    if command == "compare":
        rows = boostopt.compare(program, [vandal, "highs"]).rows
    else:
        rows = boostopt.benchmark(program, [vandal, "highs"], 1e-6, repeats=1).runs
    assert (copy == U).all()
    optimum = boostopt.solve(get_formulation("lpboost").bind(U, nu=2), "highs").certificate
    for row in rows:
        assert row.lower <= optimum.upper and optimum.lower <= row.upper


# Problems of CVXPY, and functions that solve them.


def data_of(problem: cp.Problem) -> list[Any]:
    """Return all arrays that a problem is stated with: constants, parameters and bounds of variables."""
    leaves: list[Any] = [*problem.constants(), *problem.parameters()]
    return [leaf.value for leaf in leaves] + [variable.attributes["bounds"] for variable in problem.variables()]


def stated_problem() -> tuple[cp.Problem, list[Any]]:
    """Return a problem whose data are a matrix, a sparse one, a parameter and bounds, and these arrays."""
    rng = np.random.default_rng(1)
    arrays: list[Any] = [
        rng.normal(size=(6, 4)),
        scipy.sparse.csr_array(2.0 * np.eye(4)),
        rng.normal(size=6),
        np.ones(4),
    ]
    A, S, b, highest = arrays
    x: Any = cp.Variable(4, bounds=[-highest, highest])
    p = cp.Parameter(6, value=b)
    rows: Any = A[:2] @ x <= 1.0
    return cp.Problem(cp.Minimize(cp.norm1(A @ x - p) + cp.sum_squares(S @ x - p[:4])), [rows]), arrays


def halve(arrays: Any) -> None:
    """Halve numbers in place: those of sparse matrices, not their indices."""
    for part in arrays:
        if isinstance(part, list):
            halve(part)
        elif part is not None:
            numbers = part.data if scipy.sparse.issparse(part) else part
            numbers *= 0.5


def write_and_solve(problem: Any) -> None:
    """Solve another problem: the data of this one after they were written to."""
    halve(data_of(problem))
    problem.solve("CLARABEL")


def solve_and_write(problem: Any) -> None:
    problem.solve("CLARABEL")
    halve(data_of(problem))


def answer_ones(data: Any) -> tuple[np.ndarray, np.ndarray]:
    m, n = data["A"].shape
    return np.ones(n), np.ones(m)


def halve_and_answer_ones(data: Any) -> tuple[np.ndarray, np.ndarray]:
    halve(data[name] for name in ("A", "b", "c"))
    return answer_ones(data)


@pytest.mark.parametrize(
    "solver",
    (FunctionSolver(write_and_solve), FunctionSolver(solve_and_write), ConeSolver(halve_and_answer_ones)),
    ids=lambda solver: solver.name,
)
def test_a_function_that_writes_to_the_data_of_a_problem(solver: Any) -> None:
    problem, arrays = stated_problem()
    honest, _ = stated_problem()
    honest.solve("CLARABEL")
    state, statement = state_of(*arrays), [array.tobytes() for array in arrays_of(data_of(problem))]
    (row,) = boostopt.compare(problem, [solver]).rows
    assert state_of(*arrays) == state
    assert [array.tobytes() for array in arrays_of(data_of(problem))] == statement
    optimum = boostopt.certify_problem(honest)
    assert row.lower <= optimum.upper and optimum.lower <= row.upper


def test_the_value_of_a_function_of_cone_data_is_that_of_the_problem() -> None:
    problem, _ = stated_problem()
    solvers = [ConeSolver(answer_ones), ConeSolver(halve_and_answer_ones)]
    honest, halving = boostopt.compare(problem, solvers).rows
    assert honest.claimed_value == halving.claimed_value != 0.0


def test_a_certificate_of_a_problem_is_of_what_it_was() -> None:
    problem, _ = stated_problem()
    problem.solve("CLARABEL")
    certificate = boostopt.certify_problem(problem)
    first, text = ends(certificate), repr(certificate)
    assert certificate.point is not None
    state = state_of(*certificate.point.values())
    (x,) = problem.variables()
    halve([*data_of(problem), x.value, *(constraint.dual_value for constraint in problem.constraints)])
    assert ends(certificate) == first and repr(certificate) == text and state_of(*certificate.point.values()) == state
    with pytest.raises(ProblemError, match="have changed"):
        certificate.save("never.json")


# Regularizers, edge functions and formulations of a user.


class WritesValue(CappedSimplexIndicator):
    """F that scales d in place."""

    kind: ClassVar[str] = ""

    def value(self, d: Any) -> float:
        d *= 0.5
        return super().value(d)


class WritesConjugate(RelativeEntropy):
    """F that shifts its argument in place, as one would against overflow."""

    kind: ClassVar[str] = ""

    def maximizers(self, y: Any) -> Any:
        y += 1.0
        return super().maximizers(y)

    def conjugate_at(self, z: Any, start: Any = None) -> Any:
        z -= z.max()
        return super().conjugate_at(z, start)


class WritesEdges(MaximumEdge):
    """G that sorts the edges in place."""

    kind: ClassVar[str] = ""

    def value(self, e: Any) -> float:
        e.sort()
        return float(e[-1])


class Sharing(CappedSimplexIndicator):
    """A regularizer that returns an array of its own and writes to it afterwards."""

    kind: ClassVar[str] = ""
    arrays: Sequence[np.ndarray] = ()

    def conjugate_at(self, z: Any, start: Any = None) -> Any:
        point = super().conjugate_at(z, start)
        shared_point = point.d.copy()
        object.__setattr__(self, "arrays", [shared_point])
        return replace(point, d=shared_point)

    def value(self, d: Any) -> float:
        for array in self.arrays:
            array[:] = 0.0
        return super().value(d)


PIECES: dict[str, Any] = {
    "WritesValue.value": prototype("p", lambda p, x: WritesValue(CappedSimplex(x.c, 2.0))),
    "WritesConjugate.conjugate_at": prototype("p", lambda p, x: WritesConjugate(CappedSimplex(x.c, 2.0), 3.0, x.d0)),
    "WritesEdges.value": prototype(
        "p", lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c, 2.0)), lambda p: WritesEdges()
    ),
}


@pytest.mark.parametrize("whose", PIECES)
def test_a_function_that_writes_to_its_argument_is_refused_by_name(whose: str) -> None:
    copy = U.copy()
    with pytest.raises(ProblemError, match=whose):  # where it is tried out, or where it is used
        PIECES[whose].bind(copy).certify(np.full(N, 1.0 / N), np.full(T, 1.0 / T))
    assert (copy == U).all()


def test_a_function_that_writes_to_what_it_has_returned_changes_nothing() -> None:
    program = prototype("p", lambda p, x: Sharing(CappedSimplex(x.c, 2.0))).bind(U)
    twin = prototype("p", lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c, 2.0))).bind(U)
    for w in np.eye(T):
        assert ends(program.certify(w=w)) == ends(twin.certify(w=w))


def test_a_formulation_that_writes_is_refused_by_name() -> None:
    def writing_regularizer(p: Any, x: Any) -> CappedSimplexIndicator:
        x.c[:] = 1.0
        return CappedSimplexIndicator(CappedSimplex(x.c, 2.0))

    c = C.copy()
    with pytest.raises(ProblemError, match=r"bad .*read-only"):
        prototype("bad", writing_regularizer).bind(U, c=c)
    assert (c == C).all()


@pytest.mark.parametrize(
    ("check", "piece"),
    (
        (boostopt.check_regularizer, WritesValue(CappedSimplex(np.ones(6), 2.0))),
        (boostopt.check_regularizer, WritesConjugate(CappedSimplex(np.ones(6), 2.0), 3.0, np.full(6, 1 / 6))),
        (boostopt.check_edge, WritesEdges()),
        pytest.param(boostopt.check_formulation, PIECES["WritesEdges.value"], marks=pytest.mark.thorough),
        pytest.param(boostopt.check_backend, Careless(get_backend("interior")), marks=pytest.mark.thorough),
    ),
    ids=lambda component: getattr(component, "__name__", type(component).__name__),
)
def test_checks_report_a_piece_that_writes(check: Callable[[Any], boostopt.CheckReport], piece: Any) -> None:
    report = check(piece)
    assert not report.passed and any(
        "read-only" in check_result.words for check_result in report if not check_result.passed
    )


# Oracles, rules and other observers of a run.


class Writing(GivenMargins):
    """An oracle that writes to the weights of its query, and to margins that it has returned."""

    loud = False
    returned: ClassVar[list[np.ndarray]] = []

    def best(self, query: Query) -> Answer:
        answer = super().best(query)
        columns = tuple(replace(column, margins=np.array(column.margins)) for column in answer.columns)
        self.returned[:] = [*self.returned, *(column.margins for column in columns)]
        ravage(query, self.returned[:-1], self)
        if self.loud:
            query.d[:] = 0.0
        return replace(answer, columns=columns)


class Loud(Writing):
    """The same, and it does not hide that it writes."""

    loud = True


def vandal_rule() -> Rule:
    def holds(view: RuleContext) -> bool:
        ravage(view, view.problem, view.state, view.problem.template)
        return False

    return Rule("vandal", "nothing", holds)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ("lpboost", "erlpboost", "softboost", "corrective_erlpboost"))
def test_a_run_among_pieces_that_write(name: str) -> None:
    doubled_margins, c = np.tile(U, (2, 1)), np.tile(C, 2)
    state = state_of(doubled_margins, c)
    page = get_formulation(name)
    settings: dict[str, Any] = {"nu": 3.0, "epsilon": 0.05, "max_rounds": 20}
    rules: Any = [vandal_rule(), *page.boosting.rules]
    oracle = Writing(doubled_margins, c=c, reflexive=True)
    run = boostopt.boost(page, oracle, rules=rules, progress=ravage, history=True, **settings)
    twin_oracle = GivenMargins(doubled_margins.copy(), c=c.copy(), reflexive=True)
    twin = boostopt.boost(page, twin_oracle, rules=list(page.boosting.rules), history=True, **settings)
    ravage(run, run.program, run.certificate, run.class_certificate, run.at_round(1), oracle)
    assert state_of(doubled_margins, c) == state
    fresh = replace(run.program, margins=MarginMatrix(run.program.margins.to_array().copy()))
    # Sums over another layout in memory are rounded otherwise.
    assert ends(run.certificate) == pytest.approx(ends(fresh.certify(run.certificate.d, run.w)), abs=1e-9)
    over_class, optimum = run.class_certificate, twin.class_certificate
    assert over_class.lower <= optimum.upper and optimum.lower <= over_class.upper
    assert ends(run.at_round(1).certificate) == ends(twin.at_round(1).certificate)
    assert ends(run.verify_class(GivenMargins(doubled_margins, c=c, reflexive=True))) == ends(over_class)


def test_an_oracle_that_writes_in_passing_is_named() -> None:
    with pytest.raises(ProblemError, match=r"the oracle Loud .*read-only"):
        boostopt.boost("lpboost", Loud(U), nu=3.0)


def test_a_rule_that_writes_in_passing_is_named() -> None:
    def holds(view: RuleContext) -> bool:
        view.state.d[:] = 0.0
        return False

    with pytest.raises(ProblemError, match=r"the rule 'mine' .*read-only"):
        boostopt.boost("lpboost", GivenMargins(U), nu=3.0, rules=Rule("mine", "nothing", holds), max_rounds=5)


def test_a_path_among_pieces_that_write() -> None:
    copy = U.copy()

    def ravage_run(nu_of_run: float, run: Any) -> None:
        ravage(run, run.record, run.program)

    path = boostopt.path("lpboost", Writing(copy), nu=(1.0, 3.0), on_run=ravage_run)
    twin = boostopt.path("lpboost", GivenMargins(U.copy()), nu=(1.0, 3.0))
    assert (copy == U).all()
    for of_one, of_other in zip(path.certificates, twin.certificates, strict=True):
        assert ends(of_one) == pytest.approx(ends(of_other), abs=1e-9)


@pytest.mark.parametrize(
    "oracle_class",
    (
        DecisionStumps,
        boostopt.oracles.RawFeatures,
        boostopt.oracles.BinnedStumps,
        boostopt.oracles.DepthTwoTrees,
        boostopt.oracles.MulticlassStumps,
        boostopt.oracles.RegressionStumps,
    ),
)
def test_oracles_have_copies_of_their_examples(oracle_class: Any) -> None:
    features, y, c = X / np.abs(X).max(), Y.copy(), np.full(len(Y), 1.5)
    oracle, twin = oracle_class(features, y, c), oracle_class(features.copy(), y.copy(), c.copy())
    state = state_of(features, y, c)
    ravage(oracle, oracle.c, oracle.y)
    assert state_of(features, y, c) == state
    features *= -1.0
    y *= -1
    c += 1.0
    d = np.full(oracle.N, 1.0 / oracle.N)
    assert oracle.best(Query(d)).edge_bound == twin.best(Query(d)).edge_bound and oracle.digest == twin.digest


@pytest.mark.parametrize("name", ("erlpboost", "softboost"))
def test_a_histogram_run_is_what_it_was(name: str, tmp_path: Path) -> None:
    features, y = X.copy(), Y.copy()
    oracle = boostopt.oracles.BinnedStumps(features, y)
    run = boostopt.boost(name, oracle, nu=8.0, epsilon=0.2, progress=ravage)
    first = ends(run.class_certificate)
    state = state_of(features, y)
    ravage(run, run.w, run.d, oracle, run.problem)
    assert state_of(features, y) == state
    features *= -1.0
    assert ends(run.class_certificate) == ends(run.verify_class(oracle)) == first
    twin = boostopt.oracles.BinnedStumps(X, Y)
    run.save_certificate(tmp_path / "one.json", twin)
    assert boostopt.verify(tmp_path / "one.json", twin)


# Classifiers and ensembles.


class Learner(ClassifierMixin, BaseEstimator):
    """A tree whose fit and predictions write to all that they get, after setting the flag or not."""

    def __init__(self, tries: bool = True) -> None:
        self.tries = tries

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        self.tree_ = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.tree_.classes_
        self._write(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        answer = self.tree_.predict(X)
        self._write(X)
        return answer

    def _write(self, *arrays: Any) -> None:
        if self.tries:
            ravage(*arrays)
        else:
            arrays[0][:] = 0.0


class Plain(Learner):
    """The same without writing."""

    def _write(self, *arrays: Any) -> None:
        pass


def oracle_run(learner: Any, X: Any, y: Any) -> Any:
    return boostopt.boost("lpboost", Estimators(learner, X, y), nu=8.0, max_rounds=4)


def test_learners_that_write_change_nothing() -> None:
    features, y = X.copy(), Y.copy()
    run, twin = oracle_run(Learner(), features, y), oracle_run(Plain(), X.copy(), Y.copy())
    assert state_of(features, y) == state_of(X, Y)
    assert state_of(run.w) == state_of(twin.w) and ends(run.certificate) == ends(twin.certificate)
    with pytest.raises(ProblemError, match=r"the learner Learner .*read-only"):
        oracle_run(Learner(tries=False), features, y)
    assert state_of(features, y) == state_of(X, Y)


def test_a_fit_with_a_learner_that_writes() -> None:
    features, y, c = X.copy(), Y.copy(), np.full(len(Y), 2.0)
    fitted = [
        MarginBoostClassifier("lpboost", nu=0.3, base=base(), max_iter=5).fit(features, y, sample_weight=c)
        for base in (Learner, Plain)
    ]
    assert state_of(features, y, c) == state_of(X, Y, np.full(len(Y), 2.0))
    assert ends(fitted[0].run_.certificate) == ends(fitted[1].run_.certificate)


def members(kind: type[Any], y: Any) -> list[Any]:
    return [kind().fit(X[k::3].copy(), y[k::3].copy()) for k in range(3)]


@pytest.mark.parametrize("sparse", (False, True))
def test_ensembles_whose_members_write(sparse: bool) -> None:
    features: Any = scipy.sparse.csr_array(X) if sparse else X.copy()
    y, c = Y.copy(), np.full(len(Y), 2.0)
    state = state_of(features, y, c)
    reweighted, twin = (
        reweight(members(kind, Y), features, y, "lpboost", nu=6.0, sample_weight=c) for kind in (Learner, Plain)
    )
    assert state_of(features, y, c) == state
    assert ends(reweighted.certificate) == ends(twin.certificate)
    ravage(reweighted, reweighted.solution)
    assert ends(reweighted.solution.program.certify(reweighted.solution.d, reweighted.solution.w)) == ends(
        twin.solution.program.certify(twin.solution.d, twin.solution.w)
    )


def test_ensembles_of_several_classes_whose_members_write() -> None:
    features, y = X.copy(), np.where(X[:, 2] > 0.5, 2, Y)
    state = state_of(features, y)
    reweighted, twin = (
        reweight_one_vs_rest(members(kind, y), features, y, "lpboost", nu=6.0) for kind in (Learner, Plain)
    )
    assert state_of(features, y) == state
    for part, twin_part in zip(reweighted.parts, twin.parts, strict=True):
        assert ends(part.certificate) == ends(twin_part.certificate)


def test_models_that_write_are_certified_on_the_callers_data() -> None:
    features, y = X.copy(), Y.copy()

    def kernel(A: Any, B: Any) -> Any:
        gram = A @ B.T
        ravage(A, B)
        return gram

    plain: Any = lambda A, B: A @ B.T  # noqa: E731
    svc: Any = SVC(kernel=plain).fit(X.copy(), Y)  # scikit-learn keeps what it is fitted to
    twin = boostopt.certify_model(svc, X, Y)
    svc.kernel = kernel
    assert ends(boostopt.certify_model(svc, features, y)) == ends(twin)
    ensemble = AdaBoostClassifier(Plain(), n_estimators=3).fit(X.copy(), Y.copy())
    twin = boostopt.certify_model(ensemble, features, y)
    for member in ensemble.estimators_:
        member.__class__ = Learner
    assert ends(boostopt.certify_model(ensemble, features, y)) == ends(twin)
    assert state_of(features, y) == state_of(X, Y)


# Files.


def test_files_are_of_the_program_as_it_was_bound(tmp_path: Path) -> None:
    copy, c = U.copy(), C.copy()
    solution = get_formulation("erlpboost").bind(copy, c=c, nu=3, eta=5).solve("interior")
    copy *= 0.5
    c += 1.0
    ravage(solution)
    solution.save(tmp_path / "one.json")
    data = U.copy()
    assert boostopt.verify(tmp_path / "one.json", data, c=C) and (data == U).all()


def test_a_class_is_verified_with_an_oracle_that_writes(tmp_path: Path) -> None:
    run = boostopt.boost("lpboost", GivenMargins(U), nu=3.0)
    run.save_certificate(tmp_path / "one.json", GivenMargins(U))
    assert boostopt.verify(tmp_path / "one.json", Writing(U.copy()))


# The arrays themselves.


@dataclass(frozen=True)
class Settings:
    """A record of a user."""

    z: np.ndarray


def test_immutable_arrays_stay_immutable() -> None:
    from boostopt._utils.immutable_arrays import as_immutable, as_read_only, immutable_value, is_immutable

    arrays: list[Any] = [
        U,
        U.T,
        U[::2, ::2],
        np.zeros((0, 3)),
        U.astype(np.float32),
        np.array(2.0),
        np.arange(3),
        U > 0,
    ]
    for array in arrays:
        copy = as_immutable(array)
        assert copy.dtype == array.dtype and np.array_equal(copy, array) and is_immutable(copy)
        assert as_immutable(copy) is copy and not np.shares_memory(copy, array)
        for view in (copy, copy[...], copy.T, as_read_only(array.copy()), as_read_only(array.copy())[...]):
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.setflags(write=True)
    assert as_immutable(np.asfortranarray(U)).flags.f_contiguous
    large = np.asfortranarray(RNG.uniform(-1, 1, (3, 400_000)))
    assert np.array_equal(as_immutable(large[:, ::2], np.float32), large[:, ::2].astype(np.float32))
    settings = Settings(U.copy())
    copied = immutable_value({"of": (settings,)})["of"][0]
    assert is_immutable(copied.z) and settings.z.flags.writeable and copied is not settings


def test_margins_keep_their_numbers_through_pickles() -> None:
    import pickle

    again = pickle.loads(pickle.dumps(get_formulation("lpboost").bind(U, c=C, nu=2)))
    first = again.certify()
    ravage(again)
    assert ends(again.certify()) == ends(first) == ends(get_formulation("lpboost").bind(U, c=C, nu=2).certify())


def test_edges_of_a_formula_have_their_numbers() -> None:
    page = prototype(
        "p",
        lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c, 2.0)),
        lambda p: edge_formula("a*e**2", a=p.a),
        a=parameter("a", POSITIVE),
    )
    program = page.bind(U, a=2.0)
    first = program.certify()
    ravage(program)
    assert ends(program.certify()) == ends(first)


def test_numbers_of_numpy_in_a_record_become_plain_floats() -> None:
    certificate = reference_erlpboost().certify(d=np.full(6, 1 / 6))
    numbers = replace(certificate, lower=np.float64(certificate.lower), slack=np.float64(certificate.slack))
    assert type(numbers.lower) is float and type(numbers.slack) is float and numbers.lower == certificate.lower
