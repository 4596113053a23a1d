"""Saved files with an edit that no checksum shows: arrays and descriptions that say something else than they should."""

from __future__ import annotations

import copy
import io
import json
import zipfile
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


def cast_array(array: np.ndarray, kind: Any) -> np.ndarray:
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


HUGE_VALUES: tuple[Any, ...] = (
    *(2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**70, -(2**63), 1e308, float("nan"), float("inf"), -0.0, 5e-324),
    *(True, None, "\ud800"),
)
"""Values beyond the ranges of integers and floats, and a text that cannot be printed."""


def paths(value: Any, start: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all values in a description."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*start, key)
            yield from paths(value[key], (*start, key))


def value_at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def lie(about: Any, arrays: dict[str, np.ndarray], neighbour: Any, stale: Any, rng: np.random.Generator) -> str:
    """Change a description or its arrays so that they are plausible and false; return what was done.

    `neighbour` and `stale` are the description and the arrays of another file.
    """
    everywhere = list(paths(about))
    path = everywhere[rng.integers(len(everywhere))]
    inside, key = value_at(about, path[:-1]), path[-1]
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    match int(rng.integers(8)):
        case 0:
            candidates = [place for place in paths(neighbour) if place[-1] == key] or list(paths(neighbour))
            inside[key] = copy.deepcopy(value_at(neighbour, candidates[rng.integers(len(candidates))]))
        case 1:
            references = [place for place in everywhere if place[-1] == "array"]
            first, second = (references[k] for k in rng.integers(len(references), size=2))
            one, two = value_at(about, first[:-1]), value_at(about, second[:-1])
            one["array"], two["array"] = two["array"], one["array"]
        case 2:
            arrays[name] = stale[list(stale)[rng.integers(len(stale))]]
        case 3:
            kind = ["f4", "i4", "u8", "f2", array.dtype.newbyteorder(">"), "F"][rng.integers(6)]
            with np.errstate(all="ignore"):
                arrays[name] = np.asfortranarray(array) if kind == "F" else cast_array(array, kind)
        case 4:
            arrays[name] = array[::-1].copy() if array.ndim else array
        case 5:
            inside[key] = HUGE_VALUES[rng.integers(len(HUGE_VALUES))]
        case 6:
            arrays[name] = np.zeros([(1 << 16,), (0, 5), (1, 1 << 16), ()][rng.integers(4)], array.dtype)
        case _:
            if isinstance(inside, dict):
                inside[f"{key}_"] = inside.pop(key)
            else:
                inside.reverse()
    return f"{path}, {name}"


def false_content(path: Path, neighbour: Path, rng: np.random.Generator) -> tuple[bytes, str]:
    """A saved file with one or two lies, and sometimes a member that is cut off, and where they are."""
    (about, arrays), (another, stale) = unpacked(path), unpacked(neighbour)
    descriptions = [lie(about, arrays, another, stale, rng)]
    if rng.integers(3) == 0 and list(paths(about)) and arrays:
        descriptions.append(edit_description(about, rng))
    content = packed(about, arrays)
    if rng.integers(8):
        return content, "; ".join(descriptions)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        names = source.namelist()
        short = names[rng.integers(len(names))]
        for name in names:
            member = source.read(name)
            target.writestr(name, member[: rng.integers(len(member))] if name == short else member)
    return out.getvalue(), f"{short} cut off"
