"""Tables 5.2 and 5.4 to 5.12 of Glocer 2009: rows used, test errors, seconds and parameters of the best results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence.experiment import printed_numbers

SETS = ("astro-ph", "news20", "real-sim", "a9a", "german", "diabetes")
"""The order of the columns."""

CLASSES = ("stumps", "raw", "SVM")
"""The order of the tables."""

ROWS: Mapping[str, tuple[int, int, int]] = {
    row["data set"]: (row["train"], row["valid"], row["test"]) for row in printed_numbers("T_table_5_2")["rows"]
}
"""Table 5.2: examples for training, validation and test."""


def _cells(first: int) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Return the cells of three tables by the class of hypotheses and the algorithm, in the order of the columns."""
    return {
        hypotheses: {
            # Print writes SVM large in one table and small in another.
            row["algorithm"].replace("svm", "SVM"): tuple(row[name] for name in SETS)
            for row in printed_numbers(f"T_table_5_{first + k}")["rows"]
        }
        for k, hypotheses in enumerate(CLASSES)
    }


ERRORS: Mapping[str, Mapping[str, tuple[float, ...]]] = _cells(4)
"""Tables 5.4, 5.5, 5.6: test errors in percent, by the class of hypotheses and the algorithm."""

SECONDS: Mapping[str, Mapping[str, tuple[float, ...]]] = _cells(7)
"""Tables 5.7, 5.8, 5.9: seconds of training."""

DOUBTFUL = frozenset(
    (table, algorithm, cell["data set"])
    for table in ("5.6", "5.7", "5.8", "5.9")
    for cell in printed_numbers(f"T_table_{table.replace('.', '_')}")["doubtful_cells"]
    for algorithm in cell.get("algorithms", [cell.get("algorithm")])
)
"""Table, algorithm and set of errors and seconds that print has wrong, or that say nothing."""

PARAMETERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    hypotheses: {algorithm: tuple(cell["printed"] for cell in cells) for algorithm, cells in rows.items()}
    for hypotheses, rows in _cells(10).items()
}
"""Tables 5.10, 5.11, 5.12: nu / N and eta as printed; 0 means nu = 1, a star epsilon = 0.01."""
