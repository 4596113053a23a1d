"""Models of other libraries beside the certified optimum of their objective: three tables.

    a9a       seconds to a certified gap of 1e-6 of logistic regression, beside the seconds and true gaps of liblinear,
              lbfgs, newton-cholesky, saga and skglm; no intercept, C = 1; a9a comes from ../shared/data
    models    "converged" models of scikit-learn (liblinear, libsvm, lbfgs, SGD, AdaBoost) and LightGBM: true gaps
    colboost  the programs of colboost 0.1.5 on breast_cancer, value claimed there and certified interval here

skglm, LightGBM, and colboost with gurobipy are left out where they are not installed, and that is said. gurobipy's free
licence takes 200 variables of a quadratic program: there 150 examples are drawn.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import lzma
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from boostopt import ModelCertificate, boost, certify_model, get_formulation
from boostopt._utils.formatting import format_interval
from boostopt.oracles import DecisionStumps

A9A = Path(__file__).parents[2] / "shared" / "data" / "libsvm" / "a9a.svm.xz"
CLOCK = time.perf_counter
LONG = 10.0
"""Seconds from which work is not repeated."""

FEW = 150
"""Examples that the quadratic programs of colboost are given."""


def missing(*names: str) -> str:
    """Return which packages are not installed, in words; "" for none."""
    absent = [name for name in names if find_spec(name) is None]
    return f"Left out: {', '.join(absent)} not installed." if absent else ""


def repeated(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Return what work returns, and the median of its seconds; of a long one the seconds of a single run."""
    seconds, value_of_work = list[float](), None
    for _ in range(repeats):
        if seconds and seconds[0] > LONG:
            break
        began = CLOCK()
        value_of_work = work()
        seconds.append(CLOCK() - began)
    return value_of_work, float(np.median(seconds))


def skglm_models() -> Iterator[tuple[str, str, Any]]:
    """Yield skglm's logistic regressions with a 1-norm, whose scale is the mean of the loss."""
    if find_spec("skglm") is None:
        return
    SparseLogisticRegression: Any = import_module("skglm").SparseLogisticRegression
    for tol in (1e-4, 1e-10):
        yield "1-norm", f"skglm, tol = {tol:g}", SparseLogisticRegression(alpha=1 / 32561, fit_intercept=False, tol=tol)


def logistic_models() -> Iterator[tuple[str, str, Any]]:
    """Yield penalties, names and models, at the default tolerance and at a fine one."""
    from sklearn.linear_model import LogisticRegression

    make: Any = LogisticRegression
    for ratio, penalty, solvers in (
        (0, "2-norm", ("liblinear", "lbfgs", "newton-cholesky", "saga")),
        (1, "1-norm", ("liblinear", "saga")),
    ):
        for solver in solvers:
            for tol in (1e-4, 1e-10):
                model = make(l1_ratio=ratio, solver=solver, fit_intercept=False, tol=tol, max_iter=1000)
                yield penalty, f"{solver}, tol = {tol:g}", model
    yield from skglm_models()


class LogisticCopy:
    """The coefficients of another library as the model of scikit-learn's with the same objective."""

    def __new__(cls, model: Any, X: Any, y: Any) -> Any:
        from sklearn.linear_model import LogisticRegression

        logistic: Any = LogisticRegression(l1_ratio=1, solver="saga", fit_intercept=False)
        logistic.classes_, logistic.coef_, logistic.intercept_ = (
            np.unique(y),
            np.reshape(model.coef_, (1, -1)),
            np.zeros(1),
        )
        return logistic


