"""The master problem: boostopt's interior point against the rivals, side by side in one run.

Each function measures one line of the report: what was solved, seconds and certified gap of both sides, the ratio, and
what it was meant to be. The data are stump matrices with one label in ten turned over.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from support.problems import noisy_stumps

from boostopt import Program, Solution, get_backend, get_formulation, solve
from boostopt.backends.cvxpy.cvxpy_backend import CvxpyBackend
from boostopt.backends.cvxpy.solver_options import FORMS
from boostopt.rows.margin_matrix import MarginMatrix

OURS, TOL, RIVAL_TOL = "interior", 1e-9, 1e-6
RIVAL_SECONDS = 30.0
ETAS = (46.0, 460.0, 2e4, 1e6)
LINEAR_FORMS = ("primal", "density", "dual")


@dataclass(frozen=True)
class Line:
    """A line of the report.

    Attributes
    ----------
    work
        The program that was solved.
    ours, gap, iterations
        Median seconds, certified scaled gap and iterations of boostopt's own.
    rival, theirs, rival_gap
        The other side, its seconds and gap; "" and nan where there is none.
    figure, target, is_met
        The figure that counts in words, what it was meant to be, and whether it is.
    """

    work: str
    ours: float
    gap: float
    iterations: int
    rival: str
    theirs: float
    rival_gap: float
    figure: str
    target: str
    is_met: bool


class LocalCvxpyBackend(CvxpyBackend):
    """A rival that is measured in this process, with a limit that its solver alone is asked to keep."""

    def keeps_limit(self, program: Program) -> bool:
        return True


CLOCK = time.perf_counter
"""The clock. A test on busy cores uses the time of the process instead."""


def timed(run: Callable[[], Solution], repeats: int) -> tuple[Solution, float]:
    """Return the last solution and the median seconds, after one run to warm up."""
    solution = run()
    seconds = list[float]()
    for _ in range(repeats):
        began = CLOCK()
        solution = run()
        seconds.append(CLOCK() - began)
    return solution, statistics.median(seconds)


def fastest(program: Program, solver: str, forms: tuple[str, ...], tol: float) -> tuple[str, float, float]:
    """Return (form, seconds, gap) of the solver's fastest form that reaches `tol`, of the narrowest if none does."""
    measurements = list[tuple[str, float, float]]()
    for form in forms:
        backend = LocalCvxpyBackend(solver.upper(), FORMS[form])
        began = CLOCK()
        solution = solve(program, backend, tol=tol, time_limit=RIVAL_SECONDS, merge=False)
        measurements.append((f"{solver}, {form}", CLOCK() - began, solution.certificate.scaled_gap))
    accurate = [measurement for measurement in measurements if measurement[2] <= tol]
    if accurate:
        return min(accurate, key=lambda measurement: measurement[1])
    form, seconds, gap = min(measurements, key=lambda measurement: measurement[2])
    return f"{form} (not reached)", seconds, gap


def against(work: str, program: Program, solver: str, forms: tuple[str, ...], factor: float, repeats: int) -> Line:
    """Return our time against a solver's best form through CVXPY."""
    solution, ours = timed(lambda: program.solve(OURS, tol=TOL), repeats)
    form, theirs, gap = fastest(program, solver, forms, RIVAL_TOL)
    gap_ours = solution.certificate.scaled_gap
    is_met = gap_ours <= TOL and theirs / ours >= factor
    return Line(
        work,
        ours,
        gap_ours,
        solution.iterations or 0,
        form,
        theirs,
        gap,
        f"1/{theirs / ours:.0f} of its time",
        f"gap <= 1e-9 in <= 1/{factor:g}",
        is_met,
    )


