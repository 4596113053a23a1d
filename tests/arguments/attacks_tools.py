"""Right calls of what users take from the sub-packages: oracles, instances, estimators, files, pictures."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import cvxpy as cp
import numpy as np
from attacks_entrances import BACKEND, LIMIT, OBJECTS, U, X, comparison, program, run, solution, y
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from wrong_values import (
    ANYTHING,
    ARRAY,
    EMPTY,
    FLAG,
    FUNCTION,
    MAPPING,
    NAMES,
    NONE,
    NOTHING,
    NUMBER,
    NUMBERS,
    PATH,
    TEXT,
    WHOLE,
    Attack,
)

import boostopt
from boostopt import boost, exporting, instances, pictures, reporting, verification
from boostopt.authoring import CappedSimplex, CappedSimplexIndicator
from boostopt.boosting import Schedule, Stabilization, boosters, certify_limits, dynamics
from boostopt.ensembles import members_of
from boostopt.estimators import MarginBoostClassifier, RBFNetworkClassifier
from boostopt.oracles import (
    BinnedStumps,
    Budget,
    DecisionStumps,
    DepthTwoTrees,
    Estimators,
    GivenMargins,
    KernelColumns,
    LimitedClass,
    MarginLimit,
    MulticlassStumps,
    Query,
    RawFeatures,
    RBFNetworks,
    RegressionStumps,
    Resampled,
    equal_mean_margins,
    evaluate,
    monotone_votes,
    vote_caps,
)

DATA = {"X": frozenset({"sparse"}), "y": NOTHING, "c": NONE}
CYCLE = np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
UNIFORM = np.full(3, 1 / 3)


def data(**more: Any) -> Any:
    return lambda: {"X": X, "y": y, **more}


@cache
def benchmarked() -> Any:
    return boostopt.benchmark(program(), "interior", 1e-3, 1)


@cache
def measured_precision() -> Any:
    return boostopt.precision(program(), "interior", 1e-3)


@cache
def along() -> Any:
    return boostopt.path("lpboost", DecisionStumps(X, y), nu=[2.0, 1.5], epsilon=0.5)


@cache
def limited_run() -> Any:
    return boost("lpboost", LimitedClass(GivenMargins(U), MarginLimit(np.zeros(len(U)), 0.5)), nu=1.0)


@cache
def fitted() -> Any:
    return MarginBoostClassifier(epsilon=0.1).fit(X, y)


@cache
def reweighted() -> Any:
    return boostopt.reweight(run(), X, y, "lpboost", nu=2, backend="interior")


@cache
def least_squares() -> Any:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1.0)), [x <= 0.5])
    problem.solve(cp.CLARABEL)
    return problem


@cache
def linear_program() -> boostopt.ConicProgram:
    zeros, ones = np.zeros(2), np.ones(2)
    return boostopt.ConicProgram(
        A=np.ones((1, 2)), c=ones, row_lower=ones[:1], row_upper=ones[:1], lower=zeros, upper=ones
    )


@cache
def mps_file() -> str:
    path = Path(mkdtemp()) / "program.mps"
    path.write_text("NAME\nROWS\n N cost\n G row\nCOLUMNS\n x cost 1 row 1\nENDATA\n")
    return str(path)


@cache
def logistic() -> Any:
    return LogisticRegression().fit(X, y)


@cache
def machine() -> Any:
    return SVC().fit(X, y)


@cache
def trajectory() -> Any:
    return dynamics.iterate(CYCLE, UNIFORM, 12)


def certificate() -> Path:
    """A certificate in a file of the folder that the test works in."""
    path = Path("certificate.json")
    if not path.exists():
        solution().save(path)
    return path


OF_BOOSTERS = {
    "oracle": NOTHING,
    "epsilon": LIMIT,
    "max_rounds": WHOLE | NONE,
    "time_limit": LIMIT,
    "final_weights": TEXT | NONE,
    "history": FLAG | NONE,
    "nus": NUMBERS,
    "test": NONE,
    "at_zero": TEXT,
    "checkpoint": PATH | NONE,
    "checkpoint_rounds": WHOLE,
    "checkpoint_seconds": LIMIT,
    "progress": FLAG | FUNCTION,
    "nu": LIMIT,
    "max_round": NOTHING,
}
AXES = {"axes": NONE}


def boosting() -> dict[str, Any]:
    return {"oracle": DecisionStumps(X, y), "max_rounds": 2}


ORACLES = (
    Attack("DecisionStumps", DecisionStumps, data(), {**DATA, "reflexive": FLAG}),
    Attack("BinnedStumps", BinnedStumps, data(), {**DATA, "reflexive": FLAG, "bins": WHOLE, "codes": PATH | NONE}),
    Attack("DepthTwoTrees", DepthTwoTrees, data(), {**DATA, "reflexive": FLAG, "bins": WHOLE}),
    Attack("MulticlassStumps", MulticlassStumps, data(), DATA),
    Attack("RegressionStumps", RegressionStumps, data(), {**DATA, "radius": NUMBER}),
    Attack("RawFeatures", RawFeatures, data(), {**DATA, "reflexive": FLAG}),
    Attack(
        "KernelColumns",
        KernelColumns,
        data(kernel="polynomial"),
        {**DATA, "kernel": TEXT, "reflexive": FLAG, "gamma": LIMIT, "degree": WHOLE, "coef0": NUMBER},
    ),
    Attack(
        "GivenMargins",
        GivenMargins,
        lambda: {"U": U},
        {
            "U": ARRAY,
            "choose": TEXT | EMPTY,
            "guarantee": LIMIT,
            "c": NONE,
            "reflexive": FLAG,
            "random_state": WHOLE,
        },
    ),
    Attack(
        "Estimators",
        Estimators,
        data(estimator=DummyClassifier()),
        {"estimator": NOTHING, **DATA, "values": TEXT, "reflexive": FLAG, "random_state": WHOLE | NONE},
        {"estimator": {"the class": lambda: DummyClassifier}},
    ),
    Attack(
        "Resampled",
        Resampled,
        data(estimator=DummyClassifier()),
        {
            "estimator": NOTHING,
            **DATA,
            "size": WHOLE | NONE,
            "values": TEXT,
            "reflexive": FLAG,
            "random_state": WHOLE,
        },
        {"estimator": {"the class": lambda: DummyClassifier}},
    ),
    Attack(
        "RBFNetworks",
        RBFNetworks,
        data(),
        {
            **DATA,
            "K": WHOLE,
            "iterations": WHOLE,
            "lambda_": NUMBER,
            "random_state": WHOLE,
            "values": TEXT,
            "reflexive": FLAG,
        },
    ),
    Attack("Budget", Budget, lambda: {"costs": UNIFORM, "limit": 0.5}, {"costs": NUMBERS, "limit": NUMBER}),
    Attack("MarginLimit", MarginLimit, lambda: {"slopes": UNIFORM, "limit": 0.5}, {"slopes": NUMBERS, "limit": NUMBER}),
    Attack(
        "equal_mean_margins",
        equal_mean_margins,
        lambda: {"groups": np.arange(3) > 0, "tolerance": 0.1},
        {"groups": NOTHING, "tolerance": LIMIT, "c": NONE},
    ),
    Attack("vote_caps", vote_caps, lambda: {"n_groups": 3, "share": 0.5}, {"n_groups": WHOLE, "share": NUMBER}),
    Attack("monotone_votes", monotone_votes, lambda: {"directions": [1, 0]}, {"directions": NUMBERS}),
    Attack(
        "LimitedClass",
        LimitedClass,
        lambda: {"oracle": GivenMargins(U), "limits": MarginLimit(np.zeros(len(U)), 0.5)},
        {"oracle": NOTHING, "limits": NOTHING, "max_price": NUMBER},
    ),
    Attack("Query", Query, lambda: {"d": UNIFORM}, {"count": WHOLE}),
    Attack(
        "evaluate",
        lambda **arguments: list(evaluate(**arguments)),
        lambda: {"hypotheses": run().hypotheses, "X": X},
        {"hypotheses": EMPTY | {"{}"}, "X": frozenset({"sparse"})},
    ),
)

BOOSTING = (
    Attack("certify_limits", certify_limits, lambda: {"run": limited_run()}, {"run": NOTHING}, {"run": {"plain": run}}),
    Attack("Stabilization", Stabilization, dict, {"inner": NUMBER, "idle": NUMBER}),
    Attack("Schedule", Schedule, dict, {"share": NUMBER, "shift": NUMBER, "loosest": NUMBER, "finest": NUMBER}),
    Attack("madaboost", partial(boost, "madaboost"), boosting, {**OF_BOOSTERS, "kappa": LIMIT}),
    Attack("nu_arc", partial(boost, "nu_arc"), lambda: {**boosting(), "nu": 2.0}, {"oracle": NOTHING, "nu": LIMIT}),
    Attack(
        "adaboost_reg",
        partial(boost, "adaboost_reg"),
        lambda: {**boosting(), "C": 1.0},
        {"oracle": NOTHING, "C": NUMBER, "p": WHOLE | NONE, "reach": LIMIT, "nu": LIMIT},
    ),
    Attack(
        "brownboost",
        partial(boost, "brownboost"),
        lambda: {**boosting(), "time": 1.0},
        {"oracle": NOTHING, "time": LIMIT, "kappa": LIMIT, "nu": LIMIT},
    ),
    Attack(
        "smoothboost",
        partial(boost, "smoothboost"),
        lambda: {**boosting(), "kappa": 0.2, "gamma": 0.1},
        {"oracle": NOTHING, "kappa": NUMBER, "gamma": NUMBER, "theta": LIMIT, "nu": LIMIT},
    ),
    Attack("outside", boosters.outside, dict, {"run": NOTHING}),
)

INSTANCES = (
    Attack(
        "bad_example_and_hypothesis", instances.bad_example_and_hypothesis, dict, {"U": ARRAY | NONE, "delta": NUMBER}
    ),
    Attack(
        "banana",
        instances.banana,
        lambda: {"N": 4},
        {"N": WHOLE, "noise": NUMBER, "random_state": WHOLE, "spread": NUMBER, "input_noise": NUMBER},
    ),
    Attack("cycle_mxm", instances.cycle_mxm, dict, {"m": WHOLE}),
    Attack(
        "hypercube",
        instances.hypercube,
        lambda: {"N": 4},
        {"N": WHOLE, "dimension": WHOLE, "random_state": WHOLE, "noise": NUMBER, "relevant": WHOLE},
    ),
    Attack(
        "iteration_lower_bound",
        instances.iteration_lower_bound,
        lambda: {"N": 4},
        {"N": WHOLE, "delta": LIMIT, "repeat": WHOLE},
    ),
    Attack("long_servedio", instances.long_servedio, dict, {"gamma": NUMBER, "noise": NUMBER | TEXT}),
    Attack("outliers", instances.outliers, lambda: {"N": 20}, {"N": WHOLE, "bad": WHOLE, "gamma": NUMBER}),
    Attack("pivot", instances.pivot, lambda: {"N": 4, "t": 2}, {"N": WHOLE, "t": WHOLE, "random_state": WHOLE}),
    Attack(
        "softboost_synthetic",
        instances.softboost_synthetic,
        lambda: {"N": 4},
        {
            "N": WHOLE,
            "random_state": WHOLE,
            "noise": NUMBER,
            "dimension": WHOLE,
            "informative": WHOLE,
        },
    ),
    Attack(
        "stalled_criterion",
        instances.stalled_criterion,
        lambda: {"rounds": 3},
        {"rounds": WHOLE, "random_state": WHOLE},
    ),
)


def classifier(fit: Any = None, **options: Any) -> Any:
    return MarginBoostClassifier(**{"max_iter": 2, "epsilon": 0.5, **options}).fit(X, y)


def network(**options: Any) -> Any:
    return RBFNetworkClassifier(**{"K": 2, "iterations": 1, **options}).fit(X, y)


SKLEARN = (ValueError, TypeError, OverflowError, UserWarning)
"""The errors of scikit-learn's own validation, and its warnings where warnings are errors."""

