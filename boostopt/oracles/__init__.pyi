from .base import Answer as Answer
from .base import Column as Column
from .base import Hypothesis as Hypothesis
from .base import Oracle as Oracle
from .base import Query as Query
from .binned_stumps import BinnedStumps as BinnedStumps
from .decision_stumps import DecisionStumps as DecisionStumps
from .estimators import Estimators as Estimators
from .estimators import Resampled as Resampled
from .features import evaluate as evaluate
from .fitted import Fitted as Fitted
from .given import Given as Given
from .given import GivenMargins as GivenMargins
from .kernel import KernelColumn as KernelColumn
from .kernel_columns import KernelColumns as KernelColumns
from .raw_features import Feature as Feature
from .raw_features import RawFeatures as RawFeatures
from .rbf.fitting import RBFSettings as RBFSettings
from .rbf_networks import RBFHypothesis as RBFHypothesis
from .rbf_networks import RBFNetworks as RBFNetworks
from .stump import Stump as Stump

__all__: list[str]
