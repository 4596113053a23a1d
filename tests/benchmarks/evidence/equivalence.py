"""Shalev-Shwartz and Singer 2010: the rate of theorem 9."""

from __future__ import annotations

from benchmarks.evidence.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
