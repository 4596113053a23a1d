"""Conversion of hypotheses to plain numbers and back, without pickle, for saved runs and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from boostopt import oracles
from boostopt.errors import DataError, format_names_truncated, reason_of
from boostopt.oracles.base import Hypothesis, StateDict


@cache
def hypothesis_kinds() -> dict[str, type[Hypothesis]]:
    """Return the public classes of hypotheses that files can hold, by their `kind`."""
    public = [getattr(oracles, name) for name in oracles.__all__]
    classes = [entry for entry in public if isinstance(entry, type) and issubclass(entry, Hypothesis)]
    return {vars(entry)["kind"]: entry for entry in classes if "kind" in vars(entry)}


def to_state(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return the state of a hypothesis with its kind: numbers, strings, lists and arrays by name."""
    return {"kind": hypothesis.kind, **hypothesis.state()}


def hypothesis_from_state(state: StateDict) -> Hypothesis:
    """Return the hypothesis with a saved state, of a class of boostopt or of a user's class with its kind."""
    cls = next((cls for cls in _subclasses(Hypothesis) if vars(cls).get("kind") == state["kind"]), None)
    if cls is None or cls.__module__.startswith("boostopt."):
        return shipped_from_state(state)
    return cls.restored({name: value for name, value in state.items() if name != "kind"})


def _subclasses(base: type[Hypothesis]) -> Iterator[type[Hypothesis]]:
    """Yield the subclasses of a class, the last one defined first."""
    for cls in reversed(base.__subclasses__()):
        yield cls
        yield from _subclasses(cls)


def shipped_from_state(state: StateDict) -> Hypothesis:
    """Return the hypothesis from a state of `to_state`.

    Raises
    ------
    DataError
        The kind is unknown, or the state does not fit it.
    """
    kind = state.get("kind")
    if not isinstance(kind, str) or kind not in hypothesis_kinds():
        raise DataError(
            f"a saved hypothesis must be one of boostopt's own kinds, {', '.join(sorted(hypothesis_kinds()))}; got "
            f"{kind!r}. "
            "Those of your own are read where the file that defines them was read before: import it, or name it, by "
            "--oracle FILE.py or --base FILE.py on the command line."
        )
    rest: Mapping[str, Any] = {key: value for key, value in state.items() if key != "kind"}
    try:
        hypothesis = hypothesis_kinds()[kind].restored(rest)
    except KeyError as failure:
        got = format_names_truncated(sorted(rest)) or "nothing"
        raise DataError(
            f"a saved {kind} must hold what its `state` gives, and {failure}; got {got}. Save the run anew."
        ) from failure
    except (TypeError, ValueError, OverflowError) as failure:
        raise DataError(
            f"a saved {kind} must hold what its `state` gives: {reason_of(failure)}. Save the run anew."
        ) from failure
    if unknown := sorted(rest.keys() - hypothesis.state().keys()):
        raise DataError(
            f"a saved {kind} must hold what its `state` gives; got {format_names_truncated(unknown)} too. Save the run "
            "anew."
        )
    return hypothesis
