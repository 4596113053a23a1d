"""Settings that the authors of solvers document: by name beside the defaults, with and without a form."""

from __future__ import annotations

import cvxpy as cp
import pytest
from support.problems import reference_erlpboost, reference_lpboost

from boostopt import OptionError, compare, precision
from boostopt.backends import get_backend
from boostopt.backends.cvxpy.solver_options import FORMS, SOLVERS

SETTINGS = [(solver, setting) for solver, spec in SOLVERS.items() for setting in spec.named_settings]


@pytest.mark.every(2)
@pytest.mark.parametrize(("solver", "setting"), SETTINGS)
def test_each_setting_is_solved_with_its_options(solver: str, setting: str) -> None:
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    options = SOLVERS[solver].named_settings[setting]
    (row,) = compare(reference_lpboost(), f"cvxpy:{solver.lower()}:{setting}", "default").rows
    assert row.backend == f"cvxpy:{solver.lower()}:{setting}"
    assert row.error is None and row.claims and row.scaled_gap < 1e-3
    assert row.options == options  # and no others: the profile keeps the defaults


def test_a_setting_has_another_name_than_a_form() -> None:
    assert SETTINGS and not any(setting in FORMS for _, setting in SETTINGS)


@pytest.mark.parametrize("name", ["cvxpy:scs:dual:no-scaling", "cvxpy:scs:no-scaling", "cvxpy:scs:dual", "cvxpy:scs"])
def test_names_are_read_as_they_are_written(name: str) -> None:
    assert get_backend(name).name == name


@pytest.mark.parametrize("name", ["cvxpy:scs:no-scale", "cvxpy:scs:no-scaling:dual", "cvxpy:scs:dual:dual"])
def test_an_unknown_setting_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="form or setting"):
        get_backend(name)


def test_forms_apply_to_settings_and_to_the_defaults() -> None:
    result = compare(reference_erlpboost(), ["cvxpy:scs", "cvxpy:scs:fixed-scale"], 1e-3, forms=["primal", "dual"])
    assert [row.backend for row in result.rows] == [
        *("cvxpy:scs:primal", "cvxpy:scs:dual", "cvxpy:scs:primal:fixed-scale", "cvxpy:scs:dual:fixed-scale")
    ]
    assert [row.form for row in result.rows] == ["primal", "dual"] * 2
    assert all(
        row.options is not None and row.options.get("adaptive_scale", True) is k
        for row, k in zip(result.rows, (True, True, False, False), strict=True)
    )


def test_options_of_the_user_override_a_setting() -> None:
    options = {"cvxpy:scs": {"adaptive_scale": True}}
    (row,) = compare(reference_erlpboost(), "cvxpy:scs:fixed-scale", 1e-3, options=options).rows
    assert row.options is not None and row.options["adaptive_scale"] is True


def test_problems_of_the_user_take_settings() -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x <= 0.5])
    result = precision(problem, ["scs", "scs:no-scaling"], [1e-3, 1e-6])
    assert result.backends == ("scs", "scs:no-scaling")
    assert [run.options is not None and run.options.get("normalize", True) for run in result.runs] == [True] * 2 + [
        False
    ] * 2
