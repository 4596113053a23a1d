"""Bad input, lying oracles and problems that end at once: a named error or a stated stop, and never an endless loop."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from plain_stumps import PlainStumps
from support.speeds import many

from boostopt import BoostoptError, OptionError, ProblemError, boost, get_formulation
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import GivenMargins, RawFeatures
from boostopt.oracles.base import Answer, Column, Oracle, Query
from boostopt.oracles.matrix_oracle import MatrixColumn

ALGORITHMS: list[tuple[str, dict[str, Any]]] = [
    ("lpboost", {"nu": 2}),
    ("lp_adaboost", {}),
    ("lp_reg_adaboost", {"C": 0.5}),
    ("softboost", {"nu": 2, "epsilon": 0.1}),
    ("totalboost", {"epsilon": 0.1}),
    ("binary_softboost", {"nu": 2, "epsilon": 0.1}),
    ("erlpboost", {"nu": 2}),
    ("binary_erlpboost", {"nu": 2}),
    ("unnormalized_erlpboost", {"nu": 2}),
    ("log_loss", {}),
    ("norm_ball", {"r": 0.8}),
    ("norm_penalty", {"r": 0.5}),
    ("l1_adaboost", {"C": 3.0}),
    ("qp_reg_adaboost", {"C": 0.5}),
    ("svm", {"C": 0.5}),
    ("corrective_erlpboost", {"nu": 2, "update": "step"}),
    ("corrective_erlpboost", {"nu": 2, "update": "line_search"}),
    ("corrective_erlpboost", {"nu": 2, "update": "pairwise"}),
    ("corrective_erlpboost", {"nu": 2, "update": "blended_pairwise"}),
    ("corrective_erlpboost", {"nu": 2, "update": "program"}),
    ("erlpboost", {"nu": 2, "update": "mlpboost"}),
    ("corrective_binary_erlpboost", {"nu": 2}),
    ("adaboost", {"max_rounds": 500}),
    ("ata", {"phi": 0.45, "max_rounds": 500}),
    ("arc_gv", {"max_rounds": 500}),
    ("adaboost_star", {"accuracy": 0.1}),
    ("approximate_coordinate_ascent", {"max_rounds": 500}),
    ("coordinate_ascent", {"max_rounds": 500}),
]
"""Every algorithm; those that nothing need ever stop have the limit that they ask for."""

IDS = [f"{name}-{options['update']}" if "update" in options else name for name, options in ALGORITHMS]

every_algorithm = pytest.mark.parametrize(("name", "options"), ALGORITHMS, ids=IDS)


class Scripted(Oracle):
    """An oracle that answers by numbers, right or wrong; of a class closed under negation, or so it says."""

    reflexive = True

    def __init__(self, N: int, script: Callable[[int, np.ndarray], Any], largest: float | None = None) -> None:
        self.size, self.script, self.largest, self.calls = N, script, largest, 0

    @property
    def N(self) -> int:
        return self.size

    @property
    def y(self) -> None:
        return None

    def best(self, query: Query) -> Answer:
        self.calls += 1
        u = self.script(self.calls - 1, query.d)
        if u is None:
            return Answer((), None)
        column = Column(MatrixColumn(self.calls), np.zeros(self.size), 0.0)
        # Past the checks of types, which only tests have.
        object.__setattr__(column, "margins", np.asarray(u))
        return Answer((column,), self.largest)

    def __str__(self) -> str:
        return "a script"

    @property
    def digest(self) -> str:
        return "script"


def right(call: int, d: np.ndarray) -> np.ndarray:
    """A new column of positive edge."""
    rng = np.random.default_rng(call)
    u = rng.uniform(-0.9, 0.9, len(d))
    return u if u @ d > 0 else -u


def sound(run: Run) -> None:
    """Check that a run has weights and that they are certified, whatever became of the run."""
    assert len(run.hypotheses) >= 1 and len(run.w) == len(run.hypotheses)
    assert np.isfinite(run.w).all()
    # A price of slack may make zeros the optimum; weights in the simplex are never all zero.
    assert np.abs(run.w).sum() > 0 or run.record.problem.objective is None
    assert np.isfinite(run.d).all()
    assert run.reason
    assert not math.isnan(run.certificate.lower) and not math.isnan(run.certificate.upper)


# Lying oracles

INVALID_COLUMNS: list[tuple[str, Any, str]] = [
    ("too large", [0.5, 1.2, -0.5], r"\[-1, 1\].*-0\.5\b.*\b1\.2\b"),
    ("too small", [0.5, -1.2, -0.5], r"\[-1, 1\].*-1\.2\b.*\b0\.5\b"),
    ("nan", [0.5, math.nan, -0.5], "not finite"),
    ("inf", [0.5, math.inf, -0.5], "not finite"),
    ("too short", [0.5, 0.2], r"\b3\b.*\(2,\)"),
    ("too long", [0.5, 0.2, 0.1, 0.1], r"\b3\b.*\(4,\)"),
    ("a matrix", [[0.5, 0.2, 0.1]], r"\b3\b.*\(1, 3\)"),
    ("complex", [0.5j, 0.2, 0.1], "complex128"),
    ("none", None, r"column.*\bnone\b"),
]


@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "corrective_erlpboost"])
@pytest.mark.parametrize(
    ("invalid", "says"), [case[1:] for case in INVALID_COLUMNS], ids=[case[0] for case in INVALID_COLUMNS]
)
def test_a_wrong_first_column_is_an_error(formulation: str, invalid: object, says: str) -> None:
    with pytest.raises(ProblemError, match=says):
        boost(formulation, Scripted(3, lambda call, d: invalid), nu=1)


@pytest.mark.every(3)
@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "softboost", "corrective_erlpboost"])
@pytest.mark.parametrize(
    ("invalid", "says"), [case[1:] for case in INVALID_COLUMNS], ids=[case[0] for case in INVALID_COLUMNS]
)
def test_a_wrong_later_column_ends_the_run_and_loses_nothing(formulation: str, invalid: object, says: str) -> None:
    oracle = Scripted(3, lambda call, d: invalid if call == 2 else right(call, d))
    with pytest.warns(RuntimeWarning, match=says):
        run = boost(formulation, oracle, nu=1, epsilon=1e-6)
    assert run.rounds == 2 and run.stop_reason is StopReason.FAILED_IN_ROUND and " 3: ProblemError: " in run.reason
    sound(run)


def test_rounding_beyond_one_is_no_error() -> None:
    run = boost("lpboost", Scripted(3, lambda call, d: [1.0 + 1e-12, -1.0 - 1e-12, 1.0]), nu=1)
    assert run.record.pool.margins.to_array().ravel().tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize("largest", [0.1, -math.inf, math.inf, math.nan])
def test_a_bound_of_the_class_below_an_edge_of_it_is_an_error(largest: float) -> None:
    with pytest.raises(ProblemError, match=rf"\blargest\b.*\bNone\b.* {largest} .*\b0\.5\b"):
        boost("lpboost", Scripted(3, lambda call, d: [0.5, 0.5, 0.5], largest), nu=1)


@pytest.mark.every(3)
@every_algorithm
@pytest.mark.parametrize("u", [[0.5, -0.2, 0.6], [1, 1, -1], [-0.5, -0.5, -0.5]], ids=str)
def test_the_same_column_for_ever_ends(name: str, options: dict[str, Any], u: list[float]) -> None:
    # As new hypotheses by name, so that nothing but the values says that they are one.
    oracle = Scripted(3, lambda call, d: u)
    run = boost(name, oracle, **options)
    assert oracle.calls < 300, "stopped by itself, and not by a limit"
    assert len(run.hypotheses) == 1
    sound(run)


@pytest.mark.thorough
@every_algorithm
def test_two_columns_for_ever_end(name: str, options: dict[str, Any]) -> None:
    columns = itertools.cycle([[0.5, -0.2, 0.6], [-0.1, 0.3, -0.2]])
    oracle = Scripted(3, lambda call, d: next(columns))
    options = {"max_rounds": 3000, **options}
    run = boost(name, oracle, **options)
    assert len(run.hypotheses) <= 2
    sound(run)


def test_a_foreign_failure_is_said_and_loses_nothing() -> None:
    def script(call: int, d: np.ndarray) -> np.ndarray:
        if call == 3:
            raise ZeroDivisionError("no fit")
        return right(call, d)

    with pytest.warns(RuntimeWarning, match=r"\b4\b.*ZeroDivisionError: no fit"):
        run = boost("lpboost", Scripted(9, script), nu=1, epsilon=1e-6)
    assert run.rounds == 3
    sound(run)
    with pytest.raises(ZeroDivisionError):
        boost("lpboost", Scripted(9, lambda call, d: script(3, d)), nu=1)


# A broken guarantee


@pytest.mark.parametrize("formulation", ["lpboost", "erlpboost", "softboost", "corrective_erlpboost"])
def test_a_guarantee_broken_by_the_first_answer_is_a_stated_stop(formulation: str) -> None:
    run = boost(formulation, Scripted(3, lambda call, d: [0.1, 0.1, -0.1]), nu=1, guarantee=0.5)
    assert run.stop_reason is StopReason.GUARANTEE_BROKEN and " 0.5," in run.reason
    assert run.rounds == 1
    sound(run)


def test_a_guarantee_broken_later_is_a_stated_stop() -> None:
    def script(call: int, d: np.ndarray) -> np.ndarray:
        # Wrong where the weight is least: its edge is large. The third column is as good as none.
        return np.where(np.arange(9) == d.argmin(), -1.0, 1.0) if call < 2 else np.full(9, 0.2)

    run = boost("lpboost", Scripted(9, script), nu=3, guarantee=0.5, epsilon=1e-9)
    assert run.rounds == 2
    assert run.stop_reason is StopReason.GUARANTEE_BROKEN
    assert re.findall(r"\d\.\d+", run.reason) == ["0.5", "0.2"]
    sound(run)


@pytest.mark.parametrize("guarantee", [-1.5, 2.0, math.nan])
def test_a_guarantee_is_an_edge(guarantee: float) -> None:
    with pytest.raises(OptionError, match=rf"\bguarantee\b.*\[-1, 1\].* {guarantee}\."):
        boost("lpboost", GivenMargins(np.ones((2, 1))), nu=1, guarantee=guarantee)


# Options


def margins_oracle() -> GivenMargins:
    return GivenMargins(np.random.default_rng(0).uniform(-1, 1, (6, 8)), reflexive=True)


@pytest.mark.parametrize("epsilon", [0.0, -0.1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["lpboost", "corrective_erlpboost", "adaboost", "softboost"])
def test_epsilon_is_positive(name: str, epsilon: float) -> None:
    says = f"epsilon must be a positive number; got {epsilon}. Pass the accuracy of the soft margin, such as 0.01."
    with pytest.raises(OptionError, match=f"^{re.escape(says)}$"):
        boost(name, margins_oracle(), epsilon=epsilon)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"update": "sideways"}, r"\bupdate\b.*'sideways'.*\btotal\b"),
    ({"update": "projection"}, "lpboost.*'total'.*update='projection'"),
    ({"update": "step"}, "update='step'.*lpboost.*convex"),
    ({"rules": ["never"]}, r"rule.*'never'.*\bdirect\b"),
    ({"rules": ["regularized"]}, "rule.*'regularized'.*lpboost"),
    ({"final_weights": "mean"}, "final_weights.*'mean'"),
    ({"max_rounds": 0}, r"\bmax_rounds\b.*\b0\b"),
    ({"time_limit": 0.0}, r"\btime_limit\b.*\b0\.0\b"),
    ({"time_limit": math.nan}, r"\btime_limit\b.*\bnan\b"),
    ({"columns_per_round": 0}, r"\bcolumns_per_round\b.*\b1\b.*\b0\b"),
    ({"columns_per_round": True}, r"\bcolumns_per_round\b.*\b1\b.*\bTrue\b"),
    ({"checkpoint_rounds": 0}, r"\bcheckpoint_rounds\b.*\b0\b"),
    ({"checkpoint_seconds": 0.0}, r"\bcheckpoint_seconds\b.*\b0\.0\b"),
    ({"two_sided": True}, r"\breflexive=True\b.*\btwo_sided\b"),
    ({"nus": [2.0, 99.0]}, r"\bnus?\b.*\b99\b"),
]


@pytest.mark.parametrize(("options", "says"), OPTIONS, ids=[str(options) for options, _ in OPTIONS])
def test_an_option_that_means_nothing_is_an_error(options: dict[str, Any], says: str) -> None:
    oracle = GivenMargins(np.random.default_rng(0).uniform(-1, 1, (6, 8)))
    with pytest.raises(BoostoptError, match=says):
        boost("lpboost", oracle, nu=2, **options)


def test_a_page_that_states_one_update_is_not_boosted() -> None:
    with pytest.raises(OptionError, match=r'adaboost_reg.*boost\("adaboost_reg"'):
        boost(get_formulation("adaboost_reg"), margins_oracle())


def test_other_objects_than_oracles_and_unknown_parameters_are_refused() -> None:
    anything: Any = np.eye(3)
    with pytest.raises((OptionError, TypeError, Exception), match="oracle") as error:
        boost("lpboost", anything, nu=2)
    assert not isinstance(error.value, AttributeError)
    with pytest.raises(BoostoptError, match="mu"):
        boost("lpboost", margins_oracle(), mu=2)


@pytest.mark.parametrize(
    ("name", "options", "parameter"),
    [
        ("softboost", {"nu": 2, "gamma": 0.1}, "gamma"),
        ("totalboost", {"gamma": 0.1}, "gamma"),
        ("arc_gv", {"minimum_margin": 0.1}, "minimum_margin"),
        ("adaboost_star", {"accuracy": 0.1, "smallest_edge": 0.1}, "smallest_edge"),
    ],
)
def test_parameters_of_a_schedule_are_refused_as_arguments(name: str, options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(OptionError, match=rf"^{name}\b.*\b{parameter}=0\.1\b"):
        boost(name, margins_oracle(), max_rounds=5, **options)


@pytest.mark.parametrize("nu", [0, 0.0, -1, 7, math.nan, math.inf])
@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "softboost", "corrective_erlpboost"])
def test_nu_lies_between_1_and_the_number_of_examples(name: str, nu: float) -> None:
    with pytest.raises(ProblemError, match="nu"):
        boost(name, margins_oracle(), nu=nu)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["adaboost", "arc_gv", "approximate_coordinate_ascent", "coordinate_ascent"])
def test_boosters_without_a_stopping_rule_need_a_limit(name: str) -> None:
    with pytest.raises(OptionError, match=rf"^{name}\b.*\bmax_rounds\b.*\btime_limit\b"):
        boost(name, margins_oracle())
    assert boost(name, margins_oracle(), time_limit=0.2).reason


def test_a_limit_of_time_that_has_passed_leaves_a_round() -> None:
    run = boost("lpboost", margins_oracle(), nu=2, time_limit=1e-9)
    assert run.rounds == 1 and run.reason == StopReason.TIME_LIMIT
    sound(run)


@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "softboost"])
def test_an_epsilon_above_everything_leaves_a_round(name: str) -> None:
    run = boost(name, margins_oracle(), nu=2, epsilon=10.0)
    assert run.rounds == 1
    sound(run)


# Examples


def test_explicit_nan_in_a_sparse_matrix_is_found() -> None:
    X = scipy.sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]))
    X.data[1] = np.nan
    for form in (X, X.tocsc(), X.tocoo()):
        for oracle in (PlainStumps, RawFeatures):
            with pytest.raises(ProblemError, match=r"^X\b.* nan .*\b1, .*\b0\b"):
                oracle(form, [1, -1, 1])


def test_one_class_only_is_an_error() -> None:
    for y in ([1, 1, 1], [-1, -1, -1], [0, 0, 0], [True, True, True]):
        with pytest.raises(ProblemError, match=r"one class\. Pass\b"):
            PlainStumps(np.arange(3.0)[:, np.newaxis], y)
    # Of examples that count.
    with pytest.raises(ProblemError, match=r"one class\. Pass\b"):
        PlainStumps(np.arange(3.0)[:, np.newaxis], [1, 1, -1], c=[1.0, 1.0, 0.0])


@pytest.mark.every(4, 1)
@pytest.mark.thorough_cases("corrective_erlpboost-program")
@every_algorithm
def test_one_example_in_a_class(name: str, options: dict[str, Any]) -> None:
    # The one example stands between others, so that no stump is perfect.
    X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])[:, np.newaxis]
    options = {**options, "max_rounds": many(50, 15)}
    run = boost(name, PlainStumps(X, [1, 1, -1, 1, 1, 1]), **options)
    sound(run)
    assert set(run.predict(X).tolist()) <= {-1, 1}


# A perfect hypothesis

PERFECT = [
    ("alone", lambda: GivenMargins(np.ones((4, 1)), reflexive=True)),
    (
        "beside others",
        lambda: GivenMargins(np.array([[1, 1.0, -1], [1, -1, 1], [1, 1, 1], [1, 1, 1]]), reflexive=True),
    ),
    ("a stump", lambda: PlainStumps(np.arange(4.0)[:, np.newaxis], [-1, -1, 1, 1])),
]


@pytest.mark.every(3)
@every_algorithm
@pytest.mark.parametrize("oracle", [case[1] for case in PERFECT], ids=[case[0] for case in PERFECT])
def test_a_perfect_hypothesis_in_the_first_round(
    name: str, options: dict[str, Any], oracle: Callable[[], Oracle]
) -> None:
    run = boost(name, oracle(), **options)
    sound(run)
    assert run.rounds < 20 and "limit" not in run.reason and "failed" not in run.reason
    U, w = run.record.pool.margins.to_array(), run.w
    margins = U @ w / np.abs(w).sum()
    if name in ("qp_reg_adaboost", "svm"):  # squares share the weight among all that have an edge
        assert (margins > 0.5).all()
        return
    assert margins == pytest.approx(np.ones(4), abs=1e-6)
    if run.record.problem.objective is not None and name in ("lpboost", "softboost", "erlpboost", "adaboost"):
        assert run.class_certificate.lower == pytest.approx(1.0, abs=1e-6)


@pytest.mark.every(2, 1)
@every_algorithm
def test_a_hypothesis_wrong_on_every_example(name: str, options: dict[str, Any]) -> None:
    run = boost(name, GivenMargins(-np.ones((4, 1)), reflexive=name == "svm"), **options)
    sound(run)
    assert run.rounds < 20 and "failed" not in run.reason
    if run.record.problem.objective is not None:
        assert run.class_certificate.lower <= 0
