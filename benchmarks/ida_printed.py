"""Test errors in percent as they are printed, mean and deviation over the partitions.

Table 1 of Raetsch, Onoda, Mueller 2001, and of table 1 of Warmuth, Glocer, Raetsch 2007 the two columns that the other
has not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from benchmarks.evidence import experiment

Figure = tuple[float, float]

PARTITIONS = 100
"""Partitions that the means of print are over."""

SOFT_MARGINS: Mapping[str, str] = {
    "RBF": "RBF",
    "AdaBoost": "AB",
    "AdaBoost_REG": "AB_R",
    "LP_REG": "LP_R-AB",
    "QP_REG": "QP_R-AB",
    "RBF-SVM": "SVM",
}
"""Columns of the one table, as they are called in print; "RBF" is a single network, which the benchmark has not."""

SOFTBOOST: Mapping[str, str] = {"LPBoost": "LPBoost", "SoftBoost": "SoftBoost"}
"""Columns of the other table that are taken; it has AdaBoost, BrownBoost and AdaBoost_REG as well."""

NAMES: Mapping[str, tuple[str, str]] = {
    "banana": ("Banana", "Banana"),
    "breast_cancer": ("B. Cancer", "B.Cancer"),
    "diabetis": ("Diabetes", "Diabetes"),
    "german": ("German", "German"),
    "heart": ("Heart", "Heart"),
    "image": ("Image", ""),
    "ringnorm": ("Ringnorm", "Ringnorm"),
    "flare_solar": ("F. Solar", "F.Solar"),
    "splice": ("Splice", ""),
    "thyroid": ("Thyroid", "Thyroid"),
    "titanic": ("Titanic", "Titanic"),
    "twonorm": ("Twonorm", ""),
    "waveform": ("Waveform", "Waveform"),
}
"""The sets by the names of their files, in the order of the one table, as both call them; the other one has ten."""

SETS = tuple(NAMES)


def allowed(deviation: float, splits: int, in_print: float) -> float:
    """Return two standard errors of the difference of a mean over some splits and the printed one."""
    return 2.0 * math.sqrt(deviation**2 / splits + in_print**2 / PARTITIONS)


def printed_figures(name: str) -> dict[str, Figure]:
    """Return mean and standard deviation by the method; nothing for what the tables have not."""
    soft_margins_name, softboost_name = NAMES.get(name, ("", ""))
    rows = (
        (
            SOFT_MARGINS,
            {row["set"]: row for row in experiment.printed_numbers("R_table1")["rows"]}.get(soft_margins_name, {}),
        ),
        (
            SOFTBOOST,
            {row["data set"]: row for row in experiment.printed_numbers("N_table_1")["rows"]}.get(softboost_name, {}),
        ),
    )
    return {method: tuple(row[column]) for columns, row in rows for method, column in columns.items() if row}
