"""Kernel columns: held against the whole kernel matrix, entry by entry."""

from __future__ import annotations

import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from boostopt import OptionError, ProblemError
from boostopt.oracles.base import Query
from boostopt.oracles.kernels import kernel_oracle as kernel_columns
from boostopt.oracles.kernels.kernel import Kernel, KernelColumn
from boostopt.oracles.kernels.kernel_oracle import KernelColumns

OPTIONS: tuple[dict[str, Any], ...] = (
    {"kernel": "linear"},
    {"kernel": "polynomial", "gamma": 0.5, "degree": 2},
    {"kernel": "polynomial", "gamma": 0.7, "degree": 3, "coef0": 2.0},
    {"kernel": "polynomial", "gamma": 1.0, "degree": 3, "coef0": 0.0},
    {"kernel": "rbf", "gamma": 0.3},
)


def value(x: np.ndarray, z: np.ndarray, options: dict[str, Any]) -> float:
    """K(x, z) in loops."""
    if options["kernel"] == "rbf":
        return math.exp(-options["gamma"] * sum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True)))
    product = math.fsum(float(a) * float(b) for a, b in zip(x, z, strict=True))
    if options["kernel"] == "linear":
        return product
    return (options["gamma"] * product + options.get("coef0", 1.0)) ** options["degree"]


def matrix(X: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    """h_k(x_n) of every hypothesis, a column of zeros for an example that gives none."""
    K = np.array([[value(x, z, options) for z in X] for x in X])
    scale = np.abs(K).max(axis=0)
    return K / np.where(scale > 0, scale, 1)


def random_examples(N: int = 40, features: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Examples whose norms differ by orders of magnitude, half of the entries 0."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, features)) * rng.lognormal(sigma=1.5, size=(N, 1)) * (rng.random((N, features)) < 0.5)
    y = rng.choice([-1, 1], N)
    return X, y, rng.dirichlet(np.full(N, 0.3))


@pytest.mark.thorough
@settings(deadline=None, max_examples=120)
@given(
    X=arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(1, 3)), elements=st.integers(-3, 3).map(float)),
    signs=st.lists(st.sampled_from([-1, 1]), min_size=7, max_size=7),
    weights=arrays(np.float64, 7, elements=st.floats(0, 1)),
    options=st.sampled_from(OPTIONS),
    reflexive=st.booleans(),
    sparse=st.booleans(),
    count=st.integers(1, 4),
)
def test_the_answers_have_the_largest_edges_of_the_whole_kernel_matrix(
    X: np.ndarray,
    signs: list[int],
    weights: np.ndarray,
    options: dict[str, Any],
    reflexive: bool,
    sparse: bool,
    count: int,
) -> None:
    y = np.array(signs[: len(X)])
    y[0], y[1], X[0, 0] = 1, -1, 2.0
    d = (weights[: len(X)] + 1e-3) / (weights[: len(X)] + 1e-3).sum()
    H = matrix(X, options)
    first = sorted({tuple(x): n for n, x in reversed(list(enumerate(X + 0.0)))}.values())
    if options["kernel"] == "linear" or options.get("coef0") == 0.0:
        first = [n for n in first if X[n].any()]
    edges = (y * d) @ H[:, first]
    expected = np.sort(np.abs(edges) if reflexive else edges)[::-1]
    oracle = KernelColumns(scipy.sparse.csr_array(X) if sparse else X, y, reflexive=reflexive, **options)
    for _ in range(2):  # the second time with scales that are known
        answer = oracle.best(Query(d, count))
        assert [column.edge for column in answer.columns] == pytest.approx(expected[:count], abs=1e-11)
        assert answer.edge_bound is not None
        assert expected[0] - 1e-15 <= answer.edge_bound <= expected[0] + 1e-9
        for column in answer.columns:
            hypothesis = column.hypothesis
            assert isinstance(hypothesis, KernelColumn)
            assert hypothesis.row in first
            h = hypothesis.sign * H[:, hypothesis.row]
            np.testing.assert_allclose(column.margins, y * h, atol=1e-12)
            np.testing.assert_allclose(hypothesis(X), h, atol=1e-12)
            np.testing.assert_allclose(hypothesis(scipy.sparse.coo_matrix(X)), h, atol=1e-12)
        assert len({column.hypothesis for column in answer.columns}) == len(answer.columns) == min(count, len(first))


