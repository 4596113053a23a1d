"""Ratsch, Onoda and Muller 2001, figures: what noise does to AdaBoost, and what regularizers make of it."""

from __future__ import annotations

from benchmarks.evidence.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
