"""Features are checked once for many hypotheses, whatever they are stored in, and before anything is done with them."""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from boostopt import ProblemError, boost
from boostopt.boosting.run.combined_hypothesis import weighted_vote
from boostopt.oracles import (
    DecisionStumps,
    Feature,
    GivenMargins,
    Hypothesis,
    KernelColumns,
    MatrixColumn,
    Query,
    RawFeatures,
    Stump,
    evaluate,
    feature_validation,
)
from boostopt.oracles.base import StateDict
from boostopt.oracles.feature_validation import FeatureMatrix

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = np.where(X[:, 0] + RNG.normal(size=40) > 0, 1, -1)
D = RNG.dirichlet(np.ones(40))


class Table:
    """A table that np.asarray turns into an array, like a table of pandas; X[rows] means something else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape = values, values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)


class UserHypothesis(Hypothesis):
    """A hypothesis of one's own: a function of X as it was passed."""

    kind = "own"

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, X: Any) -> Any:
        return self.function(X)

    def __str__(self) -> str:
        return "own"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, operand: object) -> bool:
        return self is operand

    def state(self) -> StateDict:
        return {}

    @classmethod
    def restored(cls, state: StateDict) -> UserHypothesis:
        raise NotImplementedError


def int64_indices(values: np.ndarray) -> Any:
    matrix = scipy.sparse.csr_array(values)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def unsorted_with_duplicates(values: np.ndarray) -> Any:
    """CSR rows in which every entry stands twice with half of its value, in descending order."""
    N, count = values.shape
    indices = np.tile(np.repeat(np.arange(count)[::-1], 2), N)
    matrix = scipy.sparse.csr_array(
        (values[:, ::-1].repeat(2) / 2, indices, np.arange(N + 1) * 2 * count), values.shape
    )
    assert not matrix.has_canonical_format
    return matrix


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "table": Table,
    "objects": lambda values: values.astype(object),
    "Fortran order": np.asfortranarray,
    "other byte order": lambda values: values.astype(values.dtype.newbyteorder(">")),
    "every second row": lambda values: np.repeat(values, 2, axis=0)[::2],
    "matrix": lambda values: np.ma.array(values),
    "int64 indices": int64_indices,
    "unsorted, with duplicates": unsorted_with_duplicates,
    "lil": scipy.sparse.lil_array,
    "dok": scipy.sparse.dok_array,
}
ORACLES: dict[str, Callable[[Any, Any], Any]] = {
    "stumps": DecisionStumps,
    "raw": RawFeatures,
    "linear": KernelColumns,
    "rbf": lambda X, y: KernelColumns(X, y, "rbf", gamma=0.5),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("values", [X, X[:, :1], np.round(2 * X), np.round(2 * X).astype(np.int16), X > 0.5], ids=str)
def test_answers_do_not_depend_on_the_storage_of_features(kind: str, form: str, values: np.ndarray) -> None:
    if form == "unsorted, with duplicates":
        values = values.astype(np.float64)
    features = FORMS[form](values)
    expected = ORACLES[kind](np.asarray(values, dtype=np.float64), y).best(Query(D, 3)).columns
    answer = ORACLES[kind](features, y).best(Query(D, 3)).columns
    assert [column.hypothesis for column in answer] == [column.hypothesis for column in expected]
    for one, expected_column in zip(answer, expected, strict=True):
        np.testing.assert_allclose(one.margins, expected_column.margins, atol=1e-14)
        np.testing.assert_allclose(y * one.hypothesis(features), expected_column.margins, atol=1e-14)


@pytest.mark.parametrize("kind", ORACLES)
def test_two_examples_with_one_feature_are_told_apart(kind: str) -> None:
    (column,) = ORACLES[kind](np.array([[0.0], [1.0]]), [-1, 1]).best(Query(np.array([0.5, 0.5]), 1)).columns
    assert column.edge > 0.1


@pytest.mark.parametrize("features", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix], ids=str)
def test_many_hypotheses_have_the_values_that_each_has_alone(features: Any) -> None:
    hypotheses = [
        Stump(1, 0.2, -1, 3),
        Feature(0, 3.0, 1, 3),
        KernelColumns(X, y, "rbf").best(Query(D)).columns[0].hypothesis,
        UserHypothesis(lambda X: np.asarray(X.sum(axis=1)).ravel() / 100),
        Stump(2, 0.0, 1, 3),
    ]
    together = list(evaluate(hypotheses, features(X)))
    for h, hypothesis in zip(together, hypotheses, strict=True):
        np.testing.assert_array_equal(h, hypothesis(features(X)))
        np.testing.assert_allclose(h, hypothesis(X), atol=1e-15)
    for h, values in zip(
        evaluate([MatrixColumn(2), MatrixColumn(0, -1)], features(X / 10)), (X[:, 2], -X[:, 0]), strict=True
    ):
        np.testing.assert_array_equal(h, values / 10)


