"""Certificate files of conic and quadratic programs: accepted as saved, rejected when forged."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import conic_forgeries
import numpy as np
import pytest
from conic_programs.small_programs import INF, linear_program
from conic_programs.test_quadratic_optimum import BY_HAND as QUADRATIC
from package_rooms import ROOT
from support.kernel_imports import check_imports

from boostopt import ConicProgram, certify_problem, exact_optimum, load_problem, save_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.errors import ProblemError
from boostopt.verification import subject, verify
from boostopt.verification.conic_files.conic_verdict import verify_conic_certificate
from boostopt.verification.conic_kernel import conic_schema, exact_semidefiniteness_proofs
from boostopt.verification.conic_kernel.conic_schema import Cone
from boostopt.verification.conic_kernel.exact_cone_membership import is_in_cone
from boostopt.verification.conic_kernel.exact_semidefiniteness_proofs import is_semidefinite_form
from boostopt.verification.linear_kernel import linear_schema
from boostopt.verification.problem_kernel.rationals_and_balls import working_precision
from boostopt.verification.trusted_kernel.json_parsing import SizeLimit

KERNEL = ROOT / "verification" / "conic_kernel"

BOX = ([-8.0, -8.0], [8.0, 8.0])

FREE = ([-INF, -INF], [INF, INF])


def cone(kind: Any, A: Any, b: Any, exponent: float = 0.5) -> ConeConstraint:
    return ConeConstraint(kind, np.array(A, dtype=float), np.array(b, dtype=float), exponent)


MATRIX = cone("semidefinite", [[1, 0], [0, 0], [0, 0], [0, 1]], [0, 1, 1, 0])
"""[[x, 1], [1, y]], semidefinite where x y >= 1."""

CONIC: dict[str, tuple[ConicProgram, float]] = {
    # min x + y over the unit disk.
    "a disk": (
        linear_program(
            [], [1.0, 1.0], ([], []), FREE, cones=(cone("second_order", [[0, 0], [1, 0], [0, 1]], [1, 0, 0]),)
        ),
        -math.sqrt(2),
    ),
    "a disk, maximized": (
        linear_program(
            [],
            [-1.0, -1.0],
            ([], []),
            FREE,
            cones=(cone("second_order", [[0, 0], [1, 0], [0, 1]], [1, 0, 0]),),
            is_maximized=True,
            offset=-3.0,
        ),
        math.sqrt(2) + 3,
    ),
    "a matrix": (linear_program([], [1.0, 4.0], ([], []), FREE, cones=(MATRIX,)), 4.0),
    "a matrix and an equation": (
        linear_program([[1.0, -1.0]], [1.0, 4.0], ([0.0], [0.0]), FREE, cones=(MATRIX,)),
        5.0,
    ),
    # min y over exp(x) <= y, x >= 0.3.
    "an exponential": (
        linear_program(
            [],
            [0.0, 1.0],
            ([], []),
            ([0.3, -INF], [INF, INF]),
            cones=(cone("exponential", [[1, 0], [0, 0], [0, 1]], [0, 1, 0]),),
        ),
        math.exp(0.3),
    ),
    # max z = -min -z over x^(1/4) 16^(3/4) >= z, x <= 81.
    "a power": (
        linear_program(
            [],
            [0.0, -1.0],
            ([], []),
            ([0.0, 0.0], [81.0, INF]),
            cones=(cone("power", [[1, 0], [0, 0], [0, 1]], [0, 16, 0], 0.25),),
        ),
        -24.0,
    ),
    # min (x^2 + y^2) / 2 - x over the disk of radius 1/2: 1/8 - 1/2.
    "a quadratic objective in a disk": (
        linear_program(
            [],
            [-1.0, 0.0],
            ([], []),
            FREE,
            P=np.eye(2),
            cones=(cone("second_order", [[0, 0], [1, 0], [0, 1]], [0.5, 0, 0]),),
        ),
        -0.375,
    ),
}


@pytest.mark.parametrize("name", QUADRATIC)
def test_exact_optima_of_quadratic_programs_are_proved_in_fractions(name: str, tmp_path: Path) -> None:
    program, status, value = QUADRATIC[name]
    path = tmp_path / "certificate.json"
    exact_optimum(program).save(path)
    verification = verify(path)
    assert (verification.accepted, verification.verdict, verification.fractions) == (True, "proved", (value, value))
    assert verification.outcome == ("solved" if status == "optimal" else status)
    assert subject(path) == "problem"
    assert verify(path, program) and verify(path, replace(program, column_names=[f"x{k}" for k in program.c]))
    assert not verify(path, replace(program, offset=program.offset + 1))
    assert not verify(path, replace(program, P=2 * program.P))
    assert not verify(path, replace(program, is_maximized=not program.is_maximized))


def test_decimal_numbers_of_a_quadratic_program_are_those_of_the_text(tmp_path: Path) -> None:
    program = linear_program([[0.1]], [0.0], ([0.3], [INF]), ([-INF], [INF]), P=np.array([[0.2]]))
    exact_optimum(program, numbers="decimal").save(tmp_path / "file.json")
    assert verify(tmp_path / "file.json").fractions[0] == Fraction(9, 10)
    document = json.loads((tmp_path / "file.json").read_text())
    document["program"]["numbers"] = "binary"
    (tmp_path / "file.json").write_text(json.dumps(document))
    assert not verify(tmp_path / "file.json")


@pytest.mark.parametrize("name", CONIC)
def test_certificates_of_programs_with_cones_are_proved(name: str, tmp_path: Path) -> None:
    program, value = CONIC[name]
    path = tmp_path / "certificate.json"
    certificate = certify_problem(program)
    certificate.save(path, {"by": "hand"})
    verification = verify(path)
    assert verification.accepted, verification.reason
    assert verification.lower <= value + 1e-14 and value - 1e-14 <= verification.upper
    assert verification.upper - verification.lower <= 1e-7 >= abs(certificate.gap)
    assert subject(path) == "problem"
    assert verify(path, program)
    assert not verify(path, replace(program, cones=()))
    assert not verify(path, replace(program, cones=tuple(replace(item, b=2 * item.b) for item in program.cones)))


@pytest.mark.parametrize("name", CONIC)
def test_bounds_that_move_inward_by_one_unit_are_rejected(name: str, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    certify_problem(CONIC[name][0]).save(path)
    document = json.loads(path.read_text())
    for end, direction in (("lower", INF), ("upper", -INF)):
        value = float(conic_forgeries.fraction_of(document["claim"][end]))
        changed_bound = Fraction(math.nextafter(value, direction))
        changed = {**document, "claim": {**document["claim"], end: conic_forgeries.text_of(changed_bound)}}
        assert re.search(
            rf"claims .* at {'least' if end == 'lower' else 'most'}", verify_conic_certificate(changed).reason
        )


def test_a_program_of_a_file_and_its_certificate_travel(tmp_path: Path) -> None:
    program, data = CONIC["a disk"][0], tmp_path / "data" / "program.json"
    data.parent.mkdir()
    save_problem(program, tmp_path / "disk.cbf")
    save_problem(replace(program, c=program.c + 1), tmp_path / "other.cbf")
    for name in ("first.json", "second.json"):
        certify_problem(load_problem(tmp_path / "disk.cbf")).save(tmp_path / name, data=data)
        assert verify(tmp_path / name) and verify(tmp_path / name, data)
        assert verify(tmp_path / name, tmp_path / "disk.cbf")
        assert not verify(tmp_path / name, tmp_path / "other.cbf")
    data.write_bytes(data.read_bytes().replace(b"second_order", b"power"))
    assert "digest" in verify(tmp_path / "first.json").reason
    with pytest.raises(ProblemError, match="conic program"):
        verify(tmp_path / "first.json", np.eye(2))


def test_programs_without_an_optimum_travel(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    program = CONIC["a disk"][0]
    empty = replace(program, A=np.array([[1.0, 1.0]]), row_lower=np.array([1.5]), row_upper=np.array([INF]))
    certify_problem(empty).save(path)
    assert verify(path).outcome == "infeasible" and verify(path).lower == INF
    cheap = linear_program([], [-1.0, 0.0], ([], []), FREE, cones=(cone("second_order", [[2, 0], [0, 1]], [0, 0]),))
    certificate = certify_problem(cheap)
    assert certificate.status == "unbounded"
    certificate.save(path)
    assert verify(path).outcome == "unbounded" and verify(path).lower == -INF


def test_linear_and_quadratic_programs_of_certificates_travel(tmp_path: Path) -> None:
    """A small wide interval comes with an exact optimum; the file states it as a fraction."""
    path = tmp_path / "file.json"
    third = linear_program([[3.0]], [1.0], ([1.0], [1.0]), ([-INF], [INF]), is_maximized=True)
    certificate = certify_problem(third)
    certificate.save(path)
    assert verify(path, third).fractions == (Fraction(-1, 3), Fraction(-1, 3))
    assert certificate.lower <= Fraction(-1, 3) <= certificate.upper
    for program, status in (
        (linear_program([[1.0]], [-1.0], ([0.0], [INF])), "unbounded"),
        (linear_program([[1.0]], [1.0], ([2.0], [INF]), ([0.0], [1.0])), "infeasible"),
        (linear_program([], [1.0], ([], []), ([1.0], [0.0])), "infeasible"),
    ):
        certify_problem(program).save(path)
        assert verify(path, program).outcome == status


def test_a_form_that_is_hardly_not_convex_has_shifts(tmp_path: Path) -> None:
    P = np.array([[1.0, 0.0], [0.0, -1e-3]])
    program = linear_program([[1.0, 1.0]], [0.0, 0.0], ([1.0], [1.0]), ([-1.0, -1.0], [3.0, 3.0]), P=P)
    certificate = certify_problem(program)
    certificate.save(tmp_path / "file.json")
    verification = verify(tmp_path / "file.json", program)
    assert verification and verification.lower >= certificate.lower - 1e-6
    document = json.loads((tmp_path / "file.json").read_text())
    assert any(entry != "0" for entry in document["proof"]["shifts"])
    for shifts in (None, ["0", "0"], ["0", "-1/800"], ["0", "1/1000"]):
        changed = {**document, "proof": {**document["proof"], "shifts": shifts}}
        assert not verify_conic_certificate(changed)


def test_one_bound_travels_without_the_other(tmp_path: Path) -> None:
    certificate = certify_problem(CONIC["a disk"][0])
    assert certificate.program_proof is not None
    for part, end in (("x", "upper"), ("multipliers", "lower")):
        proof = replace(certificate.program_proof, **{part: None})
        infinite = {end: INF if end == "upper" else -INF}
        replace(certificate, program_proof=proof, status="open", **infinite).save(tmp_path / "file.json")
        verification = verify(tmp_path / "file.json")
        assert verification and math.isinf(getattr(verification, end)) and "no more" in verification.reason


def test_certificates_that_prove_nothing_or_much_less_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    certificate = certify_problem(CONIC["a disk"][0])
    with pytest.raises(ProblemError, match="no bound"):
        replace(certificate, lower=-INF, upper=INF).save(path)
    assert certificate.program_proof is not None and certificate.program_proof.x is not None
    for x, words in ((np.zeros(2), "much less"), (np.array([9.0, 9.0]), "cone 0")):
        with pytest.raises(ProblemError, match=words):
            replace(certificate, program_proof=replace(certificate.program_proof, x=x)).save(path)
    with pytest.raises(ProblemError, match="printable"):
        certify_problem(replace(CONIC["a disk"][0], name="a\nb")).save(path)
    assert not path.exists()


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(6))
def test_no_forgery_is_accepted_unless_its_claim_is_true(seed: int) -> None:
    counts = conic_forgeries.forge(22, 100 + seed)
    assert sum(sum(kind.values()) for kind in counts.values()) == 22


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_none_of_thousands_of_forgeries_is_accepted_unless_its_claim_is_true(part: int) -> None:
    total = sum(conic_forgeries.forge(660, 200 + part).values(), Counter[str]())
    assert total["rejected"] > 300 and total["true"] > 100


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "a point outside a bound": ({"x": ["-9", "0"]}, "variable 0"),
    "a point outside the equation": ({"x": ["2", "1"]}, "row 0"),
    "a point outside the matrix": ({"x": ["1/2", "1/2"]}, "cone 0"),
    "a multiplier outside the dual cone": ({"z": [["1", "-2", "1"]]}, "dual cone"),
    "a slope without a bound": ({"z": [["0", "0", "0"]], "y": ["-2"]}, "upper bound of variable 1"),
    "no tangent": ({"w": None}, "must have w"),
    "multipliers of other sizes": ({"z": [["1"]]}, "multiplier for each row"),
    "too few multipliers": ({"z": []}, "multiplier for each row"),
    "multipliers without y": ({"y": None}, "null where y is"),
    "infeasible": ({"status": "infeasible", "lower": None, "upper": None, "w": None}, "no point is feasible|infinite"),
    "infeasible with a tangent": ({"status": "infeasible", "lower": None, "upper": None}, "must have w"),
    "unbounded": ({"status": "unbounded", "lower": None, "upper": None, "ray": ["1", "1"]}, "fall|P must be 0"),
    "unbounded without a ray": ({"status": "unbounded", "lower": None, "upper": None}, "ray"),
    "a status without bounds": ({"lower": None}, "both bounds"),
    "bounds without a status": ({"status": "unbounded"}, "both bounds"),
    "a status that does not exist": ({"status": "optimal"}, "status"),
    "a bound beyond all floats": ({"upper": "1" + "0" * 300}, "floats"),
}


@pytest.fixture(scope="module")
def curved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the text of a certificate: min x^2 / 2 + y over x y >= 1 (a matrix), x = y, x >= -8."""
    P = np.array([[1.0, 0.0], [0.0, 0.0]])
    program = linear_program(
        [[1.0, -1.0]], [0.0, 1.0], ([0.0], [0.0]), ([-8.0, -8.0], [INF, INF]), P=P, cones=(MATRIX,)
    )
    path = tmp_path_factory.mktemp("curved") / "certificate.json"
    certify_problem(program).save(path)
    return path.read_text()


