"""Certificate files of exact optima of linear programs: accepted as saved, rejected when forged."""

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

import linear_forgeries
import numpy as np
import pytest
from conic_programs.small_programs import linear_program
from conic_programs.test_exact_optimum import BY_HAND
from package_rooms import ROOT
from support.kernel_imports import check_imports

from boostopt import ExactOptimum, exact_optimum, load_problem
from boostopt.conic_programs.conic_program import ConeConstraint
from boostopt.errors import ProblemError
from boostopt.verification import subject, verify
from boostopt.verification.linear_files import linear_writer
from boostopt.verification.linear_files.linear_verdict import verify_linear_certificate
from boostopt.verification.linear_kernel import linear_schema
from boostopt.verification.verification_result import Verification

KERNEL = ROOT / "verification" / "linear_kernel"

MPS = "NAME diet\nROWS\n N cost\n G energy\nCOLUMNS\n bread cost 2 energy 0.3\nRHS\n rhs energy 1\nENDATA\n"


def saved(name: str, folder: Path, **options: Any) -> Path:
    path = folder / "certificate.json"
    exact_optimum(BY_HAND[name][0]).save(path, **options)
    return path


@pytest.mark.parametrize("name", BY_HAND)
def test_saved_optima_are_proved_in_fractions(name: str, tmp_path: Path) -> None:
    program, status, value = BY_HAND[name]
    path = saved(name, tmp_path)
    verification = verify(path)
    assert (verification.accepted, verification.verdict, verification.fractions) == (True, "proved", (value, value))
    assert verification.outcome == ("solved" if status == "optimal" else status)
    if value is None:
        assert verification.lower == verification.upper == (math.inf if status == "infeasible" else -math.inf)
    else:
        assert verification.lower <= value <= verification.upper <= math.nextafter(verification.lower, math.inf)
    assert subject(path) == "problem"
    assert verify(path, program) and verify(path, replace(program, column_names=[f"x{k}" for k in program.c]))
    assert not verify(path, replace(program, offset=program.offset + 1))
    assert not verify(path, replace(program, is_maximized=not program.is_maximized))


def test_the_maximum_of_a_program_without_optimum_is_an_infinity_of_its_sense(tmp_path: Path) -> None:
    for name, maximum in (("a ray", math.inf), ("infeasible by 1e-15", -math.inf)):
        exact_optimum(replace(BY_HAND[name][0], is_maximized=True)).save(tmp_path / "file.json")
        assert verify(tmp_path / "file.json").lower == verify(tmp_path / "file.json").upper == maximum


def test_decimal_numbers_are_those_of_the_text(tmp_path: Path) -> None:
    program = linear_program([[1.0, 2.0], [3.0, 6.0]], [1.0, 1.0], ([0.1, 0.3], [0.1, 0.3]))
    exact_optimum(program, numbers="decimal").save(tmp_path / "file.json")
    assert verify(tmp_path / "file.json").fractions[0] == Fraction(1, 20)
    document = json.loads((tmp_path / "file.json").read_text())
    document["program"]["numbers"] = "binary"
    (tmp_path / "file.json").write_text(json.dumps(document))
    assert not verify(tmp_path / "file.json")


