"""All experiments, in the order in which they are begun: what takes seconds first."""

from __future__ import annotations

from benchmarks.evidence import dissertation, dynamics, equivalence, soft_margins, soft_margins_table, softboost

EXPERIMENTS = (
    *dynamics.EXPERIMENTS,
    *equivalence.EXPERIMENTS,
    *softboost.EXPERIMENTS,
    *soft_margins.EXPERIMENTS,
    *dissertation.EXPERIMENTS,
    *soft_margins_table.EXPERIMENTS,
)
