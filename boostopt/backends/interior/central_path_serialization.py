"""The central path of an interior point run as plain arrays, from which another process continues bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array
from boostopt._utils.files import Keys
from boostopt.backends.interior.newton_steps import Iterate
from boostopt.backends.interior.starting_points import ORDERS, CentralPath

ITERATE_FIELDS = Keys(
    Iterate,
    {
        "below": "lower_distance",
        "above": "upper_distance",
        "zeta": "zeta",
        "psi": "psi",
        "s": "s",
        "v": "v",
        "x": "x",
        "beta": "beta",
        "m": "m",
    },
)
"""Attributes of an iterate by the keys of the stored arrays."""

SIZE, GAP = "size", "gap"
"""Keys of the scale of the objective, and of the estimated gap of an iterate."""


def serialize_path(path: CentralPath) -> dict[str, Array]:
    """Return a path as arrays; the name of each array contains the order of magnitude of the gap of the iterate."""
    arrays = {SIZE: np.array(path.size)}
    for order, (gap, point) in path.iterates.items():
        arrays[f"{GAP}{order}"] = np.array(gap)
        arrays |= {f"{key}{order}": np.asarray(part) for key, part in ITERATE_FIELDS.to_file(point).items()}
    return arrays


def deserialize_path(arrays: Mapping[str, Any]) -> CentralPath | None:
    """Return the path that `serialize_path` has stored; None if arrays are missing or do not fit together."""
    iterates: dict[int, tuple[float, Iterate]] = {}
    for order in ORDERS:
        parts = {
            key: np.asarray(arrays[f"{key}{order}"]) for key in ITERATE_FIELDS.attributes if f"{key}{order}" in arrays
        }
        if not parts:
            continue
        if len(parts) < len(ITERATE_FIELDS.attributes) or f"{GAP}{order}" not in arrays or not _is_valid_iterate(parts):
            return None
        point = ITERATE_FIELDS.from_file({**parts, "beta": float(parts["beta"])})
        iterates[order] = float(arrays[f"{GAP}{order}"]), Iterate(**point)
    return CentralPath(iterates, float(arrays[SIZE])) if SIZE in arrays else None


def _is_valid_iterate(parts: Mapping[str, Array]) -> bool:
    """Return whether arrays are the fields of an iterate: finite numbers, one per example or row."""
    if not all(part.dtype == np.float64 and np.isfinite(part).all() for part in parts.values()):
        return False
    shape = {name: part.shape for name, part in parts.items()}
    over_examples = {shape[name] for name in ("below", "above", "zeta", "psi", "m")}
    one_axis = all(len(shape[name]) == 1 for name in ("below", "s", "x"))
    return len(over_examples) == 1 and shape["s"] == shape["v"] and shape["beta"] == () and one_axis
