"""Linear models of scikit-learn: the objective of each, as a loss with a penalty over the features.

Let S be the largest feature. The columns of U are y X / S, and the weights are w = S v for the coefficients v. So the
penalties l1 ||v||_1 + (l2/2) ||v||_2^2 are (l1/S) ||w||_1 + (l2/(2 S^2)) ||w||_2^2. An intercept that is not penalized
is the column y, whose weight costs nothing. The intercept of liblinear is a further feature, penalized like the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, ExampleVector, HypothesisVector, Int8
from boostopt._utils.formatting import format_count
from boostopt.errors import ProblemError
from boostopt.oracles.learners.classifier_hypotheses import class_name
from boostopt.programs.loss_penalty_formulation import combine
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

MIN_SCALE, MAX_SCALE = 1e-45, 1e45
"""The range of the largest feature, whose square divides the prices."""


@dataclass(frozen=True)
class PenalizedObjective:
    """The objective of a linear model: C sum_n c_n loss(m_n) + l1 ||v||_1 + (l2/2) ||v||_2^2.

    Attributes
    ----------
    loss
        The name of the loss in `combine`.
    C, l1, l2
        The prices of the loss at one example and of the norms of the coefficients.
    scaling
        The value of the constant feature whose penalized coefficient gives the intercept; None for no penalty on it.
    """

    loss: str
    C: float
    l1: float
    l2: float
    scaling: float | None = None

    @property
    def description(self) -> str:
        """The objective in words."""
        loss = self.loss.replace("_", " ")
        terms = [f"{self.C:g} x {loss}"]
        terms += [f"{self.l1:g} ||v||_1"] * (self.l1 > 0) + [f"{0.5 * self.l2:g} ||v||_2^2"] * (self.l2 > 0)
        return " + ".join(terms)


def is_linear(model: Any) -> bool:
    """Return whether a model is linear and of a known kind."""
    return isinstance(model, tuple(_objective_readers()))


def objective_of(model: Any, N: int) -> PenalizedObjective:
    """Return the objective of a fitted linear model of scikit-learn over N examples.

    Raises
    ------
    ProblemError
        The model has a loss or a penalty that `combine` does not have.
    """
    read = next(read for kind, read in _objective_readers().items() if isinstance(model, kind))
    return read(model, N)


def _objective_readers() -> Mapping[type[Any], Callable[[Any, int], PenalizedObjective]]:
    from sklearn import linear_model, svm

    return {
        linear_model.LogisticRegression: _logistic_objective,
        svm.LinearSVC: _linear_svc_objective,
        linear_model.SGDClassifier: _sgd_objective,
    }


def _logistic_objective(model: Any, N: int) -> PenalizedObjective:
    # If both were chosen by cross-validation, there is one value for each class.
    parameters: list[Any] = [getattr(model, f"{name}_", getattr(model, name, 0.0)) for name in ("C", "l1_ratio")]
    C, mixed = (float(np.ravel(values)[0] or 0.0) for values in parameters)
    penalty = getattr(model, "penalty", "deprecated")
    ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, mixed)
    if penalty in (None, "none") or not np.isfinite(C):
        raise ProblemError(
            f"{class_name(model)} must have a penalty; got none. Without one the optimum need not exist: pass "
            "a finite C."
        )
    scaling = model.intercept_scaling if model.solver == "liblinear" and model.fit_intercept else None
    return PenalizedObjective("logistic", C, ratio, 1.0 - ratio, scaling)


def _linear_svc_objective(model: Any, N: int) -> PenalizedObjective:
    if model.multi_class != "ovr":
        raise ProblemError(
            f'the multi_class of {class_name(model)} must be "ovr"; got {model.multi_class!r}, whose loss is '
            "none of the "
            "margins. Choose the other."
        )
    scaling = model.intercept_scaling if model.fit_intercept else None
    is_1 = model.penalty == "l1"
    return PenalizedObjective(model.loss, float(model.C), float(is_1), float(not is_1), scaling)


SGD_LOSSES = {
    "hinge": "hinge",
    "squared_hinge": "squared_hinge",
    "log_loss": "logistic",
    "modified_huber": "modified_huber",
}
"""The losses of SGDClassifier that are losses of the margin, by their names here."""


def _sgd_objective(model: Any, N: int) -> PenalizedObjective:
    if model.loss not in SGD_LOSSES:
        raise ProblemError(
            f"the loss of {class_name(model)} must be one of {', '.join(SGD_LOSSES)}; got {model.loss!r}. "
            "Choose another."
        )
    if model.penalty is None or model.alpha <= 0:
        raise ProblemError(
            f"{class_name(model)} must have a penalty; got none. Without one the optimum need not exist."
        )
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, float(model.l1_ratio))
    return PenalizedObjective(SGD_LOSSES[model.loss], 1.0 / N, model.alpha * ratio, model.alpha * (1.0 - ratio))


def linear_program_of_model(
    model: Any, objective: PenalizedObjective, X: Any, y: Int8[Array, " N"], c: ExampleVector
) -> tuple[Program, HypothesisVector]:
    """Return the program of a linear model over features, dense or CSR, and the model's weights in it."""
    raw_coefficients = model.coef_.toarray() if scipy.sparse.issparse(model.coef_) else model.coef_
    coefficients = np.asarray(raw_coefficients, dtype=np.float64).ravel()
    if X.shape[1] != len(coefficients):
        raise ProblemError(
            f"X must have the {format_count(len(coefficients), 'feature')} that the model was fitted to; got "
            f"{X.shape[1]}. "
            "Pass the training set."
        )
    b = float(np.ravel(model.intercept_)[0]) if model.fit_intercept else 0.0
    largest = float(np.abs(X).max()) if X.shape[1] else 0.0
    S = max(largest, objective.scaling or 0.0) or 1.0
    if not MIN_SCALE <= S <= MAX_SCALE:
        raise ProblemError(
            f"the largest feature must lie in [{MIN_SCALE:g}, {MAX_SCALE:g}], or squares leave the floats; got "
            f"{S:.3g}. "
            "Scale the features."
        )
    free = model.fit_intercept and objective.scaling is None
    columns: list[Any] = [_scale_rows(X, y / S)]
    w = S * coefficients
    if model.fit_intercept:
        value = 1.0 if objective.scaling is None else objective.scaling / S
        columns.insert(0, (value * y)[:, np.newaxis])
        w = np.append(b / value, w)
    return _loss_and_penalty(objective, S, free).bind(
        MarginMatrix(_hstack(columns)), c=c, **_penalty_parameters(objective, S)
    ), w


