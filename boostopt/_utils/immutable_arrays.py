"""Arrays that nobody can change, and the calls of users' code that tries to.

A certificate is true of the numbers that it was computed from. A backend, an oracle, a formulation of a user or a
caller who writes to one of them afterwards would make it false. So boostopt computes with immutable arrays: copies
whose memory is a `bytes` object, which NumPy writes to in no way, because `setflags(write=True)` is refused for them
and for their views. (A read-only array that owns its memory is none: anybody may set its flag again.)
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
from functools import cached_property, wraps
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array
from boostopt.errors import ProblemError, reason_of

BLOCK = 1 << 20
"""Bytes that are converted at once, so that a conversion needs no second array of the whole size."""

PACKAGE = __name__.partition(".")[0]

OUTER = "_outer_arrays"
"""Attribute of functions F and G of users: arrays outside of the object, with their hashes."""

ATOMS = (bool, bytes, float, int, str, type(None))
"""Types without attributes: most values of records."""

REFUSALS = ("read-only", "readonly", "not writeable", "WRITEABLE flag")
"""Words of NumPy, SciPy and Cython where they refuse to write to an array."""


def is_immutable(array: Array) -> bool:
    """Return whether the memory of an array is a `bytes` object."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, bytes)


def is_mapped(array: Array) -> bool:
    """Return whether the memory of an array is a file that is mapped."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def as_immutable(array: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """Return an immutable copy of an array, in its order of rows and columns; the array itself if it is immutable.

    Parameters
    ----------
    array
        The array, of any shape.
    dtype
        The type of the copy; that of the array by default.
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
    """Return a read-only view of an array that boostopt alone has, without a copy; its flag cannot be set again."""
    return array if is_immutable(array) else np.asarray(array.data.toreadonly())


