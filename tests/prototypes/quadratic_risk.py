"""A quadratic risk term d'Qd on top of the cap: Q is a covariance of the examples, here of neighbours."""

import cvxpy as cp
import numpy as np

from boostopt.authoring import COUNT, POSITIVE, CappedSimplex, CvxpyRegularizer, parameter, prototype


def covariance(N: int) -> np.ndarray:
    """Neighbouring examples are correlated."""
    return 0.9 ** np.abs(np.subtract.outer(np.arange(N), np.arange(N)))


quadratic_risk = prototype(
    "quadratic_risk",
    lambda p, examples: CvxpyRegularizer(
        domain=CappedSimplex(examples.c, p.nu),
        f=lambda d: p.risk * cp.quad_form(d, cp.psd_wrap(covariance(examples.N))),
        inside=examples.c / examples.total,
    ),
    nu=parameter("the least number of examples that share the weight", COUNT),
    risk=parameter("the weight of the risk term", POSITIVE, 1.0),
)
