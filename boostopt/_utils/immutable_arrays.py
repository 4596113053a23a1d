"""Immutable arrays, and errors for users' code that writes to them.

A certificate holds for the numbers that it was computed from. A backend, an oracle, a user's formulation or a
caller who writes to one of them afterwards would make the certificate false. So boostopt computes with immutable
arrays. They are copies whose memory is a `bytes` object: NumPy cannot write to them, because it refuses
`setflags(write=True)` for them and for their views. (A read-only array that owns its memory is not immutable:
anyone may set its flag again.)
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import inspect
import io
import mmap
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, cached_property, wraps
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array
from boostopt.errors import ProblemError, reason_of

BLOCK = 1 << 20
"""Bytes that are converted at a time, so that a conversion needs no second array of full size."""

PACKAGE = __name__.partition(".")[0]

OUTER = "_outer_arrays"
"""Attribute of users' functions F and G: arrays outside the object, with their hashes."""

ATOMS = (bool, bytes, float, int, str, type(None))
"""Types without attributes: most values of records."""

REFUSALS = ("read-only", "readonly", "not writeable", "WRITEABLE flag")
"""Phrases with which NumPy, SciPy and Cython refuse to write to an array."""


def is_immutable(array: Array) -> bool:
    """Return whether the memory of an array is a `bytes` object."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, bytes)


def is_mapped(array: Array) -> bool:
    """Return whether the memory of an array is a mapped file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def as_immutable(array: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """Return an immutable copy of an array, in the same memory order; an immutable array is returned unchanged.

    Parameters
    ----------
    array
        The array, of any shape.
    dtype
        The type of the copy; the type of the array by default.
    """
    kind = np.dtype(array.dtype if dtype is None else dtype)
    if kind.hasobject:  # references to objects are no bytes
        references = array.astype(kind)
        references.flags.writeable = False
        return references
    if array.dtype == kind and is_immutable(array):
        return array
    by_columns = array.flags.fnc
    if array.dtype == kind and array.flags.forc:
        memory = array.tobytes("A")
    else:
        rows = np.atleast_1d(array.T if by_columns else array)
        step = max(BLOCK // max(rows[:1].size * kind.itemsize, 1), 1)
        stream = io.BytesIO()
        for start in range(0, len(rows), step):
            stream.write(np.ascontiguousarray(rows[start : start + step], kind).data)
        memory = stream.getvalue()
    return np.ndarray(array.shape, kind, memory, order="F" if by_columns else "C")


def as_read_only(array: Array) -> Array:
    """Return a read-only view, without a copy, of an array that only boostopt refers to; its flag stays unset."""
    return array if is_immutable(array) else np.asarray(array.data.toreadonly())


def immutable_rows(rows: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return compressed rows with immutable arrays."""
    parts = as_immutable(rows.data, dtype), as_immutable(rows.indices), as_immutable(rows.indptr)
    return compressed(parts, rows.shape)


def compressed(parts: tuple[Array, ...], shape: tuple[int, int]) -> Any:
    """Return compressed rows over (data, indices, indptr), sorted and without duplicates; no array is copied."""
    from scipy.sparse import csr_array

    rows: Any = csr_array(parts, shape=shape, copy=False)
    rows.has_sorted_indices = rows.has_canonical_format = True  # else SciPy sorts them in place
    return rows


def immutable_copy(X: Any) -> Any:
    """Return an immutable copy of an array, or of compressed rows or columns; anything else unchanged."""
    if not hasattr(X, "indptr") or getattr(X, "format", None) not in ("csr", "csc"):
        return as_immutable(X) if type(X) is np.ndarray else X
    sparse: Any = X
    if not sparse.has_canonical_format:
        sparse = sparse.copy()
        sparse.sum_duplicates()  # SciPy would do this in place
    parts = tuple(map(as_immutable, (sparse.data, sparse.indices, sparse.indptr)))
    return type(sparse)(parts, shape=sparse.shape, copy=False)


def immutable_value(value: Any, visited: dict[int, Any] | None = None) -> Any:
    """Return a value with immutable copies of its arrays: an array, a container, or an object with attributes.

    Functions F and G, and dataclasses of boostopt, stay the same objects and get immutable attributes. A user's
    dataclass is copied. Records derived from `ImmutableArrays` have immutable arrays already.
    """
    if _has_only_immutable_arrays(type(value)):
        return value
    visited = {} if visited is None else visited
    if isinstance(value, np.ndarray):
        return as_immutable(value) if type(value) is np.ndarray else value
    if type(value) is tuple:
        return tuple(immutable_value(entry, visited) for entry in value)
    if type(value) is dict:
        return {key: immutable_value(entry, visited) for key, entry in value.items()}
    if not isinstance(value, HasImmutableArrays) and not _is_ours(type(value)):
        return immutable_record(value, visited)
    make_arrays_immutable(value, visited)
    return value


@cache
def _has_only_immutable_arrays(kind: type) -> bool:
    """Return whether values of a type have no arrays to copy: atoms, records with immutable arrays, and other types."""
    if kind in ATOMS or issubclass(kind, ImmutableArrays | type):
        return True
    is_record = issubclass(kind, HasImmutableArrays) or dataclasses.is_dataclass(kind)
    return not (is_record or issubclass(kind, np.ndarray) or kind in (tuple, dict))


def immutable_record(record: Any, visited: dict[int, Any] | None = None) -> Any:
    """Return a copy of a record with immutable arrays; the user's own record stays unchanged."""
    record = copy.copy(record)
    make_arrays_immutable(record, visited)
    return record


def make_arrays_immutable(thing: Any, visited: dict[int, Any] | None = None) -> None:
    """Replace the arrays among the attributes of an object, at every depth, by immutable copies."""
    visited = {} if visited is None else visited
    if id(thing) in visited:
        return
    visited[id(thing)] = thing
    attributes: dict[str, Any] = getattr(thing, "__dict__", {})
    for name, value in list(attributes.items()):
        attributes[name] = immutable_value(value, visited)


class ImmutableArrays:
    """The base of records with immutable arrays, also after pickling and copying.

    NumPy numbers, such as a user's function may return, become plain floats, so that comparisons return bools.
    """

    def __post_init__(self) -> None:
        make_arrays_immutable(self)
        numbers = {name: float(value) for name, value in vars(self).items() if type(value) is np.float64}
        vars(self).update(numbers)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


class ImmutableProperty(cached_property[Any]):
    """A cached property with immutable arrays."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        value = super().__get__(instance, owner)
        if instance is None or self.attrname is None:
            return value
        instance.__dict__[self.attrname] = value = immutable_value(value)
        return value


class HasImmutableArrays:
    """The base of functions F and G: cached properties are immutable, and arguments of users' methods read-only.

    Methods of a user's class get read-only arrays, so that F and G are functions. An error names a method that
    writes to its argument. boostopt's own classes do not pay for this; tests show that they write to no argument.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != OUTER}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        make_arrays_immutable(self)

    def note_outer_arrays(self) -> None:
        """Hash the arrays outside the object that methods of a user's class refer to; once, when it is bound."""
        if OUTER not in self.__dict__:
            self.__dict__[OUTER] = [(array, _hash(array)) for array in _outer_arrays(type(self))]

    def check_outer_arrays(self) -> None:
        """Raise ProblemError if an array that a method refers to has changed since the function was bound."""
        if any(_hash(array) != old_hash for array, old_hash in self.__dict__.get(OUTER, ())):
            raise ProblemError(
                f"the arrays that {type(self).__name__} refers to must stay as they were when the program was bound; "
                "one has other numbers now. Make it an attribute of the object, which boostopt copies, and bind again."
            )

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if type(member) is cached_property:
                cached = ImmutableProperty(member.func)
                cached.__set_name__(cls, name)
                setattr(cls, name, cached)
            elif isinstance(member, FunctionType) and not name.startswith("__") and not _is_ours(member):
                setattr(cls, name, _with_read_only_arguments(member))


def _outer_arrays(cls: type[Any]) -> list[Array]:
    """Return the arrays of a user's class, and the closure, global and default arrays of its functions."""
    arrays = dict[int, Array]()
    user_classes = [
        base for base in cls.__mro__ if not _is_ours(base) and base.__module__ not in ("builtins", "abc", "typing")
    ]
    for member in (member for base in user_classes for member in vars(base).values()):
        function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "func", None) or member)
        values = [member]
        if isinstance(function, FunctionType):
            names = inspect.getclosurevars(function)
            values = [*names.nonlocals.values(), *names.globals.values(), *(function.__defaults__ or ())]
        arrays.update({id(value): value for value in values if isinstance(value, np.ndarray)})
    return [*arrays.values()]


def _hash(array: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes()).digest()


def _with_read_only_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a user's class that gets read-only views of arrays and returns arrays of its own."""

    @wraps(method)
    def guarded(self: Any, *arguments: Any, **named: Any) -> Any:
        with writes_named(f"{type(self).__name__}.{method.__name__}"):
            by_name = {name: _view(value) for name, value in named.items()}
            result = method(self, *map(_view, arguments), **by_name)
        return result.copy() if type(result) is np.ndarray and not is_immutable(result) else result

    return guarded


def _is_ours(thing: Any) -> bool:
    """Return whether a class or a function is boostopt's own; one without a module is not."""
    return (thing.__module__ or "").partition(".")[0] == PACKAGE


def _view(value: Any) -> Any:
    """Return a read-only view of an array, anything else unchanged."""
    if type(value) is not np.ndarray or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def is_write(failure: str) -> bool:
    """Return whether an error message means that an array could not be written to."""
    return any(phrase in failure for phrase in REFUSALS)


def write_in_words(whose: str, failure: str) -> str:
    """Return the message of an error in users' code; after a refused write, the message names the code that writes."""
    if not is_write(failure) or whose in failure:
        return failure
    return (
        f"{whose} must leave the arrays that it gets as they are; it writes to one ({reason_of(failure)}). Copy the "
        "array before: array.copy()."
    )


@contextmanager
def writes_named(whose: str) -> Generator[None]:
    """Turn the error of users' code that writes to one of boostopt's arrays into an error that names the code.

    Raises
    ------
    ProblemError
        The code has written to a read-only array.
    """
    try:
        yield
    except ProblemError:
        raise
    except (ValueError, TypeError, RuntimeError) as failure:
        if not is_write(str(failure)):
            raise
        raise ProblemError(write_in_words(whose, f"{type(failure).__name__}: {failure}")) from failure