def test_features_are_checked_once_however_many_hypotheses_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[Any] = []
    check = feature_validation.checked_features

    def counted(X: Any) -> Any:
        checks.append(X)
        return check(X)

    monkeypatch.setattr(feature_validation, "checked_features", counted)
    hypotheses = [Stump(q % 3, 0.1 * q, 1, 3) for q in range(50)]
    weighted_vote(hypotheses, np.ones(50), X)
    assert len(checks) == 1
    run = boost("lpboost", DecisionStumps(X, y), nu=8, epsilon=0.05, test=(X, y))
    checks.clear()
    run.decision_function(X)
    assert len(checks) == 1
    list(evaluate([UserHypothesis(lambda X: np.zeros(len(X)))], [["a"]] * 40))
    assert len(checks) == 1  # hypotheses of one's own take what they like


def test_the_test_examples_of_a_run_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    check = feature_validation.checked_features
    monkeypatch.setattr(feature_validation, "checked_features", lambda X: (counts.append(1), check(X))[1])
    run = boost("lpboost", DecisionStumps(X, y), nu=8, epsilon=0.05, test=(X, y))
    assert run.rounds > 3
    assert len(counts) == 1
    np.testing.assert_allclose(run.trace["test_error"][-1], np.mean(run.predict(X) != y), atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("features", [np.asarray, scipy.sparse.csr_array], ids=str)
def test_a_thousand_stumps_on_thirty_thousand_examples_take_less_than_two_seconds(features: Any) -> None:
    rng = np.random.default_rng(1)
    wide = features((rng.random((30_000, 123)) < 0.11).astype(np.float64))
    hypotheses = [Stump(int(j), 0.5, 1, 123) for j in rng.integers(0, 123, 1000)]
    w = rng.dirichlet(np.ones(1000))
    began = time.process_time()
    f = weighted_vote(hypotheses, w, wide)
    assert time.process_time() - began < 2  # measured 0.25 s, of which the run-time checks of types are a part
    rows = wide[[0, 17]]
    expected = sum(w[q] * hypotheses[q](rows) for q in range(1000))
    np.testing.assert_allclose(f[[0, 17]], expected, atol=1e-12)


def test_without_weight_all_values_are_0_and_rows_are_counted_of_anything() -> None:
    for matrix in (X, X.tolist(), Table(X), scipy.sparse.csr_array(X)):
        np.testing.assert_array_equal(weighted_vote([Stump(0, 0.0, 1, 3)], np.zeros(1), matrix), np.zeros(40))
    with pytest.raises(ProblemError, match=r"^X\b.*\brow\b.* 3: "):
        weighted_vote([Stump(0, 0.0, 1, 3)], np.zeros(1), 3)


@pytest.mark.parametrize("values", [np.zeros(39), np.zeros((40, 1)), np.full(40, np.nan), np.full(40, "a"), 0.0])
def test_own_hypotheses_that_return_something_else_are_an_error(values: Any) -> None:
    came = re.escape(f"{np.shape(values)} of {np.asarray(values).dtype}")
    with pytest.raises(ProblemError, match=rf"\b40\b.*\bown\b.*{came}"):
        list(evaluate([UserHypothesis(lambda X: values)], X))


def test_own_hypotheses_boost_and_predict() -> None:
    """The hypotheses receive X unchanged, in this test a list of words."""
    words = ["aa", "ab", "ba", "bb"]
    hypotheses = [
        UserHypothesis(lambda X: np.array([1.0 if word[0] == "a" else -1.0 for word in X])),
        UserHypothesis(lambda X: np.ones(4)),
    ]
    np.testing.assert_array_equal(weighted_vote(hypotheses, np.array([3.0, -1.0]), words), [0.5, 0.5, -1.0, -1.0])


def test_features_can_be_pickled_after_they_were_checked() -> None:
    one = FeatureMatrix(scipy.sparse.csr_array(X))
    one.column(1, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).column(1, 3), X[:, 1])