@pytest.mark.parametrize("name", LIES)
def test_each_condition_is_checked(name: str, curved: str) -> None:
    changes, words = LIES[name]
    document = json.loads(curved)
    verification = verify_conic_certificate(document)
    assert verification and verification.lower <= 1.5 <= verification.upper
    for key, value in changes.items():
        document["claim" if key in document["claim"] else "proof"][key] = value
    verification = verify_conic_certificate(document)
    assert not verification and re.search(words, verification.reason), verification.reason


def assign(*place: Any) -> Callable[[dict[str, Any]], None]:
    """Return the change that gives the entry at a place another value, the last of the arguments."""
    *path, name, value = place

    def change(document: dict[str, Any]) -> None:
        for key in path:
            document = document[key]
        document[name] = value

    return change


FORMS: dict[str, Callable[[dict[str, Any]], None]] = {
    "an entry of P below the diagonal": assign("program", "P", {"rows": [1], "columns": [0], "values": [1.0]}),
    "an entry of P twice": assign("program", "P", {"rows": [0, 0], "columns": [0, 0], "values": [1.0, 1.0]}),
    "an entry of P elsewhere": assign("program", "P", {"rows": [0], "columns": [2], "values": [1.0]}),
    "P of another form": assign("program", "P", {"rows": [0], "columns": [0]}),
    "a cone of another kind": assign("program", "cones", 0, "kind", "nonnegative"),
    "a matrix of 4 rows": assign("program", "cones", 0, "b", [0.0, 1.0, 0.0, 1.0]),
    "a row that does not exist": assign("program", "cones", 0, "rows", [0, 3]),
    "an exponent of 1": assign("program", "cones", 0, "exponent", 1.0),
    "a nameless cone": assign("program", "cones", 0, "name", None),
    "no cones": assign("program", "cones", None),
    "another kind": assign("kind", "boostopt linear program certificate"),
    "another format": assign("format", 2),
    "another name": assign("proof", "value", "1"),
    "a list for a proof": assign("proof", []),
    "shifts of another size": assign("proof", "shifts", ["1"]),
    "a program elsewhere": assign("program", {"file": "../program.json", "sha256": ""}),
}


