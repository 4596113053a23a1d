"""Right calls of what `boostopt` itself exports, and the kinds of their arguments."""

from __future__ import annotations

from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
from wrong_values import (
    ARRAY,
    FLAG,
    FUNCTION,
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
from boostopt.authoring import CappedSimplex, CappedSimplexIndicator, MaximumEdge
from boostopt.boosting import Schedule, Stabilization
from boostopt.comparison import ConeSolver, FunctionSolver
from boostopt.oracles import DecisionStumps, GivenMargins

U = np.array([[1.0, -0.5], [-0.5, 1.0], [0.5, 0.5]])
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]])
y = np.array([-1, 1, -1, 1])


@cache
def program() -> Any:
    return boostopt.get_formulation("lpboost").bind(U, nu=2)


@cache
def cvxpy_problem() -> Any:
    x = cp.Variable(name="x")
    constraints: list[Any] = [x >= 1.0]
    return cp.Problem(cp.Minimize(x), constraints)


@cache
def solution() -> Any:
    return program().solve("interior")


@cache
def run() -> Any:
    return boostopt.boost("lpboost", DecisionStumps(X, y), nu=2, epsilon=0.1)


@cache
def comparison() -> Any:
    return boostopt.compare(program(), "interior")


PROCESSES = frozenset({("backends", "None"), ("isolate", "True"), ("isolate", "numpy True"), ("isolate", "1")})
"""Every solver, or a process of its own: right, and slow."""

OBJECTS = {"a solution": solution, "a run": run, "a comparison": comparison}
BACKEND = TEXT | NONE
LIMIT = NUMBER | NONE

MEASUREMENT = {
    "repeats": WHOLE - {"10**400"},
    "time_limit": LIMIT,
    "forms": NAMES | NONE,
    "isolate": FLAG,
    "budget": LIMIT,
    "random_state": WHOLE,
    "progress": FLAG | FUNCTION,
    "origin": NONE,
    "resume": PATH | NONE,
}

SOLVE = {
    "backend": TEXT,
    "tol": NUMBER,
    "time_limit": LIMIT,
    "start": NONE,
    "isolate": FLAG,
    "merge": FLAG,
}
BOOST = {
    "epsilon": NUMBER,
    "d0": ARRAY | NONE,
    "backend": TEXT,
    "update": TEXT | NONE,
    "rules": NAMES | NONE,
    "guarantee": LIMIT,
    "max_rounds": WHOLE | NONE,
    "time_limit": LIMIT,
    "columns_per_round": WHOLE,
    "schedule": NONE,
    "stabilization": NONE,
    "start": NONE,
    "final_weights": TEXT | NONE,
    "history": FLAG | NONE,
    "nus": NUMBERS,
    "test": NONE,
    "at_zero": TEXT | WHOLE,
    "checkpoint": PATH | NONE,
    "checkpoint_rounds": WHOLE,
    "checkpoint_seconds": LIMIT,
    "progress": FLAG | FUNCTION,
    "nu": LIMIT,
    "max_round": NONE,
}
CLASSES = {
    "schedule": {"the class": lambda: Schedule, "a stabilization": Stabilization},
    "stabilization": {"the class": lambda: Stabilization, "a schedule": Schedule},
    "start": {"a solution": solution, "a program": program},
}

