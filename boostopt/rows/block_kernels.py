"""Sums over a part of the rows: whole numbers in, whole numbers out, and nothing of their length but the margins.

All sums are exact: of int64, or of float64 whose parts and whole stay below 2^53. They are the same in whatever order
the rows stand and however these are cut into parts. The functions are pure, of arrays alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from boostopt._utils.array_types import Array, Float, Int, Int8, Int32, UInt
from boostopt.rows.encoding import FEW, ROWS

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

MIXED = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)
"""Shifts and factors of splitmix64: numbers that differ in a bit become numbers that differ in half of all bits."""

MANY = 6
"""Splits of a feature above which cells are counted: a count costs as much as some 50 products."""


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
        Of each feature, uint8 or uint16, shape (features, n) or a row each.
    y
        Labels -1 and 1, shape (n,).
    c
        Multiplicities, whole numbers from 1 to 2^20, shape (n,); None where all are 1.
    """

    codes: UInt[Array, "features n"] | Sequence[UInt[Array, " n"]]
    y: Int8[Array, " n"]
    c: Int[Array, " n"] | None = None

    def __sizeof__(self) -> int:
        """Return how many bytes its arrays take: a scheduler asks before it moves a part."""
        return sum(row.nbytes for row in (*self.codes, self.y, *(() if self.c is None else (self.c,))))

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
        return Part([row[first::step].copy() for row in self.codes], self.y[first::step].copy(), c)

    def with_constant(self) -> Part:
        """Return the rows with one more feature, whose code is 1 throughout; nothing of it is stored."""
        ones = np.broadcast_to(self.codes[0].dtype.type(1), self.n)
        return Part([*self.codes, ones], self.y, self.c)


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
        below = (self.origin >> self.shift) - 1
        np.right_shift(M, np.int32(self.shift), out=out)
        # Clipped before it is subtracted from: the difference of 2^30 and -2^30 needs 33 bits.
        np.clip(out, np.int32(below), np.int32(below + BUCKETS + 1), out=out)
        out -= np.int32(below)
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
            np.copyto(code[:k], part.codes[j][i : i + k])
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
    some, picked = np.empty(ROWS), np.empty(ROWS, part.codes[0].dtype)
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
            here = part.codes[j][i : i + k]
            if few:
                here = np.take(here, at, out=picked[: len(at)], mode="clip")
            np.copyto(code[: len(here)], here)
            h += np.bincount(code[: len(here)], value, size)
    return tuple(h.astype(np.int64) for h in H)


def mixed(x: UInt[Array, "*n"]) -> UInt[Array, "*n"]:
    """Return other numbers of 64 bits, in which each bit depends on all that were there."""
    for shift, factor in MIXED:
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x


def fingerprint(part: Part, M: Int32[Array, " n"], tables: Mapping[int, UInt[Array, " _"]]) -> UInt[Array, " 1"]:
    """Return a number of 64 bits that tells other rows apart: the sum of one for each row, made of its codes and label.

    Parameters
    ----------
    tables
        Of each feature, a number of 64 bits for each code.
    """
    total = np.zeros(1, np.uint64)
    for i in range(0, part.n, ROWS):
        row = part.y[i : i + ROWS].astype(np.uint64)  # -1 is 2^64 - 1
        for j, table in tables.items():
            row += np.take(table, part.codes[j][i : i + ROWS], mode="clip")
        row = mixed(row)
        total += row.sum() if part.c is None else (row * part.c[i : i + ROWS].astype(np.uint64)).sum()
    return total


def weights(part: Part, M: Int32[Array, " n"], window: Window, table: Int[Array, " buckets"]) -> Int[Array, " n"]:
    """Return c_n q_n of each row, q_n = table[bucket of margin n]."""
    q = table[window.place(M, np.empty_like(M))]
    return q if part.c is None else q * part.c


def gram(
    part: Part, M: Int32[Array, " n"], window: Window, table: Int[Array, " buckets"], splits: Sequence[Split]
) -> Float[Array, "t1 t1"]:
    """Return V' diag(c r) V, r_n = table[bucket of margin n], V being the values of the splits and the labels.

    Rows with r = 0 are not touched. The last row is that of the labels, (U'r, sum r). Where there are many splits of
    few features it is made of counts in the cells between them, of two features at a time; else it is a product.
    """
    features = {split.feature for split in splits}
    made = _Cells(splits) if len(splits) > MANY * len(features) else _Products(splits, part.c is None)
    steep = table.astype(np.float64)
    bucket, code, r = np.empty(ROWS, np.int32), np.empty(ROWS, np.intp), np.empty(ROWS)
    for i in range(0, part.n, ROWS):
        m = M[i : i + ROWS]
        n = len(m)
        np.copyto(code[:n], window.place(m, bucket[:n]))
        np.take(steep, code[:n], out=r[:n], mode="clip")
        if part.c is not None:
            r[:n] *= part.c[i : i + n]
        at = np.flatnonzero(r[:n])
        if len(at):
            made.add({j: part.codes[j][i : i + n][at] for j in features}, part.y[i : i + n][at], r[at])
    return made.total


