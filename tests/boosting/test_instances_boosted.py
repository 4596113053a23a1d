"""The papers' constructed problems, boosted: rounds, values and weights that are known in advance."""

from __future__ import annotations

import numpy as np
import pytest

from boostopt import boost, get_backend, get_formulation, list_backends
from boostopt._utils.array_types import Array, Float
from boostopt.boosting import Run
from boostopt.instances import (
    Instance,
    bad_example_and_hypothesis,
    cycle_3x3,
    cycle_mxm,
    iteration_lower_bound,
    long_servedio,
    manifold_4x5,
    stalled_criterion,
)
from boostopt.oracles import GivenMargins, MatrixColumn

pytestmark = pytest.mark.every(2)

ALGORITHMS = ("highs:dual", "highs:primal", "highs:ipm")
"""HiGHS's algorithms, which `list_backends` does not list."""

LINEAR = tuple(
    name
    for name in (*list_backends(), *ALGORITHMS)
    if get_backend(name).takes(get_formulation("lpboost").bind([[1.0], [-1.0]], nu=1))
)
"""The installed backends that take LPBoost."""

CERTIFIED = 1e-8
"""The gap that the solves of a linear program are asked for, and by how much a certified value may lie below the
optimum; the most seen is 9.1e-9."""

FIRST_ORDER = 1e-7
"""The same for OSQP, a first-order method that does not always come so far; the most seen is 4.3e-8."""

PIVOTS = "example with all the weight after t = 1, ..., N / 2 rounds, not counting copies"

ON_THE_PIVOT = {"cvxpy:osqp": 1e-4, "sqp:osqp": 1e-3}
"""The weight that d of a first-order method may leave off the pivot, at most 1.5e-5 and 3.8e-4. Of others 1e-5:
an edge too large by x leaves x / delta there, delta = 1 / 128 for the largest problem; the most seen is 4.5e-6."""


def columns(run: Run) -> list[int]:
    """Numbers of the columns that a run has taken, in their order."""
    return [h.q for h in run.hypotheses if isinstance(h, MatrixColumn)]


def weights(problem: Instance, run: Run) -> Float[Array, " t"]:
    """Weights of all hypotheses of a problem, 0 for those that were not taken."""
    w = np.zeros(problem.U.shape[1])
    w[columns(run)] = run.w
    return w


def lpboost(problem: Instance, epsilon: float, nu: float | None = None, backend: str = "auto") -> Run:
    oracle = GivenMargins(problem.U, c=problem.parameters.get("c"))
    return boost("lpboost", oracle, nu=nu or problem.parameters["nu"], epsilon=epsilon, backend=backend)


def test_every_kind_of_linear_solver_is_tried() -> None:
    assert {"highs", "interior", "cvxpy:clarabel", "cvxpy:scs", *ALGORITHMS} <= set(LINEAR)
    assert "augmented_lagrangian" not in LINEAR


@pytest.mark.thorough
@pytest.mark.parametrize("backend", LINEAR)
@pytest.mark.parametrize("N", [8, 16, 32, 64])
def test_lpboost_needs_half_of_the_examples_in_rounds_whatever_solves_it(N: int, backend: str) -> None:
    problem, half = iteration_lower_bound(N), N // 2
    run = lpboost(problem, 1e-3, backend=backend)
    assert columns(run) == problem.answers["order of columns"].tolist()
    value, optima = run.trace["value"], problem.answers["LPBoost optimum after t = 1, ..., N / 2 rounds"]
    atol = FIRST_ORDER if backend == "cvxpy:osqp" else CERTIFIED
    np.testing.assert_allclose(value[:half], optima, rtol=0, atol=atol)
    assert (value[:half] <= optima).all()
    # After N / 2 rounds the bounds are as far apart as at first, but for the last column's edge.
    assert (run.trace["gap"][:half] >= problem.answers["what is missing to it after N / 2 rounds is at least"]).all()
    assert run.class_certificate.lower >= problem.answers["LPBoost optimum is at least"] - CERTIFIED
    for t, n in enumerate(problem.answers[PIVOTS]):
        assert run.at_round(t + 1).d[n] == pytest.approx(1.0, abs=ON_THE_PIVOT.get(backend, 1e-5))


