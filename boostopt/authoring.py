"""Names for pages of `formulations/`, and for formulations, regularizers and backends of one's own."""

from boostopt.backends.base import CONES, Attempt, Backend, Capability, Deadline, Task, WarmStart
from boostopt.backends.profiles import Profile
from boostopt.edges.base import Active, EdgeFunction, Epigraph, Polyhedron
from boostopt.edges.bounded import BoundedEdges, FixedEdges
from boostopt.edges.described import DescribedEdges
from boostopt.edges.formula import FormulaEdges, edge_formula
from boostopt.edges.intercept import InterceptEdges
from boostopt.edges.linear import LinearEdges
from boostopt.edges.maximum import AbsoluteEdge, MaximumEdge
from boostopt.edges.penalties import BallEdges, ElasticEdges, OneNormEdges
from boostopt.edges.squared import SquaredEdges, SquaredPositiveEdges
from boostopt.edges.tied import TiedEdges
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import (
    CANONICAL,
    COUNT,
    EDGE,
    EXPONENT,
    FLAG,
    FRACTION,
    PER_EXAMPLE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    REAL,
    Domain,
    interval,
    parameter,
)
from boostopt.programs.printed import maximize, minimize
from boostopt.programs.program import Examples
from boostopt.programs.progress import Progress
from boostopt.programs.prototyping import prototype
from boostopt.regularizers.base import ConjugatePoint, Pointwise, Regularizer
from boostopt.regularizers.binary_entropy import BinaryEntropy, LogarithmicLoss
from boostopt.regularizers.cap import Cap
from boostopt.regularizers.capped_simplex import CappedSimplex
from boostopt.regularizers.described import DescribedRegularizer
from boostopt.regularizers.formula import FormulaRegularizer, formula
from boostopt.regularizers.hinge import Hinge
from boostopt.regularizers.loss import Loss
from boostopt.regularizers.losses import Exponential, Logistic, QuadraticHinge
from boostopt.regularizers.margin_sums import MarginVariance, Shortfall
from boostopt.regularizers.norms import NormBall, NormPenalty, simplex
from boostopt.regularizers.power_divergence import PowerDivergence
from boostopt.regularizers.relative_entropy import LogExponentialLoss, RelativeEntropy, UnnormalizedRelativeEntropy
from boostopt.regularizers.separable import Separable, SeparableSum
from boostopt.regularizers.squares import Squares
from boostopt.regularizers.tilted import Tilted
from boostopt.shapes import Array, Float

__all__ = [
    "CANONICAL",
    "CONES",
    "COUNT",
    "EDGE",
    "EXPONENT",
    "FLAG",
    "FRACTION",
    "PER_EXAMPLE",
    "POSITIVE",
    "POSITIVE_OR_INFINITE",
    "REAL",
    "AbsoluteEdge",
    "Active",
    "Array",
    "Attempt",
    "Backend",
    "BallEdges",
    "BinaryEntropy",
    "BoundedEdges",
    "Cap",
    "Capability",
    "CappedSimplex",
    "ConjugatePoint",
    "Deadline",
    "DescribedEdges",
    "DescribedRegularizer",
    "Domain",
    "EdgeFunction",
    "ElasticEdges",
    "Epigraph",
    "Examples",
    "Exponential",
    "FixedEdges",
    "Float",
    "FormulaEdges",
    "FormulaRegularizer",
    "Formulation",
    "Hinge",
    "InterceptEdges",
    "LinearEdges",
    "LogExponentialLoss",
    "LogarithmicLoss",
    "Logistic",
    "Loss",
    "MarginVariance",
    "MaximumEdge",
    "NormBall",
    "NormPenalty",
    "OneNormEdges",
    "Pointwise",
    "Polyhedron",
    "PowerDivergence",
    "Profile",
    "Progress",
    "QuadraticHinge",
    "Regularizer",
    "RelativeEntropy",
    "Separable",
    "SeparableSum",
    "Shortfall",
    "SquaredEdges",
    "SquaredPositiveEdges",
    "Squares",
    "Task",
    "TiedEdges",
    "Tilted",
    "UnnormalizedRelativeEntropy",
    "WarmStart",
    "edge_formula",
    "formula",
    "interval",
    "maximize",
    "minimize",
    "parameter",
    "prototype",
    "simplex",
]
