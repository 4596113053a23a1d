"""Forgeries that were tried and do not succeed, and awkward true certificates that must not be refused."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import re
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import typechecker
from sklearn.tree import DecisionTreeClassifier
from support.certificate_files import document, judged

from boostopt import boost, get_formulation
from boostopt.authoring import (
    EDGE,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    Examples,
    FixedEdges,
    Formulation,
    MaximumEdge,
    NormBall,
    parameter,
)
from boostopt.errors import ProblemError
from boostopt.oracles import DecisionStumps, Estimators, GivenMargins, KernelColumns, RawFeatures, Stump
from boostopt.oracles.base import Query
from boostopt.oracles.raw_feature_oracle import Feature
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.verification import class_statements as classes
from boostopt.verification import save, save_class, verify
from boostopt.verification.trusted_kernel.certificate_schema import parse_document as as_document
from boostopt.verification.trusted_kernel.checker import ProvedBounds, matrix_digest, vector_digest
from boostopt.verification.trusted_kernel.conjugates import NormTerm, cap_term
from boostopt.verification.trusted_kernel.feasible_weights import project_into_ball, project_onto_equations
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json
from boostopt.verification.trusted_kernel.number_types import Ball, FloatBalls
from boostopt.verification.verification_result import NO_FURTHER_CLAIM
from boostopt.verification.verify import check_claims


@pytest.mark.parametrize("size", [1e8, 1e20])
def test_a_huge_s_proves_nothing_in_floats(size: float, tmp_path: Path) -> None:
    """If s is large, its two terms cancel; all of it is counted as rounding."""
    file_document = document("ball")
    file_document["arrays"]["s"] = [size] * 16
    file_document["proof"]["beta"] -= size
    file_document["claim"]["lower"] = file_document["claim"]["upper"]
    assert not judged(file_document, "ball", tmp_path)


def test_a_lower_end_of_which_nothing_is_known_is_minus_infinity(tmp_path: Path) -> None:
    """With a beta of 1e200 the parabola of F* is larger than any float: the file proves nothing, and no claim holds."""
    path, U = tmp_path / "c.json", np.round(np.random.default_rng(0).uniform(-1, 1, (6, 3)), 2)
    save(get_formulation("qrlp_boost").bind(U, nu=3.0, eta=2.0).solve(tol=1e-6), path)
    file_document = json.loads(path.read_text())
    file_document["proof"]["beta"] = 1e200
    for lower, upper in (("-inf", file_document["claim"]["upper"]), ("-inf", "inf"), (-1e300, "inf")):
        file_document["claim"] = {"outcome": "solved", "lower": lower, "upper": upper}
        if upper == "inf":
            file_document["arrays"].pop("d", None)
        path.write_text(json.dumps(file_document))
        verification = verify(path, U)
        assert bool(verification) == (lower == "-inf")
        assert verification.lower == -math.inf if verification else verification.reason.endswith(" -inf")
        assert not verification or verification.upper == pytest.approx(float(upper), abs=1e-6)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("case", ["cap", "binary", "bounded", "penalty", "infeasible"])
def test_no_beta_proves_more_than_the_optimum(case: str, exact: bool, tmp_path: Path) -> None:
    file_document = document(case)
    claim = file_document["claim"]
    if claim["outcome"] == "infeasible":
        claim["excess"] += 0.1
    else:
        claim["lower"] = claim["upper"] = claim["upper"] + 1e-6
    for beta in (1e300, -1e17, 5e-324):
        file_document["proof"]["beta"] = beta
        assert not judged(file_document, case, tmp_path, exact=exact)


def test_a_neighbour_of_a_parameter_is_another_program(tmp_path: Path) -> None:
    """The number next to nu, in the parameters or in F alone."""
    for place in ("parameters", "F"):
        file_document = document("entropy")
        numbers = file_document["F"] if place == "F" else file_document["formulation"]["parameters"]
        numbers["nu"] = math.nextafter(numbers["nu"], math.inf)
        assert "means F" in judged(file_document, "entropy", tmp_path).reason


def test_storages_of_one_matrix_are_one_and_others_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    U = rng.choice([-1.0, 0.0, 1.0], size=(7, 3))
    path = tmp_path / "certificate.json"
    save(get_formulation("lpboost").bind(U, nu=2.0).solve(tol=1e-9), path)
    signed = np.where(U == 0.0, -0.0, U)
    n, q = np.nonzero(U)
    twice = scipy.sparse.coo_array((np.tile(U[n, q] / 2, 2), (np.tile(n, 2), np.tile(q, 2))), shape=U.shape)
    explicit = scipy.sparse.csr_array((U.ravel(), np.divmod(np.arange(U.size), 3)), shape=U.shape)
    equal_storages: list[Any] = [
        signed,
        U.tolist(),
        U[::-1][::-1],
        np.asfortranarray(U),
        U.astype(np.float16),
        twice,
        explicit,
    ]
    for data in [*equal_storages, scipy.sparse.csc_array(signed)]:
        assert verify(path, data)
    other_matrices: list[Any] = [
        U.astype(np.int8).astype(np.uint8),
        U + 5e-324,
        np.abs(U),
        U * (1 - 1e-16),
        abs(explicit),
    ]
    for data in other_matrices:
        assert "digest" in verify(path, data).reason


def header(shape: str, descr: str = "'<f8'") -> bytes:
    """The beginning of an npy file."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "start",
    [
        header("(10000000000000,)"),
        header("(4294967296, 4294967296)"),
        header("(-1,)"),
        header("(" + "-" * 9000 + "1,)"),
        header("(4,)", "'>f8'"),
        header("(4,)", "'|O'"),
        header("(4,)", "'|V100000000'"),
        header("(0, 1000000000000000)"),
    ],
)
def test_headers_that_promise_too_much_are_rejected(start: bytes, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("w.npy", start + bytes(32))
    file_document = document("cap")
    file_document["arrays"] = {"beside": hashlib.sha256(packed.getvalue()).hexdigest()}
    (tmp_path / "changed.json.npz").write_bytes(packed.getvalue())
    assert not judged(file_document, "cap", tmp_path)


def test_more_examples_than_memory_holds_are_rejected(tmp_path: Path) -> None:
    """Nothing in the file has one number for each of them."""
    file_document = document("entropy")
    file_document["data"]["N"] = 2**40
    file_document["claim"] |= {"upper": "inf"}
    file_document["arrays"] = {"w": file_document["arrays"]["w"]}
    assert judged(file_document, "entropy", tmp_path).reason.endswith(" (16, 4)")


def test_weights_of_a_class_that_are_none_are_rejected(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1, -1)
    path = tmp_path / "class.json"
    run = boost("erlpboost", DecisionStumps(X, y), nu=5.0, epsilon=0.1, update="total")
    save_class(run, DecisionStumps(X, y), path)
    for d in (np.zeros(40), np.full(40, 1e150), np.full(40, 5e-324), np.full(40, -1.0), np.eye(40)[0]):
        file_document = json.loads(path.read_text())
        file_document["arrays"]["d"], file_document["claim"]["upper"] = d.tolist(), 10.0
        (tmp_path / "changed.json").write_text(json.dumps(file_document))
        assert not verify(tmp_path / "changed.json", DecisionStumps(X, y))


AWKWARD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lpboost", {"nu": 2.9, "two_sided": True}),
    ("erlpboost", {"nu": 2.5, "eta": 1e8}),
    ("unnormalized_erlpboost", {"nu": 1.0, "eta": 1e8}),
    ("binary_erlpboost", {"nu": 2.5, "eta": 1e8}),
    ("softboost", {"nu": 2.0, "gamma": 1.0}),
    ("norm_penalty", {"r": 1e-3, "p": 100.0, "eta": 1e-3}),
    ("norm_ball", {"r": 1.0, "p": 2.0}),
    ("l1_adaboost", {"C": 1e3}),
    ("svm", {"C": 1e-3}),
)
"""Parameters at the ends of what is taken."""


