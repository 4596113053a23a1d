"""Sums over a part of the rows: whole numbers in, whole numbers out, and nothing of their length but the margins.

All sums are exact: of int64, or of float64 whose parts and whole stay below 2^53. They are the same in whatever order
the rows stand and however these are cut into parts. The functions are pure, of arrays alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from boostopt.rows.coding import FEW, ROWS
from boostopt.shapes import Array, Float, Int, Int8, Int32, UInt

BITS = 30
"""Weights of hypotheses are multiples of 2^-30: margins then are whole numbers that int32 holds."""

ONE = 1 << BITS
"""The whole number that stands for 1: the sum of the weights, the largest margin."""

BUCKETS = 1 << 14
"""Buckets of margins within a window; what lies below it and above it has one more each."""

SPAN = 1 << 17
"""Rows whose margins are counted together: 2^17 whole numbers of 30 bits have a sum that float64 holds."""

HALF = 15
"""Binary places of the lower part of a margin that is counted with a multiplicity."""

LARGEST = 1 << 20
"""The whole number of the largest weight of an example: sums over 2^32 examples are exact."""

STEEP = 1 << 8
"""The whole number of the largest curvature."""

MOST_COPIES, MOST_EXAMPLES = 1 << 20, 1 << 32
"""The largest multiplicity, and the largest sum of all."""

TOGETHER = 2048
"""Rows whose hypotheses are multiplied together."""


class Split(NamedTuple):
    """h(x) = sign where the code of a feature is above a number, -sign elsewhere."""

    feature: int
    code: int
    sign: int


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows.

    Attributes
    ----------
    codes
        Shape (features, n), uint8 or uint16.
    y
        Labels -1 and 1, shape (n,).
    c
        Multiplicities, whole numbers from 1 to 2^20, shape (n,); None where all are 1.
    """

    codes: UInt[Array, "features n"]
    y: Int8[Array, " n"]
    c: Int[Array, " n"] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def total(self) -> int:
        """Number of rows with multiplicity."""
        return self.n if self.c is None else int(self.c.sum())

    def every(self, step: int, first: int) -> Part:
        """Return every step-th row from a first one on."""
        c = None if self.c is None else self.c[first::step].copy()
        return Part(np.ascontiguousarray(self.codes[:, first::step]), self.y[first::step].copy(), c)


@dataclass(frozen=True)
class Window:
    """A range of margins that is cut into `BUCKETS` buckets of 2^shift margins, from a multiple of 2^shift on."""

    origin: int
    shift: int

    @classmethod
    def whole(cls) -> Window:
        """Return the window of all margins, -1 to 1."""
        return cls(-ONE, BITS + 2 - BUCKETS.bit_length())

    @classmethod
    def around(cls, low: float, high: float) -> Window:
        """Return a window that begins at a margin low and reaches beyond high."""
        shift = max(0, int(np.ceil(np.log2((high - low) * ONE / (BUCKETS - 1)))))
        return cls(int(np.floor(low * ONE)) >> shift << shift, shift)

    @property
    def width(self) -> float:
        """Width of a bucket, as a margin."""
        return (1 << self.shift) / ONE

    def lowest(self, bucket: int) -> int:
        """Return the smallest margin that a bucket may hold, as a whole number."""
        return -ONE if bucket == 0 else self.origin + (bucket - 1 << self.shift)

    def highest(self, bucket: int) -> int:
        """Return a margin that none of a bucket exceeds, as a whole number."""
        return ONE if bucket == BUCKETS + 1 else self.origin + (bucket << self.shift)

    def place(self, M: Int32[Array, " n"], out: Int32[Array, " n"]) -> Int32[Array, " n"]:
        """Return the bucket of each margin: 0 below the window, 1 to `BUCKETS` inside, one more above."""
        # Shifted first: the difference of two margins may need 32 bits.
        np.right_shift(M, np.int32(self.shift), out=out)
        out -= np.int32(self.origin >> self.shift)
        np.clip(out, -1, BUCKETS, out=out)
        out += 1
        return out


def scores(part: Part, tables: Mapping[int, Int32[Array, " _"]]) -> Int32[Array, " n"]:
    """Return the margins y_n sum_q W_q h_q(x_n), the hypotheses being added up in a table of codes for each feature."""
    M = np.zeros(part.n, np.int32)
    # Buffers are used again: memory that is allocated anew is faulted in anew, which may cost more than the sums.
    values, code = np.empty(ROWS, np.int32), np.empty(ROWS, np.intp)
    for i in range(0, part.n, ROWS):
        m = M[i : i + ROWS]
        k = len(m)
        for j, table in tables.items():
            np.copyto(code[:k], part.codes[j, i : i + k])
            np.take(table, code[:k], out=values[:k], mode="clip")
            m += values[:k]
        m *= part.y[i : i + k]
    return M


