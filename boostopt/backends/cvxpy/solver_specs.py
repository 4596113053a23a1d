"""The solvers behind CVXPY: their options, their statuses, and their ladders of attempts, one row for each solver.

A ladder varies both form and accuracy. No form is best everywhere, and a tighter tolerance may make an answer better or
worse, whatever the status says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boostopt._utils.blas_threads import max_threads
from boostopt.programs.cvxpy_models import ModelForm

PRIMAL, DENSITY = ModelForm("primal"), ModelForm("primal", relative_weights=True)
RATED, DENSITY_RATED = (
    ModelForm("primal", scaled_objective=True),
    ModelForm("primal", relative_weights=True, scaled_objective=True),
)
DUAL, DUAL_RATED = ModelForm("dual"), ModelForm("dual", scaled_objective=True)

FORMS = {
    "primal": PRIMAL,
    "density": DENSITY,
    "rated": RATED,
    "density-rated": DENSITY_RATED,
    "dual": DUAL,
    "dual-rated": DUAL_RATED,
}
"""The forms, by the name that pins a backend to one of them."""

Options = dict[str, Any]


@dataclass(frozen=True)
class Rung:
    """One attempt of a ladder: a form, the tolerance as a multiple of the gap wanted, and further options."""

    form: ModelForm
    accuracy: float
    further: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Solver:
    """The options, statuses and attempts of one solver.

    Attributes
    ----------
    package
        The distribution that has its version; the solver's own name by default.
    tolerances
        Its options for the accuracy: primal, dual and gap, as far as it distinguishes them; none if it has none.
    iterations, limit
        Its options for the largest number of iterations and for the time limit in seconds, "" for none.
    threads
        Its option for the number of threads, "" if it has none.
    constant
        Options that it gets in each attempt of the ladder.
    inside
        The option that contains all of these, "" for none.
    least, most
        The smallest and the largest accuracy that it accepts.
    finest, coarsest
        The smallest and the largest tolerance that make sense on the ladder.
    names
        The names of its options, if it ignores unknown ones silently; none if it refuses them itself.
    status
        Its own words for why it stopped, from its raw answer.
    values
        The names of its primal and dual value in its report; none if it reports no gap.
    gap
        The name of their difference, if it reports the difference instead of the dual value.
    ladder
        Attempts for programs that are not linear, the most promising first.
    linear_ladder
        Attempts for linear programs, for which the rated forms are the same as the others.
    remark
        Why a looser accuracy need not take fewer iterations, in a sentence; "" if it does.
    withheld
        Cones that the solver supports nominally but does not get, each with the reason in a sentence.
    automatic
        Whether "auto" may choose it.
    """

    package: str = ""
    tolerances: tuple[str, ...] = ()
    iterations: str = ""
    limit: str = ""
    threads: str = ""
    constant: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inside: str = ""
    least: float = 0.0
    most: float = math.inf
    finest: float = 1e-12
    coarsest: float = 1e-5
    names: tuple[str, ...] = ()
    status: Callable[[Any], str] | None = None
    values: tuple[str, ...] = ()
    gap: str = ""
    ladder: tuple[Rung, ...] = (Rung(DUAL_RATED, 1.0), Rung(DENSITY_RATED, 1.0), Rung(PRIMAL, 1.0))
    linear_ladder: tuple[Rung, ...] = (Rung(PRIMAL, 1.0), Rung(DUAL, 1.0))
    remark: str = ""
    withheld: Mapping[str, str] = field(default_factory=dict[str, str])
    automatic: bool = False

    @property
    def limited(self) -> bool:
        """Whether it takes a time limit."""
        return bool(self.limit)

    def claimed_gap(self, report: Mapping[str, float], unit: float) -> float | None:
        """Return |p - q| / max(1, |p|, |q|) of the primal and dual values p and q in its report, None without them.

        Parameters
        ----------
        report
            The values in its report, by name.
        unit
            The factor of the objective.
        """
        if not self.values:
            return None
        told = [report.get(name, math.nan) / unit for name in self.values]
        if self.gap:
            # The reported gap may lack its sign, or have either sign. So |q| is at most |p| + gap.
            told.append(told[0] - report.get(self.gap, math.nan) / unit)
        scaled = abs(told[0] - told[1]) / max(1.0, *map(abs, told))
        return scaled if math.isfinite(scaled) else None

    def pinned(self, form: ModelForm, linear: bool) -> Rung:
        """Return the only rung for one form, at the first rung's accuracy and without its limit on iterations."""
        return Rung(form, (self.linear_ladder if linear else self.ladder)[0].accuracy)

    def sent(self, rung: Rung, tol: float, seconds: float | None, users: Mapping[str, Any]) -> Options:
        """Return the options for a rung if a gap of `tol` is wanted; the user's options override all others."""
        accuracy = min(max(tol * rung.accuracy, self.finest), self.coarsest)
        return self._handed(accuracy, seconds, self.constant, rung.further, users)

    def asked(self, accuracy: float | None, seconds: float | None, users: Mapping[str, Any]) -> Options:
        """Return the options of one solve at an accuracy; None keeps the solver's defaults."""
        within = None if accuracy is None else min(max(accuracy, self.least), self.most)
        return self._handed(within, seconds, {}, {}, users)

    def _handed(
        self,
        accuracy: float | None,
        seconds: float | None,
        constant: Mapping[str, Any],
        further: Mapping[str, Any],
        users: Mapping[str, Any],
    ) -> Options:
        """Return options in the structure that the solver takes."""
        options: Options = {} if accuracy is None else dict.fromkeys(self.tolerances, accuracy)
        options |= constant
        if self.limit and seconds is not None:
            options[self.limit] = seconds
        if self.threads and (most := max_threads()) is not None:
            options[self.threads] = most
        if not self.inside:
            return {**options, **further, **users}
        together = {**options, **users}
        return {**({self.inside: together} if together else {}), **further}