@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("options", OPTIONS)
def test_no_edge_of_the_class_exceeds_the_bound_under_any_weights(options: dict[str, Any], reflexive: bool) -> None:
    X, y, _ = random_examples()
    H, rng = matrix(X, options), np.random.default_rng(0)
    oracle = KernelColumns(X, y, reflexive=reflexive, **options)
    for _ in range(30):
        d = rng.dirichlet(np.full(len(X), 0.1))
        edges = (y * d) @ H
        largest = float(np.abs(edges).max() if reflexive else edges.max())
        answer = oracle.best(Query(d))
        assert answer.edge_bound is not None
        assert largest - 1e-15 <= answer.edge_bound <= largest + 1e-9
        assert answer.columns[0].edge == pytest.approx(largest, abs=1e-12)


def test_the_negative_edge_nearest_0_is_found() -> None:
    # Not reflexive, features positive, nearly all weight on class -1: scales then raise an edge, and norms hide it.
    rng = np.random.default_rng(5)
    X, y = rng.random((50, 4)) ** 6 * rng.lognormal(sigma=2, size=(50, 1)), rng.choice([-1, 1], 50)
    H = matrix(X, {"kernel": "linear"})
    for _ in range(20):
        d = rng.dirichlet(np.where(y < 0, 1.0, 1e-3))
        answer = KernelColumns(X, y, reflexive=False).best(Query(d))
        edges = (y * d) @ H
        assert edges.max() < 0
        assert answer.columns[0].edge == pytest.approx(float(edges.max()), abs=1e-12)
        assert answer.edge_bound is not None
        assert answer.edge_bound >= edges.max()


def test_blocks_do_not_change_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, d = random_examples()
    for options in OPTIONS:
        whole = KernelColumns(X, y, **options).best(Query(d, 5))
        with monkeypatch.context() as patch:
            patch.setattr(kernel_columns, "BLOCK_BYTES", 8 * len(X) * 3)
            blocks = KernelColumns(scipy.sparse.csr_array(X), y, **options).best(Query(d, 5))
        assert [a.hypothesis for a in whole.columns] == [b.hypothesis for b in blocks.columns]
        for a, b in zip(whole.columns, blocks.columns, strict=True):
            np.testing.assert_allclose(a.margins, b.margins, atol=1e-13)


def test_the_linear_kernel_never_makes_the_kernel_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array((rng.random((3000, 20)) < 0.3).astype(float))
    y = rng.choice([-1, 1], 3000)
    sizes: list[int] = []
    block = Kernel.block

    def counted(self: Kernel, X: Any, Z: np.ndarray) -> np.ndarray:
        sizes.append(len(Z))
        return block(self, X, Z)

    monkeypatch.setattr(Kernel, "block", counted)
    oracle = KernelColumns(X, y)
    for seed in range(10):
        oracle.best(Query(np.random.default_rng(seed).dirichlet(np.ones(3000))))
    # For features 0 and 1, K(x_k, x_k) is the scale: one scale at the start, then at most one a call, and its column.
    assert set(sizes) == {1}
    assert len(sizes) <= 21


def test_equal_edges_go_to_the_first_example_whatever_scales_are_known() -> None:
    # One feature: up to rounding there is one hypothesis and its negation, under as many names as examples.
    x = np.random.default_rng(1).lognormal(sigma=3, size=60)[:, np.newaxis]
    y = np.where(np.arange(60) % 3, 1, -1)
    oracle = KernelColumns(x, y)
    rows: set[Any] = set()
    for seed in range(20):
        column = oracle.best(Query(np.random.default_rng(seed).dirichlet(np.ones(60)), 1 + seed % 3)).columns[0]
        assert isinstance(column.hypothesis, KernelColumn)
        rows.add(column.hypothesis.row)
    assert rows == {0}


