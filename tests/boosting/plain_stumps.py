"""Decision stumps that are asked: they have no rows to look at, so that steps in floating point are made."""

from __future__ import annotations

from boostopt.oracles import DecisionStumps


class Asked(DecisionStumps):
    """Another class of hypotheses, for all that looks know."""
