"""`certify_model`: an interval of the gap between a fitted model and the optimum of its own objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Float, HypothesisVector, Int8
from boostopt._utils.formatting import format_count
from boostopt._utils.immutable_arrays import immutable_copy
from boostopt._utils.validation import check_array, check_number
from boostopt.backends.base import Backend
from boostopt.ensembles.boosted_tree_members import is_lightgbm
from boostopt.ensembles.member_extraction import SUPPORTED_ENSEMBLES, is_supported_ensemble, members_of
from boostopt.ensembles.member_hypotheses import call_without_name_warnings
from boostopt.ensembles.members import has_same_names
from boostopt.ensembles.model_certification import linear_models as linear
from boostopt.ensembles.model_certification import svm_kernels as kernels
from boostopt.ensembles.model_certification.model_certificate import ModelCertificate
from boostopt.errors import OptionError, ProblemError, short_repr
from boostopt.estimators.training.training_data import class_weight_factors
from boostopt.functions.edge_functions.base import MAX_HYPOTHESIS_WEIGHT
from boostopt.functions.regularizers.loss_conjugates import LossConjugate
from boostopt.oracles.feature_validation import checked_features
from boostopt.oracles.labelled_examples import check_multiplicities
from boostopt.oracles.learners.classifier_hypotheses import class_name
from boostopt.programs.formulation_catalogue import get_formulation, soft_margin_formulation_name
from boostopt.programs.program import Program
from boostopt.solving.solve import solve

DEFAULT_TOL = 1e-6
"""The default scaled gap of the optimum."""

DEFAULT_NU_FRACTION = 0.1
"""The default nu of an ensemble's soft margin, as a share of the examples."""


@dataclass(frozen=True)
class SolveSettings:
    """The arguments of `solve` for the program of a model."""

    tol: float
    backend: str | Backend
    time_limit: float | None