def _loss_and_penalty(objective: PenalizedObjective, S: float, free: bool) -> Any:
    has_both_norms = objective.l1 > 0 and objective.l2 > 0
    penalty = "elastic_net" if has_both_norms else "l1" if objective.l1 > 0 else "l2_squared"
    return combine(objective.loss, penalty, signed=True, intercept=free)


def _penalty_parameters(objective: PenalizedObjective, S: float) -> dict[str, float]:
    """Return the parameters of the pair."""
    prices = {"C": objective.C, "l1": objective.l1 / S, "l2": objective.l2 / S**2}
    return {name: price for name, price in prices.items() if price > 0}


def _scale_rows(X: Any, factors: ExampleVector) -> Any:
    """Return the rows of X, each times a factor, with entries clipped to [-1, 1] against rounding."""
    if scipy.sparse.issparse(X):
        scaled = scipy.sparse.csr_array(X.multiply(factors[:, np.newaxis]))
        scaled.data = scaled.data.clip(-1.0, 1.0)
        return scaled
    return (X * factors[:, np.newaxis]).clip(-1.0, 1.0)


def _hstack(columns: list[Any]) -> Any:
    """Stack blocks of columns side by side."""
    if any(scipy.sparse.issparse(block) for block in columns):
        return scipy.sparse.csr_array(scipy.sparse.hstack(columns, format="csr"))
    return np.concatenate(columns, axis=1)
