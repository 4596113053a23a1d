"""Causes for which a problem has no optimum: few constraints that exclude each other, or entries that grow for ever.

A deletion filter (Chinneck, Dravnieks 1991) leaves out one constraint after the other while what remains is proved
infeasible. The multipliers of the least violation say where it begins. The direction of an unbounded problem is a
proposal in floating point: that the problem is unbounded is proved before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from boostopt._utils.blas_threads import limit_blas_threads
from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError, format_names_truncated
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.bounds.bound_propagation import Propagation
from boostopt.problem_certificates.constraint_parts import constraint_name
from boostopt.problem_certificates.faces.implied_equations import with_implied_equations
from boostopt.problem_certificates.feasible_point import FeasiblePointSearch
from boostopt.problem_certificates.minorants.auxiliary_solves import least_violation
from boostopt.problem_certificates.minorants.minorant_search import is_proved_infeasible
from boostopt.problem_certificates.problem_reader import ReadProblem, read_problem
from boostopt.problem_certificates.unbounded_rays import proposed_changing_directions, proposed_direction

MAX_FILTERED = 12
"""Number of constraints up to which each is left out in turn: each needs a proof of its own."""

MAX_FILTERED_VALUES = 200
"""Number of unknowns and values of atoms up to which constraints are left out in turn: proofs of more take seconds."""

MIN_MULTIPLIER = 1e-5
"""Smallest multiplier, relative to the largest, of a constraint that the filter begins with."""

MIN_CHANGE = 1e-6
"""Smallest change of an entry along a direction, relative to the largest, that is named."""

MAX_ENTRIES = 4
"""Number of entries of a variable up to which all are named."""


def no_optimum_cause(problem: ReadProblem, status: str) -> str:
    """Return what makes a problem infeasible or unbounded, in words; "" if it is not found.

    Parameters
    ----------
    problem, status
        The problem, and "infeasible" or "unbounded", as is proved of it.
    """
    if status == "infeasible":
        subsystem = infeasible_subsystem(problem)
        names = [constraint_name(problem.problem, item) for item in subsystem]
        if not names:
            return ""
        attributes = format_names_truncated(names_with_attributes(subsystem))
        condition = f", with the attributes of {attributes}," if attributes else ""
        statement = names[0] if len(names) == 1 else f"all of these: {format_names_truncated(names)}"
        return f"no point{condition} satisfies {statement}"
    names = growing_entries(problem)
    objective = "the objective improves for ever"
    return f"{objective} in a direction that changes {', '.join(names)}, which lack bounds" if names else ""


def names_with_attributes(constraints: Sequence[Any]) -> list[str]:
    """Return the names of variables of constraints that have attributes, such as nonneg, PSD or bounds."""
    variables = {variable.id: variable for item in constraints for variable in item.variables()}
    return [
        variable.name()
        for variable in variables.values()
        if any(value is not None and value is not False for value in variable.attributes.values())
    ]


def growing_entries(problem: ReadProblem) -> list[str]:
    """Return the names of the entries that change along a direction in which a problem is unbounded; [] without one."""
    d = proposed_direction(problem)
    d = next(proposed_changing_directions(problem), None) if d is None else d
    if d is None:
        return []
    with working_precision(), np.errstate(all="ignore"):
        box = Propagation(problem)
        box.run()
    lower, upper = box.box
    d = np.where(((d > 0) & (upper < np.inf)) | ((d < 0) & (lower > -np.inf)), 0.0, d)  # d may violate small rows
    names, threshold = list[str](), MIN_CHANGE * float(np.abs(d).max(initial=0.0))
    for item in problem.variables:
        changes = np.abs(item.values(d)) > threshold
        name, count = item.variable.name(), int(changes.sum())
        if count and count == changes.size:
            names.append(name)
        elif count > MAX_ENTRIES:
            names.append(f"{count} entries of {name}")
        else:
            names += [f"{name}{[int(k) for k in index]}" for index in np.argwhere(changes)]
    return names


def infeasible_subsystem(problem: ReadProblem) -> tuple[Any, ...]:
    """Return constraints of a problem that no point satisfies together with the attributes of the variables.

    This is proved of them. In small problems, of at most `MAX_FILTERED` none can be left out without losing the proof.

    Parameters
    ----------
    problem
        A problem that is proved infeasible.

    Returns
    -------
    The constraints in the order of the problem; () if nothing is proved of those that the multipliers propose, and the
    problem has more than `MAX_FILTERED`.

    References
    ----------
    Chinneck, Dravnieks 1991.
    """
    constraints = list(problem.problem.constraints)
    with working_precision(), limit_blas_threads(), np.errstate(all="ignore"):
        sizes = _multiplier_sizes(problem)
        largest = max(sizes.values(), default=0.0)
        candidates = [item for item in constraints if sizes.get(item.id, 0.0) > MIN_MULTIPLIER * largest]
        if not _is_infeasible(candidates):
            candidates = constraints
            if len(candidates) > MAX_FILTERED or not _is_infeasible(candidates):
                return ()
        if len(candidates) <= MAX_FILTERED and problem.n_values <= MAX_FILTERED_VALUES:
            for item in sorted(candidates, key=lambda item: sizes.get(item.id, 0.0)):
                rest = [entry for entry in candidates if entry is not item]
                if _is_infeasible(rest):
                    candidates = rest
    return tuple(candidates)


def _multiplier_sizes(problem: ReadProblem) -> dict[int, float]:
    """Return the largest multiplier of the least violation of each constraint, by the number of the constraint."""
    proposal = least_violation(problem)
    if proposal is None:
        return {}
    read, _ = proposal
    sizes = dict[int, float]()
    for part in (read.inequalities, read.equalities):
        for source, _, rows in part.segments():
            sizes[source.id] = max(sizes.get(source.id, 0.0), float(np.abs(part.duals[rows]).max(initial=0.0)))
    for item in read.matrices:
        if item.dual is not None:
            sizes[item.source.id] = float(np.abs(item.dual).max(initial=0.0))
    return {key: size for key, size in sizes.items() if math.isfinite(size)}


def _is_infeasible(constraints: Sequence[Any]) -> bool:
    """Return whether it is proved that no point satisfies constraints and the attributes of their variables."""
    try:
        read = with_implied_equations(read_problem(cp.Problem(cp.Minimize(0), list(constraints)), None))
    except ProblemError:  # such as constants alone
        return False
    search = FeasiblePointSearch(read, 0.0)
    if search.run(read.point_of_values()) is not None:
        return False
    box = Propagation(read)
    box.run()
    return search.is_contradictory or box.is_empty or is_proved_infeasible(read, box, 0.0)
