"""The corrective rounds without certificates, of the papers' experiments: they are the rounds of `boost`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from benchmarks.evidence.dissertation_figures import A9A_LIMITS, continuations
from benchmarks.evidence.dissertation_runs import CLASSES, fit, points_of
from benchmarks.evidence.dissertation_steps import BinaryFeatures, take_steps
from benchmarks.evidence.experiment import Results
from boostopt.errors import ProblemError

N = 60


def examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = scipy.sparse.csr_array((rng.random((N, 9)) < 0.4).astype(float))
    return X, np.where(rng.random(N) < 0.3 + 0.4 * X[:, [0]].toarray().ravel(), 1.0, -1.0)


@pytest.mark.parametrize("algorithm", ["corr", "corr bin"])
@pytest.mark.parametrize("hypotheses", list(CLASSES))
@pytest.mark.parametrize(("eta", "ends"), [(3.0, True), (200.0, False)])
def test_rounds_without_certificates_are_those_of_boost(
    algorithm: str, hypotheses: str, eta: float, ends: bool
) -> None:
    X, y = examples()
    fitted = fit(algorithm, CLASSES[hypotheses](X, y), 0.0, eta, 0.02, 100)
    features = BinaryFeatures(X, y, hypotheses)
    steps = take_steps(features, "bin" in algorithm, eta, 0.02, 100)
    facts = fitted.facts
    assert (steps.rounds, len(steps.weights)) == (facts["rounds"], facts["hypotheses"])
    assert steps.ended_by_rule == facts["held"] == ends
    np.testing.assert_array_equal(steps.predict(features, X), fitted.run.predict(X))
    np.testing.assert_allclose(sorted(steps.weights.values()), np.sort(fitted.run.w), atol=1e-9)


def test_features_that_are_neither_0_nor_1_are_refused() -> None:
    X, y = examples()
    with pytest.raises(ProblemError, match="must be 0 or 1; got values up to 3"):
        BinaryFeatures(3.0 * X, y, "raw")


def test_a_continuation_takes_the_place_of_a_run_that_was_cut_off() -> None:
    point = {"eta": 1000.0, "rounds": A9A_LIMITS[True], "held": False, "seconds": 2.0, "test": 0.3, "hypotheses": 2}
    selection: dict[str, Any] = {"data": "a9a", "seed": 0, "hypotheses": "stumps"}
    unit = {
        "parameters": {**selection, "algorithm": "corr"},
        "result": {"points": [{**point, "eta": 1.0, "held": True}, point]},
    }
    results = Results([unit])
    (continuation,) = continuations("a9a", results)
    assert (continuation["continuation"], continuation["eta"], continuation["rounds"]) == ("corr", 1000.0, 20_000)
    assert points_of(results, unit["parameters"])[1] == point
    result = {"rounds": 5000, "held": True, "test": 0.2, "hypotheses": 40}
    results.add({"parameters": continuation, "result": result})
    first, second = points_of(results, unit["parameters"])
    assert first["rounds"] == A9A_LIMITS[True]
    assert second == {"eta": 1000.0, "seconds": 20.0, **result}
