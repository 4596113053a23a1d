"""The constructed problems of the papers, each with its known answers, and the papers' toy data.

    from boostopt import instances

    problem = instances.iteration_lower_bound(16)
    problem  # shows the matrix, its purpose, its parameters and its known answers
    boostopt.get_formulation(name).bind(problem.U, **problem.parameters)

An `Instance` is a margin matrix with known answers; the generators of examples return a `Dataset` instead.
"""

from boostopt.instances.adaboost_cycles import cycle_3x3, cycle_mxm, manifold_4x5
from boostopt.instances.known_instance import Instance
from boostopt.instances.long_servedio_and_outliers import long_servedio, outliers
from boostopt.instances.paper_toy_data import banana, hypercube, softboost_synthetic
from boostopt.instances.stalled_stopping_criterion import stalled_criterion
from boostopt.instances.strict_pivots import bad_example_and_hypothesis, iteration_lower_bound, pivot
from boostopt.instances.ten_digit_reference_problem import reference

__all__ = [
    "Instance",
    "bad_example_and_hypothesis",
    "banana",
    "cycle_3x3",
    "cycle_mxm",
    "hypercube",
    "iteration_lower_bound",
    "long_servedio",
    "manifold_4x5",
    "outliers",
    "pivot",
    "reference",
    "softboost_synthetic",
    "stalled_criterion",
]