def counts(part: Part, M: Int32[Array, " n"], window: Window) -> tuple[Int[Array, " buckets"], Int[Array, " buckets"]]:
    """Return for each bucket how many examples have such margins, and the sum of these margins."""
    size = BUCKETS + 2
    found, sums = np.zeros(size, np.int64), np.zeros(size, np.int64)
    bucket, code, value = np.empty(SPAN, np.int32), np.empty(SPAN, np.intp), np.empty(SPAN)
    for i in range(0, part.n, SPAN):
        m = M[i : i + SPAN]
        k = len(m)
        np.copyto(code[:k], window.place(m, bucket[:k]))
        if part.c is None:
            found += np.bincount(code[:k], minlength=size)
            np.copyto(value[:k], m)
            sums += np.bincount(code[:k], value[:k], size).astype(np.int64)
            continue
        c = part.c[i : i + k]
        found += np.bincount(code[:k], c, size).astype(np.int64)
        high = m >> HALF
        sums += np.bincount(code[:k], c * high, size).astype(np.int64) << HALF
        sums += np.bincount(code[:k], c * (m - (high << HALF)), size).astype(np.int64)
    return found, sums


def sums(
    part: Part, M: Int32[Array, " n"], window: Window, table: Int[Array, " buckets"], sizes: Mapping[int, int]
) -> tuple[Int[Array, " _"], ...]:
    """Return the sums of y_n c_n q_n over the rows of each code of each feature, q_n = table[bucket of margin n].

    Parameters
    ----------
    sizes
        The number of codes of each feature that is asked for.
    """
    H = [np.zeros(size) for size in sizes.values()]
    weights = table.astype(np.float64)
    bucket, code, s = np.empty(ROWS, np.int32), np.empty(ROWS, np.intp), np.empty(ROWS)
    some, picked = np.empty(ROWS), np.empty(ROWS, part.codes.dtype)
    for i in range(0, part.n, ROWS):
        m = M[i : i + ROWS]
        k = len(m)
        np.copyto(code[:k], window.place(m, bucket[:k]))
        np.take(weights, code[:k], out=s[:k], mode="clip")
        at = np.flatnonzero(s[:k])
        few = len(at) < FEW * k
        if len(at) == 0:
            continue
        s[:k] *= part.y[i : i + k]
        if part.c is not None:
            s[:k] *= part.c[i : i + k]
        value = np.take(s[:k], at, out=some[: len(at)], mode="clip") if few else s[:k]
        for h, (j, size) in zip(H, sizes.items(), strict=True):
            here = part.codes[j, i : i + k]
            if few:
                here = np.take(here, at, out=picked[: len(at)], mode="clip")
            np.copyto(code[: len(here)], here)
            h += np.bincount(code[: len(here)], value, size)
    return tuple(h.astype(np.int64) for h in H)


def gram(
    part: Part, M: Int32[Array, " n"], window: Window, table: Int[Array, " buckets"], splits: Sequence[Split]
) -> Float[Array, "t1 t1"]:
    """Return V' diag(c r) V, r_n = table[bucket of margin n], V being the values of the splits and the labels.

    Rows with r = 0 are not touched. The last row is that of the labels, (U'r, sum r).
    """
    t = len(splits)
    total, product = np.zeros((t + 1, t + 1)), np.empty((t + 1, t + 1))
    steep = table.astype(np.float64)
    bucket, code, r = np.empty(ROWS, np.int32), np.empty(ROWS, np.intp), np.empty(ROWS)
    V, weighed = np.empty((t + 1, TOGETHER)), np.empty((t + 1, TOGETHER))
    of_feature: dict[int, list[int]] = {}
    for q, split in enumerate(splits):
        of_feature.setdefault(split.feature, []).append(q)
    for i in range(0, part.n, ROWS):
        m = M[i : i + ROWS]
        n = len(m)
        np.copyto(code[:n], window.place(m, bucket[:n]))
        np.take(steep, code[:n], out=r[:n], mode="clip")
        if part.c is not None:
            r[:n] *= part.c[i : i + n]
        at = np.flatnonzero(r[:n])
        for k in range(0, len(at), TOGETHER):
            rows = at[k : k + TOGETHER]
            v, weight = V[:, : len(rows)], weighed[:, : len(rows)]
            for j, numbers in of_feature.items():
                here = part.codes[j, i : i + n][rows]
                for q in numbers:
                    np.greater(here, splits[q].code, out=v[q], casting="unsafe")
                    v[q] *= 2 * splits[q].sign
                    v[q] -= splits[q].sign
            v[t] = part.y[i : i + n][rows]
            np.multiply(v, r[rows], out=weight)
            total += np.matmul(weight, v.T, out=product)
    return total
