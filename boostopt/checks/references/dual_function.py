"""The dual function of a printed primal, derived mechanically, without formulas of the formulation or of the package.

For a fixed multiplier w of the constraints labelled "w", the dual function is

    L(w) = min over the primal's variables of  objective + <w, left side - right side>.

The constraints stay, and free variables v shift their left sides at the cost <w, v>. The multiplier then IS w, with
its sign. CVXPY writes this problem as min c'x, A x + s = b, s in K. Its conic dual is max -b'y, A'y + c = 0, y in K*;
it is written down here cone by cone. For two-sided constraints, labelled "w+" and "w-", w is the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float, HypothesisVector
from boostopt.checks.references.cvxpy_references import conic_form
from boostopt.checks.references.measurements import FEASIBILITY_TOLERANCE, ComponentError, optimal_value

MULTIPLIER_SIGNS: Mapping[str, float] = {"w": 1.0, "w+": 1.0, "w-": -1.0}
"""Labels of the constraints whose multipliers make up the hypothesis weights, with their signs."""


def labelled_constraints(problem: Any) -> dict[str, Any]:
    """Return the labelled constraints of a problem, by label."""
    return {constraint.label: constraint for constraint in problem.constraints if constraint.label}


def label_edge_constraint(primal: Any, U: Float[Array, "N t"]) -> Any:
    """Return a printed primal with constraints labelled "w", or "w+" and "w-".

    If it has none because the edges are in the objective, new variables e replace every product of d with columns
    of U, and the constraint Uᵀd = e is labelled "w". ComponentError if there is neither a label nor such a product.
    """
    import cvxpy as cp

    sides = set(labelled_constraints(primal)) & set(MULTIPLIER_SIGNS)
    if sides in ({"w"}, {"w+", "w-"}):
        return primal
    e = cp.Variable(U.shape[1], name="e")
    search = _EdgeSubstitution(U, e)
    objective = cp.Minimize(search.substitute(primal.objective.expr))
    constraints = [c.copy([search.substitute(arg) for arg in c.args]).set_label(c.label) for c in primal.constraints]
    if sides or search.d is None:
        raise ComponentError(
            'the printed primal must label its constraint on the edges "w", a two-sided pair "w+" and "w-", or have '
            f"the edges as products U.T @ d; its labels are {', '.join(labelled_constraints(primal)) or 'none'}"
        )
    return cp.Problem(objective, [*constraints, (U.T @ search.d == e).set_label("w")])


class _EdgeSubstitution:
    """The substitution of the same combinations of e for products of d with combinations of columns of U."""

    def __init__(self, U: Float[Array, "N t"], e: Any) -> None:
        self.U, self.e = U, e
        self.inverse = np.linalg.pinv(U.T)
        self.d: Any = None

    def substitute(self, expression: Any) -> Any:
        """Return the expression in terms of e."""
        from cvxpy.atoms.affine.binary_operators import MulExpression

        if not expression.args:
            return expression
        if type(expression) is MulExpression:  # and not `multiply`, which multiplies entry by entry
            left_side, right_side = expression.args
            factor, d = (left_side, right_side) if left_side.is_constant() else (right_side, left_side)
            combination = self._combination(factor, d)
            if combination is not None:
                self.d = d
                return combination @ self.e
        return expression.copy([self.substitute(arg) for arg in expression.args])

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
        exact = np.abs(combination @ self.U.T - rows).max() <= FEASIBILITY_TOLERANCE * np.abs(rows).max(initial=1.0)
        return combination if exact and np.abs(rows).max(initial=0.0) > 0 else None


def dual_function(primal: Any, w: HypothesisVector) -> float | None:
    """Return L(w) of a primal from `label_edge_constraint` by its conic dual: -inf if unbounded, None for no answer."""
    return optimal_value(conic_dual(lagrangian_problem(primal, w)))


def lagrangian_problem(primal: Any, w: HypothesisVector) -> Any:
    """Return the primal whose optimal value is L(w).

    The objective is moved into a constraint, because CVXPY's conic form has no place for its constant.
    """
    import cvxpy as cp
    from cvxpy.constraints.zero import Equality

    sides = set(labelled_constraints(primal)) & set(MULTIPLIER_SIGNS)
    v, value = cp.Variable(len(w)), cp.Variable()
    constraints = list[Any]()
    for constraint in primal.constraints:
        if constraint.label not in sides:
            constraints.append(constraint)
            continue
        if constraint.size != len(w):
            raise ComponentError(
                f'the constraint "{constraint.label}" must have an entry for each of {len(w)} hypotheses'
            )
        shifted = cp.vec(constraint.expr, order="F") - MULTIPLIER_SIGNS[constraint.label] * v
        constraints.append(shifted == 0 if isinstance(constraint, Equality) else shifted <= 0)
    return cp.Problem(cp.Minimize(value), [*constraints, primal.objective.expr + w @ v <= value])


def conic_dual(problem: Any) -> Any:
    """Return the conic dual of a minimization problem in CVXPY's conic form."""
    import cvxpy as cp

    data = conic_form(problem, quadratic=False)
    A, b, c, dims = data["A"], data["b"], data["c"], data["dims"]
    if len(dims.psd) or len(dims.pnd) or data.get("lower_bounds") is not None or data.get("upper_bounds") is not None:
        raise ComponentError("the printed primal must use only linear, second-order, exponential and power cones")
    y = cp.Variable(len(b))
    return cp.Problem(cp.Maximize(-b @ y), [A.T @ y + c == 0, *_dual_cone_constraints(y, dims)])


def _dual_cone_constraints(y: Any, dims: Any) -> list[Any]:
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
