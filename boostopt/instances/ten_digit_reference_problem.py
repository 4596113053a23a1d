"""A problem of six examples and three hypotheses on which every program has been solved to ten digits."""

from __future__ import annotations

import numpy as np

from boostopt.instances.known_instance import Instance


def reference() -> Instance:
    """Return the 6 x 3 problem on which you can check the formulas of all programs.

    The optima were computed in two independent ways (an ascent, and a conic or simplex solver). A quantity "at w" is a
    closed form at the point `answers["w"]`. If a number needs other parameters than `parameters`, its name states them.
    The objectives of QP_REG and of equation (22) are the printed ones, which are minus the value of the primal.

    Returns
    -------
    Instance of shape (6, 3) with nu = 2.5, eta = 4 and a reference distribution d0 that is not uniform. Numbers have
    ten digits; LPBoost's are exact.

    References
    ----------
    The programs: Glocer 2009, (2.1), (3.1), (3.6), (3.25); Raetsch, Onoda, Mueller 2001, (22) and figure 14;
    Shalev-Shwartz and Singer 2008, examples 1 and 2. The numbers are this package's own.
    """
    return Instance(
        name="reference",
        U=np.array([[1, 0.5, -1], [0.5, -1, 1], [-1, 1, 0.5], [1, -0.5, 0.25], [-0.5, 0.75, -1], [0.25, 1, -0.75]]),
        shows="numbers that any implementation of the programs must reproduce.",
        sources=(
            "Glocer 2009, (2.1), (3.1), (3.6), (3.25), section 6.4",
            "Raetsch, Onoda, Mueller 2001, (22), figure 14",
            "Shalev-Shwartz and Singer 2008, examples 1 and 2",
        ),
        parameters={"nu": 2.5, "eta": 4.0, "d0": np.array([0.1, 0.15, 0.2, 0.25, 0.2, 0.1])},
        answers=_VALUES_AT_W | _OPTIMAL_VALUES,
    )


_VALUES_AT_W = {
    "w": np.array([0.5, 0.3, 0.2]),
    "margins at w": np.array([0.45, 0.15, -0.1, 0.4, -0.225, 0.275]),
    "soft margin at w": -0.1,
    "ERLPBoost dual at w": 0.0124809954,
    "ERLPBoost primal at d(w)": 0.6682700018,
    "ERLPBoost beta at w": -0.0552771290,
    "ERLPBoost psi at w": np.array([0, 0, 0, 0, 0.1069903338, 0]),
    "ERLPBoost d(w)": np.array([0.0206203551, 0.1026929851, 0.3721979671, 0.0629643966, 0.4, 0.0415242960]),
    "ERLPBoost gradient at w": np.array([-0.4268856488, 0.5898572573, -0.1472305093]),
    "ERLPBoost dual at w, eta = 30": -0.0797084944,
    "ERLPBoost beta at w, eta = 30": -0.1590379040,
    "ERLPBoost psi at w, eta = 30": np.array([0, 0, 0.2359329980, 0, 0.3609329980, 0]),
    "Binary ERLPBoost dual at w": 0.0671751405,
    "Binary ERLPBoost primal at d(w)": 0.4491273392,
    "Binary ERLPBoost beta at w": -0.1347606967,
    "Binary ERLPBoost d(w)": np.array(
        [0.0345232549, 0.1443302186, 0.2875625057, 0.1463335519, 0.3233225511, 0.0639279179]
    ),
    "Binary ERLPBoost gradient at w": np.array([-0.1802198857, 0.3937469698, -0.0810968850]),
    "SoftBoost dual at 3 w, gamma = 0.1": -0.1960081621,
}

_OPTIMAL_VALUES = {
    "LPBoost optimum": 1 / 265,
    "LPBoost w": np.array([17, 20, 16]) / 53,
    "ERLPBoost optimum": 0.0924628832,
    "ERLPBoost w": np.array([0.3703617116, 0.4491978337, 0.1804404547]),
    "ERLPBoost d": np.array([0.0275758675, 0.3033213849, 0.1472222723, 0.1686491998, 0.3247516187, 0.0284796568]),
    "Binary ERLPBoost optimum": 0.1116447095,
    "Binary ERLPBoost w": np.array([0.3790564816, 0.4584361493, 0.1625073691]),
    "SoftBoost optimum, gamma = LPBoost optimum + 0.05": 0.1566530301,
    "SoftBoost w, gamma = LPBoost optimum + 0.05": np.array([1.3274957608, 1.6032214891, 0.6189462380]),
    "QP_REG objective, C = 0.4 per example": 2.215,
    "QP_REG b, C = 0.4 per example": np.array([0.25, 0.35, 0]),
    "equation (22) objective, C = 2 per example": 9.0,
    "two-sided optimum, 2-norm of d at most 0.5, no cap": 0.0444874399,
    "two-sided optimum with 0.3 times the 2-norm of d added, no cap": 0.1719999238,
    "entropy projection of d0 onto edge 0 of column 0, alpha": 0.2374138452,
    "entropy projection of d0 onto edge 0 of column 0, relative entropy": 0.0178774738,
}