@pytest.mark.parametrize("repeat", [2, 3])
def test_copies_of_the_examples_take_as_many_rounds_under_the_cap(repeat: int) -> None:
    problem = iteration_lower_bound(16, repeat=repeat)
    run = lpboost(problem, 1e-3)
    assert columns(run) == list(range(9))
    optima = problem.answers["LPBoost optimum after t = 1, ..., N / 2 rounds"]
    np.testing.assert_allclose(run.trace["value"][:8], optima, rtol=0, atol=CERTIFIED)


@pytest.mark.parametrize("N", [8, 16, 32, 64])
def test_softboost_takes_the_first_column_and_the_last_and_stops(N: int) -> None:
    problem = iteration_lower_bound(N)
    run = boost("softboost", GivenMargins(problem.U), nu=1, epsilon=0.1)
    assert run.rounds == 2
    assert columns(run) == [0, N // 2]
    assert run.reason.startswith("direct")
    assert run.class_certificate.gap <= 0.1
    # Over these two the best weights are 1/2 and 1/2, of margin delta / 2.
    final = boost("softboost", GivenMargins(problem.U), nu=1, epsilon=0.1, final_weights="lp")
    np.testing.assert_allclose(final.w, [0.5, 0.5], atol=1e-7)
    assert final.class_certificate.lower == pytest.approx(problem.answers["LPBoost optimum is at least"], abs=1e-8)


def test_a_bad_example_and_a_bad_hypothesis_spoil_the_hard_margin() -> None:
    problem = bad_example_and_hypothesis()
    delta = 1 / 16
    run = lpboost(problem, delta / 2)
    assert columns(run) == problem.answers["order of columns"].tolist()
    optima = problem.answers["LPBoost optimum after t = 1, ..., 6 rounds"]
    np.testing.assert_allclose(run.trace["value"], optima, rtol=0, atol=CERTIFIED)
    np.testing.assert_allclose(weights(problem, run), problem.answers["LPBoost w"], atol=1e-7)
    np.testing.assert_allclose(run.d, problem.answers["LPBoost d"], atol=1e-7)
    margins = problem.U @ weights(problem, run)
    np.testing.assert_allclose(margins, problem.answers["margins at w"], atol=1e-7)
    assert (margins < 0).sum() == problem.answers["misclassified examples"] == len(problem.U)
    difference = run.trace["smallest_edge"][4] - run.trace["value"][4]
    assert difference == pytest.approx(
        problem.answers["smallest edge seen minus optimum after 5 rounds"], abs=CERTIFIED
    )


def test_the_bad_hypothesis_is_left_out_once_its_edge_is_known_to_gain_no_more_than_epsilon() -> None:
    # After five rounds d is all on the bad example, where the bad hypothesis has the edge -2 delta: the class is
    # bounded by that before it is taken in, and only delta above the optimum of -3 delta.
    problem, delta = bad_example_and_hypothesis(), 1 / 16
    run = lpboost(problem, 1.5 * delta)
    assert columns(run) == [0, 1, 2, 3, 4]
    assert run.class_certificate.upper == pytest.approx(-2 * delta, abs=1e-7)
    assert run.class_certificate.lower == pytest.approx(-3 * delta, abs=1e-7)


@pytest.mark.parametrize(("nu", "spoilt"), [(1.5, True), (2.0, False), (3.0, False)])
def test_a_cap_of_two_examples_removes_the_effect_and_a_smaller_one_does_not(nu: float, spoilt: bool) -> None:
    problem = bad_example_and_hypothesis()
    n_wrong = (problem.U @ weights(problem, lpboost(problem, 1e-6, nu)) < 0).sum()
    assert n_wrong == (len(problem.U) if spoilt else 1)


@pytest.mark.every(2)
@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.16])
@pytest.mark.parametrize("backend", ["highs", "interior", "cvxpy:clarabel"])
def test_one_wrong_label_among_four_spoils_the_weights_for_every_cap(gamma: float, backend: str) -> None:
    problem = long_servedio(gamma)
    turn, low = 2 + 4 * gamma, gamma / (1 + 2 * gamma)
    for nu in (1.0, 1.5, 2.0, turn - 0.01, turn + 0.01, 3.0, 4.0):
        run = lpboost(problem, 1e-6, nu, backend)
        w = weights(problem, run)
        is_small = nu < turn
        expected = problem.answers[f"LPBoost w, nu {'<' if is_small else '>'} 2 + 4 gamma"]
        np.testing.assert_allclose(w, expected, atol=1e-5)
        if is_small:
            assert w[0] == pytest.approx(low, abs=1e-5)
            assert run.class_certificate.lower == pytest.approx(-low, abs=1e-6)
            assert run.class_certificate.upper == pytest.approx(-low, abs=1e-6)
        n_wrong = problem.answers["examples with right labels that are misclassified for every nu"]
        assert (problem.U[n_wrong] @ w < 0).all()


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["erlpboost", "binary_erlpboost", "softboost"])
@pytest.mark.parametrize("nu", [1.0, 2.0, 3.0, 4.0])
def test_no_entropy_repairs_one_wrong_label_among_four(name: str, nu: float) -> None:
    problem = long_servedio(0.1)
    run = boost(name, GivenMargins(problem.U), nu=nu, epsilon=0.01)
    n_wrong = problem.answers["examples with right labels that are misclassified for every nu"]
    assert (problem.U[n_wrong] @ weights(problem, run) < 0).all()