@pytest.mark.parametrize("numbers", ["binary", "decimal"])
def test_a_program_and_its_certificates_travel(numbers: Any, tmp_path: Path) -> None:
    (tmp_path / "diet.mps").write_text(MPS)
    (tmp_path / "other.mps").write_text(MPS.replace("0.3", "0.4"))
    program, data = load_problem(tmp_path / "diet.mps"), tmp_path / "data" / "program.json"
    data.parent.mkdir()
    for path in (tmp_path / "first.json", tmp_path / "second.json"):
        exact_optimum(program, numbers).save(path, data=data)
        assert verify(path) and verify(path, data) and verify(path, tmp_path / "diet.mps")
        assert verify(path, replace(program, numbers=numbers))
        assert not verify(path, tmp_path / "other.mps")
    place = json.loads((tmp_path / "first.json").read_text())["program"]
    assert place["file"] == "data/program.json" and len(place["sha256"]) == 64
    exact_optimum(program, numbers).save(tmp_path / "whole.json")
    assert verify(tmp_path / "whole.json", str(tmp_path / "diet.mps"))
    assert not verify(tmp_path / "whole.json", tmp_path / "other.mps")
    assert not verify(tmp_path / "whole.json", data)  # it holds its program
    data.write_bytes(data.read_bytes().replace(b"0.3", b"0.4"))
    assert not verify(tmp_path / "first.json")
    assert verify(tmp_path / "first.json", tmp_path / "diet.mps")
    with pytest.raises(ProblemError, match="other content"):
        exact_optimum(program, numbers).save(tmp_path / "third.json", data=data)
    with pytest.raises(ProblemError, match="beside"):
        exact_optimum(program, numbers).save(tmp_path / "third.json", data=tmp_path.parent / "program.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "third.json")
    with pytest.raises(ProblemError, match="beside"):
        exact_optimum(program, numbers).save(tmp_path / "third.json", data=tmp_path / "link.json")
    assert not (tmp_path / "third.json").exists()


def test_data_that_are_no_linear_program_are_refused(tmp_path: Path) -> None:
    path = saved("a range", tmp_path)
    quadratic = linear_program([[1.0]], [1.0], ([0.0], [1.0]), P=np.array([[2.0]]))
    for data in (np.eye(2), quadratic):
        with pytest.raises(ProblemError, match="linear program"):
            verify(path, data)


def test_a_false_optimum_is_not_saved(tmp_path: Path) -> None:
    optimum = exact_optimum(BY_HAND["a range"][0])
    assert optimum.value is not None
    with pytest.raises(ProblemError, match="proves nothing"):
        replace(optimum, value=optimum.value - 1).save(tmp_path / "false.json")
    assert not (tmp_path / "false.json").exists()


def test_files_that_are_too_large_and_texts_that_are_not_printable_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimum = exact_optimum(BY_HAND["a range"][0])
    path = tmp_path / "file.json"
    with pytest.raises(ProblemError, match="printable"):
        replace(optimum, program=replace(optimum.program, name="a\nb")).save(path)
    monkeypatch.setattr(linear_writer, "MAX_TEXT_BYTES", 400)
    with pytest.raises(ProblemError, match="400 bytes"):
        optimum.save(path)
    assert not path.exists()


def test_optima_of_programs_with_cones_are_not_written(tmp_path: Path) -> None:
    cone = ConeConstraint("second_order", np.array([[1.0]]), np.array([0.0]))
    program, zeros = linear_program([[1.0]], [1.0], ([0.0], [1.0]), cones=(cone,)), (Fraction(0),)
    with pytest.raises(ProblemError, match="certify_problem"):
        ExactOptimum(program, "optimal", Fraction(0), zeros, zeros).save(tmp_path / "file.json")


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(6))
def test_no_forgery_is_accepted_unless_its_claim_is_true(seed: int) -> None:
    counts = linear_forgeries.forge(40, 100 + seed)
    assert sum(sum(kind.values()) for kind in counts.values()) == 40


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_none_of_thousands_of_forgeries_is_accepted_unless_its_claim_is_true(part: int) -> None:
    total = sum(linear_forgeries.forge(2000, 200 + part).values(), Counter[str]())
    assert total["rejected"] > 800 and total["true"] > 200


# max x + y over x + y <= 2 (the row), 0 <= x <= 1, 0 <= y <= 2: the optimum is 2, with the multiplier -1 of min -x - y.
CORNER = linear_program([[1.0, 1.0]], [-1.0, -1.0], ([-np.inf], [2.0]), ([0.0, 0.0], [1.0, 2.0]), is_maximized=True)

