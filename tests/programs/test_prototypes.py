"""A piece that a user adds in ten lines from outside the package is as good as a built-in one."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from support.problems import noisy_stumps
from support.speeds import many
from typer.testing import CliRunner

import boostopt
from boostopt.authoring import Backend, CvxpyRegularizer
from boostopt.cli import app

pytestmark = pytest.mark.every(2)

FOLDER = Path(__file__).parents[1] / "prototypes"
N, T = 300, 15
GROUP = (np.arange(N) < 60).astype(float)

PARAMETERS: dict[str, dict[str, Any]] = {
    "tsallis": {"nu": 30, "eta": 1.0},
    "group_cap": {"nu": 30, "eta": 50.0, "group": GROUP, "share": 0.1},
    "quadratic_risk": {"nu": 30, "risk": 2.0},
    "smoothed_maximum": {"nu": 30},
}


def bind(name: str, U: np.ndarray | None = None, **parameters: Any) -> boostopt.Program:
    page = boostopt.get_formulation(FOLDER / f"{name}.py")
    return page.bind(noisy_stumps(N, T) if U is None else U, **(PARAMETERS[name] | parameters))


@pytest.mark.thorough_cases("group_cap-cvxpy:clarabel", "quadratic_risk-cvxpy:clarabel")
@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_prototype_solves_certifies_and_compares_at_once(name: str, backend: str) -> None:
    program = bind(name)
    solution = program.solve(backend, tol=1e-6)
    assert solution.certificate.gap <= 1e-6
    assert solution.certificate.lower <= solution.certificate.upper
    assert (solution.certificate.example_gaps >= 0).all()
    assert (solution.certificate.hypothesis_gaps >= 0).all()
    assert max(program.regularizer.residuals(solution.d).values()) < 1e-12


@pytest.mark.thorough_cases("quadratic_risk")
@pytest.mark.parametrize("name", PARAMETERS)
def test_backends_agree_on_a_prototype(name: str) -> None:
    comparison = boostopt.compare(bind(name), ["cvxpy:clarabel", "cvxpy:scs"], tol=1e-6)
    assert comparison.overlap
    assert comparison.has_target_gap


@pytest.mark.every(3)
@pytest.mark.parametrize("name", PARAMETERS)
def test_no_answer_breaks_the_bound_of_a_prototype(name: str) -> None:
    """Bounds by tangents hold at any d: noise in place of answers, against the certified optimum."""
    rng = np.random.default_rng(0)
    program = bind(name)
    best = program.solve("cvxpy:clarabel", tol=1e-6).certificate
    for _ in range(many(6, 2)):
        d = rng.dirichlet(np.ones(N)) + rng.normal(size=N) * rng.choice([0.0, 1e-3])
        noise = program.certify(d=d, w=rng.normal(size=T))
        assert noise.lower <= best.upper
        assert noise.upper >= best.lower


@pytest.mark.thorough
def test_the_group_cap_is_felt() -> None:
    free, capped = bind("group_cap", share=0.999), bind("group_cap", share=0.02)
    wide, narrow = free.solve(tol=1e-6), capped.solve(tol=1e-6)
    assert GROUP @ wide.d > 0.05
    assert GROUP @ narrow.d == pytest.approx(0.02, abs=1e-6)
    assert narrow.certificate.lower > wide.certificate.upper
    # Against a solver that knows nothing of this package, on the same program in its own words.
    loose = capped.certify(d=wide.d, w=narrow.w)
    assert GROUP @ loose.d <= 0.02 + 1e-12


def test_the_quadratic_risk_against_an_independent_solver() -> None:
    rng = np.random.default_rng(1)
    U = rng.uniform(-1, 1, (12, 3))
    program = bind("quadratic_risk", U, nu=3)
    Q = 2.0 * 0.9 ** np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    answer: Any = scipy.optimize.minimize(
        lambda x: x[12] + x[:12] @ Q @ x[:12],
        np.append(np.full(12, 1 / 12), 1.0),
        jac=lambda x: np.append(2 * Q @ x[:12], 1.0),
        bounds=[*[(0, 1 / 3)] * 12, (None, None)],
        constraints=[
            {"type": "eq", "fun": lambda x: x[:12].sum() - 1, "jac": lambda x: np.append(np.ones(12), 0.0)},
            {
                "type": "ineq",
                "fun": lambda x: x[12] - U.T @ x[:12],
                "jac": lambda x: np.column_stack([-U.T, np.ones(3)]),
            },
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    certificate = program.solve(tol=1e-7).certificate
    assert certificate.lower - 1e-8 <= answer.fun <= certificate.upper + 1e-6


@pytest.mark.thorough
def test_the_smoothed_maximum_tends_to_lpboost() -> None:
    """(1/tau) ln mean exp(tau e) lies between max e - ln t / tau and max e."""
    hard = boostopt.get_formulation("lpboost").bind(noisy_stumps(N, T), nu=30).solve(tol=1e-9).certificate
    for tau in (20.0, 200.0):
        soft = bind("smoothed_maximum", tau=tau).solve("cvxpy:clarabel", tol=1e-6).certificate
        assert hard.lower - np.log(T) / tau <= soft.upper
        assert soft.lower <= hard.upper


def test_tsallis_of_order_two_is_the_quadratic() -> None:
    """Q = 2 has a closed form in the package: the cap and the squares, two pieces added."""
    from boostopt.authoring import CappedSimplex, CappedSimplexIndicator, MaximumEdge, Squares

    program = bind("tsallis", q=2.0, eta=0.5)
    c = program.examples.c
    F = CappedSimplexIndicator(CappedSimplex(c, 30.0)) + Squares(c, 4.0)
    exact = boostopt.Program(
        program.formulation, program.parameters, program.examples, program.margins, F, MaximumEdge()
    ).solve("cvxpy:clarabel", tol=1e-7)
    solution = program.solve("cvxpy:clarabel", tol=1e-7)
    assert exact.certificate.overlaps(solution.certificate)
    assert exact.certificate.gap < 1e-7


@pytest.mark.thorough
def test_a_backend_in_one_file() -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        from frank_wolfe import FrankWolfe  # pyright: ignore[reportMissingImports]
    finally:
        sys.path.remove(str(FOLDER))
    backend: Backend = FrankWolfe()  # pyright: ignore[reportUnknownVariableType]
    program = boostopt.get_formulation("erlpboost").bind(noisy_stumps(N, T), nu=30, eta=20.0)
    # Frank-Wolfe's gap falls like 1 / steps; rough, but certified like any other.
    mine = program.solve(backend, tol=5e-3)
    assert mine.certificate.scaled_gap <= 5e-3
    comparison = boostopt.compare(program, [backend, "cvxpy:clarabel"], tol=5e-3)
    assert comparison.overlap
    assert all(row.has_target_gap for row in comparison.rows)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_each_fits_in_ten_lines_beside_its_expression(path: Path) -> None:
    """Statements that are neither documentation nor imports nor the parameters' meanings, the expression apart."""
    tree = ast.parse(path.read_text())
    statement = next(node for node in tree.body if isinstance(node, ast.Assign | ast.ClassDef))
    lines = path.read_text().splitlines()[statement.lineno - 1 : statement.end_lineno]
    code = [line for line in lines if line.strip() and "parameter(" not in line and '"""' not in line]
    assert len(code) <= 12  # the call's first and last line among them


