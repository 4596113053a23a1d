"""Classifiers of scikit-learn's kind.

MarginBoostClassifier
    Boosting to a large soft margin, with a certificate.
RBFNetworkClassifier
    RBF networks with adaptive centres.

Names are loaded on first use, and scikit-learn with them.
"""

from boostopt.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
