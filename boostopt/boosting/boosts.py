"""`boost`: the entrance to column generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from os import PathLike
from typing import Any

import numpy.typing as npt

from boostopt.arguments import names as listed_names
from boostopt.backends import check_backend
from boostopt.backends.base import Backend
from boostopt.boosting.problem import Problem
from boostopt.boosting.projection import make
from boostopt.boosting.rules import RULES, Rule, Schedule
from boostopt.boosting.run import AtZero, Run
from boostopt.boosting.settings import Settings, carried_out, check_keywords
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.trace import Row
from boostopt.errors import OptionError, unknown_name
from boostopt.oracles.base import Oracle, check_oracle
from boostopt.programs.catalogue import get_formulation, list_formulations

EPSILON = 0.01
"""The accuracy of the soft margin where none is given."""


def boost(
    formulation: Any,
    oracle: Oracle,
    *,
    epsilon: float = EPSILON,
    d0: npt.ArrayLike | None = None,
    backend: str | Backend = "auto",
    update: str | None = None,
    rules: Sequence[str] | None = None,
    guarantee: float | None = None,
    max_rounds: int | None = None,
    time_limit: float | None = None,
    columns: int = 1,
    schedule: Schedule | None = None,
    stabilization: Stabilization | None = None,
    start: Run | None = None,
    final_weights: str | None = None,
    history: bool | None = None,
    nus: Sequence[float] = (),
    test: tuple[Any, npt.ArrayLike] | None = None,
    at_zero: AtZero = "majority",
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_rounds: int = 20,
    checkpoint_seconds: float | None = None,
    progress: bool | Callable[[Row], None] = False,
    **parameters: Any,
) -> Run:
    """Boost: grow a program column by column until a stopping rule holds.

    Parameters
    ----------
    formulation
        A name from `list_formulations()`, the path of a page, or a formulation.
    oracle
        The examples and the class of hypotheses: see `boostopt.oracles`. Its multiplicities are the program's c.
    epsilon
        The accuracy of the soft margin that the stopping rules are about, positive.
    d0
        Reference distribution, shape (N,); proportional to the multiplicities by default.
    backend
        What solves the programs, as in `solve`.
    update
        How the weights move: "total" (the program over all hypotheses), or a corrective "step", "line_search" or
        "program" (over the mixture and the newest hypothesis; not where edges are bounded). As the formulation says by
        default.
    rules
        Names of stopping rules, one or several, from `boostopt.boosting.RULES`, or of formulations whose rules are
        meant; those of the formulation itself by default. Where eta is too small for a rule to promise a soft margin it
        must be named: it then is about the regularized program alone, and `run.reason` says so.
    guarantee
        An edge that every answer of the oracle is known to reach; the oracle's own by default.
    max_rounds, time_limit
        Updates, and seconds, after which the run ends all the same; None for no limit.
    columns
        Hypotheses that the oracle is asked for in a round.
    schedule
        How accurate the solves are: loose while the run is far from its end, by default.
    stabilization
        What keeps a totally corrective run from swinging and its programs small.
    start
        An earlier run over the same examples and class, with any formulation and parameters: its hypotheses are there
        from the beginning and its weights are where the run begins. Of no effect where there is a checkpoint.
    final_weights
        "program", "lp" or "scaled"; as the formulation says by default.
    history
        Whether the weights of every round are kept for `run.at`; by default unless a corrective run may be long.
    nus
        Values of nu (counts) at which the trace shows the soft margin as well.
    test
        (X, y) to test on in every round.
    at_zero
        What is predicted where f(x) = 0, in the test error of the trace: see `Run.predict`.
    checkpoint
        A file to store the run in while it goes on, and to go on from if it is there.
    checkpoint_rounds, checkpoint_seconds
        Rounds from one checkpoint to the next; seconds after which one is due all the same.
    progress
        Whether a line on stderr shows bounds, gap and rate; or what to call with every row of the trace.
    **parameters
        Parameters of the formulation, as in `bind`, without those that it sets anew in every round.

    Returns
    -------
    The run. It also holds what there is after an interrupt (Ctrl-C), or when a limit was reached: `run.reason`.

    Raises
    ------
    OptionError
        An option is unknown or out of range, or nothing would ever stop the run.
    ProblemError
        A parameter is out of its domain, or the oracle returns what is no column.
    DataError
        The checkpoint is of other data, of other parameters, or unreadable.

    References
    ----------
    Glocer 2009, algorithms 2.1, 3.1 to 3.3, 4.1, 4.3; Shalev-Shwartz and Singer 2008, figure 1.
    """
    page = get_formulation(formulation)
    check_oracle(oracle)
    check_backend(backend)
    given = {name: value for name, value in parameters.items() if value is not None}
    check_keywords("boost", given, BOOST, page)
    problem = Problem.of(page, oracle.c, d0, epsilon, update, given)
    if problem.edges.even and not oracle.reflexive:
        remedy = ", or leave out two_sided." if problem.two_sided else "."
        raise OptionError(
            f"edges without a sign, those of {page.name}, need a class that is closed under negation; this oracle's is "
            f"not. Make it with reflexive=True{remedy}"
        )
    settings = Settings(
        max_rounds=max_rounds,
        time_limit=time_limit,
        guarantee=guarantee,
        columns=columns,
        schedule=Schedule() if schedule is None else schedule,
        stabilization=Stabilization() if stabilization is None else stabilization,
        start=start,
        final_weights=final_weights,
        history=history,
        nus=nus,
        test=test,
        at_zero=at_zero,
        checkpoint=checkpoint,
        checkpoint_rounds=checkpoint_rounds,
        checkpoint_seconds=checkpoint_seconds,
        progress=progress,
    )
    wanted = _rules(problem, rules)
    return carried_out(problem, oracle, make(problem, backend, settings.stabilization.idle), wanted, settings)


def _rules(problem: Problem, names: Sequence[str] | None) -> tuple[Rule, ...]:
    """Return the rules that can fire: those named, or of the page's own those that promise a soft margin."""
    if names is not None:
        names = [rule for name in listed_names("rules", names) for rule in _of_name(name)]
        for name in names:
            if obstacle := RULES[name].obstacle(problem):
                raise OptionError(f"the rule {name!r} cannot hold for {problem.page.name}: {obstacle}.")
        return tuple(RULES[name] for name in names)
    own = [RULES[rule] for name in problem.rules for rule in _of_name(name)]
    return tuple(rule for rule in own if not (rule.obstacle(problem) or rule.doubt(problem)))


def _of_name(name: str) -> tuple[str, ...]:
    """Return the rules of that name: a rule, or all those of a formulation."""
    if name in RULES:
        return (name,)
    if name in list_formulations():
        return listed_names("stopping_rules", get_formulation(name).stopping_rules)
    raise unknown_name("stopping rule", name, RULES)


BOOST = tuple(name for name, its in signature(boost).parameters.items() if its.kind is its.KEYWORD_ONLY)
"""The keywords of `boost` that are of no formulation."""
