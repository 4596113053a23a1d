"""Further solves of a problem that has been read, for points and multipliers. Nothing that they say is believed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.problem_certificates.feasible_point import solved_point
from boostopt.problem_certificates.leaf_values import dual_matrix, dual_vector
from boostopt.problem_certificates.minorants.stationary_multipliers import float_point
from boostopt.problem_certificates.problem_reader import ReadProblem


def optimum_by_solver(read: ReadProblem) -> float:
    """Return the optimum that a solver finds, to be minimized; inf if it finds none."""
    inequalities = [expression <= 0 for expression in read.inequalities.expressions]
    equalities = [expression == 0 for expression in read.equalities.expressions]
    matrices = [(item.expression + item.expression.T) / 2 >> 0 for item in read.matrices]
    sides = list[Any]()
    for item in read.variables:
        entries, flat = np.flatnonzero(item.positions >= 0), cp.vec(item.variable, order="C")
        for side, sign in ((read.lower, 1.0), (read.upper, -1.0)):
            ends = side[item.positions[entries]]
            finite = np.flatnonzero(np.isfinite(ends))
            if len(finite):
                sides.append(sign * (flat[entries[finite]] - ends[finite]) >= 0)
    objective = cp.Minimize(read.objective_expression)
    x = solved_point(read, cp.Problem(objective, [*inequalities, *equalities, *matrices, *sides]))
    if x is None:
        return math.inf
    value = float(read.objective.float_values(float_point(read, x).z)[0])
    return value if math.isfinite(value) else math.inf


def solved_again(read: ReadProblem) -> tuple[ReadProblem, Float[Array, " n"]] | None:
    """Return a problem with new equations with the duals of a solve, and its point; None if a solver finds none.

    Multipliers of matrices are left out: those of the remaining slopes are as good.
    """
    inequalities = [expression <= 0 for expression in read.inequalities.expressions]
    equalities = [expression == 0 for expression in read.equalities.expressions]
    matrices = [(item.expression + item.expression.T) / 2 >> 0 for item in read.matrices]
    objective = cp.Minimize(read.objective_expression)
    x = solved_point(read, cp.Problem(objective, [*inequalities, *equalities, *matrices]))
    if x is None:
        return None
    parts = ((read.inequalities, inequalities), (read.equalities, equalities))
    duals = [
        np.concatenate([np.zeros(0), *(dual_vector(item.dual_value, item.size) for item in constraints)])
        for _, constraints in parts
    ]
    return (
        replace(
            read,
            inequalities=replace(read.inequalities, duals=duals[0]),
            equalities=replace(read.equalities, duals=duals[1]),
            matrices=[replace(item, dual=None) for item in read.matrices],
        ),
        x,
    )


def points_without_slack(read: ReadProblem, slack_point: Float[Array, " n"] | None) -> Iterator[Float[Array, " n"]]:
    """Yield points whose matrices may have the null vectors of those of all feasible points.

    The first is the point with the largest slack, if a solver found one.
    """
    if slack_point is not None:
        yield slack_point
    proposal = least_violation(read)
    if proposal is not None:
        yield proposal[1]


def least_violations(read: ReadProblem) -> Iterator[tuple[ReadProblem, Float[Array, " n"]]]:
    """Yield the problem with the duals of the least violation, and its point, and then without those of matrices.

    Where equations alone exclude each other, tiny duals of matrices leave slopes that no equation makes 0.
    """
    proposal = least_violation(read)
    if proposal is not None:
        copied, x = proposal
        yield proposal
        if read.matrices:
            yield replace(copied, matrices=[replace(item, dual=None) for item in copied.matrices]), x


def least_violation(read: ReadProblem) -> tuple[ReadProblem, Float[Array, " n"]] | None:
    """Return the problem with the duals of the least violation, and its point; None if a solver finds none."""
    if read.n == 0:
        return None
    violation = cp.Variable(nonneg=True)
    inequalities = [expression <= violation for expression in read.inequalities.expressions]
    upper_sides = [expression <= violation for expression in read.equalities.expressions]
    lower_sides = [-expression <= violation for expression in read.equalities.expressions]
    matrices = [(item.expression + item.expression.T) / 2 + violation * np.eye(item.n) >> 0 for item in read.matrices]
    sides = list[Any]()
    for entry in read.variables:
        flat = cp.vec(entry.variable, order="C")
        for values, sign in ((read.lower, 1), (read.upper, -1)):
            places = [k for k, j in enumerate(entry.positions.tolist()) if j >= 0 and math.isfinite(values[j])]
            if places:
                sides.append(sign * (flat[places] - values[entry.positions[places]]) >= 0)
    auxiliary = cp.Problem(cp.Minimize(violation), [*inequalities, *upper_sides, *lower_sides, *matrices, *sides])
    x = solved_point(read, auxiliary)
    if x is None:
        return None
    duals = [dual_vector(item.dual_value, item.size) for item in inequalities]
    equality_duals = [
        dual_vector(first.dual_value, first.size) - dual_vector(second.dual_value, second.size)
        for first, second in zip(upper_sides, lower_sides, strict=True)
    ]
    copied = replace(
        read,
        inequalities=replace(read.inequalities, duals=np.concatenate([np.zeros(0), *duals])),
        equalities=replace(read.equalities, duals=np.concatenate([np.zeros(0), *equality_duals])),
        matrices=[
            replace(item, dual=dual_matrix(constraint.dual_value, item.n))
            for item, constraint in zip(read.matrices, matrices, strict=True)
        ],
    )
    return copied, x
