from .base import Answer as Answer
from .base import Column as Column
from .base import GroupedOracle as GroupedOracle
from .base import Hypothesis as Hypothesis
from .base import Oracle as Oracle
from .base import Query as Query
from .feature_validation import evaluate as evaluate
from .kernels.kernel import KernelColumn as KernelColumn
from .kernels.kernel_oracle import KernelColumns as KernelColumns
from .learners.classifier_hypotheses import Fitted as Fitted
from .learners.estimator_oracles import Estimators as Estimators
from .learners.estimator_oracles import Resampled as Resampled
from .limited_class import Budget as Budget
from .limited_class import LimitedClass as LimitedClass
from .limited_class import MarginLimit as MarginLimit
from .limited_class import equal_mean_margins as equal_mean_margins
from .matrix_oracle import GivenMargins as GivenMargins
from .matrix_oracle import MatrixColumn as MatrixColumn
from .raw_feature_oracle import Feature as Feature
from .raw_feature_oracle import RawFeatures as RawFeatures
from .rbf.network_fitting import RBFSettings as RBFSettings
from .rbf.rbf_oracle import RBFHypothesis as RBFHypothesis
from .rbf.rbf_oracle import RBFNetworks as RBFNetworks
from .stumps.binned_stump_oracle import BinnedStumps as BinnedStumps
from .stumps.exhaustive_stump_oracle import DecisionStumps as DecisionStumps
from .stumps.stump import Stump as Stump

__all__: list[str]
