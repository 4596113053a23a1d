"""Instances with wrong labels: errors that a cap on the weights repairs, and errors that a cap does not repair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.errors import ProblemError
from boostopt.instances.known_instance import Instance, validate_between, validate_count

SOURCES = (
    "Glocer 2009, section 2.6",
    "Long and Servedio 2010, Random classification noise defeats all convex potential boosters",
)


def long_servedio(gamma: float = 0.1, noise: Literal["none", "flipped"] | float = "flipped") -> Instance:
    """Return four points on which noisy labels make boosting misclassify correctly labelled points.

    The points, all of class 1, are (1, 0), twice (gamma, -gamma) and (gamma, 5 gamma). Their coordinates are the two
    hypotheses. Without noise, w = (1, 0) gives every point a margin of at least gamma.

    "flipped" has a wrong label at (1, 0). A cap does not help: the two points (gamma, -gamma) are misclassified for
    every nu. A number is the rate of symmetric noise: every point occurs with both labels, and the multiplicities c
    give the wrong labels this share. Then a cap helps: with nu = sum c the maximum is at w = (1, 0), which disagrees
    only with the wrong labels.

    Parameters
    ----------
    gamma
        Strictly between 0 and 1/6.
    noise
        "none", "flipped", or the rate of symmetric noise, strictly between 0 and 1/2.

    Returns
    -------
    Instance of shape (4, 2), or (8, 2) for symmetric noise: four right labels, four wrong ones.

    Raises
    ------
    ProblemError
        gamma or noise is out of range.

    References
    ----------
    Glocer 2009, section 2.6, with the points of Long and Servedio 2010. That section says that no cap helps, which is
    true only for "flipped". The answers for all nu and for symmetric noise are ours.
    """
    gamma = validate_between("gamma", gamma, 0, 1 / 6, "Try 0.1.")
    clean = np.array([[1, 0], [gamma, -gamma], [gamma, -gamma], [gamma, 5 * gamma]])
    if isinstance(noise, str) and noise == "none":
        return _long_servedio_instance(
            clean,
            "four points that the first hypothesis alone separates with the margin gamma.",
            {"nu": 1.0},
            {"LPBoost optimum": gamma, "LPBoost w": np.array([1.0, 0.0])},
        )
    if isinstance(noise, str) and noise == "flipped":
        low = gamma / (1 + 2 * gamma)
        return _long_servedio_instance(
            np.vstack([[-1, 0], clean[1:]]),
            "one wrong label among four makes LPBoost misclassify two of the right ones, whatever the cap.",
            {"nu": 2.0},
            {
                "LPBoost optimum, nu < 2 + 4 gamma": -low,
                "LPBoost w, nu < 2 + 4 gamma": np.array([low, 1 - low]),
                "LPBoost w, nu > 2 + 4 gamma": np.array([0.0, 1.0]),
                "examples with right labels that are misclassified for every nu": np.array([1, 2]),
            },
        )
    rate = validate_between("noise", noise, 0, 0.5, 'Or pass "none" or "flipped".')
    c = np.repeat([(1 - rate) / rate, 1.0], 4)
    return _long_servedio_instance(
        np.vstack([clean, 0 - clean]),
        "symmetric noise on the labels, which the largest cap makes harmless.",
        {"nu": float(c.sum()), "c": c},
        {
            "LPBoost optimum": (1 - 2 * rate) * (1 + 3 * gamma) / 4,
            "LPBoost w": np.array([1.0, 0.0]),
            "misclassified examples": np.arange(4, 8),
        },
    )


def _long_servedio_instance(
    U: Float[Array, "N 2"], shows: str, parameters: Mapping[str, Any], answers: Mapping[str, Any]
) -> Instance:
    """Return the record of one kind of noise."""
    return Instance("Long and Servedio's points", U, shows, SOURCES, parameters, answers)


def outliers(N: int, bad: int = 1, gamma: float = 0.2) -> Instance:
    """Return one hypothesis with margin -1 on a few examples and gamma on the others.

    The hard margin is -1. The soft margin is gamma / 2 or more for every nu >= 2 bad (1 + gamma) / gamma.

    Parameters
    ----------
    N
        Number of examples, at least 2 bad (1 + gamma) / gamma.
    bad
        Number of examples with margin -1, at least 1; they come first.
    gamma
        Margin of the others, strictly between 0 and 1.

    Returns
    -------
    Instance of shape (N, 1) with the smallest such nu.

    Raises
    ------
    ProblemError
        bad or gamma is out of range, or N is too small for them.

    References
    ----------
    Shalev-Shwartz and Singer 2008, the remark on the soft margin with outliers.
    """
    bad = validate_count("bad", bad, 1, "Take one or more: without any every margin is gamma.")
    gamma = validate_between("gamma", gamma, 0, 1, "Try 0.2.")
    nu = 2 * bad * (1 + gamma) / gamma
    rows = validate_count("N", N, 1, "Take more examples.")
    if rows < nu:
        raise ProblemError(f"N must be at least 2 bad (1 + gamma) / gamma = {nu:.10g}; got {rows}. Take more examples.")
    U = np.full((rows, 1), gamma)
    U[:bad] = -1.0
    return Instance(
        name="outliers",
        U=U,
        shows="a cap that is wide enough keeps half of the margin that a few bad examples destroy.",
        sources=("Shalev-Shwartz and Singer 2008, remark on the soft margin with outliers",),
        parameters={"nu": nu},
        answers={"soft margin": gamma / 2, "hard margin": -1.0},
    )
