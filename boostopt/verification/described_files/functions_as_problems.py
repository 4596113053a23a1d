"""F and G as problems: as CVXPY states them to a solver, as they are read, and as a certificate file states them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizer_statements import defines_own_kind
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy, UnnormalizedRelativeEntropy
from boostopt.problem_certificates.arithmetic.balls import working_precision
from boostopt.problem_certificates.problem_reader import ReadProblem, read_problem
from boostopt.programs.cvxpy_functions.cvxpy_description import Description
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer
from boostopt.verification.problem_statement import number_to_json, problem_to_json

COMPUTED_KINDS = ("formula",)
"""Kinds of G whose CVXPY expression has numbers that are computed in floats."""


@dataclass(frozen=True, eq=False)
class StatedPart:
    """F or G as a problem.

    Attributes
    ----------
    variable
        The CVXPY variable of the argument, d or e.
    expression, constraints
        The value, and its constraints without the bounds of the argument.
    read
        The problem with these bounds, as floats.
    caps
        The exact upper bounds of d, shape (N,); None for G.
    """

    variable: Any
    expression: Any
    constraints: Sequence[Any]
    read: ReadProblem
    caps: Sequence[Fraction] | None

    @property
    def positions(self) -> Array:
        """The positions of the argument among the unknowns."""
        return next(item.positions for item in self.read.variables if item.variable.id == self.variable.id)

    def to_json(self) -> dict[str, Any]:
        """Return the part as a file states it.

        Raises
        ------
        ProblemError
            The checker of files has no rule for an atom, or a coefficient is no fraction.
        """
        with working_precision():
            problem = problem_to_json(self.read)
        for j, cap in zip(self.positions.tolist(), self.caps or ()):  # noqa: B905
            problem["upper"][j] = number_to_json(cap)
        names = [item.variable.id for item in self.read.variables]
        return {"argument": names.index(self.variable.id), "problem": problem}


def is_described(F: Regularizer, G: EdgeFunction) -> bool:
    """Return whether F or G is known by a description alone, so that a file states both as problems."""
    return (isinstance(F, CvxpyRegularizer) and not defines_own_kind(F)) or (
        isinstance(G, CvxpyEdges) and not defines_own_kind(G)
    )


def regularizer_part(F: Regularizer) -> StatedPart:
    """Return F as a problem, with the capped simplex.

    Raises
    ------
    ProblemError
        F is neither a description nor one of those whose expression is exact.
    """
    if isinstance(F, CvxpyRegularizer):
        return _part_of_weights(F.description, F.domain)
    d = cp.Variable(F.N, name="d")
    if isinstance(F, CappedSimplexIndicator):
        return _part_of_weights(Description(d, cp.Constant(0.0), []), F.domain)
    if isinstance(F, RelativeEntropy) and type(F) in (RelativeEntropy, UnnormalizedRelativeEntropy):
        value, _ = F.cvxpy_value(d)
        return _part_of_weights(Description(d, value, []), F.domain)
    raise _not_statable_error("F", F, "a description, an indicator or a relative entropy")


def edge_part(G: EdgeFunction, t: int) -> StatedPart:
    """Return G of t edges as a problem; a description counts for edges in [-1, 1].

    Raises
    ------
    ProblemError
        G is neither a description nor one of boostopt whose expression is exact.
    """
    if isinstance(G, CvxpyEdges):
        description, ends = G.description(t), np.ones(t)
        e = description.variable
        return _part(description, {e: (-ends, ends)}, None)
    if not defines_own_kind(G) or G.kind in COMPUTED_KINDS:
        raise _not_statable_error("G", G, "a description or a norm, a bound or a penalty of boostopt")
    e = cp.Variable(t, name="e")
    return _part(Description(e, *G.cvxpy_value(e)), {}, None)


def _part_of_weights(description: Description, domain: CappedSimplex) -> StatedPart:
    """Return a description of weights d, with the capped simplex as constraints."""
    d = description.variable
    simplex = Description(d, description.expression, [*description.constraints, cp.sum(d) == 1])
    return _part(simplex, {d: (np.zeros(d.size), domain.upper)}, exact_caps_of(domain))


def _part(
    description: Description,
    bounds: Mapping[Any, tuple[Float[Array, " n"], Float[Array, " n"]]],
    caps: Sequence[Fraction] | None,
) -> StatedPart:
    """Return a description as a problem with bounds."""
    x, constraints = description.variable, list[Any](description.constraints)
    if all(item.id != x.id for part in (description.expression, *constraints) for item in part.variables()):
        constant: Any = 0 * cp.sum(x) <= 1
        constraints.append(constant)
    problem = cp.Problem(cp.Minimize(description.expression), constraints)
    with working_precision(), np.errstate(all="ignore"):
        read = read_problem(problem, bounds)
    return StatedPart(x, description.expression, constraints, read, caps)


def exact_caps_of(domain: CappedSimplex) -> list[Fraction]:
    """Return the caps c / nu of a capped simplex as fractions; c / sum c if nu exceeds the sum by rounding."""
    c = [Fraction(value) for value in domain.c.tolist()]
    nu = min(Fraction(float(domain.nu)), sum(c, Fraction(0)))
    return [value / nu for value in c]


def _not_statable_error(name: str, value: object, expected: str) -> ProblemError:
    """Return the error for an F or a G beside a description that no file can state as a problem."""
    return ProblemError(
        f"the file of a described program states {name} as a problem: {expected}; got {type(value).__name__}. "
        "Write it as a description as well, or keep the program and its certificate in Python."
    )