def entropies(repeats: int, quick: bool) -> Iterator[Line]:
    """Entropy programs at N = 5000, t = 50 against CVXPY with Clarabel."""
    N, t = 5000, 50
    U, forms = noisy_stumps(N, t), ("dual-rated",) if quick else tuple(FORMS)
    for eta in ETAS[1:3] if quick else ETAS:
        for name in ("erlpboost", "binary_erlpboost"):
            program = get_formulation(name).bind(U, nu=0.1 * N, eta=eta)
            yield against(f"{name}, N={N}, t={t}, eta={eta:g}", program, "clarabel", forms, 40.0, repeats)
    for gamma in (0.05,) if quick else (0.01, 0.05, 0.2):
        program = get_formulation("softboost").bind(noisy_stumps(N, 2 * t)[:, ::2], nu=0.1 * N, gamma=gamma)
        yield against(f"softboost, N={N}, t={t}, gamma={gamma:g}", program, "clarabel", forms, 40.0, repeats)
    if not quick:
        program = get_formulation("erlpboost").bind(U, nu=0.1 * N, eta=460.0)
        yield against(f"erlpboost, N={N}, t={t}, eta=460", program, "scs", ("primal", "dual-rated"), 40.0, repeats)


def linear_and_quadratic(repeats: int, quick: bool) -> Iterator[Line]:
    """Linear and quadratic programs at N = 5000, t = 50."""
    N, t = 5000, 50
    U = noisy_stumps(N, 2 * t)[:, ::2]
    forms = ("primal",) if quick else LINEAR_FORMS
    programs = {
        "lpboost": get_formulation("lpboost").bind(U, nu=0.1 * N),
        "lp_reg_adaboost": get_formulation("lp_reg_adaboost").bind(U, C=10.0 / N),
        "qp_reg_adaboost, C=0.1": get_formulation("qp_reg_adaboost").bind(U, C=0.1),
        "qp_reg_adaboost, C=1": get_formulation("qp_reg_adaboost").bind(U, C=1.0),
    }
    for name, program in programs.items():
        if not quick or name != "lp_reg_adaboost":
            yield against(f"{name}, N={N}, t={t}", program, "clarabel", forms, 10.0, repeats)
    yield linprog_line(programs["lpboost"], f"lpboost, N={N}, t={t}", repeats)


def linprog_line(program: Program, work: str, repeats: int) -> Line:
    """LPBoost against scipy's linprog on the primal."""
    U, N = program.margins.to_array(), program.margins.N

    def rival() -> Any:
        cost = np.append(np.zeros(N), 1.0)
        rows = np.column_stack([U.T, -np.ones(U.shape[1])])
        total = np.append(np.ones(N), 0.0)[np.newaxis]
        caps = [*[(0.0, 1.0 / program.parameters.nu)] * N, (None, None)]
        return linprog(cost, A_ub=rows, b_ub=np.zeros(U.shape[1]), A_eq=total, b_eq=[1.0], bounds=caps)

    solution, ours = timed(lambda: program.solve(OURS, tol=TOL), repeats)
    began = CLOCK()
    answer = rival()
    theirs = CLOCK() - began
    certificate = program.certify(answer.x[:N], -answer.ineqlin.marginals)
    gap = solution.certificate.scaled_gap
    return Line(
        work,
        ours,
        gap,
        solution.iterations or 0,
        "scipy linprog",
        theirs,
        certificate.scaled_gap,
        f"1/{theirs / ours:.1f} of its time",
        "faster",
        gap <= TOL and theirs > ours,
    )


