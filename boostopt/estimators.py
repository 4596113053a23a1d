"""Classifiers of scikit-learn's kind.

MarginBoostClassifier
    Boosting to a large soft margin, with a certificate.
RBFNetworkClassifier
    RBF networks with adaptive centres.

They have scikit-learn's words. `sample_weight` is what is `c` elsewhere, multiplicities: an example of weight k counts
as k copies, to the last digit, and one of weight 0 is left out. `verbose` is what is `progress` elsewhere: whether a
line on stderr shows how each run gets on; or what to call with every row of its trace, here after the label that is
told apart.

Names are loaded on first use, and scikit-learn with them.
"""

from boostopt.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
