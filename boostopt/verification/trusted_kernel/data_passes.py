"""The bounds of a certificate by passes over the data, recomputed: five passes over coded rows, all sums exact.

    soft margin    lower  the mean of the nu smallest margins of w
                   upper  the largest edge of the class under d_n = c_n q_n / Q, where Q >= nu max q  [theorem 13]

    loss           lower  -F*(-Uw), each margin replaced by both ends of its bin                      [theorem 15]
                   upper  F(d) + the largest edge of the class under d_n = c_n q_n / 2^20

A margin is an integer multiple of 2^-30. A table of q has one integer for each bin of margins. Sums of float64 are
exact: multiplicities are integers that sum to at most 2^32, q is at most 2^20, and the offset of a margin from the
lower end of its bin is below 2^16. This module imports nothing from the modules that make the runs. It relies on
`map_parts` and `sum_parts` of the rows, which must visit every part once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.conjugates import SeparableTerm, binary_entropy_term
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import FloatBalls

ONE = 1 << 30
"""The margin 1."""

MAX_Q = 1 << 20
"""The largest weight q of a bin."""

MAX_EXAMPLES = 1 << 32
"""The largest number of examples, with multiplicity, whose sums are exact."""

COARSE_SHIFT = 16
"""Binary logarithm of the width of the first bins; then the margins of one bin are counted one by one."""

BLOCK_ROWS = 1 << 17
"""The number of rows in one block of computation."""

Bins = tuple[int, int, int]
"""The lower end of the first bin, b for bins of 2^b margins, and the number of bins; one more lies below, one above."""

Term = tuple[int, int, int, int]
"""A weight w of a hypothesis and its feature, code and sign: sign * w where the feature is above the code, -sign * w
elsewhere."""


def margins(part: Any, tables: Mapping[int, Any]) -> Any:
    """Return the margin of each row of a part; a table has the sum of the weighted hypotheses at each code."""
    margin_sums = np.zeros(len(part.y), np.int32)
    for rows in _blocks(part):
        for feature, table in tables.items():
            margin_sums[rows] += table[part.codes[feature][rows]]
        margin_sums[rows] *= part.y[rows]
    return margin_sums


def count_margins(part: Any, M: Any, bins: Bins) -> tuple[Any, Any]:
    """Return the number of examples in each bin, and the sum of the offsets of their margins from its lower end."""
    counts, offsets = np.zeros(bins[2] + 2, np.int64), np.zeros(bins[2] + 2, np.int64)
    for rows in _blocks(part):
        bins_of_rows, c = _bins_of_margins(M[rows], bins), _multiplicities(part, rows)
        counts += np.bincount(bins_of_rows, c, len(counts)).astype(np.int64)
        offset = (M[rows].astype(np.int64) - bins[0]) & ((1 << bins[1]) - 1)
        offsets += np.bincount(bins_of_rows, c * offset, len(counts)).astype(np.int64)
    return counts, offsets


def sum_labels(part: Any, M: Any, bins: Bins, table: Any, sizes: Mapping[int, int]) -> tuple[Any, ...]:
    """Return the number of examples in each bin, and for each feature the sums of y_n c_n q_n by code."""
    counts, sums = np.zeros(bins[2] + 2, np.int64), [np.zeros(size, np.int64) for size in sizes.values()]
    for rows in _blocks(part):
        bins_of_rows, c = _bins_of_margins(M[rows], bins), _multiplicities(part, rows)
        counts += np.bincount(bins_of_rows, c, len(counts)).astype(np.int64)
        weights = part.y[rows] * c * table[bins_of_rows]
        for feature_sums, (feature, size) in zip(sums, sizes.items(), strict=True):
            feature_sums += np.bincount(part.codes[feature][rows], weights, size).astype(np.int64)
    return counts, *sums


def margins_of(rows: Any, terms: Sequence[Term]) -> Any:
    """Return the margins of weighted hypotheses, which stay with the rows."""
    if rows.n_examples > MAX_EXAMPLES:
        reject(f"sums of whole numbers are exact up to {MAX_EXAMPLES} examples; the data are {rows.n_examples}")
    tables = dict[int, Any]()
    for weight, feature, code, sign in terms:
        if weight == 0:
            continue
        table = tables.setdefault(feature, np.zeros(rows.n_codes[feature], np.int32))
        table += np.where(np.arange(len(table)) > code, sign * weight, -sign * weight).astype(np.int32)
    return rows.map_parts(margins, tables)


def soft_margin(rows: Any, terms: Sequence[Term], nu: Fraction) -> Fraction:
    """Return the mean of the nu smallest margins of weighted hypotheses, exactly."""
    if not 0 < nu <= rows.n_examples:
        reject(f"nu must be at most the number of examples, {rows.n_examples}; it is {float(nu):g}")
    M, first, n_counted, total = margins_of(rows, terms), -ONE, 0, 0
    # The bins of all margins; then the margins of the bin in which the count is reached.
    for shift, size in ((COARSE_SHIFT, 2 * ONE >> COARSE_SHIFT), (0, 1 << COARSE_SHIFT)):
        counts, offsets = (x[1:] for x in rows.sum_parts(count_margins, M, (first, shift, size)))
        lower_ends = first + (np.arange(len(counts)) << shift)
        last_bin = int(np.searchsorted(np.cumsum(counts), math.ceil(nu) - n_counted))
        total += int(counts[:last_bin] @ lower_ends[:last_bin] + offsets[:last_bin].sum())
        n_counted += int(counts[:last_bin].sum())
        first = int(lower_ends[last_bin])
    return (total + (nu - n_counted) * first) / (nu * ONE)


def soft_margin_upper(
    rows: Any, terms: Sequence[Term], bins: Bins, table: Any, symmetric: bool, nu: Fraction
) -> Fraction:
    """Return the largest edge of the class under d_n = c_n q_n / Q; Rejected where d is not in the capped simplex."""
    counts, edge = _class_edge(rows, terms, bins, table, symmetric)
    total, largest = int(counts @ table), int(table.max())
    if not 0 < nu * largest <= total:
        reject(
            "d must lie in the capped simplex, so the whole numbers of the bins must sum to at least "
            f"{float(nu):g} times the largest, which must be positive; the largest is {largest}, the sum {total}"
        )
    return Fraction(edge, total)


def negative_loss(rows: Any, terms: Sequence[Term], eta: float) -> Fraction:
    """Bound -F*(-Uw) of the logarithmic loss from below: convex functions lie below their chords."""
    bins = -ONE, COARSE_SHIFT, 2 * ONE >> COARSE_SHIFT
    counts, offsets = (x[1:] for x in rows.sum_parts(count_margins, margins_of(rows, terms), bins))
    lower_ends = -ONE + (np.arange(len(counts)) << COARSE_SHIFT)
    c = np.concatenate([(counts << COARSE_SHIFT) - offsets, offsets]) / (1 << COARSE_SHIFT)
    m = np.concatenate([lower_ends, lower_ends + (1 << COARSE_SHIFT)]) / ONE
    A, is_occupied = FloatBalls(), c > 0.0
    with np.errstate(all="ignore"):
        return -_upper(A.upper(A.total(_loss(A, c[is_occupied], eta).conjugates(A.to_vector(-m[is_occupied])))))


def negative_loss_upper(
    rows: Any, terms: Sequence[Term], bins: Bins, table: Any, symmetric: bool, eta: float
) -> Fraction:
    """Bound F(d) + the largest edge of the class under d_n = c_n q_n / 2^20 from above."""
    counts, edge = _class_edge(rows, terms, bins, table, symmetric)
    A, is_occupied = FloatBalls(), counts > 0
    c = counts[is_occupied].astype(np.float64)
    with np.errstate(all="ignore"):
        value = _upper(A.upper(A.total(_loss(A, c, eta).values(A.to_vector(c * table[is_occupied] / MAX_Q)))))
    return value + Fraction(edge, MAX_Q)


def _class_edge(rows: Any, terms: Sequence[Term], bins: Bins, table: Any, symmetric: bool) -> tuple[Any, int]:
    """Return the counts of the bins, and the largest sum y_n c_n q_n h(x_n) of the class (absolute if symmetric)."""
    if not ((table >= 0) & (table <= MAX_Q)).all():
        reject(
            f"d must lie between 0 and c, so the whole numbers of the bins must lie between 0 and {MAX_Q}; they "
            f"lie between {table.min()} and {table.max()}"
        )
    counts, *sums = rows.sum_parts(sum_labels, margins_of(rows, terms), bins, table, rows.n_codes)
    edges = np.concatenate([feature_sums.sum() - 2 * np.cumsum(feature_sums)[:-1] for feature_sums in sums])
    return counts, int((np.abs(edges) if symmetric else edges).max())


def _loss(A: FloatBalls, c: Any, eta: float) -> SeparableTerm:
    """Return F of the logarithmic loss for examples with multiplicities c."""
    return binary_entropy_term(A, A.to_vector(c), eta, c / 2, A.to_vector(c / 2), np.ones(len(c), bool), simplex=False)


def _upper(x: Any) -> Fraction:
    """Return a proved bound as a fraction; raise Rejected if it is not finite."""
    return Fraction(float(x)) if math.isfinite(x) else reject("with these numbers, nothing is known of the loss")


def _bins_of_margins(M: Any, bins: Bins) -> Any:
    """Return the bin of each margin: 0 below the first, one more above the last."""
    return np.clip((M.astype(np.int64) - bins[0]) >> bins[1], -1, bins[2]) + 1


def _multiplicities(part: Any, rows: slice) -> Any:
    """Return the multiplicities of some rows of a block, as floats."""
    return np.ones(len(part.y[rows])) if part.c is None else part.c[rows].astype(np.float64)


def _blocks(part: Any) -> Iterator[slice]:
    """Yield the rows of a block in slices."""
    return (slice(n, n + BLOCK_ROWS) for n in range(0, len(part.y), BLOCK_ROWS))
