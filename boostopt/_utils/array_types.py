"""Array annotations with shapes: checked at run time where jaxtyping is installed, plain text elsewhere.

jaxtyping is a tool of the developers (`pytest` checks every shape with it), not a dependency of the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

__all__ = ["Array", "Bool", "Float", "Int", "Int8", "Int32", "Num", "UInt"]
