"""Files whose proofs need equations that constraints imply: optima, lies about them, and forgeries."""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest
from problem_forgeries import change_proof, claim_more, claim_other, is_rejected

from boostopt import certify_problem, verify
from boostopt.problem_certificates.arithmetic.balls import working_precision as reading_precision
from boostopt.problem_certificates.problem_reader import read_problem
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate
from boostopt.verification.problem_kernel import problem_schema
from boostopt.verification.problem_kernel.implied_equation_checks import implied_rows
from boostopt.verification.problem_kernel.problem_schema import ImpliedEquations, Problem, parse_problem
from boostopt.verification.problem_statement import problem_to_json
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

cp: Any = cvxpy
a = np.array([1.0, 2.0, 3.0])


def at_point(constraints: Callable[[Any, Any], list[Any]]) -> Any:
    """Return the least sum of x, which the constraints set to a, with another number y."""
    x, y = cp.Variable(3), cp.Variable()
    return cp.Problem(cp.Minimize(cp.sum(x)), constraints(x, y))


def constant_on_a_diagonal() -> Any:
    """Return a problem with the optimum 0 whose dual problem has the optimum -1."""
    x = cp.Variable(2)
    E = cp.bmat([[0, x[0], 0], [x[0], x[1], 0], [0, 0, x[0] + 1]])
    return cp.Problem(cp.Minimize(x[0]), [E >> 0])


def null_vector() -> Any:
    """Return the problem with a constant on its diagonal, in other coordinates."""
    x = cp.Variable(2)
    E = cp.bmat([[0, x[0], 0], [x[0], x[1], 0], [0, 0, x[0] + 1]])
    T = np.array([[1.0, 1, 0], [0, 1, 2], [0, 0, 1]])
    return cp.Problem(cp.Minimize(x[0]), [T @ E @ T.T >> 0])


def largest_square() -> Any:
    x = cp.Variable()
    return cp.Problem(cp.Maximize(x), [cp.square(x - 2) <= 0])


OPTIMA: dict[str, tuple[Callable[[], Any], float]] = {
    "square": (largest_square, 2.0),
    "divergence": (lambda: at_point(lambda x, y: [cp.sum(cp.kl_div(x, a)) <= 0]), 6.0),
    "quadratic form": (lambda: at_point(lambda x, y: [cp.quad_form(x - a, np.diag([2.0, 1, 1])) <= 0]), 6.0),
    "squares over last": (lambda: at_point(lambda x, y: [cp.quad_over_lin(x - a, y) <= 0, y >= 1, y <= 2]), 6.0),
    "limit by an inequality": (lambda: at_point(lambda x, y: [cp.sum_squares(x - a) + 2 * y <= 0, -3 * y <= 0]), 6.0),
    "limit by an equation": (lambda: at_point(lambda x, y: [cp.sum_squares(x - a) + 2 * y <= 0, 5 * y == 0]), 6.0),
    "matrix": (constant_on_a_diagonal, 0.0),
    "null vector": (null_vector, 0.0),
}
"""Problems whose constraints have no multipliers that prove the optimum, and their optima."""


@cache
def text_of(name: str) -> str:
    """Return the text of the file of a problem."""
    problem = OPTIMA[name][0]()
    with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as folder:
        try:
            problem.solve("CLARABEL")
        except cp.SolverError:
            for variable in problem.variables():
                variable.save_value(np.zeros(variable.shape))
        certify_problem(problem).save(Path(folder) / "file.json")
        return (Path(folder) / "file.json").read_text()


def content_of(name: str) -> dict[str, Any]:
    """Return what the file of a problem states, to be changed."""
    return json.loads(text_of(name))


@pytest.mark.every(2)
@pytest.mark.thorough_cases("divergence", "quadratic form", "limit by an inequality", "limit by an equation")
@pytest.mark.parametrize("name", OPTIMA)
def test_optima_are_proved(name: str, tmp_path: Any) -> None:
    path = tmp_path / "file.json"
    path.write_text(text_of(name))
    verification = verify(path)
    assert verification and verification.verdict == "proved", verification.reason
    assert verification.lower - 1e-9 <= OPTIMA[name][1] <= verification.upper + 1e-9
    assert verification.upper - verification.lower <= 1e-8
    assert content_of(name)["proof"]["multipliers"]["implied"]


