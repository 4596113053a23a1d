"""Right calls of what pages, regularizers and edge functions of one's own are written with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from wrong_values import EMPTY, FLAG, FUNCTION, MAPPING, NAMES, NONE, NOTHING, NUMBER, NUMBERS, TEXT, Attack

from boostopt.authoring import (
    POSITIVE,
    BallEdges,
    BinaryEntropy,
    BoostingSpec,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    Domain,
    ElasticEdges,
    Exponential,
    FixedEdges,
    FormulaEdges,
    FormulaRegularizer,
    Hinge,
    InterceptEdges,
    LinearEdges,
    LogarithmicLoss,
    LogExponentialLoss,
    Logistic,
    MarginVariance,
    MaximumEdge,
    NormBall,
    NormPenalty,
    OneNormEdges,
    PowerDivergence,
    QuadraticHinge,
    RelativeEntropy,
    SeparableSum,
    Shortfall,
    Squares,
    Tilted,
    UnnormalizedRelativeEntropy,
    WarmStart,
    edge_formula,
    formula,
    interval,
    maximize,
    minimize,
    parameter,
    prototype,
    simplex,
)

DOMAIN = CappedSimplex(np.ones(3), 2.0)
INSIDE = np.full(3, 1 / 3)
U = np.eye(3)


def squares(d: Any) -> Any:
    """A convex expression."""
    return cp.sum_squares(d)


def bound_and_valued(**arguments: Any) -> float:
    """The optimum of a prototype, so that all that was passed is used."""
    page = prototype(**arguments)
    return page.bind(U, a=1.0).certify(d=INSIDE).upper


def prototyped() -> dict[str, Any]:
    return {
        "name": "squares",
        "regularizer": lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, 1.0)),
        "edge_function": lambda p: MaximumEdge(),
        "a": parameter("a number", POSITIVE),
    }


def value_at_inside(**options: Any) -> float:
    arguments: dict[str, Any] = {"domain": DOMAIN, "f": squares, "inside": INSIDE, **options}
    return CvxpyRegularizer(**arguments).value(INSIDE)


def with_expression(expression: Any) -> float:
    """The value of a regularizer whose expression is what was passed."""
    return value_at_inside(f=lambda d: expression)


def with_constraints(constraints: Any) -> float:
    """The value of a regularizer whose further constraints are what was passed."""
    return value_at_inside(constraints=lambda d: constraints)


def edges(**arguments: Any) -> float:
    return CvxpyEdges(**arguments).value(np.zeros(2))


C = np.array([1.0, 2.0, 1.0])
D0 = C / 4.0
WHOLE_ARRAY = NOTHING
"""No value of the table has one number for each of three examples."""
ANY_ARRAY = frozenset({"[1.0]", "series"})
"""Positive numbers for any number of examples."""
POSITIVE_NUMBER = NUMBER - {"inf", "10**400"}


def with_array(name: str) -> dict[str, Callable[[], Any]]:
    """Return wrong arrays in place of one with a number for each of three examples, and neighbours."""
    return {
        "a shape more": lambda: np.ones(4),
        "a column": lambda: np.ones((3, 1)),
        "with nan": lambda: np.array([1.0, np.nan, 1.0]),
        "negative": lambda: np.array([1.0, -1.0, 1.0]),
        "a domain": lambda: DOMAIN,
    }


def entropies(kind: Any) -> tuple[Attack, Attack]:
    """Return the attacks of an entropy, made as it is and by `capped`."""
    arrays = with_array("d0")
    swapped = {"the reference": lambda: D0}
    return (
        Attack(
            kind.__name__,
            kind,
            lambda: {"domain": DOMAIN, "eta": 2.0, "d0": INSIDE},
            {"domain": NOTHING, "eta": POSITIVE_NUMBER, "d0": WHOLE_ARRAY},
            {"d0": arrays | {"with a zero": lambda: np.array([0.0, 0.5, 0.5])}, "eta": swapped, "domain": swapped},
        ),
        Attack(
            f"{kind.__name__}.capped",
            kind.capped,
            lambda: {"c": C, "nu": 2.0, "eta": 2.0, "d0": D0},
            {"c": WHOLE_ARRAY, "nu": POSITIVE_NUMBER, "eta": POSITIVE_NUMBER, "d0": WHOLE_ARRAY},
            {"d0": arrays, "c": with_array("c"), "nu": swapped, "eta": swapped},
        ),
    )


def priced(kind: Any, **numbers: float) -> Attack:
    """Return the attack of a regularizer of c and further numbers."""
    wrong_values = with_array("c") | {"a number": lambda: 2.0}
    del wrong_values["a shape more"]
    return Attack(
        getattr(kind, "__qualname__", kind.__name__),
        kind,
        lambda: {"c": C, **numbers},
        {"c": ANY_ARRAY, **dict.fromkeys(numbers, POSITIVE_NUMBER)},
        {"c": wrong_values, **{name: {"the multiplicities": lambda: C} for name in numbers}},
    )


def normed(kind: Any, *exponents: str) -> Attack:
    return Attack(
        kind.__name__,
        kind,
        lambda: {"base": simplex(C), "c": C, "p": 2.0, "r": 0.9},
        {"base": NOTHING, "c": WHOLE_ARRAY, "p": POSITIVE_NUMBER | set(exponents), "r": POSITIVE_NUMBER},
        {
            "base": {"caps": lambda: CappedSimplexIndicator(DOMAIN), "squares": lambda: Squares(C, 2.0)},
            "c": with_array("c"),
        },
    )


def edges_of(kind: Any, kinds: dict[str, Any], **valid: Any) -> Attack:
    """Return the attack of an edge function."""
    return Attack(kind.__name__, kind, lambda: valid, kinds)


def objective_attack(make: Any) -> Attack:
    x = cp.Variable(2)
    return Attack(
        make.__name__,
        make,
        lambda: {"objective": cp.sum(x), "subject_to": {"w": x <= 1}},
        {"objective": NUMBER | {"nan"}, "subject_to": MAPPING},
        {
            "objective": {"a vector": lambda: x, "a constraint": lambda: x <= 1},
            "subject_to": {"a list": lambda: [x <= 1], "a flag": lambda: {"w": True}, "a number": lambda: {1: x <= 1}},
        },
    )


def started(**arguments: Any) -> Any:
    """A solve from a start."""
    page = prototype("cap", lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, 1.0)))
    return page.bind(U).solve("highs", start=WarmStart(**arguments))


AUTHORING = (
    *entropies(RelativeEntropy),
    *entropies(UnnormalizedRelativeEntropy),
    *entropies(LogExponentialLoss),
    Attack(
        "BinaryEntropy",
        BinaryEntropy,
        lambda: {"caps": C / 2.0, "eta": 2.0, "d0": D0, "cap_distance": C / 2.0 - D0},
        {"caps": WHOLE_ARRAY, "eta": POSITIVE_NUMBER, "d0": WHOLE_ARRAY, "cap_distance": NONE},
        {
            "caps": with_array("caps") | {"that sum to less": lambda: np.full(3, 0.3)},
            "d0": with_array("d0"),
            "eta": {"the reference": lambda: D0},
        },
    ),
    Attack(
        "BinaryEntropy.capped",
        BinaryEntropy.capped,
        lambda: {"c": C, "nu": 2.0, "eta": 2.0, "d0": D0},
        {"c": WHOLE_ARRAY, "nu": POSITIVE_NUMBER, "eta": POSITIVE_NUMBER, "d0": WHOLE_ARRAY},
        {"c": with_array("c"), "d0": with_array("d0"), "nu": {"the reference": lambda: D0}},
    ),
    priced(Hinge, C=2.0),
    priced(Squares, mu=2.0),
    priced(Exponential, C=2.0),
    priced(QuadraticHinge, C=2.0, mu=0.3, B=1.0),
    priced(MarginVariance, D=2.0),
    priced(Shortfall, C=2.0, theta=0.1),
    priced(LogarithmicLoss.from_multiplicities, eta=2.0),
    priced(Logistic.priced, C=2.0),
    Attack("simplex", simplex, lambda: {"c": C}, {"c": ANY_ARRAY}, {"c": {"a domain": lambda: DOMAIN}}),
    Attack(
        "Tilted",
        Tilted,
        lambda: {"base": CappedSimplexIndicator(DOMAIN), "tilt": C},
        {"base": NOTHING, "tilt": WHOLE_ARRAY},
        {
            "base": {"the class": lambda: CappedSimplexIndicator, "a domain": lambda: DOMAIN},
            "tilt": {"longer": lambda: np.ones(4)},
        },
    ),
    normed(NormBall),
    normed(NormPenalty, "inf", "10**400"),
    Attack(
        "SeparableSum",
        SeparableSum,
        lambda: {"terms": (CappedSimplexIndicator(DOMAIN), Squares(C, 2.0))},
        {"terms": NOTHING},
        {
            "terms": {
                "one": lambda: CappedSimplexIndicator(DOMAIN),
                "another N": lambda: (CappedSimplexIndicator(DOMAIN), Squares(np.ones(2), 2.0)),
            }
        },
    ),
    Attack(
        "formula",
        formula,
        lambda: {"text": "d*log(d/d0) + (eta + z)*d", "domain": DOMAIN, "d0": INSIDE, "eta": 2.0, "z": C},
        {"text": {"'0.1'"}, "domain": NOTHING, "d0": NONE, "eta": NUMBER, "z": NUMBER},
        {"d0": with_array("d0"), "eta": {"longer": lambda: np.ones(4)}, "z": {"longer": lambda: np.ones(4)}},
    ),
    Attack(
        "FormulaRegularizer",
        FormulaRegularizer,
        lambda: {"text": "d**2/c", "domain": DOMAIN, "d0": None, "parameters": {}},
        {"text": {"'0.1'"}, "domain": NOTHING, "d0": NONE, "parameters": MAPPING | {"{'x': 1}"}},
    ),
    Attack("edge_formula", edge_formula, lambda: {"text": "e**2 + a*e", "a": 2.0}, {"text": {"'0.1'"}, "a": NUMBER}),
    Attack(
        "FormulaEdges",
        FormulaEdges,
        lambda: {"text": "e**2", "parameters": {}},
        {"text": {"'0.1'"}, "parameters": MAPPING | {"{'x': 1}"}},
    ),
    edges_of(BoundedEdges, {"gamma": NUMBER}, gamma=0.1),
    edges_of(FixedEdges, {"rho": NUMBER}, rho=0.1),
    edges_of(LinearEdges, {"slope": NUMBER}, slope=0.1),
    edges_of(
        BallEdges, {"signed": FLAG, "p": {"1", "2", "2.0", "array 2.0", "inf"}, "r": NUMBER}, signed=True, p=1.0, r=0.3
    ),
    edges_of(ElasticEdges, {"signed": FLAG, "l1": NUMBER, "l2": NUMBER}, signed=True, l1=0.1, l2=2.0),
    edges_of(OneNormEdges, {"signed": FLAG, "l1": NUMBER}, signed=True, l1=0.1),
    edges_of(InterceptEdges, {"base": NOTHING}, base=MaximumEdge()),
    objective_attack(minimize),
    objective_attack(maximize),
    Attack("interval", interval, lambda: {"lower": 0.5, "upper": 3.0}, {"lower": NUMBER, "upper": NUMBER}),
    Attack(
        "WarmStart",
        started,
        lambda: {"d": INSIDE, "w": INSIDE},
        {"d": NONE, "w": NONE | EMPTY | {"[1.0]", "[0.5, nan]", "series"}, "backend": TEXT},
        {
            "d": {"longer": lambda: np.ones(4), "a column": lambda: np.ones((3, 1))},
            "w": {"too many": lambda: np.ones(4), "a column": lambda: np.ones((3, 1))},
        },
    ),
    Attack("CappedSimplex", CappedSimplex, lambda: {"c": np.ones(3), "nu": 2.0}, {"c": NUMBERS, "nu": NUMBER}),
    Attack("CappedSimplexIndicator", CappedSimplexIndicator, lambda: {"domain": DOMAIN}, {"domain": NOTHING}),
    Attack(
        "PowerDivergence",
        PowerDivergence,
        lambda: {"domain": DOMAIN, "q": 0.5, "eta": 2.0},
        {"domain": NOTHING, "q": NUMBER, "eta": NUMBER},
    ),
    Attack(
        "parameter",
        parameter,
        lambda: {"meaning": "a number", "domain": POSITIVE},
        {"meaning": TEXT, "domain": NOTHING},
        {"domain": {"its name": lambda: "positive", "the class": lambda: Domain}},
    ),
    Attack(
        "Domain",
        Domain,
        lambda: {"text": "[0, 1]", "contains": lambda value, examples: True},
        {
            "text": TEXT,
            "contains": FUNCTION | {"class"},
            "kind": TEXT,
            "typical_value": NUMBER,
            "bounds": NONE | {"series", "masked array"},
        },
    ),
    Attack(
        "BoostingSpec",
        BoostingSpec,
        dict,
        {
            "update": NOTHING,
            "rules": NAMES,
            "final_weights": NOTHING,
            "smoothed_formulation": TEXT,
            "extra_success_reasons": NAMES,
            "iteration_bound": FUNCTION | {"class"},
            "next_parameters": FUNCTION | {"class"},
            "guaranteed_edge": FUNCTION | {"class"},
            "min_edge_excess": FUNCTION | {"class"},
            "keeps_perfect_hypothesis": FUNCTION | {"class"},
        },
    ),
    Attack(
        "prototype",
        bound_and_valued,
        prototyped,
        {"name": TEXT, "regularizer": NOTHING, "edge_function": NOTHING, "a": NOTHING},
        {
            "regularizer": {
                "the class": lambda: CappedSimplexIndicator,
                "a piece": lambda: CappedSimplexIndicator(DOMAIN),
                "what makes none": lambda: lambda p, examples: 3,
            },
            "edge_function": {"what makes none": lambda: lambda p: None, "a piece": MaximumEdge},
            "a": {"a domain": lambda: POSITIVE},
        },
    ),
    Attack(
        "CvxpyRegularizer",
        value_at_inside,
        dict,
        {"domain": NOTHING, "f": NOTHING, "inside": NOTHING, "constraints": NOTHING, "objective_scale": NUMBER},
        {
            "f": {
                "numpy": lambda: lambda d: np.log(d),
                "math": lambda: lambda d: math.log(d),
                "a vector": lambda: lambda d: d,
                "an expression": lambda: cp.Variable(3),
            },
            "constraints": {
                "numpy": lambda: lambda d: [np.log(d) <= 0],
                "one constraint": lambda: lambda d: d[0] <= 0.4,
                "an equation": lambda: lambda d: [d[0] == 0.4],
                "flags": lambda: lambda d: [True],
            },
        },
    ),
    Attack("its f", with_expression, dict, {"expression": NUMBER | {"True", "False", "numpy True"}}),
    Attack("its constraints", with_constraints, dict, {"constraints": EMPTY}),
    Attack(
        "CvxpyEdges",
        edges,
        lambda: {"G": cp.max},
        {"G": NOTHING},
        {"G": {"numpy": lambda: lambda e: np.exp(e).sum(), "a vector": lambda: lambda e: e}},
    ),
)
