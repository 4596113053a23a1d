"""Statements of functions: the form, by kind and numbers, in which a certificate file contains the F of its program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from boostopt._utils.array_types import Array, Bool, ExampleVector


@dataclass(frozen=True)
class Statement:
    """A function in the form of a certificate file: its kind and its numbers.

    Attributes
    ----------
    numbers
        The kind of the function and its numbers, for the text of a file.
    arrays
        The further arrays that the function needs, besides the multiplicities and the reference distribution.
    """

    numbers: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)


def defines_own_kind(part: object) -> bool:
    """Return whether the class of an F or a G itself defines a kind: an inherited kind names another function."""
    return bool(vars(type(part)).get("kind"))


@runtime_checkable
class States(Protocol):
    """A regularizer with the method `statement`."""

    def statement(self, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...]) -> Statement | None: ...


def statement_of(F: States, c: ExampleVector, d0: ExampleVector, nus: tuple[float, ...] = ()) -> Statement | None:
    """Return the statement of F; None if its class defines no kind, or if a certificate file cannot contain F."""
    return F.statement(c, d0, nus) if defines_own_kind(F) else None


def statement_with_caps(
    numbers: dict[str, Any],
    caps: ExampleVector,
    c: ExampleVector,
    nus: tuple[float, ...],
    in_support: Bool[Array, " N"] | None = None,
) -> Statement:
    """Return a statement with caps: by a nu if c / nu or 1 / nu gives the caps in support, otherwise as an array.

    By default, all examples are in support.
    """
    in_support = np.ones(len(c), dtype=bool) if in_support is None else in_support
    for nu in nus:
        for name, counts in (("c / nu", c), ("1 / nu", np.ones(len(c)))):
            with np.errstate(all="ignore"):
                if np.array_equal((counts / nu)[in_support], caps[in_support]):
                    return Statement({**numbers, "caps": name, "nu": nu})
    return Statement({**numbers, "caps": "given"}, {"caps": caps})
