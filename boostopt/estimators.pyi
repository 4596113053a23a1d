from .classifiers.margin_boost import MarginBoostClassifier as MarginBoostClassifier
from .classifiers.rbf import RBFNetworkClassifier as RBFNetworkClassifier

__all__: list[str]
