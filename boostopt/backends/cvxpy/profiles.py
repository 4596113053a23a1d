"""Profiles of the solvers behind CVXPY: their options, their words, and the ladder of attempts.

A ladder varies form AND accuracy, for no form is best everywhere and a tighter tolerance may make an answer better or
worse whatever the status says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boostopt.programs.derived import Form

PRIMAL, DENSITY = Form("primal"), Form("primal", density=True)
RATED, DENSITY_RATED = Form("primal", rated=True), Form("primal", density=True, rated=True)
DUAL, DUAL_RATED = Form("dual"), Form("dual", rated=True)

FORMS = {
    "primal": PRIMAL,
    "density": DENSITY,
    "rated": RATED,
    "density-rated": DENSITY_RATED,
    "dual": DUAL,
    "dual-rated": DUAL_RATED,
}
"""The forms by the name that pins a backend to one of them."""

Options = dict[str, Any]


@dataclass(frozen=True)
class Rung:
    """One attempt of a ladder: a form, the solver's tolerance as a multiple of the gap wanted, further options."""

    form: Form
    accuracy: float
    further: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Profile:
    """The options, words and attempts of one solver.

    Attributes
    ----------
    package
        The distribution that has its version; its own name by default.
    tolerances
        Its options that take the tolerance.
    limit
        Its option for a limit in seconds, "" for none.
    constant
        Options that it gets in any case.
    inside
        The option that all of these are handed over in, "" for none.
    finest, coarsest
        The tolerances that make sense to it.
    status
        Its own words for how it stopped, from its raw answer.
    ladder
        Attempts for programs that are not linear, the most promising first.
    linear_ladder
        Attempts for linear programs, for which the rated forms are the same as the others.
    withheld
        Cones that the solver takes by name but is not given, each with the reason in a sentence.
    """

    package: str = ""
    tolerances: tuple[str, ...] = ()
    limit: str = ""
    constant: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inside: str = ""
    finest: float = 1e-12
    coarsest: float = 1e-5
    status: Callable[[Any], str] | None = None
    ladder: tuple[Rung, ...] = (Rung(DUAL_RATED, 1.0), Rung(DENSITY_RATED, 1.0), Rung(PRIMAL, 1.0))
    linear_ladder: tuple[Rung, ...] = (Rung(PRIMAL, 1.0), Rung(DUAL, 1.0))
    withheld: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def limited(self) -> bool:
        """Whether it can be told a time limit."""
        return bool(self.limit)

    def pinned(self, form: Form, linear: bool) -> Rung:
        """Return the only rung for one form, at the first rung's accuracy and without its limit on iterations."""
        return Rung(form, (self.linear_ladder if linear else self.ladder)[0].accuracy)

    def sent(self, rung: Rung, tol: float, seconds: float | None) -> Options:
        """Return the options for a rung when a gap of `tol` is wanted."""
        accuracy = min(max(tol * rung.accuracy, self.finest), self.coarsest)
        options: Options = {**dict.fromkeys(self.tolerances, accuracy), **self.constant}
        if self.limit and seconds is not None:
            options[self.limit] = seconds
        return {**({self.inside: options} if self.inside else options), **rung.further}


HIGHS_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")

# Measured on stump matrices of noisy data, N = 569 to 5000, t = 30 to 200, eta = 46 to 2e4, and on their LPs. For
# Clarabel the rated dual with its link m = Uw spelled out is the fastest form (0.7 s against 3 s at N = 5000, t = 50),
# the density forms the most accurate ones where the LP optimum is not 0; "faer" is another factorization, which helps
# where the first one breaks down. For SCS the primal is good to 1e-6 or better nearly everywhere, while its dual forms
# are either very good or no good; the limits on iterations keep one bad form from taking all the time.
PROFILES: dict[str, Profile] = {
    "CLARABEL": Profile(
        package="clarabel",
        tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        limit="time_limit",
        coarsest=1e-8,
        status=lambda raw: str(raw.status),
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
    "SCS": Profile(
        package="scs",
        tolerances=("eps_abs", "eps_rel"),
        limit="time_limit_secs",
        finest=1e-11,
        coarsest=1e-6,
        status=lambda raw: str(raw["info"]["status"]),
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
    "HIGHS": Profile(
        package="highspy",
        tolerances=HIGHS_TOLERANCES,
        limit="time_limit",
        finest=1e-10,
        coarsest=1e-7,
        status=lambda raw: str(raw["model_status"]),
        linear_ladder=(Rung(PRIMAL, 1e-1), Rung(DUAL, 1e-1)),
        withheld={"quadratic": "HiGHS's quadratic solver has been seen to abort the process"},
    ),
    "OSQP": Profile(
        package="osqp",
        tolerances=("eps_abs", "eps_rel"),
        constant={"max_iter": 100_000},
        limit="time_limit",
        status=lambda raw: str(raw.info.status),
        linear_ladder=(Rung(PRIMAL, 1e2), Rung(DUAL, 1.0)),
    ),
    "SCIPY": Profile(
        package="scipy",
        tolerances=HIGHS_TOLERANCES,
        limit="time_limit",
        inside="scipy_options",
        finest=1e-10,
        coarsest=1e-7,
        status=lambda raw: str(raw["message"]),
    ),
    "ECOS": Profile(package="ecos", tolerances=("abstol", "reltol", "feastol"), coarsest=1e-8),
}
"""Solvers with a profile of their own, which "auto" may ask.

Any other one runs a plain ladder at its default tolerance, and where it is named only.
"""
