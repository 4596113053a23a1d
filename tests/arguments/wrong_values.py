"""Values that users may type in place of an argument, and the parts of a message that refuses them.

Each argument of a function has a kind: the names of the values that may be taken for it. All others must be refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from boostopt import BoostoptError


def _function(*arguments: Any) -> None:
    """A function that takes anything and returns nothing."""


class Unprintable:
    """An object of no kind that boostopt knows, in several lines."""

    def __repr__(self) -> str:
        return "an object\n" * 50


VALUES: dict[str, Any] = {
    "True": True,
    "False": False,
    "numpy True": np.True_,
    "0": 0,
    "1": 1,
    "2": 2,
    "-1": -1,
    "numpy 3": np.int64(3),
    "2.0": 2.0,
    "array 2.0": np.array(2.0),
    "1.5": 1.5,
    "numpy 0.5": np.float32(0.5),
    "-0.5": -0.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "10**400": 10**400,
    "complex": 1 + 2j,
    "'0.1'": "0.1",
    "'x'": "x",
    "''": "",
    "'\\0'": "\0",
    "b'x'": b"x",
    "None": None,
    "[]": [],
    "()": (),
    "[1.0]": [1.0],
    "[0.5, nan]": [0.5, float("nan")],
    "['x']": ["x"],
    "['x', 'x']": ["x", "x"],
    "[None]": [None],
    "ragged": [[1.0], [1.0, 2.0]],
    "{}": {},
    "{'x': 1}": {"x": 1},
    "set": {1.0},
    "class": float,
    "function": _function,
    "object": Unprintable(),
    "array of none": np.zeros(0),
    "matrix": np.zeros((2, 3)),
    "complex array": np.zeros(3, dtype=complex),
    "text array": np.array(["a", "b"]),
    "object array": np.array([None, 1.0], dtype=object),
    "masked array": np.ma.masked_array([1.0, 2.0], [True, False]),
    "sparse": scipy.sparse.csr_array(np.eye(2)),
    "series": pd.Series([1.0, 2.0]),
    "frame": pd.DataFrame({"x": [1.0, 2.0]}),
    "path": Path("nowhere.none"),
    "date": np.datetime64("2026-01-01"),
}
"""Values by name."""

WHOLE = frozenset({"0", "1", "2", "-1", "numpy 3", "2.0", "array 2.0", "10**400"})
NUMBER = WHOLE | {"1.5", "numpy 0.5", "-0.5", "inf", "-inf"}
FLAG = frozenset({"True", "False", "numpy True", "0", "1"})
NONE = frozenset({"None"})
TEXT = frozenset({"'0.1'", "'x'", "''", "'\\0'"})
EMPTY = frozenset({"[]", "()", "array of none"})
NAMES = TEXT | EMPTY | {"['x']", "['x', 'x']", "text array"}
NUMBERS = NUMBER | EMPTY | {"[1.0]", "series", "set"}
ARRAY = NUMBERS | FLAG | {"matrix", "frame", "sparse", "[0.5, nan]"}
MAPPING = frozenset({"{}"})
PATH = TEXT | {"path"}
FUNCTION = frozenset({"function"})
NOTHING = frozenset[str]()
ANYTHING = frozenset(VALUES)

VERBS = """Add Ask Bind Call Certify Check Choose Code Compare Correct Describe Divide Drop Encode
Exchange Export Fit Give Impute Install Keep Label Leave Load Look Lower Make Measure Merge Move Name
Number Pass Pickle Point Put Raise Read Remove Rename Replace Return Run Save Say Scale Select Set Solve Spell
State Subclass Sum Take Try Use Write""".split()
WITHIN = "pass leave drop take make use give choose".split()
ADVICE = re.compile(
    rf"(?:[.?!:;,] (?:Or )?|, and )(?:{'|'.join(VERBS)})\b|\b(?:{'|'.join(WITHIN)}) |Known: |Did you mean"
)
"""An imperative at the beginning of a sentence, one of a few elsewhere, or the names to choose from."""

EXPECTED = re.compile(
    r"\b(?:must|expected|needs?|takes?|unknown|(?:is|are) not|(?:has|have) no|cannot|is of|is empty)\b"
)
"""The expected value, or the property that it lacks."""

CAME = re.compile(r"\b(?:got|made|raises|unknown|there is no|is empty|holds|has|it is)\b")
"""The value that came, or the property that it lacks."""


def faults(message: str) -> list[str]:
    """Return which of the three parts a message lacks: what was expected, what came, what to do."""
    parts = {
        "says what was expected": EXPECTED.search(message) is not None,
        "says what came": CAME.search(message) is not None,
        "says what to do": ADVICE.search(message) is not None,
        "fits a few lines": len(message) < 3000 and message.count("\n") < 3,
    }
    return [part for part, is_present in parts.items() if not is_present]


@dataclass(frozen=True)
class Attack:
    """A call that is right, made wrong at one argument at a time.

    Attributes
    ----------
    name
        The name of the function or class.
    call
        The call with these arguments.
    valid
        Makes the arguments of a right call.
    kinds
        By the names of the arguments that are attacked, what may be taken for each.
    further_values
        Values for one argument alone: an object of a neighbouring kind.
    errors
        Errors that may be raised besides those of boostopt.
    spared
        Arguments with values that are right, and slow.
    """

    name: str
    call: Callable[..., Any]
    valid: Callable[[], Mapping[str, Any]]
    kinds: Mapping[str, Collection[str]]
    further_values: Mapping[str, Mapping[str, Callable[[], Any]]] = field(default_factory=dict[str, Any])
    errors: tuple[type[Exception], ...] = ()
    spared: frozenset[tuple[str, str]] = frozenset()

    def trials(self) -> list[tuple[str, str]]:
        """Return the names of argument and value of each wrong call."""
        common = [(name, value) for name in self.kinds for value in VALUES if (name, value) not in self.spared]
        return common + [(argument, value) for argument, values in self.further_values.items() for value in values]

    def fault(self, argument: str, value: str) -> str:
        """Return what is wrong with the answer to a wrong call, "" for nothing."""
        further = self.further_values.get(argument, {})
        wrong_value = further[value]() if value in further else VALUES[value]
        call_text = f"{self.name}({argument}={value})"
        try:
            self.call(**{**self.valid(), argument: wrong_value})
        except BoostoptError as refusal:
            missing = faults(str(refusal))
            return f"{call_text} says {str(refusal)!r}: it does not say: {', '.join(missing)}" if missing else ""
        except self.errors:
            return ""
        except Exception as failure:  # noqa: BLE001 it is what is looked for
            return f"{call_text} raises {type(failure).__name__}: {str(failure)[:200]}"
        return "" if value in self.kinds[argument] else f"{call_text} is taken"