def semidefinite(constraints: Callable[[Any], list[Any]]) -> Any:
    """Return a problem of a semidefinite matrix with constraints."""
    X = cp.Variable((3, 3), symmetric=True)
    return cp.Problem(cp.Minimize(cp.trace(X)), [X >> 0, *constraints(X)])


v = np.array([1.0, 2.0, -1.0])

INFEASIBLE: dict[str, Callable[[float], Any]] = {
    "entry beside 0": lambda b: semidefinite(lambda X: [X[0, 0] == 0, X[0, 1] == b]),
    "entries beside 0": lambda b: semidefinite(lambda X: [X[0, 0] <= 0, X[0, 1] + X[0, 2] >= b]),
    "null vector": lambda b: semidefinite(lambda X: [v @ X @ v == 0, X[0] @ v == b]),
    "sum of a null vector": lambda b: semidefinite(lambda X: [v @ X @ v == 0, cp.sum(X @ v) >= b]),
    "two steps": lambda b: semidefinite(lambda X: [X[0, 0] == 0, X[1, 1] == X[0, 1] + X[0, 2], X[1, 2] == b]),
    "squares over a number": lambda b: at_point(lambda x, y: [cp.quad_over_lin(x - a, y) <= 0, cp.sum(x) >= 6 + b]),
    "polynomial": lambda b: semidefinite(lambda X: [2 * X[0, 2] + X[1, 1] == 1, 2 * X[1, 2] == b, X[2, 2] == 0]),
}
"""Problems without a point for b = 1 that points far away nearly satisfy, and with points for b = 0."""


@cache
def infeasible_text(name: str) -> str:
    """Return the text of the file that proves that no point is feasible."""
    with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as folder:
        certificate = certify_problem(INFEASIBLE[name](1.0), solver="CLARABEL")
        assert certificate.status == "infeasible"
        certificate.save(Path(folder) / "file.json")
        return (Path(folder) / "file.json").read_text()


@pytest.mark.thorough_cases(*list(INFEASIBLE)[1:])
@pytest.mark.parametrize("name", INFEASIBLE)
def test_problems_without_a_point_are_proved_and_their_neighbours_are_not(name: str) -> None:
    document = json.loads(infeasible_text(name))
    assert verify_problem_certificate(document).outcome == "infeasible"
    assert document["proof"]["multipliers"]["implied"]
    rng = np.random.default_rng(0)
    neighbour = INFEASIBLE[name](0.0)
    with reading_precision():
        statement = json.loads(json.dumps(problem_to_json(read_problem(neighbour))))
    for k in range(50):
        forged = copy.deepcopy(document)
        for _ in range(k % 3):
            if forged["proof"]["multipliers"].get("implied") and rng.integers(2):
                change_implication(forged, rng)
            else:
                change_proof(forged, rng)
        forged["problem"] = statement
        try:
            assert not verify_problem_certificate(parse_json(json.dumps(forged).encode())), forged["proof"]
        except Rejected:
            pass


def as_stated(problem: Any) -> Problem:
    """Return a CVXPY problem as the checker reads it."""
    with reading_precision():
        return parse_problem(json.loads(json.dumps(problem_to_json(read_problem(problem)))))


