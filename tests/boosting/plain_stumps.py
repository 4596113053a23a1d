"""Decision stumps without binned rows, so that boosting makes steps in floating point."""

from __future__ import annotations

from boostopt.oracles import DecisionStumps


class PlainStumps(DecisionStumps):
    """A subclass, which histogram Newton does not support because its hypotheses may differ."""
