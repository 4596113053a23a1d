"""A cap on the total weight of a group of examples, with the relative entropy."""

import cvxpy as cp
import numpy as np

from boostopt.authoring import (
    COUNT,
    FRACTION,
    PER_EXAMPLE,
    POSITIVE,
    CappedSimplex,
    CvxpyRegularizer,
    parameter,
    prototype,
)

group_cap = prototype(
    "group_cap",
    lambda p, examples: CvxpyRegularizer(
        domain=CappedSimplex(examples.c, p.nu),
        f=lambda d: cp.sum(cp.rel_entr(d, examples.d0)) / p.eta,
        inside=np.where(p.group > 0, 0.5 * p.share / p.group.sum(), (1 - 0.5 * p.share) / (1 - p.group).sum()),
        constraints=lambda d: [p.group @ d <= p.share],
        objective_scale=p.eta,
    ),
    nu=parameter("the least number of examples that share the weight", COUNT),
    eta=parameter("the inverse strength of the entropy", POSITIVE),
    group=parameter("1 for the examples of the group, 0 for the others", PER_EXAMPLE),
    share=parameter("the largest total weight of the group", FRACTION),
)