def test_the_largest_cap_makes_symmetric_noise_harmless() -> None:
    problem = long_servedio(0.1, noise=0.1)
    run = lpboost(problem, 1e-6)
    np.testing.assert_allclose(weights(problem, run), problem.answers["LPBoost w"], atol=1e-9)
    assert run.class_certificate.lower <= problem.answers["LPBoost optimum"] <= run.class_certificate.upper
    misclassified = np.flatnonzero(problem.U @ weights(problem, run) < 0)
    np.testing.assert_array_equal(misclassified, problem.answers["misclassified examples"])


@pytest.mark.parametrize("order", ["0, 1, 2", "0, 2, 1"])
def test_adaboost_goes_round_its_cycle_of_three_with_the_golden_edge(order: str) -> None:
    problem = cycle_3x3()
    cycle = problem.answers[f"cycle of the columns {order}"]
    run = boost("adaboost", GivenMargins(problem.U), d0=cycle[0], max_rounds=60)
    assert columns(run) == [int(q) for q in order.split(", ")]
    np.testing.assert_allclose(run.trace["edge"], problem.answers["edge in every round"], atol=1e-12)
    for k in (1, 2, 3, 58, 59, 60):
        np.testing.assert_allclose(run.at_round(k).d, cycle[k % 3], atol=1e-12)
    np.testing.assert_allclose(weights(problem, run), problem.answers["AdaBoost w"], atol=1e-12)
    assert run.class_certificate.lower == pytest.approx(problem.answers["AdaBoost margin"], abs=1e-12)


