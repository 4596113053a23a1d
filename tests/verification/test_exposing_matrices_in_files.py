"""Files whose lower bounds need equations that exposing matrices imply (theorem P14): optima, lies and forgeries."""

from __future__ import annotations

import copy
import itertools
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
from test_implied_equations_in_files import as_stated

from boostopt import certify_problem, verify
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate
from boostopt.verification.problem_kernel import problem_schema, rationals_and_balls
from boostopt.verification.problem_kernel.implied_equation_checks import implied_rows
from boostopt.verification.problem_kernel.problem_schema import ExposedFace, ImpliedEquations
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json

cp: Any = cvxpy
POINTS = np.array([[4.0, 3], [3, 4], [2, 3], [4, 1], [0, 1]])


def distances() -> Any:
    """Return the least sum of squared distances from the centre, given some distances, which determine all points."""
    n = len(POINTS)
    G = cp.Variable((n, n), PSD=True)
    equations = [
        G[i, i] + G[j, j] - 2 * G[i, j] == float(((POINTS[i] - POINTS[j]) ** 2).sum())
        for i, j in itertools.combinations(range(n), 2)
        if (i + j) % 3 > 0 or n - j < 3
    ]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(np.arange(n * n).reshape(n, n), G))), [*equations, cp.sum(G) == 0])


def optimum_of_distances() -> float:
    centred = POINTS - POINTS.mean(axis=0)
    return float((np.arange(25).reshape(5, 5) * (centred @ centred.T)).sum())


def two_matrices() -> Any:
    """X_00 + Y_00 = 0: the first rows of both are 0, so that X_11 is 1."""
    X, Y = (cp.Variable((2, 2), PSD=True) for _ in range(2))
    return cp.Problem(cp.Minimize(X[1, 1]), [X[0, 0] + Y[0, 0] == 0, X[0, 1] + X[1, 1] == 1])


def two_steps() -> Any:
    """X_00 = 0, so that X_02 = 0, so that X_11 = 0, so that X_12 = 0, and X_22 = 1."""
    X = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Minimize(X[2, 2]), [X[0, 0] == 0, X[1, 1] + 2 * X[0, 2] == 0, X[2, 2] + X[1, 2] == 1])


OPTIMA: dict[str, tuple[Callable[[], Any], float]] = {
    "distances": (distances, optimum_of_distances()),
    "two matrices": (two_matrices, 1.0),
    "two steps": (two_steps, 1.0),
}
"""Problems whose matrices have no interior, and their optima."""


MADE = set[str]()
"""The problems whose files were made."""


@cache
def text_of(name: str) -> str:
    """Return the text of the file of a problem."""
    MADE.add(name)
    with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as folder:
        certify_problem(OPTIMA[name][0](), solver="auto").save(Path(folder) / "file.json")
        return (Path(folder) / "file.json").read_text()


def content_of(name: str) -> dict[str, Any]:
    """Return what the file of a problem states, to be changed."""
    return json.loads(text_of(name))