@pytest.mark.parametrize("name", FORMS)
def test_files_of_another_form_are_rejected(name: str, curved: str) -> None:
    document = json.loads(curved)
    FORMS[name](document)
    assert not verify_conic_certificate(document, folder=Path())


def test_numbers_that_cost_too_much_are_rejected(curved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[tuple[Any, str, int, str]] = [
        (linear_schema, "MAX_WORK", 10, "too long"),
        (conic_schema, "MAX_CUBES", 7, "third powers"),
        (conic_schema, "MAX_SIZE", 2, "rows"),
    ]
    for schema, name, limit, words in limits:
        monkeypatch.setattr(schema, name, limit)
        assert words in verify_conic_certificate(json.loads(curved)).reason
        monkeypatch.undo()


A_HALF, A_QUARTER = Fraction(1, 2), Fraction(1, 4)

MEMBERS: list[tuple[str, list[Any], bool, bool]] = [
    ("second_order", [5, 3, 4], True, True),
    ("second_order", [5, 3, Fraction(4000001, 1000000)], False, False),
    ("second_order", [-5, 3, 4], False, False),
    ("second_order", [0, 0, 0], True, True),
    ("semidefinite", [1, 1, 1], True, True),
    ("semidefinite", [1, Fraction(1 + 2**80, 2**80), 1], False, False),
    ("semidefinite", [0, 0, 1], True, True),
    ("semidefinite", [0, 1, 1], False, False),
    ("exponential", [0, 1, 1], True, True),
    ("exponential", [-1, 0, 0], True, False),
    ("exponential", [1, 1, Fraction(27182818284, 10**10)], False, False),
    ("exponential", [1, 1, Fraction(27182818285, 10**10)], True, False),
    ("exponential", [-1, -1, 1], False, True),
    ("exponential", [-1, -1, Fraction(99, 100)], False, False),
    ("exponential", [0, 0, -1], False, False),
    ("power", [1, 1, 1], True, True),
    ("power", [1, 1, Fraction(175, 100)], False, True),  # the dual: 4^(1/4) (4/3)^(3/4) = 1.7547...
    ("power", [1, 1, Fraction(176, 100)], False, False),
    ("power", [0, 1, 0], True, True),
    ("power", [0, 1, Fraction(1, 10**9)], False, False),
    ("power", [-1, 1, 0], False, False),
]


@pytest.mark.parametrize(("kind", "point", "is_member", "is_dual_member"), MEMBERS)
def test_points_of_cones_and_of_their_duals(kind: str, point: list[Any], is_member: bool, is_dual_member: bool) -> None:
    item = Cone(kind, A_QUARTER if kind == "power" else A_HALF, [{}] * 3, [Fraction(0)] * 3)
    values = list(map(Fraction, point))
    with working_precision():
        assert is_in_cone(item, values) == is_member
        assert is_in_cone(item, values, is_dual=True) == is_dual_member
        assert is_in_cone(item, [value / 3 for value in values]) == is_member


def rows_of(matrix: Any) -> list[dict[int, Fraction]]:
    return [{j: Fraction(float(value)) for j, value in enumerate(row) if value} for row in matrix]


def test_forms_are_semidefinite_by_their_diagonal_or_by_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    B = rng.integers(-3, 4, (3, 6)).astype(float)
    singular = B.T @ B
    with working_precision():
        assert is_semidefinite_form(rows_of(singular))
        assert not is_semidefinite_form(rows_of(singular - 2.0**-40 * np.eye(6)))
        assert is_semidefinite_form(rows_of(singular - 2.0**-40 * np.eye(6)), [Fraction(1, 2**40)] * 6)
        assert is_semidefinite_form(rows_of([[2, -1], [-1, 1]])) and not is_semidefinite_form(rows_of([[0, 1], [1, 0]]))
        chain = np.diag(np.full(300, 1.7)) - 0.9 * (np.eye(300, k=1) + np.eye(300, k=-1))
        assert not is_semidefinite_form(rows_of(chain))
        assert is_semidefinite_form(rows_of(chain), [Fraction(1, 10)] * 300)
        monkeypatch.setattr(exact_semidefiniteness_proofs, "MAX_PRODUCTS", 10)
        with pytest.raises(SizeLimit, match="products"):
            is_semidefinite_form(rows_of(singular))


def test_the_checker_imports_no_solver_and_nothing_that_makes_certificates() -> None:
    permitted_modules = {
        *(f"boostopt.verification.linear_kernel.{name}" for name in ("linear_checker", "linear_schema")),
        *(f"boostopt.verification.problem_kernel.{name}" for name in ("problem_checker", "problem_schema")),
        "boostopt.verification.problem_kernel.rationals_and_balls",
        "boostopt.verification.trusted_kernel.json_parsing",
    }
    check_imports(
        KERNEL,
        {"conic_checker", "conic_schema", "exact_cone_membership", "exact_semidefiniteness_proofs"},
        permitted_modules,
    )


@pytest.mark.thorough
def test_the_checker_loads_no_solver() -> None:
    code = "import sys; from boostopt.verification.conic_kernel import conic_checker; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert not {"scipy", "highspy", "cvxpy", "clarabel"} & loaded
    assert "boostopt.problem_certificates" not in run.stdout.split()
