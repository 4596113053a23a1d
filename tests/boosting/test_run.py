"""Runs: what they return, what they prove, and that a file keeps all of it and believes none of it."""

from __future__ import annotations

import json
import logging
import math
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy
import jaxtyping
import numpy as np
import pytest
import scipy.sparse
import typechecker
from plain_stumps import PlainStumps
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from boostopt import DataError, OptionError, ProblemError, boost, combine
from boostopt.authoring import COUNT, CappedSimplex, CvxpyRegularizer, parameter, prototype
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.oracles import DecisionStumps, Estimators, GivenMargins, KernelColumns, RawFeatures, Resampled
from boostopt.oracles.base import Oracle

pytestmark = pytest.mark.every(2)

cp: Any = cvxpy

N = 40
COMPARED_COLUMNS = ("hypotheses", "edge", "upper", "soft_margin", "value", "active")


def features() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(N, 4))


def labels() -> np.ndarray:
    X = features()
    return np.where(X[:, 0] + X[:, 1] + 0.8 * np.random.default_rng(8).normal(size=N) > 0, 1, -1)


def stumps(**options: Any) -> DecisionStumps:
    return PlainStumps(features(), labels(), **options)


def sparse_features() -> scipy.sparse.csr_array:
    X = features()
    return scipy.sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))


def margins_oracle() -> GivenMargins:
    return GivenMargins(np.random.default_rng(1).integers(-1, 2, (N, 30)).astype(np.int8), reflexive=True)


def sparse_given() -> GivenMargins:
    U = np.random.default_rng(1).uniform(-1, 1, (N, 30)) * (np.random.default_rng(2).random((N, 30)) < 0.3)
    return GivenMargins(scipy.sparse.csr_array(U), reflexive=True)


ORACLES: dict[str, tuple[Callable[[], Oracle], Callable[[], Any]]] = {
    "stumps": (stumps, features),
    "stumps on sparse features": (lambda: PlainStumps(sparse_features(), labels()), sparse_features),
    "raw features": (lambda: RawFeatures(features(), labels()), features),
    "sparse raw features": (lambda: RawFeatures(sparse_features(), labels()), sparse_features),
    "linear kernel": (lambda: KernelColumns(features(), labels()), features),
    "rbf kernel": (lambda: KernelColumns(features(), labels(), kernel="rbf"), features),
    "given int8 margins": (margins_oracle, lambda: np.random.default_rng(3).uniform(-1, 1, (5, 30))),
    "given sparse margins": (sparse_given, lambda: np.random.default_rng(3).uniform(-1, 1, (5, 30))),
}


def same_run(one: Run, reference: Run) -> None:
    assert one.hypotheses == reference.hypotheses
    assert np.array_equal(one.w, reference.w) and np.array_equal(one.d, reference.d)
    assert (one.rounds, one.reason, one.final_weights) == (reference.rounds, reference.reason, reference.final_weights)
    assert one.trace.columns == reference.trace.columns
    for column in COMPARED_COLUMNS:
        assert np.array_equal(one.trace[column], reference.trace[column], equal_nan=True), column


# Files


@pytest.mark.parametrize("kind", ORACLES)
def test_a_run_comes_back_from_its_file(kind: str, tmp_path: Path) -> None:
    oracle, X = ORACLES[kind][0](), ORACLES[kind][1]()
    run = boost("lpboost", oracle, nu=4, nus=[2, 8], max_rounds=12)
    run.save(tmp_path / "run.npz")
    again = Run.load(tmp_path / "run.npz")
    same_run(again, run)
    U, V = run.record.pool.margins.to_array(), again.record.pool.margins.to_array()
    assert np.array_equal(U, V)
    assert again.certificate.overlaps(run.certificate)
    assert again.certificate.gap == pytest.approx(run.certificate.gap, abs=1e-12)
    assert np.array_equal(again.decision_function(X), run.decision_function(X))
    assert np.array_equal(again.predict(X), run.predict(X))
    assert np.array_equal(again.at_round(3).w, run.at_round(3).w) and np.array_equal(
        again.at_round(3).d, run.at_round(3).d
    )
    assert np.array_equal(again.trace["soft_margin[nu=8]"], run.trace["soft_margin[nu=8]"])
    assert np.array_equal(again.trace["backend"], run.trace["backend"])