FALSE_IMPLICATIONS: dict[str, tuple[Callable[[Any, Any], list[Any]], ImpliedEquations]] = {
    "slack": (lambda x, y: [cp.norm(x - a) <= 1], ImpliedEquations("inequality", 0, [], None, [])),
    "a free term": (lambda x, y: [cp.norm(x - a) - y <= 0], ImpliedEquations("inequality", 0, [], None, [])),
    "a term of the other sign": (
        lambda x, y: [cp.norm(x - a) - y <= 0, -y <= 0],
        ImpliedEquations("inequality", 0, [], ("inequality", 1), []),
    ),
    "a limit of other unknowns": (
        lambda x, y: [cp.norm(x - a) + y <= 0, -x[0] <= 0],
        ImpliedEquations("inequality", 0, [], ("inequality", 1), []),
    ),
    "a limit below 0": (
        lambda x, y: [cp.norm(x - a) + y <= 0, -y <= 1],
        ImpliedEquations("inequality", 0, [], ("inequality", 1), []),
    ),
    "itself as its limit": (
        lambda x, y: [cp.norm(x - a) + y <= 0],
        ImpliedEquations("inequality", 0, [], ("inequality", 0), []),
    ),
    "an affine constraint": (lambda x, y: [x[0] <= 0], ImpliedEquations("inequality", 0, [], None, [])),
    "an atom without a rule": (lambda x, y: [cp.max(x - a) <= 0], ImpliedEquations("inequality", 0, [], None, [])),
    "a negative atom": (lambda x, y: [-cp.sqrt(y) <= 0], ImpliedEquations("inequality", 0, [], None, [])),
    "a positive diagonal": (
        lambda x, y: [cp.bmat([[y, x[0]], [x[0], x[1]]]) >> 0, y <= 1],
        ImpliedEquations("matrix", 0, [Fraction(1), Fraction(0)], ("inequality", 0), []),
    ),
    "a vector of another matrix": (
        lambda x, y: [cp.bmat([[y, x[0]], [x[0], x[1]]]) >> 0, y <= 0],
        ImpliedEquations("matrix", 0, [Fraction(0), Fraction(1)], ("inequality", 0), []),
    ),
    "a short vector": (
        lambda x, y: [cp.bmat([[y, x[0]], [x[0], x[1]]]) >> 0, y <= 0],
        ImpliedEquations("matrix", 0, [Fraction(1)], ("inequality", 0), []),
    ),
}
"""Constraints that do not imply equations, with what a liar states."""


@pytest.mark.parametrize("name", FALSE_IMPLICATIONS)
def test_constraints_that_imply_no_equations_are_rejected(name: str) -> None:
    make, item = FALSE_IMPLICATIONS[name]
    with pytest.raises(Rejected):
        implied_rows(as_stated(at_point(make)), item)


def test_indefinite_forms_imply_nothing() -> None:
    problem = at_point(lambda x, y: [cp.quad_form(x - a, np.diag([2.0, 1, 1])) <= 0])
    with reading_precision():
        statement = json.loads(json.dumps(problem_to_json(read_problem(problem))))
    statement["atoms"][0]["matrix"][4] = -1.0
    with pytest.raises(Rejected, match="implies no equations"):
        implied_rows(parse_problem(statement), ImpliedEquations("inequality", 0, [], None, []))


@pytest.mark.parametrize(
    ("constraints", "item", "points"),
    [
        (lambda x, y: [cp.norm(x - a) + y <= 0], ImpliedEquations("inequality", 0, [], ("inequality", 1), []), [0.0]),
        (lambda x, y: [cp.norm(x - a) + cp.abs(y) == 0], ImpliedEquations("equality", 0, [], None, []), [0.0]),
        (lambda x, y: [cp.kl_div(x[0], y) <= 0, x == a], ImpliedEquations("inequality", 0, [], None, []), [1.0]),
        (lambda x, y: [cp.quad_over_lin(x - a, y) <= 0], ImpliedEquations("inequality", 0, [], None, []), [1.0, 7.0]),
        (lambda x, y: [cp.sum(cp.huber(x - a)) <= 0], ImpliedEquations("inequality", 0, [], None, []), [0.0, -4.0]),
        (lambda x, y: [cp.power(y, 3) <= 0, x == a], ImpliedEquations("inequality", 0, [], None, []), [0.0]),
    ],
)
def test_implied_rows_are_0_at_feasible_points(constraints: Any, item: ImpliedEquations, points: list[float]) -> None:
    problem = as_stated(at_point(lambda x, y: [*constraints(x, y), -y <= 100 if item.limit is None else -y <= 0]))
    rows = implied_rows(problem, item)
    assert len(rows) >= 1
    names = np.empty(4, dtype=int)
    for y in points:
        order = [a, [y]] if len(problem.lower) == 4 else [a]
        values = np.concatenate(order)
        names = np.arange(len(values))
        for row, offset in zip(rows.rows, rows.offsets, strict=True):
            assert sum(float(value) * values[names[k]] for k, value in row.items()) + float(offset) == 0


