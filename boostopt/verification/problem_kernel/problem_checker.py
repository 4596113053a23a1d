"""The bounds that a file proves: weak duality without any box, a feasible point, and a ray.

Let lambda >= 0, nu free, Z positive semidefinite, and w >= 0 in front of the objective; equations that constraints
imply have free multipliers too. On feasible unknowns, w times the objective is not below the Lagrangian. From the last
atom to the first, the multiplier mu of a value f(u) is replaced by <s, u> plus the `infimum` of mu f(u) - <s, u>, for
the slopes s of the file. The result is an affine function of x, and each of its slopes is 0, or the bound of x that
it needs is finite. The problem is minimized here: the objective of a problem that maximizes is negated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from boostopt.verification.problem_kernel.atoms import matrix_of
from boostopt.verification.problem_kernel.implied_equation_checks import implied_rows
from boostopt.verification.problem_kernel.problem_schema import (
    AtomNode,
    Claim,
    Multipliers,
    Problem,
    ProblemDocument,
    Rows,
    ScaledVector,
)
from boostopt.verification.problem_kernel.rationals_and_balls import (
    ZERO,
    Number,
    ceil_float,
    floor_float,
    is_at_most,
    is_finite,
    is_positive,
    is_semidefinite,
    is_zero,
    pair_product,
    pair_sum,
    shortened,
    total,
)
from boostopt.verification.trusted_kernel.json_parsing import reject

Interval = tuple[Number | None, Number | None]
"""Both bounds of the problem as it is stated; None for a bound that is not proved."""


def check_document(document: ProblemDocument) -> Interval:
    """Return the proved interval; Rejected if the file claims more, or its proof has a fault.

    The bounds of a problem that is proved infeasible or unbounded are None.
    """
    problem, claim = document.problem, document.claim
    if claim.status == "infeasible":
        if document.multipliers is None or document.multipliers.objective != 0:
            reject("a proof of infeasibility must have multipliers, without the objective")
        if not excludes_all_points(problem, document.multipliers):
            reject("it claims that no point is feasible; the multipliers do not prove this")
        return None, None
    upper = None if document.point is None else upper_bound(problem, document.point)
    if claim.status == "unbounded":
        if upper is None or document.ray is None:
            reject("a proof of unboundedness must have a feasible point and a ray")
        check_ray(problem, document.ray)
        return None, None
    lower = None
    if document.multipliers is not None:
        if not document.multipliers.objective > 0:
            reject("the multiplier of the objective must be positive")
        lower = pair_product(lower_bound(problem, document.multipliers), 1 / document.multipliers.objective)
    ends = (lower, upper) if problem.sign > 0 else tuple(None if end is None else -end for end in (upper, lower))
    interval = ends[0], ends[1]
    check_claimed_bounds(claim, interval)
    return interval


def check_claimed_bounds(claim: Claim, interval: Interval) -> None:
    """Reject a claim of a bound that is not proved."""
    lower, upper = interval
    if lower is not None and upper is not None and not floor_float(lower) <= ceil_float(upper):
        reject("its bounds contradict each other")
    if claim.lower is not None and (lower is None or not is_at_most(claim.lower, lower)):
        proved = "none" if lower is None else repr(floor_float(lower))
        reject(f"it claims that the optimum is at least {float(claim.lower)!r}; the proved bound is {proved}")
    if claim.upper is not None and (upper is None or not is_at_most(upper, claim.upper)):
        proved = "none" if upper is None else repr(ceil_float(upper))
        reject(f"it claims that the optimum is at most {float(claim.upper)!r}; the proved bound is {proved}")


def lower_bound(problem: Problem, multipliers: Multipliers) -> Number:
    """Return a number that is not above w times the objective at any feasible point.

    Raises
    ------
    Rejected
        A multiplier has a wrong sign, slopes lie outside the domain of a conjugate, or a slope of x needs a bound.
    """
    slopes, constant = lagrangian(problem, multipliers)
    for k, lower, upper in zip(range(problem.n), problem.lower, problem.upper, strict=True):
        slope = slopes[k]
        if slope == 0:
            continue
        side = lower if slope > 0 else upper
        if side is None:
            reject(f"the slope of entry {k} of x must be 0, or its {'lower' if slope > 0 else 'upper'} bound finite")
        constant = pair_sum(constant, slope * side)
    return constant if is_finite(constant) else reject("the bound of the multipliers is not finite")


def excludes_all_points(problem: Problem, multipliers: Multipliers) -> bool:
    """Return whether multipliers without the objective prove that no point is feasible.

    Their bound is positive, or it is 0 and a term of the Lagrangian is above its bound everywhere.

    Raises
    ------
    Rejected
        They prove no bound.
    """
    bound = lower_bound(problem, multipliers)
    if is_positive(bound) or not is_at_most(ZERO, bound):
        return is_positive(bound)
    slopes, _ = lagrangian(problem, multipliers)
    return any(
        node.atom.exceeds_infimum(abs(slopes[node.start + k]), parameters)
        for node, numbers in zip(problem.nodes, multipliers.slopes, strict=True)
        for k, parameters in enumerate(_parameters_of_groups(node, numbers))
    )


def lagrangian(problem: Problem, multipliers: Multipliers) -> tuple[list[Fraction], Number]:
    """Return the slopes in all unknowns, those of values of atoms before they are replaced, and the constant."""
    slopes: list[Fraction] = [ZERO] * problem.n_unknowns
    constant: Number = add_rows(problem.objective, [problem.sign * multipliers.objective], slopes)
    if any(multiplier < 0 for multiplier in (multipliers.objective, *multipliers.inequalities)):
        reject("multipliers of the objective and of inequalities must not be negative")
    constant += add_rows(problem.inequalities, multipliers.inequalities, slopes)
    constant += add_rows(problem.equalities, multipliers.equalities, slopes)
    earlier = list[Rows]()
    for item in multipliers.implied:
        rows = implied_rows(problem, item, earlier)
        earlier.append(rows)
        if len(rows) != len(item.multipliers):
            reject(f"a constraint implies {len(rows)} equations; it has {len(item.multipliers)} multipliers")
        constant += add_rows(rows, item.multipliers, slopes)
    for (size, entries), Z in zip(problem.matrices, multipliers.matrices, strict=True):
        matrix = matrix_of(Z, size)
        if any(matrix[i][j] != matrix[j][i] for i in range(size) for j in range(i)) or not is_semidefinite(matrix):
            reject("the multiplier of a matrix must be positive semidefinite")
        constant += add_rows(entries, [-entry for entry in Z], slopes)
    for node, numbers in zip(reversed(problem.nodes), reversed(multipliers.slopes), strict=True):
        sums: list[Fraction] = [ZERO] * len(node.arguments)
        for k, parameters in reversed(list(enumerate(_parameters_of_groups(node, numbers)))):
            constant = pair_sum(constant, _infimum(node, slopes[node.start + k], parameters))
            for i, slope in zip(node.members[k], node.atom.slopes(parameters), strict=True):
                sums[i] += slope
        constant = pair_sum(constant, add_rows(node.arguments, sums, slopes))
    return slopes, constant


def _parameters_of_groups(node: AtomNode, numbers: Sequence[Fraction]) -> list[Sequence[Fraction]]:
    """Return the parameters of the slopes of each group of an atom, from those of all its groups."""
    ends = list(accumulate(map(len, node.members), initial=0))
    return [numbers[start:end] for start, end in pairwise(ends)]


def _infimum(node: AtomNode, mu: Fraction, parameters: Sequence[Fraction]) -> Number:
    """Return a lower bound of mu f(u) - <s, u> for one group of an atom, for the slopes s of its parameters."""
    if mu == 0:
        bound = node.atom.domain_infimum(parameters) if any(parameters) else ZERO
        return reject(f"the domain of {node.name} proves no bound of its slopes") if bound is None else bound
    if mu * node.atom.sign < 0:
        reject(f"{node.name} has a multiplier of the wrong sign: the problem may not be convex there")
    bound = node.atom.infimum(abs(mu), parameters)
    return reject(f"the slopes of {node.name} prove no bound") if bound is None else bound


def add_rows(rows: Rows, multipliers: Sequence[Fraction], slopes: list[Fraction]) -> Fraction:
    """Add the coefficients of rows, times multipliers, to slopes, in place; return the sum of the constants."""
    constant = ZERO
    for row, offset, multiplier in zip(rows.rows, rows.offsets, multipliers, strict=True):
        if multiplier:
            constant += multiplier * offset
            for k, coefficient in row.items():
                slopes[k] += multiplier * coefficient
    return constant


def upper_bound(problem: Problem, point: ScaledVector) -> Number:
    """Return the objective, to be minimized, at a point; Rejected unless the point is proved feasible."""
    D = point.denominator
    for k, (value, lower, upper) in enumerate(zip(point.numerators, problem.lower, problem.upper, strict=True)):
        if (lower is not None and value < lower * D) or (upper is not None and value > upper * D):
            reject(f"entry {k} of the point lies outside its bounds")
    z = list[Number]()
    for node in problem.nodes:
        arguments = row_values(node.arguments, point, z)
        for group in node.members:
            value = node.atom.value([arguments[i] for i in group])
            if value is None or not is_finite(value):
                reject(f"the point is not proved to lie in the domain of the atom {node.name}")
            z.append(value)
    for i, value in enumerate(row_values(problem.inequalities, point, z)):
        if not is_at_most(value, ZERO):
            reject(f"the point is not proved to satisfy inequality {i}")
    for i, value in enumerate(row_values(problem.equalities, point, z)):
        if not (is_at_most(value, ZERO) and is_at_most(ZERO, value)):
            reject(f"the point is not proved to satisfy equality {i}")
    for i, (size, entries) in enumerate(problem.matrices):
        if not is_semidefinite(matrix_of(row_values(entries, point, z), size)):
            reject(f"the point is not proved to make matrix {i} positive semidefinite")
    result = problem.sign * row_values(problem.objective, point, z)[0]
    return result if is_finite(result) else reject("the objective at the point is not finite")


def check_ray(problem: Problem, ray: ScaledVector) -> None:
    """Check that a feasible point stays feasible along a ray, and that the objective falls for ever.

    Equalities do not change along it, and matrices change by semidefinite ones. A convex value changes by at most its
    asymptotic slope, and a concave one by at least this. With these, no inequality increases, and the objective falls,
    or it does not increase and contains a value that grows beyond all bounds.
    """
    for k, (change, lower, upper) in enumerate(zip(ray.numerators, problem.lower, problem.upper, strict=True)):
        if (change < 0 and lower is not None) or (change > 0 and upper is not None):
            reject(f"the ray leaves the bounds of entry {k} of x")
    values = _changes_of_values(problem, ray)
    if any(values.has_bounded_term(row) for row in problem.equalities.rows):
        reject("an atom of an equality changes along the ray")
    if not all(is_zero(change) for change in values.changes_of_rows(problem.equalities)):
        reject("an equality changes along the ray")
    for size, entries in problem.matrices:
        if any(values.has_bounded_term(row) for row in entries.rows):
            reject("an atom of a matrix changes along the ray")
        if not is_semidefinite(matrix_of(values.changes_of_rows(entries), size)):
            reject("a matrix does not change by a semidefinite one along the ray")
    for row, change in zip(problem.inequalities.rows, values.changes_of_rows(problem.inequalities), strict=True):
        if not (values.is_bounded_above(row, 1) and is_at_most(change, ZERO)):
            reject("an inequality is not proved not to increase along the ray")
    row, change = problem.objective.rows[0], problem.sign * values.changes_of_rows(problem.objective)[0]
    falls = is_positive(-change) or (is_at_most(change, ZERO) and values.falls_beyond_bounds(row, problem.sign))
    if not (values.is_bounded_above(row, problem.sign) and falls):
        reject("the objective is not proved to fall along the ray")


@dataclass
class ValueChanges:
    """The changes of all unknowns along a ray, or bounds of them.

    Attributes
    ----------
    changes
        The changes of x, and asymptotic slopes of the values of atoms: bounds of their changes.
    signs
        0 for an unknown that changes by exactly this; 1 for a convex value, whose bound is an upper one; -1 for a
        concave value.
    diverging
        Whether each unknown grows beyond all bounds with the asymptotic slope 0. All such values are concave.
    """

    changes: list[Number]
    signs: list[int]
    diverging: list[bool]

    def changes_of_rows(self, rows: Rows) -> list[Number]:
        """Return the sums of coefficients times changes."""
        return [total(pair_product(c, self.changes[k]) for k, c in row.items()) for row in rows.rows]

    def has_bounded_term(self, row: Mapping[int, Fraction]) -> bool:
        """Return whether a row contains a value of which only a bound of the change is known."""
        return any(self.signs[k] != 0 for k in row)

    def is_bounded_above(self, row: Mapping[int, Fraction], sign: int) -> bool:
        """Return whether the sum of coefficients times changes is an upper bound of sign times the change of a row."""
        return all(sign * coefficient * self.signs[k] >= 0 for k, coefficient in row.items())

    def grows(self, row: Mapping[int, Fraction], change: Number) -> bool:
        """Return whether a row that changes by at least some amount grows beyond all bounds."""
        has_growth = any(self.diverging[k] and coefficient > 0 for k, coefficient in row.items())
        return is_positive(change) or (is_at_most(ZERO, change) and has_growth)

    def falls_beyond_bounds(self, row: Mapping[int, Fraction], sign: int) -> bool:
        """Return whether sign times a row contains minus a value that grows beyond all bounds."""
        return any(self.diverging[k] and sign * coefficient < 0 for k, coefficient in row.items())


def _changes_of_values(problem: Problem, ray: ScaledVector) -> ValueChanges:
    """Return the changes of all unknowns; Rejected if an atom has no asymptotic slope that is proved.

    Of the arguments of atoms of atoms, bounds on one side are known: they must be the upper ones of a convex function
    that does not decrease, or the lower ones of a concave one.
    """
    result = ValueChanges([Fraction(change) for change in ray.numerators], [0] * problem.n, [False] * problem.n)
    for node in problem.nodes:
        rows, atom = node.arguments.rows, node.atom
        changes, is_bounded = result.changes_of_rows(node.arguments), [result.has_bounded_term(row) for row in rows]
        for group in node.members:
            if any(is_bounded[i] for i in group):
                is_usable = all(result.is_bounded_above(rows[i], atom.sign) for i in group)
                if not (atom.is_nondecreasing and is_usable):
                    reject(f"the arguments of {node.name} change along the ray by amounts that are not known")
            elif all(is_zero(changes[i]) for i in group):
                result.changes.append(ZERO)
                result.signs.append(0)
                result.diverging.append(False)
                continue
            slope = atom.asymptotic_slope([changes[i] for i in group])
            if slope is None or not is_finite(slope):
                reject(f"the atom {node.name} has no asymptotic slope along the ray that is proved")
            result.changes.append(slope)
            result.signs.append(atom.sign)
            is_growing = [result.grows(rows[i], changes[i]) for i in group]
            values = [changes[i] for i in group]
            result.diverging.append(is_zero(slope) and atom.grows(is_growing, values))
    return result


def _linear_values(rows: Rows, x: Sequence[int]) -> list[Fraction]:
    """Return the sums of coefficients times entries of x, without constants and values of atoms."""
    n = len(x)
    return [sum((c * x[k] for k, c in row.items() if k < n), ZERO) for row in rows.rows]


def row_values(rows: Rows, point: ScaledVector, values: Sequence[Number]) -> list[Number]:
    """Return the values of rows at a point x, where atoms have some values."""
    n, D = len(point.numerators), point.denominator
    result = list[Number]()
    for row, offset, linear in zip(rows.rows, rows.offsets, _linear_values(rows, point.numerators), strict=True):
        value: Number = shortened((linear + offset * D) / D)
        for k, coefficient in row.items():
            if k >= n:
                value = pair_sum(value, pair_product(coefficient, values[k - n]))
        result.append(value)
    return result
