"""Regularizers and edge functions with kinks certify, and nothing false comes of answers that are noise."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from support.kinked_functions import KINKED, kinked_program
from support.reference_formulas import program

from boostopt import ProblemError
from boostopt.checks.edge_checks import check_edge
from boostopt.functions.edge_functions.largest_edge import MaximumEdge
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.problem_certificates.minorants import minorant_search
from boostopt.programs.cvxpy_functions import cvxpy_regularizer, partial_minimum
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer

pytestmark = pytest.mark.every(2)


@pytest.mark.every(2)
@pytest.mark.thorough_cases("distance and entropy")
@pytest.mark.parametrize("name", KINKED)
def test_a_kink_certifies(name: str) -> None:
    solution = kinked_program(name, 40, 6).solve("cvxpy:clarabel", tol=1e-6)
    assert solution.certificate.scaled_gap <= 1e-6


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ("cvxpy:clarabel", "cvxpy:scs"))
@pytest.mark.parametrize("name", KINKED)
def test_a_kink_certifies_whatever_the_solver(name: str, backend: str) -> None:
    solution = kinked_program(name, 300, 15).solve(backend, tol=1e-6)
    assert solution.certificate.scaled_gap <= 1e-6


@pytest.mark.thorough
def test_a_program_chooses_the_slopes_of_many_sums_before_steps_do(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 700  # 245,000 coefficients: a step takes longer than the program
    c = np.full(n, 1 / n)
    F = CvxpyRegularizer(CappedSimplex(np.ones(n), 0.2 * n), lambda d: cp.norm1(cp.cumsum(d - c)), c)
    z = np.random.default_rng(3).normal(size=n)
    sizes = list[int]()
    steps = minorant_search.improved_choices

    def counted(problem: Any, *arguments: Any, **options: Any) -> Any:
        sizes.append(problem.n)
        return steps(problem, *arguments, **options)

    monkeypatch.setattr(minorant_search, "improved_choices", counted)
    bound = F.conjugate_at(z)
    d: Any = cp.Variable(n)
    sides: list[Any] = [cp.sum(d) == 1, d >= 0, d <= 1 / (0.2 * n)]
    problem: Any = cp.Problem(cp.Maximize(z @ d - cp.norm1(np.tri(n) @ (d - c))), sides)
    best = problem.solve("CLARABEL")
    assert best - 1e-7 <= bound.value <= best + 1e-7
    assert not sizes


def test_the_kinks_are_named() -> None:
    words = str(kinked_program("distance in total", 40, 6).solve("cvxpy:clarabel", tol=1e-6).explain())
    assert re.search(r"\bf\b.*\bkink\b.* d_\d", words)
    words = str(kinked_program("G: largest", 40, 6).solve("cvxpy:clarabel", tol=1e-6).explain())
    assert re.search(r"\bG\b.*\bkink\b.* e_\d", words)


# What fractions can compute: a piece as CVXPY states it, and its value without any rounding.
Exact = Callable[[list[Fraction]], Fraction]
Piece = tuple[Callable[[Any], Any], Exact]


def drawn_piece(rng: np.random.Generator, N: int) -> Piece:
    a, scale = rng.dirichlet(np.ones(N)), float(np.exp(rng.uniform(-3, 3)))
    A = np.round(rng.normal(size=(int(rng.integers(1, 5)), N)), 2)
    k, exact_a, exact_A = int(rng.integers(1, N + 1)), list(map(Fraction, a)), [list(map(Fraction, row)) for row in A]
    s = Fraction(scale)

    def rows(d: list[Fraction]) -> list[Fraction]:
        return [sum((x * y for x, y in zip(row, d, strict=True)), Fraction(0)) for row in exact_A]

    def differences(d: list[Fraction]) -> list[Fraction]:
        return [x - y for x, y in zip(d, exact_a, strict=True)]

    pieces: list[Piece] = [
        (lambda d: scale * cp.norm1(d - a), lambda d: s * sum(map(abs, differences(d)), Fraction(0))),
        (lambda d: scale * cp.max(A @ d), lambda d: s * max(rows(d))),
        (lambda d: scale * cp.norm_inf(A @ (d - a)), lambda d: s * max(map(abs, rows(differences(d))))),
        (lambda d: scale * cp.sum_largest(d, k), lambda d: s * sum(sorted(d)[-k:], Fraction(0))),
        (
            lambda d: scale * cp.tv(d),
            lambda d: s * sum((abs(y - x) for x, y in itertools.pairwise(d)), Fraction(0)),
        ),
        (lambda d: scale * cp.square(cp.norm1(d - a)), lambda d: s * sum(map(abs, differences(d)), Fraction(0)) ** 2),
        (
            lambda d: scale * cp.sum_squares(cp.pos(d - a)),
            lambda d: s * sum((max(x, 0) ** 2 for x in differences(d)), Fraction(0)),
        ),
        (
            lambda d: scale * cp.max(cp.hstack([cp.norm1(d - a), cp.max(A @ d), cp.sum_squares(d)])),
            lambda d: (
                s * max(sum(map(abs, differences(d)), Fraction(0)), *rows(d), sum((x * x for x in d), Fraction(0)))
            ),
        ),
        (
            lambda d: scale * cp.norm1(cp.cumsum(d - a)),
            lambda d: s * sum((abs(sum(differences(d)[: n + 1], Fraction(0))) for n in range(N)), Fraction(0)),
        ),
    ]
    return pieces[int(rng.integers(len(pieces)))]


def exact_point(d: np.ndarray, upper: np.ndarray) -> list[Fraction]:
    """Return the exact point of the capped simplex next to d."""
    caps = list(map(Fraction, upper))
    exact = [min(max(Fraction(x), Fraction(0)), u) for x, u in zip(d, caps, strict=True)]
    missing = 1 - sum(exact)
    if missing < 0:
        return [x / sum(exact) for x in exact]
    room = sum(caps) - sum(exact)
    return [x + missing * (u - x) / room if room else x for x, u in zip(exact, caps, strict=True)]


def noise(rng: np.random.Generator, good: np.ndarray) -> np.ndarray:
    """An answer: nearly right, wrong, or no answer at all."""
    n = len(good)
    return [
        good + 10.0 ** rng.uniform(-12, -1) * rng.normal(size=n),
        np.round(good, 2),
        rng.dirichlet(np.full(n, 0.3)),
        rng.normal(size=n) * 10.0 ** rng.uniform(-5, 5),
        np.full(n, np.nan),
    ][int(rng.integers(5))]


def no_false_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    pieces = [drawn_piece(rng, N) for _ in range(int(rng.integers(1, 4)))]
    c = rng.choice([1.0, 2.0, 0.5], N)
    domain = CappedSimplex(c, float(c.sum() * rng.uniform(0.1, 0.9)))
    U = rng.choice([-1.0, 1.0, 0.5], (N, t))
    F = CvxpyRegularizer(domain, lambda d: sum(f(d) for f, _ in pieces), c / c.sum())
    pair = program(U, F, MaximumEdge())
    best = pair.solve("cvxpy:clarabel", tol=1e-6).certificate
    d = exact_point(best.d, domain.upper)
    columns = [[Fraction(x) for x in column] for column in U.T.tolist()]
    edges = [sum((x * y for x, y in zip(column, d, strict=True)), Fraction(0)) for column in columns]
    value = sum((exact(d) for _, exact in pieces), Fraction(0)) + max(edges)
    assert best.lower <= value
    for _ in range(3):
        certificate = pair.certify(d=noise(rng, best.d), w=noise(rng, best.w))
        assert certificate.lower <= value  # no lower bound above a value that is attained
        assert certificate.upper >= best.lower
        assert math.isfinite(certificate.upper)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_noise_gives_no_false_bound(seed: int) -> None:
    no_false_bound(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(8))
def test_noise_gives_no_false_bound_in_many_programs(block: int) -> None:
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        no_false_bound(seed)


def of_six(f: Callable[[Any], Any], inside: np.ndarray | None = None) -> CvxpyRegularizer:
    a = np.full(6, 1 / 6)
    return CvxpyRegularizer(CappedSimplex(np.ones(6), 2.0), f, a if inside is None else inside)


@pytest.mark.parametrize("scale", (1e-9, 1e7))
def test_a_kink_of_any_scale_is_taken(scale: float) -> None:
    F = of_six(lambda d: cp.norm1(scale * (d - 1 / 6)))
    z = np.linspace(-1, 1, 6)
    assert F.conjugate_at(z).value >= z @ np.full(6, 1 / 6)


def test_a_domain_that_holds_anyway_is_no_constraint() -> None:
    """CVXPY states 0 <= abs(d) for the power of it."""
    F = of_six(lambda d: cp.sum(cp.power(cp.abs(d - 1 / 6), 3)), np.linspace(0.1, 0.2, 6) / 0.9)
    assert F.conjugate_at(np.zeros(6)).value >= 0.0


@pytest.mark.parametrize("center", [cp.Variable(6, name="x"), cp.Parameter(6, name="x")])
def test_another_variable_is_refused_by_name(center: Any) -> None:
    with pytest.raises(ProblemError, match=r"^f\b.*; \w+ x\b"):
        of_six(lambda d: cp.norm1(d - center))


def largest_by_a_variable(e: Any) -> Any:
    s = cp.Variable()
    return s, [s >= e, s >= -e]


def mean_of_the_largest(e: Any) -> Any:
    s = cp.Variable()
    return s + cp.sum(cp.pos(e - s)) / 2, []


@pytest.mark.parametrize("describe", [largest_by_a_variable, mean_of_the_largest])
def test_partial_minima_with_kinks_pass_the_checks(describe: Callable[[Any], Any]) -> None:
    """At equal edges there is no gradient, and every call names the same subgradient."""
    assert check_edge(CvxpyEdges(describe)).passed


def test_one_table_has_the_fractions_of_inner_points() -> None:
    assert partial_minimum.MIX_FRACTIONS is cvxpy_regularizer.MIX_FRACTIONS
    ratios = np.divide(partial_minimum.MIX_FRACTIONS[1:], partial_minimum.MIX_FRACTIONS[:-1])
    assert (ratios > 1).all() and ratios.max() <= 10 * (1 + 1e-12) and partial_minimum.MIX_FRACTIONS[-1] == 1
