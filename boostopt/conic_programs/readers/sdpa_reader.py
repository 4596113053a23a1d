"""SDPA's sparse format: min <c, x> over x with F_1 x_1 + ... + F_m x_m - F_0 positive semidefinite, in blocks.

References
----------
Borchers 1999, "SDPLIB 1.2, a library of semidefinite programming test problems", Optimization Methods and Software 11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from boostopt.conic_programs.conic_program import ConeConstraint, ConicProgram
from boostopt.conic_programs.readers.numbered_lines import (
    LINE_ENDS,
    MAX_COUNT,
    MAX_UNLISTED,
    NUMBER,
    TextLines,
    count_number,
    finite_number,
)
from boostopt.conic_programs.readers.sparse_entries import sparse_columns
from boostopt.errors import DataError

FORMAT_NAME = "SDPA's sparse format"

SEPARATORS = re.compile(r"[,(){}]")
"""Characters that the format allows between numbers, as spaces."""

SECTIONS_IN_COMMENTS = re.compile(r"^[ \t]*\*[ \t]*(INTEGER|RANK1)\b(?=[ \t]*$)", re.MULTILINE | re.IGNORECASE)
"""Sections of SCIP-SDP's files that look like comments."""

MAX_SIZE_LENGTH = 30
"""Largest number of characters of a block size; Python refuses to convert thousands of digits."""

BLOCK_SIZE = re.compile(r"[-+]?0*[1-9][0-9]*")

LEADING_NUMBER = re.compile(r"([0-9]+)(?![\w.])")
"""A number of variables or of blocks, which a comment may follow."""


def read_sdpa(path: Path, text: str) -> ConicProgram:
    """Return the program of a file.

    A block of a negative size is diagonal: its entries are linear rows. An entry off the diagonal stands for both
    triangles and is stated once: readers differ in whether they add a second one.

    Raises
    ------
    DataError
        A line is not as the format states, or variables are integers or matrices of rank 1 (the sections that other
        readers find behind a star); the message names the line.
    """
    section = SECTIONS_IN_COMMENTS.search(text)
    if section is not None:
        number = len(LINE_ENDS.split(text[: section.start()]))
        raise DataError(
            f"{path}, line {number}: expected continuous variables, and matrices of any rank, as {FORMAT_NAME}; got "
            f"{section[0]!r}. Solve this program by other means, or delete the section for its relaxation."
        )
    lines = TextLines(path, SEPARATORS.sub(" ", text), FORMAT_NAME, '*"')
    n = _leading_number(lines, "the number of variables")
    lines.end_comments()
    n_blocks = _leading_number(lines, "the number of blocks")
    sizes = _integers(lines, n_blocks)
    costs = _costs(lines, n)
    blocks = [_Block(size, n) for size in sizes]
    while (line := lines.read_optional_line()) is not None:
        fields = line.split()
        expected = "matrix, block, row, column and entry"
        try:
            k, block, i, j = map(count_number, fields[:4])
            entry = finite_number(fields[4])
        except (ValueError, IndexError):
            raise lines.error(expected) from None
        if len(fields) != 5 or k > n or not 1 <= block <= n_blocks or not blocks[block - 1].add(k, i - 1, j - 1, entry):
            raise lines.error(f"{expected} within their ranges, once for each place and its transposed one")
    rows = [part for block in blocks if block.is_diagonal for part in [block.matrix()]]
    A: Any = scipy.sparse.vstack([matrix for matrix, _ in rows]) if rows else scipy.sparse.csc_array((0, n))
    row_lower = np.concatenate([constant for _, constant in rows]) if rows else np.zeros(0)
    return ConicProgram(
        A=scipy.sparse.csc_array(A),
        c=costs,
        row_lower=row_lower,
        row_upper=np.full(len(row_lower), np.inf),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
        cones=tuple(block.cone(f"block {k + 1}") for k, block in enumerate(blocks) if not block.is_diagonal),
        name=path.name.partition(".")[0],
    )


class _Block:
    """Entries of one block of F_0, ..., F_n."""

    def __init__(self, size: int, n: int) -> None:
        self.is_diagonal = size < 0 or size == 1
        self._size, self._n = abs(size), n
        self._entries = list[tuple[int, int, float]]()
        self._places = set[tuple[int, int, int]]()
        self._constants = np.zeros(self._n_rows())

    def _n_rows(self) -> int:
        return self._size if self.is_diagonal else self._size**2

    def add(self, k: int, i: int, j: int, entry: float) -> bool:
        """Add an entry of F_k and return whether its place is in the block and has none yet."""
        place = k, min(i, j), max(i, j)
        if not (0 <= i < self._size and 0 <= j < self._size) or (self.is_diagonal and i != j) or place in self._places:
            return False
        self._places.add(place)
        for row in {i} if self.is_diagonal else {i + self._size * j, j + self._size * i}:
            if k == 0:
                self._constants[row] = entry
            else:
                self._entries.append((row, k - 1, entry))
        return True

    def matrix(self) -> tuple[Any, Any]:
        """Return the coefficients of the rows, and the entries of F_0."""
        return sparse_columns(self._entries, (self._n_rows(), self._n)).tocsr(), self._constants

    def cone(self, name: str) -> ConeConstraint:
        """Return the block as a semidefinite constraint."""
        A, constants = self.matrix()
        return ConeConstraint("semidefinite", A, -constants, name=name)


def _leading_number(lines: TextLines, expected: str) -> int:
    first, *rest = lines.read_line(expected).split()
    match = LEADING_NUMBER.match(first)
    try:
        number = 0 if match is None else count_number(match[1])
    except ValueError:
        number = 0
    if number < 1 or _begins_with_number(rest):
        raise lines.error(f"{expected}, from 1 to {MAX_COUNT:,}")
    return number


def _begins_with_number(fields: list[str]) -> bool:
    """Return whether a number stands where a comment may begin."""
    return bool(fields) and NUMBER.fullmatch(fields[0]) is not None


def _integers(lines: TextLines, count: int) -> list[int]:
    expected = f"the sizes of {count} blocks"
    fields = lines.read_line(expected).split()
    fields, rest = fields[:count], fields[count:]
    if len(fields) != count or not all(map(BLOCK_SIZE.fullmatch, fields)) or _begins_with_number(rest):
        raise lines.error(expected)
    sizes = [int(size) for size in fields if len(size) <= MAX_SIZE_LENGTH]
    if len(sizes) != count or sum(size**2 if size > 0 else -size for size in sizes) > MAX_UNLISTED:
        raise lines.error(f"{expected} with at most {MAX_UNLISTED:,} entries in all")
    return sizes


def _costs(lines: TextLines, count: int) -> Any:
    expected, costs = f"the costs of {count} variables", list[float]()
    while len(costs) < count:
        costs.extend(_finite_numbers(lines, expected))
    if len(costs) != count:
        raise lines.error(expected)
    return np.array(costs)


def _finite_numbers(lines: TextLines, expected: str) -> Iterator[float]:
    try:
        return iter([finite_number(field) for field in lines.read_line(expected).split()])
    except ValueError:
        raise lines.error(expected) from None
