"""Every regularizer, every edge function and every page that comes with boostopt passes every check."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import boostopt.authoring
from boostopt import ProblemError, list_formulations
from boostopt.authoring import (
    COUNT,
    AbsoluteEdge,
    BallEdges,
    BinaryEntropy,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    EdgeFunction,
    ElasticEdges,
    Exponential,
    FixedEdges,
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
    Regularizer,
    RelativeEntropy,
    Separable,
    SeparableSum,
    Shortfall,
    SquaredEdges,
    SquaredPositiveEdges,
    Squares,
    TiedEdges,
    Tilted,
    UnnormalizedRelativeEntropy,
    edge_formula,
    formula,
    parameter,
    prototype,
    simplex,
)
from boostopt.checks import check_edge, check_formulation, check_regularizer

N = 8
C = np.random.default_rng(0).uniform(0.5, 2.0, N)
D0 = np.random.default_rng(1).dirichlet(np.ones(N))
SPARSE = np.where(np.arange(N) == 2, 0.0, D0) / (1.0 - D0[2])
ONES = np.ones(N)


def entropy(eta: float = 4.0, nu: float = 3.0, d0: np.ndarray = D0) -> RelativeEntropy:
    return RelativeEntropy.capped(C, nu, eta, d0)


def simplex_entropy() -> RelativeEntropy:
    return RelativeEntropy.capped(ONES, 1.0, 3.0, D0)


MATRICES = [np.diag(row) + row[0] / 2 for row in np.random.default_rng(3).uniform(-1, 1, (N, 2))]


def _transport(d: Any) -> tuple[Any, list[Any]]:
    """Return the cost of transporting d to three places, and its constraints."""
    T = cp.Variable((N, 3), nonneg=True)
    costs = np.abs(np.subtract.outer(np.arange(N) / N, np.array([0.0, 0.5, 1.0])))
    arrivals: Any = cp.sum(T, axis=0)
    return cp.sum(cp.multiply(costs, T)), [cp.sum(T, axis=1) == d, arrivals[:2] == np.array([0.25, 0.5])]


REGULARIZERS: dict[str, Regularizer] = {
    "cap": CappedSimplexIndicator(CappedSimplex(C, 3.0)),
    "cap at full support": CappedSimplexIndicator(CappedSimplex(C, float(C.sum()))),
    "simplex": simplex(C),
    "entropy": entropy(),
    "entropy, sharp, with a zero in d0": entropy(eta=200.0, nu=1.0, d0=SPARSE),
    "entropy, hardly regularized": entropy(eta=1e5),
    "unnormalized entropy": UnnormalizedRelativeEntropy.capped(C, 2.0, 4.0, D0),
    "binary entropy": BinaryEntropy(C / 2.0, 2.0, C / C.sum()),
    "binary entropy with fixed weights": BinaryEntropy(np.maximum(SPARSE, 0.2), 2.0, SPARSE),
    "logarithmic loss": LogarithmicLoss.from_multiplicities(C, 3.0),
    "hinge": Hinge(C, 0.7),
    "smoothed hinge": QuadraticHinge(C, 0.7, 0.3, 1.0),
    "modified Huber loss": QuadraticHinge(C, 0.7, 0.5, 4.0),
    "squared hinge": QuadraticHinge(C, 2.0, 0.5, None),
    "exponential loss": Exponential(C, 0.7),
    "logistic loss": Logistic.priced(C, 0.7),
    "margin variance": MarginVariance(C, 0.8),
    "margin variance, weights of both signs": MarginVariance(C, 30.0),
    "shortfall": Shortfall(C, 0.3, 0.1),
    "shortfall, level below 0": Shortfall(C, 2.0, -0.4),
    "logarithm of the exponential loss": LogExponentialLoss.capped(ONES, 1.0, 3.0, D0),
    "squares": Squares(C, 2.0),
    "power divergence, q = 3": PowerDivergence(CappedSimplex(C, 3.0), 3.0, 4.0),
    "power divergence, q = 3/2": PowerDivergence(CappedSimplex(C, 3.0), 1.5, 4.0),
    "power divergence, q = 1/2": PowerDivergence(CappedSimplex(C, 1.0), 0.5, 200.0),
    "power divergence, q = 0": PowerDivergence(CappedSimplex(C, 3.0), 0.0, 4.0),
    "power divergence, q = -1": PowerDivergence(CappedSimplex(C, float(C.sum())), -1.0, 4.0),
    "tilted entropy": Tilted(entropy(), np.linspace(-1.0, 1.0, N)),
    "tilted cap": Tilted(CappedSimplexIndicator(CappedSimplex(C, 3.0)), np.linspace(-1.0, 1.0, N)),
    "sum": SeparableSum((RelativeEntropy.capped(C[:2], 1.2, 4.0, ONES[:2] / 2.0), Squares(C[:2], 2.0))),
    "ball, p = 2": NormBall(simplex(C), C, 2.0, 0.45),
    "ball, p = 3/2": NormBall(simplex(C), C, 1.5, 0.6),
    "ball that does not bind": NormBall(simplex(ONES), ONES, 2.0, 2.0),
    "ball with entropy": NormBall(simplex_entropy(), C, 2.0, 0.45),
    "penalty, p = 3": NormPenalty(simplex(C), C, 3.0, 0.45),
    "penalty, p = inf": NormPenalty(simplex(C), C, math.inf, 0.45),
    "penalty with entropy": NormPenalty(simplex_entropy(), C, 2.0, 0.5),
    "penalty with entropy, p = inf": NormPenalty(simplex_entropy(), C, math.inf, 0.5),
    "formula": formula("d*log(d/d0)/eta + max(d - u/2, 0)**2/c", CappedSimplex(C, 3.0), D0, eta=4.0),
    "described squares": CvxpyRegularizer(CappedSimplex(C, 3.0), cp.sum_squares, C / C.sum()),
    "described entropy in a ball": CvxpyRegularizer(
        CappedSimplex(C, 3.0),
        lambda d: cp.sum(cp.rel_entr(d, D0)) / 4.0,
        C / C.sum(),
        lambda d: [cp.norm2(d) <= 0.5],
        4.0,
    ),
    "described by a problem": CvxpyRegularizer(CappedSimplex(C, 3.0), _transport, C / C.sum()),
    "described by eigenvalues": CvxpyRegularizer(
        CappedSimplex(C, 3.0), lambda d: cp.lambda_max(sum(d[n] * MATRICES[n] for n in range(N))), C / C.sum()
    ),
    "described with an equation": CvxpyRegularizer(
        CappedSimplex(C, 3.0), cp.sum_squares, C / C.sum(), lambda d: [np.arange(N) @ d == np.arange(N) @ C / C.sum()]
    ),
}

EDGES: dict[str, tuple[EdgeFunction, int]] = {
    "maximum": (MaximumEdge(), 3),
    "maximum of one": (MaximumEdge(), 1),
    "absolute": (AbsoluteEdge(), 3),
    "bounded": (BoundedEdges(0.1), 3),
    "bounded below 0": (BoundedEdges(-0.3), 1),
    "fixed": (FixedEdges(0.2), 3),
    "fixed, one": (FixedEdges(-0.2), 1),
    "tied": (TiedEdges(), 2),
    "squares": (SquaredEdges(), 4),
    "positive squares": (SquaredPositiveEdges(), 3),
    "ball of the 1-norm": (BallEdges(True, 1.0, 0.3), 3),
    "ball of the 1-norm, not negative": (BallEdges(False, 1.0, 4.0), 3),
    "ball of the 2-norm": (BallEdges(True, 2.0, 0.3), 3),
    "ball of the 2-norm, not negative": (BallEdges(False, 2.0, 4.0), 1),
    "ball of the infinity norm": (BallEdges(True, math.inf, 0.3), 3),
    "ball of the infinity norm, not negative": (BallEdges(False, math.inf, 4.0), 3),
    "elastic net": (ElasticEdges(True, 0.2, 3.0), 3),
    "elastic net, not negative": (ElasticEdges(False, 0.2, 0.1), 3),
    "squared 2-norm": (ElasticEdges(True, 0.0, 2.0), 3),
    "1-norm": (OneNormEdges(True, 0.1), 3),
    "1-norm, not negative": (OneNormEdges(False, 0.1), 3),
    "intercept beside an elastic net": (InterceptEdges(ElasticEdges(True, 0.2, 3.0)), 4),
    "intercept beside a 1-norm": (InterceptEdges(OneNormEdges(True, 0.5)), 3),
    "intercept alone": (InterceptEdges(OneNormEdges(True, 0.5)), 1),
    "intercept beside a ball": (InterceptEdges(BallEdges(True, 1.0, 0.7)), 3),
    "linear": (LinearEdges(0.7), 2),
    "described": (CvxpyEdges(cp.log_sum_exp), 3),
    "formula": (edge_formula("exp(a*e) + max(e, 0)**2", a=2.0), 3),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", REGULARIZERS)
def test_regularizers_pass(name: str) -> None:
    check_regularizer(REGULARIZERS[name]).raise_if_failed()


@pytest.mark.thorough
@pytest.mark.every(3)
@pytest.mark.parametrize("random_state", range(3))
@pytest.mark.parametrize("f", [lambda d: -cp.sum(cp.log(d)), lambda d: cp.sum(cp.inv_pos(d))], ids=["log", "inverse"])
def test_a_regularizer_may_be_infinite_at_weight_zero(f: Callable[[Any], Any], random_state: int) -> None:
    cvxpy_regularizer = CvxpyRegularizer(CappedSimplex(np.ones(6), 2.0), f, np.full(6, 1 / 6))
    check_regularizer(cvxpy_regularizer, random_state=random_state).raise_if_failed()


@pytest.mark.thorough_cases("1-norm, not negative")
@pytest.mark.every(8)
@pytest.mark.parametrize("name", EDGES)
def test_edge_functions_pass(name: str) -> None:
    G, t = EDGES[name]
    check_edge(G, t).raise_if_failed()


@pytest.mark.thorough
@pytest.mark.parametrize("name", list_formulations())
def test_pages_pass(name: str) -> None:
    check_formulation(name).raise_if_failed()


def test_nothing_that_is_exported_to_authors_is_left_out() -> None:
    exported = [getattr(boostopt.authoring, name) for name in boostopt.authoring.__all__]
    kinds = {kind for kind in exported if isinstance(kind, type) and not inspect.isabstract(kind)}
    families = {kind for kind in kinds if issubclass(kind, Regularizer | EdgeFunction)} - {Separable}
    pieces = [*REGULARIZERS.values(), *(G for G, _ in EDGES.values())]
    assert families == {next(kind for kind in type(piece).__mro__ if kind in kinds) for piece in pieces}


@pytest.mark.thorough
def test_the_same_seed_draws_the_same_points() -> None:
    assert check_regularizer(entropy()) == check_regularizer(entropy())
    assert check_regularizer(entropy()) != check_regularizer(entropy(), random_state=1)


@pytest.mark.thorough
def test_parameters_that_are_given_are_kept() -> None:
    report = check_formulation("lpboost", nu=2.5, two_sided=True)
    assert report.passed
    assert report["binds"].words == "3 instances"


@pytest.mark.thorough
def test_draws_that_the_page_refuses_are_counted() -> None:
    def few(p: Any, examples: Any) -> Any:
        if p.nu > 2.0:
            raise ProblemError(f"nu must be at most 2; got {p.nu:.2g}.")
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))

    page = prototype("few", few, nu=parameter("the number of examples that share the weight", COUNT))
    words = check_formulation(page, random_state=3)["binds"].words
    assert re.fullmatch(r"3 instances; [1-9]\d* .*: nu must be at most 2; got .*", words)
