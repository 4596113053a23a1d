"""Random programs of every formulation, with what is awkward: equal rows and columns, ends of domains, uneven c, d0."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from boostopt import ProblemError, Program, get_formulation

OWN_RADII = ("norm_ball", "norm_penalty")
"""Formulations whose parameters are not drawn here: their smallest program stands for them."""


def draw_margins(rng: np.random.Generator, N: int, t: int) -> np.ndarray:
    """Signs, real numbers or -1, 0, 1; columns twice, constant or negated; rows several times."""
    draws = (
        lambda: rng.choice([-1.0, 1.0], size=(N, t)),
        lambda: rng.uniform(-1, 1, size=(N, t)),
        lambda: rng.choice([-1.0, 0.0, 1.0], size=(N, t)),
    )
    U = draws[rng.integers(3)]()
    if t > 2 and rng.random() < 0.3:
        U[:, 1] = U[:, 0]
    if t > 2 and rng.random() < 0.2:
        U[:, 2] = rng.choice([-1.0, 0.0, 1.0, 0.5])
    if t > 3 and rng.random() < 0.2:
        U[:, 3] = -U[:, 0]
    return U[rng.integers(0, max(N // 3, 1), N)] if rng.random() < 0.3 else U


def draw_program(
    rng: np.random.Generator, name: str, largest_N: int = 400, largest_t: int = 40, largest_eta: float = 1e7
) -> Program:
    """A program of a formulation: nu at and near its ends, eta from 0.5, uneven c, d0 with zeros."""
    formulation = get_formulation(name)
    if name in OWN_RADII:
        return formulation.example_program()
    refusal: ProblemError | None = None
    for _ in range(60):
        N = int(np.exp(rng.uniform(np.log(2), np.log(largest_N))))
        t = formulation.columns or int(np.exp(rng.uniform(0, np.log(largest_t))))
        c = np.exp(rng.uniform(-1, 1, N) * rng.choice([0.5, 1.0, 3.0])) if rng.random() < 0.5 else np.ones(N)
        arguments: dict[str, Any] = {"c": c}
        support_sum = float(c.sum())
        if formulation.uses_reference and rng.random() < 0.5:
            d0 = rng.dirichlet(np.full(N, rng.choice([0.3, 1.0, 10.0]))) + 1e-9
            if rng.random() < 0.4 and N > 4:
                d0[rng.permutation(N)[: N // 4]] = 0.0
            arguments["d0"] = d0 / d0.sum()
            support_sum = float(c[d0 > 0].sum())
        if support_sum < 1:
            continue
        arguments |= _parameters(
            rng, name, {field.name for field in fields(formulation.Parameters)}, support_sum, N, largest_eta
        )
        try:
            return formulation.bind(draw_margins(rng, N, t), **arguments)
        except ProblemError as error:
            refusal = error
    raise AssertionError(f"{name}: {refusal}")


def _parameters(
    rng: np.random.Generator, name: str, names: set[str], support_sum: float, N: int, largest_eta: float
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "nu" in names:
        bounds = (support_sum * (1 - 1e-9), support_sum * (1 - 1e-4), 1 + 1e-9)
        usual = (1.0, support_sum, rng.uniform(1, support_sum), max(1.0, np.floor(support_sum / 3)))
        values["nu"] = float(np.clip(rng.choice([*usual, *bounds]), 1.0, support_sum))
    if "eta" in names:
        values["eta"] = float(np.exp(rng.uniform(np.log(0.5), np.log(largest_eta))))
    if "gamma" in names:
        values["gamma"] = float(rng.choice([rng.uniform(-0.5, 1.0), rng.uniform(0.0, 0.3)]))
    if "C" in names:
        reciprocal = name == "lp_reg_adaboost"
        values["C"] = float(rng.uniform(1 / support_sum, 1)) if reciprocal else float(np.exp(rng.uniform(-7, 4)))
    if "two_sided" in names:
        values["two_sided"] = bool(rng.random() < 0.3)
    if "segment" in names:
        values["segment"] = bool(rng.random() < 0.5)
    if "rho" in names:
        values["rho"] = float(rng.choice([0.0, 0.1, rng.uniform(-0.3, 0.3)]))
    for scale_name in {
        "smallest_edge",
        "minimum_margin",
        "smooth_margin",
        "next_smooth_margin",
        "phi",
        "accuracy",
    } & names:
        values[scale_name] = float(rng.uniform(0.01, 0.5))
    if "b" in names:
        values |= {"b": float(rng.uniform(-1, 1)), "penalty": rng.uniform(0, 1, N)}
    return values
