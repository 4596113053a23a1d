"""Theorem B for every update that it covers: SoftBoost and its kin raise one weight, and no sum holds the weights."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from random_classes import EPSILON, ORACLES, ROUNDING, assert_bounds, assert_stopped, draw_class, row
from support.false_answers_of_programs import Reckless

from boostopt import OptionError, boost
from boostopt.authoring import BoundedEdges, EdgeFunction, FixedEdges, TiedEdges
from boostopt.boosting.boosting_problem import CORRECTIVE_UPDATES, UPDATES_WITH_EDGE_BOUND
from boostopt.boosting.run.run import Run
from boostopt.formulations.softboost import SoftBoost
from boostopt.oracles import GivenMargins

pytestmark = pytest.mark.every(2)

UPDATES: dict[str, dict[str, Any]] = {
    "step": {"update": "step"},
    "line search": {"update": "line_search"},
    "total, reckless": {"backend": Reckless()},
}

SEEDS = (0, 1, 5, 8)
"""Signs and real entries, the hard margin and the soft one, even and uneven multiplicities."""

every_class = pytest.mark.parametrize("seed", SEEDS)
both_oracles = pytest.mark.parametrize("choose", ORACLES)
every_page = pytest.mark.parametrize("name", ["softboost", "binary_softboost", "totalboost"])


def smallest_end(random_class: Any, name: str) -> float:
    """floor(2 C / epsilon^2) + 1."""
    C = random_class.binary_range if name == "binary_softboost" else random_class.entropy_range
    return math.floor(2.0 * C / EPSILON**2 + ROUNDING) + 1


def duals(run: Run, random_class: Any, name: str) -> list[float]:
    """F_min and D(w^t; gamma_t) of all rounds but the last, by sums over the examples."""
    entropy = random_class.binary_entropy if name == "binary_softboost" else random_class.entropy
    gamma, values = row(run.trace, "smallest_edge") - EPSILON, [0.0]
    for k in range(1, run.rounds):
        earlier_run = run.at_round(k)
        m = earlier_run.program.margins.to_array() @ earlier_run.w
        values.append(entropy(earlier_run.d) + float(earlier_run.d @ m) - gamma[k - 1] * float(earlier_run.w.sum()))
        assert (earlier_run.w >= 0.0).all()
        assert values[-1] == pytest.approx(float(run.trace[k - 1].value), abs=1e-9)
    return values


@pytest.mark.every(2)
@pytest.mark.thorough_cases(
    "total, reckless-softboost-weakest-0",
    "total, reckless-binary_softboost-weakest-0",
    "total, reckless-totalboost-weakest-0",
)
@every_class
@both_oracles
@every_page
@pytest.mark.parametrize("how", UPDATES)
def test_theorem_b_bounds_the_rounds_of_every_update(how: str, name: str, choose: str, seed: int) -> None:
    """D rises by epsilon^2 / 2 a round, until w proves that no distribution has edges below gamma."""
    random_class = draw_class(seed).hard if name == "totalboost" else draw_class(seed)
    options: dict[str, Any] = UPDATES[how] if name == "totalboost" else {**UPDATES[how], "nu": random_class.nu}
    run = boost(name, random_class.oracle(choose), epsilon=EPSILON, rules=("infeasible",), history=True, **options)
    assert run.reason.startswith("infeasible")
    assert run.record.state.certificate is not None and run.record.state.certificate.infeasible
    assert len(run.hypotheses) <= run.rounds <= smallest_end(random_class, name) == run.iteration_bound
    assert_stopped(random_class, run, choose)
    assert_bounds(random_class, run)
    D = duals(run, random_class, name)
    assert (np.diff(D) >= EPSILON**2 / 2 - ROUNDING).all()
    assert (
        max(D) <= (random_class.binary_range if name == "binary_softboost" else random_class.entropy_range) + ROUNDING
    )
    # No linear program: w over its sum has a soft margin above the smallest edge less epsilon.
    assert (
        random_class.soft_margin(run.w, run.program.margins.to_array()) > row(run.trace, "smallest_edge")[-1] - EPSILON
    )


def test_the_sum_of_the_weights_is_free() -> None:
    """On the simplex, where print has them, the weights would end at a gap of 0.4 after any number of rounds."""
    random_class = draw_class(1)
    run = boost("softboost", random_class.oracle("best"), nu=random_class.nu, epsilon=0.1, update="step", history=True)
    assert run.reason.startswith("direct") and run.rounds <= run.iteration_bound
    assert run.class_certificate.gap <= 0.1
    sums = [float(run.at_round(k).w.sum()) for k in range(1, run.rounds + 1)]
    assert max(sums) > 2.0 and (np.diff(sums[:-1]) > 0.0).all()


@pytest.mark.parametrize("how", UPDATES)
def test_a_run_that_begins_with_weights_that_are_no_good_takes_one_hypothesis_more_at_most(how: str) -> None:
    random_class = draw_class(3)
    bad = boost("corrective_erlpboost", random_class.oracle("weakest"), nu=1.0, epsilon=1.9, max_rounds=3)
    run = boost(
        "softboost", random_class.oracle("best"), nu=random_class.nu, epsilon=EPSILON, start=bad, **UPDATES[how]
    )
    assert run.reason.startswith("direct")
    assert run.rounds <= run.iteration_bound + 1
    assert_stopped(random_class, run, "best")


def test_a_bound_below_every_edge_ends_the_run_at_once() -> None:
    """The bound is -1 at least, and every w has a soft margin of at least that."""
    oracle = GivenMargins(np.array([[-1.0], [-1.0]]))
    run = boost("softboost", oracle, nu=1.0, epsilon=0.5, update="step")
    assert run.rounds == 1 and run.reason.startswith("direct")
    assert run.class_certificate.lower == pytest.approx(-1.0)


@every_page
def test_a_mixture_of_weights_without_a_sum_is_refused(name: str) -> None:
    oracle = GivenMargins(np.random.default_rng(0).uniform(-1, 1, (12, 8)))
    parameters: dict[str, Any] = {} if name == "totalboost" else {"nu": 3.0}
    for update in set(CORRECTIVE_UPDATES) - set(UPDATES_WITH_EDGE_BOUND):
        with pytest.raises(OptionError, match=rf"update='{update}'.*\b{name}\b.*\bstep\b.*\bline_search\b.*\btotal\b"):
            boost(name, oracle, update=update, **parameters)


@pytest.mark.parametrize("update", sorted({*CORRECTIVE_UPDATES} - {"newton"}))
@pytest.mark.parametrize("G", [FixedEdges(0.1), TiedEdges()])
def test_edges_without_a_bound_or_a_maximum_have_no_corrective_update(update: str, G: EdgeFunction) -> None:
    class Fixed(SoftBoost):
        name: ClassVar[str] = "fixed"

        def edge_function(self, p: Any) -> Any:
            return G

    oracle = GivenMargins(np.random.default_rng(0).uniform(-1, 1, (12, 2)))
    with pytest.raises(OptionError, match=rf"update='{update}'.*\bfixed .*neither.*update=.total"):
        boost(Fixed(), oracle, update=update, nu=3.0, epsilon=0.1)
    assert not isinstance(G, BoundedEdges)