ESTIMATORS = (
    Attack(
        "MarginBoostClassifier",
        classifier,
        dict,
        {
            "formulation": PATH,
            "nu": NUMBER,
            "epsilon": NUMBER,
            "eta": LIMIT,
            "base": TEXT,
            "reflexive": FLAG,
            "final_weights": TEXT | NONE,
            "backend": BACKEND,
            "max_iter": WHOLE | NONE,
            "time_limit": LIMIT,
            "random_state": WHOLE | FLAG | NONE,
            "class_weight": NONE | {"{}"},
            "warm_start": FLAG,
            "n_jobs": WHOLE | NONE,
            "checkpoint": PATH | NONE,
            "parameters": NONE | {"{}"},
            "base_options": NONE | {"{}"},
            "intercept": FLAG,
            "verbose": FLAG | WHOLE | FUNCTION,
        },
        errors=(ValueError, ConvergenceWarning),
    ),
    Attack(
        "MarginBoostClassifier.fit",
        MarginBoostClassifier(max_iter=2, epsilon=0.5).fit,
        data(),
        {"X": NOTHING, "y": NOTHING, "sample_weight": NONE | NUMBER},
        errors=SKLEARN,
    ),
    Attack(
        "predict", lambda **arguments: fitted().predict(**arguments), dict, {"X": frozenset({"sparse"})}, errors=SKLEARN
    ),
    Attack(
        "decision_function",
        lambda **arguments: fitted().decision_function(**arguments),
        dict,
        {"X": frozenset({"sparse"})},
        errors=SKLEARN,
    ),
    Attack("MarginBoostClassifier.save", lambda **arguments: fitted().save(**arguments), dict, {"path": PATH}),
    Attack("MarginBoostClassifier.load", MarginBoostClassifier.load, dict, {"path": PATH}),
    Attack(
        "RBFNetworkClassifier",
        network,
        dict,
        {"K": WHOLE, "iterations": WHOLE, "ridge": NUMBER, "random_state": WHOLE | FLAG | NONE},
        errors=SKLEARN,
    ),
    Attack(
        "members_of",
        members_of,
        lambda: {"ensemble": run()},
        {"ensemble": NOTHING, "values": TEXT | NONE, "weights": NONE},
    ),
    Attack("thinned", lambda **arguments: reweighted().thinned(**arguments), dict, {"k": WHOLE}),
    Attack(
        "Reweighted.predict",
        lambda **arguments: reweighted().predict(**arguments),
        lambda: {"X": X},
        {"X": frozenset({"sparse"}), "at_zero": TEXT},
    ),
)

