"""Every formulation is the same program elsewhere: read slowly, solved by others, the answers certified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prototypes.tsallis import tsallis
from slow_readers import by_name, read_cbf, solve_cbf, solve_mps, weights
from support.random_programs import draw_program
from support.speeds import many

from boostopt import Program, get_formulation, list_formulations
from boostopt.exporting import export

pytestmark = pytest.mark.every(2)

SIDES = ("primal", "dual")
LINEAR = ("l1_adaboost", "lp_adaboost", "lp_reg_adaboost", "lpboost")
QUADRATIC = ("qp_reg_adaboost", "svm")
TOLERANCE = 1e-6
"""Of the certified gap: all that is asked is that it is the same program."""

USUAL = {
    **{"nu": 12.0, "C": 0.7, "gamma": 0.3, "eta": 5.0, "rho": 0.05, "r": 0.4, "p": 3.0, "phi": 0.4, "b": 0.3},
    **{"smallest_edge": 0.1, "accuracy": 0.05, "minimum_margin": 0.1, "smooth_margin": 0.1, "next_smooth_margin": 0.1},
}
"""Parameters under which every program below has an optimum."""


def random_program(name: str, N: int = 40, t: int = 8) -> Program:
    """Uneven multiplicities, a reference distribution where there is one, no parameter at a whole number."""
    rng = np.random.default_rng(5)
    page = get_formulation(name)
    U = rng.uniform(-1, 1, (N, page.columns or t))
    c = rng.uniform(0.5, 2, N)
    options: dict[str, Any] = {key: value for key, value in USUAL.items() if key in page.parameters}
    if "penalty" in page.parameters:
        options["penalty"] = rng.uniform(0, 1, N)
    if page.uses_reference:
        d0 = c * rng.uniform(0.5, 1.5, N)
        options["d0"] = d0 / d0.sum()
    return page.bind(U, c=c, **options)


def programs(name: str) -> list[Program]:
    return [get_formulation(name).example_program(), random_program(name)]


def assert_answered(program: Program, side: str, variables: np.ndarray, multipliers: np.ndarray, value: float) -> None:
    """Check that the variables and multipliers are d and w without a sign or a factor, and that the optimum agrees."""
    d, w = (variables, multipliers) if side == "primal" else (multipliers, variables)
    certificate = program.certify(d, w)
    assert certificate.scaled_gap <= TOLERANCE
    assert not certificate.infeasible
    scale = max(1.0, abs(certificate.lower), abs(certificate.upper))
    assert value * (1 if side == "primal" else -1) == pytest.approx(certificate.lower, abs=TOLERANCE * scale)
    # The residuals of the answer before any repair show a wrong sign or a wrong factor of w or d.
    assert max(certificate.kkt.residuals.values()) < 2e-5


def solved_from_cbf(program: Program, side: str, path: Path) -> tuple[np.ndarray, np.ndarray, float, str]:
    export(program, path, side)
    x, y, value, status = solve_cbf(read_cbf(path))
    N, t = program.margins.shape
    n_variables, n_multipliers = (N, t) if side == "primal" else (t, N)
    return x[:n_variables], y[:n_multipliers], value, status


@pytest.mark.every(8)
@pytest.mark.fast_cases("unnormalized_erlpboost-primal")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", list_formulations())
def test_a_program_from_cbf_is_the_same_program(tmp_path: Path, name: str, side: str) -> None:
    for program in programs(name):
        variables, multipliers, value, status = solved_from_cbf(program, side, tmp_path / "model.cbf")
        assert status in ("Solved", "AlmostSolved")
        assert_answered(program, side, variables, multipliers, value)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", LINEAR + QUADRATIC)
def test_a_program_from_mps_is_the_same_program(tmp_path: Path, name: str, side: str) -> None:
    for program in programs(name):
        export(program, tmp_path / "model.mps", side)
        # HiGHS's quadratic solver ends in an error where it is to be more accurate than by default.
        highs = solve_mps(tmp_path / "model.mps", 1e-7 if name in QUADRATIC else 1e-9)
        assert highs.modelStatusToString(highs.getModelStatus()) == "Optimal"
        N, t = program.margins.shape
        columns, rows = by_name(highs)
        d, w = (columns, rows) if side == "primal" else (rows, columns)
        solution = {"primal": weights(d, "d", N), "dual": weights(w, "w", t)}
        value = highs.getInfo().objective_function_value
        assert_answered(program, side, solution[side], solution["dual" if side == "primal" else "primal"], value)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("name", ["norm_ball", "norm_penalty"])
def test_norms_are_cones(tmp_path: Path, name: str, p: float, side: str) -> None:
    rng = np.random.default_rng(2)
    program = get_formulation(name).bind(rng.uniform(-1, 1, (30, 6)), r=0.6, p=p)
    variables, multipliers, value, _ = solved_from_cbf(program, side, tmp_path / "model.cbf")
    assert_answered(program, side, variables, multipliers, value)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", ["norm_ball", "norm_penalty"])
def test_the_largest_norm_is_linear(tmp_path: Path, name: str, side: str) -> None:
    rng = np.random.default_rng(3)
    program = get_formulation(name).bind(rng.uniform(-1, 1, (30, 6)), r=0.08, p=np.inf, c=rng.uniform(0.5, 2, 30))
    export(program, tmp_path / "model.mps", side)
    highs = solve_mps(tmp_path / "model.mps")
    columns, rows = by_name(highs)
    d, w = (columns, rows) if side == "primal" else (rows, columns)
    assert program.certify(weights(d, "d", 30), weights(w, "w", 6)).scaled_gap <= TOLERANCE


@pytest.mark.every(2)
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "binary_erlpboost", "log_loss"])
def test_edges_of_both_signs_count(tmp_path: Path, name: str, two_sided: bool) -> None:
    rng = np.random.default_rng(4)
    page = get_formulation(name)
    options = {key: value for key, value in {"nu": 6.5, "eta": 7.0}.items() if key in page.parameters}
    program = page.bind(rng.choice([-1, 0, 1], (25, 5)), two_sided=two_sided, **options)
    for side in SIDES:
        variables, multipliers, value, _ = solved_from_cbf(program, side, tmp_path / "model.cbf")
        assert_answered(program, side, variables, multipliers, value)


def test_power_cones_of_a_regularizer_of_ones_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    program = tsallis.bind(rng.uniform(-1, 1, (20, 4)), nu=5, q=1.25, eta=2.0)
    assert program.cones >= {"power"}
    variables, multipliers, value, _ = solved_from_cbf(program, "primal", tmp_path / "model.cbf")
    assert_answered(program, "primal", variables, multipliers, value)
    file = read_cbf(tmp_path / "model.cbf")
    assert {kind for kind, _ in file.cones} >= {"@0:POW"}
    assert file.powers == [[0.8, pytest.approx(0.2)]]


@pytest.mark.parametrize("side", SIDES)
def test_programs_without_an_optimum_have_none_in_other_tools(tmp_path: Path, side: str) -> None:
    U = np.array([[1.0, 0.5], [0.75, 1.0], [1.0, 1.0]])  # all edges are at least 1/2
    program = get_formulation("softboost").bind(U, nu=1, gamma=0.25)
    variables, multipliers, _, status = solved_from_cbf(program, side, tmp_path / "model.cbf")
    assert status == ("PrimalInfeasible" if side == "primal" else "DualInfeasible")
    # The solver's proof, a ray of w, is a proof here too.
    assert program.certify(w=multipliers if side == "primal" else variables).infeasible


@pytest.mark.parametrize(
    "name", ["erlpboost", "lpboost", "qp_reg_adaboost", "softboost", "svm", "unnormalized_erlpboost"]
)
def test_random_programs_with_all_that_is_awkward(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(many(6, 2)):
        program = draw_program(rng, name, largest_N=40, largest_t=6, largest_eta=50.0)
        reference = program.solve(tol=1e-9).certificate
        for side in SIDES:
            variables, multipliers, _, _ = solved_from_cbf(program, side, tmp_path / "model.cbf")
            d, w = (variables, multipliers) if side == "primal" else (multipliers, variables)
            certificate = program.certify(d, w)
            assert certificate.infeasible == reference.infeasible
            assert certificate.scaled_gap <= TOLERANCE
