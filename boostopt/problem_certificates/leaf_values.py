"""The values of variables, parameters, multipliers and bounds as arrays, checked; a missing one is no error."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError, short_repr


def has_usable_value(variable: Any) -> bool:
    """Return whether a variable has a value of finite numbers of its shape."""
    return real_entries(value_of(variable), variable.size) is not None


def value_of(variable: Any) -> Any:
    """Return the value of a CVXPY variable as `save_value` takes it; None if it has none."""
    if not variable.attributes.get("sparsity"):
        return variable.value
    sparse = variable.value_sparse  # CVXPY warns of the dense value
    return None if sparse is None else sparse.toarray()


def dual_vector(dual: Any, size: int) -> Float[Array, " m"]:
    """Return a dual of the solver, 0 if there is none of this size with finite entries."""
    values = real_entries(dual, size)
    return np.zeros(size) if values is None else values


def dual_matrix(dual: Any, n: int) -> Float[Array, "n n"] | None:
    """Return the symmetric part of a dual of the solver; None if there is none of this size with finite entries."""
    values = real_entries(dual, n * n)
    return None if values is None else (values.reshape(n, n) + values.reshape(n, n).T) / 2


def real_entries(value: Any, size: int) -> Float[Array, " k"] | None:
    """Return a value of the caller as so many finite floats in C order; None if it is no such array."""
    try:
        values = np.asarray(_dense(value))
        if values.size != size or not np.isrealobj(values):
            return None
        result = values.astype(float).ravel()
    except (TypeError, ValueError):  # values and duals are proposals: what is none counts as missing
        return None
    return result if np.isfinite(result).all() else None


def constant_values(expression: Any) -> Any:
    """Return the value of a constant or a parameter as a dense array or a sparse one.

    Raises
    ------
    ProblemError
        A parameter has no value, or a value is complex or not finite.
    """
    value = expression.value
    if value is None:
        raise ProblemError(
            f"parameters must have values; got {expression.name()} without one. Set {expression.name()}.value."
        )
    is_sparse = scipy.sparse.issparse(value)
    values: Any = scipy.sparse.csr_array(value) if is_sparse else np.asarray(value)
    if not np.isrealobj(values):
        raise ProblemError("constants must be real; got complex numbers. Write real and imaginary parts apart.")
    values = values.astype(float, copy=False).reshape(expression.shape)
    entries: Any = values.data if is_sparse else values
    if not np.isfinite(entries).all():
        raise ProblemError(
            f"constants must be finite; got {short_repr(float(entries[~np.isfinite(entries)][0]))} in the data. "
            "Correct the data, and leave out constraints without an effect."
        )
    return values


def bound_values(name: str, bound: Any, shape: tuple[int, ...]) -> Float[Array, " k"]:
    """Return a bound of each entry of a variable of a shape.

    Raises
    ------
    ProblemError
        The bound is an expression of parameters without a value, or it is no array of real numbers of this shape.
    """
    value = getattr(bound, "value", bound)
    if value is None:
        raise ProblemError(f"bounds must have values; got None or a parameter without one at {name}. Set its value.")
    try:
        values = np.broadcast_to(np.asarray(_dense(value), dtype=float), shape).ravel()
    except (TypeError, ValueError):
        raise ProblemError(
            f"bounds must be real numbers of shape {shape} or one number; got {short_repr(value)} at {name}. Correct "
            "the bound."
        ) from None
    if np.isnan(values).any():
        raise ProblemError(f"bounds must be numbers; got nan at {name}. Correct the bound.")
    return values


def _dense(value: Any) -> Any:
    """Return a value as a dense array."""
    return value.toarray() if scipy.sparse.issparse(value) else value
