"""Hypotheses survive as plain numbers, and the page of oracles loads what it names."""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from boostopt import DataError, boost, oracles
from boostopt.oracles import Feature, Hypothesis, KernelColumns, MatrixColumn, Query, Stump
from boostopt.oracles.hypothesis_serialization import shipped_from_state, to_state


@pytest.mark.parametrize(
    "hypothesis",
    [
        Stump(3, 0.1 + 0.2, -1, 30),
        Stump(0, -math.inf, 1, 2),
        Stump(1, 5e-324, 1, 2),
        Feature(2, 1e300, -1, 5),
        MatrixColumn(7, -1),
    ],
    ids=str,
)
def test_a_hypothesis_comes_back_from_its_state_as_text(hypothesis: Hypothesis) -> None:
    again = shipped_from_state(json.loads(json.dumps(to_state(hypothesis))))
    assert type(again) is type(hypothesis)
    assert again == hypothesis
    assert hash(again) == hash(hypothesis)


def test_a_kernel_column_comes_back_from_its_state() -> None:
    X = np.array([[0.1, 2.0], [1.0, 0.0], [0.0, -3.0]])
    (column,) = KernelColumns(X, [-1, 1, 1]).best(Query(np.full(3, 1 / 3))).columns
    again = shipped_from_state(to_state(column.hypothesis))
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
    with pytest.raises(DataError, match=rf"\bfeature, .*\bstump;.* {re.escape(repr(kind))}\..*--oracle\b"):
        shipped_from_state({"kind": kind, "feature": 0})


@pytest.mark.parametrize(
    "rest, reason",
    [
        ({}, r"'feature'.*\bnothing\b"),
        ({"feature": 0, "threshold": 0.5, "sign": 1}, r"'features'; got feature, sign, threshold\b"),
        ({"feature": 0, "threshold": None, "sign": 1, "features": 2}, r"\bthreshold must be a number; got None\b"),
        ({"feature": 0, "threshold": "high", "sign": 1, "features": 2}, r"\bthreshold must be a number; got 'high'"),
        ({"feature": math.inf, "threshold": 0.5, "sign": 1, "features": 2}, r"\bfeature must be a whole .* inf\b"),
        ({"feature": 0.5, "threshold": 0.5, "sign": 1, "features": 2}, r"\bfeature must be a whole number; got 0\.5\b"),
        ({"feature": 0, "threshold": 0.5, "sign": -1.5, "features": 2}, r"\bsign must be a whole number; got -1\.5\b"),
        ({"feature": 0, "threshold": math.nan, "sign": 1, "features": 2}, r"\bthreshold\b.* nan,"),
        ({"feature": 2, "threshold": 0.5, "sign": 1, "features": 2}, r"\bfeature 2 of 2,"),
        ({"feature": 0, "threshold": 0.5, "sign": 1, "features": 2, "scale": 1}, r"\bgot scale too\b"),
    ],
    ids=[
        "nothing",
        "no count",
        "no threshold",
        "text",
        "infinite feature",
        "half a feature",
        "half a sign",
        "nan",
        "feature beyond",
        "a key more",
    ],
)
def test_invalid_states_are_errors(rest: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=rf"\bstump\b.*`state`.*{reason}"):
        shipped_from_state({"kind": "stump", **rest})


MULTICLASS: dict[str, Any] = {
    "feature": 1,
    "threshold": 0.5,
    "upper_votes": [1, -1, -1],
    "lower_votes": [-1, 1, 1],
    "classes": ["a", "b", "c"],
    "features": 3,
}
REGRESSION = {
    "feature": 1,
    "threshold": 0.5,
    "upper_sign": 1,
    "lower_sign": -1,
    "centre": 3.0,
    "radius": 2.0,
    "features": 3,
}
KERNEL = {
    "row": 0,
    "sign": 1,
    "kernel": "polynomial",
    "gamma": 0.5,
    "degree": 2,
    "coef0": 1.0,
    "scale": 2.0,
    "features": 3,
    "indices": [0, 2],
    "values": [1.0, -2.0],
}
FITTED = {"number": 0, "sign": 1, "description": "Tree", "values": "predict", "features": 3, "on_training": [1, -1]}


