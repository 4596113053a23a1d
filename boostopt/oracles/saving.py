"""Hypotheses as plain numbers and back, without pickle: what runs and checkpoints are saved by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from boostopt import oracles
from boostopt.errors import DataError
from boostopt.oracles.base import Hypothesis, State


@cache
def kinds() -> dict[str, type[Hypothesis]]:
    """Return the public hypotheses that files can hold, by their `kind`."""
    public = [getattr(oracles, name) for name in oracles.__all__]
    made = [each for each in public if isinstance(each, type) and issubclass(each, Hypothesis)]
    return {vars(each)["kind"]: each for each in made if "kind" in vars(each)}


def to_state(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return the state of a hypothesis under its kind: numbers, strings, lists and arrays by name."""
    return {"kind": hypothesis.kind, **hypothesis.state()}


def restored_hypothesis(state: State) -> Hypothesis:
    """Return a hypothesis that was saved: one of boostopt's, or of a class of the user's that says its kind."""
    made = next((made for made in _classes_of(Hypothesis) if vars(made).get("kind") == state["kind"]), None)
    if made is None or made.__module__.startswith("boostopt."):
        return from_state(state)
    return made.restored({name: value for name, value in state.items() if name != "kind"})


def _classes_of(base: type[Hypothesis]) -> Iterator[type[Hypothesis]]:
    """Yield the classes below another one, the last one stated first."""
    for made in reversed(base.__subclasses__()):
        yield made
        yield from _classes_of(made)


def from_state(state: State) -> Hypothesis:
    """Return the hypothesis that was saved as this state by `to_state`.

    Raises
    ------
    DataError
        The kind is none of boostopt's own, or what is saved is no state of it.
    """
    kind = state.get("kind")
    if not isinstance(kind, str) or kind not in kinds():
        raise DataError(
            f"a saved hypothesis must be one of boostopt's own kinds, {', '.join(sorted(kinds()))}; got {kind!r}. "
            "Those of your own are read where the file that defines them was read before: import it, or name it, by "
            "--oracle FILE.py or --base FILE.py on the command line."
        )
    rest: Mapping[str, Any] = {key: value for key, value in state.items() if key != "kind"}
    try:
        return kinds()[kind].restored(rest)
    except (KeyError, TypeError, ValueError, OverflowError) as failure:
        raise DataError(
            f"a saved {kind} must hold what its `state` gives; got {', '.join(sorted(rest)) or 'nothing'}, and "
            f"{type(failure).__name__}: {failure}. Save the run anew."
        ) from failure
