"""The run-time type checker of the tests: shapes and types of calls, an int being good enough for a float.

Checking costs more than what it checks where a function is called a hundred thousand times, so that each function is
checked at its first calls and then at every so many.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

ALWAYS, EVERY = 100, 25
"""How many first calls of each function are checked, and which of the later ones."""

check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def sampled(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """Return jaxtyping's decorator with the checks of a function confined to its first calls and some later ones."""

    def decorate(function: Any = None, *, typechecker: Any) -> Any:
        if function is None:
            return functools.partial(decorate, typechecker=typechecker)
        checked = jaxtyped(function, typechecker=typechecker)
        if not inspect.isfunction(function) or inspect.isgeneratorfunction(function):
            return checked
        calls = itertools.count()

        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            n = next(calls)
            return (checked if n < ALWAYS or n % EVERY == 0 else function)(*arguments, **options)

        return call

    return decorate


jaxtyping.jaxtyped = sampled(jaxtyping.jaxtyped)