@pytest.mark.thorough
def test_a_prototype_on_the_command_line() -> None:
    options = "--data iris --positive 0 --columns 6 --nu 20 --eta 2 --backends cvxpy:clarabel --tol 1e-6"
    result = CliRunner().invoke(app, ["compare", str(FOLDER / "tsallis.py"), *options.split()])
    assert result.exit_code == 0, result.output
    assert "tsallis" in result.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f": lambda cp, d: -cp.sum_squares(d)}, r"^f\b.*\bCONCAVE\b"),
        ({"f": lambda cp, d: d}, r"^f\b.*\bscalar\b"),
        ({"inside": np.eye(6)[0]}, r"^inside\b.* 0\.5\."),
        ({"inside": np.ones(5) / 5}, r"^inside\b.* 6 "),
        ({"constraints": lambda d: [d[0] <= 1 / 6]}, r"^inside\b.* = \S"),
        ({"constraints": lambda d: [d[0] == 0.1]}, r"^the constraints of f\b.*\binner point\b.*\bnone\b"),
        ({"f": lambda cp, d: cp.sum(cp.inv_pos(d - 0.2))}, r"^inside\b.* = 0\.0333\."),
    ],
    ids=("concave", "vector", "vertex", "short", "boundary", "equality", "no value"),
)
def test_unbounded_prototypes_are_refused(change: dict[str, Any], message: str) -> None:
    import cvxpy as cp

    from boostopt.authoring import CappedSimplex

    options: dict[str, Any] = {
        "f": lambda cp, d: cp.sum_squares(d),
        "inside": np.ones(6) / 6,
        "constraints": lambda d: [],
    } | change
    with pytest.raises(boostopt.ProblemError, match=message):
        CvxpyRegularizer(
            CappedSimplex(np.ones(6), 2.0), lambda d: options["f"](cp, d), options["inside"], options["constraints"]
        )
