"""The elements of a MATLAB 5 file, checked before SciPy reads them: unknown types in a damaged file end its process.

A file is a header of 128 bytes and elements. An element has a tag of a type and a size, and its bytes, up to a multiple
of 8. A matrix is an element whose bytes are elements: flags with the class, sizes, a name, and then numbers, or indices
and numbers of a sparse matrix, or names and matrices of a structure.

References
----------
The MathWorks 2024, "MAT-File Format".
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from boostopt._utils.files import MAX_UNPACKED_BYTES

HEADER_SIZE = 128

BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
"""Byte orders by the last two letters of the header."""

ITEM_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}
"""Bytes of a number or character, by the type."""

INT8, INT32, UINT32, MATRIX, COMPRESSED = 1, 5, 6, 14, 15
"""Numbers of types."""

CELL, STRUCTURE, CHARACTERS, SPARSE, FIRST_NUMERIC, LAST_NUMERIC = 1, 2, 4, 5, 6, 15
"""Numbers of classes."""

COMPLEX = 0x800
"""The flag of complex numbers."""

MAX_DEPTH = 8
"""Largest number of matrices within each other."""

MAX_DIMENSIONS = 32
"""Largest number of sizes of a matrix."""


@dataclass(frozen=True)
class _Element:
    kind: int
    content: bytes

    @property
    def count(self) -> int:
        """Number of numbers or characters."""
        return len(self.content) // ITEM_SIZES[self.kind]


def check_elements(content: bytes) -> None:
    """Raise ValueError unless all elements are as the format states.

    Parameters
    ----------
    content
        The file.
    """
    order = BYTE_ORDERS.get(content[HEADER_SIZE - 2 : HEADER_SIZE])
    if order is None:
        raise ValueError("the header has no byte order")
    for element in _elements(content[HEADER_SIZE:], order):
        inner = element
        if element.kind == COMPRESSED:
            inner, *further = _elements(_unpacked(element.content), order)
            if further:
                raise ValueError("a compressed element has more than one matrix")
        if inner.kind != MATRIX:
            raise ValueError(f"an element of type {inner.kind} stands where a matrix must be")
        _check_matrix(inner.content, order, MAX_DEPTH)


def _unpacked(content: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(content, MAX_UNPACKED_BYTES)
    except zlib.error as failure:
        raise ValueError(f"a compressed element is damaged: {failure}") from failure
    if not unpacker.eof:
        raise ValueError(f"a compressed element is cut, or has more than {MAX_UNPACKED_BYTES:,} bytes")
    return unpacked


def _elements(content: bytes, order: str) -> Iterator[_Element]:
    start = 0
    while start < len(content):
        tag = content[start : start + 8]
        if len(tag) < 8:
            raise ValueError("the tag of an element is cut")
        (first,) = struct.unpack(f"{order}I", tag[:4])
        if first >> 16:  # a short element: type, size and content in 8 bytes
            kind, size, begin, length = first & 0xFFFF, first >> 16, start + 4, 4
        else:
            kind, (size,), begin = first, struct.unpack(f"{order}I", tag[4:]), start + 8
            length = size if kind == COMPRESSED else -(-size // 8) * 8
        if kind not in (*ITEM_SIZES, MATRIX, COMPRESSED) or size > length or begin + size > len(content):
            raise ValueError(f"an element of type {kind} and {size} bytes is none")
        if kind in ITEM_SIZES and size % ITEM_SIZES[kind]:
            raise ValueError(f"an element of type {kind} has {size} bytes")
        yield _Element(kind, content[begin : begin + size])
        start = begin + length


def _check_matrix(content: bytes, order: str, depth: int) -> None:
    """Raise ValueError unless the elements of a matrix are those of its class."""
    if not content:
        return  # an empty place of a structure
    if not depth:
        raise ValueError("matrices are nested too deeply")
    parts = list(_elements(content, order))
    if [part.kind for part in parts[:3]] != [UINT32, INT32, INT8] or len(parts[0].content) != 8:
        raise ValueError("a matrix must begin with its flags, sizes and name")
    flags = struct.unpack(f"{order}2I", parts[0].content)[0]
    shape = struct.unpack(f"{order}{parts[1].count}i", parts[1].content)
    if not 2 <= len(shape) <= MAX_DIMENSIONS or min(shape) < 0:
        raise ValueError(f"a matrix has the sizes {shape}")
    class_number, is_complex, remaining = flags & 0xFF, bool(flags & COMPLEX), parts[3:]
    size = math.prod(shape)
    if class_number == CELL:
        _check_matrices(remaining, size, order, depth)
    elif class_number == STRUCTURE:
        n_fields = _check_names(remaining[:2], order)
        _check_matrices(remaining[2:], n_fields * size, order, depth)
    elif class_number == CHARACTERS:
        _check_numbers(remaining, [None])
    elif class_number == SPARSE:
        _check_numbers(remaining, [None, shape[1] + 1, *[None] * (1 + is_complex)])
    elif FIRST_NUMERIC <= class_number <= LAST_NUMERIC:
        _check_numbers(remaining, [size] * (1 + is_complex))
    else:
        raise ValueError(f"a matrix has the class {class_number}")


def _check_numbers(parts: Sequence[_Element], counts: Sequence[int | None]) -> None:
    """Raise ValueError unless the parts are numbers, as many as the counts say; None stands for any number."""
    if len(parts) != len(counts) or any(part.kind not in ITEM_SIZES for part in parts):
        raise ValueError(f"a matrix must have {len(counts)} parts of numbers")
    if any(count not in (None, part.count) for part, count in zip(parts, counts, strict=True)):
        raise ValueError("a matrix has another number of entries than its sizes say")


def _check_matrices(parts: Sequence[_Element], count: int, order: str, depth: int) -> None:
    if len(parts) != count or any(part.kind != MATRIX for part in parts):
        raise ValueError(f"a matrix of matrices must have {count} of them")
    for part in parts:
        _check_matrix(part.content, order, depth - 1)


def _check_names(parts: Sequence[_Element], order: str) -> int:
    """Return the number of names; raise ValueError unless they are texts of one positive length."""
    if [part.kind for part in parts] != [INT32, INT8] or parts[0].count != 1:
        raise ValueError("a structure must have names")
    (length,) = struct.unpack(f"{order}i", parts[0].content)
    if length < 1 or len(parts[1].content) % length:
        raise ValueError("the names of a structure must be of one length")
    return len(parts[1].content) // length
