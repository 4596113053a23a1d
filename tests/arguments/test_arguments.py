"""Arguments that are read in one place: numbers, flags, names; and the calls that users plausibly type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import typechecker

import boostopt
from boostopt import DataError, OptionError, ProblemError, benchmark, boost, compare, load_dataset, path
from boostopt._utils import validation as arguments
from boostopt.authoring import (
    BoostingSpec,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyRegularizer,
    Formulation,
    MaximumEdge,
    Regularizer,
)
from boostopt.boosting import Stabilization
from boostopt.oracles import DecisionStumps

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]])
y = np.array([-1, 1, -1, 1])
PROGRAM = boostopt.get_formulation("lpboost").bind([[1.0, -0.5], [-0.5, 1.0]], nu=1)


def stumps() -> DecisionStumps:
    return DecisionStumps(X, y)


@pytest.fixture
def as_users() -> Any:
    with typechecker.unchecked():
        yield


@pytest.mark.usefixtures("as_users")
class TestWhatIsRead:
    """Values become Python's own; what is none is refused."""

    @pytest.mark.parametrize("value", [2, np.int8(2), np.array(2)])
    def test_a_whole_number(self, value: object) -> None:
        assert type(arguments.check_integer("n", value, 1)) is int and arguments.check_integer("n", value, 1) == 2

    @pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2.0)])
    def test_a_number(self, value: object) -> None:
        assert type(arguments.check_number("x", value)) is float and arguments.check_number("x", value) == 2.0

    @pytest.mark.parametrize(("value", "read"), [(True, True), (np.False_, False), (1, True), (0.0, False)])
    def test_a_flag(self, value: object, read: bool) -> None:
        assert arguments.check_flag("f", value) is read

    def test_one_name_is_a_list_of_one(self) -> None:
        assert arguments.check_names("n", "direct") == ("direct",)
        assert arguments.check_names("n", np.array(["a", "b"])) == ("a", "b")
        assert arguments.check_numbers("n", 0.5) == (0.5,)

    def test_a_float_that_is_whole_is_told_how_to_be_written(self) -> None:
        with pytest.raises(OptionError, match=r"^max_rounds\b.* 1; got 10000\.0\. Write 10000\.$"):
            boost("lpboost", stumps(), nu=2, max_rounds=1e4)  # pyright: ignore[reportArgumentType]


@pytest.mark.usefixtures("as_users")
@pytest.mark.parametrize(
    ("option", "value", "facts"),
    [
        ("stabilization", True, r"True\b.*\bboostopt\.boosting\.Stabilization\("),
        ("stabilization", Stabilization, r"<class .*\bboostopt\.boosting\.Stabilization\("),
        ("schedule", 1e-3, r"0\.001\b.*\bboostopt\.boosting\.Schedule\("),
        ("start", "x", r"\bboost\b.*'x'"),
        ("columns_per_round", "x", r" 1\b.*'x'"),
        ("columns_per_round", 1.5, r" 1\b.* 1\.5\b"),
        ("epsilon", "0.1", r"\bpositive\b.*'0\.1'"),
        ("time_limit", "x", r"\bpositive\b.*\bNone\b.*'x'"),
        ("max_rounds", 2.5, r"\bNone\b.* 1\b.* 2\.5\b"),
        ("max_round", 3, r"'max_rounds'.*\bat_zero\b.*\blpboost\b.*\bnu\b"),
    ],
    ids=[
        *("stabilization", "class", "schedule", "start", "columns", "part of a column"),
        *("epsilon", "time limit", "part of a round", "unknown"),
    ],
)
def test_options_of_boost_are_refused(option: str, value: Any, facts: str) -> None:
    with pytest.raises(OptionError, match=rf"\b{option}\b.*{facts}"):
        boost("lpboost", stumps(), nu=2, **{option: value})
    if option != "start":  # which a path sets itself
        with pytest.raises(OptionError, match=rf"\b{option}\b.*{facts}"):
            path("lpboost", stumps(), nu=[2.0], **{option: value})


