"""Classifiers and a regressor with scikit-learn's interface.

MarginBoostClassifier
    Boosting to a large soft margin, with a certificate.
MarginBoostRegressor
    Boosting of numbers, with a certificate of the smallest residuals.
RBFNetworkClassifier
    RBF networks with adaptive centres.

The parameters have scikit-learn's names. `sample_weight` holds multiplicities, which other functions call `c`: an
example of weight k counts exactly as k copies, and an example of weight 0 is left out. `verbose` is called `progress`
elsewhere. If it is True, a line on stderr shows the progress of each run. If it is a function, it is called with the
label of the class and with every row of the trace.

Names are loaded on first use, and scikit-learn with them.
"""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
