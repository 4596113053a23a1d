"""The error if matplotlib, which pictures need, is not installed."""

from __future__ import annotations

from boostopt.errors import BoostoptError


class MatplotlibNotFound(BoostoptError, ImportError):
    """Pictures need matplotlib, and it is not installed."""