MODELS = (
    Attack(
        "certify_problem",
        boostopt.certify_problem,
        lambda: {"problem": least_squares()},
        {
            "problem": NOTHING,
            "bounds": MAPPING | NONE,
            "goal": NUMBER,
            "solver": NONE,
            "tolerance": NUMBER,
            "relaxation": FLAG,
        },
    ),
    Attack(
        "certify_problem of a conic program",
        boostopt.certify_problem,
        lambda: {"problem": linear_program()},
        {
            "problem": NOTHING,
            "bounds": NONE,
            "goal": NUMBER,
            "solver": NONE,
            "tolerance": NUMBER,
            "relaxation": FLAG,
        },
    ),
    Attack(
        "exact_optimum",
        boostopt.exact_optimum,
        lambda: {"program": linear_program()},
        {"program": NOTHING, "numbers": NONE},
    ),
    Attack(
        "ExactOptimum.save",
        lambda **arguments: boostopt.exact_optimum(linear_program()).save(**arguments),
        lambda: {"path": "certificate.json"},
        {"path": PATH, "data": PATH | NONE},
    ),
    Attack("load_problem", boostopt.load_problem, lambda: {"path": mps_file()}, {"path": PATH}),
    Attack(
        "save_problem",
        boostopt.save_problem,
        lambda: {"program": linear_program(), "path": "program.npz"},
        {"program": NOTHING, "path": PATH},
    ),
    Attack(
        "ProblemCertificate.save",
        lambda **arguments: boostopt.certify_problem(least_squares()).save(**arguments),
        lambda: {"path": "certificate.json"},
        {"path": PATH, "data": PATH | NONE},
    ),
    Attack(
        "explain_problem",
        boostopt.explain_problem,
        lambda: {"problem": least_squares()},
        {"problem": NOTHING, "tolerance": NUMBER},
    ),
    Attack(
        "problem_page",
        boostopt.problem_page,
        lambda: {"problem": least_squares()},
        {"problem": NOTHING, "names": MAPPING | NONE | {"{'x': 1}"}},
    ),
    Attack(
        "assert_certified",
        boostopt.assert_certified,
        lambda: {"problem": least_squares()},
        {"problem": NOTHING, "gap": NUMBER},
    ),
    Attack(
        "certify_model",
        boostopt.certify_model,
        lambda: {"model": logistic(), "X": X, "y": y},
        {
            "model": NOTHING,
            "X": frozenset({"sparse"}),
            "y": NOTHING,
            "sample_weight": ARRAY | NONE,
            "nu": NONE,
            "tol": NUMBER,
            "backend": BACKEND,
            "time_limit": LIMIT | NONE,
        },
    ),
    Attack(
        "certify_svc",
        boostopt.certify_svc,
        lambda: {"svc": machine(), "X": X, "y": y},
        {
            "svc": NOTHING,
            "X": frozenset({"sparse"}),
            "y": NOTHING,
            "sample_weight": ARRAY | NONE,
            "tol": NUMBER,
            "backend": BACKEND,
            "time_limit": LIMIT | NONE,
        },
    ),
)