ENTRANCES = (
    Attack(
        "solve",
        boostopt.solve,
        lambda: {"program": program(), "backend": "interior"},
        {"program": NOTHING, **SOLVE},
        {"program": OBJECTS, "start": {"a program": program, "a run": run}},
    ),
    Attack(
        "boost",
        boostopt.boost,
        lambda: {
            "formulation": "erlpboost",
            "oracle": DecisionStumps(X, y),
            "nu": 2,
            "epsilon": 0.5,
            "max_rounds": 2,
            "backend": "interior",
        },
        {"formulation": PATH, "oracle": NOTHING, **BOOST},
        {"oracle": {"the class": lambda: DecisionStumps, "X": lambda: X}, **CLASSES},
    ),
    Attack(
        "path",
        boostopt.path,
        lambda: {
            "formulation": "lpboost",
            "oracle": DecisionStumps(X, y),
            "nu": [2.0, 1.5],
            "epsilon": 0.5,
            "max_rounds": 2,
            "backend": "interior",
        },
        {
            "formulation": PATH,
            "oracle": NOTHING,
            "nu": NUMBERS,
            "eta": NUMBERS | NONE,
            "each": FUNCTION | NONE,
            "epsilon": NUMBER,
            "columns_per_round": WHOLE,
            "start": NOTHING,
            "max_round": NONE,
        },
    ),
    Attack(
        "compare",
        boostopt.compare,
        lambda: {"program": program(), "backends": "interior"},
        {
            "program": NOTHING,
            "backends": NAMES,
            "tol": NUMBER,
            "time_limit": LIMIT,
            "progress": FLAG | FUNCTION,
            "forms": NAMES | NONE,
            "isolate": FLAG,
            "origin": NONE,
        },
        {"program": OBJECTS},
        spared=PROCESSES,
    ),
    Attack(
        "compare of a CVXPY problem",
        boostopt.compare,
        lambda: {"program": cvxpy_problem(), "backends": "clarabel"},
        {
            "program": NOTHING,
            "backends": NAMES | FUNCTION,
            "tol": NUMBER,
            "time_limit": LIMIT,
            "progress": FLAG | FUNCTION,
            "forms": NONE,
            "isolate": FLAG,
            "origin": NONE,
        },
        {"program": OBJECTS},
        spared=PROCESSES,
    ),
    Attack(
        "FunctionSolver",
        FunctionSolver,
        lambda: {"function": abs, "name": "mine"},
        {"function": FUNCTION, "name": TEXT},
    ),
    Attack(
        "ConeSolver",
        ConeSolver,
        lambda: {"function": abs, "name": "mine"},
        {"function": FUNCTION, "name": TEXT},
    ),
    Attack(
        "benchmark",
        boostopt.benchmark,
        lambda: {"programs": program(), "backends": "interior", "profiles": 1e-3, "repeats": 1},
        {
            "programs": NOTHING,
            "backends": NAMES,
            "profiles": NUMBERS,
            **MEASUREMENT,
        },
        {"programs": {"a solution": solution, "two of them and a solution": lambda: [program(), solution()]}},
        spared=PROCESSES,
    ),
    Attack(
        "precision",
        boostopt.precision,
        lambda: {"problems": program(), "backends": "interior", "requests": 1e-3, "repeats": 1},
        {
            "problems": NOTHING,
            "backends": NAMES,
            "requests": NUMBERS,
            **MEASUREMENT,
        },
        {"problems": {"a solution": solution, "two of them and a solution": lambda: [program(), solution()]}},
        spared=PROCESSES,
    ),
    Attack(
        "reweight",
        boostopt.reweight,
        lambda: {"ensemble": run(), "X": X, "y": y, "formulation": "lpboost", "nu": 2, "backend": "interior"},
        {
            "ensemble": NOTHING,
            "X": NOTHING,
            "y": NOTHING,
            "formulation": PATH,
            "sample_weight": NONE,
            "values": TEXT | NONE,
            "weights": NONE,
            "reflexive": FLAG,
            "backend": TEXT,
            "tol": NUMBER,
            "d0": NONE,
            "nu": LIMIT,
            "max_round": NONE,
        },
    ),
    Attack(
        "check_edge",
        boostopt.check_edge,
        lambda: {"G": MaximumEdge(), "t": 1},
        {"G": NOTHING, "t": WHOLE - {"10**400"}, "random_state": WHOLE},
        {"G": {"the class": lambda: MaximumEdge}},
    ),
    Attack(
        "check_regularizer",
        boostopt.check_regularizer,
        lambda: {"F": CappedSimplexIndicator(CappedSimplex(np.ones(2), 1.0))},
        {"F": NOTHING, "random_state": WHOLE},
        {"F": {"the class": lambda: CappedSimplexIndicator}},
    ),
    Attack(
        "check_oracle",
        boostopt.check_oracle,
        lambda: {"oracle_class": DecisionStumps},
        {"oracle_class": PATH | {"class", "function"}, "random_state": WHOLE},
        {"oracle_class": {"one of them": lambda: DecisionStumps([[0.0], [1.0]], [1, -1])}},
    ),
    Attack(
        "check_backend",
        boostopt.check_backend,
        lambda: {"name_or_backend": "interior"},
        {"name_or_backend": TEXT, "random_state": WHOLE, "tol": NUMBER},
    ),
    Attack(
        "check_formulation",
        boostopt.check_formulation,
        lambda: {"name_or_formulation": "lpboost", "nu": -1},
        {"name_or_formulation": PATH, "nu": NUMBER | NONE, "random_state": WHOLE},
    ),
    Attack("get_backend", boostopt.get_backend, dict, {"backend": TEXT}),
    Attack("get_formulation", boostopt.get_formulation, dict, {"name_or_formulation": PATH}),
    Attack(
        "combine",
        boostopt.combine,
        lambda: {"loss": "hinge", "penalty": "l1"},
        {"loss": TEXT, "penalty": TEXT, "signed": FLAG},
    ),
    Attack("load_answer", boostopt.load_answer, dict, {"source": PATH}),
    Attack(
        "load_dataset",
        boostopt.load_dataset,
        lambda: {"source": "breast_cancer"},
        {
            "source": PATH,
            "label": TEXT,
            "positive": TEXT | NUMBER | FLAG | NONE,
            "weights": NONE,
            "drop": NAMES,
            "zero_based": NONE,
            "missing_values": NAMES | NONE,
        },
    ),
    Attack(
        "project_capped_simplex",
        boostopt.project_capped_simplex,
        lambda: {"q": np.ones(3), "nu": 2.0},
        {"q": ARRAY, "nu": NUMBER, "c": NONE, "method": TEXT},
    ),
    Attack(
        "stump_matrix",
        boostopt.stump_matrix,
        lambda: {"X": X, "y": y, "t": 2},
        {"X": frozenset({"sparse"}), "y": NOTHING, "t": WHOLE, "random_state": WHOLE | NONE},
    ),
    Attack(
        "boosted_stump_matrix",
        boostopt.boosted_stump_matrix,
        lambda: {"X": X, "y": y, "t": 2},
        {"X": frozenset({"sparse"}), "y": NOTHING, "t": WHOLE, "random_state": WHOLE | NONE, "c": NONE},
    ),
    Attack(
        "bind",
        boostopt.get_formulation("erlpboost").bind,
        lambda: {"U": U, "nu": 2},
        {"U": ARRAY, "nu": NUMBER, "eta": LIMIT, "c": NONE, "d0": NONE, "two_sided": FLAG | NONE, "x": NONE},
    ),
    Attack("MarginMatrix", boostopt.MarginMatrix, lambda: {"U": U}, {"U": ARRAY}),
    Attack("append", boostopt.MarginMatrix(U).append, dict, {"column": NOTHING}),
    Attack(
        "certify",
        lambda **arguments: program().certify(**arguments),
        dict,
        {"d": NONE, "w": NONE | {"series", "[0.5, nan]"}},
    ),
    Attack(
        "recover",
        lambda **arguments: program().recover(**arguments),
        lambda: {"d": np.full(3, 1 / 3)},
        {"d": NOTHING, "method": TEXT, "active_tol": NUMBER | NONE, "w": NONE | {"series", "[0.5, nan]"}},
    ),
    Attack(
        "example_weights",
        lambda **arguments: program().example_weights(**arguments),
        dict,
        {"w": frozenset({"series", "[0.5, nan]"})},
    ),
    Attack(
        "cvxpy",
        lambda **arguments: program().cvxpy(**arguments),
        lambda: {"side": "primal"},
        {"side": TEXT, "form": TEXT},
    ),
    Attack("polish", lambda **arguments: solution().polish(**arguments), dict, {"tol": NUMBER, "time_limit": LIMIT}),
    Attack("Solution.save", lambda **arguments: solution().save(**arguments), dict, {"path": PATH}),
    Attack("Run.save", lambda **arguments: run().save(**arguments), dict, {"path": PATH}),
    Attack("Run.load", boostopt.Run.load, dict, {"path": PATH}),
    Attack(
        "Run.predict",
        lambda **arguments: run().predict(**arguments),
        lambda: {"X": X},
        {"X": frozenset({"sparse"}), "at_zero": TEXT | WHOLE},
    ),
    Attack(
        "Run.decision_function",
        lambda **arguments: run().decision_function(**arguments),
        dict,
        {"X": frozenset({"sparse"})},
    ),
    Attack("Run.at_round", lambda **arguments: run().at_round(**arguments), dict, {"k": WHOLE}),
    Attack(
        "Run.verify_class",
        lambda **arguments: run().verify_class(**arguments),
        dict,
        {"oracle": NOTHING},
        {"oracle": {"others": lambda: GivenMargins(U)}},
    ),
)
