"""Models of scikit-learn's: what they attain and the interval of their optimum, against both by hand."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from boostopt import ModelCertificate, OptionError, ProblemError, certify_model, certify_svc
from boostopt.ensembles.model_certification.svm_kernels import kernel_matrix, pivoted_cholesky
from boostopt.estimators import MarginBoostClassifier

LOADED: Any = load_breast_cancer(return_X_y=True)
RAW, Y = LOADED
X = StandardScaler().fit_transform(RAW)[:200, :8]
y = Y[:200]
SIGNS = 2 * y - 1

logistic: Any = LogisticRegression
sgd: Any = SGDClassifier
machine: Any = SVC
linear: Any = LinearSVC
NAMED = tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 8)
"""True if the penalty of a logistic regression has a name, and l1_ratio counts for the elastic net alone."""
adaboost: Any = AdaBoostClassifier
"""Their stubs say of some parameters that they are texts alone."""


def mixed(ratio: float, **options: Any) -> Any:
    """A logistic regression with a share of the 1-norm in its penalty."""
    if not NAMED:
        return logistic(l1_ratio=ratio, **options)
    return logistic(penalty="l1" if ratio == 1 else "elasticnet", l1_ratio=None if ratio == 1 else ratio, **options)


LOSSES: dict[str, Any] = {
    "logistic": lambda m: np.logaddexp(0, -m),
    "hinge": lambda m: np.maximum(0, 1 - m),
    "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2,
    "modified_huber": lambda m: np.where(m >= -1, np.maximum(0, 1 - m) ** 2, -4 * m),
}

MODELS: dict[str, tuple[Any, str, float, float, float, float | None]] = {
    "logistic": (logistic(max_iter=1000), "logistic", 1.0, 0.0, 1.0, None),
    "logistic, no intercept": (logistic(fit_intercept=False), "logistic", 1.0, 0.0, 1.0, None),
    "liblinear": (logistic(C=3.0, solver="liblinear"), "logistic", 3.0, 0.0, 1.0, 1.0),
    "liblinear, scaled intercept": (
        logistic(solver="liblinear", intercept_scaling=5.0),
        "logistic",
        1.0,
        0.0,
        1.0,
        5.0,
    ),
    "liblinear, 1-norm": (mixed(1, solver="liblinear"), "logistic", 1.0, 1.0, 0.0, 1.0),
    "saga": (mixed(0.5, solver="saga", max_iter=5000), "logistic", 1.0, 0.5, 0.5, None),
    "squared hinge": (linear(random_state=0), "squared_hinge", 1.0, 0.0, 1.0, 1.0),
    "hinge": (linear(loss="hinge", C=0.1, random_state=0), "hinge", 0.1, 0.0, 1.0, 1.0),
    "sparse": (linear(penalty="l1", dual=False, random_state=0), "squared_hinge", 1.0, 1.0, 0.0, 1.0),
    "sgd": (sgd(alpha=0.01, random_state=0), "hinge", 1 / 200, 0.0, 0.01, None),
    "sgd, log loss": (
        sgd(loss="log_loss", alpha=0.01, penalty="elasticnet", random_state=0),
        "logistic",
        1 / 200,
        0.01 * 0.15,
        0.01 * 0.85,
        None,
    ),
    "sgd, Huber": (
        sgd(loss="modified_huber", alpha=0.02, penalty="l1", random_state=0),
        "modified_huber",
        1 / 200,
        0.02,
        0.0,
        None,
    ),
}


def by_hand(model: Any, loss: str, C: float, l1: float, l2: float, scaling: float | None, c: np.ndarray) -> float:
    """The objective of a fitted model, from its documentation."""
    v, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    value = C * float(c @ LOSSES[loss](SIGNS * (X @ v + b)))
    of_intercept = np.array([] if scaling is None or not model.fit_intercept else [b / scaling])
    v = np.append(v, of_intercept)
    return value + l1 * float(np.abs(v).sum()) + 0.5 * l2 * float(v @ v)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
def test_attained_is_the_objective_and_the_optimum_is_below(name: str, weighted: bool) -> None:
    model, loss, C, l1, l2, scaling = MODELS[name]
    c = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    model.fit(X, y, sample_weight=c)
    certificate = certify_model(model, X, y, c if weighted else None)
    value = by_hand(model, loss, C, l1, l2, scaling, c)
    assert value <= certificate.attained <= value + 1e-8 * max(1.0, value)
    assert certificate.lower <= certificate.upper <= certificate.attained
    assert certificate.upper - certificate.lower <= 2e-6 * max(1.0, certificate.upper)
    low, high = certificate.excess
    assert 0.0 <= low <= high == certificate.gap
    # The program's own answer, as coefficients, attains what is claimed.
    program = certificate.program
    S = max(float(np.abs(X).max()), scaling or 0.0)
    w = certificate.solution.w
    free = model.fit_intercept and scaling is None
    best = SIGNS * 0.0
    if model.fit_intercept:
        value_of = 1.0 if free else (scaling or 0.0) / S
        best, w = best + w[0] * value_of, w[1:]
    m = SIGNS * (X @ (w / S) + best)
    np.testing.assert_allclose(program.margins.margins(certificate.solution.w), m, atol=1e-9)


def test_a_smooth_minimization_finds_the_optimum() -> None:
    model = logistic(C=0.3).fit(X, y)

    def objective(v: np.ndarray) -> float:
        return 0.3 * float(np.logaddexp(0, -SIGNS * (X @ v[1:] + v[0])).sum()) + 0.5 * float(v[1:] @ v[1:])

    minimum: Any = scipy.optimize.minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-9})
    certificate = certify_model(model, X, y)
    assert certificate.lower - 1e-7 <= minimum.fun <= certificate.upper + 1e-6


def test_a_model_that_ends_early_is_told_how_far_it_is() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = logistic(max_iter=2).fit(X, y)
    late = logistic(tol=1e-10, max_iter=10_000).fit(X, y)
    first, last = certify_model(early, X, y), certify_model(late, X, y)
    assert first.excess[0] > 0.1  # certainly
    assert last.gap <= 1e-3
    assert last.relative_gap <= 1e-5
    assert first.lower == pytest.approx(last.lower)
    assert "1 x logistic + 0.5 ||v||_2^2: attained" in repr(first)


def test_sparse_features_are_the_same_features() -> None:
    few = np.where(np.abs(X) > 1.0, X, 0.0)
    model = logistic(solver="liblinear").fit(few, y)
    dense, sparse = certify_model(model, few, y), certify_model(model, scipy.sparse.csr_matrix(few), y)
    assert sparse.attained == pytest.approx(dense.attained, rel=1e-12)
    assert sparse.lower <= dense.upper and dense.lower <= sparse.upper


@pytest.mark.every(2)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "precomputed", "function"])
def test_support_vector_machines_of_libsvm(kernel: str) -> None:
    K = rbf_kernel(X, gamma=0.05)
    kernel_option: Any = (lambda A, B: rbf_kernel(A, B, gamma=0.05)) if kernel == "function" else kernel
    svc = machine(kernel=kernel_option, C=2.0, tol=1e-5)
    data = K if kernel == "precomputed" else X
    svc.fit(data, y)
    certificate = certify_svc(svc, data, y)
    # libsvm's own dual value bounds its optimum from below, its primal value from above.
    alpha = np.zeros(len(y))
    alpha[svc.support_] = svc.dual_coef_.ravel()
    f = svc.decision_function(data)
    quadratic = float(alpha @ (f - svc.intercept_[0]))
    primal = 0.5 * quadratic + 2.0 * float(np.maximum(0, 1 - SIGNS * f).sum())
    dual = float(np.abs(alpha).sum()) - 0.5 * quadratic
    assert dual - 1e-4 <= certificate.upper
    assert primal == pytest.approx(certificate.attained, rel=1e-6)
    assert certificate.lower <= primal
    assert certificate.relative_gap <= 1e-4
    assert 0.0 < certificate.error <= 1e-7 * certificate.attained
    # libsvm's equation on its dual weights is the one that the intercept asks for.
    assert abs(float(alpha.sum())) <= 1e-9
    assert abs(float(SIGNS @ certificate.solution.d)) <= 1e-9
    assert isinstance(certify_model(svc, data, y), ModelCertificate)


def test_class_weights_are_multiplicities() -> None:
    svc = machine(class_weight={0: 1.0, 1: 3.0}, tol=1e-6).fit(X, y)
    weights = np.where(y == 1, 3.0, 1.0)
    weighted_svc = machine(tol=1e-6).fit(X, y, sample_weight=weights)
    one, two = certify_svc(svc, X, y), certify_svc(weighted_svc, X, y, weights)
    assert one.lower == pytest.approx(two.lower, rel=1e-6)
    assert one.attained == pytest.approx(two.attained, rel=1e-5)


def test_a_wide_kernel_is_certified_through_few_columns() -> None:
    svc = machine(gamma=1e-4).fit(X, y)
    certificate = certify_svc(svc, X, y)
    assert certificate.program.margins.t <= 120
    assert certificate.error <= 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_the_factor_and_what_it_misses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(60, int(rng.integers(3, 60))))
    K = A @ A.T
    for tol in (1e-13, 1e-2):
        factored = pivoted_cholesky(K, tol=tol)
        remainder = K - factored.Phi @ factored.Phi.T
        assert (np.abs(remainder).sum(axis=1) <= factored.row_sums).all()
        assert float(np.abs(np.linalg.eigvalsh(remainder)).max()) <= factored.max_row_sum
        assert np.trace(remainder) <= 2 * tol * np.trace(K) + 1e-9
    assert pivoted_cholesky(K).Phi.shape[1] == np.linalg.matrix_rank(K)


def test_indefinite_kernels_are_refused() -> None:
    with pytest.raises(ProblemError, match=r"\bkernel\b.*\bsemidefinite\b.*\b3\b"):
        pivoted_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    sigmoid = machine(kernel="sigmoid").fit(X, y)
    with pytest.raises(ProblemError, match=r"\bkernel\b.*\bSVC\b.*'sigmoid'.*\. Fit\b"):
        certify_svc(sigmoid, X, y)


def test_ensembles_are_certified_against_their_own_members() -> None:
    model = adaboost(n_estimators=20, random_state=0).fit(X, y)
    certificate = certify_model(model, X, y)
    votes = np.column_stack([SIGNS * (2 * member.predict(X) - 1) for member in model.estimators_])
    w = model.estimator_weights_ / model.estimator_weights_.sum()
    margins = np.sort(votes @ w)
    assert certificate.attained == pytest.approx(-margins[:20].mean(), abs=1e-9)
    assert certificate.upper <= certificate.attained
    assert certify_model(model, X, y, nu=1).attained == pytest.approx(-margins[0], abs=1e-9)
    margin_boost = MarginBoostClassifier(nu=30, epsilon=0.1).fit(X, y)
    assert certify_model(margin_boost, X, y).attained == pytest.approx(
        -np.sort(margin_boost.margins_)[:30].mean(), abs=1e-9
    )
    share = MarginBoostClassifier(nu=0.2, epsilon=0.1).fit(X, y)
    assert certify_model(share, X, y).attained == certify_model(share, X, y, nu=0.2 * len(y)).attained
    named = np.where(y == 1, "yes", "no")
    again = adaboost(n_estimators=20, random_state=0).fit(X, named)
    assert certify_model(again, X, named).attained == pytest.approx(certificate.attained, abs=1e-9)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (logistic(), r"\bLogisticRegression\b.*\bfit\(X, y\)"),
        (logistic().fit(X, np.arange(200) % 3), r"\bLogisticRegression\b.*\b3\b"),
        (RidgeClassifier().fit(X, y), r"\bLogisticRegression\b.*\bRidgeClassifier\b"),
        (logistic(C=np.inf).fit(X, y), r"\bLogisticRegression\b.*\bpenalty\b"),
        (sgd(loss="perceptron").fit(X, y), r"\bloss\b.*\bSGDClassifier\b.*'perceptron'"),
        (sgd(penalty=None).fit(X, y), r"\bSGDClassifier\b.*\bpenalty\b"),
    ],
    ids=["not fitted", "three classes", "ridge", "no penalty", "loss", "SGD"],
)
def test_models_without_a_certificate_are_refused(model: Any, why: str) -> None:
    with pytest.raises(ProblemError, match=why):
        certify_model(model, X, y)


def test_another_training_set_is_refused() -> None:
    model = logistic().fit(X, y)
    with pytest.raises(ProblemError, match=r"\bX\b.*\b8\b.*\b7\b"):
        certify_model(model, X[:, :7], y)
    with pytest.raises(ProblemError, match=r"\bX\b.*\b200\b.*\by\b.*\b100\b"):
        certify_model(model, X[:100], y)
    with pytest.raises(ProblemError, match=r"\by\b.*\bLogisticRegression\b.*\[0, 1\]"):
        certify_model(model, X, y + 5)
    with pytest.raises(OptionError, match=r"\bnu\b.*\b3\b.*\bLogisticRegression\b"):
        certify_model(model, X, y, nu=3)
    with pytest.raises(ProblemError, match=r"\bbalanced\b.*\bscikit-learn\b"):
        certify_model(logistic(class_weight="balanced").fit(X, y), X, y, np.ones(200))


def attained_by_hand(svc: Any, data: np.ndarray, c: np.ndarray) -> float:
    """Return the objective that a support vector machine attains, from its support vectors alone."""
    dual = svc.dual_coef_.ravel()
    f = svc.decision_function(data)
    quadratic = float(dual @ (svc.decision_function(svc.support_vectors_) - svc.intercept_[0]))
    return 0.5 * quadratic + svc.C * float(c @ np.maximum(0, 1 - SIGNS * f))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_examples_of_weight_0_are_left_out_as_libsvm_leaves_them_out(kernel: str) -> None:
    c = np.random.default_rng(0).uniform(0.1, 3, len(y))
    c[:40] = 0
    svc = machine(kernel=kernel).fit(X, y, c)
    certificate = certify_svc(svc, X, y, c)
    assert certificate.attained == pytest.approx(attained_by_hand(svc, X, c), rel=1e-7)
    assert certificate.lower <= certificate.attained <= certificate.lower * 1.001
    K = X @ X.T
    with pytest.raises(ProblemError, match=r"\bprecomputed\b.*\b40\b"):
        certify_svc(machine(kernel="precomputed").fit(K, y, c), K, y, c)


@pytest.mark.parametrize("far", [1.0, 10.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
def test_a_model_far_from_its_optimum_attains_what_its_loss_says(far: float) -> None:
    models = (linear(random_state=0), sgd(loss="squared_hinge", random_state=0, penalty="elasticnet"))
    for model in models:
        model.fit(X, y)
        model.coef_ = -far * model.coef_
        m = SIGNS * model.decision_function(X)
        certificate = certify_model(model, X, y)
        of_loss = certificate.program.parameters.C * float((np.maximum(0, 1 - m) ** 2).sum())
        v = model.coef_.ravel()
        b2 = float(model.intercept_[0]) ** 2
        penalty = 0.5 * (float(v @ v) + b2) if isinstance(model, LinearSVC) else elastic_by_hand(model)
        assert certificate.attained == pytest.approx(of_loss + penalty, rel=1e-9)
        assert certificate.attained_at_least <= of_loss + penalty <= certificate.attained


def elastic_by_hand(model: Any) -> float:
    """The penalty of SGDClassifier, from its documentation."""
    v = model.coef_.ravel()
    return model.alpha * (model.l1_ratio * float(np.abs(v).sum()) + 0.5 * (1 - model.l1_ratio) * float(v @ v))


def test_coefficients_that_cannot_be_computed_with_are_refused() -> None:
    model = logistic().fit(X, y)
    model.coef_ = model.coef_ * 1e18
    certificate = certify_model(model, X, y)
    assert certificate.attained == np.inf and certificate.excess[0] == 0.0
    model.coef_ = model.coef_ * np.nan
    with pytest.raises(ProblemError, match=r"\bcoefficients\b.*\bfinite\b"):
        certify_model(model, X, y)
    with pytest.raises(ProblemError, match=r"\bfeature\b.*\[1e-45, 1e\+45\].*e\+150"):
        certify_model(logistic().fit(X, y), X * 1e150, y)


def test_the_rounding_of_a_kernel_far_from_0_counts() -> None:
    rng = np.random.default_rng(0)
    points = rng.integers(0, 4096, (12, 2)) / 1024.0
    labels = np.arange(12) % 2
    svc = machine(gamma=1.0, tol=1e-9).fit(points, labels)
    c = certify_svc(svc, points, labels)
    for shift in (1e3, 1e4):  # exact: the kernel stays the same
        d = certify_svc(svc.fit(points + shift, labels), points + shift, labels)
        assert d.lower <= c.upper and c.lower <= d.upper
    with pytest.raises(ProblemError, match=r"\bSVC\b.*\bcentre\b"):
        certify_svc(svc.fit(points, labels), points + 1e6, labels)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_kernel_is_known_as_well_as_is_said(kernel: str) -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(8, 3)) + 30.0
    svc = machine(kernel=kernel, gamma=0.3, coef0=1.0).fit(A, np.arange(8) % 2)
    kernel_bounds = kernel_matrix(svc, A)
    exact = [[Fraction(float(x)) for x in row] for row in A]
    for i in range(8):
        for j in range(8):
            square = sum((a - b) ** 2 for a, b in zip(exact[i], exact[j], strict=True))
            product = sum(a * b for a, b in zip(exact[i], exact[j], strict=True))
            gamma = Fraction(0.3)
            true = {
                "rbf": float(np.exp(-0.3 * float(square))),
                "linear": float(product),
                "poly": float((gamma * product + 1) ** 3),
            }[kernel]
            assert abs(kernel_bounds.K[i, j] - true) <= kernel_bounds.rounding[i] + np.spacing(true)


def test_another_training_set_of_a_support_vector_machine_is_refused() -> None:
    svc = machine().fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    for data, labels in ((X[order], y[order]), (X, 1 - y)):
        with pytest.raises(ProblemError, match=r"\bsample_weight\b.*\bSVC\b.*\border\b"):
            certify_svc(svc, data, labels)
    with pytest.raises(ProblemError, match=r"\bX\b.*\(200, 8\).*\(100, 8\)"):
        certify_svc(svc, X[:100], y[:100])
    with pytest.raises(ProblemError, match=r"\by\b.*\bclasses\b.*\b200\b"):
        certify_svc(svc, X, np.ones(200, dtype=int))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    with pytest.raises(ProblemError, match=r"\bX\b.*\bLogisticRegression\b.*\['a', 'b',.*\['h', 'g',"):
        certify_model(logistic().fit(frame, y), frame[frame.columns[::-1]], y)


def not_finite(A: Any, B: Any) -> Any:
    return A @ B.T * np.nan


def of_another_shape(A: Any, B: Any) -> Any:
    return (A @ B.T)[:3]


def that_fails(A: Any, B: Any) -> Any:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (not_finite, r"\bkernel\b.*\(200, 200\).*\bfinite\b"),
        (of_another_shape, r"\bkernel\b.*\(3, 200\)"),
        (that_fails, r"\bkernel\b.*\bRuntimeError: no\b"),
    ],
    ids=["not finite", "another shape", "failure"],
)
def test_a_kernel_function_that_gives_no_kernel_is_refused(kernel: Any, why: str) -> None:
    svc = machine(kernel=lambda A, B: A @ B.T).fit(X, y)
    svc.kernel = kernel
    with pytest.raises(ProblemError, match=why):
        certify_svc(svc, X, y)


@pytest.mark.parametrize("last", [logistic(), machine()], ids=["linear", "kernel"])
def test_a_pipeline_is_certified_as_its_last_step_over_transformed_features(last: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), last).fit(X, y)
    inside = certify_model(pipeline, X, y)
    outside = certify_model(pipeline[-1], pipeline[:-1].transform(X), y)
    assert (inside.attained, inside.lower, inside.upper) == (outside.attained, outside.lower, outside.upper)
    assert certify_model(make_pipeline(last.fit(X, y)), X, y).relative_gap < 1e-3
    with pytest.raises(ProblemError, match=r"\bPipeline\.transform\b.*\bX\b"):
        certify_model(pipeline, X[:, :2], y)
    with pytest.raises(OptionError, match=r"\bnu\b"):
        certify_model(pipeline, X, y, nu=3)


def test_a_pipeline_refuses_columns_in_another_order() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"feature {j}" for j in range(X.shape[1])]
    table = pandas.DataFrame(X, columns=names)
    pipeline = make_pipeline(StandardScaler(), logistic()).fit(table, y)
    assert certify_model(pipeline, table, y).relative_gap < 1e-3
    with pytest.raises(ProblemError, match=r"\bX\b.*\bcolumns\b.*\bPipeline\b"):
        certify_model(pipeline, table[names[::-1]], y)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_other_models_are_refused_with_advice() -> None:
    with pytest.raises(ProblemError, match=r"\bSVC\b.*\bNuSVC\b.*\bcertify_model\b"):
        certify_svc(NuSVC(nu=0.2).fit(X, y), X, y)
    with pytest.raises(ProblemError, match=r"\bmulti_class\b.*\bLinearSVC\b.*'crammer_singer'"):
        certify_model(linear(multi_class="crammer_singer").fit(X, y), X, y)
    with pytest.raises(ProblemError, match=r"\bsample_weight\b.*\b200\b.* -1\b"):
        certify_model(logistic().fit(X, y), X, y, -np.ones(200))
    cross_validated: Any = LogisticRegressionCV(Cs=3, cv=3).fit(X, y)
    assert certify_model(cross_validated, X, y).relative_gap < 1e-3
    sparse = sgd(random_state=0).fit(X, y)
    dense = certify_model(sparse, X, y)
    assert certify_model(sparse.sparsify(), X, y).attained == dense.attained


def test_a_certificate_is_pickled_with_its_program() -> None:
    certificate = certify_model(logistic().fit(X, y), X, y)
    again = pickle.loads(pickle.dumps(certificate))
    assert (again.attained, again.lower, again.upper) == (certificate.attained, certificate.lower, certificate.upper)
    assert again.program.parameters == certificate.program.parameters


@pytest.mark.parametrize("weights", ["balanced", {-1: 1.0, 1: 4.0}], ids=["balanced", "numbers"])
def test_class_weights_of_a_fitted_classifier_are_multiplicities(weights: Any) -> None:
    X, y = np.random.default_rng(4).normal(size=(120, 4)), np.ones(120, dtype=int)
    y[X[:, 0] + X[:, 1] < 1.0] = -1
    model = MarginBoostClassifier(nu=0.3, epsilon=0.05, class_weight=weights).fit(X, y)
    certificate: Any = model.certificate_
    computed_certificate = certify_model(model, X, y)
    # Minus the certified soft margin of the fit, which counts the examples in the same way.
    assert computed_certificate.attained == pytest.approx(-certificate.lower, abs=1e-9)
    assert (
        -certificate.upper <= computed_certificate.upper and computed_certificate.lower <= computed_certificate.attained
    )