FILES = (
    Attack(
        "verify",
        verification.verify,
        lambda: {"path": certificate(), "data": program()},
        {
            "path": PATH,
            "data": ARRAY,
            "c": ARRAY | NONE,
            "d0": ARRAY | NONE,
            "U": ANYTHING,
            "formulation": PATH | NONE,
            "exact": FLAG,
        },
        {"data": OBJECTS},
    ),
    Attack(
        "verification.save",
        verification.save,
        lambda: {"certified": solution(), "path": "s.json"},
        {"certified": NOTHING, "path": PATH},
        {"certified": {"a program": program}},
    ),
    Attack(
        "save_class",
        verification.save_class,
        lambda: {"run": run(), "oracle": DecisionStumps(X, y), "path": "c.json"},
        {"run": NOTHING, "oracle": NOTHING, "path": PATH},
    ),
    Attack("subject", verification.subject, dict, {"path": PATH}),
    Attack(
        "Certificate.save",
        lambda **arguments: solution().certificate.save(**arguments),
        lambda: {"path": "k.json", "program": program()},
        {"path": PATH, "program": NOTHING},
    ),
    Attack(
        "export",
        exporting.export,
        lambda: {"program": program(), "path": "p.mps"},
        {"program": NOTHING, "path": PATH, "side": TEXT},
        {"program": OBJECTS},
    ),
    Attack(
        "export_set",
        exporting.export_set,
        lambda: {"programs": {"one": program()}, "folder": "set"},
        {
            "programs": NOTHING,
            "folder": PATH,
            "tol": NUMBER,
            "time_limit": LIMIT,
            "progress": FLAG | FUNCTION,
        },
    ),
    Attack(
        "report",
        reporting.report,
        lambda: {"result": comparison(), "path": "r.html"},
        {"result": NOTHING, "path": PATH},
        {"result": {"a run": run}},
    ),
    Attack("to_html", reporting.to_html, dict, {"result": NOTHING}),
    Attack(
        "check_place",
        reporting.check_place,
        lambda: {"path": "r.html"},
        {"path": PATH, "input_paths": NAMES | PATH | {"[None]"}},
    ),
)

