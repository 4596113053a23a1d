"""Exact optima of linear formulations: fractions by hand, proofs by both programs, lies that are refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import boostopt
from boostopt.authoring import (
    REAL,
    BoundedEdges,
    CappedSimplex,
    CappedSimplexIndicator,
    Examples,
    Formulation,
    parameter,
)
from boostopt.errors import OptionError
from boostopt.solving.exact_solution import linear_program_of
from boostopt.verification import verify

SMALL = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])

BY_HAND: dict[str, tuple[str, Any, dict[str, Any], Fraction]] = {
    # d = (2/5, 2/5, 1/5), the caps of the first two: both edges are 1/5.
    "lpboost": ("lpboost", SMALL, {"nu": 2.5}, Fraction(1, 5)),
    "a game": ("lp_adaboost", SMALL, {}, Fraction(0)),
    "a game of thirds": ("lp_adaboost", np.array([[1.0, -1.0], [-1.0, 0.5]]), {}, Fraction(-1, 7)),
    "nu of all examples": ("lpboost", np.array([[1.0], [0.0], [0.0]]), {"nu": 3}, Fraction(1, 3)),
    "absolute edges": ("lpboost", -np.array([[1.0], [0.0], [0.0]]), {"nu": 3, "two_sided": True}, Fraction(1, 3)),
    # One hypothesis with the edge d_1 - d_2 <= 1, and d <= 3: d = (3, 3).
    "l1": ("l1_adaboost", np.array([[1.0], [-1.0]]), {"C": 3.0}, Fraction(-6)),
    # Margins (1, -1) of the only w: sum c (C m + min(0, m - theta)) = -1 at theta = 0.
    "nm_boost": ("nm_boost", np.array([[1.0], [-1.0]]), {"C": 2.0}, Fraction(-1)),
    "nm_boost with a level": ("nm_boost", np.array([[1.0], [-1.0]]), {"C": 2.0, "theta": 0.5}, Fraction(-3, 2)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_optima_by_hand(name: str) -> None:
    formulation, U, parameters, value = BY_HAND[name]
    solution = boostopt.get_formulation(formulation).bind(U, **parameters).solve_exactly()
    assert (solution.value, solution.status, solution.is_proved()) == (value, "optimal", True)
    assert solution.d is not None and solution.w is not None
    assert (len(solution.d), len(solution.w)) == U.shape
    assert str(value) in solution.in_words()


PROGRAMS: list[tuple[str, dict[str, Any]]] = [
    ("lpboost", {"nu": 3.3}),
    ("lpboost", {"nu": 3.3, "two_sided": True}),
    ("lp_adaboost", {}),
    ("lp_adaboost", {"two_sided": True}),
    ("lp_reg_adaboost", {"C": 0.3}),
    ("l1_adaboost", {"C": 0.7}),
    ("nm_boost", {"C": 0.3, "theta": 0.1}),
]


def random_margins(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    U = rng.choice([-1.0, 1.0], (12, 5)) if seed % 2 else rng.uniform(-1.0, 1.0, (12, 5))
    return scipy.sparse.csr_array(U * (rng.random((12, 5)) < 0.5)) if seed % 3 == 2 else U


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", range(len(PROGRAMS)))
def test_exact_optima_lie_in_certified_intervals(k: int, seed: int) -> None:
    name, parameters = PROGRAMS[k]
    c = np.random.default_rng(seed).uniform(0.1, 2.0, 12) if seed else np.ones(12)
    program = boostopt.get_formulation(name).bind(random_margins(seed), c=c, **parameters)
    solution, certificate = program.solve_exactly(), program.solve().certificate
    assert solution.is_proved() and solution.value is not None
    assert certificate.lower <= solution.value <= certificate.upper


@pytest.mark.parametrize("N", [3, 7, 10])
def test_a_nu_of_all_multiplicities_leaves_one_point(N: int) -> None:
    # The sum of c in floats may exceed the exact sum, where no weights would be feasible.
    c = np.random.default_rng(N).uniform(0.5, 1.5, N)
    solution = boostopt.get_formulation("lpboost").bind(np.eye(N), c=c, nu=float(c.sum())).solve_exactly()
    assert solution.is_proved() and solution.d is not None and sum(solution.d) == 1


@pytest.mark.parametrize("two_sided", [False, True])
def test_lies_are_not_proved(two_sided: bool) -> None:
    U = random_margins(1) / 2 + 0.25
    program = boostopt.get_formulation("lpboost").bind(U, nu=3.3, two_sided=two_sided)
    solution = program.solve_exactly()
    assert solution.value is not None and solution.d is not None and solution.w is not None
    d, w = list(solution.d), list(solution.w)
    i, j = d.index(max(d)), d.index(min(d))
    changed = [value + Fraction(int(k == j) - int(k == i), 2**70) for k, value in enumerate(d)]
    lies = {
        "another value": replace(solution, value=solution.value + Fraction(1, 2**90)),
        "no value": replace(solution, value=None),
        "other example weights": replace(solution, d=tuple(changed)),
        "example weights of another sum": replace(solution, d=(d[0] + 1, *d[1:])),
        "other hypothesis weights": replace(solution, w=(*w[1:], w[0])),
        "hypothesis weights that are too large": replace(solution, w=tuple(2 * value for value in w)),
        "negative hypothesis weights": replace(solution, w=tuple(-value for value in w)),
        "no hypothesis weights": replace(solution, w=None),
        "weights in another number": replace(solution, w=solution.w[1:]),
        "another program": replace(
            solution, program=boostopt.get_formulation("lpboost").bind(U[::-1] / 2, nu=3.3, two_sided=two_sided)
        ),
        "another nu": replace(
            solution, program=boostopt.get_formulation("lpboost").bind(U, nu=3.4, two_sided=two_sided)
        ),
        "another status": replace(solution, optimum=replace(solution.optimum, status="infeasible", value=None)),
    }
    assert solution.is_proved()
    assert [name for name, lie in lies.items() if lie.is_proved()] == []


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The bound of the edges."""

    gamma: float = parameter("the largest edge", REAL)


