"""The record: it shows everything, cannot be changed, and every one of them binds and proves its own answer."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from typing import Any

import numpy as np
import pytest

import boostopt
from boostopt import ProblemError, instances
from boostopt.instances import Instance
from boostopt.instances.known_instance import validate_between, validate_count, validate_generator

ALL = [
    instances.reference(),
    instances.iteration_lower_bound(8),
    instances.iteration_lower_bound(6, repeat=3),
    instances.bad_example_and_hypothesis(),
    instances.pivot(9, 5, 1),
    instances.long_servedio(),
    instances.long_servedio(noise="none"),
    instances.long_servedio(noise=0.1),
    instances.outliers(20),
    instances.cycle_3x3(),
    instances.cycle_mxm(5),
    instances.manifold_4x5(),
]

for_each_instance = pytest.mark.parametrize("problem", ALL, ids=lambda problem: f"{problem.name} {problem.U.shape}")


@for_each_instance
def test_the_repr_shows_everything(problem: Instance) -> None:
    representation = repr(problem)
    words = " ".join(representation.split())
    assert representation.startswith(f"{problem.name}: ")
    for part in (problem.shows, *problem.sources, *problem.parameters, *problem.answers):
        assert part in words
    digits = [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", representation)]
    values = [problem.U, *problem.parameters.values(), *problem.answers.values()]
    for value in np.concatenate([np.ravel(value) for value in values]):
        assert min(abs(value - digit) for digit in digits) <= 1e-10
    assert max(len(line) for line in representation.split("\n")) <= 110


@for_each_instance
def test_no_array_can_be_written_to_and_no_field_replaced(problem: Instance) -> None:
    arrays = [
        a for a in (problem.U, *problem.parameters.values(), *problem.answers.values()) if isinstance(a, np.ndarray)
    ]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.name = "another"  # pyright: ignore[reportAttributeAccessIssue]


@for_each_instance
def test_an_instance_survives_pickle_and_copy(problem: Instance) -> None:
    for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert repr(twin) == repr(problem)


def test_changes_of_the_source_arrays_do_not_change_an_instance() -> None:
    U = np.zeros((2, 1))
    reference_numbers: dict[str, Any] = {"value": np.zeros(2)}
    problem = Instance("zeros", U, "nothing.", ("none",), {"nu": 1.0}, reference_numbers)
    U[0] = reference_numbers["value"][0] = 1
    reference_numbers["more"] = U
    assert problem.U[0] == 0
    assert problem.answers["value"][0] == 0
    assert list(problem.answers) == ["value"]


def known_optimum(problem: Instance) -> float | None:
    """The optimum at the suggested nu, where it is known exactly."""
    names = ("LPBoost optimum", "LPBoost optimum, nu < 2 + 4 gamma", "soft margin")
    return next((problem.answers[name] for name in names if name in problem.answers), None)


@for_each_instance
def test_the_page_of_the_linear_program_proves_the_known_optimum(problem: Instance) -> None:
    takes = {name: problem.parameters[name] for name in ("nu", "epsilon", "c") if name in problem.parameters}
    program = boostopt.get_formulation("lpboost").bind(problem.U, **takes)
    certificate = program.solve("cvxpy:highs", tol=1e-10).certificate
    value = known_optimum(problem)
    if value is None:
        assert certificate.lower >= problem.answers["LPBoost optimum is at least"] - 1e-12
        assert problem.name == "iteration lower bound"
    else:
        assert certificate.lower - 1e-12 <= value <= certificate.upper + 1e-12
    assert certificate.gap < 1e-9


def test_the_known_sides_certify_each_other() -> None:
    both: list[Any] = [problem for problem in ALL if {"LPBoost d", "LPBoost w"} <= problem.answers.keys()]
    assert len(both) == 5
    for problem in both:
        program = boostopt.get_formulation("lpboost").bind(problem.U, nu=problem.parameters["nu"])
        certificate = program.certify(d=problem.answers["LPBoost d"], w=problem.answers["LPBoost w"])
        assert certificate.gap < 1e-13
        assert certificate.lower <= problem.answers["LPBoost optimum"] <= certificate.upper


def test_every_public_name_is_there() -> None:
    for name in instances.__all__:
        assert callable(getattr(instances, name))


@pytest.mark.parametrize("value", [2.0, "3", True, None, 0, np.float64(4)])
def test_invalid_counts_are_refused(value: object) -> None:
    advice = f"Write {int(value)}." if isinstance(value, float) else "Ask for one."
    plain = float(value) if isinstance(value, float) else value
    message = f"N must be a whole number of at least 1; got {plain!r}. {advice}"
    with pytest.raises(ProblemError, match=re.escape(message)):
        validate_count("N", value, 1, "Ask for one.")


@pytest.mark.parametrize("value", ["1", None, 0, 1, -0.5, float("nan"), float("inf"), [0.5]])
def test_numbers_out_of_range_are_refused(value: object) -> None:
    with pytest.raises(ProblemError, match=rf"^delta\b.* 0\b.* 1\b.* {re.escape(repr(value))}.* 0\.5\.$"):
        validate_between("delta", value, 0, 1, "Try 0.5.")


def test_valid_values_are_accepted() -> None:
    assert validate_count("N", np.int64(3), 3, "") == 3
    assert validate_between("delta", np.float32(0.5), 0, 1, "") == 0.5
    rng = np.random.default_rng(2)
    assert validate_generator(rng) is rng
    assert validate_generator(2).random() == rng.random()
    with pytest.raises(ProblemError, match=r"^random_state\b.*\bNone\b"):
        validate_generator(None)
