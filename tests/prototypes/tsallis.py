"""A Tsallis entropy, which no paper here has: sum d^q / eta."""

import cvxpy as cp

from boostopt.authoring import COUNT, POSITIVE, CappedSimplex, CvxpyRegularizer, parameter, prototype

tsallis = prototype(
    "tsallis",
    lambda p, examples: CvxpyRegularizer(
        domain=CappedSimplex(examples.c, p.nu),
        f=lambda d: cp.sum(cp.multiply(examples.c ** (1 - p.q), cp.power(d, p.q, approx=False))) / p.eta,
        inside=examples.c / examples.total,
    ),
    nu=parameter("the least number of examples that share the weight", COUNT),
    q=parameter("the order of the entropy, more than 1", POSITIVE, 1.5),
    eta=parameter("the inverse strength of the entropy", POSITIVE),
)
