"""Separable edge functions as formulas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker

from boostopt import ProblemError, boost, check_edge, solve
from boostopt.authoring import (
    CappedSimplex,
    CappedSimplexIndicator,
    EdgeFunction,
    Hinge,
    RelativeEntropy,
    SquaredEdges,
    SquaredPositiveEdges,
    edge_formula,
    prototype,
)
from boostopt.oracles import DecisionStumps
from boostopt.programs.program import Program
from boostopt.verification import save, verify
from boostopt.verification.trusted_kernel.formula_terms import ParsedFormula
from boostopt.verification.trusted_kernel.json_parsing import Rejected
from boostopt.verification.trusted_kernel.number_types import FloatBalls


def program(G: EdgeFunction) -> Program:
    U = np.round(np.random.default_rng(0).uniform(-1, 1, (20, 4)), 3)
    page = prototype("edges", lambda p, e: RelativeEntropy.capped(e.c, 4.0, 5.0, e.d0), lambda p: G)
    return page.bind(U)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("e**2/4", {}),
        ("max(e, 0)**2/4", {}),
        ("exp(a*e)/a", {"a": 3.0}),
        ("log(1 + exp(e))", {}),
        ("huber(e - a, 1/4) + e/3", {"a": 0.1}),
        ("-log(1 - e) - log(1 + e)", {}),
        ("e**4 + e**2/10", {}),
    ],
)
def test_bounds_hold_and_are_tight(text: str, numbers: Any) -> None:
    G, rng = edge_formula(text, **numbers), np.random.default_rng(0)
    grid = np.linspace(-1, 1, 20_001)
    with np.errstate(divide="ignore"):
        values = np.array([G.value(np.array([x])) for x in grid[::10]])
    for w in (*rng.normal(size=4), -9.0, 9.0, 0.0):
        conjugate = G.conjugate(np.array([w]))
        supremum = float((w * grid[::10] - values).max())
        assert conjugate >= supremum - 1e-12 and conjugate <= supremum + 1e-3
    e, w = rng.uniform(-0.9, 0.9, 5), rng.normal(size=5)
    assert G.gaps(e, w).sum() == pytest.approx(G.value(e) + G.conjugate(w) - float(w @ e), abs=1e-12)
    best = G.subgradient(e)
    assert G.gaps(e, best).sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("twin", "text", "backend"),
    [
        (SquaredEdges(), "e**2/4", "interior"),
        (SquaredEdges(), "e**2/4", "cvxpy:clarabel"),
        (SquaredPositiveEdges(), "max(e, 0)**2/4", "cvxpy:clarabel"),
    ],
)
def test_optima_are_those_of_the_twin_and_files_verify(
    twin: EdgeFunction, text: str, backend: str, tmp_path: Path
) -> None:
    bound_program = program(edge_formula(text))
    solution = solve(bound_program, backend, tol=1e-7)
    twin_certificate = solve(program(twin), "interior", tol=1e-9).certificate
    assert solution.certificate.scaled_gap <= 1e-7
    assert solution.certificate.lower <= twin_certificate.upper and twin_certificate.lower <= solution.certificate.upper
    path = tmp_path / "certificate.json"
    save(solution, path)
    for exact in (False, True):
        assert verify(path, bound_program, formulation=bound_program.formulation, exact=exact)
    document = json.loads(path.read_text())
    document["claim"]["lower"] += 1e-4
    path.write_text(json.dumps(document))
    assert not verify(path, bound_program, formulation=bound_program.formulation)


def test_edge_formulas_pass_the_checks() -> None:
    check_edge(edge_formula("exp(e) + max(e - 1/4, 0)**2 + huber(e, 1/2)"), 2).raise_if_failed()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("e**3", "second derivative"),
        ("sqrt(e)", r"\bpower 1/2\b"),
        ("1/e", r"\bpower -1\b"),
        ("d**2", "name 'd'"),
        ("max(e, 0)", "slope jumps"),
        ("exec(e)", "calls 'exec'"),
    ],
    ids=("cube", "root", "inverse", "name", "kink", "call"),
)
def test_nonconvex_formulas_are_refused(text: str, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        edge_formula(text)
    with typechecker.unchecked(), pytest.raises(Rejected, match=message):
        ParsedFormula.parse(text, {}, "e").edge_function(FloatBalls(), 2)


def test_weights_must_sum_to_one_and_parameters_be_numbers() -> None:
    page = prototype("hinge", lambda p, e: Hinge(e.c, 1.0), lambda p: edge_formula("e**2/4"))
    with pytest.raises(ProblemError):
        page.bind(np.eye(3)).certify(d=np.ones(3))
    with pytest.raises(ProblemError, match=r"^a\b.*\binf\b"):
        edge_formula("a*e**2", a=np.inf)
    assert edge_formula("a*e**2", a=2.0).latex == "a e_q^{2}"
    flat = prototype(
        "cap", lambda p, e: CappedSimplexIndicator(CappedSimplex(e.c, 2.0)), lambda p: edge_formula("log(1 + exp(e))")
    )
    assert "interior" in flat.bind(np.eye(3)).cones


def test_progress_beside_a_cap_shows_the_value_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    G = edge_formula("exp(a*e)/a", a=3.0)
    page = prototype("edges", lambda p, e: CappedSimplexIndicator(CappedSimplex(e.c, 4.0)), lambda p: G)
    X = np.random.default_rng(0).normal(size=(20, 2))
    run = boost(page, DecisionStumps(X, np.where(X[:, 0] > 0, 1, -1)), max_rounds=1, progress=True)
    assert "value of the program" in capsys.readouterr().err
    assert run.problem.objective is None and run.problem.measure == "value of the program"