@pytest.mark.every(3)
@pytest.mark.parametrize(("name", "numbers"), AWKWARD)
def test_awkward_true_certificates_are_accepted(name: str, numbers: dict[str, Any], tmp_path: Path) -> None:
    """The data have equal rows, opposite columns, and multiplicities over eight orders of magnitude."""
    U = np.array([[0.3, -0.3], [0.3, -0.3], [-1.0, 1.0], [0.7, -0.7]])
    for c in (np.ones(4), np.array([1e-4, 1e4, 0.3, 2.0])):
        bound = get_formulation(name).bind(U, c=c, **numbers)
        junk = bound.certify(np.array([0.7, 0.1, 0.1, 0.1]), np.array([0.2, 0.8]))
        for answer in (bound.solve(tol=1e-7), (bound, junk)):
            save(answer, tmp_path / "certificate.json")
            for exact in (False, True):
                verification = verify(tmp_path / "certificate.json", U, c=c, exact=exact)
                assert verification, verification.reason


@pytest.mark.thorough
def test_programs_of_one_example_or_one_hypothesis_are_accepted(tmp_path: Path) -> None:
    for U in (np.array([[0.3, -0.2]]), np.array([[0.3], [-0.2], [0.0]]), np.array([[1.0]])):
        for name, numbers in (("lpboost", {"nu": 1.0}), ("erlpboost", {"nu": 1.0, "eta": 3.0}), ("svm", {"C": 1.0})):
            save(get_formulation(name).bind(U, **numbers).solve(tol=1e-7), tmp_path / "certificate.json")
            for exact in (False, True):
                assert verify(tmp_path / "certificate.json", U, exact=exact)


