"""The margin matrix: three storages, one answer."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse

from boostopt import MarginMatrix, ProblemError
from boostopt.rows.margin_matrix import BLOCK_ROWS


def storages(U: np.ndarray) -> list[MarginMatrix]:
    return [
        MarginMatrix(U.astype(np.float64)),
        MarginMatrix(U.astype(np.int64)),
        MarginMatrix(U.astype(np.int8)),
        MarginMatrix(scipy.sparse.csc_matrix(U)),
        MarginMatrix(scipy.sparse.coo_array(U.astype(np.float64))),
    ]


def test_products_agree_over_storages_and_with_plain_sums() -> None:
    rng = np.random.default_rng(0)
    U = rng.integers(-1, 2, size=(2 * BLOCK_ROWS + 7, 3))
    d, w = rng.random(len(U)), rng.random(3)
    for margins in storages(U):
        assert margins.shape == (margins.N, margins.t) == U.shape
        np.testing.assert_allclose(margins.edges(d), U.T @ d, rtol=1e-12)
        np.testing.assert_allclose(margins.margins(w), U @ w, rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(margins.column(1), U[:, 1])
        np.testing.assert_array_equal(margins.to_array(), U)
        assert margins.max_summands == BLOCK_ROWS + 3


def test_blocks_cover_the_rows_once_in_order() -> None:
    U = np.zeros((2 * BLOCK_ROWS + 7, 1))
    rows = [r for rows, _ in MarginMatrix(U).blocks() for r in range(rows.start, rows.stop)]
    assert rows == list(range(len(U)))


def test_digest_depends_on_values_and_shape_alone() -> None:
    U = np.array([[1, -1, 0], [0, 1, 1]])
    digests = {margins.digest() for margins in storages(U)}
    assert len(digests) == 1
    assert MarginMatrix(U.T).digest() not in digests
    assert MarginMatrix(U.reshape(3, 2)).digest() not in digests
    assert MarginMatrix(np.array([[1.0, -1.0, -0.0], [0.0, 1.0, 1.0]])).digest() in digests


def test_float_input_is_copied_once_and_integers_take_a_byte() -> None:
    U = np.zeros((4, 2))
    once = MarginMatrix(U).to_array()
    assert not np.shares_memory(once, U)
    assert np.shares_memory(MarginMatrix(once).to_array(), once)
    integers = np.zeros((4, 2), dtype=np.int64)
    assert next(MarginMatrix(integers).blocks())[1].dtype == np.float64
    assert MarginMatrix(integers)._storage.dtype == np.int8  # pyright: ignore[reportPrivateUsage]


def test_duplicate_entries_of_a_sparse_matrix_are_summed_before_they_are_checked() -> None:
    twice = scipy.sparse.coo_matrix((np.array([0.8, 0.8]), ([0, 0], [0, 0])), shape=(2, 1)).tocsr()
    with pytest.raises(ProblemError, match=r"max \|U\| = 1\.6 at \(0, 0\)"):
        MarginMatrix(twice)


@pytest.mark.parametrize(
    ("U", "message"),
    [
        ([[0.5, np.nan]], r"finite entries; got nan at \(0, 1\)"),
        ([[0.5], [np.inf]], r"finite entries; got inf at \(1, 0\)"),
        ([[0.5, -3.25]], r"in \[-1, 1\]; got max \|U\| = 3.25 at \(0, 1\)"),
        (np.array([[2, 0]]), r"max \|U\| = 2 at \(0, 0\)"),
        (np.zeros((0, 3)), r"at least one example and one hypothesis; got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"got shape \(3, 0\)"),
        ([1.0, -1.0], r"shape \(N, t\).*got shape \(2,\)"),
        ([[1.0], [1.0, 2.0]], "rows of unequal length"),
        (np.array([[1 + 1e-12]]), r"max \|U\| = 1\.000000000001 at"),
        ([["a"]], "matrix of real numbers; got dtype"),
        ([[1j]], "matrix of real numbers; got dtype complex128"),
        (scipy.sparse.csr_array([[0.0, np.nan]]), r"got nan at \(0, 1\)"),
    ],
)
def test_invalid_margin_matrices_are_refused(U: object, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        MarginMatrix(U)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("t", (1, 3, 60))
def test_the_weighted_gram_matrix_is_the_plain_product(t: int) -> None:
    rng = np.random.default_rng(1)
    U = rng.choice([-1, 0, 1], size=(2 * BLOCK_ROWS + 7, t))
    theta = rng.random(len(U)) * (rng.random(len(U)) < 0.7)
    for margins in storages(U):
        np.testing.assert_allclose(margins.gram(theta), U.T @ (theta[:, np.newaxis] * U), rtol=1e-12, atol=1e-9)


def test_appended_columns_stand_behind_the_others_in_every_storage() -> None:
    rng = np.random.default_rng(2)
    U, added = rng.choice([-1, 0, 1], size=(50, 2)), rng.choice([-1, 0, 1], size=(50, 30))
    for margins in storages(U):
        grown = margins
        for column in added.T:
            grown = grown.append(column)
        np.testing.assert_array_equal(grown.to_array(), np.column_stack([U, added]))
        np.testing.assert_array_equal(margins.to_array(), U)
        assert grown.is_extension_of(margins)
        assert not margins.is_extension_of(grown)
        again = pickle.loads(pickle.dumps(grown))
        np.testing.assert_array_equal(again.to_array(), grown.to_array())
        assert again.digest() == grown.digest()


def test_a_second_descendant_writes_into_storage_of_its_own() -> None:
    margins = MarginMatrix(np.zeros((4, 1))).append(np.full(4, 0.5))
    one, second = margins.append(np.full(4, 1.0)), margins.append(np.full(4, -1.0))
    np.testing.assert_array_equal(one.to_array()[:, 2], np.ones(4))
    np.testing.assert_array_equal(second.to_array()[:, 2], -np.ones(4))
    assert not one.is_extension_of(second)


@pytest.mark.parametrize(
    "column, message",
    [
        (np.zeros(3), r"one margin for each of the 4 examples; got shape \(3,\)"),
        (np.full(4, 2.0), r"entries in \[-1, 1\]"),
        (np.full(4, np.nan), r"finite entries"),
        (np.array(["a"] * 4), r"real numbers"),
    ],
)
def test_a_column_that_is_none_is_refused(column: np.ndarray, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        MarginMatrix(np.zeros((4, 2))).append(column)


def test_masked_margins_are_refused() -> None:
    masked = np.ma.masked_equal(np.array([[1.0, -1.0], [0.5, 1.0]]), 0.5)
    with pytest.raises(ProblemError, match=r"^U\b.*\bmasked\b.* got 1\b.*\(1, 0\)"):
        MarginMatrix(masked)
    with pytest.raises(ProblemError, match=r"^column\b.*\bmasked\b"):
        MarginMatrix(np.zeros((2, 1))).append(masked[:, 0])


def test_rows_that_differ_in_one_entry_are_not_equal() -> None:
    """The entry is so small that the random sum of the row is the same."""
    U = np.array([[1.0, 0.0], [1.0, 1e-300], [0.5, 0.0], [0.5, 0.0]])
    for margins in (MarginMatrix(U), MarginMatrix(scipy.sparse.csr_array(U))):
        assert margins.group_equal_rows().group_of_row.tolist() == [1, 2, 0, 0]
