"""Attributes that only a fit sets, and errors that say what a loaded estimator does not hold."""

from __future__ import annotations

from typing import Any


def fitted_attribute(reason: str) -> Any:
    """Return a class attribute that raises AttributeError where an instance has no value of its own.

    Parameters
    ----------
    reason
        The reason why a fitted estimator may have no value, and what to do, as sentences.
    """
    return _FittedAttribute(reason)


class _FittedAttribute:
    """A descriptor without `__set__`, so that a value of the instance comes first."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        kind = type(instance).__name__
        is_fitted = "n_features_in_" in vars(instance)
        reason = self.reason if is_fitted else "It is not fitted: call fit first."
        raise AttributeError(f"this {kind} has no {self.name}. {reason}")
