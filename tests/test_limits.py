"""Bounds at the ends of what is allowed: each of these was once wrong by more than its slack, or no number."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from boostopt import Certificate, ProblemError, get_formulation
from boostopt.authoring import CappedSimplex, DescribedEdges, DescribedRegularizer, Hinge, prototype

NEAR_ONE = [1 - 5e-13, 5e-13]


def certify(name: str, U: Any, w: Any, **parameters: Any) -> Certificate:
    return get_formulation(name).bind(U, **parameters).certify(w=w)


@pytest.mark.parametrize(
    ("name", "U", "parameters", "optimum"),
    [
        # A reference a rounding below its cap is not fixed: at eta = 1e6 the entropy that holds it there is nothing.
        ("binary_erlpboost", [[1.0], [-1.0]], {"nu": 1, "eta": 1e6, "d0": NEAR_ONE}, -0.999943351752304),
        ("norm_ball", [[1.0], [-1.0], [1.0], [-1.0]], {"r": 0.5}, 0.0),
        # sum d = 1, sum d^2 = r^2: the optimum is -sqrt(r^2 - 1/4) sqrt(4) for a column of mean 0 and norm 2.
        (
            "norm_ball",
            [[1.0], [-1.0], [1.0], [-1.0]],
            {"r": 0.5 * (1 + 3e-6)},
            -2 * np.sqrt(0.25 * ((1 + 3e-6) ** 2 - 1)),
        ),
    ],
)
def test_the_optimum_lies_in_the_interval(name: str, U: Any, parameters: dict[str, Any], optimum: float) -> None:
    certificate = certify(name, U, [1.0], **parameters)
    assert certificate.lower - 1e-15 <= optimum <= certificate.upper + 1e-15
    assert certificate.gap < 1e-10


@pytest.mark.parametrize(
    ("name", "U", "w", "parameters"),
    [
        ("binary_softboost", [[1.0], [-1.0]], [1.0], {"nu": 1, "gamma": 0.0, "d0": NEAR_ONE}),
        ("corrective_binary_erlpboost", [[0, 1.0], [0, -1.0]], [1.0, 0.0], {"nu": 1, "eta": 1.0, "segment": False}),
    ],
)
def test_what_is_feasible_is_not_called_infeasible(name: str, U: Any, w: Any, parameters: dict[str, Any]) -> None:
    assert not certify(name, U, w, **{"d0": NEAR_ONE} | parameters).infeasible


@pytest.mark.parametrize(
    ("name", "U", "parameters"),
    [
        ("totalboost", np.ones((1000, 300)), {"gamma": 1 - 1e-10}),
        ("softboost", [[1.0, 1.0], [1.0, 1.0]], {"nu": 1, "gamma": 1 - 1e-15}),
    ],
)
def test_weights_that_do_not_sum_to_one_meet_no_bound(name: str, U: Any, parameters: dict[str, Any]) -> None:
    """Both are infeasible by less or more than can be proved: there is no upper end in either case."""
    w = np.zeros(np.shape(U)[1])
    assert certify(name, U, w, **parameters).upper == np.inf
    assert certify("totalboost", np.ones((1000, 300)), np.ones(300), gamma=1 - 1e-10).infeasible


def test_a_bound_that_holds_by_itself_costs_nothing() -> None:
    certificate = certify("softboost", np.ones((3, 2)), [1.0, 1.0], d0=[1.0, 1e-300, 1e-300], nu=1.5, gamma=1.0)
    assert certificate.lower <= certificate.upper
    assert certificate.gap < 1e-11


def test_many_columns_take_no_square_of_their_number() -> None:
    program = get_formulation("totalboost").bind(np.tile([[1, -1]], (4, 5000)), gamma=0.5)
    assert program.certify(w=np.zeros(10_000)).infeasible is False


def test_a_radius_between_one_point_and_a_ball_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"r must be 0\.5, where the ball touches the simplex in one point, or at"):
        certify("norm_ball", [[1.0], [-1.0], [1.0], [-1.0]], [1.0], r=0.5 * (1 + 1e-9))


def described(f: Any, inside: Any) -> Any:
    return prototype("mine", lambda p, x: DescribedRegularizer(CappedSimplex(x.c, 1.0), f, np.asarray(inside)))


def test_a_function_has_no_value_outside_its_natural_domain() -> None:
    """CVXPY gives 1 / x a negative value left of 0; the optimum is above -1, for f > 0."""
    page = described(lambda d: 0.01 * cp.inv_pos(d[0] - 0.1), np.ones(3) / 3)
    program = page.bind([[1.0], [0.0], [-1.0]])
    best = program.solve("cvxpy:clarabel", tol=1e-5).certificate
    assert -1 < best.lower
    for d in ([0.1 - 1e-9, 0, 0.9], [0, 0, 1.0], [np.nan] * 3):
        assert program.certify(d=d, w=[1.0]).overlaps(best)
        assert program.certify(d=d, w=[1.0]).upper > -1


def test_a_gradient_that_is_none_is_noticed() -> None:
    """CVXPY's gradient of sum_largest with a fractional k violates the subgradient inequality."""
    program = described(lambda d: cp.sum_largest(d, 1.5), [0.5, 0.3, 0.2]).bind([[0.5], [0.1], [0.7]])
    with pytest.raises(ProblemError, match="f must lie above its tangents; it falls below one by"):
        program.certify(d=[0, 0.5, 0.5], w=[1.0])


def test_described_edges_need_weights_of_mass_one() -> None:
    page = prototype("mine", lambda p, x: Hinge(x.c, 3.0), lambda p: DescribedEdges(lambda e: cp.sum_squares(e)))
    with pytest.raises(ProblemError, match=r"takes edges in \[-1, 1\]; the weights of this regularizer sum to 9"):
        page.bind([[-0.9], [0.0], [-0.6]]).certify(w=[0.4])


def test_squares_do_not_overflow() -> None:
    with pytest.raises(ProblemError, match="C times the sum of the multiplicities must be at most 1e"):
        certify("qp_reg_adaboost", [[0.9], [0.2]], [1.0], c=[1e100, 1e100], C=1e100)


@pytest.mark.parametrize(
    ("name", "U", "parameters"),
    [
        ("adaboost", [[0.5], [-0.3], [0.7]], {"d0": [1, 5e-324, 5e-324]}),
        ("adaboost", [[0.0], [0.0], [-1.0], [1.0]], {"d0": [1, 5e-324, 5e-324, 5e-324]}),
        ("l1_adaboost", [[-8.6e-311] * 3], {"C": 1e100}),
        ("norm_penalty", [[0.9], [-0.2]], {"c": [1e-8, 1e8], "r": 1e100, "p": np.inf}),
    ],
)
def test_extremes_give_intervals_and_no_warnings(name: str, U: Any, parameters: dict[str, Any]) -> None:
    certificate = certify(name, U, np.ones(np.shape(U)[1]), **parameters)
    assert certificate.lower <= certificate.upper
    assert not np.isnan([certificate.lower, certificate.upper]).any()
