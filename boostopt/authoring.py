"""Names for modules of `formulations/`, and for formulations, regularizers and backends of one's own."""

from boostopt._utils.array_types import Array, Float
from boostopt.backends.accuracy_profiles import Profile
from boostopt.backends.base import CONES, Attempt, Backend, Capability, Deadline, Task, WarmStart
from boostopt.functions.edge_functions.base import Active, EdgeFunction, Epigraph, Polyhedron
from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges, FixedEdges
from boostopt.functions.edge_functions.formula_edges import FormulaEdges, edge_formula
from boostopt.functions.edge_functions.intercept import InterceptEdges
from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge, MaximumEdge
from boostopt.functions.edge_functions.linear_edges import LinearEdges
from boostopt.functions.edge_functions.norm_and_elastic_net_penalties import BallEdges, ElasticEdges, OneNormEdges
from boostopt.functions.edge_functions.squared_edges import SquaredEdges, SquaredPositiveEdges
from boostopt.functions.edge_functions.tied_edges import TiedEdges
from boostopt.functions.regularizers.base import ConjugatePoint, Pointwise, Regularizer
from boostopt.functions.regularizers.binary_entropy import BinaryEntropy, LogarithmicLoss
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator, Shortfall
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.functions.regularizers.loss_conjugates import Exponential, Hinge, Logistic, LossConjugate, QuadraticHinge
from boostopt.functions.regularizers.margin_variance import MarginVariance
from boostopt.functions.regularizers.norms.norm_regularizers import NormBall, NormPenalty, simplex
from boostopt.functions.regularizers.power_divergence import PowerDivergence
from boostopt.functions.regularizers.relative_entropy import (
    LogExponentialLoss,
    RelativeEntropy,
    UnnormalizedRelativeEntropy,
)
from boostopt.functions.regularizers.separable import Separable, SeparableSum
from boostopt.functions.regularizers.user_defined.formula_regularizer import FormulaRegularizer, formula
from boostopt.functions.regularizers.weighted_squares import Squares
from boostopt.programs.boosting_spec import BoostingSpec
from boostopt.programs.cvxpy_functions.cvxpy_edges import CvxpyEdges
from boostopt.programs.cvxpy_functions.cvxpy_regularizer import CvxpyRegularizer
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
from boostopt.programs.printed_problems import maximize, minimize
from boostopt.programs.program import Examples, Program
from boostopt.programs.prototype import prototype
from boostopt.programs.step_rules.boosting_state import BoostingState

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
    "BoostingSpec",
    "BoostingState",
    "BoundedEdges",
    "Capability",
    "CappedSimplex",
    "CappedSimplexIndicator",
    "ConjugatePoint",
    "CvxpyEdges",
    "CvxpyRegularizer",
    "Deadline",
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
    "LossConjugate",
    "MarginVariance",
    "MaximumEdge",
    "NormBall",
    "NormPenalty",
    "OneNormEdges",
    "Pointwise",
    "Polyhedron",
    "PowerDivergence",
    "Profile",
    "Program",
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
