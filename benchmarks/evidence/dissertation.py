"""Chapter 5 of the dissertation: errors, seconds, hypotheses and rounds on benchmark sets."""

from __future__ import annotations

from benchmarks.evidence import dissertation_figures, dissertation_solvers, dissertation_tables

EXPERIMENTS = (
    *dissertation_figures.EXPERIMENTS,
    *dissertation_solvers.EXPERIMENTS,
    *dissertation_tables.EXPERIMENTS,
)
