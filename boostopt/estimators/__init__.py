"""Classifiers of scikit-learn's kind.

RBFNetworkClassifier
    RBF networks with adaptive centres.

Names are loaded on first use, and scikit-learn with them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boostopt.estimators.rbf import RBFNetworkClassifier

_HOME = {"RBFNetworkClassifier": "rbf"}
"""Where each public name lives."""

__all__ = ["RBFNetworkClassifier"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'boostopt.estimators' has no attribute {name!r}")
    value = getattr(import_module(f"boostopt.estimators.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