LIES: dict[str, tuple[dict[str, Any], str]] = {
    "a point outside a bound of a variable": ({"x": ["2", "0"]}, "variable 0"),
    "a point outside a row": ({"x": ["1", "2"], "y": ["0"], "value": "3"}, "row 0"),
    "a point that is not optimal": ({"x": ["1", "1/2"], "value": "3/2"}, "equal"),
    "a bound that is not attained": ({"y": ["0"]}, "equal"),
    "a multiplier without a bound": ({"y": ["1"]}, "lower bound of row 0"),
    "another value": ({"value": "3/2"}, "another optimum"),
    "no point": ({"x": None}, "point"),
    "no multipliers": ({"y": None}, "multipliers"),
    "no multipliers of infeasibility": ({"status": "infeasible", "value": None, "y": None}, "multipliers"),
    "infeasible": ({"status": "infeasible", "value": None}, "no point is feasible"),
    "infeasible without multipliers": ({"status": "infeasible", "value": None, "y": ["0"]}, "no point is feasible"),
    "unbounded": ({"status": "unbounded", "value": None, "ray": ["1", "0"]}, "ray .*variable 0"),
    "unbounded without a ray": ({"status": "unbounded", "value": None}, "ray"),
    "unbounded without a fall": ({"status": "unbounded", "value": None, "ray": ["0", "0"]}, "fall"),
    "a status without a value": ({"value": None}, "value"),
    "a value without an optimum": ({"status": "infeasible"}, "value"),
    "a status that does not exist": ({"status": "solved"}, "status"),
    "a point of another size": ({"x": ["1"]}, "x must have 2"),
    "a point of a larger size": ({"x": ["1", "1", "0"]}, "x must have 2"),
    "a denominator 0": ({"x": ["1/0", "2"]}, "positive"),
    "a negative denominator": ({"x": ["-1/-1", "2"]}, "positive"),
    "decimal points": ({"x": ["1.0", "2"]}, "hexadecimal"),
    "a number in place of a text": ({"x": [1, "2"]}, "hexadecimal"),
}