def peak_bytes(program: Program) -> int:
    """Return the most memory that a solve takes above what is there before it."""
    tracemalloc.start()
    program.solve(OURS, tol=TOL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def large(quick: bool) -> Iterator[Line]:
    """Programs that must fit: seconds, iterations and memory above the caller's U."""
    N, t = 30_000, 200
    for share in (0.1,) if quick else (0.1, 0.3):
        U = np.ascontiguousarray(noisy_stumps(N, t), dtype=np.float64)
        yield fitting(U, share, seconds=6.0, memory=0.5 * U.nbytes, iterations=35)
    if not quick:
        yield fitting(noisy_stumps(200_000, 100), 0.1, seconds=20.0, memory=500e6, iterations=60)


def fitting(U: np.ndarray, share: float, seconds: float, memory: float, iterations: int) -> Line:
    """ERLPBoost within seconds, bytes above U and iterations."""
    N, t = U.shape
    program = get_formulation("erlpboost").bind(U, nu=share * N, eta=2e4)
    solution, spent = timed(lambda: program.solve(OURS, tol=TOL), 1)
    peak, iteration_count, gap = peak_bytes(program), solution.iterations or 0, solution.certificate.scaled_gap
    share_of_U = peak / (8 * N * t)
    return Line(
        f"erlpboost, N={N}, t={t}, nu={share:g}N, eta=2e4, {U.dtype}",
        spent,
        gap,
        iteration_count,
        "",
        np.nan,
        np.nan,
        f"{iteration_count} iterations, {spent:.1f} s, {peak / 1e6:.0f} MB above U ({share_of_U:.2f} of it as float64)",
        f"<= {iterations} iterations, {seconds:g} s, {memory / 1e6:.0f} MB",
        gap <= TOL and spent <= seconds and peak <= memory and iteration_count <= iterations,
    )


def appended(quick: bool) -> Iterator[Line]:
    """Columns of largest edge join one after another, as in boosting: iterations warm over cold, from t = 30 on."""
    N, first, last = 5000, 30, 40 if quick else 60
    pool = noisy_stumps(N, 400, 1)
    for eta in (460.0,) if quick else (46.0, 460.0, 2e4):
        formulation, margins = get_formulation("erlpboost"), MarginMatrix(pool[:, :1])
        parameters = {"nu": 0.1 * N, "eta": eta}
        solution = formulation.bind(margins, **parameters).solve(OURS, tol=TOL)
        shares, warm, cold = list[float](), 0, 0
        ours = theirs = 0.0
        while margins.t < last:
            margins = margins.append(pool[:, int(np.argmax(pool.T @ solution.d))])
            program = formulation.bind(margins, **parameters)
            began = CLOCK()
            solution = program.solve(OURS, tol=TOL, start=solution)
            spent = CLOCK() - began
            if margins.t <= first:
                continue
            began = CLOCK()
            unmerged = program.solve(OURS, tol=TOL, merge=False)
            ours, theirs = ours + spent, theirs + CLOCK() - began
            cold, warm = cold + (unmerged.iterations or 0), warm + (solution.iterations or 0)
            shares.append((solution.iterations or 0) / max(unmerged.iterations or 0, 1))
        yield Line(
            f"columns {first + 1} to {last} appended to erlpboost, N={N}, eta={eta:g}",
            ours,
            solution.certificate.scaled_gap,
            warm,
            "cold",
            theirs,
            TOL,
            f"median {statistics.median(shares):.0%} of the iterations, {warm / cold:.0%} in all",
            "<= 50 %",
            statistics.median(shares) <= 0.5,
        )


def polished(repeats: int, quick: bool) -> Iterator[Line]:
    """SCS's answer at its default accuracy made fine, against solving from nothing."""
    N, t = 5000, 50
    U = noisy_stumps(N, 2 * t)[:, ::2]
    for eta in (460.0,) if quick else (46.0, 460.0, 2e4):
        program = get_formulation("erlpboost").bind(U, nu=0.1 * N, eta=eta)
        # SCS at CVXPY's default accuracy of 1e-5.
        rough = solve(program, get_backend("cvxpy:scs:primal"), tol=1e-4, time_limit=RIVAL_SECONDS, merge=False)
        solution, ours = timed(lambda rough=rough: rough.polish(TOL), repeats)
        cold, theirs = timed(lambda program=program: program.solve(OURS, tol=TOL, merge=False), repeats)
        gap = solution.certificate.scaled_gap
        yield Line(
            f"polish of SCS's answer (gap {rough.certificate.scaled_gap:.0e}), erlpboost, N={N}, t={t}, eta={eta:g}",
            ours,
            gap,
            solution.iterations or 0,
            "cold interior",
            theirs,
            cold.certificate.scaled_gap,
            f"{ours / theirs:.0%} of its time",
            "gap <= 1e-9 in <= 60 %",
            gap <= TOL and ours <= 0.6 * theirs,
        )