class _Products:
    """V' diag(r) V as a product: of float32 where r <= 2^8, for sums of `TOGETHER` such numbers are below 2^24."""

    def __init__(self, splits: Sequence[Split], small: bool) -> None:
        t, dtype = len(splits), np.dtype(np.float32 if small else np.float64)
        self._splits, self.total, self._product = splits, np.zeros((t + 1, t + 1)), np.empty((t + 1, t + 1), dtype)
        self._V, self._weighed = np.empty((t + 1, TOGETHER), dtype), np.empty((t + 1, TOGETHER), dtype)

    def add(self, codes: Mapping[int, UInt[Array, " n"]], y: Int8[Array, " n"], r: Float[Array, " n"]) -> None:
        """Take rows in."""
        for k in range(0, len(r), TOGETHER):
            n = len(r[k : k + TOGETHER])
            v, weight = self._V[:, :n], self._weighed[:, :n]
            for q, split in enumerate(self._splits):
                np.greater(codes[split.feature][k : k + n], split.code, out=v[q], casting="unsafe")
                v[q] *= 2 * split.sign
                v[q] -= split.sign
            v[-1] = y[k : k + n]
            np.multiply(v, r[k : k + n], out=weight, casting="same_kind")
            self.total += np.matmul(weight, v.T, out=self._product)


class _Cells:
    """The same by the cells into which the splits of a feature cut its codes.

    With S_q the sum of r over the rows above split q, S_qp over those above both, and R over all, an entry is
    4 S_qp - 2 S_q - 2 S_p + R, but for the signs.
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self._features = sorted({split.feature for split in splits})
        cuts = {j: np.unique([split.code for split in splits if split.feature == j]) for j in self._features}
        # The number of cuts below each code; what lies above the last cut is read as the code after it.
        self._cell = {j: _cells(cut) for j, cut in cuts.items()}
        sizes = np.array([len(cut) for cut in cuts.values()])
        first = dict(zip(self._features, np.cumsum(sizes) - sizes, strict=True))
        self._at = np.array([first[s.feature] + np.searchsorted(cuts[s.feature], s.code) for s in splits])
        self._sign = np.array([split.sign for split in splits], dtype=np.float64)
        self._sizes, self._starts = sizes + 1, np.cumsum(sizes) - sizes
        self._pairs = [(a, b) for a in range(len(sizes)) for b in range(a)]
        self._both = [np.zeros(int(self._sizes[a] * self._sizes[b])) for a, b in self._pairs]
        self._one = [np.zeros(size) for size in self._sizes.tolist()]
        self._of_y = [np.zeros(size) for size in self._sizes.tolist()]

    def add(self, codes: Mapping[int, UInt[Array, " n"]], y: Int8[Array, " n"], r: Float[Array, " n"]) -> None:
        """Take rows in."""
        signed, place = r * y, np.empty(len(r), np.intp)
        cells = [np.take(self._cell[j], codes[j], mode="clip") for j in self._features]
        for cell, one, of_y in zip(cells, self._one, self._of_y, strict=True):
            one += np.bincount(cell, r, len(one))
            of_y += np.bincount(cell, signed, len(of_y))
        for (a, b), both in zip(self._pairs, self._both, strict=True):
            np.multiply(cells[a], self._sizes[b], out=place)
            place += cells[b]
            both += np.bincount(place, r, len(both))

    @property
    def total(self) -> Float[Array, "t1 t1"]:
        """The sum over all rows."""
        count, ends = int(self._starts[-1] + self._sizes[-1] - 1), self._starts + self._sizes - 1
        S, S_y, both = np.empty(count), np.empty(count), np.empty((count, count))
        for one, of_y, start, end in zip(self._one, self._of_y, self._starts, ends, strict=True):
            S[start:end], S_y[start:end] = _above(one), _above(of_y)
            higher = np.maximum.outer(np.arange(start, end), np.arange(start, end))
            both[start:end, start:end] = S[higher]
        for (a, b), cells in zip(self._pairs, self._both, strict=True):
            of_both = _above(_above(cells.reshape(self._sizes[a], self._sizes[b])).T).T
            both[self._starts[a] : ends[a], self._starts[b] : ends[b]] = of_both
            both[self._starts[b] : ends[b], self._starts[a] : ends[a]] = of_both.T
        R, t, at = float(self._one[0].sum()), len(self._at), self._at
        total = np.empty((t + 1, t + 1))
        # In place: with thousands of splits each array that is made in between costs as much as the counts.
        entries, twice = total[:t, :t], 2.0 * S[at]
        np.multiply(both[np.ix_(at, at)], 4.0, out=entries)
        entries -= twice - R
        entries -= twice[:, np.newaxis]
        entries *= self._sign
        entries *= self._sign[:, np.newaxis]
        total[t, :t] = total[:t, t] = self._sign * (2.0 * S_y[at] - float(self._of_y[0].sum()))
        total[t, t] = R
        return total


def _cells(cuts: Int[Array, " cuts"]) -> Int[Array, " codes"]:
    """Return the number of cuts below each code, up to the code after the last cut."""
    return np.repeat(np.arange(len(cuts) + 1), np.diff(cuts, prepend=-1, append=cuts[-1] + 1))


def _above(cells: Float[Array, "*cells"]) -> Float[Array, "*cuts"]:
    """Return the sums over the cells above each cut."""
    return np.cumsum(cells[:0:-1], axis=0)[::-1]