def with_index(index: int) -> Any:
    matrix = scipy.sparse.csr_array(X)
    matrix.indices[5] = index
    return matrix


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_index(10**6), r"^X\b.*\bindices\b.*: .*\b3\b"),
        (with_index(-3), r"^X\b.*\bindices\b.*: "),
        (scipy.sparse.csr_array(X + 0j), r"^X\b.*;.*\bcomplex128\b.*\bX\.real\b.*\bimaginary parts\b"),
        (X + 0j, r"^X\b.*: .*\bcomplex128;"),
        (X.astype(str), r"^X\b.*: .*<U32;"),
        (np.full((40, 3), np.datetime64("2020-01-01")), r"^X\b.*: .*\bdatetime64"),
        ([[10**400, 1, 1]] * 40, r"^X\b.*: .*\bint\b.*\bfloat;"),
        (np.full((40, 3), np.longdouble("1e400")), r"^X\b.*\binf\b.* 0, .* 0\."),
        (np.where(X > 1, np.array(None), X), r"^X\b.*\bnan\b.*\brow\b"),
        (np.ma.masked_greater(X, 1), r"^X\b.*\bmasked\b.*\bX\.filled\b"),
        (scipy.sparse.coo_array(X[:, 0]), r"^X\b.*; \w+ \(40,\)\."),
        (None, r"^X\b.*; \w+ \(\)\."),
        ([[1.0, 2.0, 3.0], [1.0]] * 20, r"^X\b.*: .*\binhomogeneous\b"),
    ],
    ids=[
        "index beyond",
        "index below",
        "sparse complex",
        "complex",
        "text",
        "dates",
        "long",
        "overflow",
        "objects",
        "masked",
        "a row",
        "none",
        "ragged",
    ],
)
def test_invalid_features_are_errors_before_learning_and_before_predicting(X: Any, message: str) -> None:
    for refuse in (lambda: DecisionStumps(X, y), lambda: Stump(0, 0.0, 1, 3)(X)):
        with pytest.raises(ProblemError, match=message):
            refuse()


@pytest.mark.parametrize("pair", [(1e308, 1e308), (np.inf, -np.inf)])
def test_duplicates_whose_sum_is_not_finite_are_an_error(pair: tuple[float, float]) -> None:
    sparse = scipy.sparse.csr_array((np.array(pair), np.array([1, 1]), np.array([0, 0, 2])), shape=(2, 3))
    with pytest.raises(ProblemError, match=r"^X\b.*\b(inf|nan)\b.* 1, .* 1\."):
        DecisionStumps(sparse, [-1, 1])


def test_a_sparse_matrix_stays_as_it_was_passed() -> None:
    for matrix in (unsorted_with_duplicates(X), int64_indices(X)):
        copies = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
        DecisionStumps(matrix, y)
        Stump(0, 0.0, 1, 3)(matrix)
        for part, copy in zip((matrix.data, matrix.indices, matrix.indptr), copies, strict=True):
            np.testing.assert_array_equal(part, copy)
            assert part.dtype == copy.dtype


def test_the_digest_does_not_depend_on_the_width_of_indices_or_the_order_of_entries() -> None:
    digest = DecisionStumps(scipy.sparse.csr_array(X), y).digest
    assert DecisionStumps(int64_indices(X), y).digest == digest
    assert DecisionStumps(unsorted_with_duplicates(X), y).digest == digest
    assert DecisionStumps(np.asfortranarray(X), y).digest == DecisionStumps(X, y).digest


def test_values_of_given_hypotheses_are_read_without_looking_at_the_others() -> None:
    H = np.array([[0.5, np.nan], [-1.0, 7.0]])
    np.testing.assert_array_equal(next(evaluate([MatrixColumn(0)], H)), [0.5, -1.0])
    oracle = GivenMargins(np.array([[0.5, -1.0], [-0.25, 1.0]]))
    assert weighted_vote(
        [column.hypothesis for column in oracle.best(Query(np.array([0.5, 0.5]), 2)).columns],
        np.array([0.5, 0.5]),
        H[:, [0, 0]],
    ).tolist() == [0.5, -1.0]
