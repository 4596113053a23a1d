"""Every formulation against itself, its print and two solvers, on random instances: nothing here names its formulas."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from support.problems import draw, junk_answer
from support.speeds import many

import boostopt
from boostopt import Program, get_formulation, list_formulations
from boostopt.authoring import Separable
from boostopt.solving.solution import Outcome

pytestmark = pytest.mark.every(3)

NAMES = tuple(list_formulations())
INSTANCES = many(20, 3)


@dataclass(frozen=True)
class Instance:
    """The data of a random program, and the best edges over the capped simplex and over the simplex."""

    U: np.ndarray
    c: np.ndarray | None
    d0: np.ndarray | None
    nu: float
    eta: float
    rng: np.random.Generator

    @property
    def support(self) -> np.ndarray:
        return np.ones(len(self.U), dtype=bool) if self.d0 is None else self.d0 > 0

    def best_edge(self, nu: float) -> float:
        """Return the smallest maximum edge over the capped simplex of the support, by SciPy."""
        U, counts = self.U[self.support], (np.ones(len(self.U)) if self.c is None else self.c)[self.support]
        N, t = U.shape
        answer: Any = scipy.optimize.linprog(
            np.append(np.zeros(N), 1.0),
            A_ub=np.column_stack([U.T, -np.ones(t)]),
            b_ub=np.zeros(t),
            A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
            b_eq=[1.0],
            bounds=[*((0, count / nu) for count in counts), (None, None)],
        )
        return float(answer.fun)


def instance(rng: np.random.Generator, with_boundary: bool = False) -> Instance:
    """Draw one of a moderate size and strength: what is tested here is formulas, not solvers at their limits."""
    while True:
        sample = draw(rng, largest_N=60, largest_t=8, largest_eta=80)
        counts = np.ones(len(sample.U)) if sample.c is None else sample.c
        total = counts.sum() if sample.d0 is None else counts[sample.d0 > 0].sum()
        # Print hands d itself to the solver: weights of 1e-9 are the density forms' business.
        scaled = with_boundary or sample.d0 is None or float(sample.d0[sample.d0 > 0].min()) > 1e-4
        if len(sample.U) >= 12 and sample.U.shape[1] >= 2 and total > 2 and scaled:
            # A single feasible d leaves solvers no interior; there the certificate alone is tested.
            nu = sample.nu if with_boundary else max(1.0, min(sample.nu, 0.9 * total))
            return Instance(sample.U, sample.c, sample.d0, nu, max(sample.eta, 0.7), rng)


def parameters(page: Any, problem_data: Instance) -> dict[str, Any]:
    """Return values for the parameters of a page, by name."""
    rng, names = problem_data.rng, page.parameters
    total = float(len(problem_data.U) if problem_data.c is None else problem_data.c.sum())
    flag = bool(rng.random() < 0.5)
    values: dict[str, Any] = {
        "nu": problem_data.nu,
        "eta": problem_data.eta,
        "two_sided": flag,
        "segment": flag,
        "C": float(np.exp(rng.uniform(-2, 1))),
        "phi": float(rng.uniform(0.2, 0.7)),
        "rho": float(rng.uniform(-0.2, 0.2)),
        "minimum_margin": float(rng.uniform(-0.5, 0.3)),
        "smooth_margin": float(rng.uniform(-0.5, 0.3)),
        "next_smooth_margin": float(rng.uniform(0.0, 0.3)),
        "smallest_edge": float(rng.uniform(0.05, 0.3)),
        "accuracy": 0.05,
        "b": float(rng.uniform(0.1, 3)),
        "penalty": rng.uniform(-0.3, 0.3, len(problem_data.U)),
        "p": float(rng.choice([2.0, 1.5, 3.0, math.inf])),
        "r": float(rng.uniform(0.2, 1.0)),
    }
    if page.name == "lp_reg_adaboost":
        values["C"] = 1.0 / rng.uniform(1.0, total)
    if page.name.startswith("norm"):
        values["eta"] = math.inf if rng.random() < 0.5 else problem_data.eta
    if page.name == "norm_ball":
        support = problem_data.support if math.isfinite(values["eta"]) else np.ones(len(problem_data.U), dtype=bool)
        counts = np.ones(len(problem_data.U)) if problem_data.c is None else problem_data.c
        # The least norm of a distribution on the examples that may have weight, and a little more.
        values["r"] = float(counts[support].sum()) ** (1.0 / values["p"] - 1.0) * float(rng.uniform(1.05, 2.0))
    if "gamma" in names:
        nu = problem_data.nu if "nu" in names else 1.0
        # Most programs feasible with a little room, some infeasible.
        values["gamma"] = float(np.clip(problem_data.best_edge(nu) + rng.choice([0.02, 0.1, 0.3, -0.05]), -1, 1))
    return {name: values[name] for name in names if name in values}


def bind(name: str, problem_data: Instance) -> Program:
    """Bind a page to an instance, with as many columns and as many ingredients as it takes."""
    page = get_formulation(name)
    # Equations for many columns leave hardly any weights: a few are enough.
    columns = 3 if name == "entropy_projection" else page.columns
    U, d0 = problem_data.U[:, :columns], problem_data.d0 if page.uses_reference else None
    counts = np.ones(len(U)) if problem_data.c is None else problem_data.c
    values = parameters(page, problem_data)
    if d0 is not None and name.find("binary") >= 0:
        # The binary entropy needs d0 within the caps; an ulp below one is an infinite slope that no solver can model.
        d0 = boostopt.project_capped_simplex(d0, values["nu"], counts)
        if values["nu"] < 0.999 * counts.sum():
            d0 = 0.99 * d0 + 0.01 * counts / counts.sum()
    return page.bind(U, c=problem_data.c, d0=d0, **values)


def optimum(problem: Any) -> float:
    """The value as the solver computed it: at a solver's d that of an entropy is often inf. inf if infeasible."""
    import cvxpy as cp

    for accuracy in (1e-11, 1e-10, 1e-9, 1e-8):  # asked for too much, Clarabel sometimes ends with much less
        tight = {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy, "tol_feas": accuracy, "max_iter": 500}
        problem.solve("CLARABEL", **tight, accept_unknown=True)
        if "inaccurate" not in problem.status:
            break
    sign = 1 if isinstance(problem.objective, cp.Minimize) else -1
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        return sign * np.inf
    if problem.status in ("unbounded", "unbounded_inaccurate"):
        return -sign * np.inf
    return float(problem.solution.opt_val)


