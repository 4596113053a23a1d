"""Public functions called with plausible wrong arguments: a named error in three parts comes out, or a right answer.

The attack in full takes minutes: `python tests/arguments/test_wrong_arguments.py`. Here each function gets a share of
it, the same in every run.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from inspect import isabstract, signature
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import typechecker
from attacks_authoring import AUTHORING
from attacks_entrances import ENTRANCES
from attacks_tools import TOOLS
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
def test_valid_arguments_pass_before_the_attack(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if attack.valid() and attack.name not in SLOW:
        attack.call(**attack.valid())


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
