"""Right calls of what pages, regularizers and edge functions of one's own are written with."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
from wrong_values import EMPTY, FUNCTION, NOTHING, NUMBER, NUMBERS, TEXT, Attack

from boostopt.authoring import (
    POSITIVE,
    Cap,
    CappedSimplex,
    DescribedEdges,
    DescribedRegularizer,
    Domain,
    MaximumEdge,
    PowerDivergence,
    parameter,
    prototype,
)

DOMAIN = CappedSimplex(np.ones(3), 2.0)
INSIDE = np.full(3, 1 / 3)
U = np.eye(3)


def squares(d: Any) -> Any:
    """A convex expression."""
    return cp.sum_squares(d)


def bound_and_valued(**given: Any) -> float:
    """The optimum of a prototype, so that all that was passed is used."""
    page = prototype(**given)
    return page.bind(U, a=1.0).certify(d=INSIDE).upper


def prototyped() -> dict[str, Any]:
    return {
        "name": "squares",
        "regularizer": lambda p, examples: Cap(CappedSimplex(examples.c, 1.0)),
        "edge_function": lambda p: MaximumEdge(),
        "a": parameter("a number", POSITIVE),
    }


def described(**given: Any) -> float:
    arguments: dict[str, Any] = {"domain": DOMAIN, "f": squares, "inside": INSIDE, **given}
    return DescribedRegularizer(**arguments).value(INSIDE)


def with_expression(made: Any) -> float:
    """The value of a regularizer whose expression is what was passed."""
    return described(f=lambda d: made)


def with_constraints(made: Any) -> float:
    """The value of a regularizer whose further constraints are what was passed."""
    return described(constraints=lambda d: made)


def edges(**given: Any) -> float:
    return DescribedEdges(**given).value(np.zeros(2))


AUTHORING = (
    Attack("CappedSimplex", CappedSimplex, lambda: {"c": np.ones(3), "nu": 2.0}, {"c": NUMBERS, "nu": NUMBER}),
    Attack("Cap", Cap, lambda: {"domain": DOMAIN}, {"domain": NOTHING}),
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
        {"text": TEXT, "contains": FUNCTION | {"class"}, "kind": TEXT, "typical": NUMBER},
    ),
    Attack(
        "prototype",
        bound_and_valued,
        prototyped,
        {"name": TEXT, "regularizer": NOTHING, "edge_function": NOTHING, "a": NOTHING},
        {
            "regularizer": {
                "the class": lambda: Cap,
                "a piece": lambda: Cap(DOMAIN),
                "what makes none": lambda: lambda p, examples: 3,
            },
            "edge_function": {"what makes none": lambda: lambda p: None, "a piece": MaximumEdge},
            "a": {"a domain": lambda: POSITIVE},
        },
    ),
    Attack(
        "DescribedRegularizer",
        described,
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
    Attack("its f", with_expression, dict, {"made": NUMBER | {"True", "False", "numpy True"}}),
    Attack("its constraints", with_constraints, dict, {"made": EMPTY}),
    Attack(
        "DescribedEdges",
        edges,
        lambda: {"G": cp.max},
        {"G": NOTHING},
        {"G": {"numpy": lambda: lambda e: np.exp(e).sum(), "a vector": lambda: lambda e: e}},
    ),
)
