"""Functions by kind and numbers: the form in which a certificate file states the F of its program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from boostopt._utils.array_types import Array, Bool, Float


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
    """Return whether the class of an F or a G names a kind: one that it inherits names another function."""
    return bool(vars(type(part)).get("kind"))


@runtime_checkable
class States(Protocol):
    """A regularizer that states itself."""

    def statement(self, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...]) -> Statement | None: ...


def statement_of(
    F: States, c: Float[Array, " N"], d0: Float[Array, " N"], nus: tuple[float, ...] = ()
) -> Statement | None:
    """Return F as a certificate file states it; None where its class names no kind, or a file cannot say what it is."""
    return F.statement(c, d0, nus) if defines_own_kind(F) else None


def statement_with_caps(
    numbers: dict[str, Any],
    caps: Float[Array, " N"],
    c: Float[Array, " N"],
    nus: tuple[float, ...],
    live: Bool[Array, " N"] | None = None,
) -> Statement:
    """Return a statement with its caps: by a nu if one gives them where `live`, everywhere by default."""
    live = np.ones(len(c), dtype=bool) if live is None else live
    for nu in nus:
        for name, counts in (("c / nu", c), ("1 / nu", np.ones(len(c)))):
            with np.errstate(all="ignore"):
                if np.array_equal((counts / nu)[live], caps[live]):
                    return Statement({**numbers, "caps": name, "nu": nu})
    return Statement({**numbers, "caps": "given"}, {"caps": caps})