class SmallEdges(Formulation[Parameters]):
    """Weights whose edges are at most gamma."""

    name = "small_edges"
    title = "small edges"
    Parameters = Parameters

    def regularizer(self, p: Parameters, examples: Examples) -> CappedSimplexIndicator:
        return CappedSimplexIndicator(CappedSimplex(examples.c, 2.0))

    def edge_function(self, p: Parameters) -> BoundedEdges:
        return BoundedEdges(p.gamma)


@pytest.mark.parametrize(("gamma", "status"), [(-0.5, "infeasible"), (0.0, "optimal")])
def test_programs_without_feasible_weights_are_proved_infeasible(gamma: float, status: str) -> None:
    solution = SmallEdges().bind(np.array([[1.0], [0.0], [0.0]]), gamma=gamma).solve_exactly()
    assert (solution.status, solution.is_proved()) == (status, True)
    assert solution.d is None or solution.d[0] == 0
    assert status == "optimal" or "edge 0, sum of d" in solution.in_words()


def test_no_program_is_infeasible_by_the_proof_of_another() -> None:
    U = np.array([[1.0], [0.0], [0.0]])
    infeasible, feasible = (SmallEdges().bind(U, gamma=gamma).solve_exactly() for gamma in (-0.5, 0.0))
    assert infeasible.is_proved() and feasible.is_proved()
    assert not replace(infeasible, program=feasible.program).is_proved()
    assert not replace(feasible, program=infeasible.program).is_proved()


def test_programs_that_are_not_linear_are_refused() -> None:
    for name, parameters in {"erlpboost": {"nu": 2.0, "eta": 1.0}, "qrlp_boost": {"nu": 2.0, "eta": 1.0}}.items():
        with pytest.raises(OptionError, match=r"linear program.*solve\(\)"):
            boostopt.get_formulation(name).bind(SMALL, **parameters).solve_exactly()


def test_the_linear_program_travels(tmp_path: Path) -> None:
    solution = boostopt.get_formulation("lpboost").bind(SMALL, nu=2.5).solve_exactly()
    solution.save(tmp_path / "optimum.json")
    assert verify(tmp_path / "optimum.json", linear_program_of(solution.program)).fractions[0] == Fraction(1, 5)
