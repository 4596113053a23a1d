"""Equal examples merged for the solvers and split again in the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.problems import Fake, attempt, noisy_stumps
from support.random_programs import OWN_RADII, draw_program

from boostopt import MarginMatrix, Program, get_formulation, list_formulations
from boostopt.authoring import (
    COUNT,
    CappedSimplex,
    CappedSimplexIndicator,
    Formulation,
    RelativeEntropy,
    Tilted,
    parameter,
    prototype,
)
from boostopt.backends.base import Attempt, Task
from boostopt.backends.interior.interior_form import InteriorProblem
from boostopt.solving.merged_examples import merge_equal_examples


def slow_groups(U: np.ndarray, *keys: np.ndarray) -> list[frozenset[int]]:
    """The examples with equal rows and keys, each compared with each."""
    full = np.column_stack([U, *keys])
    return sorted({frozenset(np.flatnonzero((full == row).all(axis=1)).tolist()) for row in full}, key=min)


@pytest.mark.parametrize("kind", (np.int8, np.float64, "sparse"))
def test_groups_are_those_of_a_comparison_of_each_with_each(kind: Any) -> None:
    rng = np.random.default_rng(0)
    U = rng.choice([-1, 0, 1], size=(200, 4))
    key = rng.choice([0.1, 0.3], size=200)
    margins = MarginMatrix(scipy.sparse.csr_array(U) if kind == "sparse" else U.astype(kind))
    for keys in ((), (key,)):
        rows = margins.group_equal_rows(*keys)
        groups = [frozenset(np.flatnonzero(rows.group_of_row == g).tolist()) for g in range(len(rows.representative))]
        assert sorted(groups, key=min) == slow_groups(U, *keys)
        assert all(rows.group_of_row[n] == g for g, n in enumerate(rows.representative))
        np.testing.assert_array_equal(margins.take_rows(rows.representative).to_array()[rows.group_of_row], U)


def opened(program: Program) -> InteriorProblem:
    problem = InteriorProblem.from_program(program)
    assert problem is not None
    return problem


def doubled(program: Program, times: int, rng: np.random.Generator) -> Program:
    """The same program with every example several times, its multiplicity shared at random."""
    copies = np.repeat(np.arange(program.margins.N), times)
    share = rng.dirichlet(np.ones(times), program.margins.N).ravel()
    formulation = program.formulation
    assert isinstance(formulation, Formulation)
    arguments = {
        name: value[copies] if isinstance(value, np.ndarray) else value
        for name, value in vars(program.parameters).items()
    }
    d0 = {"d0": program.examples.d0[copies] * share} if formulation.uses_reference else {}
    return formulation.bind(program.margins.to_array()[copies], c=program.examples.c[copies] * share, **d0, **arguments)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in list_formulations() if name not in OWN_RADII])
def test_a_program_of_copies_is_merged_into_the_one_without(name: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(3):
        program = draw_program(rng, name, largest_N=40, largest_t=6, largest_eta=1e3)
        larger = doubled(program, 3, rng)
        merged = merge_equal_examples(larger)
        if merged is None:  # caps that leave a billionth of room: slopes there are not known well enough to be compared
            assert program.regularizer.on_simplex
            assert 1.0 < float(opened(program).f.upper.sum()) <= 1.0 + 1e-6
            continue
        assert len(merged.groups.representative) <= program.margins.N
        d = larger.regularizer.project(rng.random(larger.margins.N))
        np.testing.assert_allclose(
            merged.merge_weights(merged.split_weights(merged.merge_weights(d))), merged.merge_weights(d), rtol=1e-12
        )
        fused, unmerged = larger.solve("interior", tol=1e-8), larger.solve("interior", tol=1e-8, merge=False)
        assert fused.certificate.infeasible == unmerged.certificate.infeasible
        assert fused.certificate.overlaps(unmerged.certificate)
        c = fused.certificate
        assert c.gap <= max(1e-8 * c.scale, 4 * c.slack, unmerged.certificate.gap)
        assert len(fused.d) == larger.margins.N


def test_the_answer_of_any_backend_is_of_the_examples_as_they_are() -> None:
    U = np.repeat(noisy_stumps(60, 8), 5, axis=0)
    program = get_formulation("erlpboost").bind(U, nu=30, eta=20)
    for backend in ("interior", "cvxpy:clarabel"):
        solution = program.solve(backend, tol=1e-7)
        assert solution.certificate.scaled_gap <= 1e-7
        assert all(attempt.d is None or attempt.d.shape == (300,) for attempt in solution.attempts)
        assert solution.attempts[0].statistics["groups of equal examples"] <= 60
        np.testing.assert_allclose(solution.d.reshape(60, 5), solution.d[::5, np.newaxis].repeat(5, axis=1), rtol=1e-9)


def test_different_examples_and_unequal_references_are_not_merged() -> None:
    U = noisy_stumps(100, 6)
    distinct = np.column_stack([U, np.linspace(-1, 1, 100)])
    assert merge_equal_examples(get_formulation("lpboost").bind(distinct, nu=10)) is None
    d0 = np.random.default_rng(0).dirichlet(np.ones(100))
    assert merge_equal_examples(get_formulation("erlpboost").bind(np.ones((100, 1)), nu=10, eta=1, d0=d0)) is None


def test_a_regularizer_that_c_and_d0_do_not_tell_is_not_merged() -> None:
    """If the page's regularizer for the merged examples is another function, the program stays as it is."""
    program = get_formulation("erlpboost").bind(np.ones((20, 1)), nu=4, eta=1)
    assert merge_equal_examples(program) is not None
    regularizer = RelativeEntropy.capped(program.examples.c, 4.0, 2.0, program.examples.d0)
    assert merge_equal_examples(replace(program, regularizer=regularizer)) is None