def a9a(repeats: int) -> None:
    """Print the table of logistic regression on a9a."""
    print("\n## a9a: logistic regression, 32,561 x 123, C = 1\n")
    if not A9A.is_file():
        print(f"Left out: no {A9A.name} in shared/data/libsvm, beside the repository.")
        return
    from sklearn.datasets import load_svmlight_file

    with lzma.open(A9A) as file:
        loaded: Any = load_svmlight_file(file, n_features=123)
    X, y = loaded[:2]
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    print(missing("skglm"))
    print("| penalty | solver | seconds | true gap, at most | as a share |\n|---|---|--:|--:|--:|")
    printed_penalties = set[str]()
    for penalty, name, model in logistic_models():
        model.fit(X[:1000], y[:1000])  # skglm compiles on its first call
        fitted, seconds = repeated(lambda model=model: model.fit(X, y), repeats)
        known_model = (
            fitted if hasattr(fitted, "l1_ratio") and hasattr(fitted, "solver") else LogisticCopy(fitted, X, y)
        )
        certificate, ours = repeated(
            lambda known_model=known_model: certify_model(known_model, X, y, tol=1e-6), repeats
        )
        if penalty not in printed_penalties:
            printed_penalties.add(penalty)
            width = certificate.upper - certificate.lower
            print(
                f"| {penalty} | **boostopt**, certified | {ours:.2f} | {width:.1e} | {width / certificate.upper:.1e} |",
                flush=True,
            )
        print(
            f"| {penalty} | {name} | {seconds:.2f} | {certificate.gap:.1e} | {certificate.relative_gap:.1e} |",
            flush=True,
        )


def fitted_elsewhere() -> Iterator[tuple[str, str, Any]]:
    """Yield libraries, models in words and models, each at its defaults."""
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.svm import SVC, LinearSVC

    logistic: Any = LogisticRegression
    yield "scikit-learn, lbfgs", "`LogisticRegression()`", LogisticRegression()
    yield "scikit-learn, saga", "`LogisticRegression(l1_ratio=1, solver='saga')`", logistic(l1_ratio=1, solver="saga")
    yield "liblinear", "`LogisticRegression(solver='liblinear')`", LogisticRegression(solver="liblinear")
    yield "liblinear", "`LinearSVC()`", LinearSVC(random_state=0)
    yield "liblinear", "`LinearSVC(loss='hinge')`", LinearSVC(loss="hinge", random_state=0)
    yield "libsvm", "`SVC()`", SVC()
    yield "scikit-learn, SGD", "`SGDClassifier()`", SGDClassifier(random_state=0)
    yield "scikit-learn, SGD", "`SGDClassifier(loss='log_loss')`", SGDClassifier(loss="log_loss", random_state=0)
    yield "scikit-learn", "`AdaBoostClassifier()`, soft margin", AdaBoostClassifier(random_state=0)
    if find_spec("lightgbm") is not None:
        LGBMClassifier: Any = import_module("lightgbm").LGBMClassifier
        yield "LightGBM", "`LGBMClassifier()`, soft margin of its trees", LGBMClassifier(verbose=-1)


