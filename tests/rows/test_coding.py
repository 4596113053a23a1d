"""Codes: sums over them are those of Python's whole numbers, thresholds cut as they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from boostopt.rows import feature_encoding as coding
from boostopt.rows.feature_encoding import BinnedFeatures, BlockEncoder
from boostopt.rows.thresholds import all_thresholds, encode_all_values, encode_few_values, quantile_thresholds


def encoded_features(X: np.ndarray, bins: int = 256) -> BinnedFeatures:
    codes = np.empty(X.shape[::-1], np.uint8 if bins <= 256 else np.uint16)
    values = encode_few_values(X[:0], [X], bins, codes)
    cuts = [
        all_thresholds(values[j]) if j in values else quantile_thresholds(X[:, j], np.ones(len(X)), bins)
        for j in range(3)
    ]
    BlockEncoder({j: cuts[j] for j in range(3) if j not in values}, codes.dtype, len(X)).encode(X, codes)
    return BinnedFeatures.from_codes(codes, cuts)


def features(N: int = 700, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 4, N), np.full(N, 2.5), rng.normal(size=N)])


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("bins", [7, 256, 1000])
@pytest.mark.parametrize("rows", [64, 1 << 14])
def test_sums_are_those_of_whole_numbers_that_never_overflow(
    share: float, bins: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coding, "BLOCK_ROWS", rows)
    table, rng = encoded_features(features(), bins), np.random.default_rng(1)
    s = rng.integers(-(2**62), 2**62, 700) * (rng.random(700) < share)
    for sums, code in zip(table.sums_by_code(s), table.codes[table.varying_features], strict=True):
        exact = [sum(int(x) for x in s[code == k]) for k in range(len(sums))]
        assert [int(x) % 2**64 for x in sums] == [x % 2**64 for x in exact]


def test_edges_are_those_of_every_threshold() -> None:
    X = features()
    table, s = encoded_features(X, 20), np.random.default_rng(2).integers(-(2**50), 2**50, 700)
    edges, i = table.threshold_edges(s), 0
    assert table.varying_features.tolist() == [0, 2] and table.first_threshold.tolist() == [0, 3]
    for j in table.varying_features:
        for cut in table.thresholds_by_feature[j]:
            h = np.where(X[:, j] > cut, 1, -1)
            assert edges[i] == int(h @ s)
            assert table.thresholds[i] == cut
            assert np.array_equal(table.is_above(i), h == 1)
            i += 1
    assert i == len(edges)


def test_quantiles_part_the_weight_evenly_and_no_part_is_empty() -> None:
    rng = np.random.default_rng(3)
    for seed in range(30):
        bins = int(rng.integers(2, 40))
        x = np.round(rng.normal(size=300), int(rng.integers(0, 4)))
        c = rng.integers(1, 5, 300).astype(float)
        cuts = quantile_thresholds(x, c, bins)
        assert (np.diff(cuts) > 0).all() and len(cuts) < bins, seed
        parts = np.searchsorted(cuts, x, side="left")
        weights = np.bincount(parts, c, len(cuts) + 1)
        heaviest = max(float(c[x == value].sum()) for value in np.unique(x))
        assert weights.min() > 0 and weights.max() <= c.sum() / bins + heaviest + 1e-9
        # Copies are an example with a multiplicity.
        assert np.array_equal(cuts, quantile_thresholds(np.repeat(x, c.astype(int)), np.ones(int(c.sum())), bins))


def test_a_threshold_at_a_quantile_lies_halfway_between_neighbouring_values() -> None:
    x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 20.0])
    assert quantile_thresholds(x, np.ones(6), 2).tolist() == [6.0]
    assert quantile_thresholds(x, np.ones(6), 3).tolist() == [1.5, 10.5]
    assert quantile_thresholds(x, np.array([9.0, 1, 1, 1, 1, 1]), 2).tolist() == [0.5]
    assert quantile_thresholds(np.full(6, 3.0), np.ones(6), 2).tolist() == []


def test_a_code_is_the_number_of_thresholds_below_an_entry() -> None:
    cuts = [np.array([0.5, 1.0, 1.0 + 2**-52])]
    codes = np.empty((1, 5), np.uint8)
    BlockEncoder(dict(enumerate(cuts)), codes.dtype, 5).encode(
        np.array([[0.5], [0.6], [1.0], [1.0 + 2**-52], [7.0]]), codes
    )
    assert codes.tolist() == [[0, 1, 1, 2, 3]]
    assert Fraction(1.0) < Fraction(1.0 + 2**-52)


@pytest.mark.parametrize("n_values", [256, 257])
def test_all_values_have_codes_in_one_byte_as_long_as_they_fit(n_values: int) -> None:
    rng = np.random.default_rng(4)
    many = rng.permutation(np.repeat(rng.normal(size=n_values), 2))
    few = rng.integers(-1, 2, 2 * n_values)
    X = np.column_stack([many, few, np.where(few == 0, np.copysign(0.0, many), 1.0), np.full(len(few), 3.0)])
    encoded = encode_all_values(X, n_values - 1)
    assert encoded is not None and encoded[0].dtype == (np.uint8 if n_values == 256 else np.uint16)
    for codes, cuts, x in zip(*encoded, X.T, strict=True):
        assert np.array_equal(cuts, all_thresholds(np.unique(x)))
        assert np.array_equal(codes, np.searchsorted(cuts, x))
    assert encode_all_values(X, n_values - 2) is None