PICTURES = (
    Attack("bounds", pictures.bounds, lambda: {"runs": run()}, {"runs": NOTHING, "against": TEXT, **AXES}),
    Attack(
        "cycles", pictures.cycles, lambda: {"trajectory": trajectory()[0]}, {"trajectory": ARRAY, "cycle": NONE, **AXES}
    ),
    Attack(
        "triangle",
        pictures.triangle,
        lambda: {"trajectory": trajectory()[0]},
        {"trajectory": ARRAY, "cycle": NONE, **AXES},
    ),
    Attack(
        "decision_regions",
        pictures.decision_regions,
        lambda: {"classifier": run(), "X": X, "y": y, "resolution": 2},
        {"classifier": NOTHING, "X": NOTHING, "y": NOTHING, "weights": NONE, "resolution": WHOLE, **AXES},
    ),
    Attack(
        "example_weights",
        pictures.example_weights,
        lambda: {"weights": [0.5, 0.5]},
        {"weights": NUMBERS, "nu": LIMIT, "c": NONE | {"series"}, "ordered": FLAG, **AXES},
    ),
    Attack(
        "weights_by_margin",
        pictures.weights_by_margin,
        lambda: {"weights": [0.5, 0.5], "margins": [0.5, 0.25]},
        {"weights": NUMBERS, "margins": NUMBERS, "marked": NONE, "c": NONE | {"series"}, **AXES},
    ),
    Attack(
        "weights_on_triangle",
        pictures.weights_on_triangle,
        lambda: {"regularizer": CappedSimplexIndicator(CappedSimplex(np.ones(3), 2.0))},
        {"regularizer": NOTHING, "reach": NUMBER, **AXES},
    ),
    Attack(
        "margin_distributions",
        pictures.margin_distributions,
        lambda: {"classifiers": [0.5, 0.25]},
        {"classifiers": NUMBERS, "nu": LIMIT, "c": NONE | {"series"}, **AXES},
    ),
    Attack(
        "intervals",
        pictures.intervals,
        lambda: {"comparison": comparison()},
        {"comparison": NOTHING, "brief": FLAG, **AXES},
    ),
    Attack("path_of_runs", pictures.path_of_runs, lambda: {"path": along()}, {"path": NOTHING, **AXES}),
    Attack(
        "work_precision",
        pictures.work_precision,
        lambda: {"result": measured_precision(), "seconds": "solver"},
        {"result": NOTHING, "seconds": TEXT, **AXES},
    ),
    Attack("profiles", pictures.profiles, lambda: {"benchmark": benchmarked()}, {"benchmark": NOTHING}),
)

TOOLS = (*ORACLES, *BOOSTING, *INSTANCES, *ESTIMATORS, *MODELS, *FILES, *PICTURES)