def test_a_page_with_data_of_its_own_for_each_example_is_solved_as_it_is() -> None:
    cost = np.linspace(0, 1, 40)
    formulation = prototype(
        "tilted_cap",
        lambda p, examples: Tilted(CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)), cost),
        nu=parameter("the number of examples that share the weight", COUNT),
    )
    program = formulation.bind(np.repeat([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, 0.0]], 10, axis=0), nu=4)
    assert merge_equal_examples(program) is None
    assert program.solve("interior", tol=1e-8).certificate.scaled_gap <= 1e-8


class SeparateFake(Fake):
    """A backend that has the optimum of examples as they are, and one that is nowhere near for fewer."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        N, t = task.program.margins.shape
        yield from self.script if N == 300 else (attempt(np.eye(N)[0], np.eye(t)[0]),) * 2


def test_a_backend_that_fails_over_groups_is_asked_once_more_about_the_examples() -> None:
    program = get_formulation("lpboost").bind(np.repeat(noisy_stumps(60, 8), 5, axis=0), nu=30)
    best = program.solve("cvxpy:highs", tol=1e-12, merge=False)
    answer = attempt(best.d, best.w)
    solution = program.solve(SeparateFake(script=(answer, answer)), tol=1e-8)
    assert solution.certificate.scaled_gap <= 1e-8
    assert solution.path == ("fake", "fake, unmerged")
    assert [one.form for one in solution.attempts] == ["fake", "fake", "unmerged, fake"]
    # One attempt, however many there would be; none where merging is not wanted.
    poor = attempt(np.eye(300)[0], np.eye(8)[0])
    assert len(program.solve(SeparateFake(script=(poor, poor)), tol=1e-8).attempts) == 3
    assert program.solve(SeparateFake(script=(answer,)), merge=False).path == ("fake",)


def test_merged_solve_with_a_gap_of_rounding_is_not_repeated() -> None:
    program = get_formulation("erlpboost").bind(np.repeat(noisy_stumps(60, 8), 5, axis=0), nu=30, eta=20)
    assert program.solve("interior", tol=1e-16).path == ("interior",)