@pytest.mark.thorough
def test_adaboost_converges_to_one_of_two_cycles_from_anywhere() -> None:
    problem, rng = cycle_3x3(), np.random.default_rng(0)
    cycles = set[str]()
    for _ in range(8):
        run = boost("adaboost", GivenMargins(problem.U), d0=rng.dirichlet(np.ones(3)), max_rounds=63)
        np.testing.assert_allclose(run.trace["edge"][54:], problem.answers["edge in every round"], atol=1e-9)
        points = np.array([run.at_round(k).d for k in (61, 62, 63)])
        for name in ("cycle of the columns 0, 1, 2", "cycle of the columns 0, 2, 1"):
            distances = np.abs(points[:, np.newaxis] - problem.answers[name]).max(axis=2)
            if (distances.min(axis=1) < 1e-9).all():
                cycles.add(name)
                break
        else:
            pytest.fail("neither cycle")
    assert len(cycles) == 2


@pytest.mark.parametrize("m", [3, 4, 5, 8, 12])
def test_adaboost_goes_round_the_cycle_through_all_columns(m: int) -> None:
    problem = cycle_mxm(m)
    run = boost("adaboost", GivenMargins(problem.U), d0=problem.parameters["d0"], max_rounds=6 * m)
    assert columns(run) == problem.answers["order of columns"].tolist()
    np.testing.assert_allclose(run.trace["edge"], problem.answers["edge in every round"], atol=1e-11)
    for k in range(1, m + 1):
        np.testing.assert_allclose(run.at_round(5 * m + k).d, problem.answers["cycle"][k % m], atol=1e-10)
    np.testing.assert_allclose(weights(problem, run), problem.answers["AdaBoost w"], atol=1e-11)
    assert run.class_certificate.lower == pytest.approx(problem.answers["AdaBoost margin"], abs=1e-11)
    assert run.class_certificate.upper >= problem.answers["LPBoost optimum"]


@pytest.mark.thorough
def test_adaboost_with_a_legal_but_not_the_best_oracle_stays_at_a_third() -> None:
    problem = manifold_4x5()
    order = problem.answers["order of columns"].tolist()
    # Every edge reaches 1/2, the largest margin, which is all that a weak learner promises.
    oracle = GivenMargins(problem.U, choose=order * 60, guarantee=problem.answers["LPBoost optimum"])
    run = boost("adaboost", oracle, d0=problem.parameters["d0"], max_rounds=180)
    assert columns(run) == order
    np.testing.assert_allclose(run.trace["edge"], problem.answers["edge in every round"], atol=1e-10)
    for k in (1, 2, 3, 178, 179, 180):
        np.testing.assert_allclose(run.at_round(k).d, problem.answers["cycle"][k % 3], atol=1e-10)
    np.testing.assert_allclose(weights(problem, run), problem.answers["AdaBoost w"], atol=1e-10)
    assert run.class_certificate.lower == pytest.approx(problem.answers["AdaBoost margin"], abs=1e-10)
    assert run.class_certificate.upper >= problem.answers["LPBoost optimum"]


def test_optimal_runs_reach_a_half_on_an_instance_of_adaboost_at_a_third() -> None:
    problem = manifold_4x5()
    half, accuracy = problem.answers["LPBoost optimum"], 0.05
    oracle = GivenMargins(problem.U, choose="weakest", guarantee=half)
    star = boost("adaboost_star", oracle, accuracy=accuracy, max_rounds=2000)
    assert star.class_certificate.lower >= half - accuracy
    run = boost("erlpboost", oracle, nu=1, epsilon=1e-3)
    assert half - 1e-3 <= run.class_certificate.lower <= half


def test_boosting_on_an_instance_of_stalling_solves_ends_within_the_bound() -> None:
    # The oracle is asked with d(w), not with a solver's d: the hypotheses that made no progress have negative edges.
    problem = stalled_criterion(2000)
    epsilon, eta = problem.parameters["epsilon"], problem.parameters["eta"]
    run = boost("erlpboost", GivenMargins(problem.U), nu=1, epsilon=epsilon, eta=eta)
    assert run.rounds <= run.iteration_bound <= problem.answers["printed bound of the rounds"]
    assert run.class_certificate.gap <= epsilon
    assert run.class_certificate.lower <= problem.answers["LPBoost optimum"] <= run.class_certificate.upper