def certify_model(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    nu: float | None = None,
    tol: float = DEFAULT_TOL,
    backend: str | Backend = "auto",
    time_limit: float | None = None,
) -> ModelCertificate:
    """Return the certified gap of a fitted model to the optimum of its own objective.

    The function solves the program of the model and proves an interval of its optimum. It computes the attained
    objective from the model's own coefficients. Both results are valid for any solver that fitted the model.

    Parameters
    ----------
    model
        A fitted model of two classes. From scikit-learn: LogisticRegression, LinearSVC, SGDClassifier (hinge, squared
        hinge, log loss, modified Huber), SVC, and every ensemble that `reweight` takes. Also colboost's
        EnsembleClassifier, and pipelines that end in one of these; X is then what the pipeline takes. The soft margin
        of an ensemble is certified against the best soft margin of any weights of its own members.
    X, y
        The training set of the model: features, shape (N, features), and labels, shape (N,). With a precomputed kernel,
        X is the kernel matrix.
    sample_weight
        The sample weights of the fit, non-negative, shape (N,), 1 by default.
    nu
        For ensembles: the count (not a share) of smallest margins whose mean is the soft margin. The default is the nu
        of a `MarginBoostClassifier`, and a tenth of the examples for other ensembles.
    tol, backend, time_limit
        As for `solve`.

    Raises
    ------
    ProblemError
        The model is not fitted, is of another kind, does not have two classes, or has no penalty; or X or y do not fit
        the model.
    OptionError
        nu is given for a model that is not an ensemble.
    SolverFailed
        No solver returned an answer.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.svm import SVC

    if isinstance(model, Pipeline) and not is_supported_ensemble(model):
        _validate_feature_names(model, X)
        features = X if len(model) == 1 else call_without_name_warnings(model[:-1], "transform", X)
        return certify_model(
            model[-1], features, y, sample_weight, nu=nu, tol=tol, backend=backend, time_limit=time_limit
        )
    if isinstance(model, SVC):
        _reject_nu(nu, model)
        return certify_svc(model, X, y, sample_weight, tol=tol, backend=backend, time_limit=time_limit)
    if not linear.is_linear(model):
        _validate_model_type(model)
        return _certify_ensemble(model, X, y, sample_weight, nu, SolveSettings(tol, backend, time_limit))
    _reject_nu(nu, model)
    signs, c, rows = _training_examples(model, X, y, sample_weight)
    features = _select_rows(checked_features(X), rows, len(signs))
    objective = linear.objective_of(model, len(signs))
    program, w = linear.linear_program_of_model(model, objective, features, signs[rows], c)
    return _certify_weights(program, w, objective.description, SolveSettings(tol, backend, time_limit))


def certify_svc(
    svc: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    tol: float = DEFAULT_TOL,
    backend: str | Backend = "auto",
    time_limit: float | None = None,
) -> ModelCertificate:
    """Return the certified gap of a fitted support vector machine of libsvm to its optimum.

    The kernel is factored with pivots, and the error of the factor widens the interval: see `ModelCertificate.error`.

    Parameters
    ----------
    svc
        scikit-learn's SVC, fitted to two classes, with the kernel linear, rbf, poly, precomputed or a function.
    X, y
        The training set, in the order of the fit, N up to 20,000.
    sample_weight
        The sample weights of the fit, non-negative, shape (N,), 1 by default.
    tol, backend, time_limit
        As for `solve`.

    Raises
    ------
    ProblemError
        The model is not fitted or does not have two classes; its kernel is not positive semidefinite or is too large;
        or X or y do not fit the model.
    SolverFailed
        No solver returned an answer.

    References
    ----------
    Cortes and Vapnik 1995.
    """
    from sklearn.svm import SVC

    if not isinstance(svc, SVC):
        raise ProblemError(f"expected a fitted SVC; got {class_name(svc)}. Pass other models to certify_model.")
    signs, c, rows = _training_examples(svc, X, y, sample_weight)
    features = checked_features(X)
    features = immutable_copy(features) if callable(svc.kernel) else features  # a user's kernel may write
    if features.shape != svc.shape_fit_:
        raise ProblemError(
            f"X must be the training set, of shape {svc.shape_fit_}; got shape {features.shape}. Pass what the model "
            "was fitted to, examples of weight 0 included."
        )
    if svc.kernel == "precomputed" and len(rows) < len(signs):
        raise ProblemError(
            "with a precomputed kernel all examples must have a weight above 0; "
            f"{len(signs) - len(rows)} have 0, and scikit-learn's decision function takes other columns of the kernel "
            "there than the fit did. Fit without them."
        )
    kernel = kernels.kernel_matrix(svc, features)
    coefficients = _dual_coefficients(svc, features, kernel.K, signs, rows)
    factored = kernels.pivoted_cholesky(kernel.K[np.ix_(rows, rows)], kernel.rounding[rows])
    program, S = kernels.svm_program(factored, signs[rows], c, float(svc.C))
    w = np.append(float(np.ravel(svc.intercept_)[0]), S * (factored.Phi.T @ coefficients))
    largest = svc.C * c
    # Errors of the quadratic at the optimum, and of the quadratic and the decision function at the model.
    error = 0.5 * factored.max_row_sum * float(largest @ largest)
    model_slack = 0.5 * factored.max_row_sum * float(coefficients @ coefficients) + float(
        largest @ factored.row_sums
    ) * float(np.abs(coefficients).max())
    words = f"{svc.C:g} x hinge + 0.5 ||f||^2, kernel {svc.kernel if isinstance(svc.kernel, str) else 'of a function'}"
    settings = SolveSettings(tol, backend, time_limit)
    return _certify_weights(program, w, words, settings, error=error, model_slack=model_slack)


DECISION_TOLERANCE = 1e-6
"""The tolerance for the decision function of the coefficients, as a share of its largest possible value."""


def _dual_coefficients(
    svc: Any, X: Any, K: Float[Array, "N N"], signs: Int8[Array, " N"], rows: Any
) -> Float[Array, " rows"]:
    """Return the dual coefficients of the examples that count, shape (rows,), checked against the model's values.

    libsvm leaves out examples of weight 0 and numbers the support vectors among the others.
    """
    dual = svc.dual_coef_
    support_coefficients = np.ravel(dual.toarray() if scipy.sparse.issparse(dual) else dual).astype(np.float64)
    coefficients = np.zeros(len(rows))
    if len(svc.support_) and int(svc.support_.max()) < len(rows):
        coefficients[svc.support_] = support_coefficients
    b = float(np.ravel(svc.intercept_)[0])
    values = K[:, rows] @ coefficients + b
    size = float(np.abs(K).max(initial=0.0)) * float(np.abs(support_coefficients).sum()) + abs(b)
    fits = np.abs(values - svc.decision_function(X)) <= DECISION_TOLERANCE * size
    if not fits.all() or (coefficients * signs[rows] < 0.0).any():
        raise ProblemError(
            f"X, y and sample_weight must be those that {class_name(svc)} was fitted to; its decision function "
            "is another "
            "one there. Pass the training set in the order of the fit; where features are far from 0 beside their "
            "spread, centre them before the fit."
        )
    return coefficients


def _certify_weights(
    program: Program,
    w: HypothesisVector,
    words: str,
    settings: SolveSettings,
    *,
    error: float = 0.0,
    model_slack: float = 0.0,
    min_objective: float = 0.0,
) -> ModelCertificate:
    """Return the certificate of weights in a program whose value is minus the objective.

    `error` and `of_model` bound the effect of an approximate kernel on the optimum and on the model. `min_objective`
    is a lower bound of the objective, 0 for a sum of losses and a penalty.
    """
    if not np.isfinite(w).all():
        raise ProblemError("the coefficients of a model must be finite numbers; some are not. Fit it anew.")
    solution = solve(program, settings.backend, settings.tol, settings.time_limit).raise_if_failed()
    best = solution.certificate
    certificate = program.certify(best.d, w)  # without d, the bounds of edges would need a search for a distribution
    low, high = _linear_tail_excess(program, w)
    # Larger weights are certified after scaling down. An infinite lower bound gives no bound of the attained objective.
    computable = float(np.abs(w).max(initial=0.0)) <= MAX_HYPOTHESIS_WEIGHT and certificate.lower > -np.inf
    return ModelCertificate(
        objective=words,
        attained=-certificate.lower + high + model_slack if computable else math.inf,
        attained_at_least=-certificate.lower - 2.0 * certificate.slack + low - model_slack
        if computable
        else min_objective,
        lower=max(-min(best.upper, certificate.upper) - error, min_objective),
        upper=-max(best.lower, certificate.lower) + error,
        program=program,
        solution=solution,
        error=2.0 * error,
    )


def _linear_tail_excess(program: Program, w: HypothesisVector) -> tuple[float, float]:
    """Return bounds of the excess of the loss at the margins of w over the loss of the program, rounding included.

    The program replaces a loss of unbounded slope by a linear one beyond a slope that no optimum reaches. The model may
    be in that range.
    """
    F = program.regularizer
    if not isinstance(F, LossConjugate):
        return 0.0, 0.0
    m = program.margins.margins(w)
    unit = (len(w) + len(m) + 12) * float(np.finfo(np.float64).eps)
    margin_slack = unit * float(np.abs(w).sum())
    low, high = (float(F.linearization_excess(-m + sign * margin_slack).sum()) for sign in (-1.0, 1.0))
    return low * (1.0 - unit), high * (1.0 + unit)


def _validate_model_type(model: Any) -> None:
    """Raise ProblemError with advice for a model that is not linear, a support vector machine or an ensemble."""
    if is_colboost(model) or is_supported_ensemble(model):
        return
    raise ProblemError(
        "expected a fitted LogisticRegression, LinearSVC, SGDClassifier or SVC, colboost's classifier, or an "
        f" ensemble: {SUPPORTED_ENSEMBLES}; got {short_repr(model)}. Write what it minimizes with "
        "boostopt.combine and certify that."
    )


def _certify_ensemble(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None,
    nu: float | None,
    settings: SolveSettings,
) -> ModelCertificate:
    """Return the certified gap of an ensemble's soft margin to the best soft margin over its members."""
    if is_lightgbm(model):
        signs, c, rows = _training_examples(model, X, y, sample_weight)
        members = members_of(model)
        margins = members.margins(X, signs, rows)
    else:
        members = members_of(list(model.learners), weights=model.weights) if is_colboost(model) else members_of(model)
        members = members.with_labels_of(y)
        signs = members.label_signs(y)
        _require_two_classes(signs)
        rows, c = check_multiplicities(sample_weight, len(signs), "sample_weight")
        margins = members.margins(X, signs, rows)
        c = c * _class_weight_factors(model, y, rows, c)
    total = float(c.sum())
    count = _nu_of_model(model, total) if nu is None else check_number("nu", nu)
    program = get_formulation(soft_margin_formulation_name()).bind(margins, c=c, nu=count)
    words = f"minus the mean of the {count:g} smallest margins over {margins.t} members"
    return _certify_weights(program, members.weights, words, settings, min_objective=-1.0)


