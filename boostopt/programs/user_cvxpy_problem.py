"""A CVXPY problem of the user as something that solvers are compared on: copies of it, and answers as flat arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.cvxpy_tools import cp
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_instance
from boostopt.errors import ProblemError, reason_of, short_repr
from boostopt.problem_certificates.leaf_values import value_of
from boostopt.problem_certificates.problem_kinds import check_kind, non_convex_part, relaxed_problem
from boostopt.problem_certificates.problem_reader import check_variable

DIGEST_SOLVER = "CLARABEL"
"""The solver whose cone data the digest of a problem is made of; it takes the cones of every convex problem."""

MAX_TEXT_LENGTH = 2000
"""Number of characters of the text of a problem that reports show."""


@dataclass(frozen=True, eq=False)
class ConvexProblem:
    """A convex CVXPY problem without values and duals. Each solver gets a copy of its own.

    Attributes
    ----------
    headline
        The label of the problem in tables.
    problem
        The problem.
    """

    headline: str
    problem: Any

    @classmethod
    def from_cvxpy(cls, problem: Any, headline: str | None = None) -> ConvexProblem:
        """Return a copy of a problem of the user, with the present values of its parameters.

        Raises
        ------
        ProblemError
            The argument is no convex `cvxpy.Problem`, it has no variables, integer or complex ones, a parameter has no
            value, or CVXPY cannot copy an atom.
        """
        check_convex(problem)
        return cls(_headline(problem) if headline is None else headline, copy_problem(problem))

    def copy(self) -> Any:
        """Return the problem with variables and constraints of its own, none of which has a value."""
        return copy_problem(self.problem)

    @property
    def size(self) -> int:
        """The number of scalar variables and of scalar constraints."""
        return _size(self.problem.variables()) + _size(self.problem.constraints)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 digest of the problem in standard form, as CVXPY states it for `DIGEST_SOLVER`."""
        data = self.copy().get_problem_data(DIGEST_SOLVER, solver_opts={})[0]
        digest = hashlib.sha256(f"{self.sense} {data['dims']}".encode())
        for part in (data[name] for name in ("P", "A", "b", "c") if data.get(name) is not None):
            for array in (part,) if isinstance(part, np.ndarray) else (part.indptr, part.indices, part.data):
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @property
    def sense(self) -> str:
        """The objective's direction: "minimize" or "maximize"."""
        return self.problem.objective.NAME

    def facts(self) -> dict[str, Any]:
        """Return the sizes and the digest of the problem, as plain values."""
        return {
            "sense": self.sense,
            "variables": _size(self.problem.variables()),
            "constraints": _size(self.problem.constraints),
            "program_digest": self.digest,
        }

    def description(self) -> dict[str, Any]:
        """Return the headline and the text of the problem, as plain values."""
        return {"headline": self.headline, "title": self.headline, "page": shorten_text(str(self.problem))}


def shorten_text(text: str) -> str:
    """Return a text of at most `MAX_TEXT_LENGTH` characters."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 3]}..."


def check_convex(problem: object) -> None:
    """Raise ProblemError unless the argument is a CVXPY problem that is convex by CVXPY's rules and continuous."""
    expected, advice = "a cvxpy.Problem", "Pass cp.Problem(objective, constraints)."
    checked: Any = check_instance("problem", problem, cp.Problem, expected, advice, ProblemError)
    check_kind(checked)
    for variable in checked.variables():
        check_variable(variable)
    if part := non_convex_part(checked):
        raise ProblemError(
            f"expected a problem that is convex by CVXPY's rules (DCP); got {part}, which breaks them. State it by "
            "convex atoms."
        )
    if not checked.variables():
        raise ProblemError("expected a problem with variables; got constants alone. Add what a solver can choose.")


def copy_problem(problem: Any) -> Any:
    """Return a continuous CVXPY problem with variables, parameters and constraints of its own, without values.

    Raises
    ------
    ProblemError
        CVXPY cannot copy an atom.
    """
    try:
        return relaxed_problem(problem)[0]
    except (AssertionError, TypeError) as failure:
        raise ProblemError(
            f"expected atoms that CVXPY can copy; it fails with {type(failure).__name__}: {reason_of(failure)}. Write "
            "the problem by other atoms."
        ) from failure


def flat_answer(problem: Any) -> tuple[Float[Array, " n"] | None, Float[Array, " m"] | None]:
    """Return the values of all variables and of all duals of a CVXPY problem, one after another in C order.

    An entry is nan where there is no value; the result is None if there is none at all.
    """
    values = ((value_of(item), item.size) for item in problem.variables())
    return _flat(values), _flat((dual.value, dual.size) for dual in _dual_variables(problem))


def load_answer(problem: Any, values: Float[Array, " n"] | None, duals: Float[Array, " m"] | None) -> None:
    """Store flat values and duals, as `flat_answer` returns them for an equal problem, in a CVXPY problem."""
    for flat, items in ((values, problem.variables()), (duals, _dual_variables(problem))):
        if flat is not None:
            parts = np.split(flat, np.cumsum([item.size for item in items])[:-1])
            for item, part in zip(items, parts, strict=True):
                item.save_value(None if np.isnan(part).any() else part.reshape(item.shape))


def load_mapping(problem: Any, answer: Mapping[Any, Any]) -> None:
    """Store values by variable, and duals by constraint, in a CVXPY problem.

    Raises
    ------
    ProblemError
        A key is no variable and no constraint of the problem, or a value has another size.
    """
    variables = {item.id: item for item in problem.variables()}
    constraints = {item.id: item for item in problem.constraints}
    for key, value in answer.items():
        item = variables.get(getattr(key, "id", None)) or constraints.get(getattr(key, "id", None))
        if item is None:
            raise ProblemError(
                "expected variables and constraints of the problem that the function gets, which is a copy; got "
                f"{short_repr(str(key))}. Take the keys from problem.variables() and problem.constraints."
            )
        array = np.asarray(value, dtype=float)
        if array.size != item.size:
            raise ProblemError(
                f"expected {item.size} numbers for {key!s}; got {array.size}. Return one for each entry."
            )
        if item.id in variables:
            item.save_value(array.reshape(item.shape))
        else:
            item.save_dual_value(array.reshape(item.shape))


def _dual_variables(problem: Any) -> list[Any]:
    """Return CVXPY's variables for the duals of all constraints."""
    return [dual for constraint in problem.constraints for dual in constraint.dual_variables]


def _flat(entries: Iterable[tuple[Any, int]]) -> Float[Array, " n"] | None:
    """Return values one after another, nan for a missing value; None if all are missing."""
    parts = list[Array]()
    for value, size in entries:
        dense = value.toarray() if issparse(value) else value
        array = np.full(size, np.nan) if dense is None else np.asarray(dense, dtype=float).ravel()
        parts.append(array if array.size == size else np.full(size, np.nan))
    flat = np.concatenate([np.zeros(0), *parts])
    return None if np.isnan(flat).all() else flat


def _headline(problem: Any) -> str:
    """Return the direction and the sizes of a problem in one line."""
    variables, constraints = _size(problem.variables()), _size(problem.constraints)
    sizes = f"{format_count(variables, 'variable')}, {format_count(constraints, 'constraint')}"
    return f"{problem.objective.NAME} over {sizes}"


def _size(items: Iterable[Any]) -> int:
    """Return the number of scalars of variables or constraints."""
    return sum(int(item.size) for item in items)