@pytest.mark.parametrize(
    ("whole", "damage"),
    [
        *(({"kind": "feature", "feature": 1, "scale": 2.0, "sign": 1, "features": 3}, damage) for damage in (
            {"scale": 0.0}, {"scale": -1.0}, {"scale": math.nan}, {"scale": math.inf}, {"feature": 3}, {"feature": -1},
            {"feature": 1.5}, {"sign": 0}, {"sign": 2}, {"sign": 1.5}, {"features": 0}, {"features": "many"},
        )),
        *(({"kind": "multiclass_stump", **MULTICLASS}, damage) for damage in (
            {"feature": 3}, {"feature": -1}, {"feature": 0.5}, {"threshold": math.nan}, {"threshold": "low"},
            {"upper_votes": [1, -1]}, {"lower_votes": [1, 0, -1]}, {"lower_votes": [1.0, 1.0, -1.0]},
            {"upper_votes": 1}, {"classes": ["a", "b"]}, {"classes": ["a", "a", "b"]}, {"classes": ["a", "b", None]},
            {"classes": ["a", "b", ["c"]]}, {"classes": ["a", "b", math.nan]}, {"classes": 3}, {"classes": "abc"},
            {"features": 0},
        )),
        *(({"kind": "regression_stump", **REGRESSION}, damage) for damage in (
            {"feature": 3}, {"feature": 0.5}, {"threshold": math.nan}, {"upper_sign": 0}, {"lower_sign": 1.0},
            {"centre": math.inf}, {"centre": "middle"}, {"radius": 0.0}, {"radius": math.nan}, {"features": 0},
        )),
        *(({"kind": "given", "q": 3, "sign": 1}, damage) for damage in (
            {"q": -1}, {"q": 0.5}, {"q": None}, {"q": math.inf}, {"sign": 0}, {"sign": math.nan},
        )),
        *(({"kind": "kernel", **KERNEL}, damage) for damage in (
            {"row": -1}, {"row": 0.5}, {"sign": 0}, {"scale": 0.0}, {"scale": math.nan}, {"scale": math.inf},
            {"kernel": "cubic"}, {"gamma": 0.0}, {"gamma": math.nan}, {"degree": 0}, {"degree": 2.5},
            {"degree": 10**15},
            {"coef0": math.inf}, {"indices": [0, 3]}, {"indices": [-1, 2]}, {"indices": [2, 0]}, {"indices": [0, 0]},
            {"indices": [0]}, {"indices": [0.5, 2]}, {"indices": 0}, {"values": [1.0, math.nan]}, {"values": [1.0]},
            {"values": [[1.0], [2.0]]}, {"values": ["a", "b"]}, {"features": 2}, {"features": -1},
        )),
        *(({"kind": "fitted", **FITTED}, damage) for damage in (
            {"number": -1}, {"number": 0.5}, {"sign": 0}, {"values": "guess"}, {"features": 0},
            {"on_training": [1, 2]}, {"on_training": [0.5, math.nan]}, {"on_training": [[1, -1]]},
            {"on_training": ["a", "b"]}, {"on_training": [1j, 0]}, {"on_training": 1}, {"on_training": [None, 1]},
        )),
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_state_is_refused_and_a_sound_one_is_not(whole: dict[str, Any], damage: dict[str, Any]) -> None:
    assert to_state(shipped_from_state(whole))["kind"] == whole["kind"]
    (field,) = damage
    words = {"q": "column", "on_training": "training example"}
    name = words.get(field, field.removeprefix("upper_").removeprefix("lower_"))
    with pytest.raises(DataError, match=rf"\b{whole['kind']}\b.*`state`.*\b({field}|{name}s?)\b") as error:
        shipped_from_state({**whole, **damage})
    # By the hypothesis itself, in words, not by the type checker of the tests.
    assert "Error" not in str(error.value)


@pytest.mark.thorough
def test_every_public_name_loads_and_nothing_heavy_before() -> None:
    for name in oracles.__all__:
        assert getattr(oracles, name).__name__ == name
    assert set(oracles.__all__) <= set(dir(oracles))
    with pytest.raises(AttributeError, match=r"'boostopt\.oracles'.*'Trees'"):
        oracles.Trees  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
    code = "import boostopt.oracles as o, boostopt.oracles.hypothesis_serialization, sys; dir(o); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "sklearn", "cvxpy"} & set(loaded)


def test_the_oracle_that_the_page_shows_works() -> None:
    assert oracles.__doc__ is not None
    example = oracles.__doc__.split("A complete oracle for a given matrix:\n")[1].split("\nNames are loaded")[0]
    source = "\n".join(line.removeprefix("    ") for line in example.splitlines())
    names: dict[str, Any] = {}
    exec(compile(ast.parse(source), "page", "exec"), names)
    U = np.array([[1.0, -1.0], [-1.0, 0.5], [0.0, 1.0]])
    oracle = names["Columns"](U)
    answer = oracle.best(Query(np.array([0.2, 0.3, 0.5])))
    assert (oracle.N, oracle.y, str(oracle)) == (3, None, "2 columns")
    assert answer.columns[0].hypothesis == MatrixColumn(1)
    assert answer.columns[0].edge == pytest.approx(0.45)
    assert answer.edge_bound >= 0.45
    # It boosts: w = (3/7, 4/7) gives the first two examples the margin -1/7 and the third more.
    run = boost("lpboost", names["Columns"](U), nu=1, epsilon=1e-6)
    assert run.class_certificate.lower == pytest.approx(-1 / 7, abs=1e-6)
    assert run.class_certificate.upper == pytest.approx(-1 / 7, abs=1e-6)
    np.testing.assert_allclose(run.decision_function([[1.0, 1.0], [0.5, -1.0]]), [1.0, 1.5 / 7 - 4 / 7], atol=1e-6)
