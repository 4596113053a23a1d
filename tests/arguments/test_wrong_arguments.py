"""Public functions called with plausible wrong arguments: a named error in three parts comes out, or a right answer.

The attack in full takes minutes: `python tests/arguments/test_wrong_arguments.py`. Here each function gets a share of
it, the same in every run.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from collections.abc import Iterator
from inspect import isabstract, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import typechecker
from attacks_authoring import AUTHORING
from attacks_entrances import ENTRANCES
from attacks_tools import TOOLS
from support.writing_components import arrays_of
from wrong_values import VALUES, Attack

import boostopt
from boostopt import authoring

ATTACKS: tuple[Attack, ...] = (*ENTRANCES, *TOOLS, *AUTHORING)
SHARE = 20
"""Wrong calls of each function that a run of the tests makes."""

SLOW = {
    "check_backend": 4,
    "check_oracle": 4,
    "check_formulation": 4,
    "check_regularizer": 4,
    "check_edge": 6,
    "report": 4,
}
"""Fewer of those that take long where nothing is wrong with what came."""


@pytest.mark.thorough_cases("weights_on_triangle")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_wrong_argument_is_refused_in_three_parts(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trials = attack.trials()
    sample = random.Random(attack.name).sample(trials, min(SLOW.get(attack.name, SHARE), len(trials)))
    with typechecker.unchecked():
        faults = [fault for argument, value in sample if (fault := attack.fault(argument, value))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_valid_arguments_pass_and_their_arrays_are_neither_changed_nor_kept(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tests/test_written_arrays.py` has the pieces of users that write during a call."""
    monkeypatch.chdir(tmp_path)
    arguments = own_arrays(dict(attack.valid()))
    if not arguments or attack.name in SLOW:
        return
    arrays = list(arrays_in(arguments))
    state = [array.tobytes() for array in arrays]
    result = attack.call(**arguments)
    assert [array.tobytes() for array in arrays] == state
    if arrays:
        parts = [part for part in arrays_of(result) if part.size]
        assert not any(np.shares_memory(array, part) for array in arrays for part in parts)


def own_arrays(value: Any) -> Any:
    """Return a value with writeable copies of its arrays."""
    if isinstance(value, np.ndarray) or scipy.sparse.issparse(value):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(map(own_arrays, value))
    return {key: own_arrays(part) for key, part in value.items()} if type(value) is dict else value


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of a value of `own_arrays`."""
    if isinstance(value, np.ndarray):
        yield value
    elif scipy.sparse.issparse(value):
        yield from (getattr(value, name) for name in ("data", "indices", "indptr") if hasattr(value, name))
    elif type(value) in (list, tuple, dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(part)


def test_every_public_function_is_attacked() -> None:
    functions = {name for name in boostopt.__all__ if type(getattr(boostopt, name)).__name__ == "function"}
    attacked = {attack.name for attack in ATTACKS}
    assert functions - attacked == {"list_backends", "list_formulations"}  # which take no argument
    assert len(VALUES) >= 30


RECORDS = {
    *("Active", "Attempt", "Capability", "ConjugatePoint", "Deadline", "Epigraph"),
    *("BoostingState", "Examples", "Pointwise", "Polyhedron", "Profile", "Program", "Task"),
}
"""Records that boostopt makes, or that a method returns: what is read of them is looked at there."""


def test_every_constructor_for_authors_is_attacked() -> None:
    makers = {name for name in authoring.__all__ if callable(getattr(authoring, name)) and _has_parameters(name)}
    attacked = {attack.name.partition(".")[0] for attack in ATTACKS}
    assert makers - attacked == RECORDS


def _has_parameters(name: str) -> bool:
    """Return whether a name is a concrete class of boostopt with arguments."""
    component = getattr(authoring, name)
    return (
        component.__module__.startswith("boostopt.")
        and not isabstract(component)
        and bool(signature(component).parameters)
    )


def main() -> None:
    """Make every wrong call, and print what is wrong with the answers."""
    count = bad = 0
    warnings.simplefilter("error")
    for attack in ATTACKS:
        for argument, value in attack.trials():
            fault, count = attack.fault(argument, value), count + 1
            if fault:
                bad += 1
                print(fault, flush=True)  # noqa: T201
    print(f"{count} wrong calls of {len(ATTACKS)} functions, {bad} answers that are wrong")  # noqa: T201
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    import contextlib

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main()
