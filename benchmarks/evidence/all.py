"""All experiments, in the order in which they are begun: what takes seconds first."""

from __future__ import annotations

from benchmarks.evidence import (
    dissertation,
    dynamics,
    dynamics_margins,
    equivalence,
    soft_margins,
    soft_margins_table,
    softboost,
    softboost_table,
)

EXPERIMENTS = (
    *dynamics.EXPERIMENTS,
    *dynamics_margins.EXPERIMENTS,
    *equivalence.EXPERIMENTS,
    *softboost.EXPERIMENTS,
    *softboost_table.EXPERIMENTS,
    *soft_margins.EXPERIMENTS,
    *dissertation.EXPERIMENTS,
    *soft_margins_table.EXPERIMENTS,
)
