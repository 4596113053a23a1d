"""Warmuth, Glocker and Ratsch 2007: generalization errors, margins and rounds of SoftBoost and others."""

from __future__ import annotations

from benchmarks.evidence.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
