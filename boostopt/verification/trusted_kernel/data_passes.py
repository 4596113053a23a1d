"""The bounds of a certificate by passes over the data, recomputed: five passes over coded rows, all sums exact.

    soft margin    lower  the mean of the nu smallest margins of w
                   upper  the largest edge of the class under d_n = c_n q_n / Q, where Q >= nu max q  [theorem 13]

    loss           lower  -F*(-Uw), each margin replaced by both ends of its bin                      [theorem 15]
                   upper  F(d) + the largest edge of the class under d_n = c_n q_n / 2^20

A margin is a whole number of 2^-30. A table of q has one whole number for each bin of margins. Sums of float64 are
exact: multiplicities are whole numbers that sum to at most 2^32, q is at most 2^20, and what a margin exceeds the lower
end of its bin by is below 2^16. Nothing of the modules that make the runs is imported here. Of the rows is used that
`map_parts` and `sum_parts` ask every part once.
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

LARGEST = 1 << 20
"""The largest q."""

MOST_EXAMPLES = 1 << 32
"""Examples with multiplicity whose sums are exact."""

FINE = 16
"""Bins of 2^16 margins are counted first, and then the margins of one bin."""

BLOCK = 1 << 17
"""Rows of which numbers are held at once."""

Bins = tuple[int, int, int]
"""The lower end of the first bin, b for bins of 2^b margins, and the number of bins; one more lies below, one above."""

Term = tuple[int, int, int, int]
"""A weight w of a hypothesis and its feature, code and sign: sign * w where the feature is above the code, -sign * w
elsewhere."""


def margins(part: Any, tables: Mapping[int, Any]) -> Any:
    """Return the margin of each row of a part; a table has the sum of the weighted hypotheses at each code."""
    found = np.zeros(len(part.y), np.int32)
    for rows in _blocks(part):
        for feature, table in tables.items():
            found[rows] += table[part.codes[feature][rows]]
        found[rows] *= part.y[rows]
    return found


def count_margins(part: Any, M: Any, bins: Bins) -> tuple[Any, Any]:
    """Return the examples in each bin, and the sum of what their margins exceed its lower end by."""
    counts, excesses = np.zeros(bins[2] + 2, np.int64), np.zeros(bins[2] + 2, np.int64)
    for rows in _blocks(part):
        places, c = _places(M[rows], bins), _multiplicities(part, rows)
        counts += np.bincount(places, c, len(counts)).astype(np.int64)
        excess = (M[rows].astype(np.int64) - bins[0]) & ((1 << bins[1]) - 1)
        excesses += np.bincount(places, c * excess, len(counts)).astype(np.int64)
    return counts, excesses


def sum_labels(part: Any, M: Any, bins: Bins, table: Any, sizes: Mapping[int, int]) -> tuple[Any, ...]:
    """Return the examples in each bin, and for each feature the sums of y_n c_n q_n over the rows of each code."""
    counts, sums = np.zeros(bins[2] + 2, np.int64), [np.zeros(size, np.int64) for size in sizes.values()]
    for rows in _blocks(part):
        places, c = _places(M[rows], bins), _multiplicities(part, rows)
        counts += np.bincount(places, c, len(counts)).astype(np.int64)
        weights = part.y[rows] * c * table[places]
        for of_feature, (feature, size) in zip(sums, sizes.items(), strict=True):
            of_feature += np.bincount(part.codes[feature][rows], weights, size).astype(np.int64)
    return counts, *sums


def margins_of(rows: Any, terms: Sequence[Term]) -> Any:
    """Return the margins of weighted hypotheses, beside the rows."""
    if rows.n_examples > MOST_EXAMPLES:
        reject(f"sums of whole numbers are exact up to {MOST_EXAMPLES} examples; the data are {rows.n_examples}")
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
    M, first, counted, total = margins_of(rows, terms), -ONE, 0, 0
    # The bins of all margins; then the margins of the bin in which the count is reached.
    for shift, size in ((FINE, 2 * ONE >> FINE), (0, 1 << FINE)):
        counts, excesses = (x[1:] for x in rows.sum_parts(count_margins, M, (first, shift, size)))
        ends = first + (np.arange(len(counts)) << shift)
        b = int(np.searchsorted(np.cumsum(counts), math.ceil(nu) - counted))
        total += int(counts[:b] @ ends[:b] + excesses[:b].sum())
        counted += int(counts[:b].sum())
        first = int(ends[b])
    return (total + (nu - counted) * first) / (nu * ONE)


def soft_margin_upper(rows: Any, terms: Sequence[Term], bins: Bins, table: Any, even: bool, nu: Fraction) -> Fraction:
    """Return the largest edge of the class under d_n = c_n q_n / Q; Rejected where d is not in the capped simplex."""
    counts, edge = _class_edge(rows, terms, bins, table, even)
    total, largest = int(counts @ table), int(table.max())
    if not 0 < nu * largest <= total:
        reject(
            "d must lie in the capped simplex, so the whole numbers of the buckets must sum to at least "
            f"{float(nu):g} times the largest, which must be positive; the largest is {largest}, the sum {total}"
        )
    return Fraction(edge, total)


def negative_loss(rows: Any, terms: Sequence[Term], eta: float) -> Fraction:
    """Return a number not above -F*(-Uw) for the logarithmic loss: convex functions lie below their chords."""
    bins = -ONE, FINE, 2 * ONE >> FINE
    counts, excesses = (x[1:] for x in rows.sum_parts(count_margins, margins_of(rows, terms), bins))
    low = -ONE + (np.arange(len(counts)) << FINE)
    c = np.concatenate([(counts << FINE) - excesses, excesses]) / (1 << FINE)
    m = np.concatenate([low, low + (1 << FINE)]) / ONE
    A, held = FloatBalls(), c > 0.0
    with np.errstate(all="ignore"):
        return -_upper(A.upper(A.total(_loss(A, c[held], eta).conjugates(A.to_vector(-m[held])))))


def negative_loss_upper(rows: Any, terms: Sequence[Term], bins: Bins, table: Any, even: bool, eta: float) -> Fraction:
    """Return a number not below F(d) + the largest edge of the class under d_n = c_n q_n / 2^20."""
    counts, edge = _class_edge(rows, terms, bins, table, even)
    A, held = FloatBalls(), counts > 0
    c = counts[held].astype(np.float64)
    with np.errstate(all="ignore"):
        cost = _upper(A.upper(A.total(_loss(A, c, eta).values(A.to_vector(c * table[held] / LARGEST)))))
    return cost + Fraction(edge, LARGEST)


def _class_edge(rows: Any, terms: Sequence[Term], bins: Bins, table: Any, even: bool) -> tuple[Any, int]:
    """Return the examples in each bin, and the largest sum y_n c_n q_n h(x_n) of the class, or its size."""
    if not ((table >= 0) & (table <= LARGEST)).all():
        reject(
            f"d must lie between 0 and c, so the whole numbers of the buckets must lie between 0 and {LARGEST}; they "
            f"lie between {table.min()} and {table.max()}"
        )
    counts, *sums = rows.sum_parts(sum_labels, margins_of(rows, terms), bins, table, rows.n_codes)
    edges = np.concatenate([of_feature.sum() - 2 * np.cumsum(of_feature)[:-1] for of_feature in sums])
    return counts, int((np.abs(edges) if even else edges).max())


def _loss(A: FloatBalls, c: Any, eta: float) -> SeparableTerm:
    """Return F of the logarithmic loss for examples of such multiplicities."""
    return binary_entropy_term(A, A.to_vector(c), eta, c / 2, A.to_vector(c / 2), np.ones(len(c), bool), simplex=False)


def _upper(x: Any) -> Fraction:
    """Return a proved bound as a fraction; Rejected where nothing is proved."""
    return Fraction(float(x)) if math.isfinite(x) else reject("with these numbers, nothing is known of the loss")


def _places(M: Any, bins: Bins) -> Any:
    """Return the bin of each margin: 0 below the first, one more above the last."""
    return np.clip((M.astype(np.int64) - bins[0]) >> bins[1], -1, bins[2]) + 1


def _multiplicities(part: Any, rows: slice) -> Any:
    return np.ones(len(part.y[rows])) if part.c is None else part.c[rows].astype(np.float64)


def _blocks(part: Any) -> Iterator[slice]:
    return (slice(n, n + BLOCK) for n in range(0, len(part.y), BLOCK))