def faces_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the implied equations of exposing matrices in a file."""
    return [item for item in document["proof"]["multipliers"]["implied"] if item["constraint"] == "matrices"]


@pytest.mark.thorough_cases("distances", "two steps")
@pytest.mark.parametrize("name", OPTIMA)
def test_optima_are_proved(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(text_of(name))
    verification = verify(path, None)
    assert verification and verification.verdict == "proved", verification.reason
    optimum = OPTIMA[name][1]
    assert verification.lower <= optimum + 1e-12 and verification.upper >= optimum - 1e-12
    assert verification.upper - verification.lower <= 1e-8 * max(1.0, abs(optimum))
    assert faces_of(content_of(name))


def problem_of(constraints: Callable[[Any, Any], list[Any]]) -> Any:
    """Return a problem of two matrices of order 2 with constraints."""
    X, Y = (cp.Variable((2, 2), PSD=True) for _ in range(2))
    return as_stated(cp.Problem(cp.Minimize(X[1, 1] + Y[1, 1]), constraints(X, Y)))


def item_of(weights: list[list[int]], equations: list[int], vectors: Any = ((1, 0), (0, 1)), place: int = 0) -> Any:
    """Return the implied equations of one face."""
    V = [[Fraction(value) for value in vector] for vector in vectors[: len(weights)]]
    M = [[Fraction(value) for value in row] for row in weights]
    face = ExposedFace(place, V, M)
    return ImpliedEquations("matrices", 0, [], None, [], [face], [Fraction(value) for value in equations])


FALSE_FACES: dict[str, tuple[Callable[[Any, Any], list[Any]], ImpliedEquations]] = {
    "no equation": (lambda X, Y: [X[0, 0] == 0], item_of([[1]], [0])),
    "another sign of the equation": (lambda X, Y: [X[0, 0] == 0], item_of([[1]], [1])),
    "half of the equation": (lambda X, Y: [X[0, 0] == 0], item_of([[2]], [-1])),
    "a positive constant": (lambda X, Y: [X[0, 0] == 1], item_of([[1]], [-1])),
    "a negative constant": (lambda X, Y: [X[0, 0] == -1], item_of([[1]], [-1])),
    "an inequality": (lambda X, Y: [X[0, 0] <= 0], item_of([[1]], [-1])),
    "another matrix": (lambda X, Y: [X[0, 0] == 0], item_of([[1]], [-1], place=1)),
    "another vector": (lambda X, Y: [X[0, 0] == 0], item_of([[1]], [-1], [(0, 1)])),
    "a vector 0": (lambda X, Y: [X[0, 0] == 0], item_of([[1]], [-1], [(0, 0)])),
    "negative weights": (lambda X, Y: [X[0, 0] == 0], item_of([[-1]], [1])),
    "weights 0": (lambda X, Y: [X[0, 0] == 0], item_of([[0]], [0])),
    "indefinite weights": (lambda X, Y: [X[0, 0] - X[1, 1] == 0], item_of([[1, 0], [0, -1]], [-1])),
    "singular weights": (lambda X, Y: [X[0, 0] == 0], item_of([[1, 0], [0, 0]], [-1])),
    "indefinite weights off the diagonal": (lambda X, Y: [X[0, 1] == 0], item_of([[0, 1], [1, 0]], [-2])),
    "asymmetric weights": (
        lambda X, Y: [X[0, 0] + X[1, 1] + 5 * X[0, 1] == 0],
        item_of([[1, 5], [0, 1]], [-1]),
    ),
    "a missing equation": (lambda X, Y: [X[0, 0] == 0, Y[0, 0] == 0], item_of([[1]], [-1])),
    "an equation of nothing": (lambda X, Y: [X[0, 0] == 0], item_of([[1]], [-1, 1])),
}
"""Equations that matrices do not imply, with what a liar states."""


@pytest.mark.parametrize("name", FALSE_FACES)
def test_false_faces_are_rejected(name: str) -> None:
    make, item = FALSE_FACES[name]
    with pytest.raises(Rejected):
        implied_rows(problem_of(make), item)


def test_rows_of_faces_are_0_at_feasible_points() -> None:
    """With X_00 + Y_00 = 0 and positive definite weights, the first rows of both matrices are 0."""
    problem = problem_of(lambda X, Y: [X[0, 0] + 2 * Y[0, 0] == 0])
    faces = [ExposedFace(k, [[Fraction(3), Fraction(0)]], [[Fraction(k + 1)]]) for k in (0, 1)]
    rows = implied_rows(problem, ImpliedEquations("matrices", 0, [], None, [], faces, [Fraction(-9)]))
    assert len(rows) == 4 and not any(rows.offsets)
    entries = {k for row in rows.rows for k in row}
    first = {k for matrix in problem.matrices for place in (0, 1, 2) for k in matrix[1].rows[place]}
    assert entries == first  # X_00, X_01 and those of Y


def test_equations_of_earlier_items_count_and_those_of_later_items_do_not() -> None:
    problem = as_stated(two_steps())
    first = ImpliedEquations("matrix", 0, [Fraction(1), Fraction(0), Fraction(0)], ("equality", 0), [])
    earlier = [implied_rows(problem, first)]
    face = ExposedFace(0, [[Fraction(0), Fraction(1), Fraction(0)]], [[Fraction(1)]])
    # X_11 is the second equation minus twice X_02, the third row of the first item.
    equations = [Fraction(value) for value in (0, -1, 0, 0, 0, 2)]
    second = ImpliedEquations("matrices", 0, [], None, [], [face], equations)
    assert len(implied_rows(problem, second, earlier)) == 3
    for k in range(6):
        changed = [value + (i == k) for i, value in enumerate(equations)]
        with pytest.raises(Rejected, match="add up to 0"):
            implied_rows(problem, ImpliedEquations("matrices", 0, [], None, [], [face], changed), earlier)
    with pytest.raises(Rejected, match="must have 3 multiples"):
        implied_rows(problem, second)


@pytest.mark.thorough
def test_items_in_another_order_are_rejected() -> None:
    document = content_of("two steps")
    assert [item["constraint"] for item in document["proof"]["multipliers"]["implied"]] == ["matrix", "matrices"]
    document["proof"]["multipliers"]["implied"].reverse()
    assert not verify_problem_certificate(parse_json(json.dumps(document).encode()))


def forged(change: Callable[[dict[str, Any]], None], name: str = "two matrices") -> str:
    """Return why a file is rejected whose last item of exposing matrices is changed; "" if it is accepted."""
    document = content_of(name)
    change(faces_of(document)[-1])
    try:
        return verify_problem_certificate(parse_json(json.dumps(document).encode())).reason
    except Rejected as rejected:
        return str(rejected)


BAD_FIELDS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no faces": (lambda item: item.update(faces=[]), "there must be faces"),
    "a face twice": (lambda item: item["faces"].append(copy.deepcopy(item["faces"][0])), "one at most for each matrix"),
    "true for 1": (lambda item: item["faces"][0].update(place=True), "place"),
    "a place beyond": (lambda item: item["faces"][0].update(place=2), "place"),
    "a negative place": (lambda item: item["faces"][0].update(place=-1), "place"),
    "a place in a text": (lambda item: item["faces"][0].update(place="0"), "place"),
    "another key": (lambda item: item["faces"][0].update(limit=None), "a face"),
    "a limit": (lambda item: item.update(limit=None), "implied"),
    "no equations": (lambda item: item.pop("equations"), "implied"),
    "null": (lambda item: item.update(equations=None), "equations"),
    "no vectors": (lambda item: item["faces"][0].update(vectors=[], weights=[]), "1 to 2 vectors"),
    "too many vectors": (
        lambda item: item["faces"][0].update(vectors=[["1", "0"]] * 3, weights=[["1", "0", "0"]] * 3),
        "1 to 2 vectors",
    ),
    "a long vector": (lambda item: item["faces"][0]["vectors"][0].append("0"), "vectors must have 2 numbers"),
    "a number": (lambda item: item["faces"][0]["vectors"].__setitem__(0, [1, 0]), "vectors"),
    "a flag in a vector": (lambda item: item["faces"][0]["vectors"][0].__setitem__(0, True), "vectors"),
    "a fraction": (lambda item: item["faces"][0]["weights"][0].__setitem__(0, "1/2"), "weights"),
    "weights that are not square": (lambda item: item["faces"][0]["weights"][0].append("0"), "weights must have 1"),
    "more weights": (lambda item: item["faces"][0]["weights"].append(["1"]), "as many rows of weights"),
    "a huge number": (lambda item: item["equations"].__setitem__(0, "f" * 40_001), "digits"),
    "a long number": (lambda item: item["equations"].__setitem__(0, "f" * 40_000), "add up to 0"),
    "a short list of equations": (lambda item: item["equations"].pop(), "multiples of equations"),
    "a long list of equations": (lambda item: item["equations"].append("0"), "multiples of equations"),
    "a missing multiplier": (lambda item: item["multipliers"].pop(), "multipliers"),
    "another multiplier": (lambda item: item["multipliers"].append("0"), "multipliers"),
}
"""Changes of each field that the schema or the checker refuses, and a part of the reason."""


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_bad_fields_are_rejected_in_words(name: str) -> None:
    change, reason = BAD_FIELDS[name]
    assert reason in forged(change)


def test_exposing_matrices_that_combine_too_many_coefficients_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    document = content_of("two matrices")
    document["proof"]["multipliers"]["implied"] = faces_of(document)[:1]
    encoded = json.dumps(document).encode()
    monkeypatch.setattr(problem_schema, "MAX_IMPLIED", 38)
    assert "combine" not in verify_problem_certificate(parse_json(encoded)).reason
    monkeypatch.setattr(problem_schema, "MAX_IMPLIED", 37)
    assert "they combine 38" in verify_problem_certificate(parse_json(encoded)).reason


def change_face(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Scale, negate, move, swap or leave out vectors, weights, equations or multipliers of exposing matrices."""
    item = faces_of(document)[int(rng.integers(len(faces_of(document))))]
    face = item["faces"][rng.integers(len(item["faces"]))]
    factor = int(rng.choice([-1, 0, 2, -3, 2**40]))
    numbers = [*face["vectors"], *face["weights"], item["equations"], item["multipliers"]]
    part = numbers[rng.integers(len(numbers))]
    how = rng.integers(6)
    if how == 0:
        part[:] = [f"{factor * int(text, 16):x}" for text in part]
    elif how == 1:
        k = rng.integers(len(part))
        part[k] = f"{int(part[k], 16) + int(rng.choice([-1, 1, 2**30])):x}"
    elif how == 2:
        part.reverse()
    elif how == 3:
        face["place"] = int(rng.integers(-1, 3))
    elif how == 4:
        item["faces"].remove(face)
    else:
        face["vectors"].reverse()


