"""Pieces that a page makes of wrong arguments or over arrays of a wrong shape are refused when the page is bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import typechecker

from boostopt import ProblemError
from boostopt.authoring import (
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    EdgeFunction,
    MaximumEdge,
    RelativeEntropy,
    SquaredEdges,
    Squares,
    parameter,
    prototype,
)

U = np.array([[1.0, -0.5], [-0.5, 1.0], [0.2, 0.3]])
LONG = np.ones(5)


class OverAnArray(Squares):
    """A regularizer that closes over an array with another number of examples."""

    def values(self, d: Any) -> Any:
        return super().values(d) * LONG


class OverOtherEdges(SquaredEdges):
    """Likewise of edges."""

    def value(self, e: Any) -> float:
        return float(e @ LONG)


def swapped(p: Any, examples: Any) -> Any:
    numbers: Any = 2.0
    return RelativeEntropy(CappedSimplex(examples.c, 1.0), examples.d0, numbers)


def capped(p: Any, examples: Any) -> Any:
    return CappedSimplexIndicator(CappedSimplex(examples.c, 1.0))


def largest(p: Any) -> EdgeFunction:
    return MaximumEdge()


@pytest.mark.parametrize(
    ("F", "G", "message"),
    [
        (
            swapped,
            largest,
            r"^eta\b.*\(3,\)",
        ),
        (lambda p, ex: Squares(p.mu, ex.c), largest, r"^c\b.*\(N,\).*\(\)"),
        (lambda p, ex: OverAnArray(ex.c, 2.0), largest, r"\bregularizer\b.*\bValueError\b"),
        (lambda p, ex: capped(p, ex) + Squares(LONG, 2.0), largest, r"\bregularizers\b.*\[3, 5\]"),
        (
            lambda p, ex: CappedSimplexIndicator(CappedSimplex(LONG, 1.0)),
            largest,
            r"\bregularizer\b.*\b3\b.*\b5\b.*\bexamples\.c\b",
        ),
        (
            lambda p, ex: CvxpyRegularizer(CappedSimplex(ex.c, 1.0), lambda d: LONG @ d, ex.c / 3),
            largest,
            r"^f\b.*\bCVXPY\b.*\(5,\) \(3,\)",
        ),
        (capped, lambda p: OverOtherEdges(), r"\bedge\b.*\bValueError\b"),
        (capped, lambda p: CvxpyEdges(lambda e: LONG @ e), r"\bedge\b.*\bCVXPY\b.*\(5,\) \(2,\)"),
        (capped, lambda p: CvxpyEdges(lambda e: cp.sum(e) + LONG), r"\bedge\b.*\bscalar\b.*\(5,\)"),
    ],
    ids=(
        "eta",
        "multiplicities",
        "values",
        "sum",
        "examples",
        "expression",
        "edges",
        "edge-expression",
        "edge-vector",
    ),
)
def test_wrong_pieces_are_refused_when_the_formulation_is_bound(
    F: Callable[..., Any], G: Callable[..., Any], message: str
) -> None:
    page = prototype("mine", F, G, mu=parameter("the strength", POSITIVE, 2.0))
    with typechecker.unchecked(), pytest.raises(ProblemError, match=message):
        page.bind(U)
