"""Array annotations with shapes, and the protocol of Dask collections, which does not need Dask.

Shapes are checked at run time if jaxtyping is installed, and are plain text otherwise. jaxtyping is a tool of the
developers (`pytest` checks every shape with it), not a dependency of the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

Array = np.ndarray

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Int8, Int32, Num, UInt
else:
    try:
        from jaxtyping import Bool, Float, Int, Int8, Int32, Num, UInt
    except ImportError:

        class _Unchecked:
            """A substitute for jaxtyping: `Float[Array, "N"]` is just `Array`."""

            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
                return item[0]

        Bool = Float = Int = Int8 = Int32 = Num = UInt = _Unchecked

ExampleVector: TypeAlias = Float[Array, " N"]
"""A number for each example: margins, weights, multiplicities."""
HypothesisVector: TypeAlias = Float[Array, " t"]
"""A number for each hypothesis of the program: weights w, edges."""

__all__ = [
    "Array",
    "Bool",
    "DaskCollection",
    "ExampleVector",
    "Float",
    "HypothesisVector",
    "Int",
    "Int8",
    "Int32",
    "Num",
    "UInt",
    "is_dask_collection",
]


@runtime_checkable
class DaskCollection(Protocol):
    """A Dask collection, as far as its type distinguishes it from an array."""

    def __dask_graph__(self) -> Any:
        """Return the task graph of the collection."""


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask collection; Dask need not be installed."""
    return type(X).__module__.partition(".")[0] == "dask"