def take_face(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Take faces, equations, or all implied equations of another problem, of those whose files were made."""
    names = [name for name in OPTIMA if name in MADE]
    neighbour = content_of(list(names)[rng.integers(len(names))])
    implied = document["proof"]["multipliers"]["implied"]
    how = rng.integers(3)
    if how == 0:
        document["proof"]["multipliers"]["implied"] = neighbour["proof"]["multipliers"]["implied"]
    elif how == 1:
        implied.append(copy.deepcopy(faces_of(neighbour)[0]))
    else:
        faces_of(document)[0]["faces"] = copy.deepcopy(faces_of(neighbour)[0]["faces"])


def forget(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Leave out an item that later ones may use, or change the order of the items."""
    implied = document["proof"]["multipliers"]["implied"]
    if rng.integers(2):
        implied.pop(rng.integers(len(implied)))
    else:
        rng.shuffle(implied)


KINDS = (change_face, take_face, forget, change_face, change_proof, claim_more, claim_other)
"""Functions that forge a proof or a claim."""


def forge(name: str, times: int, seed: int) -> int:
    """Forge so many files and return how many are rejected; AssertionError if a false claim is accepted."""
    rng, (_, optimum) = np.random.default_rng(seed), OPTIMA[name]
    statement, rejected = content_of(name)["problem"], 0
    for k in range(times):
        document = content_of(name)
        KINDS[k % len(KINDS)](document, rng)
        if rng.integers(2):  # a claim that is false by little
            document["claim"]["lower"] = optimum + 1e-7 * max(1.0, abs(optimum))
        document["problem"] = statement
        rejected += is_rejected(document, optimum, 1e-12)
    return rejected


def test_no_forgery_of_a_face_is_accepted_unless_true() -> None:
    assert forge("two matrices", 3 * len(KINDS), 0) >= len(KINDS)


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPTIMA)
def test_none_of_many_forgeries_of_faces_is_accepted_unless_true(name: str) -> None:
    assert all(text_of(further_name) for further_name in OPTIMA)
    assert forge(name, 700, 1) >= 350


def test_a_chain_of_many_exposing_matrices_is_rejected_in_few_words() -> None:
    """Each item may combine the equations of all items before, so their number doubles."""
    document = content_of("two matrices")
    items = [copy.deepcopy(faces_of(document)[0]) for _ in range(1_000)]
    for k, item in enumerate(items):
        item["faces"][0]["vectors"][0][0] = f"{k + 1:x}"
    document["proof"]["multipliers"]["implied"] = items
    reason = verify_problem_certificate(parse_json(json.dumps(document).encode())).reason
    assert "they combine" in reason and len(reason) < 200


def test_weights_of_a_face_with_many_digits_are_proved_definite_without_an_elimination_in_fractions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rationals_and_balls, "MAX_EXACT_WORK", 0)
    document = content_of("two matrices")
    assert verify_problem_certificate(parse_json(json.dumps(document).encode())).accepted
