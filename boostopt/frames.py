"""Results as data frames of pandas, where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from boostopt.errors import OptionError


def data_frame(rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> Any:
    """Return a data frame of columns by name, or of records of the same fields.

    Raises
    ------
    OptionError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as missing:
        raise OptionError(
            "to_dataframe expected an installed pandas; there is none. Install it: pip install pandas."
        ) from missing
    return pd.DataFrame(rows)