@pytest.mark.usefixtures("as_users")
def test_an_unknown_option_is_one_of_the_function_that_was_called() -> None:
    unknown: Any = {"max_round": 3}
    with pytest.raises(OptionError, match=r"'max_round'.*\bboost\b"):
        boost("lpboost", stumps(), nu=2, **unknown)
    with pytest.raises(OptionError, match=r"'max_round'.*\bpath\b"):
        path("lpboost", stumps(), nu=[2.0], **unknown)


@pytest.mark.usefixtures("as_users")
def test_one_rule_is_a_list_of_one() -> None:
    one = boost("lpboost", stumps(), nu=2, epsilon=0.1, rules="direct")
    assert one.reason == boost("lpboost", stumps(), nu=2, epsilon=0.1, rules=["direct"]).reason
    assert one.reason.startswith("direct: ")


class Lettered(Formulation[Any]):
    """A page that names its one rule without a comma."""

    name = "lettered"
    Parameters = type(PROGRAM.parameters)
    boosting = BoostingSpec(rules="direct")

    def regularizer(self, p: Any, examples: Any) -> Regularizer:
        return CappedSimplexIndicator(CappedSimplex(examples.c, p.nu))

    def edge_function(self, p: Any) -> MaximumEdge:
        return MaximumEdge()


@pytest.mark.usefixtures("as_users")
def test_one_rule_of_a_page_is_a_list_of_one() -> None:
    assert boost(Lettered(), stumps(), nu=2, epsilon=0.1, max_rounds=5).reason.startswith("direct: ")


@pytest.mark.usefixtures("as_users")
def test_one_form_is_a_list_of_one() -> None:
    assert [row.backend for row in compare(PROGRAM, "cvxpy:clarabel", forms="primal").rows] == ["cvxpy:clarabel:primal"]


@pytest.mark.usefixtures("as_users")
def test_one_profile_is_a_list_of_one() -> None:
    assert benchmark(PROGRAM, "interior", profiles=1e-3, repeats=1).settings.target_gaps == (1e-3,)
    with pytest.raises(OptionError, match=r"\brepeats\b.* 1\b.* 1\.5\b"):
        benchmark(PROGRAM, "interior", repeats=1.5)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_one_column_to_drop_is_a_list_of_one(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("region,a,label\nnorth,1,x\nsouth,2,y\n")
    assert load_dataset(str(table), drop="region").features == ("a",)
    with pytest.raises(DataError, match=r"\bt\.csv, line 2\b.*'north'.*'region'.*\bdrop=\.\.\."):
        load_dataset(str(table))


def test_python_names_its_arguments() -> None:
    with pytest.raises(DataError, match=r"\bwine\b.*\b3\b.*\bpositive=\.\.\.$"):
        load_dataset("wine")


@pytest.mark.usefixtures("as_users")
def test_progress_of_comparisons_is_said_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    compare(PROGRAM, "interior", progress=True)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "interior ..." and second.startswith("interior: bounded,")
    benchmark(PROGRAM, "interior", 1e-3, 1, progress=True)
    assert re.match(r"\[1/1\] interior\b.* 0\.001\b.* reached\b", capsys.readouterr().err)
    compare(PROGRAM, "interior")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("as_users")
def test_a_program_is_no_start() -> None:
    with pytest.raises(OptionError, match=r"\bstart\b.*\bsolve\b.*\bProgram\b"):
        PROGRAM.solve("interior", start=PROGRAM)


@pytest.mark.usefixtures("as_users")
def test_a_list_is_an_inner_point() -> None:
    domain, inside = CappedSimplex([1, 1], 1), [0.5, 0.5]  # pyright: ignore[reportArgumentType]
    F = CvxpyRegularizer(domain, cp.sum_squares, inside)  # pyright: ignore[reportArgumentType]
    assert F.value(np.array(inside)) == pytest.approx(0.5)
    with pytest.raises(ProblemError, match=r"\bc\b.*\(N,\).*\(\) of int64"):
        CappedSimplex(100, 20)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProblemError, match=r"\bconstraints\b.*\bd\b.*\[\]"):
        CvxpyRegularizer(domain, cp.sum_squares, np.array(inside), [])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProblemError, match=r"\bf\b.*\bCVXPY\b.*\bcp\.sum\b.*\bNumPy\b"):
        CvxpyRegularizer(domain, lambda d: np.log(d).sum(), np.array(inside))
