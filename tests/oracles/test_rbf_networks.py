"""RBF networks as hypotheses: their values, what they are fitted to, how they boost and what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import typechecker

from boostopt import DataError, OptionError, ProblemError, Run, boost
from boostopt.instances import banana
from boostopt.oracles import Query, RBFSettings
from boostopt.oracles.hypothesis_serialization import shipped_from_state, to_state
from boostopt.oracles.rbf.network_fitting import fit_rbf
from boostopt.oracles.rbf.radial_basis_network import RBFNetwork
from boostopt.oracles.rbf.rbf_oracle import RBFHypothesis, RBFNetworks


def bananas(*arguments: Any, **options: Any) -> Any:
    """The data, not typed: X and y of a data set may be missing, these are not."""
    return banana(*arguments, **options)


DATA = bananas(80, noise=0.1)
X, y = DATA.X, DATA.y
D = np.random.default_rng(0).dirichlet(np.ones(80))
ONE = RBFNetwork(np.array([[0.0, 0.0], [1.0, 0.5]]), np.array([1.0, 0.5]), np.array([2.0, -3.0]))


def hypothesis(column: Any) -> RBFHypothesis:
    assert isinstance(column.hypothesis, RBFHypothesis)
    return column.hypothesis


@pytest.mark.parametrize(
    "values, transform", [("sign", np.sign), ("tanh", np.tanh), ("clip", lambda f: np.minimum(1, np.maximum(-1, f)))]
)
def test_values_are_made_from_those_of_the_network(values: str, transform: Any) -> None:
    h = RBFHypothesis(0, values, ONE)(X)
    f = [2 * np.exp(-(x @ x) / 2) - 3 * np.exp(-((x[0] - 1) ** 2 + (x[1] - 0.5) ** 2) / 0.5) for x in X]
    np.testing.assert_allclose(h, transform(np.array(f)), atol=1e-12)
    assert np.abs(h).max() <= 1
    np.testing.assert_array_equal(RBFHypothesis(0, values, ONE)(scipy.sparse.csr_array(X)), h)


@pytest.mark.parametrize("values", ["sign", "tanh", "clip"])
def test_a_fit_to_the_weights_is_a_column_with_its_edge(values: str) -> None:
    oracle = RBFNetworks(X, (y + 1) // 2, K=8, values=values)
    answer = oracle.best(Query(D, count=3))
    assert answer.edge_bound is None
    (column,) = answer.columns
    np.testing.assert_array_equal(column.margins, y * column.hypothesis(X))
    assert column.edge == pytest.approx(float(column.margins @ D), abs=1e-14)
    assert column.edge > 0.5
    assert (column.margins.dtype == np.int8) == (values == "sign")
    assert {"0", "8"} <= set(str(column.hypothesis).replace(",", "").split())
    # It is the fit to N d from the start of the first call.
    network = fit_rbf(X, y, 80 * D, K=8, random_state=np.random.default_rng([0, 0]))
    np.testing.assert_allclose(hypothesis(column).network.value(X), network.value(X), atol=1e-6)


def test_multiplicities_say_how_many_examples_there_are() -> None:
    """The regularisation is lambda / sum c: only then is c = 3 three copies."""
    c = np.full(80, 3.0)
    network = hypothesis(RBFNetworks(X, y, c, K=5, lambda_=100.0).best(Query(D)).columns[0]).network
    tripled = fit_rbf(X, y, 240 * D, K=5, lambda_=100.0, random_state=np.random.default_rng([0, 0]))
    np.testing.assert_allclose(network.value(X), tripled.value(X), atol=1e-8)
    assert RBFNetworks(X, y, np.where(np.arange(80) < 30, 0.0, 1.0)).N == 50


def test_the_negation_is_returned_for_a_negative_edge_if_it_belongs_to_the_class() -> None:
    """One bump over many examples of class 1 is positive everywhere, although the two distant examples weigh more."""
    points, labels = np.array([[-3.0], [3.0], *[[0.0]] * 18]), np.array([-1, -1, *[1] * 18])
    d = np.array([0.275, 0.275, *[0.025] * 18])
    for values in ("sign", "tanh", "clip"):
        options: Any = {"K": 1, "iterations": 0, "values": values}
        column = RBFNetworks(points, labels, reflexive=False, **options).best(Query(d)).columns[0]
        negation = RBFNetworks(points, labels, **options).best(Query(d)).columns[0]
        if values == "sign":
            assert column.edge == pytest.approx(-0.1, abs=1e-15)
            assert negation.edge == pytest.approx(0.1, abs=1e-15)
            np.testing.assert_array_equal(negation.margins, -column.margins)
            np.testing.assert_array_equal(negation.hypothesis(points), -column.hypothesis(points))
        else:  # of their size the far ones count little
            assert negation.edge == column.edge > 0.3
        np.testing.assert_array_equal(negation.margins, labels * negation.hypothesis(points))


def test_calls_start_anew_and_are_repeated_by_their_number() -> None:
    oracle, again = RBFNetworks(X, y, K=8), RBFNetworks(X, y, K=8)
    first, second = (oracle.best(Query(D)).columns[0].hypothesis for _ in range(2))
    assert first != second
    assert oracle.state() == {"calls": 2}
    again.restore({"calls": 1})
    assert again.best(Query(D)).columns[0].hypothesis == second
    assert RBFNetworks(X, y, K=8, random_state=1).best(Query(D)).columns[0].hypothesis != first


def test_a_hypothesis_comes_back_from_its_state() -> None:
    transform = RBFHypothesis(3, "tanh", ONE)
    state = to_state(transform)
    assert state["kind"] == "rbf"
    again = shipped_from_state(state)
    assert again == transform and hash(again) == hash(transform) and again != RBFHypothesis(3, "clip", ONE)
    np.testing.assert_array_equal(again(X), transform(X))
    for invalid, reason in (
        ({"widths": np.array([1.0, -1.0])}, r"\bwidths\b"),
        ({"number": 0.5}, r"\bnumber must be a whole number; got 0\.5\b"),
        ({"values": "step"}, r"\bvalues\b.*'step'"),
        ({"centres": None}, r"\bcentres\b.*\breal\b.*\bobject\b"),
    ):
        with pytest.raises(DataError, match=rf"\brbf\b.*`state`.*{reason}"):
            shipped_from_state({**state, **invalid})


@pytest.mark.thorough
def test_runs_over_networks_survive_files(tmp_path: Path) -> None:
    nu = 24
    run = boost("erlpboost", RBFNetworks(X, y, K=5, values="tanh"), nu=nu, epsilon=0.05, max_rounds=15)
    # The soft margin of one hypothesis is the mean of its nu smallest margins; together they have a larger one.
    soft_margins = [float(np.sort(y * h(X))[:24].mean()) for h in run.hypotheses]
    assert run.certificate.lower > max(soft_margins) + 0.05
    np.testing.assert_allclose(np.sign(run.decision_function(X)), run.predict(X))
    assert (run.predict(X) == y).mean() > 0.85
    run.save(tmp_path / "run.npz")
    again = Run.load(tmp_path / "run.npz")
    unseen = bananas(50, random_state=5).X
    np.testing.assert_array_equal(again.decision_function(unseen), run.decision_function(unseen))


def test_settings_come_whole_or_one_by_one() -> None:
    whole = RBFNetworks(X, y, settings=RBFSettings(K=5, iterations=4), K=8)
    assert whole.digest == RBFNetworks(X, y, K=8, iterations=4).digest != RBFNetworks(X, y, K=8).digest
    options: Any = {"K": 5}
    with typechecker.unchecked(), pytest.raises(OptionError, match=r"^settings\b.*\bRBFSettings\b.*\{'K': 5\}"):
        RBFNetworks(X, y, settings=options)


def test_digests_tell_options_and_data_apart() -> None:
    one = RBFNetworks(X, y).digest
    assert one == RBFNetworks(X, y).digest
    for options in ({"K": 3}, {"iterations": 3}, {"lambda_": 1.0}, {"values": "clip"}, {"reflexive": False}):
        assert RBFNetworks(X, y, **as_any(options)).digest != one
    assert RBFNetworks(X, -y).digest != one


def as_any(options: Any) -> Any:
    return options


def test_options_out_of_range_are_errors() -> None:
    with pytest.raises(OptionError, match=r"\bvalues 'step'"):
        RBFNetworks(X, y, values="step")
    with pytest.raises(OptionError, match=r"^K\b.* 1;.* 0\."):
        RBFNetworks(X, y, K=0)
    with pytest.raises(OptionError, match=r"^random_state\b.* 0;.* -1\."):
        RBFNetworks(X, y, random_state=-1)
    with pytest.raises(ProblemError, match=r"\bd\b.*\ball 0\b"):
        RBFNetworks(X, y).best(Query(0 * D))
    with pytest.raises(ProblemError, match=r"\boutput;.*\bnumber -1 "):
        RBFHypothesis(-1, "sign", ONE)
    with pytest.raises(ProblemError, match=r"^X\b.* 2 .*\(3, 4\)"):
        RBFHypothesis(0, "sign", ONE)(np.ones((3, 4)))
