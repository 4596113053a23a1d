"""Hypotheses survive as plain numbers, and the page of oracles loads what it names."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from boostopt import DataError, oracles
from boostopt.oracles import Answer, Column, Feature, Given, Hypothesis, KernelColumns, Oracle, Query, Stump
from boostopt.oracles.saving import from_state, to_state


@pytest.mark.parametrize(
    "hypothesis",
    [
        Stump(3, 0.1 + 0.2, -1, 30),
        Stump(0, -math.inf, 1, 2),
        Stump(1, 5e-324, 1, 2),
        Feature(2, 1e300, -1, 5),
        Given(7, -1),
    ],
    ids=str,
)
def test_a_hypothesis_comes_back_from_its_state_as_text(hypothesis: Hypothesis) -> None:
    again = from_state(json.loads(json.dumps(to_state(hypothesis))))
    assert type(again) is type(hypothesis)
    assert again == hypothesis
    assert hash(again) == hash(hypothesis)


def test_a_kernel_column_comes_back_from_its_state() -> None:
    X = np.array([[0.1, 2.0], [1.0, 0.0], [0.0, -3.0]])
    (column,) = KernelColumns(X, [-1, 1, 1]).best(Query(np.full(3, 1 / 3))).columns
    again = from_state(to_state(column.hypothesis))
    assert again == column.hypothesis
    np.testing.assert_array_equal(again(X), column.hypothesis(X))


def test_states_name_the_kind_beside_plain_numbers() -> None:
    assert to_state(Stump(3, 0.5, -1, 30)) == {
        "kind": "stump",
        "feature": 3,
        "threshold": 0.5,
        "sign": -1,
        "features": 30,
    }
    assert to_state(Feature(3, 2.5, 1, 30)) == {
        "kind": "feature",
        "feature": 3,
        "scale": 2.5,
        "sign": 1,
        "features": 30,
    }


@pytest.mark.parametrize("kind", ["tree", None, 3, ["stump"]])
def test_another_kind_is_an_error(kind: object) -> None:
    with pytest.raises(DataError, match=r"one of boostopt's own kinds, feature, .*stump; got .*its `restored`\."):
        from_state({"kind": kind, "feature": 0})


@pytest.mark.parametrize(
    "rest, reason",
    [
        ({}, "nothing, and KeyError"),
        ({"feature": 0, "threshold": 0.5, "sign": 1}, "KeyError: 'features'"),
        ({"feature": 0, "threshold": None, "sign": 1, "features": 2}, "TypeError"),
        ({"feature": 0, "threshold": "high", "sign": 1, "features": 2}, "ValueError"),
        ({"feature": math.inf, "threshold": 0.5, "sign": 1, "features": 2}, "OverflowError"),
        ({"feature": 2, "threshold": 0.5, "sign": 1, "features": 2}, "ProblemError: a stump has a feature from 0"),
    ],
)
def test_what_is_no_state_of_its_kind_is_an_error(rest: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=rf"a saved stump must hold what its `state` gives; got .*{reason}.*anew"):
        from_state({"kind": "stump", **rest})


def test_every_public_name_loads_and_nothing_heavy_before() -> None:
    for name in oracles.__all__:
        assert getattr(oracles, name).__name__ == name
    assert set(oracles.__all__) <= set(dir(oracles))
    with pytest.raises(AttributeError, match=r"module 'boostopt\.oracles' has no attribute 'Trees'"):
        oracles.Trees  # noqa: B018
    code = "import boostopt.oracles as o, boostopt.oracles.saving, sys; dir(o); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "sklearn", "cvxpy"} & set(loaded)


def test_the_oracle_that_the_page_shows_works() -> None:
    assert oracles.__doc__ is not None
    shown = oracles.__doc__.split("An oracle of a given matrix in full:\n")[1].split("\nNames are loaded")[0]
    source = "\n".join(line.removeprefix("    ") for line in shown.splitlines())
    names: dict[str, Any] = {
        "hashlib": hashlib,
        "Answer": Answer,
        "Column": Column,
        "Given": Given,
        "Oracle": Oracle,
    }
    exec(compile(ast.parse(source), "page", "exec"), names)
    U = np.array([[1.0, -1.0], [-1.0, 0.5], [0.0, 1.0]])
    oracle = names["Columns"](U)
    answer = oracle.best(Query(np.array([0.2, 0.3, 0.5])))
    assert (oracle.N, oracle.y, str(oracle)) == (3, None, "2 columns")
    assert answer.columns[0].hypothesis == Given(1)
    assert answer.columns[0].edge == pytest.approx(0.45)
    assert answer.largest >= 0.45