@pytest.fixture(scope="module")
def corner(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the text of the certificate of `CORNER`."""
    path = tmp_path_factory.mktemp("corner") / "certificate.json"
    exact_optimum(CORNER).save(path)
    return path.read_text()


@pytest.mark.parametrize("name", LIES)
def test_each_condition_is_checked(name: str, corner: str) -> None:
    changes, words = LIES[name]
    document = json.loads(corner)
    assert verify_linear_certificate(document).fractions[0] == 2
    for key, value in changes.items():
        document["claim" if key in document["claim"] else "proof"][key] = value
    verification = verify_linear_certificate(document)
    assert not verification and re.search(words, verification.reason), verification.reason


# min (or max) x over x >= 1 and x <= 2 (or without this bound): a file of a point, and of a ray.
POINTS = {"1": True, "3/4": False, "2": True, "9/4": False, "-1": False}

RAYS = {
    ("minimize", "inf", "-1"): False,  # it leaves x >= 1
    ("minimize", "inf", "1"): False,  # the objective rises
    ("maximize", "inf", "1"): True,
    ("maximize", "inf", "1/3"): True,
    ("maximize", "inf", "-1"): False,
    ("maximize", 2.0, "1"): False,
}


def single(sense: str, upper: Any, proof: dict[str, Any], claim: dict[str, Any], corner: str) -> Verification:
    """Return the verdict on a proof about one variable, which is at least 1."""
    document = json.loads(corner)
    document["program"] |= {"sense": sense, "c": [1.0], "lower": [1.0], "upper": [upper]}
    document["program"] |= {"rows": [], "columns": [], "values": [], "row_lower": [], "row_upper": []}
    document |= {"proof": {"x": None, "y": [], "ray": None, **proof}, "claim": {"value": None, **claim}}
    return verify_linear_certificate(document)


@pytest.mark.parametrize("x", POINTS)
def test_points_are_compared_with_bounds_as_fractions(x: str, corner: str) -> None:
    """A wrong point is refused for itself; a right one only where it is not optimal."""
    verification = single("minimize", 2.0, {"x": [x]}, {"status": "optimal", "value": x}, corner)
    assert verification.accepted == (x == "1")
    assert ("variable 0" in verification.reason) == (not POINTS[x])


@pytest.mark.parametrize(("sense", "upper", "ray"), RAYS)
def test_rays_stay_within_bounds_and_improve_the_objective(sense: str, upper: Any, ray: str, corner: str) -> None:
    verification = single(sense, upper, {"x": ["3/2"], "ray": [ray]}, {"status": "unbounded"}, corner)
    assert verification.accepted == RAYS[sense, upper, ray]


def append(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return the change that appends a value to a list of the program."""
    return lambda document: document["program"][name].append(value)


def assign(part: str, name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return the change that gives an entry another value."""

    def change(document: dict[str, Any]) -> None:
        (document if not part else document[part])[name] = value

    return change


def state_again(document: dict[str, Any]) -> None:
    """State the first entry of the matrix twice."""
    for name in ("rows", "columns", "values"):
        document["program"][name].append(document["program"][name][0])


FORMS: dict[str, Callable[[dict[str, Any]], None]] = {
    "an entry twice": state_again,
    "places of another number": assign("program", "rows", [0, 0, 0]),
    "a row that does not exist": assign("program", "rows", [0, 1]),
    "a row that is no number": assign("program", "rows", [0, True]),
    "a cost too many": append("c", 1.0),
    "a bound too many": append("row_lower", 1.0),
    "a value too many": append("values", 1.0),
    "names of some variables": append("column_names", "x"),
    "an infinite cost": assign("program", "c", ["inf", 1.0]),
    "an infinite lower bound": assign("program", "lower", ["inf", 0.0]),
    "numbers of another kind": assign("program", "numbers", "octal"),
    "another sense": assign("program", "sense", "both"),
    "another part": assign("program", "cones", []),
    "another kind": assign("", "kind", "boostopt problem certificate"),
    "another format": assign("", "format", 2),
    "a format that is no number": assign("", "format", True),
    "no program": assign("", "program", None),
    "a list for a proof": assign("", "proof", []),
    "a program elsewhere": assign("", "program", {"file": "../program.json", "sha256": ""}),
}


@pytest.mark.parametrize("name", FORMS)
def test_files_of_another_form_are_rejected(name: str, corner: str) -> None:
    document = json.loads(corner)
    FORMS[name](document)
    assert not verify_linear_certificate(document, folder=Path())


def test_numbers_that_cost_too_much_are_rejected(corner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(corner)
    document["proof"]["x"][0] = "1" * (linear_schema.MAX_DIGITS + 1)
    assert "hexadecimal" in verify_linear_certificate(document).reason
    document["proof"]["x"] = ["1/" + "1" * 10, "1/" + "1" * 11]
    for name, limit in (("MAX_BITS", 60), ("MAX_VECTOR_BITS", 120)):
        monkeypatch.setattr(linear_schema, name, limit)
        assert "at most 60 bits" in verify_linear_certificate(document).reason
        monkeypatch.undo()
    monkeypatch.setattr(linear_schema, "MAX_WORK", 10)
    assert "too long" in verify_linear_certificate(json.loads(corner)).reason
    monkeypatch.undo()
    document = json.loads(corner)
    document["program"] |= {"numbers": "decimal", "offset": linear_schema.DecimalFloat("1e-9999")}
    document["program"]["offset"].text = "1e-9999"
    assert "5e-324" in verify_linear_certificate(document).reason


def test_the_checker_imports_fractions_and_the_parser_alone() -> None:
    names = {"linear_checker", "linear_schema"}
    check_imports(KERNEL, names, {"boostopt.verification.trusted_kernel.json_parsing"})


@pytest.mark.thorough
def test_the_checker_loads_no_other_package() -> None:
    code = "import sys; from boostopt.verification.linear_kernel import linear_checker; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert not {"numpy", "scipy", "flint", "highspy", "cvxpy", "clarabel"} & loaded