@pytest.mark.parametrize("name", ["softboost", "totalboost", "erlpboost", "adaboost", "corrective_erlpboost", "svm"])
def test_other_algorithms_come_back_from_their_files(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"adaboost": {}, "totalboost": {}, "svm": {"C": 1.0}}.get(name, {"nu": 4})
    run = boost(name, stumps(), epsilon=0.1, max_rounds=30, **options)
    run.save(tmp_path / "run.npz")
    again = Run.load(tmp_path / "run.npz")
    same_run(again, run)
    assert again.certificate.lower == pytest.approx(run.certificate.lower, abs=1e-13)
    assert again.certificate.upper == pytest.approx(run.certificate.upper, abs=1e-13)
    assert again.certificate.infeasible == run.certificate.infeasible
    assert again.program.edge_function == run.program.edge_function


@pytest.mark.parametrize(
    "oracle",
    [
        Estimators(DecisionTreeClassifier(max_depth=2), features(), labels()),
        Resampled(LogisticRegression(), features(), labels()),
    ],
    ids=["estimators", "resampled"],
)
def test_foreign_estimators_come_back_with_their_columns_only(oracle: Oracle, tmp_path: Path) -> None:
    run = boost("lpboost", oracle, nu=4, max_rounds=6)
    run.save(tmp_path / "run.npz")
    again = Run.load(tmp_path / "run.npz")
    same_run(again, run)
    assert again.certificate.overlaps(run.certificate)
    assert not again.class_certificate.has_upper_bound and "heuristic" in str(again.class_certificate)
    assert not again.verify_class(oracle).has_upper_bound
    with pytest.raises(ProblemError, match=r"^(DecisionTreeClassifier|LogisticRegression)\b.*\bfile\b"):
        again.decision_function(features())
    # In one process a copy can predict.
    copy = pickle.loads(pickle.dumps(run))
    assert np.array_equal(copy.decision_function(features()), run.decision_function(features()))


@pytest.mark.thorough
def test_a_run_may_be_saved_with_any_weights(tmp_path: Path) -> None:
    for how in ("program", "lp", "scaled"):
        run = boost("erlpboost", stumps(), nu=4, max_rounds=8, final_weights=how)
        run.save(tmp_path / "run.npz")
        same_run(Run.load(tmp_path / "run.npz"), run)


def test_a_run_can_be_pickled() -> None:
    for name in ("lpboost", "erlpboost", "corrective_erlpboost"):
        run = boost(name, stumps(), nu=4, max_rounds=8)
        again = pickle.loads(pickle.dumps(run))
        same_run(again, run)
        assert again.class_certificate.upper == run.class_certificate.upper
        assert repr(again) == repr(run)


def test_a_run_cannot_be_saved_where_there_is_no_folder(tmp_path: Path) -> None:
    run = boost("lpboost", stumps(), nu=4, max_rounds=2)
    for place in (tmp_path / "none" / "run.npz", tmp_path):
        with pytest.raises(DataError, match=rf"^{re.escape(str(place))} .*written"):
            run.save(place)
    assert list(tmp_path.iterdir()) == []


# What a file claims