def test_equal_examples_give_one_hypothesis() -> None:
    X = np.array([[1.0, -0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    for features in (X, scipy.sparse.csr_array(X)):
        columns = KernelColumns(features, [1, 1, -1, -1]).best(Query(np.full(4, 0.25), 4)).columns
        states = [column.hypothesis.state() for column in columns]
        assert sorted((state["row"], state["sign"]) for state in states) == [(0, 1), (2, -1)]


def test_an_example_without_features_has_no_hypothesis_in_the_linear_kernel() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    columns = KernelColumns(X, [1, -1, 1]).best(Query(np.full(3, 1 / 3), 3)).columns
    states = [column.hypothesis.state() for column in columns]
    assert [(state["row"], state["sign"]) for state in states] == [(1, -1), (2, 1)]
    assert len(KernelColumns(X, [1, -1, 1], "rbf", gamma=1.0).best(Query(np.full(3, 1 / 3), 3)).columns) == 3


def test_values_beyond_the_scale_are_cut() -> None:
    hypothesis = KernelColumns([[1.0], [-2.0]], [1, -1]).best(Query(np.array([0.5, 0.5]))).columns[0].hypothesis
    np.testing.assert_array_equal(hypothesis(np.array([[1.0], [-4.0], [100.0]])), [0.5, -1.0, 1.0])


@pytest.mark.parametrize("sparse", [False, True])
def test_the_values_are_scikit_learns(sparse: bool) -> None:
    X, y, d = random_examples()
    features = scipy.sparse.csr_array(X) if sparse else X
    for kernel, K in (
        ("rbf", rbf_kernel(X, gamma=1 / (X.shape[1] * X.var()))),
        ("polynomial", polynomial_kernel(X, degree=3, gamma=1 / (X.shape[1] * X.var()), coef0=1)),
    ):
        hypothesis = KernelColumns(features, y, kernel).best(Query(d)).columns[0].hypothesis
        assert isinstance(hypothesis, KernelColumn)
        k = hypothesis.row
        np.testing.assert_allclose(hypothesis(features), hypothesis.sign * K[:, k] / np.abs(K[:, k]).max(), atol=1e-12)


def test_a_multiplicity_is_a_row_given_so_often() -> None:
    X, y, _ = random_examples(12)
    c = np.array([2, 0, 1, 3, 1, 1, 2, 1, 0, 1, 1, 1])
    often = np.repeat(np.arange(12), c)
    once, repeated = KernelColumns(X, y, "rbf", c=c), KernelColumns(X[often], y[often], "rbf")
    assert (once.N, repeated.N) == (10, 14)
    np.testing.assert_array_equal(once.c, c[c > 0])
    np.testing.assert_array_equal(once.y, y[c > 0])
    assert once.kernel.gamma == pytest.approx(repeated.kernel.gamma, rel=1e-12)
    a = once.best(Query(c[c > 0] / 14)).columns[0]
    b = repeated.best(Query(np.full(14, 1 / 14))).columns[0]
    assert a.edge == pytest.approx(b.edge, abs=1e-13)
    assert isinstance(a.hypothesis, KernelColumn) and isinstance(b.hypothesis, KernelColumn)
    assert a.hypothesis.row == often[b.hypothesis.row]


def test_distances_far_from_the_origin_do_not_cancel() -> None:
    X, y, d = random_examples()
    reference = KernelColumns(X, y, "rbf", gamma=0.5).best(Query(d)).columns[0]
    far = KernelColumns(X + 2.0**30, y, "rbf", gamma=0.5).best(Query(d)).columns[0]
    np.testing.assert_allclose(reference.margins, far.margins, atol=1e-5)  # X itself is rounded to 2^-23
    np.testing.assert_allclose(y * far.hypothesis(X + 2.0**30), far.margins, atol=1e-15)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_hypothesis_is_restored_from_arrays_and_numbers(options: dict[str, Any]) -> None:
    X, y, d = random_examples()
    oracle = KernelColumns(X, y, **options)
    hypothesis = oracle.best(Query(d)).columns[0].hypothesis
    plain = {key: part.tolist() if isinstance(part, np.ndarray) else part for key, part in hypothesis.state().items()}
    for state in (hypothesis.state(), json.loads(json.dumps(plain))):
        again = KernelColumn.restored(state)
        assert again == hypothesis and hash(again) == hash(hypothesis)
        np.testing.assert_array_equal(again(X), hypothesis(X))
    assert pickle.loads(pickle.dumps(hypothesis)) == hypothesis
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(oracle)).best(Query(d)).columns[0].margins, oracle.best(Query(d)).columns[0].margins
    )
    assert oracle.state() == {}


def test_hypotheses_are_equal_by_row_sign_and_kernel() -> None:
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    linear, rbf = Kernel("linear"), Kernel("rbf", 0.5)
    different = {
        KernelColumn(row, sign, kernel, 1.0, 2, *nothing)
        for row in (0, 1)
        for sign in (-1, 1)
        for kernel in (linear, rbf)
    }
    assert len(different) == 8
    assert KernelColumn(0, 1, linear, 2.0, 3, *nothing) in different


def test_the_oracle_describes_itself() -> None:
    X = [[1.0], [2.0], [2.0]]
    assert re.search(r"\blinear\b.* 2 .*\bnegations$", str(KernelColumns(X, [1, -1, 1])))
    one = str(KernelColumns(X, [1, -1, 1], "rbf", gamma=0.5, reflexive=False))
    assert re.search(r"\brbf\b.*\bgamma 0\.5\b.* 2 ", one) and "negations" not in one
    polynomial = str(KernelColumns(X, [1, -1, 1], "polynomial", gamma=2.0))
    assert re.search(r"\bpolynomial\b.*\bdegree 3,", polynomial)
    assert re.search(r"\bgamma 2,.*\bcoef0 1\b", polynomial)
    nothing = np.array([], dtype=int), np.array([])
    for sign, minus in ((1, ""), (-1, "-")):
        column = KernelColumn(7, sign, Kernel("linear", 1.0), 1.0, 2, *nothing)
        assert re.match(rf"{minus}K\(x,.*\b7\),.*\blinear\b", str(column))


def test_the_digest_is_of_examples_kernel_and_class() -> None:
    X, y, _ = random_examples()
    digest = KernelColumns(X, y).digest
    assert digest == KernelColumns(X.copy(), (y + 1) // 2, gamma=3.0).digest  # the linear kernel has no gamma
    variants = [
        KernelColumns(X, -y),
        KernelColumns(X, y, reflexive=False),
        KernelColumns(X, y, "rbf"),
        KernelColumns(X, y, "rbf", gamma=1.0),
    ]
    assert len({digest, *(variant.digest for variant in variants)}) == 5


def test_examples_that_do_not_vary_have_gamma_1() -> None:
    assert KernelColumns([[2.0], [2.0]], [1, -1], "rbf").kernel == Kernel("rbf", 1.0)
    assert KernelColumns(scipy.sparse.csr_array([[2.0], [2.0]]), [1, -1], "rbf").kernel == Kernel("rbf", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rbff"}, r"\bkernel\b.*'rbff'.*'rbf'"),
        ({"kernel": "rbf", "gamma": 0.0}, r"^gamma\b.*\bNone\b.* 0\.0\."),
        ({"kernel": "polynomial", "gamma": math.inf}, r"^gamma\b.*\bNone\b.*\binf\."),
        ({"kernel": "polynomial", "degree": 0}, r"\bdegree\b.* 1000;.* 0\."),
        ({"kernel": "polynomial", "degree": 1001}, r"\bdegree\b.* 1000;.* 1001\."),
        ({"kernel": "polynomial", "coef0": math.nan}, r"^coef0\b.*\bfinite\b.*\bnan\."),
        ({"kernel": "polynomial", "coef0": -1.0}, r"^coef0\b.*\bat least 0\b.* -1\.0\."),
    ],
    ids=["misspelt", "gamma 0", "gamma inf", "degree 0", "degree 1001", "coef0 nan", "coef0 below 0"],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        KernelColumns([[1.0], [2.0]], [1, -1], **options)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((2, 2)), {}, r"\blinear\b.*\bX\b.* 0\. Pass\b"),
        (np.array([[1e200], [1.0]]), {}, r"\blinear\b.*\bfinite\b.*1e\+200\."),
        (
            np.array([[1e80], [1.0]]),
            {"kernel": "polynomial", "gamma": 1.0},
            r"\bpolynomial\b.*\bfinite\b.*1e\+80\.",
        ),
        (np.array([[1e200], [1.0]]), {"kernel": "rbf"}, r"\brbf\b.*\bfinite\b.*5e\+199\."),
        (np.array([[np.nan], [1.0]]), {}, r"^X\b.*\bnan\b.* 0,.* 0\."),
        (np.array([1.0, 2.0]), {}, r"^X\b.*; \w+ \(2,\)\."),
    ],
    ids=["zeros", "linear", "polynomial", "rbf", "nan", "a row"],
)
def test_examples_without_a_kernel_are_refused(X: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        KernelColumns(X, [1, -1], **options)


def test_other_features_and_other_weights_are_refused() -> None:
    X, y, d = random_examples()
    oracle = KernelColumns(X, y)
    with pytest.raises(ProblemError, match=r"^X\b.* 6 .*\(2, 5\)"):
        oracle.best(Query(d)).columns[0].hypothesis(np.zeros((2, 5)))
    with pytest.raises(ProblemError, match=r"\bd\b.* 40 .*\(39,\)"):
        oracle.best(Query(d[:-1]))
    with pytest.raises(ProblemError, match=r"\bd\b.* 40 .*\(40,\)"):
        oracle.best(Query(np.full(40, np.nan)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"kernel": "polynomial", "coef0": 0.0, "degree": 3}])
