"""Limits on the hypothesis weights: budgets and equal mean margins, over whole classes, by enumeration."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support.speeds import many

from boostopt import DataError, OptionError, ProblemError, Run, boost, path
from boostopt.authoring import (
    COUNT,
    PER_EXAMPLE,
    CappedSimplex,
    CappedSimplexIndicator,
    Tilted,
    formula,
    parameter,
    prototype,
)
from boostopt.boosting import LimitCertificate, certify_limits
from boostopt.oracles import (
    BinnedStumps,
    Budget,
    DecisionStumps,
    GivenMargins,
    LimitedClass,
    MarginLimit,
    Oracle,
    Query,
    RegressionStumps,
    Stump,
    equal_mean_margins,
    monotone_votes,
    vote_caps,
)

TOL = 1e-9
"""The accuracy of the enumeration by HiGHS."""


def best_within_limits(
    U: np.ndarray, c: np.ndarray, nu: float, A: np.ndarray, b: np.ndarray, offsets: np.ndarray | float = 0.0
) -> float | None:
    """The largest soft margin of weights of all columns with Aw <= b, by HiGHS; None if there are none."""
    (N, t), k = U.shape, len(b)
    answer = linprog(
        np.r_[np.zeros(t), -1.0, c / nu],
        A_ub=np.vstack([np.hstack([-U, np.ones((N, 1)), -np.eye(N)]), np.hstack([A, np.zeros((k, 1 + N))])]),
        b_ub=np.r_[np.zeros(N) + offsets, b],
        A_eq=[np.r_[np.ones(t), 0.0, np.zeros(N)]],
        b_eq=[1.0],
        bounds=[(0, None)] * t + [(None, None)] + [(0, None)] * N,
    )
    return -float(answer.fun) if answer.status == 0 else None


def keeps(A: np.ndarray, b: np.ndarray, w: np.ndarray, tol: float = 0.0) -> bool:
    """Return whether weights keep limits, in fractions; `tol` is the rounding of the rows in this file."""
    return all(
        sum(
            (Fraction(x) * (Fraction(a) - Fraction(limit) - Fraction(tol)) for x, a in zip(w, row, strict=True)),
            Fraction(0),
        )
        <= 0
        for row, limit in zip(A.tolist(), b.tolist(), strict=True)
    )


def check_interval(certificate: LimitCertificate, optimum: float | None) -> None:
    """The interval contains the optimum by enumeration; without one, no weights are proved to keep the limits."""
    if optimum is None:
        assert certificate.w is None and certificate.interval.lower == -math.inf
        return
    assert certificate.interval.lower - TOL <= optimum <= certificate.interval.upper + TOL
    if certificate.w is not None:
        assert certificate.interval.gap <= 2e-6


def test_intervals_over_columns_contain_the_optimum_of_all_columns() -> None:
    rng, proofs, cases = np.random.default_rng(0), 0, many(300, 6)
    for _ in range(cases):
        N, t = int(rng.integers(4, 10)), int(rng.integers(2, 14))
        U, nu, reflexive = rng.integers(-2, 3, (N, t)) / 2.0, float(rng.uniform(1, N / 2)), bool(rng.integers(2))
        V = np.hstack([U, -U]) if reflexive else U
        limits: list[Budget | MarginLimit] = []
        rows: list[np.ndarray] = []
        if rng.random() < 0.7:
            costs = np.round(rng.uniform(-0.3, 1.0, t), 2)
            limits.append(Budget(costs, float(np.quantile(costs, 0.4))))
            rows.append(np.tile(costs, 1 + reflexive))
        if rng.random() < 0.7 or not limits:
            fair = equal_mean_margins(np.arange(N) < N // 2, 0.05)
            limits.extend(fair)
            rows.extend(limit.slopes @ V for limit in fair)
        A, b = np.array(rows), np.array([limit.limit for limit in limits])
        run = boost("lpboost", LimitedClass(GivenMargins(U, reflexive=reflexive), limits), nu=nu, epsilon=1e-6)
        certificate = certify_limits(run)
        check_interval(certificate, best_within_limits(V, np.ones(N), nu, A, b))
        if certificate.w is not None:
            proofs += 1
            columns = [h.q + t * (h.sign < 0) for h in run.hypotheses]  # pyright: ignore[reportAttributeAccessIssue]
            assert keeps(A[:, columns], b, certificate.w, 1e-15)
            np.testing.assert_allclose(certificate.values, A[:, columns] @ certificate.w, atol=1e-12)
    assert proofs > 0.8 * cases


def stump_columns(X: np.ndarray, y: np.ndarray, reflexive: bool) -> tuple[np.ndarray, np.ndarray]:
    """The margins of all stumps, shape (N, t), and their features."""
    columns, features = [], []
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for middle in (values[1:] + values[:-1]) / 2.0:
            for sign in (1, -1) if reflexive else (1,):
                columns.append(np.where(X[:, j] > middle, sign, -sign) * y)
                features.append(j)
    return np.array(columns, dtype=float).T, np.array(features)


def test_intervals_over_stumps_contain_the_optimum_of_all_stumps() -> None:
    """Examples of multiplicity 0 are left out of the limits, too."""
    rng = np.random.default_rng(1)
    for _ in range(many(100, 4)):
        N, k, reflexive = int(rng.integers(6, 12)), int(rng.integers(2, 5)), bool(rng.integers(2))
        X, y = rng.integers(0, 4, (N, k)).astype(float), np.where(rng.random(N) < 0.5, 1, -1)
        c = rng.integers(0, 3, N).astype(float)
        y[:2], c[:3], X[:, 0] = (1, -1), 1.0, np.arange(N) % 4
        counts = c > 0
        V, features = stump_columns(X[counts], y[counts], reflexive)
        costs, nu = np.round(rng.uniform(-0.2, 1.0, k), 2), float(rng.uniform(1, c.sum() / 2))
        fair = equal_mean_margins(X[:, 0] >= 2, 0.1, c) if 0 < c[X[:, 0] >= 2].sum() < c.sum() else ()
        limits = [Budget(costs, float(np.quantile(costs[features], 0.5))), *fair]
        A = np.array([costs[features], *(limit.slopes[counts] @ V for limit in fair)])
        oracle = LimitedClass(DecisionStumps(X, y, c, reflexive=reflexive), limits)
        certificate = certify_limits(boost("lpboost", oracle, nu=nu, epsilon=1e-6))
        best = best_within_limits(V, c[counts], nu, A, np.array([limit.limit for limit in limits]))
        check_interval(certificate, best)


@pytest.mark.parametrize("kind", ["columns", "stumps"])
def test_bounds_of_answers_hold_for_every_hypothesis_whatever_the_prices(kind: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(many(300, 10)):
        N, k = int(rng.integers(4, 12)), 3
        X, y = rng.integers(0, 3, (N, k)).astype(float), np.where(np.arange(N) % 2, 1, -1)
        costs, slopes = rng.uniform(-1.0, 1.0, k), rng.normal(size=N)
        slopes /= np.abs(slopes).sum() * (1.0 + 1e-15)
        U, stumps = rng.uniform(-1.0, 1.0, (N, k)), stump_columns(X, y, True)
        if len(stumps[1]) == 0:
            continue
        inner = DecisionStumps(X, y) if kind == "stumps" else GivenMargins(U, reflexive=True)
        margins, groups = stumps if kind == "stumps" else (np.hstack([U, -U]), np.tile(np.arange(k), 2))
        oracle = LimitedClass(inner, [Budget(costs, 0.2), MarginLimit(slopes, 0.1)])
        d = rng.normal(size=N) * 10.0 ** rng.integers(-3, 4)
        prices = rng.uniform(0.0, 1.0, 2) * 10.0 ** rng.integers(-6, 3)
        answer = oracle.best(Query(np.r_[d, prices], int(rng.integers(1, 4))))
        exact = max(
            sum((Fraction(x) * Fraction(u) for x, u in zip(d, column, strict=True)), Fraction(0))
            - Fraction(float(prices[0])) * Fraction(float(costs[group]))
            - Fraction(float(prices[1]))
            * sum((Fraction(s) * Fraction(u) for s, u in zip(slopes, column, strict=True)), Fraction(0))
            for column, group in zip(margins.T, groups.tolist(), strict=True)
        )
        assert answer.edge_bound is not None and Fraction(answer.edge_bound) >= exact
        size = np.abs(d).sum() + prices.sum()
        assert answer.edge_bound <= float(exact) + 1e-12 * size
        assert answer.columns[0].edge == pytest.approx(float(exact), abs=1e-12 * size)
        assert all(column.margins[N] == -costs[group_of(inner, column.hypothesis) % k] for column in answer.columns)


def group_of(oracle: Any, hypothesis: Any) -> int:
    return int(oracle.group_of(hypothesis))


RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4))
y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=40) > 0, 1, -1)
COSTS = np.array([1.0, 0.5, 0.1, 0.0])


def limited(max_price: float = 100.0) -> LimitedClass:
    limits = [Budget(COSTS, 0.4), *equal_mean_margins(X[:, 2] > 0, 0.02)]
    return LimitedClass(DecisionStumps(X, y), limits, max_price)


@pytest.mark.thorough
def test_costs_change_the_weights_and_a_lower_budget_lowers_the_optimum() -> None:
    uppers = []
    for budget in (1.0, 0.4, 0.1, 0.0):
        oracle = LimitedClass(DecisionStumps(X, y), Budget(COSTS, budget))
        certificate = certify_limits(boost("lpboost", oracle, nu=20.0, epsilon=1e-4))
        assert certificate.w is not None and certificate.values[0] <= budget
        assert certificate.interval.gap <= 1.1e-4 and certificate.interval.quantity == "soft margin"
        uppers.append(certificate.interval.upper)
    free = boost("lpboost", DecisionStumps(X, y), nu=20.0, epsilon=1e-4).class_certificate
    assert uppers == sorted(uppers, reverse=True) and uppers[0] > uppers[-1] + 0.01
    assert uppers[0] == pytest.approx(free.upper, abs=3e-4)


@pytest.mark.thorough
def test_a_low_price_is_exceeded_but_the_interval_holds() -> None:
    certificates = [certify_limits(boost("lpboost", limited(price), nu=15.0, epsilon=1e-5)) for price in (100.0, 0.05)]
    exact, cheap = (certificate.interval for certificate in certificates)
    assert exact.gap <= 1.1e-5
    assert cheap.lower <= exact.upper and cheap.upper >= exact.lower - 1e-9
    assert cheap.gap > exact.gap


def test_limits_that_no_weights_keep_prove_no_lower_end() -> None:
    oracle = LimitedClass(GivenMargins([[1.0, -1.0], [1.0, 1.0]]), Budget(np.array([0.5, 0.7]), 0.4))
    run = boost("lpboost", oracle, nu=1.0)
    certificate = certify_limits(run)
    assert certificate.w is None and certificate.interval.lower == -math.inf
    assert str(certificate).startswith("no collected weights are proved to keep the limits")
    assert certificate.interval.upper < -1.0  # the price of the excess, below every soft margin


def test_a_budget_without_slack_is_kept_exactly() -> None:
    oracle = LimitedClass(GivenMargins([[1.0, -1.0, 0.5], [1.0, 1.0, 0.2]]), Budget(np.array([0.7, 0.1, 0.1]), 0.1))
    certificate = certify_limits(boost("lpboost", oracle, nu=1.0, epsilon=1e-6))
    assert certificate.w is not None and certificate.interval.gap <= 2e-6
    assert certificate.interval.lower == pytest.approx(0.3043478260869565, abs=2e-6)


@pytest.mark.thorough_cases("erlpboost")
@pytest.mark.parametrize("name", ["erlpboost", "lpboost"])
def test_runs_are_stored_continued_and_verified(name: str, tmp_path: Path) -> None:
    oracle, file, finished = limited(), tmp_path / "checkpoint.npz", tmp_path / "run.npz"
    parameters: dict[str, Any] = {"nu": 15.0, "epsilon": 1e-2, **({"eta": 40.0} if name == "erlpboost" else {})}
    run = boost(name, oracle, checkpoint=file, max_rounds=3, **parameters)
    run = boost(name, oracle, checkpoint=file, **parameters)
    assert run.rounds > 3
    np.testing.assert_array_equal(boost(name, oracle, **parameters).w, run.w)
    run.save(finished)
    loaded = Run.load(finished)
    assert Run.load(finished, name).problem.formulation.name == loaded.problem.formulation.name
    assert Run.load(finished, run.problem.formulation).rounds == run.rounds
    with pytest.raises(DataError, match=r"\bnot of softboost\b"):
        Run.load(finished, "softboost")
    np.testing.assert_array_equal(loaded.w, run.w)
    assert loaded.verify_class(oracle).upper == pytest.approx(run.class_certificate.upper, abs=1e-9)
    assert certify_limits(loaded).interval.lower == pytest.approx(certify_limits(run).interval.lower, abs=1e-9)
    assert set(np.unique(run.predict(X))) <= {-1, 1}
    with pytest.raises(OptionError, match=r"\bdigest\b"):
        loaded.verify_class(limited(50.0))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("right_sides", [100.0], r"\bright_sides\b.* as many\b.*\[100\.0\]"),
        ("right_sides", [100.0, 100.0, 100.0], "contradict"),
        ("right_sides", [0.4, 0.01, 0.011], r"\bmake the run again\b"),
        ("right_sides", [math.nan, 0.0, 0.0], r"\bright_sides\b.*\bfinite\b.*\bnan\b"),
        ("row_errors", [-1.0, 0.0, 0.0], "negative"),
        ("max_price", math.inf, "finite"),
        ("max_price", 50.0, r"\bmake the run again\b"),
        ("formulation", "limited_weights", "[Uu]nknown"),
    ],
)
def test_changed_limits_in_a_file_prove_nothing(key: str, value: Any, message: str, tmp_path: Path) -> None:
    oracle, file = limited(), tmp_path / "run.npz"
    boost("lpboost", oracle, nu=15.0, epsilon=0.1).save(file)
    content = dict(np.load(file))
    about = json.loads(content["meta"].tobytes().decode())
    assert len(oracle.right_sides) == 3
    about["limits"][key] = value
    content["meta"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(file, **content)
    with pytest.raises((DataError, OptionError), match=message):
        Run.load(file).verify_class(oracle)


def with_changed_margins(file: Path, rows: slice) -> None:
    """State that all hypotheses have the margin 1 in some rows, and no bound of the class."""
    content = dict(np.load(file))
    about = json.loads(content["meta"].tobytes().decode())
    place = about["U"]["dense"]["array"]
    U = content[place].astype(float)
    U[rows] = 1.0
    content[place] = U
    w = content[about["state"]["w"]["array"]]
    content[about["state"]["m"]["array"]] = m = U[:, : len(w)] @ w
    about["state"]["soft_margin"] = float(np.sort(m)[:15].mean() / w.sum())  # nu is 15
    about["bounds"]["upper"] = 1e3
    content["meta"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(file, **content)


@pytest.mark.parametrize("is_limited", [True, False])
def test_changed_margins_in_a_file_prove_nothing(is_limited: bool, tmp_path: Path) -> None:
    oracle: Any = limited() if is_limited else DecisionStumps(X, y)
    file = tmp_path / "run.npz"
    run = boost("lpboost", oracle, nu=15.0, epsilon=0.05)
    run.save(file)
    assert Run.load(file).verify_class(oracle).upper == pytest.approx(run.class_certificate.upper, abs=1e-9)
    assert boost("lpboost", oracle, nu=15.0, epsilon=0.05, start=Run.load(file)).rounds >= 0
    with_changed_margins(file, slice(-3, None) if is_limited else slice(0, 20))
    loaded = Run.load(file)
    with pytest.raises(DataError, match="has others"):
        loaded.verify_class(oracle)
    with pytest.raises(DataError, match="has others"):
        boost("lpboost", oracle, nu=15.0, epsilon=0.05, start=loaded)


def test_a_checkpoint_with_changed_margins_is_refused(tmp_path: Path) -> None:
    oracle, file = DecisionStumps(X, y), tmp_path / "checkpoint.npz"
    boost("lpboost", oracle, nu=15.0, epsilon=1e-3, checkpoint=file, max_rounds=3, update="total")
    with_changed_margins(file, slice(0, 20))
    with pytest.raises(DataError, match="has others"):
        boost("lpboost", oracle, nu=15.0, epsilon=1e-3, checkpoint=file, update="total")


def test_constants_have_the_price_of_the_first_feature_whatever_names_them() -> None:
    equal_rows = np.full((6, 2), 3.0)
    labels = np.array([1, 1, 1, 1, 1, -1])
    stumps = DecisionStumps(equal_rows, labels)
    oracle = LimitedClass(stumps, Budget(np.array([1.0, 0.0]), 0.3))
    for stump in (Stump(0, -math.inf, 1, 2), Stump(1, -math.inf, 1, 2), Stump(0, 5.0, -1, 2), Stump(1, 2.0, 1, 2)):
        assert stumps.group_of(stump) == 0
        margins = oracle.margins_of(stump)
        assert margins is not None and margins[-1] == -1.0
    assert stumps.group_of(Stump(1, 5.0, 1, 2)) == 2  # h = -1, of the direction of the downward stumps


def test_paths_take_arrays_with_one_value_an_example_beside_limits() -> None:
    page = prototype(
        "costly",
        lambda p, x: formula("z*d", CappedSimplex(x.c, p.nu), z=p.z),
        nu=parameter("the number of examples", COUNT),
        z=parameter("the price of weight on each example", PER_EXAMPLE),
    )
    oracle, prices = limited(), np.linspace(0.0, 0.1, len(X))
    along = path(page, oracle, nu=[10.0, 20.0], z=prices, epsilon=0.1)
    for nu, run in along:
        single = boost(page, oracle, nu=nu, z=prices, epsilon=0.1)
        assert run.class_certificate.lower <= single.class_certificate.upper


def test_paths_have_limits_at_each_value() -> None:
    oracle = LimitedClass(DecisionStumps(X, y), Budget(COSTS, 0.3))
    for nu, run in path("lpboost", oracle, nu=[20.0, 10.0], epsilon=1e-3):
        certificate = certify_limits(run)
        assert certificate.w is not None and certificate.values[0] <= 0.3
        assert certificate.interval.gap <= 1.1e-3
        assert run.problem.user_parameters["nu"] == nu


def test_no_column_has_more_than_its_share_of_the_vote() -> None:
    """The bound of the largest weight, over all columns, is a limit for each of them."""
    rng = np.random.default_rng(4)
    for _ in range(many(200, 4)):
        N, t = int(rng.integers(4, 9)), int(rng.integers(3, 8))
        U, nu, share = rng.integers(-2, 3, (N, t)) / 2.0, float(rng.uniform(1, N / 2)), float(rng.uniform(1.0 / t, 0.6))
        run = boost("lpboost", LimitedClass(GivenMargins(U), vote_caps(t, share)), nu=nu, epsilon=1e-6)
        certificate = certify_limits(run)
        check_interval(certificate, best_within_limits(U, np.ones(N), nu, np.eye(t), np.full(t, share)))
        assert certificate.w is None or certificate.w.max() <= share


def test_votes_are_monotone_and_as_good_as_those_of_all_stumps_of_these_directions() -> None:
    rng = np.random.default_rng(5)
    for _ in range(many(100, 3)):
        N, k = int(rng.integers(6, 12)), 3
        Z, labels = rng.integers(0, 4, (N, k)).astype(float), np.where(np.arange(N) % 2, 1, -1)
        Z[:, 0] = np.arange(N) % 4
        directions, nu = rng.integers(-1, 2, k), float(rng.uniform(1, N / 2))
        directions[0] = 1
        run = boost("lpboost", LimitedClass(DecisionStumps(Z, labels), monotone_votes(directions)), nu=nu, epsilon=1e-6)
        certificate = certify_limits(run)
        V, features = stump_columns(Z, labels, True)
        upward = np.tile([1, -1], len(features) // 2)
        is_allowed = directions[features] * upward >= 0
        no_rows = np.zeros((0, int(is_allowed.sum())))
        check_interval(certificate, best_within_limits(V[:, is_allowed], np.ones(N), nu, no_rows, np.zeros(0)))
        assert certificate.w is not None and certificate.values == [0.0]
        grid = np.arange(4.0)[:, np.newaxis] * (np.arange(k) == 0) + Z[0] * (np.arange(k) > 0)
        votes = np.column_stack([h(grid) for h in run.hypotheses]) @ certificate.w
        assert (np.diff(votes) >= -1e-15).all()


@pytest.mark.thorough
def test_data_of_each_example_and_copies_go_with_the_limits() -> None:
    """Offsets and a reference distribution have one value for each row, also for rows of multiplicity 0."""
    c = np.where(np.arange(40) % 5 == 0, 0.0, 1.0)
    limits = [Budget(COSTS, 0.3), *equal_mean_margins(X[:, 2] > 0, 0.05, c)]
    oracle, offsets = LimitedClass(DecisionStumps(X, y, c), limits), np.linspace(-0.2, 0.2, 40)
    shifted = prototype(
        "shifted",
        lambda p, examples: Tilted(CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)), p.offsets),
        nu=parameter("the number of examples", COUNT),
        offsets=parameter("the offsets of the margins", PER_EXAMPLE),
    )
    certificate = certify_limits(boost(shifted, oracle, nu=10.0, offsets=offsets, epsilon=1e-4))
    V, features = stump_columns(X[c > 0], y[c > 0], True)
    A = np.array([COSTS[features], *(limit.slopes[c > 0] @ V for limit in limits if isinstance(limit, MarginLimit))])
    right_sides = np.array([limit.limit for limit in limits])
    best = best_within_limits(V, c[c > 0], 10.0, A, right_sides, offsets[c > 0])
    assert best is not None and certificate.interval.gap <= 1.1e-4
    assert certificate.interval.lower - TOL <= best <= certificate.interval.upper + TOL
    reference = c * np.linspace(1.0, 2.0, 40)
    run = boost("erlpboost", oracle, nu=10.0, eta=20.0, d0=reference / reference.sum(), epsilon=0.05)
    assert pickle.loads(pickle.dumps(run)).certificate.lower == run.certificate.lower


class Heuristic(DecisionStumps):
    """Another class of hypotheses than the stumps that it inherits."""

    def best(self, query: Query) -> Any:
        return super().best(query)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LimitedClass(BinnedStumps(X, y), Budget(COSTS, 0.4)), r"\bbudget\b.*\bBinnedStumps\b.*\bUse\b"),
        (lambda: LimitedClass(Heuristic(X, y), Budget(COSTS, 0.4)), r"\bbudget\b.*\bHeuristic\b.*\bUse\b"),
        (lambda: LimitedClass(DecisionStumps(X, y), []), r"\blimits\b.*\[\].*\bPass\b"),
        (lambda: boost("lpboost", limited(), nu=10.0, two_sided=True), r"\blargest edge with its sign\b"),
        (lambda: boost("softboost", limited(), nu=10.0), r"\blargest edge with its sign\b"),
        (lambda: boost("adaboost", limited(), max_rounds=2), r"\bsolved over all hypotheses\b"),
        (lambda: certify_limits(boost("lpboost", DecisionStumps(X, y), nu=20.0)), r"\bneeds a run\b.*\bLimitedClass\b"),
        (lambda: vote_caps(4, 0.2), r"\[0\.25, 1\].*\b0\.2\b.*\bPass\b"),
        (lambda: equal_mean_margins(X[:, 0] > 0, 0.0), r"\btolerance\b.*\bpositive\b"),
    ],
)
def test_what_cannot_be_priced_or_proved_is_refused_in_words(make: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LimitedClass(DecisionStumps(X, y), Budget(COSTS[:2], 0.4)), r"\b8 groups\b.*got 2\b"),
        (lambda: LimitedClass(DecisionStumps(X, y), MarginLimit(np.ones(3) / 3, 0.4)), r"\b40 rows\b.*got 3\b"),
        (
            lambda: LimitedClass(RegressionStumps(X, y, radius=2.0), MarginLimit(np.ones(40) / 40, 0.4)),
            r"\b80 rows\b.*got 40\b.*\bRegressionStumps has two\b",
        ),
        (lambda: LimitedClass(GivenMargins(np.sign(X[:, :2])), monotone_votes([1, -1])), r"\b2 groups\b.*got 4\b"),
        (lambda: monotone_votes([2, 0]), r"\bdirections\b.*\bto 2\b.*\bPass\b"),
        (lambda: Budget(np.array([2.0]), 1.0), r"\[-1, 1\].*\bDivide\b"),
        (lambda: MarginLimit(np.ones(3), 0.4), r"\bat most 1\b.*\bDivide\b"),
        (lambda: equal_mean_margins([0, 1, 0, 1], 0.1), r"\bBooleans\b.*\bint64\b.*\bpass a comparison\b.*groups == 1"),
        (lambda: equal_mean_margins([[True, False]], 0.1), r"\bBooleans\b.*\(1, 2\)"),
        (lambda: equal_mean_margins(np.ones(4, dtype=bool), 0.1), r"\bboth groups\b"),
        (lambda: equal_mean_margins(np.arange(4), 0.1), r"\bTrue or False\b"),
        (lambda: equal_mean_margins(np.arange(4) > 1, 0.1, [0, 0, 1, 1]), r"\bboth groups\b.*\b2 and 0\b"),
    ],
)
def test_numbers_that_state_no_limit_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()


def test_margin_limits_take_every_oracle() -> None:
    fair = equal_mean_margins(X[:, 2] > 0, 0.05)
    oracle: Oracle = LimitedClass(BinnedStumps(X, y, bins=4), fair)
    certificate = certify_limits(boost("lpboost", oracle, nu=15.0, epsilon=1e-4))
    assert certificate.w is not None and certificate.interval.gap <= 1.1e-4


SMALL = np.array([[1.0, 0.5], [0.8, 0.9]])


def small_class(limit: float) -> LimitedClass:
    return LimitedClass(GivenMargins(SMALL), Budget(np.array([1.0, 0.0]), limit))


def test_the_limits_are_those_of_the_oracle_and_not_of_the_formulation() -> None:
    formulation = boost("lpboost", small_class(0.1), nu=1.0, epsilon=1e-6).problem.formulation
    interval = certify_limits(boost(formulation, small_class(1.0), nu=1.0, epsilon=1e-6)).interval
    assert interval.lower <= 5 / 6 <= interval.upper and interval.gap <= 1e-5
    several = LimitedClass(GivenMargins(SMALL), [Budget(np.array([1.0, 0.0]), 0.1), Budget(np.zeros(2), 1.0)])
    interval = certify_limits(boost(formulation, several, nu=1.0, epsilon=1e-6)).interval
    assert interval.lower <= 0.55 <= interval.upper and interval.gap <= 1e-5
    with pytest.raises(OptionError, match=r"\bLimitedClass\b.*\bbase\b"):
        boost(formulation, GivenMargins(SMALL), nu=1.0)


def test_limits_of_limits_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\bwithout limits\b.*\bone list\b"):
        LimitedClass(small_class(0.5), MarginLimit(np.array([0.0, 0.1, 0.0]), 0.5))


def test_slopes_of_rows_that_do_not_count_are_refused() -> None:
    V, c = np.vstack([SMALL, [-1.0, -1.0]]), [1, 1, 0]
    for slopes, limit in (([0, 0, 1.0], -0.5), ([0, 0, -1.0], 0.5)):
        with pytest.raises(ProblemError, match=r"\bmultiplicity 0\b.*\bc\b"):
            LimitedClass(GivenMargins(V, c=c), MarginLimit(np.array(slopes), limit))
    groups, counts = np.array([True, True, False, False]), [1, 1, 0, 1]
    rows = GivenMargins(np.vstack([V, SMALL[:1]]), c=counts)
    with pytest.raises(ProblemError, match=r"\bmultiplicity 0\b"):
        LimitedClass(rows, equal_mean_margins(groups, 0.05))
    LimitedClass(rows, equal_mean_margins(groups, 0.05, counts))


def test_a_sum_of_slopes_above_1_by_rounding_leaves_the_limit_the_same() -> None:
    slopes = np.full(2, 0.5 + 2.5e-13)
    limit = MarginLimit(-slopes, -1 - 4e-13)
    assert (limit.slopes * 2 == -slopes).all() and limit.limit * 2 == -1 - 4e-13
    oracle = LimitedClass(GivenMargins(np.array([[1.0, -1.0], [1.0, -1.0]])), limit, 1e14)
    interval = certify_limits(boost("lpboost", oracle, nu=1.0, epsilon=1e-6)).interval
    assert interval.lower <= 1.0 <= interval.upper


@pytest.mark.parametrize(("price", "limit"), [(1e308, 0.0), (1.0, -1e308), (1.0, 1e308)])
def test_prices_and_limits_whose_products_overflow_are_refused(price: float, limit: float) -> None:
    with pytest.raises((OptionError, ProblemError), match=r"\bat most 1e\+100\b"):
        LimitedClass(GivenMargins(SMALL), Budget(np.array([1.0, 0.0]), limit), price)


def test_a_run_of_a_prototype_says_which_formulation_to_pass(tmp_path: Path) -> None:
    costly, cheap = (
        prototype(
            name,
            lambda p, examples: formula("0.01*d*d", CappedSimplex(examples.c, p.nu)),
            nu=parameter("the least number of examples that share the weight", COUNT),
        )
        for name in ("costly", "cheap")
    )
    features = np.random.default_rng(0).normal(size=(20, 2))
    stumps = DecisionStumps(features, np.where(features.sum(axis=1) > 0, 1, -1))
    for oracle, addition in ((stumps, ""), (LimitedClass(stumps, Budget(np.array([1.0, 0.2]), 0.5)), ", without its")):
        run = boost(costly, oracle, nu=4, epsilon=0.5)
        run.save(tmp_path / "run.npz")
        with pytest.raises(
            DataError,
            match=rf"unknown formulation 'costly': .*\bRun\.load\(path, .*\){addition}",
        ):
            Run.load(tmp_path / "run.npz")
        with pytest.raises(DataError, match=rf"of costly, not of cheap: pass the formulation of the run{addition}"):
            Run.load(tmp_path / "run.npz", cheap)
        np.testing.assert_array_equal(Run.load(tmp_path / "run.npz", costly).w, run.w)
    loaded = Run.load(tmp_path / "run.npz", costly)
    with pytest.raises(OptionError, match=r"with the same limits: LimitedClass\(oracle, limits\)"):
        loaded.verify_class(stumps)
    with pytest.raises(OptionError, match=r"start must be a run over the same examples and class"):
        boost(costly, stumps, nu=4, epsilon=0.5, start=loaded)
