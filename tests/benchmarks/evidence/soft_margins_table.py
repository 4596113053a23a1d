"""Ratsch, Onoda and Muller 2001, table 1, by the protocol of that paper."""

from __future__ import annotations

from benchmarks.evidence.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
