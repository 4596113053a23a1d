"""Statements: functions by kind and numbers, as certificate files contain them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float


@dataclass(frozen=True)
class Statement:
    """A function in the form of a certificate file.

    Attributes
    ----------
    numbers
        The kind and the numbers of the function, for the text of the file.
    arrays
        Further arrays of the function, besides the multiplicities and the reference distribution.
    """

    numbers: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)


def defines_own_kind(part: object) -> bool:
    """Return whether the class of F or G defines a kind itself. An inherited kind names another function."""
    return bool(vars(type(part)).get("kind"))


@runtime_checkable
class States(Protocol):
    """A regularizer with a statement."""

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...]) -> Statement | None: ...


def statement_of(
    F: States, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()
) -> Statement | None:
    """Return the statement of F for a certificate file; None if the class defines no kind or files cannot contain F."""
    return F.statement(c, d0, nus) if defines_own_kind(F) else None


def statement_with_caps(
    numbers: dict[str, Any],
    caps: Float[Array, " N"],
    c: Float[Array, " N"],
    nus: tuple[float, ...],
    in_support: Bool[Array, " N"] | None = None,
) -> Statement:
    """Return a statement with the caps: as c / nu or 1 / nu if a nu gives these caps on the support, else as an array.

    `in_support` is a mask of the examples on which the caps matter, all by default.
    """
    in_support = np.ones(len(c), dtype=bool) if in_support is None else in_support
    for nu in nus:
        for name, counts in (("c / nu", c), ("1 / nu", np.ones(len(c)))):
            with np.errstate(all="ignore"):
                if np.array_equal((counts / nu)[in_support], caps[in_support]):
                    return Statement({**numbers, "caps": name, "nu": nu})
    return Statement({**numbers, "caps": "given"}, {"caps": caps})
