from .margin_boost import MarginBoostClassifier as MarginBoostClassifier
from .margin_boost_regressor import MarginBoostRegressor as MarginBoostRegressor
from .margin_boost_regressor import ResidualInterval as ResidualInterval
from .rbf_network import RBFNetworkClassifier as RBFNetworkClassifier

__all__: list[str]
