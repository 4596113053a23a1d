"""The solvers behind CVXPY: their options, their statuses, and their schedules of attempts, one row for each solver.

A schedule varies both form and accuracy. No form is best everywhere, and a tighter tolerance may make an answer better
or worse, whatever the status says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boostopt._utils.blas_threads import max_threads
from boostopt.programs.cvxpy_models import ModelForm

PRIMAL, RELATIVE = ModelForm("primal"), ModelForm("primal", relative_weights=True)
SCALED, DENSITY_RATED = (
    ModelForm("primal", scaled_objective=True),
    ModelForm("primal", relative_weights=True, scaled_objective=True),
)
DUAL, DUAL_RATED = ModelForm("dual"), ModelForm("dual", scaled_objective=True)

FORMS = {
    "primal": PRIMAL,
    "density": RELATIVE,
    "rated": SCALED,
    "density-rated": DENSITY_RATED,
    "dual": DUAL,
    "dual-rated": DUAL_RATED,
}
"""The forms, by the name that pins a backend to one of them."""

Options = dict[str, Any]


@dataclass(frozen=True)
class AttemptSettings:
    """An attempt of a schedule: a form, the tolerance as a multiple of the target gap, and further options."""

    form: ModelForm
    accuracy: float
    extra_options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class SolverSpec:
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
    fixed_options
        Options that the solver gets in each attempt of the schedule.
    options_group
        The option that contains all of these, "" for none.
    least, most
        The smallest and the largest accuracy that it accepts.
    finest, coarsest
        The smallest and the largest tolerance that make sense in the schedule.
    names
        The names of its options, if it ignores unknown ones silently; none if it refuses them itself.
    status
        Its own words for why it stopped, from its raw answer.
    objective_fields
        The names of its primal and dual value in its report; none if it reports no gap.
    gap_field
        The name of their difference, if it reports the difference instead of the dual value.
    schedule
        Attempts for programs that are not linear. The first form is the fastest in the median over the measurement in
        benchmarks/form_seconds.json, up to its noise.
    linear_schedule
        Attempts for linear programs, for which the rated forms are the same as the others; likewise.
    remark
        The reason for which a looser accuracy need not take fewer iterations, in a sentence; "" if it does.
    named_settings
        Options by the names under which comparisons have them beside the defaults: choices that the authors of the
        solver document, such as another factorization or no scaling.
    disabled_cones
        Cones that the solver supports nominally but does not get, each with the reason in a sentence.
    is_simplex
        Whether it is a simplex method.
    automatic
        Whether "auto" may choose it.
    """

    package: str = ""
    tolerances: tuple[str, ...] = ()
    iterations: str = ""
    time_limit_option: str = ""
    threads: str = ""
    fixed_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options_group: str = ""
    min_accuracy: float = 0.0
    max_accuracy: float = math.inf
    min_tolerance: float = 1e-12
    max_tolerance: float = 1e-5
    names: tuple[str, ...] = ()
    status: Callable[[Any], str] | None = None
    objective_fields: tuple[str, ...] = ()
    gap_field: str = ""
    schedule: tuple[AttemptSettings, ...] = (
        AttemptSettings(PRIMAL, 1.0),
        AttemptSettings(DENSITY_RATED, 1.0),
        AttemptSettings(DUAL_RATED, 1.0),
    )
    linear_schedule: tuple[AttemptSettings, ...] = (AttemptSettings(PRIMAL, 1.0), AttemptSettings(DUAL, 1.0))
    remark: str = ""
    named_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    disabled_cones: Mapping[str, str] = field(default_factory=dict[str, str])
    is_simplex: bool = False
    automatic: bool = False

    @property
    def has_time_limit(self) -> bool:
        """True if the solver takes a time limit."""
        return bool(self.time_limit_option)

    def claimed_gap(self, report: Mapping[str, float], unit: float) -> float | None:
        """Return |p - q| / max(1, |p|, |q|) of the primal and dual values p and q in its report, None without them.

        Parameters
        ----------
        report
            The values in its report, by name.
        unit
            The factor of the objective.
        """
        if not self.objective_fields:
            return None
        objectives = [report.get(name, math.nan) / unit for name in self.objective_fields]
        if self.gap_field:
            # The reported gap may lack its sign, or have either sign. So |q| is at most |p| + gap.
            objectives.append(objectives[0] - report.get(self.gap_field, math.nan) / unit)
        scaled = abs(objectives[0] - objectives[1]) / max(1.0, *map(abs, objectives))
        return scaled if math.isfinite(scaled) else None

    @property
    def has_coarse_requests(self) -> bool:
        """True if a looser tolerance ends the solver earlier, so that it is first asked for the target gap itself."""
        return bool(self.tolerances) and not self.is_simplex

    def accuracy_of(self, rung: AttemptSettings, tol: float) -> float:
        """Return the tolerance of an attempt of the schedule at a target gap."""
        return min(max(tol * rung.accuracy, self.min_tolerance), self.max_tolerance)

    def settings_for_form(self, form: ModelForm, linear: bool) -> AttemptSettings:
        """Return the only rung for one form, at the first rung's accuracy and without its limit on iterations."""
        return AttemptSettings(form, (self.linear_schedule if linear else self.schedule)[0].accuracy)

    def settings_for_problem(self, is_linear: bool) -> list[AttemptSettings]:
        """Return the attempts at a CVXPY problem, which has one form: the first, and each finer one after it."""
        settings = list[AttemptSettings]()
        for attempt in self.linear_schedule if is_linear else self.schedule:
            if not settings or attempt.accuracy < settings[-1].accuracy:
                settings.append(attempt)
        return settings

    def options_for_attempt(
        self, rung: AttemptSettings, tol: float, seconds: float | None, users: Mapping[str, Any]
    ) -> Options:
        """Return the options for an attempt at the target gap `tol`; the user's options override all others."""
        return self.options_for_request(self.accuracy_of(rung, tol), rung.extra_options, seconds, users)

    def options_for_request(
        self, accuracy: float, extra_options: Mapping[str, Any], seconds: float | None, users: Mapping[str, Any]
    ) -> Options:
        """Return the options for an attempt at an accuracy; the user's options override all others."""
        return self._assemble_options(accuracy, seconds, self.fixed_options, extra_options, users)

    def options_for_profile(self, accuracy: float | None, seconds: float | None, users: Mapping[str, Any]) -> Options:
        """Return the options of one solve at an accuracy; None keeps the solver's defaults."""
        tolerance = None if accuracy is None else min(max(accuracy, self.min_accuracy), self.max_accuracy)
        return self._assemble_options(tolerance, seconds, {}, {}, users)

    def _assemble_options(
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
        if self.time_limit_option and seconds is not None:
            options[self.time_limit_option] = seconds
        if self.threads and (thread_limit := max_threads()) is not None:
            options[self.threads] = thread_limit
        if not self.options_group:
            return {**options, **further, **users}
        merged = {**options, **users}
        return {**({self.options_group: merged} if merged else {}), **further}


SIMPLEX_REMARK = "it goes from vertex to vertex, and a looser tolerance seldom ends it earlier"
NO_ITERATION_COUNT_REMARK = "CVXPY does not report its number of iterations"
HIGHS_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")

DENSITY_SCHEDULE = (AttemptSettings(RELATIVE, 1.0), AttemptSettings(DUAL_RATED, 1.0), AttemptSettings(PRIMAL, 1.0))
LINEAR_DENSITY_SCHEDULE = (AttemptSettings(RELATIVE, 1.0), AttemptSettings(PRIMAL, 1.0), AttemptSettings(DUAL, 1.0))

# The first forms are those of benchmarks/form_seconds.json, by `python benchmarks/form_seconds.py`: for most solvers
# the primal, for SCS and some others the densities. The rated dual of Clarabel is faster on some matrices of stumps
# (0.6 s against 0.9 s at N = 2310, t = 50) and slower on others (12 s against 6 s at N = 20,000, t = 10). The density
# forms are the most accurate ones if the LP optimum is not 0. "faer" is another factorization, which helps if the first
# one breaks down. For SCS, the primal and the densities are accurate to 1e-6 or better nearly everywhere, while its
# dual forms are either very good or useless. The limits on iterations keep one bad form from taking all the time.
SOLVERS: dict[str, SolverSpec] = {
    "CLARABEL": SolverSpec(
        package="clarabel",
        tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        iterations="max_iter",
        time_limit_option="time_limit",
        threads="max_threads",
        max_tolerance=1e-8,
        automatic=True,
        named_settings={"faer": {"direct_solve_method": "faer"}, "no-scaling": {"equilibrate_enable": False}},
        status=lambda raw: str(raw.status),
        objective_fields=("obj_val", "obj_val_dual"),
        schedule=(
            AttemptSettings(PRIMAL, 1.0),
            AttemptSettings(DUAL_RATED, 1.0),
            AttemptSettings(RELATIVE, 1.0),
            AttemptSettings(DENSITY_RATED, 1e-4),
            AttemptSettings(RELATIVE, 1e-4),
            AttemptSettings(DENSITY_RATED, 1.0, {"direct_solve_method": "faer"}),
        ),
        linear_schedule=(
            AttemptSettings(PRIMAL, 1.0),
            AttemptSettings(RELATIVE, 1e-3),
            AttemptSettings(DUAL, 1e-3),
            AttemptSettings(RELATIVE, 1e-3, {"direct_solve_method": "faer"}),
        ),
    ),
    "SCS": SolverSpec(
        package="scs",
        tolerances=("eps_abs", "eps_rel"),
        iterations="max_iters",
        time_limit_option="time_limit_secs",
        automatic=True,
        min_tolerance=1e-11,
        max_tolerance=1e-6,
        named_settings={
            "no-acceleration": {"acceleration_lookback": 0},
            "no-scaling": {"normalize": False},
            "fixed-scale": {"adaptive_scale": False},
            "indirect": {"use_indirect": True},
        },
        status=lambda raw: str(raw["info"]["status"]),
        objective_fields=("pobj", "dobj"),
        schedule=(
            AttemptSettings(RELATIVE, 1e-1, {"max_iters": 20_000}),
            AttemptSettings(RELATIVE, 1e-3, {"max_iters": 50_000}),
            AttemptSettings(PRIMAL, 1e-3, {"max_iters": 50_000}),
            AttemptSettings(DUAL_RATED, 1.0, {"max_iters": 5_000}),
            AttemptSettings(SCALED, 1e-2, {"max_iters": 50_000}),
        ),
        linear_schedule=(
            AttemptSettings(RELATIVE, 1.0, {"max_iters": 20_000}),
            AttemptSettings(DUAL, 1e-1, {"max_iters": 20_000}),
            AttemptSettings(PRIMAL, 1e-2, {"max_iters": 100_000}),
        ),
    ),
    "HIGHS": SolverSpec(
        package="highspy",
        tolerances=HIGHS_TOLERANCES,
        iterations="simplex_iteration_limit",
        time_limit_option="time_limit",
        min_accuracy=1e-10,
        min_tolerance=1e-10,
        max_tolerance=1e-7,
        automatic=True,
        named_settings={
            "simplex": {"solver": "simplex"},
            "ipm": {"solver": "ipm"},
            "no-presolve": {"presolve": "off"},
        },
        status=lambda raw: str(raw["model_status"]),
        linear_schedule=(AttemptSettings(PRIMAL, 1e-1), AttemptSettings(DUAL, 1e-1)),
        disabled_cones={"quadratic": "HiGHS's quadratic solver has been seen to abort the process"},
        remark=SIMPLEX_REMARK,
        is_simplex=True,
    ),
    "OSQP": SolverSpec(
        package="osqp",
        tolerances=("eps_abs", "eps_rel"),
        # With rho adapted every 50 steps, as it is shipped, it can swing for ever: the gap grows with the steps.
        fixed_options={"max_iter": 100_000, "adaptive_rho_interval": 200},
        iterations="max_iter",
        time_limit_option="time_limit",
        automatic=True,
        named_settings={
            "no-scaling": {"scaling": 0},
            "fixed-rho": {"adaptive_rho": False},
            "no-polish": {"polishing": False},
        },
        status=lambda raw: str(raw.info.status),
        objective_fields=("obj_val", "dual_obj_val"),
        schedule=(AttemptSettings(DUAL_RATED, 1.0), AttemptSettings(DENSITY_RATED, 1.0), AttemptSettings(PRIMAL, 1.0)),
        linear_schedule=(AttemptSettings(PRIMAL, 1e2), AttemptSettings(DUAL, 1.0)),
        remark="as it is shipped it ends at 10,000 iterations, which finer tolerances need",
    ),
    "SCIPY": SolverSpec(
        package="scipy",
        tolerances=HIGHS_TOLERANCES,
        iterations="maxiter",
        time_limit_option="time_limit",
        options_group="scipy_options",
        min_accuracy=1e-10,
        min_tolerance=1e-10,
        automatic=True,
        max_tolerance=1e-7,
        status=lambda raw: str(raw["message"]),
        remark=SIMPLEX_REMARK,
        is_simplex=True,
    ),
    "ECOS": SolverSpec(
        package="ecos",
        tolerances=("abstol", "reltol", "feastol"),
        iterations="max_iters",
        max_tolerance=1e-8,
        automatic=True,
        objective_fields=("pcost", "dcost"),
        schedule=DENSITY_SCHEDULE,
    ),
    "PIQP": SolverSpec(
        package="piqp",
        tolerances=("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        iterations="max_iter",
        max_tolerance=1e-8,
        named_settings={"dense": {"backend": "dense"}, "no-scaling": {"preconditioner_iter": 0}},
        objective_fields=("primal_obj", "dual_obj"),
    ),
    "PROXQP": SolverSpec(
        package="proxsuite",
        tolerances=("eps_abs",),
        iterations="max_iter",
        max_tolerance=1e-8,
        objective_fields=("objValue",),
        gap_field="duality_gap",
        names=("backend", "eps_abs", "eps_rel", "max_iter", "rho", "mu_eq", "mu_in"),
        remark="it calls linear programs infeasible that have an optimum",
    ),
    "QOCO": SolverSpec(
        package="qoco",
        tolerances=("abstol", "reltol"),
        iterations="max_iters",
        max_tolerance=1e-7,
        objective_fields=("obj",),
        gap_field="gap",
    ),
    "CVXOPT": SolverSpec(
        package="cvxopt",
        tolerances=("abstol", "reltol", "feastol"),
        iterations="max_iters",
        max_tolerance=1e-7,
        named_settings={"robust": {"kktsolver": "robust"}},
        names=("abstol", "reltol", "feastol", "max_iters", "refinement", "kktsolver"),
        remark=NO_ITERATION_COUNT_REMARK,
    ),
    "DAQP": SolverSpec(
        package="daqp",
        tolerances=("primal_tol", "dual_tol"),
        iterations="iter_limit",
        max_tolerance=1e-6,
        linear_schedule=LINEAR_DENSITY_SCHEDULE,
        names=(
            *("primal_tol", "dual_tol", "zero_tol", "pivot_tol", "progress_tol", "cycle_tol", "iter_limit"),
            *("fval_bound", "eps_prox", "eta_prox"),
        ),
        remark=SIMPLEX_REMARK,
        is_simplex=True,
    ),
    "GLPK": SolverSpec(
        package="cvxopt",
        tolerances=("tol_bnd", "tol_dj"),
        iterations="it_lim",
        options_group="glpk",
        max_accuracy=9e-4,
        max_tolerance=1e-7,
        linear_schedule=LINEAR_DENSITY_SCHEDULE,
        remark=f"{SIMPLEX_REMARK}; {NO_ITERATION_COUNT_REMARK}",
        is_simplex=True,
    ),
    "MPAX": SolverSpec(package="mpax", tolerances=("eps_abs", "eps_rel"), iterations="iteration_limit"),
    "GUROBI": SolverSpec(
        package="gurobipy",
        tolerances=("OptimalityTol", "FeasibilityTol", "BarConvTol"),
        iterations="BarIterLimit",
        time_limit_option="TimeLimit",
        threads="Threads",
        min_accuracy=1e-9,
        max_accuracy=1e-2,
        max_tolerance=1e-6,
    ),
    "MOSEK": SolverSpec(
        package="mosek",
        tolerances=tuple(
            f"MSK_DPAR_INTPNT_{kind}TOL_{measure}"
            for kind in ("", "CO_", "QO_")
            for measure in ("PFEAS", "DFEAS", "REL_GAP")
        ),
        iterations="MSK_IPAR_INTPNT_MAX_ITERATIONS",
        time_limit_option="MSK_DPAR_OPTIMIZER_MAX_TIME",
        threads="MSK_IPAR_NUM_THREADS",
        options_group="mosek_params",
        min_accuracy=1e-14,
        max_tolerance=1e-8,
    ),
}
"""Solvers whose options are known, each by CVXPY's name.

Any other solver runs a plain schedule at its default tolerance, and only if the user names it. Among these are GLOP and
PDLP, whose options are protocol messages. ProxQP's relative tolerance is 0 under CVXPY, and stays 0.
"""
