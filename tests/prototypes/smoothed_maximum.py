"""LPBoost with a smoothed maximum of the edges: (1 / tau) ln of the mean of exp(tau e)."""

import cvxpy as cp
import numpy as np

from boostopt.authoring import COUNT, POSITIVE, CappedSimplex, CappedSimplexIndicator, CvxpyEdges, parameter, prototype

smoothed_maximum = prototype(
    "smoothed_maximum",
    lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)),
    lambda p: CvxpyEdges(lambda e: (cp.log_sum_exp(p.tau * e) - np.log(e.size)) / p.tau),
    nu=parameter("the least number of examples that share the weight", COUNT),
    tau=parameter("the sharpness of the maximum", POSITIVE, 20.0),
)
