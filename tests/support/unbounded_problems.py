"""Problems that are unbounded along rays that change atoms, and neighbours of them that are bounded."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

X, Y, V = cp.Variable(name="x"), cp.Variable(name="y"), cp.Variable(3, name="v")
SINGULAR = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])


def leave_point() -> None:
    """Leave a feasible point of all problems below."""
    X.value, Y.value, V.value = np.array(1.0), np.array(30.0), np.array([1.0, 2.0, 3.0])


UNBOUNDED: dict[str, tuple[Any, list[Any]]] = {
    "logistic loss": (cp.logistic(X) - 1.1 * X, []),
    "slope next to that of the loss": (cp.logistic(X) - (1 + 2.0**-20) * X, []),
    "sum of losses": (cp.sum(cp.logistic(V)) - 1.5 * V[0] - cp.sum(V) / 2, []),
    "exponential": (cp.exp(X) + X, []),
    "Huber's loss": (cp.huber(X) - 2.5 * X, []),
    "log_sum_exp": (cp.log_sum_exp(V) - 1.5 * cp.sum(V) / 3, []),
    "logarithm": (-cp.log(X) - X / 8, []),
    "logarithm alone": (-cp.log(X), []),
    "root alone": (-cp.sqrt(X), []),
    "logarithm with a constraint": (Y - cp.log1p(V[0]), [Y >= -2, V[0] <= V[2]]),
    "reciprocal": (cp.inv_pos(X) - X, []),
    "norm": (cp.norm(V) - 2 * V[0], []),
    "norm on a line": (2 * cp.norm(V[:2]) - 3 * V[0], [V[0] + V[1] == 3]),  # along (1, -1): the root of 8 is below 3
    "cone": (Y - 2 * V[0], [cp.norm(V) <= Y]),
    "loss in a constraint": (Y / 2 - X, [cp.logistic(X) <= Y]),
    "null vector of a square": (cp.square(V[0] + V[1]) - V[0] + V[1] / 2, []),
    "null vector of a form": (cp.quad_form(V, SINGULAR) + V[0] - 2 * V[1], []),
    "geometric mean": (0.1 * cp.sum(V) - cp.geo_mean(V), []),
    "logarithm of a mean": (-cp.log(cp.geo_mean(V)), []),
    "loss of a norm": (cp.logistic(cp.norm(V)) - 2 * V[0], []),
    "largest loss": (cp.maximum(cp.logistic(V[0]), V[1]) - cp.sum(V), [cp.norm(V[:2]) <= 10 + V[2], V[2] <= V[1] + 1]),
    "logarithm of a logarithm": (-cp.log(cp.log(Y)), [Y >= 3]),
    "logarithm of a root": (-cp.log(cp.sqrt(X)), []),
    "smallest logarithm": (-cp.min(cp.log(V)), [V[1] >= V[0]]),
    "determinant": (-cp.log_det(cp.bmat([[X, 1], [1, Y]])), [X <= 2]),
    "mean of logarithms": (-cp.geo_mean(cp.log(V + 1)), []),
    "divergence": (cp.kl_div(1, Y) - 2 * Y, []),
    "with an equation": (cp.logistic(V[0]) - 1.2 * V[0] + cp.abs(V[1] - V[2]), [V[1] + V[2] == 5]),
}
"""Problems that fall for ever."""

BOUNDED: dict[str, tuple[Any, list[Any]]] = {
    "logistic loss": (cp.logistic(X) - X, []),
    "sum of losses": (cp.sum(cp.logistic(V)) - cp.sum(V), []),
    "exponential": (cp.exp(X) - X, []),
    "exponential alone": (cp.exp(X), []),
    "Huber's loss": (cp.huber(X) - 2 * X, []),
    "log_sum_exp": (cp.log_sum_exp(V) - cp.sum(V) / 3, []),
    "logarithm": (X / 8 - cp.log(X), []),
    "logarithm with a constraint": (Y - cp.log1p(V[0]), [Y >= -2, V[0] <= 4]),
    "logarithm of a logarithm": (-cp.log(cp.log(Y)), [Y <= 31]),
    "smallest logarithm": (-cp.min(cp.log(V)), [V[1] <= 3]),
    "mean of logarithms and a sum": (cp.sum(V) - cp.geo_mean(cp.log(V + 1)), []),
    "determinant and a trace": (X + Y - cp.log_det(cp.bmat([[X, 1], [1, Y]])), []),
    "mean and a sum": (cp.sum(V) / 3 - cp.log(1 + cp.geo_mean(V)), []),
    "reciprocal": (cp.inv_pos(X) + X, []),
    "loss in a constraint": (1.5 * Y - X, [cp.logistic(X) <= Y]),
    "null vector of a form": (cp.quad_form(V, SINGULAR) + V[0] + V[1], []),
    "geometric mean": (cp.sum(V) / 3 - cp.geo_mean(V), []),
    "loss of a norm": (cp.logistic(cp.norm(V)) - V[0], []),
    "loss of minus a norm": (cp.logistic(-X) - X / 2, [cp.norm(V) <= 9, X <= V[0]]),
    "divergence": (cp.kl_div(1, Y) - Y / 2, []),
}
"""Neighbours of these that are bounded below, some of them by the smallest slope at which this is so."""
