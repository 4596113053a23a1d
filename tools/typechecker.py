"""The run-time type checker of the tests: shapes and types of calls, an int being good enough for a float.

Checking costs more than what it checks where a function is called a hundred thousand times, so that each function is
checked at its first calls and then at every so many.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

ALWAYS, EVERY = 100, 25
"""The number of first calls of each function that are checked, and the step between later checked calls."""

checking = True
"""True if calls are checked. A test that acts as a user, who has no such checker, sets it to False."""


@contextmanager
def unchecked() -> Generator[None]:
    """Check nothing: what comes of wrong arguments is then what users see."""
    global checking
    checking = False
    try:
        yield
    finally:
        checking = True


check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def sampled(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """Return jaxtyping's decorator with the checks of a function confined to its first calls and some later ones."""

    def decorate(function: Any = None, *, typechecker: Any) -> Any:
        if function is None:
            return functools.partial(decorate, typechecker=typechecker)
        if inspect.isclass(function):
            return checked_class(function, typechecker)
        checked = jaxtyped(function, typechecker=typechecker)
        # A generator is checked whenever it is, and one that begins is not checked again.
        always = not inspect.isfunction(function) or inspect.isgeneratorfunction(function)
        calls = itertools.count()

        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            n = next(calls)
            sample = always or n < ALWAYS or n % EVERY == 0
            return (checked if checking and sample else function)(*arguments, **options)

        return call

    def checked_class(cls: Any, typechecker: Any) -> Any:
        """Return a class whose fields are checked when an object of it is made."""
        plain = cls.__init__
        checked_type = jaxtyped(cls, typechecker=typechecker)
        checked = checked_type.__init__
        if checked is plain:
            return checked_type

        @functools.wraps(plain)
        def init(self: Any, *arguments: Any, **options: Any) -> None:
            (checked if checking else plain)(self, *arguments, **options)

        checked_type.__init__ = init
        return checked_type

    return decorate


jaxtyping.jaxtyped = sampled(jaxtyping.jaxtyped)