def immutable_rows(rows: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return compressed rows whose arrays are immutable."""
    parts = as_immutable(rows.data, dtype), as_immutable(rows.indices), as_immutable(rows.indptr)
    return compressed(parts, rows.shape)


def compressed(parts: tuple[Array, ...], shape: tuple[int, int]) -> Any:
    """Return compressed rows over (data, indices, indptr), each entry once and in order: no array is copied."""
    from scipy.sparse import csr_array

    rows: Any = csr_array(parts, shape=shape, copy=False)
    rows.has_sorted_indices = rows.has_canonical_format = True  # else SciPy sorts them in place
    return rows


def immutable_copy(X: Any) -> Any:
    """Return an immutable copy of an array, or of compressed rows or columns; anything else as it is."""
    if not hasattr(X, "indptr") or getattr(X, "format", None) not in ("csr", "csc"):
        return as_immutable(X) if type(X) is np.ndarray else X
    sparse: Any = X
    if not sparse.has_canonical_format:
        sparse = sparse.copy()
        sparse.sum_duplicates()  # SciPy would do that in place
    parts = tuple(map(as_immutable, (sparse.data, sparse.indices, sparse.indptr)))
    return type(sparse)(parts, shape=sparse.shape, copy=False)


def immutable_value(value: Any, seen: dict[int, Any] | None = None) -> Any:
    """Return a value with immutable copies of its arrays: of an array, a container, or an object with attributes.

    Functions F and G, and dataclasses of boostopt's, stay the same objects and get immutable attributes. A dataclass of
    the user's is copied. A record of immutable arrays has them since it was made.
    """
    if type(value) in ATOMS or isinstance(value, ImmutableArrays):
        return value
    seen = {} if seen is None else seen
    if isinstance(value, np.ndarray):
        return as_immutable(value) if type(value) is np.ndarray else value
    if type(value) is tuple:
        return tuple(immutable_value(each, seen) for each in value)
    if type(value) is dict:
        return {key: immutable_value(each, seen) for key, each in value.items()}
    if isinstance(value, type) or not (isinstance(value, HasImmutableArrays) or dataclasses.is_dataclass(value)):
        return value
    if not isinstance(value, HasImmutableArrays) and not _is_ours(type(value)):
        return immutable_record(value, seen)
    make_arrays_immutable(value, seen)
    return value


def immutable_record(record: Any, seen: dict[int, Any] | None = None) -> Any:
    """Return a copy of a record whose arrays are immutable: the user's own record stays as it is."""
    record = copy.copy(record)
    make_arrays_immutable(record, seen)
    return record


def make_arrays_immutable(thing: Any, seen: dict[int, Any] | None = None) -> None:
    """Replace the arrays among the attributes of an object, and of the objects there, by immutable copies."""
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    attributes: dict[str, Any] = getattr(thing, "__dict__", {})
    for name, value in list(attributes.items()):
        attributes[name] = immutable_value(value, seen)


class ImmutableArrays:
    """The base of records whose arrays are immutable, also after pickle and copies have made them anew.

    Numbers are plain floats, also where functions of a user return those of NumPy: comparisons with them are bools.
    """

    def __post_init__(self) -> None:
        make_arrays_immutable(self)
        numbers = {name: float(value) for name, value in vars(self).items() if type(value) is np.float64}
        vars(self).update(numbers)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


class ImmutableProperty(cached_property[Any]):
    """A property that is computed once, with immutable arrays."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        value = super().__get__(instance, owner)
        if instance is None or self.attrname is None:
            return value
        instance.__dict__[self.attrname] = value = immutable_value(value)
        return value


class HasImmutableArrays:
    """The base of functions F and G: what their subclasses compute once is immutable, and what they get is read-only.

    Methods of a user's class get read-only arrays, so that F and G are functions: one that writes to its argument is
    refused, by name. boostopt's own classes do not pay for that; tests show that they write to no argument.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != OUTER}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        make_arrays_immutable(self)

    def note_outer_arrays(self) -> None:
        """Hash the arrays outside of the object that methods of a user's class refer to; once, when it is bound."""
        if OUTER not in self.__dict__:
            self.__dict__[OUTER] = [(array, _hash(array)) for array in _outer_arrays(type(self))]

    def check_outer_arrays(self) -> None:
        """Raise ProblemError if an array that a method refers to is not what it was when the function was bound."""
        if any(_hash(array) != known for array, known in self.__dict__.get(OUTER, ())):
            raise ProblemError(
                f"the arrays that {type(self).__name__} refers to must stay as they were when the program was bound; "
                "one has other numbers now. Make it an attribute of the object, which boostopt copies, and bind anew."
            )

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if type(member) is cached_property:
                once = ImmutableProperty(member.func)
                once.__set_name__(cls, name)
                setattr(cls, name, once)
            elif isinstance(member, FunctionType) and not name.startswith("__") and not _is_ours(member):
                setattr(cls, name, _with_read_only_arguments(member))


def _outer_arrays(cls: type[Any]) -> list[Array]:
    """Return the arrays of a user's class, and those that its functions close over or know by a global name."""
    found = dict[int, Array]()
    own = [base for base in cls.__mro__ if not _is_ours(base) and base.__module__ not in ("builtins", "abc", "typing")]
    for member in (member for base in own for member in vars(base).values()):
        function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "func", None) or member)
        values = [member]
        if isinstance(function, FunctionType):
            names = inspect.getclosurevars(function)
            values = [*names.nonlocals.values(), *names.globals.values(), *(function.__defaults__ or ())]
        found.update({id(value): value for value in values if isinstance(value, np.ndarray)})
    return [*found.values()]


def _hash(array: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes()).digest()


def _with_read_only_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a user's class that gets read-only views of arrays, and whose arrays are not shared."""

    @wraps(method)
    def guarded(self: Any, *arguments: Any, **named: Any) -> Any:
        with writes_named(f"{type(self).__name__}.{method.__name__}"):
            by_name = {name: _view(value) for name, value in named.items()}
            result = method(self, *map(_view, arguments), **by_name)
        return result.copy() if type(result) is np.ndarray and not is_immutable(result) else result

    return guarded


def _is_ours(thing: Any) -> bool:
    """Return whether a class or a function is boostopt's own; one that was made without a module is not."""
    return (thing.__module__ or "").partition(".")[0] == PACKAGE


def _view(value: Any) -> Any:
    """Return a read-only view of an array, anything else as it is."""
    if type(value) is not np.ndarray or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def is_write(failure: str) -> bool:
    """Return whether a message says that an array could not be written to."""
    return any(words in failure for words in REFUSALS)


def write_in_words(whose: str, failure: str) -> str:
    """Return a message about users' code; one that an array could not be written to says whose code writes."""
    if not is_write(failure) or whose in failure:
        return failure
    return (
        f"{whose} must leave the arrays that it gets as they are; it writes to one ({reason_of(failure)}). Copy the "
        "array before: array.copy()."
    )


@contextmanager
def writes_named(whose: str) -> Generator[None]:
    """Turn the error of users' code that writes to an array of boostopt's into one that says whose code.

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
