"""One program, several backends: who is right, who is fast, who cannot take it and why."""

from boostopt.comparison.comparing import Comparison, Row, compare

__all__ = ["Comparison", "Row", "compare"]
