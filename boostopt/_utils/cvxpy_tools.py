"""CVXPY, loaded on first use, and properties of its expressions: the cones they need, their slopes, an optimum."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse

from boostopt._utils.validation import check_number
from boostopt.errors import BoostoptError, ProblemError, reason_of

if TYPE_CHECKING:
    import cvxpy as cp
else:

    class _LazyModule:
        """CVXPY as a module that is imported when something of it is asked for: that takes a second."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("cvxpy"), name)

    cp = _LazyModule()

CVXPY_ATOM_ADVICE = (
    "Write it with functions of CVXPY such as cp.sum, cp.log and cp.power: those of NumPy take no variables."
)
"""Advice where a function makes no expression."""


def build_expression(name: str, make: Callable[[Any], Any], variable: Any) -> Any:
    """Return the CVXPY expression that a function makes of a variable.

    Raises
    ------
    ProblemError
        It makes none: it raises, or returns something else.
    """
    made = call_user_function(name, make, variable, "a CVXPY expression")
    if not isinstance(made, cp.Expression):
        made = check_number(
            f"what {name} makes", made, "a CVXPY expression", advice=CVXPY_ATOM_ADVICE, error=ProblemError
        )
    expression: Any = cp.Constant(0.0) + made
    check_variables(name, expression, variable)
    return cp.sum(expression) if expression.size == 1 and expression.ndim else expression


def substituted(stated: Any, variable: Any, argument: Any) -> Any:
    """Return an expression, a constraint or a list of them with an affine expression in place of a variable."""
    if isinstance(stated, list):
        return [substituted(each, variable, argument) for each in cast(list[Any], stated)]
    return stated.tree_copy({id(variable): argument})


def with_exact_exponents(node: Any) -> Any:
    """Return a CVXPY expression or constraint with the exponents that were written.

    CVXPY replaces the exponents of `power` and `pnorm` by ratios unless `approx=False`. A power then has the value of
    the exponent but the gradient of the ratio, so that a tangent may lie above the function; and a solver gets the
    function of the ratio, whose optimum is another one.
    """
    args = [with_exact_exponents(arg) for arg in node.args]
    if getattr(node, "approx_error", 0.0) > 0.0:
        if isinstance(node, cp.Power):
            return cp.power(args[0], node.p, approx=False)
        if isinstance(node, cp.Pnorm):
            kept: dict[str, Any] = {"axis": node.axis, "keepdims": node.keepdims}
            return cp.pnorm(args[0], node.original_p, approx=False, **kept)
    if all(mine is theirs for mine, theirs in zip(args, node.args, strict=True)):
        return node
    copied = node.copy(args)
    return copied.set_label(node.label) if isinstance(node, cp.Constraint) else copied


def check_variables(name: str, made: Any, variable: Any) -> None:
    """Raise ProblemError where an expression or a constraint has a variable or a parameter besides one variable."""
    others = [other for other in (*made.variables(), *made.parameters()) if other.id != variable.id]
    if others:
        raise ProblemError(
            f"{name} must have no variable or parameter except its argument; got {', '.join(map(str, others))} as "
            "well. Replace them by numbers."
        )


def call_user_function(name: str, make: Callable[[Any], Any], variable: Any, expected: str) -> Any:
    """Return what a function of the caller's makes of a variable; what it raises is a ProblemError."""
    try:
        return make(variable)
    except BoostoptError:
        raise
    except Exception as failure:
        reason = reason_of(" ".join(str(failure).split()), 200)
        raise ProblemError(
            f"{name} must make {expected} of its argument; got {type(failure).__name__}: {reason}. {CVXPY_ATOM_ADVICE}"
        ) from failure


def required_cones(problem: Any) -> frozenset[str]:
    """Return what a solver must take for a CVXPY problem, as regularizers and edge functions name it."""
    _clear_variable_values(problem)
    data = problem.get_problem_data("CLARABEL", solver_opts={})[0]
    dims, quadratic = data["dims"], data.get("P")
    used = {
        "second_order": len(dims.soc) > 0,
        "quadratic": quadratic is not None and quadratic.nnz > 0,
        "exponential": dims.exp > 0,
        "power": len(dims.p3d) > 0,
        "semidefinite": len(dims.psd) > 0,
    }
    return frozenset({"linear", *(cone for cone, needed in used.items() if needed)})


def solve_approximately(problem: Any) -> bool:
    """Give the variables of a problem their values at an optimum by Clarabel, as accurate as it happens to be.

    Returns whether it found any.
    """
    from cvxpy.error import SolverError

    _clear_variable_values(problem)
    try:
        with warnings.catch_warnings(action="ignore"):  # that it may be inaccurate: it need not be accurate
            problem.solve("CLARABEL", ignore_dpp=True)
    except SolverError:
        return False
    except BaseException as failure:
        if type(failure).__name__ != "PanicException":  # how Clarabel's own assertions end; it is no Exception
            raise
        return False
    return problem.value is not None and bool(np.isfinite(problem.value))


def _clear_variable_values(problem: Any) -> None:
    """Take the values of its variables away: CVXPY's form of sum_largest of a fraction or of all fails beside them."""
    for variable in problem.variables():
        variable.value = None


def subgradients(expression: Any, variables: Sequence[Any]) -> list[Any] | None:
    """Return a subgradient of each of the k entries of an expression, at the values that its variables have.

    A sparse matrix for each variable, of shape (k, its size); None where one of the entries has none.
    """
    try:
        with np.errstate(all="ignore"):  # at the ends of the natural domain, where there is none
            gradients = expression.grad
    except NotImplementedError:  # a few atoms, norm_inf among them, have none in CVXPY
        return None
    except (TypeError, ValueError):  # where one argument of an atom has none and another has one; and of cummax
        return None
    found = list[Any]()
    for variable in variables:
        columns = gradients.get(variable, scipy.sparse.csr_array((variable.size, expression.size)))
        if columns is None:
            return None
        rows = scipy.sparse.csr_array(columns if scipy.sparse.issparse(columns) else np.atleast_2d(columns)).T.tocsr()
        if rows.shape != (expression.size, variable.size):  # as for a few atoms of one number
            return None
        if not np.isfinite(rows.data).all():
            return None
        found.append(rows)
    return found