def forge_file(path: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> Path:
    """Write a file again with something else in it."""
    with np.load(path) as archive:
        arrays = dict(archive)
    about = json.loads(arrays["meta"].tobytes().decode())
    change(about, arrays)
    arrays["meta"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    boost("lpboost", stumps(), nu=4, max_rounds=6).save(path)
    return path


def test_the_upper_end_over_the_class_is_said_to_be_recorded_and_can_be_proved_anew(run_file: Path) -> None:
    run, again = boost("lpboost", stumps(), nu=4, max_rounds=6), Run.load(run_file)
    recorded = again.class_certificate
    assert not run.class_certificate.recorded and recorded.recorded
    assert "boostopt.verify" in str(recorded) and "boostopt.verify" not in str(run.class_certificate)
    assert recorded.upper == run.class_certificate.upper
    for proved in (again.verify_class(stumps()), run.verify_class(stumps())):
        assert not proved.recorded and proved.has_upper_bound
        assert proved.lower == pytest.approx(recorded.lower, abs=1e-12)
        assert proved.upper == pytest.approx(recorded.upper, abs=1e-12)
        # By hand: F0(d) = 0 for the cap, and the largest edge of the class under d, which lies within the cap.
        assert proved.d is not None
        assert proved.d.sum() == pytest.approx(1.0) and proved.d.max() <= 1 / 4 + 1e-12 and proved.d.min() >= 0.0
        assert proved.upper == pytest.approx(largest(proved.d), abs=1e-12)


def every_stump() -> np.ndarray:
    """The margins of every stump in either direction, shape (N, stumps)."""
    X, y = features(), labels()
    thresholds = [(j, v) for j in range(X.shape[1]) for v in X[:, j]]
    H = np.array([np.where(X[:, j] > v, 1.0, -1.0) for j, v in thresholds]).T * y[:, np.newaxis]
    return np.hstack([H, -H])


def largest(d: np.ndarray) -> float:
    return float((every_stump().T @ d).max())


def test_a_bound_that_the_hypotheses_contradict_is_refused(run_file: Path) -> None:
    def lower_it(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        about["bounds"]["upper"] -= 0.5

    with pytest.raises(DataError, match=rf"{re.escape(str(run_file))};.*\bcontradict\b.*\bbound\b"):
        Run.load(forge_file(run_file, lower_it))


def test_a_false_bound_is_found_by_the_oracle(run_file: Path) -> None:
    honest = Run.load(run_file).class_certificate.upper

    def other_distribution(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        # A distribution under which no hypothesis collected has a large edge, but others of the class have.
        U = Run.load(run_file).record.pool.margins.to_array()
        t = U.shape[1]
        A = np.hstack([U.T, -np.ones((t, 1))])
        lp = linprog(np.eye(N + 1)[N], A, np.zeros(t), [[1.0] * N + [0.0]], [1.0], [(0, 0.25)] * N + [(None, None)])
        arrays[about["bounds"]["d"]["array"]] = lp.x[:N]
        about["bounds"]["upper"] = lp.fun + 1e-8

    run = Run.load(forge_file(run_file, other_distribution))
    claimed = run.class_certificate
    assert claimed.recorded and claimed.upper < honest - 1e-3
    proved = run.verify_class(stumps())
    assert proved.d is not None
    assert proved.upper == pytest.approx(largest(proved.d), abs=1e-9) and proved.upper > claimed.upper + 1e-3


def test_a_distribution_that_is_none_proves_nothing(run_file: Path) -> None:
    def tiny(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[about["bounds"]["d"]["array"]] = np.full(N, 1e-9)
        about["bounds"]["upper"] = 0.9

    proved = Run.load(forge_file(run_file, tiny)).verify_class(stumps())
    assert proved.upper == pytest.approx(largest(np.full(N, 1 / N)))


@pytest.mark.parametrize(
    ("part", "value", "facts"),
    [
        (("state", "round"), None, "state.round must be a count; got None"),
        (("state", "value"), "high", "state.value must be a number; got .high."),
        (("given", "nu"), 1000, "1000"),
        (("final", "weights"), "best", "final"),
        (("hypotheses",), [], "hypotheses"),
        (("trace",), {}, "'round'"),
        (("history",), None, "history must be an object with names; got None"),
        (("bounds", "upper"), -1.0, "contradict"),
        (("formulation",), "unheard", "'unheard'"),
        (("update",), "sideways", "'sideways'"),
        (("epsilon",), -1.0, "epsilon"),
        (("state", "soft_margin"), 0.9, r"state\.soft_margin must be .*, that of state\.w; got 0\.9\b"),
        (("state", "soft_margin"), math.nan, r"state\.soft_margin must be a number; got nan\b"),
        (("state", "round"), 2**70, r"state\.round must be a count; got 1180591620717411303424\b"),
        (("bounds", "smallest_edge"), math.nan, r"bounds\.smallest_edge must be a number; got nan\b"),
        (("state", "unheard"), 1, r"state must have no 'unheard', which this version does not know\b"),
        (("digest",), None, "digest must be a text; got None"),
        (("oracle_state",), [1], r"oracle_state must be an object with names; got \[1\]"),
        (("nus",), [math.inf], "nus must be a finite number; got inf"),
        (("state", "w"), {"array": "a99"}, "arrays must have one with the name 'a99'; got none"),
    ],
    ids=str,
)
def test_damaged_descriptions_are_refused(part: tuple[str, ...], value: object, facts: str, run_file: Path) -> None:
    def change(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        for name in part[:-1]:
            about = about[name]
        about[part[-1]] = value

    with pytest.raises(DataError, match=rf"{re.escape(str(run_file))}; .*{facts}"):
        Run.load(forge_file(run_file, change))


def test_soft_margins_without_a_closed_form_are_compared_within_their_accuracy(tmp_path: Path) -> None:
    """The bound of the conjugate of a description depends on the solves before: 1e-9 refused files that were true."""

    def squares(p: Any, examples: Any) -> CvxpyRegularizer:
        uniform = examples.c / examples.total
        return CvxpyRegularizer(CappedSimplex(examples.c, p.nu), lambda d: cp.sum_squares(d - uniform), uniform)

    page = prototype("squares", squares, nu=parameter("a count", COUNT))
    run = boost(page, stumps(), nu=4.0, max_rounds=2)
    run.save(tmp_path / "run.npz")
    soft_margin = Run.load(tmp_path / "run.npz", page).record.state.soft_margin
    assert soft_margin == pytest.approx(run.record.state.soft_margin, abs=1e-6)

    def change(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        about["state"]["soft_margin"] += 1e-7

    again = Run.load(forge_file(tmp_path / "run.npz", change), page)
    assert again.record.state.soft_margin == soft_margin  # the recomputed one, not that of the file

    def change_more(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        about["state"]["soft_margin"] += 1e-5

    with pytest.raises(DataError, match=r"state\.soft_margin must be .*, that of state\.w; got "):
        Run.load(forge_file(tmp_path / "run.npz", change_more), page)


@pytest.mark.parametrize("name", ["w", "m", "d"])
def test_weights_that_are_not_those_of_the_run_are_refused(name: str, run_file: Path) -> None:
    def not_finite(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[about["state"][name]["array"]][0] = np.nan

    with pytest.raises(
        DataError, match=rf"{re.escape(str(run_file))}; .*state.{name} must be .*finite numbers.*; got nan"
    ):
        Run.load(forge_file(run_file, not_finite))

    def too_short(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        array_name = about["state"][name]["array"]
        arrays[array_name] = np.ones(N + 1)

    with (
        typechecker.unchecked(),
        pytest.raises(DataError, match=rf"{re.escape(str(run_file))}; .*state.{name} must have .*; got "),
    ):
        Run.load(forge_file(run_file, too_short))


@pytest.mark.thorough
def test_python_o_believes_a_file_no_more_than_python_does(run_file: Path) -> None:
    """`python -O` leaves assertions out: nothing that a file claims may rest on one."""
    contradicting: list[Callable[[dict[str, Any], dict[str, np.ndarray]], None]] = [
        lambda about, arrays: arrays[about["state"]["w"]["array"]].fill(np.nan),
        lambda about, arrays: arrays[about["final"]["w"]["array"]].fill(np.nan),
        lambda about, arrays: arrays[about["state"]["m"]["array"]].fill(0.5),
        lambda about, arrays: about["bounds"].update(upper=-1.0),
        lambda about, arrays: about["final"].update(weights="best"),
    ]
    copies = [run_file.with_name(f"{k}.npz") for k in range(len(contradicting))]
    for path, change in zip(copies, contradicting, strict=True):
        shutil.copy(run_file, path)
        forge_file(path, change)
    result = subprocess.run(
        [sys.executable, "-O", "-c", READ_ALL, *map(str, [run_file, *copies])],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert result.stdout.splitlines() == ["read", *["refused"] * len(copies)], result.stdout + result.stderr


READ_ALL = """
import sys
from boostopt import DataError
from boostopt.boosting.run.run import Run

for path in sys.argv[1:]:
    try:
        Run.load(path)
        print("read")
    except DataError as why:
        print("refused" if path in str(why) else why)
"""


def test_margins_of_other_weights_are_refused(run_file: Path) -> None:
    def raise_margins(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[about["state"]["m"]["array"]] += 0.1

    with pytest.raises(DataError, match=rf"{re.escape(str(run_file))}; .*margins.*other"):
        Run.load(forge_file(run_file, raise_margins))


def test_only_the_oracle_of_the_run_verifies_it() -> None:
    run = boost("lpboost", stumps(), nu=4, max_rounds=4)
    with pytest.raises(OptionError, match=r"\boracle\b.*\bdigest\b"):
        run.verify_class(PlainStumps(features(), -labels()))
    no_margin = boost("svm", stumps(), C=1.0, max_rounds=4)
    with pytest.raises(OptionError, match=r"\bsvm\b.*\brun\.certificate\b"):
        no_margin.verify_class(stumps())


def test_verifying_leaves_an_oracle_as_it_was() -> None:
    oracle = GivenMargins(np.random.default_rng(1).uniform(-1, 1, (N, 30)), choose="random")
    run = boost("lpboost", oracle, nu=4, max_rounds=4)
    old_state = oracle.state()
    assert run.verify_class(oracle).upper == pytest.approx(run.class_certificate.upper, abs=1e-12)
    assert oracle.state() == old_state


# Rounds


@pytest.mark.thorough_cases("softboost-options2", "erlpboost-options4")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lpboost", {"nu": 4}),
        ("erlpboost", {"nu": 4}),
        ("softboost", {"nu": 4, "epsilon": 0.05}),
        ("corrective_erlpboost", {"nu": 4, "update": "line_search"}),
        ("erlpboost", {"nu": 4, "update": "mlpboost"}),
        ("adaboost", {}),
    ],
)
def test_a_round_is_the_run_that_was_stopped_there(name: str, options: dict[str, Any]) -> None:
    run = boost(name, stumps(), max_rounds=12, **options)
    for k in (1, 5, 9):
        earlier_run, stopped = run.at_round(k), boost(name, stumps(), max_rounds=k, **options)
        now = stopped.at_round(k)
        assert earlier_run.hypotheses == now.hypotheses == stopped.hypotheses
        assert np.array_equal(earlier_run.w, now.w) and np.array_equal(earlier_run.d, now.d)
        assert (earlier_run.certificate.lower, earlier_run.certificate.upper) == (
            now.certificate.lower,
            now.certificate.upper,
        )
        assert np.array_equal(earlier_run.decision_function(features()), now.decision_function(features()))
        # The last program of a run is solved to more digits than those on the way.
        scaled = earlier_run.w / earlier_run.w.sum() if stopped.final_weights == "scaled" else earlier_run.w
        assert stopped.w == pytest.approx(scaled, abs=1e-9 if name in ("lpboost", "adaboost") else 1e-2)
        assert earlier_run.certificate.overlaps(stopped.certificate) or stopped.final_weights != "program"


def test_rounds_that_are_not_there() -> None:
    run = boost("lpboost", stumps(), nu=4, max_rounds=3)
    for k in (0, 4, -1):
        with pytest.raises(OptionError, match=rf"^k\b.*\b1 to 3\b.* {k}\."):
            run.at_round(k)
    with pytest.raises(OptionError, match=r"\bhistory=True\b"):
        boost("corrective_erlpboost", stumps(), nu=4, max_rounds=3, history=False).at_round(1)


# The trace


def soft_margin(m: np.ndarray, nu: float) -> float:
    """The mean of the nu smallest margins, the last one counted in part."""
    m = np.sort(m)
    whole = int(nu)
    rest = (nu - whole) * m[whole] if whole < len(m) else 0.0
    return float(m[:whole].sum() + rest) / nu


def test_soft_margins_at_other_nu_are_means_of_the_smallest_margins() -> None:
    nus = [1, 2.5, 10, N]
    run = boost("lpboost", stumps(), nu=4, nus=nus, max_rounds=10)
    H = np.array([h(features()) for h in run.hypotheses]).T * labels()[:, np.newaxis]
    for k in (1, 4, 10):
        w = run.at_round(k).w
        m = H[:, : len(w)] @ w
        for nu in (4, *nus):
            name = "soft_margin" if nu == 4 else f"soft_margin[nu={nu:g}]"
            assert run.trace[name][k - 1] == pytest.approx(soft_margin(m, nu), abs=1e-9)


@pytest.mark.parametrize("at_zero", ["majority", "positive", "negative"])
def test_error_and_zero_share_on_test_examples(at_zero: Any) -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(30, 4)), rng.choice([-1, 1], 30)
    run = boost("lpboost", stumps(), nu=4, max_rounds=8, test=(X, y), at_zero=at_zero)
    majority = 1 if labels().sum() >= 0 else -1
    value = {"majority": majority, "positive": 1, "negative": -1}[at_zero]
    for k in (1, 2, 5, 8):
        earlier_run = run.at_round(k)
        f = sum((w * h(X) for w, h in zip(earlier_run.w, earlier_run.hypotheses, strict=True)), start=np.zeros(30))
        zero = np.abs(f) <= 1e-10
        predicted = np.where(zero, value, np.sign(f))
        assert run.trace["zero_share"][k - 1] == pytest.approx(zero.mean())
        assert run.trace["test_error"][k - 1] == pytest.approx((predicted != y).mean())
    assert np.array_equal(run.predict(X, at_zero), predicted)


@pytest.mark.thorough_cases("softboost-how2")
@pytest.mark.parametrize(("formulation", "how"), [("adaboost", {}), ("arc_gv", {}), ("softboost", {"nu": 4})])
def test_errors_of_weights_of_which_few_change_are_those_of_the_whole_sum(
    formulation: str, how: dict[str, Any]
) -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(200, 4)), rng.choice([-1, 1], 200)
    run = boost(formulation, stumps(), max_rounds=120, rules=(), test=(X, y), **how)
    for k in (1, 2, 3, 50, run.rounds):
        f = run.at_round(k).decision_function(X)
        assert run.trace["test_error"][k - 1] == np.mean(np.where(np.abs(f) <= 1e-10, run.majority, np.sign(f)) != y)


def test_zero_share_counts_multiplicities() -> None:
    # h and -h halve each other where they differ, and are 1 on the two last examples.
    U = np.array([[1.0, -1], [-1, 1], [1, 1], [1, 1]])
    run = boost("lpboost", GivenMargins(U, c=[3.0, 2.0, 1.0, 4.0]), nu=1)
    assert run.w == pytest.approx([0.5, 0.5])
    assert run.trace["zero_share"][-1] == pytest.approx(5 / 10)
    assert np.isnan(run.trace["test_error"]).all()


def test_half_of_h_minus_half_of_h() -> None:
    # One feature that says nothing: each class has each value once. LPBoost answers with half of h minus half of h.
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([1, -1, 1, -1, -1])
    oracle = PlainStumps(X, y, c=[1.0, 1.0, 1.0, 0.5, 0.5])
    run = boost("lpboost", oracle, nu=1)
    h, negation = run.hypotheses[:2]
    assert np.array_equal(h(X), -negation(X))
    assert run.decision_function(X) == pytest.approx(np.zeros(5), abs=1e-9)
    assert run.trace["zero_share"][-1] == 1.0
    assert run.predict(X, "positive").tolist() == [1] * 5
    assert run.predict(X, "negative").tolist() == [-1] * 5
    # As many of either class: positive.
    assert run.predict(X).tolist() == [1] * 5
    nothing: Any = "nothing"
    with pytest.raises((OptionError, jaxtyping.TypeCheckError), match="nothing"):
        run.predict(X, nothing)


@pytest.mark.thorough_cases("lpboost", "softboost")
@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "softboost", "corrective_erlpboost", "adaboost"])
def test_bounds_in_the_trace_close_in(name: str) -> None:
    options: dict[str, Any] = {} if name == "adaboost" else {"nu": 4}
    run = boost(name, stumps(), max_rounds=25, **options)
    trace, best = run.trace, boost("lpboost", stumps(), nu=options.get("nu", 1), epsilon=1e-7).class_certificate
    assert trace["round"].tolist() == list(range(1, run.rounds + 1))
    assert (np.diff(trace["upper"]) <= 0).all() and (np.diff(trace["smallest_edge"]) <= 0).all()
    assert (trace["upper"] >= best.lower).all()
    assert (trace["soft_margin"] <= best.upper + 1e-12).all()
    assert trace["gap"] == pytest.approx(trace["upper"] - trace["soft_margin"])
    assert (np.diff(trace["seconds"]) > 0).all() and (np.diff(trace["hypotheses"]) >= 0).all()
    assert (trace["oracle_seconds"] >= 0).all() and (trace["update_seconds"] > 0).all()
    assert trace["upper"][-1] == run.class_certificate.upper
    assert (trace["active"] >= 1).all() and (trace["active"] <= trace["hypotheses"]).all()


def html(value: Any) -> str:
    """Return the HTML that a notebook shows."""
    return value._repr_html_()


def test_the_trace_is_a_table() -> None:
    trace = boost("lpboost", stumps(), nu=4, nus=[2], max_rounds=5).trace
    assert trace.columns[:2] == ("round", "hypotheses") and trace.columns[-3:] == ("gap", "delta", "soft_margin[nu=2]")
    assert list(trace.to_dict()) == list(trace.columns)
    assert len(trace) == 5 and len(trace[1:3]) == 2 and trace[2].round == 3
    assert trace.to_dict()["backend"] == ["highs"] * 5
    assert "5 rounds" in repr(trace) and "<table" in html(trace)
    with pytest.raises(OptionError, match=r"\btrace\b.*\bround\b.*\bupper\b.*'loss'"):
        trace["loss"]


# Weights and predictions


@pytest.mark.parametrize("kind", ORACLES)
def test_the_decision_is_the_sum_over_the_hypotheses(kind: str) -> None:
    oracle, X = ORACLES[kind][0](), ORACLES[kind][1]()
    run = boost("erlpboost", oracle, nu=4, max_rounds=8)
    f = sum((w * h(X) for w, h in zip(run.w, run.hypotheses, strict=True)), start=np.zeros(X.shape[0]))
    assert run.decision_function(X) == pytest.approx(f / np.abs(run.w).sum(), abs=1e-12)
    assert (np.abs(run.decision_function(X)) <= 1.0).all()
    if oracle.y is not None:
        # On the examples themselves y f(x) is the margin.
        m = run.record.pool.margins.margins(run.w) / run.w.sum()
        assert labels() * run.decision_function(X) == pytest.approx(m, abs=1e-9)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["erlpboost", "corrective_erlpboost", "adaboost", "lpboost"])
@pytest.mark.parametrize("how", ["program", "lp", "scaled"])
def test_final_weights_are_certified(name: str, how: str) -> None:
    options: dict[str, Any] = {} if name == "adaboost" else {"nu": 4}
    run = boost(name, stumps(), max_rounds=10, final_weights=how, **options)
    U, nu = run.record.pool.margins.to_array(), options.get("nu", 1)
    w = run.w / run.w.sum()
    assert (w >= 0).all() and run.final_weights == how
    if how != "program":
        assert run.w.sum() == pytest.approx(1.0)
    value = soft_margin(U @ w, nu)
    assert run.class_certificate.lower == pytest.approx(value, abs=1e-9) and run.class_certificate.lower <= value
    best = best_soft_margin(U, nu)
    if how == "lp":
        assert value == pytest.approx(best, abs=1e-8)
    if how != "program":
        # Over the hypotheses collected: what the weights reach, and what none of them can exceed.
        assert run.certificate.lower == pytest.approx(value, abs=1e-9)
        assert run.certificate.lower <= best <= run.certificate.upper
    assert best <= run.class_certificate.upper


def best_soft_margin(U: np.ndarray, nu: float) -> float:
    """The largest soft margin over columns: min over d of the largest edge, 0 <= d <= 1/nu."""
    n, t = U.shape
    A = np.hstack([U.T, -np.ones((t, 1))])
    lp = linprog(np.eye(n + 1)[n], A, np.zeros(t), [[1.0] * n + [0.0]], [1.0], [(0, 1 / nu)] * n + [(None, None)])
    return float(lp.fun)


@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "softboost", "binary_erlpboost", "corrective_erlpboost"])
def test_no_weight_of_an_example_exceeds_its_cap_and_no_weights_are_all_zero(name: str) -> None:
    c = np.random.default_rng(5).uniform(0.5, 3.0, N)
    run = boost(name, stumps(c=c), nu=6, max_rounds=20)
    for k in range(1, run.rounds + 1):
        earlier_run = run.at_round(k)
        assert (earlier_run.d <= c / 6 * (1 + 1e-12)).all() and (earlier_run.d >= 0).all()
        assert earlier_run.d.sum() == pytest.approx(1.0)
        assert np.abs(earlier_run.w).sum() > 0
    assert np.abs(run.w).sum() > 0


# The same again


@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "corrective_erlpboost"])
def test_equal_calls_give_equal_runs(name: str) -> None:
    one = stumps()
    run = boost(name, one, nu=4, max_rounds=10)
    same_run(boost(name, one, nu=4, max_rounds=10), run)
    same_run(boost(name, stumps(), nu=4, max_rounds=10), run)


def test_an_oracle_that_counts_its_calls_begins_again() -> None:
    U = np.random.default_rng(1).uniform(-1, 1, (N, 30))
    for oracle in (GivenMargins(U, choose="random"), GivenMargins(U, choose=[4, 2, 7])):
        same_run(boost("lpboost", oracle, nu=4, max_rounds=6), boost("lpboost", oracle, nu=4, max_rounds=6))


@pytest.mark.thorough
def test_labels_and_storage_do_not_matter() -> None:
    X, y = features(), labels()
    run = boost("lpboost", PlainStumps(X, y), nu=4, max_rounds=10)
    for variant in (
        PlainStumps(X, (y + 1) // 2),
        PlainStumps(X, y > 0),
        PlainStumps(X, y.astype(float)),
        PlainStumps(scipy.sparse.csr_array(X), y),
        PlainStumps(scipy.sparse.csc_array(X), (y + 1) // 2),
    ):
        again = boost("lpboost", variant, nu=4, max_rounds=10)
        assert [str(h) for h in again.hypotheses] == [str(h) for h in run.hypotheses]
        assert np.array_equal(again.w, run.w)
        assert np.array_equal(again.predict(X), run.predict(X))


def test_multiplicities_count_copies() -> None:
    X, y = features(), labels()
    c = np.random.default_rng(6).integers(0, 3, N)
    one = boost("lpboost", PlainStumps(X, y, c=c.astype(float)), nu=4, epsilon=1e-6)
    copies = boost("lpboost", PlainStumps(np.repeat(X, c, axis=0), np.repeat(y, c)), nu=4, epsilon=1e-6)
    ours, theirs = one.class_certificate, copies.class_certificate
    assert ours.lower <= theirs.upper + 1e-6 and theirs.lower <= ours.upper + 1e-6
    assert ours.gap <= 1e-6 and theirs.gap <= 1e-6


def test_no_handler_is_added_to_the_root_logger(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    for name in ("lpboost", "erlpboost", "corrective_erlpboost"):
        boost(name, stumps(), nu=4, max_rounds=4, checkpoint=tmp_path / f"{name}.npz").save(tmp_path / "run.npz")
    assert root.handlers == handlers and root.level == level
    assert capfd.readouterr() == ("", "")


def test_a_run_shows_itself() -> None:
    run = boost("lpboost", stumps(), nu=4, max_rounds=4)
    assert repr(run).startswith("Run(lpboost: 4 rounds, 4 hypotheses, ")
    page = html(run)
    assert StopReason.ROUND_LIMIT in page
    assert run.class_certificate.quantity in page and str(stumps()) in page
    assert str(run.class_certificate) in repr(run.class_certificate)


@pytest.mark.parametrize("penalty", ["l2_squared", "l2_ball", "elastic_net", "linf_ball"])
def test_penalties_without_a_bound_over_a_class_name_those_with_one(penalty: str) -> None:
    page = combine("logistic", penalty)
    parameters: dict[str, Any] = {name: 1.0 for name, value in page.parameters.items() if value.required}
    oracle = GivenMargins([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    run = boost(page, oracle, max_rounds=2, **parameters)
    with pytest.raises(OptionError, match=r"\brun\.certificate\b.*\bl1, l1_ball or simplex\b"):
        _ = run.class_certificate
    for bounded in ("l1", "l1_ball", "simplex"):
        bounded_page = combine("logistic", bounded)
        values: dict[str, Any] = {name: 1.0 for name, value in bounded_page.parameters.items() if value.required}
        certificate = boost(bounded_page, oracle, max_rounds=5, **values).class_certificate
        assert certificate.upper < float("inf")
