"""The dual function of a printed primal, derived mechanically: no formula of the page or of the package enters.

With the multiplier of the constraints labelled "w" held fixed, the dual function is what is left to be minimized,

    L(w) = min over the primal's variables of  objective + <w, left side - right side>.

The constraints are kept and their left sides are moved by free variables v at the price <w, v>: the multiplier then IS
w, its sign included. CVXPY writes that as min c'x, A x + s = b, s in K; its conic dual, written down here cone by cone,
is max -b'y, A'y + c = 0, y in K*. For two-sided constraints, labelled "w+" and "w-", w is the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt.checks.measuring import FEASIBLE, PieceFailed, optimum
from boostopt.checks.modelling import conic_form
from boostopt.shapes import Array, Float

SIDES: Mapping[str, float] = {"w": 1.0, "w+": 1.0, "w-": -1.0}
"""The labels of constraints whose multipliers are, or make up, the hypothesis weights, with their sign."""


def labelled(problem: Any) -> dict[str, Any]:
    """Return the constraints of a problem that are labelled, by label."""
    return {constraint.label: constraint for constraint in problem.constraints if constraint.label}


def with_edges(primal: Any, U: Float[Array, "N t"]) -> Any:
    """Return a printed primal with constraints labelled "w", or "w+" and "w-".

    Where it has none because the edges stand in the objective, new variables e take the place of every product of d
    with columns of U, and the constraint Uᵀd = e is labelled "w". PieceFailed where there is neither.
    """
    import cvxpy as cp

    sides = set(labelled(primal)) & set(SIDES)
    if sides in ({"w"}, {"w+", "w-"}):
        return primal
    e = cp.Variable(U.shape[1], name="e")
    search = _Products(U, e)
    objective = cp.Minimize(search.replaced(primal.objective.expr))
    constraints = [c.copy([search.replaced(arg) for arg in c.args]).set_label(c.label) for c in primal.constraints]
    if sides or search.d is None:
        raise PieceFailed(
            'the printed primal must label its constraint on the edges "w", a two-sided pair "w+" and "w-", or have '
            f"the edges as products U.T @ d; its labels are {', '.join(labelled(primal)) or 'none'}"
        )
    return cp.Problem(objective, [*constraints, (U.T @ search.d == e).set_label("w")])


class _Products:
    """Replaces the products of a variable d with combinations of the columns of U by the same combinations of e."""

    def __init__(self, U: Float[Array, "N t"], e: Any) -> None:
        self.U, self.e = U, e
        self.inverse = np.linalg.pinv(U.T)
        self.d: Any = None

    def replaced(self, expression: Any) -> Any:
        """Return the expression with e in it; the same object where nothing changes."""
        from cvxpy.atoms.affine.binary_operators import MulExpression

        if not expression.args:
            return expression
        if type(expression) is MulExpression:  # and not multiply, which is one entry by entry
            left, right = expression.args
            factor, d = (left, right) if left.is_constant() else (right, left)
            combination = self._combination(factor, d)
            if combination is not None:
                self.d = d
                return combination @ self.e
        return expression.copy([self.replaced(arg) for arg in expression.args])

    def _combination(self, factor: Any, d: Any) -> Float[Array, "*k t"] | None:
        """Return S with factor = S U.T, where d is a variable of the examples and there is such an S."""
        import cvxpy as cp

        N = self.U.shape[0]
        if not isinstance(d, cp.Variable) or d.shape != (N,) or not factor.is_constant():
            return None
        value: Any = factor.value
        rows = np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=np.float64)
        rows = rows if rows.shape[-1] == N else rows.T
        combination = rows @ self.inverse
        exact = np.abs(combination @ self.U.T - rows).max() <= FEASIBLE * np.abs(rows).max(initial=1.0)
        return combination if exact and np.abs(rows).max(initial=0.0) > 0 else None


def dual_function(primal: Any, w: Float[Array, " t"]) -> float | None:
    """Return L(w) of a primal from `with_edges` by its conic dual: -inf where unbounded, None if no solver knows."""
    return optimum(conic_dual(with_multiplier(primal, w)))


def with_multiplier(primal: Any, w: Float[Array, " t"]) -> Any:
    """Return the primal whose optimal value is L(w).

    The objective stands in a constraint: its constant is then part of the conic form, where CVXPY has none.
    """
    import cvxpy as cp
    from cvxpy.constraints.zero import Equality

    sides = set(labelled(primal)) & set(SIDES)
    v, value = cp.Variable(len(w)), cp.Variable()
    constraints = list[Any]()
    for constraint in primal.constraints:
        if constraint.label not in sides:
            constraints.append(constraint)
            continue
        if constraint.size != len(w):
            raise PieceFailed(f'the constraint "{constraint.label}" must have an entry for each of {len(w)} hypotheses')
        moved = cp.vec(constraint.expr, order="F") - SIDES[constraint.label] * v
        constraints.append(moved == 0 if isinstance(constraint, Equality) else moved <= 0)
    return cp.Problem(cp.Minimize(value), [*constraints, primal.objective.expr + w @ v <= value])


def conic_dual(problem: Any) -> Any:
    """Return the conic dual of a minimization problem, as CVXPY has brought it to conic form."""
    import cvxpy as cp

    data = conic_form(problem, quadratic=False)
    A, b, c, dims = data["A"], data["b"], data["c"], data["dims"]
    if len(dims.psd) or len(dims.pnd) or data.get("lower_bounds") is not None or data.get("upper_bounds") is not None:
        raise PieceFailed("the printed primal must do with linear, second-order, exponential and power cones")
    y = cp.Variable(len(b))
    return cp.Problem(cp.Maximize(-b @ y), [A.T @ y + c == 0, *_in_dual_cones(y, dims)])


def _in_dual_cones(y: Any, dims: Any) -> list[Any]:
    """Return the constraints y in K*, block by block in CVXPY's order: zero, non-negative, second-order, exp, power."""
    import cvxpy as cp

    constraints = list[Any]()
    start = int(dims.zero)  # the dual of {0} is free
    if dims.nonneg:
        constraints.append(y[start : start + dims.nonneg] >= 0)
        start += int(dims.nonneg)
    for length in map(int, dims.soc):
        constraints.append(cp.SOC(y[start], y[start + 1 : start + length]))
        start += length
    if dims.exp:
        u, v, w = (y[start + k : start + 3 * dims.exp : 3] for k in range(3))
        # K = {y exp(x / y) <= z}: K* = {-u exp(v / u) <= e w, u < 0}, and v / u - 1 = (u - v) / (-u).
        constraints.append(cp.ExpCone(u - v, -u, w))
        start += 3 * int(dims.exp)
    if len(dims.p3d):
        alpha = np.array(dims.p3d)
        u, v, w = (y[start + k : start + 3 * len(alpha) : 3] for k in range(3))
        # K = {x^a y^(1-a) >= |z|}: K* = {(u / a)^a (v / (1 - a))^(1 - a) >= |w|}.
        constraints.append(cp.PowCone3D(cp.multiply(1 / alpha, u), cp.multiply(1 / (1 - alpha), v), w, alpha))
    return constraints