def _class_weight_factors(
    model: Any, y: npt.ArrayLike, rows: Any, c: Float[Array, " rows"]
) -> Float[Array, " rows"] | float:
    """Return the factors of the multiplicities that a fitted boostopt classifier got from its class weights."""
    class_weight = getattr(model, "class_weight", None)
    if class_weight is None or not hasattr(model, "nu_"):
        return 1.0
    classes, codes = np.unique(check_array("y", y)[rows], return_inverse=True)
    return class_weight_factors(class_weight, classes, codes, c)[codes]


def _nu_of_model(model: Any, total: float) -> float:
    """Return the nu of a fitted boostopt classifier; a tenth of the weights for other ensembles."""
    model_nu = getattr(model, "nu_", None)
    if isinstance(model_nu, Integral):
        return float(model_nu)
    return max((DEFAULT_NU_FRACTION if model_nu is None else float(model_nu)) * total, 1.0)


def is_colboost(model: Any) -> bool:
    """Return whether a model is colboost's classifier, without importing it."""
    return type(model).__module__.startswith("colboost") and hasattr(model, "learners")


def _reject_nu(nu: float | None, model: Any) -> None:
    if nu is not None:
        raise OptionError(f"nu must belong to an ensemble; got {short_repr(nu)} for {class_name(model)}. Leave it out.")