def test_a_column_that_cancels_is_refused(options: dict[str, Any], sparse: bool) -> None:
    """The products of a tiny example with large ones that are orthogonal to it are rounding."""
    X = 1e9 * np.random.default_rng(1).uniform(-1, 1, (9, 3))
    X[:, 2] = -(X[:, 0] + X[:, 1])
    X[4] = 1e-9
    features = scipy.sparse.csr_array(X) if sparse else X
    d = np.where(np.arange(9) == 4, 0.6, 0.05)
    with pytest.raises(ProblemError, match=r"\bcancel\b.*\bexample 4 .*\bcoef0\b"):
        KernelColumns(features, np.resize([1, -1], 9), **options).best(Query(d, 9))


def test_a_saved_hypothesis_of_a_kernel_that_is_no_longer_offered_still_predicts() -> None:
    state = KernelColumns([[1.0], [2.0]], [1, -1], "polynomial", gamma=1.0).best(Query(np.full(2, 0.5))).columns[0]
    restored = KernelColumn.restored({**state.hypothesis.state(), "coef0": -1.0, "scale": 8.0, "sign": 1})
    x = np.array([[1.5]])
    np.testing.assert_allclose(restored(x), (1.5 * restored.center - 1.0) ** 3 / 8.0)


def test_kernels_that_keep_their_digits_are_not_refused() -> None:
    """Rows of norms from 1e-6 to 1e6, whole numbers, many features."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 6)), np.resize([1, -1], 40)
    wide = X * 10.0 ** rng.uniform(-6, 6, (40, 1))
    tried: tuple[tuple[Any, dict[str, Any]], ...] = (
        (wide, {"kernel": "linear"}),
        (wide, {"kernel": "polynomial", "degree": 7}),
        (X, {"kernel": "polynomial", "gamma": 0.01, "degree": 12}),
        (np.round(3 * X), {"kernel": "polynomial", "gamma": 1.0, "coef0": 9.0}),
        (scipy.sparse.random_array((40, 50_000), density=0.01, rng=rng, format="csr"), {"kernel": "polynomial"}),
    )
    for features, options in tried:
        oracle = KernelColumns(features, y, **options)
        answer = oracle.best(Query(np.full(40, 1 / 40)))
        assert answer.edge_bound is not None and answer.edge_bound <= answer.columns[0].edge + 1e-8
