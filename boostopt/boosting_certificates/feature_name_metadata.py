"""Metadata of certificate files that boostopt itself reads: the names of features. No verdict depends on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

FEATURES_KEY = "features"
"""Key of the feature names, in the order of the columns."""


def feature_metadata(names: Sequence[Any] | npt.NDArray[Any] | None) -> dict[str, Any]:
    """Return the feature names as metadata, by which `boostopt verify` finds the columns of a table; {} if none."""
    return {} if names is None or not len(names) else {FEATURES_KEY: [str(name) for name in names]}


def feature_names(metadata: object) -> tuple[str, ...]:
    """Return the feature names that the metadata of a file contain; () if they contain no list of texts."""
    names: Any = metadata.get(FEATURES_KEY) if isinstance(metadata, Mapping) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(names)
