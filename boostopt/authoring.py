"""What a page of `formulations/` is written with, and formulations, regularizers and backends of one's own."""

from boostopt.backends.base import CONES, Attempt, Backend, Capability, Deadline
from boostopt.edges.base import EdgeFunction
from boostopt.edges.maximum import MaximumEdge
from boostopt.formulation import CANONICAL, COUNT, POSITIVE, Domain, Formulation, parameter
from boostopt.printed import maximize, minimize
from boostopt.program import Examples
from boostopt.regularizers.base import ConjugatePoint, Regularizer
from boostopt.regularizers.cap import Cap
from boostopt.regularizers.capped_simplex import CappedSimplex
from boostopt.regularizers.relative_entropy import RelativeEntropy
from boostopt.regularizers.separable import Separable
from boostopt.shapes import Array, Float

__all__ = [
    "CANONICAL",
    "CONES",
    "COUNT",
    "POSITIVE",
    "Array",
    "Attempt",
    "Backend",
    "Cap",
    "Capability",
    "CappedSimplex",
    "ConjugatePoint",
    "Deadline",
    "Domain",
    "EdgeFunction",
    "Examples",
    "Float",
    "Formulation",
    "MaximumEdge",
    "Regularizer",
    "RelativeEntropy",
    "Separable",
    "maximize",
    "minimize",
    "parameter",
]
