"""Test errors in percent as Raetsch, Onoda, Mueller 2001 print them: mean and deviation over 100 splits, or 20.

Quoted from memory: the paper was not at hand, and no figure has been compared with print. Left out are figures that
were not remembered for certain, and the tables of Warmuth, Glocer, Raetsch 2007 and Warmuth, Glocer, Vishwanathan 2008.
"""

from __future__ import annotations

from collections.abc import Mapping

Figure = tuple[float, float]

SOFT_MARGINS = ("AdaBoost", "AdaBoost_REG", "LP_REG", "QP_REG", "RBF-SVM")
"""Columns of the table of Raetsch, Onoda, Mueller 2001; it has one for a single RBF network as well."""

_RAETSCH: Mapping[str, tuple[Figure | None, ...]] = {
    "banana": ((12.3, 0.7), (10.9, 0.4), (10.7, 0.4), (10.9, 0.5), (11.5, 0.7)),
    "breast_cancer": ((30.4, 4.7), (26.5, 4.5), (26.8, 6.1), (25.9, 4.6), (26.0, 4.7)),
    "diabetis": ((26.5, 2.3), (23.8, 1.8), (24.1, 1.9), (25.4, 2.2), (23.5, 1.7)),
    "flare_solar": ((35.7, 1.8), (34.2, 2.2), (34.7, 2.0), (36.2, 1.8), (32.4, 1.8)),
    "german": ((27.5, 2.5), (24.3, 2.1), (24.8, 2.2), (25.3, 2.1), (23.6, 2.1)),
    "heart": ((20.3, 3.4), (16.5, 3.5), None, (17.2, 3.4), (16.0, 3.3)),
    "image": ((2.7, 0.7), (2.7, 0.6), (2.8, 0.6), (2.7, 0.6), (3.0, 0.6)),
    "ringnorm": ((1.9, 0.3), (1.6, 0.1), (2.2, 0.5), (1.9, 0.2), (1.7, 0.1)),
    "splice": ((10.1, 0.5), (9.5, 0.7), None, (10.1, 0.5), (10.9, 0.7)),
    "thyroid": ((4.4, 2.2), (4.6, 2.2), (4.6, 2.2), (4.4, 2.2), (4.8, 2.2)),
    "titanic": ((22.6, 1.2), (22.6, 1.2), (24.0, 4.4), (22.7, 1.1), (22.4, 1.0)),
    "twonorm": ((3.0, 0.3), (2.7, 0.2), (3.2, 0.4), (3.0, 0.3), (3.0, 0.2)),
    "waveform": ((10.8, 0.6), (9.8, 0.8), (10.5, 1.0), (10.1, 0.5), (9.9, 0.4)),
}


def printed(name: str) -> dict[str, Figure]:
    """Return mean and standard deviation by the method, for those that are quoted."""
    figures = zip(SOFT_MARGINS, _RAETSCH.get(name, ()), strict=False)
    return {method: figure for method, figure in figures if figure is not None}
