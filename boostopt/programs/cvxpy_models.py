"""The derived problems: min F(d) + G(Uᵀd) and its dual as CVXPY problems, in scalings that suit solvers.

No scaling is best everywhere: for ERLPBoost the certified gap of one solver's answer moves by three orders of
magnitude with it, in different directions for different solvers. Each form is a pair of maps: the problem, and the
way back from a solver's variables and multipliers to (d, w).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float, HypothesisVector
from boostopt._utils.cvxpy_tools import cp
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.rows.margin_matrix import MarginMatrix

Side = Literal["primal", "dual"]
Values = Mapping[int, Any]


@dataclass(frozen=True)
class ModelForm:
    """The side of the program that a solver gets, and its scaling.

    Attributes
    ----------
    side
        "primal" over d or "dual" over w.
    relative_weights
        The primal's variable is d / weight_scale (d0 for an entropy) instead of d.
    scaled_objective
        The objective is multiplied by the regularizer's objective_scale (eta for an entropy).
    """

    side: Side
    relative_weights: bool = False
    scaled_objective: bool = False

    @property
    def name(self) -> str:
        """Name such as "primal/density/rated"."""
        return "/".join(
            [self.side, *(["density"] if self.relative_weights else []), *(["rated"] if self.scaled_objective else [])]
        )


@dataclass(frozen=True)
class CvxpyModel:
    """A CVXPY problem with the map from its solution to the weights.

    `recover_weights(primal values, dual values)`, both by CVXPY's ids, returns (d, w). `objective_factor` is the factor
    of the objective. `is_original` says that it is a problem of the user, whose value and status the attempt reports.
    """

    problem: Any
    recover_weights: Callable[[Values, Values], tuple[ExampleVector | None, HypothesisVector | None]]
    objective_factor: float
    is_original: bool = False


def build_cvxpy_model(U: MarginMatrix, F: Regularizer, G: EdgeFunction, form: ModelForm) -> CvxpyModel:
    """Return the problem in a form.

    The link between the two sides is a constraint of its own, Uᵀd = e or m = Uw, labelled "w" or "d" after its
    multiplier: that is how the other side's variable is read, whatever F and G are.
    """
    return (_primal if form.side == "primal" else _dual)(U, F, G, form)


def _primal(U: MarginMatrix, F: Regularizer, G: EdgeFunction, form: ModelForm) -> CvxpyModel:
    scale = F.objective_scale if form.scaled_objective else 1.0
    x, e = cp.Variable(U.N, name="x" if form.relative_weights else "d"), cp.Variable(U.t, name="e")
    d = cp.multiply(F.weight_scale, x) if form.relative_weights else x
    link = (U.to_cvxpy_constant().T @ d == e).set_label("w")
    f, in_domain = F.cvxpy_value(d)
    g, with_edges = G.cvxpy_value(e)
    problem = cp.Problem(cp.Minimize(scale * (f + g)), [link, *in_domain, *with_edges])

    def read(primal: Values, dual: Values) -> tuple[ExampleVector | None, HypothesisVector | None]:
        weight_scale = F.weight_scale if form.relative_weights else 1.0
        return _times(weight_scale, primal.get(x.id)), _times(1.0 / scale, dual.get(link.id))

    return CvxpyModel(problem, read, scale)


def _dual(U: MarginMatrix, F: Regularizer, G: EdgeFunction, form: ModelForm) -> CvxpyModel:
    scale = F.objective_scale if form.scaled_objective else 1.0
    w, m = cp.Variable(U.t, name="w"), cp.Variable(U.N, name="m")
    link = (m == U.to_cvxpy_constant() @ w).set_label("d")
    f, margin_constraints = F.cvxpy_conjugate(-m)
    g, weight_constraints = G.cvxpy_conjugate(w)
    problem = cp.Problem(cp.Maximize(scale * (-f - g)), [link, *margin_constraints, *weight_constraints])

    def read(primal: Values, dual: Values) -> tuple[ExampleVector | None, HypothesisVector | None]:
        return _times(1.0 / scale, dual.get(link.id)), _times(1.0, primal.get(w.id))

    return CvxpyModel(problem, read, scale)


def _times(factor: float | Float[Array, " n"], values: Any) -> Float[Array, " n"] | None:
    """Return factor * values as a vector; None for no values."""
    return None if values is None else factor * np.asarray(values, dtype=np.float64).ravel()