VERTICES = "it goes from vertex to vertex, and a looser tolerance seldom ends it earlier"
UNCOUNTED = "CVXPY does not report its number of iterations"
HIGHS_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")

# Measured on stump matrices of noisy data, N = 569 to 5000, t = 30 to 200, eta = 46 to 2e4, and on their LPs. For
# Clarabel, the rated dual with its link m = Uw as a constraint is the fastest form (0.7 s against 3 s at N = 5000,
# t = 50). The density forms are the most accurate ones if the LP optimum is not 0. "faer" is another factorization,
# which helps if the first one breaks down. For SCS, the primal is accurate to 1e-6 or better nearly everywhere, while
# its dual forms are either very good or useless. The limits on iterations keep one bad form from taking all the time.
SOLVERS: dict[str, Solver] = {
    "CLARABEL": Solver(
        package="clarabel",
        tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        iterations="max_iter",
        limit="time_limit",
        threads="max_threads",
        coarsest=1e-8,
        automatic=True,
        status=lambda raw: str(raw.status),
        values=("obj_val", "obj_val_dual"),
        ladder=(
            Rung(DUAL_RATED, 1.0),
            Rung(DENSITY, 1.0),
            Rung(DENSITY_RATED, 1e-4),
            Rung(DENSITY, 1e-4),
            Rung(DENSITY_RATED, 1.0, {"direct_solve_method": "faer"}),
        ),
        linear_ladder=(
            Rung(PRIMAL, 1.0),
            Rung(DENSITY, 1e-3),
            Rung(DUAL, 1e-3),
            Rung(DENSITY, 1e-3, {"direct_solve_method": "faer"}),
        ),
    ),
    "SCS": Solver(
        package="scs",
        tolerances=("eps_abs", "eps_rel"),
        iterations="max_iters",
        limit="time_limit_secs",
        automatic=True,
        finest=1e-11,
        coarsest=1e-6,
        status=lambda raw: str(raw["info"]["status"]),
        values=("pobj", "dobj"),
        ladder=(
            Rung(PRIMAL, 1e-1, {"max_iters": 20_000}),
            Rung(PRIMAL, 1e-3, {"max_iters": 50_000}),
            Rung(DUAL_RATED, 1.0, {"max_iters": 5_000}),
            Rung(RATED, 1e-2, {"max_iters": 50_000}),
        ),
        linear_ladder=(
            Rung(PRIMAL, 1.0, {"max_iters": 20_000}),
            Rung(DUAL, 1e-1, {"max_iters": 20_000}),
            Rung(PRIMAL, 1e-2, {"max_iters": 100_000}),
        ),
    ),
    "HIGHS": Solver(
        package="highspy",
        tolerances=HIGHS_TOLERANCES,
        iterations="simplex_iteration_limit",
        limit="time_limit",
        least=1e-10,
        finest=1e-10,
        coarsest=1e-7,
        automatic=True,
        status=lambda raw: str(raw["model_status"]),
        linear_ladder=(Rung(PRIMAL, 1e-1), Rung(DUAL, 1e-1)),
        withheld={"quadratic": "HiGHS's quadratic solver has been seen to abort the process"},
        remark=VERTICES,
    ),
    "OSQP": Solver(
        package="osqp",
        tolerances=("eps_abs", "eps_rel"),
        # With rho adapted every 50 steps, as it is shipped, it can swing for ever: the gap grows with the steps.
        constant={"max_iter": 100_000, "adaptive_rho_interval": 200},
        iterations="max_iter",
        limit="time_limit",
        automatic=True,
        status=lambda raw: str(raw.info.status),
        values=("obj_val", "dual_obj_val"),
        linear_ladder=(Rung(PRIMAL, 1e2), Rung(DUAL, 1.0)),
        remark="as it is shipped it ends at 10,000 iterations, which finer tolerances need",
    ),
    "SCIPY": Solver(
        package="scipy",
        tolerances=HIGHS_TOLERANCES,
        iterations="maxiter",
        limit="time_limit",
        inside="scipy_options",
        least=1e-10,
        finest=1e-10,
        automatic=True,
        coarsest=1e-7,
        status=lambda raw: str(raw["message"]),
        remark=VERTICES,
    ),
    "ECOS": Solver(
        package="ecos",
        tolerances=("abstol", "reltol", "feastol"),
        iterations="max_iters",
        coarsest=1e-8,
        automatic=True,
        values=("pcost", "dcost"),
    ),
    "PIQP": Solver(
        package="piqp",
        tolerances=("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        iterations="max_iter",
        coarsest=1e-8,
        values=("primal_obj", "dual_obj"),
    ),
    "PROXQP": Solver(
        package="proxsuite",
        tolerances=("eps_abs",),
        iterations="max_iter",
        coarsest=1e-8,
        values=("objValue",),
        gap="duality_gap",
        names=("backend", "eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in"),
        remark="it calls linear programs infeasible that have an optimum",
    ),
    "QOCO": Solver(
        package="qoco",
        tolerances=("abstol", "reltol"),
        iterations="max_iters",
        coarsest=1e-7,
        values=("obj",),
        gap="gap",
    ),
    "CVXOPT": Solver(
        package="cvxopt",
        tolerances=("abstol", "reltol", "feastol"),
        iterations="max_iters",
        coarsest=1e-7,
        names=("abstol", "reltol", "feastol", "max_iters", "refinement", "kktsolver"),
        remark=UNCOUNTED,
    ),
    "DAQP": Solver(
        package="daqp",
        tolerances=("primal_tol", "dual_tol"),
        iterations="iter_limit",
        coarsest=1e-6,
        names=(
            *("primal_tol", "dual_tol", "zero_tol", "pivot_tol", "progress_tol", "cycle_tol", "iter_limit"),
            *("fval_bound", "eps_prox", "eta_prox"),
        ),
        remark=VERTICES,
    ),
    "GLPK": Solver(
        package="cvxopt",
        tolerances=("tol_bnd", "tol_dj"),
        iterations="it_lim",
        inside="glpk",
        most=9e-4,
        coarsest=1e-7,
        remark=f"{VERTICES}; {UNCOUNTED}",
    ),
    "MPAX": Solver(package="mpax", tolerances=("eps_abs", "eps_rel"), iterations="iteration_limit"),
    "GUROBI": Solver(
        package="gurobipy",
        tolerances=("OptimalityTol", "FeasibilityTol", "BarConvTol"),
        iterations="BarIterLimit",
        limit="TimeLimit",
        threads="Threads",
        least=1e-9,
        most=1e-2,
        coarsest=1e-6,
    ),
    "MOSEK": Solver(
        package="mosek",
        tolerances=tuple(
            f"MSK_DPAR_INTPNT_{kind}TOL_{what}" for kind in ("", "CO_", "QO_") for what in ("PFEAS", "DFEAS", "REL_GAP")
        ),
        iterations="MSK_IPAR_INTPNT_MAX_ITERATIONS",
        limit="MSK_DPAR_OPTIMIZER_MAX_TIME",
        threads="MSK_IPAR_NUM_THREADS",
        inside="mosek_params",
        least=1e-14,
        coarsest=1e-8,
    ),
}
"""Solvers whose options are known, each by CVXPY's name.

Any other solver runs a plain ladder at its default tolerance, and only if the user names it. Among these are GLOP and
PDLP, whose options are protocol messages. ProxQP's relative tolerance is 0 under CVXPY, and stays 0.
"""
