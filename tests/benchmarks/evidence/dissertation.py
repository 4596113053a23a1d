"""Chapter 5 of the dissertation: errors, seconds, hypotheses and rounds on benchmark sets."""

from __future__ import annotations

from benchmarks.evidence.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