def models() -> None:
    """Print the table of models on breast_cancer, standardized and as it is."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    print("\n## breast_cancer: models at their defaults\n")
    print(missing("lightgbm"))
    loaded: Any = load_breast_cancer(return_X_y=True)
    raw, y = loaded
    print("| library | model | features | warned | attained | optimum | above it, at most | as a share |")
    print("|---|---|---|---|--:|--:|--:|--:|")
    for X, kind in ((StandardScaler().fit_transform(raw), "standardized"), (raw, "as they are")):
        for library, words, model in fitted_elsewhere():
            with warnings.catch_warnings(record=True) as raised:
                warnings.simplefilter("always")
                model.fit(X, y)
            warned = "yes" if any("onverge" in str(one.message) for one in raised) else "no"
            certificate = certify_model(model, X, y)
            print(f"| {library} | {words} | {kind} | {warned} | {cells(certificate)} |", flush=True)


def cells(certificate: ModelCertificate) -> str:
    """Return the cells of a certificate."""
    optimum = format_interval(certificate.lower, certificate.upper)
    return f"{certificate.attained:.6g} | {optimum} | {certificate.gap:.1e} | {certificate.relative_gap:.1e}"


COLBOOST = (
    ("cg_boost", 0.01, FEW),
    ("cg_boost", 1.0, FEW),
    ("md_boost", 4.0, FEW),
    ("md_boost", 100.0, FEW),
    ("nm_boost", 0.1, FEW),
    ("nm_boost", 0.1, 569),
    ("qrlp_boost", 15.0, FEW),
    ("erlp_boost", 15.0, FEW),
)
"""Solvers of colboost, with their trade-off, and how many examples."""

ROUNDS = 45
"""Rounds of colboost, at most: with 150 examples the free licence takes no more columns."""


def colboost() -> None:
    """Print the table of colboost's programs."""
    print("\n## colboost on breast_cancer, stumps\n")
    if message := missing("colboost", "gurobipy"):
        print(message)
        return
    from sklearn.datasets import load_breast_cancer

    logging.disable(logging.CRITICAL)
    EnsembleClassifier: Any = import_module("colboost.ensemble").EnsembleClassifier
    loaded: Any = load_breast_cancer(return_X_y=True)
    X, y = loaded[0], 2 * loaded[1] - 1
    sample = np.random.default_rng(0).permutation(len(y))[:FEW]
    print(
        "| program | trade-off | N | columns | claimed | its weights are worth | best over its columns | best over all "
        "stumps |\n|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    for solver, trade_off, N in COLBOOST:
        rows = sample if N == FEW else np.arange(N)
        model = EnsembleClassifier(
            solver=solver, tradeoff_hyperparam=trade_off, max_iter=ROUNDS, early_stopping=False, max_depth=1
        )
        np.random.seed(0)  # noqa: NPY002 its trees break ties by the global generator
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            model.fit(X[rows], y[rows])
        U = np.column_stack([y[rows] * learner.predict(X[rows]) for learner in model.learners])
        row = certify_weights(solver, trade_off, U, np.asarray(model.weights), DecisionStumps(X[rows], y[rows]))
        claimed = model.objective_values_[-1]
        print(f"| `{solver}` | {trade_off:g} | {N} | {U.shape[1]} | {claimed:.5g} | {' | '.join(row)} |", flush=True)


def certify_weights(solver: str, trade_off: float, U: Any, w: Any, oracle: DecisionStumps) -> tuple[str, str, str]:
    """Return what the weights are worth, the best over the columns and over the class, in colboost's own scale."""
    N, t = U.shape
    parameters: dict[str, Any]
    if solver in ("qrlp_boost", "erlp_boost"):  # both are after the soft margin of LPBoost
        name, parameters, scale = "lpboost", {"nu": trade_off}, 1.0
    elif solver == "md_boost":
        name, parameters, scale = solver, {"D": trade_off}, N * trade_off
    elif solver == "nm_boost":
        name, parameters, scale = solver, {"C": trade_off, "theta": 1 / t}, 1.0
    else:
        name, parameters, scale = solver, {"C": trade_off}, -1.0
    program = get_formulation(name).bind(U, **parameters)
    attained = program.certify(w=w / w.sum() if name != "cg_boost" else w).lower
    columns = program.solve(tol=1e-9).certificate
    # With a penalty of squares a run is priced: what it proves is of the hypotheses collected.
    run = boost(name, oracle, epsilon=1e-4 if name == "cg_boost" else 1e-3, **parameters)
    over_class: Any = run.class_certificate if run.problem.has_class_bound else run.certificate
    return f"{scale * attained:.5g}", ends(scale, columns), ends(scale, over_class)


def ends(scale: float, certificate: Any) -> str:
    """Return both bounds in a scale, the smaller one first."""
    low, high = sorted((scale * certificate.lower, scale * certificate.upper))
    return format_interval(low, high) if math.isclose(low, high, rel_tol=1e-6) else f"[{low:.5g}, {high:.5g}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("a9a", "models", "colboost"))
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the median is shown (default: 3)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, table in (("a9a", lambda: a9a(arguments.repeats)), ("models", models), ("colboost", colboost)):
        if arguments.only in (None, name):
            table()


if __name__ == "__main__":
    main()
