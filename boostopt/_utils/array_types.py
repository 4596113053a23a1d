"""Array annotations with shapes, and collections of Dask's, told from arrays without Dask.

Shapes are checked at run time where jaxtyping is installed, and are plain text elsewhere. jaxtyping is a tool of the
developers (`pytest` checks every shape with it), not a dependency of the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

Array = np.ndarray

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Int8, Int32, Num, UInt
else:
    try:
        from jaxtyping import Bool, Float, Int, Int8, Int32, Num, UInt
    except ImportError:

        class _Unchecked:
            """Stands in for jaxtyping: `Float[Array, "N"]` is just `Array`."""

            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
                return item[0]

        Bool = Float = Int = Int8 = Int32 = Num = UInt = _Unchecked

__all__ = ["Array", "Bool", "DaskCollection", "Float", "Int", "Int8", "Int32", "Num", "UInt", "is_dask_collection"]


@runtime_checkable
class DaskCollection(Protocol):
    """A collection of Dask's, as far as types tell it from an array."""

    def __dask_graph__(self) -> Any:
        """Return what it is computed by."""


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a collection of Dask's; Dask need not be there to tell."""
    return type(X).__module__.partition(".")[0] == "dask"