def decided(program: Program) -> bool:
    """Return whether edge constraints leave room, or fail clearly: at the boundary the dual optimum is not attained.

    Largest s such that weights with s / 100 of room to their caps and to 0 satisfy the equations, the inequalities
    with s to spare; by scipy.
    """
    allowed, F = program.edge_function.domain(program.margins.t), program.regularizer
    if allowed is None or not F.on_simplex:
        return True
    assert isinstance(F, Separable)
    U, A, upper = program.margins.to_array(), allowed.rows(program.margins.t), F.upper
    equation = allowed.low == allowed.high
    rows, room = A @ U.T, (upper - F.lower) / 100
    answer: Any = scipy.optimize.linprog(
        np.append(np.zeros(len(U)), -1.0),
        A_ub=np.block(
            [
                [rows[~equation], np.ones(((~equation).sum(), 1))],
                [np.eye(len(U)), room[:, np.newaxis]],
                [-np.eye(len(U)), room[:, np.newaxis]],
            ]
        ),
        b_ub=np.concatenate([allowed.high[~equation], upper, -F.lower]),
        A_eq=np.block([[rows[equation], np.zeros((equation.sum(), 1))], [np.ones(len(U)), np.zeros(1)]]),
        b_eq=np.append(allowed.high[equation], 1.0),
        bounds=(None, None),
    )
    return answer.status != 0 or abs(float(answer.x[-1])) > 0.01


