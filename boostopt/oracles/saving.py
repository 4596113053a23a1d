"""Hypotheses as plain numbers and back, without pickle: what runs and checkpoints are saved by."""

from __future__ import annotations

from collections.abc import Mapping
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
            "Restore a hypothesis of your own with its `restored`."
        )
    rest: Mapping[str, Any] = {key: value for key, value in state.items() if key != "kind"}
    try:
        return kinds()[kind].restored(rest)
    except (KeyError, TypeError, ValueError, OverflowError) as failure:
        raise DataError(
            f"a saved {kind} must hold what its `state` gives; got {', '.join(sorted(rest)) or 'nothing'}, and "
            f"{type(failure).__name__}: {failure}. Save the run anew."
        ) from failure
