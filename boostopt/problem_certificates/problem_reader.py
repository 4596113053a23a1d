"""Readers of CVXPY problems: unknowns, atoms and constraints as affine rows with balls as coefficients.

The unknowns z are the free entries x of the variables, then the values of the atoms, each in the order of evaluation.
So the arguments of every atom, the objective and all constraints are affine functions of z.

The reader knows the meaning of CVXPY's objects. It does not use CVXPY's canonicalization, its analysis of curvature,
and its numerical values of expressions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float, Int
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.formatting import escape_unprintable
from boostopt.errors import ProblemError, short_repr
from boostopt.problem_certificates.affine_atoms import AFFINE_RULES
from boostopt.problem_certificates.arithmetic.affine_forms import (
    AffineForm,
    Row,
    RowBlock,
    concatenated,
    sum_of_forms,
)
from boostopt.problem_certificates.arithmetic.balls import ONE, ZERO, Ball, balls, midpoints
from boostopt.problem_certificates.arithmetic.sparse_float_forms import FloatForm, FloatRowBlock
from boostopt.problem_certificates.atoms.base import Function
from boostopt.problem_certificates.atoms.equivalent_atoms import EXPANSIONS
from boostopt.problem_certificates.atoms.function_rules import (
    FUNCTION_RULES,
    REFUSALS,
    exponent_of,
    geometric_mean_weights,
    huber_threshold,
)
from boostopt.problem_certificates.atoms.perspectives import Perspective, perspective_form
from boostopt.problem_certificates.constraint_parts import constraint_parts, plain_words, present_dual
from boostopt.problem_certificates.leaf_values import (
    bound_values,
    constant_values,
    dual_matrix,
    dual_vector,
    real_entries,
    value_of,
)

MAX_BALLS = 4_000
"""Largest size of the data of a problem whose coefficients are balls. Those of larger ones are floats with errors."""

MAX_BASIS_SIZE = 500_000
"""Largest number of rows of equalities times unknowns of a problem whose coefficients are balls: they need a basis."""

MAX_VALUE = 1e100
"""Largest absolute value of an entry of a point: what is larger is no answer of a solver."""


@dataclass(frozen=True)
class AtomNode:
    """An atom of the problem.

    Attributes
    ----------
    name
        The name of the class in CVXPY.
    function
        The function of each group.
    members
        The rows of `arguments` that each group reads, shape (m, k).
    arguments
        The entries of all arguments.
    start
        The position in z of the first of the m values.
    orientations
        The sign that the slope of each argument must have, as in `Tangents`, shape (m, k).
    """

    name: str
    function: Function
    members: Int[Array, "m k"]
    arguments: RowBlock
    start: int
    orientations: Float[Array, "m k"]

    @property
    def outputs(self) -> slice:
        """The positions of the values in z."""
        return slice(self.start, self.start + len(self.members))


@dataclass(frozen=True)
class MatrixConstraint:
    """A matrix E that must be positive semidefinite.

    Attributes
    ----------
    n
        The size of E.
    rows
        The entries of the symmetric part of E, in C order.
    dual
        The multiplier of the solver, shape (n, n); None if there is none.
    source
        The constraint, or the variable with the attribute, of the CVXPY problem.
    expression
        E, or minus the variable that is negative semidefinite, as a CVXPY expression.
    """

    n: int
    rows: RowBlock
    dual: Float[Array, "n n"] | None
    source: Any
    expression: Any


@dataclass(frozen=True)
class ScalarConstraints:
    """Inequalities rows <= 0, or equalities rows = 0.

    Attributes
    ----------
    rows
        All rows, of one constraint after the other.
    duals
        The multipliers of the solver, 0 where there is none, shape (m,).
    sources
        The constraint of each part.
    expressions
        The CVXPY expression of each part.
    """

    rows: RowBlock
    duals: Float[Array, " m"]
    sources: Sequence[Any]
    expressions: Sequence[Any]

    def segments(self) -> Iterator[tuple[Any, Any, slice]]:
        """Yield each constraint with its expression and its rows."""
        start = 0
        for source, expression in zip(self.sources, self.expressions, strict=True):
            yield source, expression, slice(start, start + expression.size)
            start += expression.size

    def with_present_duals(self) -> ScalarConstraints:
        """Return the constraints with the duals that their CVXPY constraints have now."""
        duals = [
            dual_vector(present_dual(source), expression.size)
            for source, expression in zip(self.sources, self.expressions, strict=True)
        ]
        return replace(self, duals=np.concatenate([np.zeros(0), *duals]))

    def describe(self, i: int) -> str:
        """Return the constraint that row i belongs to."""
        for source, expression, rows in self.segments():
            if i < rows.stop:
                entry = f", entry {i - rows.start}" if expression.size > 1 else ""
                return f"{plain_words(str(source))}{entry}"
        raise IndexError(i)


@dataclass(frozen=True)
class Variable:
    """The entries of a CVXPY variable among the unknowns.

    Attributes
    ----------
    variable
        The CVXPY variable.
    positions
        The position in x of each entry in C order, -1 for entries that are always 0.
    """

    variable: Any
    positions: Int[Array, " k"]

    def values(self, x: Float[Array, " n"]) -> Array:
        """Return the value of the variable at a point."""
        return np.append(x, 0.0)[self.positions].reshape(self.variable.shape)


@dataclass
class ReadProblem:
    """A CVXPY problem as rows over unknowns, to be minimized.

    Attributes
    ----------
    sign
        1 if the CVXPY problem minimizes, -1 if it maximizes: then the objective is negated.
    variables
        The variables with their positions.
    lower, upper
        Bounds of x from attributes, shape (n,).
    nodes
        The atoms in the order of evaluation.
    objective
        One row.
    inequalities, equalities, matrices
        The constraints.
    problem
        The CVXPY problem.
    has_rounded_constants
        Whether the value of an atom of constants is not exact.
    dependent_entries
        Entries whose slopes depend on those of others, by the entries among which they were looked for.
    """

    sign: int
    variables: Sequence[Variable]
    lower: Float[Array, " n"]
    upper: Float[Array, " n"]
    nodes: Sequence[AtomNode]
    objective: RowBlock
    inequalities: ScalarConstraints
    equalities: ScalarConstraints
    matrices: Sequence[MatrixConstraint]
    problem: Any
    objective_expression: Any
    n_values: int = field(default=0)
    has_rounded_constants: bool = False
    dependent_entries: dict[tuple[int, ...], set[int]] = field(
        default_factory=dict[tuple[int, ...], set[int]], init=False, repr=False, compare=False
    )

    @property
    def n(self) -> int:
        """The number of entries of x."""
        return len(self.lower)

    @property
    def is_large(self) -> bool:
        """True if the coefficients are floats with radii, and not balls."""
        return isinstance(self.objective, FloatRowBlock)

    def evaluate(self, x: Sequence[Ball]) -> list[Ball]:
        """Return z at a point x in balls; nan where an atom is outside its domain."""
        z = [*x, *([ZERO] * (self.n_values - self.n))]
        for node in self.nodes:
            u = node.arguments.values(z)
            for k, group in enumerate(node.members.tolist()):
                z[node.start + k] = node.function.value([u[i] for i in group])
        return z

    def float_values(self, x: Float[Array, " n"]) -> Float[Array, " k"]:
        """Return z at a point in floating point, not finite where an atom is outside its domain."""
        z = np.concatenate([x, np.zeros(self.n_values - self.n)])
        for node in self.nodes:
            u = node.arguments.float_values(z)[node.members]
            values = node.function.float_values(u)
            z[node.outputs] = midpoints(node.function.value(balls(group)) for group in u) if values is None else values
        return z

    def group_of(self, z: int) -> tuple[int, int]:
        """Return the positions of the atom and of the group whose value has position z, which is no entry of x."""
        index = bisect_right(self.nodes, z, key=lambda node: node.start) - 1
        return index, z - self.nodes[index].start

    def without_last_equality(self) -> ReadProblem:
        """Return the problem without its last equality, which has one row."""
        equalities = self.equalities
        form = equalities.rows.form()
        rows = form.selected(range(len(form) - 1), (len(form) - 1,)).block(self.n_values)
        sources, expressions = equalities.sources[:-1], equalities.expressions[:-1]
        return replace(self, equalities=ScalarConstraints(rows, equalities.duals[:-1], sources, expressions))

    def with_linear_term(self, positions: Int[Array, " k"], coefficients: Float[Array, " k"]) -> ReadProblem:
        """Return the problem with linear terms added to the objective, for entries of x at different positions."""
        is_active = coefficients != 0
        if not is_active.any():
            return self
        form, count = self.objective.form(), int(is_active.sum())
        unknowns = type(form).of_unknowns(positions[is_active], (count, 1))
        linear = unknowns.product_from_left(type(form).of_constants(coefficients[None, is_active])).reshaped((1,))
        return replace(self, objective=form.plus([linear]).block(self.n_values))

    def with_present_duals(self) -> ReadProblem:
        """Return the problem with the duals that its constraints have now."""
        return replace(
            self,
            inequalities=self.inequalities.with_present_duals(),
            equalities=self.equalities.with_present_duals(),
            matrices=[
                item
                if isinstance(item.source, cp.Variable)
                else replace(item, dual=dual_matrix(present_dual(item.source), item.n))
                for item in self.matrices
            ],
        )

    def describe(self, j: int) -> str:
        """Return the name of an entry of x."""
        for variable in self.variables:
            places = np.flatnonzero(variable.positions == j)
            if len(places):
                index = np.unravel_index(places[0], variable.variable.shape) if variable.variable.shape else ()
                name = escape_unprintable(variable.variable.name())
                return f"{name}{list(map(int, index)) if index else ''}"
        raise IndexError(j)

    def point_of_values(self) -> Float[Array, " n"] | None:
        """Return the values of the variables as x; None if one has none, or one that is no usable number."""
        x = np.zeros(self.n)
        for variable in self.variables:
            value = value_of(variable.variable)
            if value is None:
                return None
            entries = real_entries(value, variable.variable.size)
            if entries is None:
                return None
            is_free = variable.positions >= 0
            x[variable.positions[is_free]] = entries[is_free]
        return x if (np.abs(x) <= MAX_VALUE).all() else None


class Reader:
    """Reads expressions into forms, and collects the atoms that are not affine.

    Attributes
    ----------
    has_rounded_constants
        Whether the value of an atom of constants is not exact.
    dependent_entries
        Entries whose slopes depend on those of others, by the entries among which they were looked for.
    """

    has_rounded_constants: bool = False

    def __init__(self, form_class: type[AffineForm] | type[FloatForm]) -> None:
        self._form_class = form_class
        self.variables: dict[int, Variable] = {}
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.semidefinite: list[tuple[Any, int]] = []
        self._forms: dict[int, tuple[Any, AffineForm]] = {}
        self._atoms: list[tuple[str, Function, Any, AffineForm, int]] = []
        self._curvatures: dict[int, int] = {}
        self._n_values = 0
        self._scale: AffineForm | None = None  # s, while a perspective is read

    def add_variable(self, variable: Any) -> None:
        """Give the free entries of a variable positions among the unknowns.

        Raises
        ------
        ProblemError
            The variable is complex, boolean or integer.
        """
        attributes, name = variable.attributes, variable.name()
        check_variable(variable)
        if len(variable.shape) > 2 and any(attributes.get(key) for key in ("symmetric", "PSD", "NSD", "diag")):
            raise ProblemError(
                f"variables with an attribute of matrices must have two dimensions; got {name} of shape "
                f"{variable.shape}. Write one variable for each matrix."
            )
        size, start = variable.size, len(self.lower)
        is_symmetric = any(attributes.get(attribute) for attribute in ("symmetric", "PSD", "NSD"))
        if attributes.get("diag"):
            n = variable.shape[0]
            labels = np.full((n, n), -1)
            np.fill_diagonal(labels, np.arange(n))
        elif attributes.get("sparsity"):
            labels = np.full(variable.shape, -1)
            labels[variable.sparse_idx] = np.arange(len(variable.sparse_idx[0]))
        elif is_symmetric:
            n = variable.shape[0]
            labels = np.zeros((n, n), dtype=int)
            labels[np.triu_indices(n)] = np.arange(n * (n + 1) // 2)
            labels = np.triu(labels) + np.triu(labels, 1).T
        else:
            labels = np.arange(size).reshape(variable.shape)
        positions = np.where(labels.ravel() >= 0, labels.ravel() + start, -1)
        count = int(labels.max(initial=-1)) + 1
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        if attributes.get("nonneg") or attributes.get("pos"):
            low = np.zeros(size)
        if attributes.get("nonpos") or attributes.get("neg"):
            high = np.zeros(size)
        if attributes.get("bounds") is not None:
            for side, bound in enumerate(attributes["bounds"]):
                if bound is None:
                    continue
                values = bound_values(name, bound, tuple(variable.shape))
                low, high = (np.maximum(low, values), high) if side == 0 else (low, np.minimum(high, values))
        if ((positions < 0) & ((low > 0) | (high < 0))).any():
            raise _zero_entry_error(name)
        for j in range(count):
            places = positions == start + j
            self.lower.append(float(low[places].max()))
            self.upper.append(float(high[places].min()))
        self.variables[variable.id] = Variable(variable, positions)
        if attributes.get("PSD"):
            self.semidefinite.append((variable, 1))
        if attributes.get("NSD"):
            self.semidefinite.append((variable, -1))

    def close_variables(self) -> None:
        """Begin the values of atoms, after all variables were added."""
        self._n_values = len(self.lower)

    def form(self, expression: Any) -> AffineForm:
        """Return an expression as a form.

        Raises
        ------
        ProblemError
            An atom has no rule, or a constant is no finite real number.
        """
        memo = self._forms.get(id(expression))
        if memo is None:
            memo = self._forms[id(expression)] = (expression, self._read(expression))
        return memo[1]

    def without_idle_atoms(self, forms: Sequence[AffineForm]) -> list[AffineForm]:
        """Leave out the atoms that have a value everywhere, and whose values have the factor 0 in all that remains.

        Return the forms of the objective and the constraints over the unknowns that are left.
        """
        n = len(self.lower)
        used = set[int]().union(*(form.used_unknowns(n) for form in forms if self._atoms))
        atoms = list[tuple[str, Function, Any, AffineForm, int]]()
        for atom in reversed(self._atoms):
            _, function, members, form, start = atom
            is_used = any(k in used for k in range(start, start + len(members)))
            if is_used or not _has_values_everywhere(function, members, form):
                atoms.insert(0, atom)
                used |= form.used_unknowns(n)
        if len(atoms) == len(self._atoms):
            return list(forms)
        outputs = [np.arange(start, start + len(members)) for _, _, members, _, start in atoms]
        places = np.concatenate([np.arange(n), *outputs])
        numbers = {k: i for i, k in enumerate(places.tolist())}
        self._atoms = [(*atom[:3], atom[3].with_unknowns(places), numbers[atom[4]]) for atom in atoms]
        self._curvatures = {numbers[k]: sign for k, sign in self._curvatures.items() if k in numbers}
        self._n_values = len(places)
        return [form.with_unknowns(places) for form in forms]

    def nodes(self) -> list[AtomNode]:
        """Return all atoms that were read."""
        result = list[AtomNode]()
        for name, function, members, form, start in self._atoms:
            orientations = function.sign * form.signs(self._curvatures)[members]
            result.append(AtomNode(name, function, members, self.block(form), start, orientations))
        return result

    def block(self, form: AffineForm) -> RowBlock:
        """Return a form as rows over all unknowns, after everything was read."""
        return form.block(self._n_values)

    @property
    def n_values(self) -> int:
        """The number of entries of z that were read."""
        return self._n_values

    def _read(self, expression: Any) -> AffineForm:
        """Return the form of an expression that was not read before."""
        if isinstance(expression, cp.Variable):
            return self._form_class.of_unknowns(self.variables[expression.id].positions, tuple(expression.shape))
        name = type(expression).__name__
        if isinstance(expression, cp.Constant | cp.Parameter) and name in ("Constant", "Parameter"):
            return self._form_class.of_constants(constant_values(expression))
        has_rule = name in AFFINE_RULES or name in FUNCTION_RULES or name in EXPANSIONS or name == "perspective"
        if not (has_rule and type(expression).__module__.startswith("cvxpy.")):
            raise ProblemError(
                f"expected atoms that certify_problem has a rule for; got {name} in {short_repr(str(expression))}. "
                + REFUSALS.get(
                    name, "Write it with other atoms of CVXPY; docs/any_problem.md lists those that have a rule."
                )
            )
        if name == "perspective":
            return self._read_perspective(expression)
        if name in EXPANSIONS:
            return self.form(EXPANSIONS[name](expression)).reshaped(tuple(expression.shape))
        arguments = [self.form(argument) for argument in expression.args]
        if name in AFFINE_RULES:
            return AFFINE_RULES[name](expression, arguments)
        if name in ("Power", "PowerApprox"):
            exponent = exponent_of(expression)
            if exponent == 1:
                return arguments[0]
            if exponent == 0:
                return self._form_class.of_constants(np.ones(expression.shape))
        if name == "huber" and huber_threshold(expression) == 0:
            return self._form_class.of_constants(np.zeros(expression.shape))
        if name in ("GeoMean", "GeoMeanApprox"):
            weights, groups = geometric_mean_weights(expression)
            if len(weights) == 1:  # CVXPY reads the entry itself, which may be negative
                return arguments[0].selected(groups.ravel().tolist(), tuple(expression.shape))
        grouped = FUNCTION_RULES[name](expression, arguments)
        form, members = concatenated(arguments), grouped.members
        positions = np.unique(members)
        if len(positions) < len(form):  # the matrix of a quadratic form is a part of the function
            form = form.selected(positions, (len(positions),))
            members = np.searchsorted(positions, members)
        return self._apply(name, grouped.function, members, form, tuple(expression.shape))

    def _read_perspective(self, expression: Any) -> AffineForm:
        """Return the form of a perspective: the expression in it is read with s in place of 1.

        Raises
        ------
        ProblemError
            It is a perspective within another.
        """
        if self._scale is not None:
            raise ProblemError("a perspective must contain no other; got one that does. Write one in closed form.")
        outer_forms, scale = self._forms, self.form(expression.args[0]).reshaped((1,))
        self._forms, self._scale = {}, scale
        try:
            form = self.form(expression.f)
        finally:
            self._forms, self._scale = outer_forms, None
        return perspective_form(form, scale).reshaped(tuple(expression.shape))

    def _apply(
        self, name: str, function: Function, members: Int[Array, "m k"], form: AffineForm, shape: tuple[int, ...]
    ) -> AffineForm:
        """Return the values of an atom: constants if its arguments are constant, else new unknowns."""
        m = len(members)
        if form.is_constant:
            values = [function.value([form.offsets[i] for i in group]) for group in members.tolist()]
            if not all(value.is_finite() for value in values):
                raise ProblemError(
                    f"constants must have finite values; got {name} of a constant outside its domain, or of no "
                    "entries. Correct the constant."
                )
            self.has_rounded_constants |= not all(value.is_exact() for value in values)
            return self._form_class.of_balls(values, shape)
        if self._scale is not None:
            form = concatenated([perspective_form(form, self._scale), self._scale])
            function, members = Perspective(function), np.hstack([members, np.full((m, 1), len(form) - 1)])
        start = self._n_values
        self._n_values += m
        self._atoms.append((name, function, members, form, start))
        for k in range(start, start + m):
            self._curvatures[k] = function.sign
        return self._form_class.of_unknowns(np.arange(start, start + m), shape)


def _has_values_everywhere(function: Function, members: Int[Array, "m k"], form: AffineForm) -> bool:
    """Return whether a function has a value whatever the unknowns are: its limits concern constants above them."""
    limits, rows, offsets = function.domain_limits(members.shape[1]), form.rows, form.offsets
    return function.has_box_domain and all(
        not rows[place] and offsets[place] > limit for i, limit in limits.items() for place in members[:, i].tolist()
    )


def read_problem(problem: Any, bounds: Mapping[Any, Any] | None = None) -> ReadProblem:
    """Read a CVXPY problem.

    Parameters
    ----------
    problem
        The problem. Its values and duals are read as they are.
    bounds
        Lower and upper bounds of variables, which become constraints of the problem.

    Raises
    ------
    ProblemError
        The argument is no CVXPY problem, or it has something that no rule covers.
    """
    if not isinstance(problem, cp.Problem):
        raise ProblemError(
            f"expected a cvxpy.Problem; got {short_repr(problem)}. Pass cp.Problem(objective, constraints), or "
            "program.certify(d, w) for a program of boostopt."
        )
    reader = read_variables(problem)
    reader.close_variables()
    _apply_bounds(reader, bounds)
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    with _location_in_errors("the objective"):
        objective = reader.form(problem.objective.args[0])
    if len(objective) != 1:
        raise ProblemError(f"the objective must be one number; got shape {objective.shape}. Sum it.")
    objective = objective.reshaped(()).scaled([sign * ONE])
    parts: dict[str, list[tuple[AffineForm, Any, Any, Any]]] = {"inequality": [], "equality": [], "matrix": []}
    for k, constraint in enumerate(problem.constraints):
        with _location_in_errors(f"constraint [{k}]"):
            kind, expression, dual = constraint_parts(constraint)
            parts[kind].append((reader.form(expression), dual, constraint, expression))
    for variable, side in reader.semidefinite:
        expression = variable if side > 0 else -variable
        parts["matrix"].append((reader.form(expression), None, variable, expression))
    names = [name for name, items in parts.items() for _ in items]
    objective, *forms = reader.without_idle_atoms([objective, *(form for name in parts for form, *_ in parts[name])])
    for name in parts:
        selected = [form for form, kind in zip(forms, names, strict=True) if kind == name]
        parts[name] = [(form, *rest) for form, (_, *rest) in zip(selected, parts[name], strict=True)]
    lower, upper = np.array(reader.lower, dtype=float), np.array(reader.upper, dtype=float)
    matrices = list[MatrixConstraint]()
    for form, dual, source, expression in parts["matrix"]:
        n = form.shape[0] if form.shape else 1
        square = form.reshaped((n, n))
        symmetric = sum_of_forms([square, square.transposed()], (n, n)).scaled([ONE / 2] * (n * n))
        matrices.append(MatrixConstraint(n, reader.block(symmetric), dual_matrix(dual, n), source, expression))
    return ReadProblem(
        sign,
        list(reader.variables.values()),
        lower,
        upper,
        reader.nodes(),
        reader.block(objective),
        _scalar_constraints(reader, parts["inequality"]),
        _scalar_constraints(reader, parts["equality"]),
        matrices,
        problem,
        problem.objective.args[0] * sign,
        reader.n_values,
        reader.has_rounded_constants,
    )


def with_unit_sum(problem: ReadProblem, positions: Int[Array, " k"]) -> ReadProblem:
    """Return a problem with smaller coefficients that is equal at all points with the sum 1 of some entries of x.

    If the coefficients of these entries in a row lie within a factor of 2, the smallest one moves to the constant. So
    10^13 (sum x - 1) is 0 also over a box.
    """
    unit_entries = set(positions.tolist())

    def reduced(block: RowBlock) -> RowBlock:
        coefficients = block.floats[:, positions]
        is_full = np.diff(coefficients.tocsr().indptr) == len(positions)
        selected = [i for i in np.flatnonzero(is_full).tolist() if _are_similar(coefficients[[i], :].data)]
        if not selected:
            return block
        form, offsets = block.form(), block.offsets
        entries = list[tuple[Row, Ball]]()
        for i in selected:
            row = block.rows[i]
            shift = min((row[j] for j in positions.tolist()), key=lambda value: abs(float(value.mid())))
            rest = {j: value - shift if j in unit_entries else value for j, value in row.items()}
            entries.append(({j: value for j, value in rest.items() if not value == 0}, offsets[i] + shift))
        both = form.concatenated([form, form.of_entries(entries, (len(entries),))])
        places = np.arange(len(form))
        places[selected] = len(form) + np.arange(len(selected))
        return both.selected(places, (len(form),)).block(block.n_unknowns)

    return replace(
        problem,
        nodes=[replace(node, arguments=reduced(node.arguments)) for node in problem.nodes],
        objective=reduced(problem.objective),
        inequalities=replace(problem.inequalities, rows=reduced(problem.inequalities.rows)),
    )


def _are_similar(values: Float[Array, " k"]) -> bool:
    """Return whether numbers have one sign, and sizes within a factor of 2."""
    sizes = np.abs(values)
    has_one_sign = bool((values > 0).all() or (values < 0).all())
    return has_one_sign and float(sizes.max()) <= 2.0 * float(sizes.min())


def read_variables(problem: Any) -> Reader:
    """Return a reader that has read the variables of a problem, in balls or, for large data, in floats.

    Raises
    ------
    ProblemError
        A variable is complex, boolean or integer.
    """
    is_large = data_size(problem) > MAX_BALLS or basis_size(problem) > MAX_BASIS_SIZE
    reader = Reader(FloatForm if is_large else AffineForm)
    for variable in problem.variables():
        reader.add_variable(variable)
    return reader


def check_variable(variable: Any) -> None:
    """Raise ProblemError unless a variable is real and continuous."""
    attributes, name = variable.attributes, variable.name()
    for attribute in ("complex", "imag", "hermitian"):
        if attributes.get(attribute):
            raise ProblemError(
                f"variables must be real; got {name}, which is {attribute}. Write its real and imaginary parts as "
                "two variables."
            )
    if attributes.get("boolean") or attributes.get("integer"):
        raise ProblemError(
            f"variables must be continuous; got {name}, which is boolean or integer. Use relaxation=True of "
            "certify_problem for the optimum of the continuous relaxation."
        )


def data_size(problem: Any) -> int:
    """Return the number of entries of the variables and of non-zeros of the constants of a problem."""
    constants = (constant.value for constant in problem.constants())
    sizes = (int(value.nnz if scipy.sparse.issparse(value) else np.size(value)) for value in constants)
    return sum(sizes) + sum(item.size for item in (*problem.variables(), *problem.parameters()))


def basis_size(problem: Any) -> int:
    """Return the number of rows of the equalities of a problem times that of entries of its variables."""
    rows = sum(item.size for item in problem.constraints if type(item).__name__ in ("Equality", "Zero"))
    return rows * sum(item.size for item in problem.variables())


@contextmanager
def _location_in_errors(place: str) -> Generator[None]:
    """Add to the message of an error which part of the problem it is about."""
    try:
        yield
    except ProblemError as failure:
        raise ProblemError(f"{failure} This is in {place} of the problem.") from failure


def _scalar_constraints(reader: Reader, parts: Sequence[tuple[AffineForm, Any, Any, Any]]) -> ScalarConstraints:
    """Return constraints as one block of rows, with the duals of the solver."""
    rows = reader.block(concatenated([form for form, _, _, _ in parts]))
    duals = [dual_vector(dual, len(form)) for form, dual, _, _ in parts]
    flat = np.concatenate(duals) if duals else np.zeros(0)
    return ScalarConstraints(
        rows, flat, [source for _, _, source, _ in parts], [expression for _, _, _, expression in parts]
    )


def _zero_entry_error(name: str) -> ProblemError:
    """Return the error for bounds that exclude entries of a diagonal or sparse variable that are always 0."""
    return ProblemError(f"bounds must allow entries that are always 0; got others for {name}. Correct the bounds.")


def _apply_bounds(reader: Reader, bounds: Mapping[Any, Any] | None) -> None:
    """Tighten the bounds of the unknowns by bounds of the caller, and check that all are consistent.

    Raises
    ------
    ProblemError
        A key is no variable of the problem, or the values are no pair of numbers.
    """
    for variable, pair in (bounds or {}).items():
        entry = reader.variables.get(getattr(variable, "id", -1))
        if entry is None:
            raise ProblemError(
                f"keys of bounds must be variables of the problem; got {short_repr(variable)}. Pass {{x: (low, high)}}."
            )
        name = entry.variable.name()
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ProblemError(f"bounds must be pairs; got {short_repr(pair)} for {name}. Pass {{x: (low, high)}}.")
        low, high = (bound_values(name, side, tuple(entry.variable.shape)) for side in pair)
        for j, first, second in zip(entry.positions.tolist(), low.tolist(), high.tolist(), strict=True):
            if first > second:
                raise ProblemError(
                    f"lower bounds must not exceed upper bounds; got {first:g} > {second:g} for {name}. Correct bounds."
                )
            if j >= 0:
                reader.lower[j], reader.upper[j] = max(reader.lower[j], first), min(reader.upper[j], second)
            elif first > 0 or second < 0:
                raise _zero_entry_error(name)