def _require_two_classes(signs: Int8[Array, " N"]) -> None:
    """Raise ProblemError for labels of fewer than two classes."""
    if len(signs) == 0 or abs(int(signs.sum(dtype=np.int64))) == len(signs):
        raise ProblemError(
            f"y must hold examples of both classes; got {len(signs)} of {'one' if len(signs) else 'none'}. Pass the "
            "training set."
        )


def _validate_feature_names(model: Any, X: Any) -> None:
    """Raise ProblemError for a frame whose columns differ from those of the fit in names or order."""
    fitted, columns = getattr(model, "feature_names_in_", None), getattr(X, "columns", None)
    if fitted is not None and columns is not None and not has_same_names(columns, fitted):
        raise ProblemError(
            f"X must have the columns that {class_name(model)} was fitted to, {short_repr(list(fitted))}, in "
            "that order; got "
            f"{short_repr(list(columns))}. Pass X[model.feature_names_in_]."
        )


def _training_examples(
    model: Any, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[Int8[Array, " N"], Float[Array, " rows"], Any]:
    """Return label signs for all rows, the rows of positive weight, and their multiplicities."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        advice = "Call fit(X, y) first." if hasattr(model, "fit") else "Pass a classifier that was fitted."
        raise ProblemError(f"a model must be fitted; got {class_name(model)}, which knows no classes. {advice}")
    if len(classes) != 2:
        raise ProblemError(
            f"a model must distinguish two classes; got {class_name(model)}, which was fitted to "
            f"{len(classes)}. Fit one "
            "for each class against the rest."
        )
    labels = check_array("y", y)
    if labels.ndim != 1 or not np.isin(labels, classes).all():
        raise ProblemError(
            f"y must hold the labels that {class_name(model)} was fitted to, {classes.tolist()}; got others. Pass its "
            "training set."
        )
    positive = labels == classes[1]
    signs = np.where(positive, 1, -1).astype(np.int8)
    _require_two_classes(signs)
    _validate_feature_names(model, X)
    rows, c = check_multiplicities(sample_weight, len(labels), "sample_weight")
    class_weight = getattr(model, "class_weight", None)
    if class_weight is not None:
        from sklearn.utils.class_weight import compute_class_weight

        if isinstance(class_weight, str) and sample_weight is not None:
            raise ProblemError(
                "balanced class weights beside sample weights differ between versions of scikit-learn; got both. Pass "
                "the class weights as numbers."
            )
        weights = compute_class_weight(class_weight, classes=classes, y=labels)
        c = c * np.where(positive[rows], weights[1], weights[0])
    if not math.isfinite(float(c.sum())):
        raise ProblemError("the weights of the examples must be finite; their sum is not. Pass smaller ones.")
    return signs, c, rows


def _select_rows(X: Any, rows: Any, N: int) -> Any:
    if X.shape[0] != N:
        raise ProblemError(f"X must have the {format_count(N, 'row')} of y; got {X.shape[0]}. Pass the training set.")
    return X if len(rows) == N else X[rows]