@pytest.mark.thorough_cases("null vector-20")
@pytest.mark.parametrize(("name", "size"), [("square", 2), ("null vector", 20)])
def test_implications_that_combine_too_many_coefficients_are_rejected_before_the_work(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = content_of(name)
    item = document["proof"]["multipliers"]["implied"][0]
    document["proof"]["multipliers"]["implied"] = [item]
    monkeypatch.setattr(problem_schema, "MAX_IMPLIED", size)
    assert "combine" not in verify_problem_certificate(parse_json(json.dumps(document).encode())).reason
    monkeypatch.setattr(problem_schema, "MAX_IMPLIED", size - 1)
    assert f"they combine {size}" in verify_problem_certificate(parse_json(json.dumps(document).encode())).reason


@pytest.mark.thorough
def test_implications_with_too_much_work_end_at_once() -> None:
    n, columns = 60, 60 * 60
    no_rows: dict[str, Any] = {"offsets": [], "rows": [], "columns": [], "values": []}
    entries = {
        "offsets": [1] * columns,
        "rows": list(range(columns)),
        "columns": [0] * columns,
        "values": [1] * columns,
    }
    problem = {
        "sense": "minimize",
        "variables": [{"name": "x", "shape": [], "positions": [0]}],
        "lower": [0],
        "upper": [0],
        "atoms": [],
        "objective": {"offsets": [0], "rows": [0], "columns": [0], "values": [1]},
        "inequalities": no_rows,
        "equalities": no_rows,
        "matrices": [{"size": n, "entries": entries}],
    }
    implied = [
        {"constraint": "matrix", "place": 0, "vector": [f"{k:x}"] * n, "limit": None, "multipliers": ["0"] * n}
        for k in range(3000)
    ]
    multipliers = {"objective": "1", "inequalities": [], "equalities": [], "matrices": [["0"] * columns], "slopes": []}
    document = {
        "kind": problem_schema.FILE_KIND,
        "format": 1,
        "problem": problem,
        "proof": {"multipliers": {**multipliers, "implied": implied}, "point": None, "ray": None},
        "claim": {"status": "open", "lower": 0, "upper": None},
        "made": {},
    }
    assert "they combine 21,600,000" in verify_problem_certificate(document).reason


def repeat(document: dict[str, Any], rng: np.random.Generator) -> None:
    """State an implication twice, or leave one out."""
    implied = document["proof"]["multipliers"]["implied"]
    if rng.integers(2):
        implied.append(copy.deepcopy(implied[rng.integers(len(implied))]))
    else:
        implied.pop(rng.integers(len(implied)))


def change_implication(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change the constraint, the vector, the limit or the multipliers of an implication."""
    implied = document["proof"]["multipliers"]["implied"]
    item = implied[rng.integers(len(implied))]
    how = rng.integers(5)
    kinds = ("inequality", "equality", "matrix")
    if how == 0:
        item["constraint"] = kinds[rng.integers(3)]
    elif how == 1:
        item["place"] = int(rng.integers(-1, 4))
    elif how == 2:
        item["vector"] = [f"{int(value):x}" for value in rng.integers(-2, 3, size=int(rng.integers(0, 4)))]
    elif how == 3:
        limit = {"constraint": kinds[rng.integers(2)], "place": int(rng.integers(0, 3))}
        item["limit"] = None if rng.integers(2) else limit
    else:
        numbers = item["multipliers"]
        numbers[rng.integers(len(numbers))] = f"{int(rng.integers(-(2**40), 2**40)):x}"


KINDS = (change_implication, repeat, change_proof, claim_more, claim_other)
"""Functions that forge a proof or a claim."""


def forge(name: str, times: int, seed: int) -> int:
    """Forge so many files and return how many are rejected; AssertionError if a false claim is accepted."""
    rng, (_, optimum) = np.random.default_rng(seed), OPTIMA[name]
    statement, rejected = content_of(name)["problem"], 0
    for k in range(times):
        document = content_of(name)
        KINDS[k % len(KINDS)](document, rng)
        document["problem"] = statement
        rejected += is_rejected(document, optimum)
    return rejected


def test_no_forgery_of_an_implication_is_accepted_unless_true() -> None:
    assert sum(forge(name, 2 * len(KINDS), 0) for name in ("square", "matrix")) >= len(KINDS)


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPTIMA)
def test_none_of_many_forgeries_of_implications_is_accepted_unless_true(name: str) -> None:
    assert forge(name, 300, 1) >= 150
