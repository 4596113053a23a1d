"""`certify_model`: how far a model that was fitted elsewhere is from the optimum of what it minimizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt.arguments import number
from boostopt.arrays import as_array
from boostopt.backends.base import Backend
from boostopt.classifiers.kinds import members_of
from boostopt.errors import OptionError, ProblemError, shown
from boostopt.margins import Margins
from boostopt.models import kernels, linear
from boostopt.models.certificate import ModelCertificate
from boostopt.models.columns import is_colboost, is_lightgbm, of_lightgbm
from boostopt.oracles.examples import multiplicities
from boostopt.oracles.features import checked_features
from boostopt.oracles.fitted import name_of
from boostopt.programs.catalogue import get_formulation, soft_margin_formulation
from boostopt.programs.program import Program
from boostopt.shapes import Array, Float, Int8
from boostopt.solving.solving import solve

TOL = 1e-6
"""Scaled gap of the optimum where none is asked for."""

SHARE = 0.1
"""Share of the examples that the soft margin of an ensemble is the mean of, where none is asked for."""


@dataclass(frozen=True)
class Asked:
    """How the program is to be solved: as `solve` takes it."""

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
    tol: float = TOL,
    backend: str | Backend = "auto",
    time_limit: float | None = None,
) -> ModelCertificate:
    """Return how far a fitted model is from the optimum of what it minimizes.

    The program that the model stands for is solved, and the interval of its optimum is proved; what the model attains
    is computed from its own coefficients. Both are true whatever solver the model came from.

    Parameters
    ----------
    model
        A fitted model of two classes. Of scikit-learn: LogisticRegression, LinearSVC, SGDClassifier (hinge, squared
        hinge, log loss, modified Huber), SVC; and ensembles, whose members are what `reweight` takes. LightGBM's
        LGBMClassifier and colboost's EnsembleClassifier. Of an ensemble the soft margin is certified against the best
        that any weights of its own members have.
    X, y
        The training set of the model: features, shape (N, features), and labels, shape (N,). With a precomputed kernel
        X is the kernel matrix.
    sample_weight
        Those of the fit, non-negative, shape (N,), 1 by default.
    nu
        For ensembles: the count whose smallest margins the soft margin is the mean of; a tenth of the examples by
        default.
    tol, backend, time_limit
        As for `solve`.

    Raises
    ------
    ProblemError
        The model is not fitted, of another kind, of other than two classes, without a penalty; X or y do not fit it.
    OptionError
        nu for a model that is no ensemble.
    SolverFailed
        No solver left an answer.
    """
    from sklearn.svm import SVC

    if isinstance(model, SVC):
        _no_nu(nu, model)
        return certify_svc(model, X, y, sample_weight, tol=tol, backend=backend, time_limit=time_limit)
    if not linear.is_linear(model):
        return _of_ensemble(model, X, y, sample_weight, nu, Asked(tol, backend, time_limit))
    _no_nu(nu, model)
    signs, c, rows = _examples(model, y, sample_weight)
    features = _rows_of(checked_features(X), rows, len(signs))
    objective = linear.objective_of(model, len(signs))
    program, w = linear.program_of(model, objective, features, signs[rows], c)
    return _certified(program, w, objective.words, Asked(tol, backend, time_limit))


def certify_svc(
    svc: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    *,
    tol: float = TOL,
    backend: str | Backend = "auto",
    time_limit: float | None = None,
) -> ModelCertificate:
    """Return how far a fitted support vector machine of libsvm's is from its optimum.

    The kernel is factored with pivots, and what the factor misses of it widens the interval: see
    `ModelCertificate.error`.

    Parameters
    ----------
    svc
        scikit-learn's SVC, fitted to two classes, with the kernel linear, rbf, poly, precomputed or a function.
    X, y
        Its training set, in the order of the fit, N up to 20,000.
    sample_weight
        Those of the fit, non-negative, shape (N,), 1 by default.
    tol, backend, time_limit
        As for `solve`.

    Raises
    ------
    ProblemError
        The model is not fitted, of other than two classes, its kernel is not positive semidefinite or too large; X or y
        do not fit it.
    SolverFailed
        No solver left an answer.

    References
    ----------
    Cortes and Vapnik 1995.
    """
    signs, c, rows = _examples(svc, y, sample_weight)
    if not hasattr(svc, "dual_coef_"):
        raise ProblemError(f"expected a fitted SVC; got {name_of(svc)}. Pass other models to certify_model.")
    features = checked_features(X)
    if features.shape[0] != len(signs):
        raise ProblemError(f"X must have the {len(signs)} rows of y; got {features.shape[0]}. Pass the training set.")
    K = kernels.kernel_matrix(svc, features)[np.ix_(rows, rows)]
    factored = kernels.pivoted_cholesky(K)
    program, S = kernels.program_of(factored, signs[rows], c, float(svc.C))
    coefficients = np.zeros(len(signs))
    dual = svc.dual_coef_
    coefficients[svc.support_] = np.ravel(dual.toarray() if scipy.sparse.issparse(dual) else dual)
    own = coefficients[rows]
    w = np.append(float(np.ravel(svc.intercept_)[0]), S * (factored.Phi.T @ own))
    largest = svc.C * c
    # Of the quadratic at the optimum, and of the quadratic and of the values of the decision function at the model.
    error = 0.5 * factored.rho * float(largest @ largest)
    of_model = 0.5 * factored.rho * float(own @ own) + float(largest @ factored.row_sums) * float(np.abs(own).max())
    words = f"{svc.C:g} x hinge + 0.5 ||f||^2, kernel {svc.kernel if isinstance(svc.kernel, str) else 'of a function'}"
    asked = Asked(tol, backend, time_limit)
    return _certified(program, w, words, asked, error=error, of_model=of_model)


def _certified(
    program: Program,
    w: Float[Array, " t"],
    words: str,
    asked: Asked,
    *,
    error: float = 0.0,
    of_model: float = 0.0,
) -> ModelCertificate:
    """Return what is proved of weights in a program whose value is minus the objective.

    `error` and `of_model` are what a kernel that is known approximately may change of the optimum and of the model.
    """
    solution = solve(program, asked.backend, asked.tol, asked.time_limit).raise_if_failed()
    best = solution.certificate
    own = program.certify(best.d, w)  # of weights alone the bounds of edges would cost a search for a d
    return ModelCertificate(
        objective=words,
        attained=-own.lower + of_model,
        lower=-min(best.upper, own.upper) - error,
        upper=-max(best.lower, own.lower) + error,
        program=program,
        solution=solution,
        error=2.0 * error,
    )


def _of_ensemble(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None,
    nu: float | None,
    asked: Asked,
) -> ModelCertificate:
    """Return how far the soft margin of an ensemble is from the best of its members."""
    if is_lightgbm(model):
        signs, c, rows = _examples(model, y, sample_weight)
        values, w = of_lightgbm(model, X, signs)
        margins = Margins(values[rows])
    else:
        members = members_of(list(model.learners), weights=model.weights) if is_colboost(model) else members_of(model)
        members = members.labelled(y)
        signs = members.coded(y)
        rows, c = multiplicities(sample_weight, len(signs))
        margins, w = members.margins(X, signs, rows), members.weights
    total = float(c.sum())
    count = max(SHARE * total, 1.0) if nu is None else number("nu", nu)
    program = get_formulation(soft_margin_formulation()).bind(margins, c=c, nu=count)
    words = f"minus the mean of the {count:g} smallest margins over {margins.t} members"
    return _certified(program, w, words, asked)


def _no_nu(nu: float | None, model: Any) -> None:
    if nu is not None:
        raise OptionError(f"nu must belong to an ensemble; got {shown(nu)} for {name_of(model)}. Leave it out.")


def _examples(
    model: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[Int8[Array, " N"], Float[Array, " rows"], Any]:
    """Return labels as -1 and 1 for all rows, the multiplicities of those that count, and which these are."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise ProblemError(
            f"a model must be fitted; got {name_of(model)}, which knows no classes. Call fit(X, y) first."
        )
    if len(classes) != 2:
        raise ProblemError(
            f"a model must tell two classes apart; got {name_of(model)}, which was fitted to {len(classes)}. Fit one "
            "for each class against the rest."
        )
    labels = as_array("y", y)
    if labels.ndim != 1 or not np.isin(labels, classes).all():
        raise ProblemError(
            f"y must hold the labels that {name_of(model)} was fitted to, {classes.tolist()}; got others. Pass its "
            "training set."
        )
    positive = labels == classes[1]
    rows, c = multiplicities(sample_weight, len(labels))
    of_class = getattr(model, "class_weight", None)
    if of_class is not None:
        from sklearn.utils.class_weight import compute_class_weight

        if isinstance(of_class, str) and sample_weight is not None:
            raise ProblemError(
                "balanced class weights beside sample weights differ between versions of scikit-learn; got both. Pass "
                "the class weights as numbers."
            )
        weights = compute_class_weight(of_class, classes=classes, y=labels)
        c = c * np.where(positive[rows], weights[1], weights[0])
    if not math.isfinite(float(c.sum())):
        raise ProblemError("the weights of the examples must be finite; their sum is not. Pass smaller ones.")
    return np.where(positive, 1, -1).astype(np.int8), c, rows


def _rows_of(X: Any, rows: Any, N: int) -> Any:
    if X.shape[0] != N:
        raise ProblemError(f"X must have the {N} rows of y; got {X.shape[0]}. Pass the training set.")
    return X if len(rows) == N else X[rows]