def test_the_dual_exponent_is_exact(tmp_path: Path) -> None:
    """As a float p / (p - 1) is not dual to p; a huge s makes of that a lower bound of 32014; no edge exceeds 1."""
    p, r = 1.9403280822113675, 0.035166591729075256
    U = np.random.default_rng(0).choice([-1.0, 1.0], size=(1000, 2))
    bound = get_formulation("norm_ball").bind(U, r=r * 1.1, p=p)
    save((bound, bound.certify(np.full(1000, 1e-3), np.array([0.5, 0.5]))), tmp_path / "c.json")
    file_document = json.loads((tmp_path / "c.json").read_text())
    file_document["F"]["r"] = file_document["formulation"]["parameters"]["r"] = r
    del file_document["arrays"]["d"]
    file_document["arrays"]["s"], file_document["proof"]["beta"] = [1e20] * 1000, -1e20
    file_document["claim"] = {"outcome": "solved", "lower": 10.0, "upper": "inf"}
    (tmp_path / "c.json").write_text(json.dumps(file_document))
    assert not verify(tmp_path / "c.json", U, exact=True)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers that state the next page."""

    r: float = parameter("radius", POSITIVE)
    nu: float = parameter("nu", POSITIVE)
    rho: float = parameter("edge", EDGE)


class BallAndEquations(Formulation[Numbers]):
    """The shortest weights whose edges are equal."""

    name, title, Parameters = "ball_and_equations", "Ball and equations", Numbers

    def regularizer(self, p: Numbers, examples: Any) -> NormBall:
        return NormBall(CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)), examples.c, 2.0, p.r)

    def edge_function(self, p: Numbers) -> FixedEdges:
        return FixedEdges(p.rho)


def program_document(
    name: str, numbers: dict[str, Any], F: Any, G: Any, U: Any, arrays: Any, claim: Any, c: Any = None
) -> Any:
    counts = np.ones(len(U)) if c is None else c
    if c is not None:
        arrays = {**arrays, "c": c.tolist()}
    return {
        "kind": "boostopt certificate",
        "format": 1,
        "subject": "program",
        "formulation": {"name": name, "parameters": numbers},
        "F": F,
        "G": G,
        "data": {
            "N": len(U),
            "t": U.shape[1],
            "U": matrix_digest(U),
            "c": vector_digest(counts),
            "d0": vector_digest(counts / counts.sum()),
        },
        "arrays": arrays,
        "claim": claim,
        "proof": {"beta": 0.0},
        "made": {},
    }


@pytest.mark.parametrize("exact", [False, True])
def test_weights_moved_onto_equations_stay_in_the_ball(exact: bool, tmp_path: Path) -> None:
    """No d of norm 0.55 has the edge 0: (1/2, 1/6, 1/6, 1/6) is the shortest, of norm 0.577."""
    U = np.array([[1.0], [-1.0], [-1.0], [-1.0]])
    F = {"kind": "norm ball", "p": 2.0, "r": 0.55, "base": {"kind": "cap", "caps": "c / nu", "nu": 1.0}}
    arrays = {"w": [0.0], "d": [0.4, 0.2, 0.2, 0.2], "s": [0.0] * 4}
    file_document = program_document(
        "ball_and_equations",
        {"r": 0.55, "nu": 1.0, "rho": 0.0},
        F,
        {"kind": "fixed", "rho": 0.0},
        U,
        arrays,
        {"outcome": "solved", "lower": -1e-9, "upper": 1e-9},
    )
    (tmp_path / "c.json").write_text(json.dumps(file_document))
    assert not verify(tmp_path / "c.json", U, formulation=BallAndEquations(), exact=exact)


def test_products_that_underflow_are_counted(tmp_path: Path) -> None:
    """Every edge is 7 units of the last place of 0; their 15 products are all 0."""
    U = np.full((15, 2), 7 * 5e-324)
    file_document = program_document(
        "lp_adaboost",
        {"epsilon": 0.01, "two_sided": False},
        {"kind": "cap", "caps": "c / nu", "nu": 1.0},
        {"kind": "maximum"},
        U,
        {"w": [0.5, 0.5], "d": [1 / 15] * 15},
        {"outcome": "solved", "lower": "-inf", "upper": 5e-324},
    )
    (tmp_path / "c.json").write_text(json.dumps(file_document))
    assert not verify(tmp_path / "c.json", U)


def test_exponentials_and_logarithms_contain_the_ends() -> None:
    A = FloatBalls()
    with np.errstate(all="ignore"):
        x = A.exp(Ball(np.array([-800.0]), np.array([200.0])))
        assert A.upper(x)[0] >= math.exp(-600.0)
        m = 1.358974358974359
        r = np.nextafter(np.nextafter(m, 0), 0)
        y = A.log(Ball(np.array([m]), np.array([r])))
        assert A.lower(y)[0] <= math.log(m - r)  # m - r is exact


def verdict_on_claim(claim: str, folder: Path, entry: Any = 0.5, exact: bool = True) -> Any:
    """The verdict on a claim, as text, about one example and one hypothesis: the optimum is the entry."""
    U = np.array([[entry]])
    F = {"kind": "cap", "caps": "c / nu", "nu": 1.0}
    parameters = {"epsilon": 0.01, "two_sided": False}
    arrays = {"w": [1.0], "d": [1.0]}
    file_document = program_document(
        "lp_adaboost", parameters, F, {"kind": "maximum"}, U, arrays, {"outcome": "solved"}
    )
    file_document["proof"]["beta"] = -entry
    whole = json.dumps(file_document).replace('"outcome": "solved"', f'"outcome": "solved", {claim}')
    (folder / "c.json").write_text(whole)
    return verify(folder / "c.json", U, exact=exact)


@pytest.mark.parametrize(
    ("lower", "upper", "entry", "true"),
    [
        ("0.5", "0.5", 0.5, True),
        ("0.50000000000000005", "1", 0.5, False),
        ("0.50000000000000000000000000000000001", "1", 0.5, False),
        ("0.49999999999999999", "5000000000000000000001e-22", 0.5, True),
        ("0", "0.49999999999999999", 0.5, False),
        ("0", "5e-1", 0.5, True),
        ("9007199254740992", "9007199254740992", 2.0**53, True),
        ("9007199254740993", "9007199254740994", 2.0**53, False),
        ("9007199254740990", "9007199254740991", 2.0**53, False),
        ("1e-400", "1", 0.0, False),
        ("-1e-400", "1e-400", 0.0, True),
        ("-1", "1e999", 0.5, True),
        ("1e999", "1e999", 0.5, False),
    ],
)
def test_ends_are_claimed_as_they_are_written(lower: str, upper: str, entry: float, true: bool, tmp_path: Path) -> None:
    """Between two floats too: read to the nearest, a false claim would be a true one."""
    assert bool(verdict_on_claim(f'"lower": {lower}, "upper": {upper}', tmp_path, entry)) == true


def test_an_excess_is_claimed_as_it_is_written() -> None:
    file_document = document("infeasible")
    arrays = {name: np.array(values) for name, values in file_document["arrays"].items()}
    file_document["claim"]["excess"] = 1.0
    for text, read in (("1.00000000000000005", math.nextafter(1.0, 2.0)), ("1e-400", 5e-324), ("0.25", 0.25)):
        parsed = parse_json(json.dumps(file_document).replace('"excess": 1.0', f'"excess": {text}').encode())
        assert as_document(parsed, arrays).excess == read


@pytest.mark.parametrize(("beta", "exact"), [("-1e400", True), ("-1e308", False), ("-1.7e308", False)])
def test_a_huge_beta_is_no_traceback(beta: str, exact: bool, tmp_path: Path) -> None:
    U = np.ones((4, 2))
    file_document = program_document(
        "lp_adaboost",
        {"epsilon": 0.01, "two_sided": False},
        {"kind": "cap", "caps": "c / nu", "nu": 1.0},
        {"kind": "maximum"},
        U,
        {"w": [0.5, 0.5], "d": [0.25] * 4},
        {"outcome": "solved", "lower": -2.0, "upper": 2.0},
    )
    (tmp_path / "c.json").write_text(json.dumps(file_document).replace('"beta": 0.0', f'"beta": {beta}'))
    assert not verify(tmp_path / "c.json", U, exact=exact)


@pytest.mark.parametrize("name", ["\ud800", "\x1b[2J\x1b[Haccepted", "a\nb"])
def test_names_in_a_file_cannot_write_on_the_terminal(name: str, tmp_path: Path) -> None:
    file_document = document("cap")
    for change in ("key", "name"):
        changed = json.loads(json.dumps(file_document))
        if change == "key":
            changed[name] = 1
        else:
            changed["formulation"]["name"] = name
        verification = judged(changed, "cap", tmp_path)
        assert verification.reason.isprintable()
        assert verification.formulation.isprintable()


def examples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, -1, 1)


def class_document(reflexive: bool, path: Path) -> Any:
    X, y = examples()
    run = boost("erlpboost", DecisionStumps(X, y, reflexive=reflexive), nu=5.0, epsilon=0.05, update="total")
    save_class(run, DecisionStumps(X, y, reflexive=reflexive), path)
    return json.loads(path.read_text())


def test_hypotheses_of_a_class_belong_to_it(tmp_path: Path) -> None:
    """Stumps of the direction that the class has not: a soft margin of 0.2 where the best is below -0.199."""
    path, (X, y) = tmp_path / "c.json", examples()
    file_document = class_document(True, path)
    file_document["data"]["digest"] = DecisionStumps(X, y, reflexive=False).digest
    file_document["claim"]["upper"] = "inf"
    del file_document["arrays"]["d"]
    path.write_text(json.dumps(file_document))
    assert not verify(path, DecisionStumps(X, y, reflexive=False))


def test_absolute_edges_need_a_class_closed_under_negation(tmp_path: Path) -> None:
    """A signed combination has the soft margin 0.2; the file says that none exceeds -0.199."""
    path, (X, y) = tmp_path / "c.json", examples()
    file_document = class_document(False, path)
    file_document["formulation"]["parameters"]["two_sided"], file_document["G"], file_document["claim"]["lower"] = (
        True,
        {"kind": "absolute"},
        -5,
    )
    path.write_text(json.dumps(file_document))
    assert not verify(path, DecisionStumps(X, y, reflexive=False))


def test_c_and_d0_of_the_reader_are_compared_for_a_class_too(tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    class_document(True, path)
    assert not verify(path, DecisionStumps(X, y), c=np.full(40, 7.0))


def test_a_class_of_more_examples_than_memory_holds_is_rejected(tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    file_document = class_document(True, path)
    file_document["data"]["N"], file_document["claim"]["upper"], file_document["arrays"] = (
        2**40,
        "inf",
        {"w": file_document["arrays"]["w"]},
    )
    path.write_text(json.dumps(file_document))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"c": np.ones(40)}, r"\bother\b.* c=$"),
        ({"d0": np.full(40, 1 / 40)}, r"\bother\b.* d0=$"),
        ({}, r"\bother multiplicities\b.*\boracle$"),
    ]
    for arguments, words in cases:
        assert re.search(words, verify(path, DecisionStumps(X, y), **arguments).reason)


def test_hypotheses_are_counted_before_they_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    file_document = class_document(True, path)
    assert verify(path, DecisionStumps(X, y))
    monkeypatch.setattr(classes, "MAX_ARRAY_BYTES", 8 * 40 * file_document["data"]["t"] - 1)
    monkeypatch.setattr(DecisionStumps, "margins_of", None)
    reason = verify(path, DecisionStumps(X, y)).reason
    assert re.search(rf" {file_document['data']['t']} .* 40 .* {classes.MAX_ARRAY_BYTES:,} ", reason)


def test_a_degree_in_a_file_is_no_endless_loop(tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    file_document = class_document(True, path)
    oracle = KernelColumns(X, y, "polynomial")
    state = {"kind": "kernel", "row": 0, "sign": 1, "kernel": "polynomial", "gamma": 1.0, "degree": 10**15}
    state |= {"coef0": 0.0, "scale": 1.0, "features": 2, "indices": [0], "values": [1.0]}
    file_document["data"] |= {"hypotheses": [state] * file_document["data"]["t"], "digest": oracle.digest}
    path.write_text(json.dumps(file_document))
    assert re.search(rf"\bdegree\b.* 1000;.* {10**15}\.", verify(path, oracle).reason)


def test_weights_that_an_oracle_refuses_are_a_rejection(tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    oracle = Estimators(DecisionTreeClassifier(max_depth=1), X, y)
    run = boost("erlpboost", oracle, nu=5.0, epsilon=0.2)
    with pytest.warns(UserWarning, match=r"\bverify\(path,.*\bU="):
        save_class(run, oracle, path)
    file_document = json.loads(path.read_text())
    file_document["arrays"]["d"], file_document["claim"]["upper"] = [0.0] * 40, 10.0
    path.write_text(json.dumps(file_document))
    U = run.record.pool.margins.take_columns(np.flatnonzero(run.w))
    assert not verify(path, oracle, U=U)


def test_the_digest_of_examples_does_not_see_the_sign_of_zero() -> None:
    X, y = examples()
    whole_X = np.round(X)
    assert np.signbit(whole_X[whole_X == 0]).any()
    assert DecisionStumps(whole_X, y).digest == DecisionStumps(whole_X + 0.0, y).digest


def test_data_are_real_numbers_of_64_bits_at_most_without_a_mask(tmp_path: Path) -> None:
    U = np.ones((16, 4))
    masked = np.ma.masked_array(U, mask=np.eye(16, 4, dtype=bool))  # pyright: ignore[reportUnknownMemberType]
    sparse = scipy.sparse.csr_array(U)
    unsupported_data: list[Any] = [scipy.sparse.csr_array(U + 5j), sparse != 0, U.astype(np.longdouble), masked, U[0]]
    for data in unsupported_data:
        with pytest.raises(ProblemError):
            judged(document("cap"), "cap", tmp_path, U=data)


@pytest.mark.parametrize("entry", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_whole_numbers_that_no_float_is_are_no_data(entry: int, tmp_path: Path) -> None:
    U = np.zeros((16, 4), dtype=np.int64)
    U[3, 2] = entry
    half = np.array([entry - entry // 2, entry // 2]), ([3, 3], [2, 2])
    twice: Any = scipy.sparse.coo_array(half, shape=U.shape)
    for data in (U, scipy.sparse.csr_array(U), twice):
        with pytest.raises(ProblemError, match=rf"\bdata\b.* 2\^53,.* {entry}\b"):
            judged(document("cap"), "cap", tmp_path, U=data)


def sparse_with_index(U: np.ndarray, storage: str, index: int) -> Any:
    """Return a sparse matrix with an index that is out of range."""
    sparse: Any = scipy.sparse.csr_array(U).asformat(storage)
    indices = sparse.coords[1] if storage == "coo" else sparse.rows[0] if storage == "lil" else sparse.indices
    indices[0] = index
    return sparse


@pytest.mark.parametrize("index", [50_000_000, -50_000_000])
@pytest.mark.parametrize("storage", ["csr", "csc", "coo", "bsr", "lil"])
def test_sparse_data_with_indices_outside_are_refused(storage: str, index: int, tmp_path: Path) -> None:
    for use in (lambda U: judged(document("cap"), "cap", tmp_path, U=U), MarginMatrix, GivenMargins):
        with pytest.raises(ProblemError, match=r"^U\b.*\bindices\b.*: "):
            use(sparse_with_index(np.ones((16, 4)), storage, index))


def test_the_readers_own_c_and_d0_are_numbers(tmp_path: Path) -> None:
    for vector, words in (
        ("x", r"\bvector\b.*\(\).*<U1\."),
        ([[1.0]], r"\bvector\b.*\(1, 1\)"),
        ([1j] * 16, r"\bvector\b.*\(16,\).*\bcomplex128\."),
        ([1.0, [2.0]], r"\brows\b.*\blength\b"),
    ):
        for name in ("c", "d0"):
            with pytest.raises(ProblemError, match=rf"^{name}\b.*{words}"):
                judged(document("cap"), "cap", tmp_path, **{name: vector})


def test_equations_that_hold_at_the_only_point_are_no_hindrance(tmp_path: Path) -> None:
    """A nu of N leaves the uniform weights alone, and under them the two edges are equal."""
    U = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    bound = get_formulation("corrective_erlpboost").bind(U, nu=3.0, eta=5.0, segment=False)
    save((bound, bound.certify(np.full(3, 1 / 3), np.array([0.5, 0.5]))), tmp_path / "c.json")
    assert verify(tmp_path / "c.json", U)


def test_huge_entries_of_the_data_are_no_traceback(tmp_path: Path) -> None:
    U = np.full((4, 2), -1e308)
    F, claim = {"kind": "cap", "caps": "c / nu", "nu": 1.0}, {"outcome": "solved", "lower": -2.0, "upper": 2.0}
    arrays = {"w": [0.5, 0.5], "d": [0.25] * 4}
    file_document = program_document(
        "lp_adaboost", {"epsilon": 0.01, "two_sided": False}, F, {"kind": "maximum"}, U, arrays, claim
    )
    (tmp_path / "c.json").write_text(json.dumps(file_document))
    assert not verify(tmp_path / "c.json", U)


class BallAndCaps(Formulation[Numbers]):
    """The shortest weights are not within the caps."""

    name, title, Parameters = "ball_and_caps", "Ball and caps", Numbers

    def regularizer(self, p: Numbers, examples: Examples) -> NormBall:
        return NormBall(CappedSimplexIndicator(CappedSimplex(np.ones(examples.N), p.nu)), examples.c, 2.0, p.r)

    def edge_function(self, p: Numbers) -> MaximumEdge:
        return MaximumEdge()


@pytest.mark.parametrize("exact", [False, True])
def test_weights_moved_into_the_ball_stay_below_their_caps(exact: bool, tmp_path: Path) -> None:
    """With c = (8, 1, 1) the shortest d is (0.8, 0.1, 0.1); the cap is 1/2, and the norm of (1/2, 1/4, 1/4) is r.

    d = (1/2, 1/4 + x, 1/4 - x) is outside of the ball, by rounding, and the way to the middle of the ball leads beyond
    the cap of the first example. Its margin is -1, those of the others are 1: below the caps no d has an edge below 0.
    """
    c, x = np.array([8.0, 1.0, 1.0]), 1e-6
    U, r = np.array([[-1.0], [1.0], [1.0]]), math.sqrt(0.25 / 8 + 2 / 16)
    F = {"kind": "norm ball", "p": 2.0, "r": r, "base": {"kind": "cap", "caps": "1 / nu", "nu": 2.0}}
    arrays = {"w": [1.0], "d": [0.5, 0.25 + x, 0.25 - x], "s": [0.0] * 3}
    claim = {"outcome": "solved", "lower": -1.0, "upper": -1e-13}
    file_document = program_document(
        "ball_and_caps", {"r": r, "nu": 2.0, "rho": 0.0}, F, {"kind": "maximum"}, U, arrays, claim, c
    )
    (tmp_path / "c.json").write_text(json.dumps(file_document))
    assert not verify(tmp_path / "c.json", U, formulation=BallAndCaps(), exact=exact)


def test_weights_at_the_edge_of_a_ball_are_moved_into_it() -> None:
    """Some of the radii are smaller than the norm of the weights after rounding."""
    A, rng = FloatBalls(), np.random.default_rng(0)
    box = cap_term(A, A.to_vector(np.ones(20)))
    for p in (1.5, 2.0, 7.0, 50.0):
        for _ in range(20):
            d = A.to_vector(rng.dirichlet(np.ones(20)))
            c = rng.uniform(0.5, 2.0, 20)
            size = float(NormTerm(True, p, 1.0, c, True).norm(A, d).mid)
            ball = NormTerm(True, p, size * (1.0 + 4e-16 * float(rng.uniform(-1.0, 1.0))), c, True)
            projection = project_into_ball(A, ball, d, box)
            assert projection is not None and A.upper(ball.norm(A, projection)) <= ball.r
            assert np.abs(projection.mid - d.mid).max() < 1e-13


def test_a_weight_whose_distance_to_its_cap_is_uncertain_is_not_moved() -> None:
    """The first slack is between 1e-9 and 1e-3: half of it may be more than there is. The others have room."""
    A, d = FloatBalls(), np.full(4, 0.25)
    highest = Ball(np.array([0.25 + 5e-4, 0.4, 0.4, 0.4]), np.array([5e-4 - 1e-9, 0.0, 0.0, 0.0]))
    box: Any = SimpleNamespace(on_simplex=True, upper=highest, lower=A.to_vector(np.zeros(4)))
    first, second = np.array([1.0, 1.0, 0.5, 0.0]), np.array([0.0, 0.5, 1.0, 1.0 - 1e-3])
    with typechecker.unchecked():  # the box has no more than is asked of it
        projection = project_onto_equations(A, box, A.to_vector(d), [(first, second)])
    assert projection is not None
    assert A.upper(projection)[0] - A.lower(projection)[0] <= 1e-15
    assert (A.upper(projection)[1:] <= 0.4).all()
    for residual in (
        A.total(projection * (A.to_vector(first) - A.to_vector(second))),
        A.total(projection) - A.to_number(1.0),
    ):
        assert A.lower(residual) <= 0.0 <= A.upper(residual) <= 1e-12
    assert (A.upper(projection) != d)[1:].any()


@pytest.mark.thorough
def test_many_equations_are_solved_in_time(tmp_path: Path) -> None:
    U = np.random.default_rng(3).uniform(-1.0, 1.0, (300, 110))
    save(get_formulation("entropy_projection").bind(U, rho=0.0).solve(tol=1e-7), tmp_path / "c.json")
    started = time.process_time()
    assert verify(tmp_path / "c.json", U)
    assert time.process_time() - started < 8.0


def test_verification_reason_names_the_claimed_ends(tmp_path: Path) -> None:
    for lower, upper, claimed in (("-inf", "inf", "nothing"), (None, "inf", "lower"), ("-inf", None, "upper")):
        file_document = document("cap")
        file_document["claim"]["lower"] = lower or file_document["claim"]["lower"]
        file_document["claim"]["upper"] = upper or file_document["claim"]["upper"]
        if upper == "inf":
            del file_document["arrays"]["d"]
        verification = judged(file_document, "cap", tmp_path)
        ends = {"nothing", "lower", "upper", "both"} & set(re.findall(r"\w+", verification.reason))
        assert verification and ends == {claimed}
        assert verification.reason.endswith(NO_FURTHER_CLAIM)


def states_of(oracle: Any, *hypotheses: Any) -> list[bool]:
    """Return for each hypothesis whether it belongs to the class."""
    memberships = list[bool]()
    for hypothesis in hypotheses:
        try:
            memberships.append(oracle.margins_of(hypothesis) is not None)
        except ProblemError:
            memberships.append(False)
    return memberships


def test_stumps_of_a_class_part_its_examples() -> None:
    X, y = examples()
    both, up = DecisionStumps(X, y), DecisionStumps(X, y, reflexive=False)
    middle, max_x = float(np.median(X[:, 1])), float(X[:, 1].max())
    stumps = [Stump(1, middle, 1, 2), Stump(1, middle, -1, 2), Stump(1, max_x, 1, 2), Stump(1, -math.inf, 1, 2)]
    foreign_hypotheses = [Stump(1, middle, 1, 3), Feature(0, 1.0, 1, 2)]
    assert states_of(both, *stumps, *foreign_hypotheses) == [True, True, False, False, False, False]
    assert states_of(up, *stumps, *foreign_hypotheses) == [True, False, False, False, False, False]
    # Where nothing varies constants are the class, in one direction h = 1: also as -1 above what there is.
    constants = [Stump(0, -math.inf, 1, 2), Stump(0, -math.inf, -1, 2), Stump(0, 9.0, 1, 2), Stump(0, 9.0, -1, 2)]
    assert states_of(DecisionStumps(np.ones((40, 2)), y), *constants) == [True] * 4
    assert states_of(DecisionStumps(np.ones((40, 2)), y, reflexive=False), *constants) == [True, False, False, True]


def test_features_of_a_class_have_its_scales() -> None:
    X, y = examples()
    X[:, 1] = 0.0
    scale = float(np.abs(X[:, 0]).max())
    features = [Feature(0, scale, 1, 2), Feature(0, scale, -1, 2), Feature(0, scale / 2, 1, 2), Feature(1, 1.0, 1, 2)]
    assert states_of(RawFeatures(X, y), *features) == [True, True, False, False]
    assert states_of(RawFeatures(X, y, reflexive=False), *features) == [True, False, False, False]


def test_columns_of_a_class_are_of_its_kernel_and_examples() -> None:
    X, y = examples()
    d = np.full(40, 1 / 40)
    for name in ("linear", "polynomial", "rbf"):
        oracle = KernelColumns(X, y, name)
        column: Any = oracle.best(Query(d)).columns[0]
        assert np.array_equal(np.asarray(oracle.margins_of(column.hypothesis)), column.margins)
        narrower = KernelColumns(X, y, "rbf", gamma=50.0).best(Query(d)).columns[0].hypothesis
        doubled_values = dataclasses.replace(column.hypothesis, values=2.0 * column.hypothesis.values)
        scaled = dataclasses.replace(column.hypothesis, scale=0.5 * column.hypothesis.scale)
        foreign_row = dataclasses.replace(column.hypothesis, row=40)
        assert (
            states_of(oracle, column.hypothesis, narrower, doubled_values, scaled, foreign_row) == [True] + [False] * 4
        )
        upward = KernelColumns(X, y, name, reflexive=False)
        negated = dataclasses.replace(column.hypothesis, sign=-1)
        assert states_of(upward, dataclasses.replace(column.hypothesis, sign=1), negated) == [True, False]


@pytest.mark.thorough
def test_class_verification_without_membership_says_so(tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    oracle = Estimators(DecisionTreeClassifier(max_depth=1), X, y)
    run = boost("erlpboost", oracle, nu=5.0, epsilon=0.2)
    with pytest.warns(UserWarning, match=r"\bverify\(path,.*\bU="):
        save_class(run, oracle, path)
    U = run.record.pool.margins.take_columns(np.flatnonzero(run.w))
    verification = verify(path, oracle, U=U)
    assert verification and verification.quantity == "soft margin"
    assert re.search(
        rf"\blower\b.* soft margin{NO_FURTHER_CLAIM}{classes.MEMBERSHIP_NOT_CHECKED}$", verification.reason
    )
    class_document(True, path)
    assert classes.MEMBERSHIP_NOT_CHECKED not in verify(path, DecisionStumps(X, y)).reason


@pytest.mark.parametrize("excess", [1.01e-6, 0.1, 1.0])
def test_certificates_of_a_class_with_a_ball_are_accepted(excess: float, tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "c.json", examples()
    run = boost("norm_ball", DecisionStumps(X, y), r=40.0**-0.5 * (1 + excess), epsilon=0.05)
    save_class(run, DecisionStumps(X, y), path)
    assert verify(path, DecisionStumps(X, y))


def test_weights_beyond_the_ball_of_a_class_prove_nothing_for_it(tmp_path: Path) -> None:
    """The best soft margin is 1 - 2 x with x^2 + (1 - x)^2 / 3 = r^2; a radius of r + 9e-13 r gives less."""
    path, U, r = tmp_path / "c.json", np.array([[-1.0], [1.0], [1.0], [1.0]]), 0.55
    save_class(boost("norm_ball", GivenMargins(U), r=r, epsilon=0.01), GivenMargins(U), path)
    assert verify(path, GivenMargins(U))
    best, x = (1.0 - 2.0 * (1.0 + math.sqrt(12.0 * size**2 - 3.0)) / 4.0 for size in (r, r * (1.0 + 9e-13)))
    file_document = json.loads(path.read_text())
    file_document["arrays"]["d"] = [(1.0 - x) / 2.0] + [(1.0 + x) / 6.0] * 3
    file_document["claim"] |= {"lower": -1.0, "upper": best - 1e-12}
    path.write_text(json.dumps(file_document))
    verification = verify(path, GivenMargins(U))
    assert not verification and f" {verification.claimed[1]!r};" in verification.reason


def test_ends_that_contradict_each_other_prove_nothing() -> None:
    file_document = document("cap")
    arrays = {name: np.array(values) for name, values in file_document["arrays"].items()}
    with pytest.raises(Rejected, match=r"\bcontradict\b.* 10\.0 .* -10\.0$"):
        check_claims(as_document(file_document, arrays), ProvedBounds(10.0, -10.0))