def programs(name: str, count: int, seed: int = 0, with_boundary: bool = False) -> list[Program]:
    """Return random programs of a formulation. `with_boundary` includes programs at the boundary of feasibility."""
    rng = np.random.default_rng(
        [seed, zlib.crc32(name.encode())]
    )  # a new page does not change the programs of other pages
    programs_of_name = list[Program]()
    while len(programs_of_name) < count:
        program = bind(name, instance(rng, with_boundary))
        if with_boundary or decided(program):
            programs_of_name.append(program)
    return programs_of_name


@pytest.mark.thorough_cases(
    "adaboost",
    "adaboost_star",
    "ata",
    "cg_boost",
    "corrective_erlpboost",
    "norm_penalty",
    "softboost",
    "unnormalized_erlpboost",
)
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("name", NAMES)
def test_primal_dual_literal_and_derived_agree(name: str) -> None:
    """Separate solves satisfy strong duality, and literal problems agree with derived ones, to 1e-7 max(1, |value|)."""
    for program in programs(name, INSTANCES):
        certificate = program.solve("cvxpy:clarabel", tol=1e-9).certificate
        values = {
            (side, form): optimum(program.cvxpy(side, form))
            for side in ("primal", "dual")
            for form in ("literal", "derived")
        }
        if certificate.infeasible:
            assert set(values.values()) == {np.inf}, (program, values)
            continue
        scale = max(1.0, abs(certificate.upper))
        for formulation_side, value in values.items():
            assert abs(value - certificate.lower) <= 1e-7 * scale + certificate.gap, (
                program,
                formulation_side,
                values,
                certificate,
            )


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_two_solvers_overlap(name: str) -> None:
    for program in programs(name, 6, seed=1):
        comparison = boostopt.compare(program, ["cvxpy:clarabel", "cvxpy:scs"], tol=1e-6, time_limit=20.0)
        assert comparison.overlap, comparison
        assert comparison.has_target_gap, comparison


@pytest.mark.every(4)
@pytest.mark.thorough_cases("norm_penalty")
@pytest.mark.parametrize("name", NAMES)
def test_recovery_from_d_alone_certifies(name: str) -> None:
    """From a d of Clarabel's accuracy the active sets give a w that proves 1e-6."""
    for program in programs(name, INSTANCES, seed=2):
        solution = program.solve("cvxpy:clarabel", tol=1e-8)
        if solution.outcome is Outcome.INFEASIBLE:
            continue
        recovered = program.certify(d=solution.d)
        assert recovered.scaled_gap <= 1e-6, (program, solution, recovered)


@pytest.mark.every(2)
@pytest.mark.thorough_cases(
    "adaboost", "adaboost_star", "ata", "corrective_erlpboost", "softboost", "unnormalized_erlpboost"
)
@pytest.mark.parametrize("name", NAMES)
def test_no_answer_however_bad_breaks_a_bound(name: str) -> None:
    """Noise replaces the answers of 84 programs a formulation, 4 times each. The optima are certified first."""
    rng = np.random.default_rng([3, zlib.crc32(name.encode())])
    for program in programs(name, many(84, 8), seed=3, with_boundary=True):
        reference = program.solve("cvxpy:clarabel", tol=1e-7).certificate
        N, t = program.margins.shape
        for _ in range(4):
            certificate = program.certify(d=junk_answer(rng, N), w=junk_answer(rng, t))
            assert certificate.lower <= certificate.upper
            assert certificate.overlaps(reference), (program, certificate, reference)
            assert (certificate.example_gaps >= 0).all()
            assert (certificate.hypothesis_gaps >= 0).all()
            assert not (certificate.infeasible and np.isfinite(reference.upper))
