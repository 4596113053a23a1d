from .margin_boost import MarginBoostClassifier as MarginBoostClassifier
from .rbf_network import RBFNetworkClassifier as RBFNetworkClassifier

__all__: list[str]
