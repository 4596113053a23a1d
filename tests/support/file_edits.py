"""Saved files with an edit that no checksum shows: arrays and descriptions that say something else than they should."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

META = "meta"

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 10**30, 0.5, -0.5, 1e-320, 1e308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "nan", "stump", [], [0], [1.5, "x"], [[]], {}, {"a": 1}, {"array": "a0"}, {"array": "none"}),
)
"""Values that replace another value."""


def unpacked(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The description and the arrays of a saved file."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop(META).tobytes().decode()), arrays


def packed(about: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
    """A file that says this, all its checksums right."""
    out = io.BytesIO()
    meta = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(out, **arrays, meta=meta)  # pyright: ignore[reportArgumentType]
    return out.getvalue()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All objects and lists in a description with each of their keys."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def edit_description(about: Any, rng: np.random.Generator) -> str:
    """Replace a value of a description, or take it away; return what was done."""
    candidates = list(places(about))
    inside, key = candidates[rng.integers(len(candidates))]
    if isinstance(inside, dict) and rng.integers(8) == 0:
        del inside[key]
        return f"without {key}"
    old_value, value = inside[key], VALUES[rng.integers(len(VALUES))]
    if rng.integers(4) == 0 and isinstance(old_value, int | float) and not isinstance(old_value, bool):
        value = old_value * [-1, 0, 2, 1e300][rng.integers(4)]
    inside[key] = value
    return f"{key}: {str(old_value)[:60]} -> {value}"


def edit_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> str:
    """Change an array: its type, its shape, or an entry; return what was done."""
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    match int(rng.integers(9)):
        case 0:
            array = array[: len(array) // 2] if array.ndim else array
        case 1:
            array = array[:0] if array.ndim else array.reshape(1)
        case 2:
            array = array[np.newaxis]
        case 3:
            array = array.reshape(-1)
        case 4:
            array = np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
        case 5 | 6:
            kind = ["U1", "?", "c16", "f4", "i1", "i8", "u1", "f8", "M8[s]", "S3"][rng.integers(10)]
            with np.errstate(all="ignore"):
                array = cast_array(cast_array(array, "i8"), kind) if kind == "M8[s]" else cast_array(array, kind)
        case _:
            if array.size and array.dtype.kind in "iuf":
                position = int(rng.integers(array.size))
                new = [0, 1, -1, 2, 1e6] if array.dtype.kind in "iu" else [0, -1, 2, np.nan, np.inf, 1e300, 1e-300]
                with np.errstate(all="ignore"):
                    array.reshape(-1)[position] = np.asarray(new[rng.integers(len(new))]).astype(array.dtype)
    arrays[name] = array
    return f"{name}: {array.dtype} of {array.shape}"


def cast_array(array: np.ndarray, kind: str) -> np.ndarray:
    try:
        return array.astype(kind)
    except (ValueError, TypeError):
        return np.zeros(array.shape, dtype=kind)


def edited_content(path: Path, rng: np.random.Generator) -> tuple[bytes, str]:
    """A saved file with one or two edits, and what they are."""
    about, arrays = unpacked(path)
    descriptions = list[str]()
    for _ in range(int(rng.integers(1, 3))):
        descriptions.append(edit_array(arrays, rng) if arrays and rng.integers(2) else edit_description(about, rng))
    return packed(about, arrays), "; ".join(descriptions)
