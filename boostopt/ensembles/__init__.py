"""New weights for the members of a fitted ensemble, from a program, with certificates; thinning.

reweight
    Solve a formulation over the members of a fitted ensemble.
ReweightOptions
    The record of its options.
Reweighted
    The result: weights, the interval of the best soft margin of the members, a classifier.
reweight_one_vs_rest
    Solve one program for each class against the rest, for more than two classes.
OneVsRestReweighted
    The result of `reweight_one_vs_rest`.
members_of
    Return the members of a fitted ensemble as hypotheses with values in [-1, 1], and the ensemble's own weights.
Members
    The result of `members_of`.

Names are loaded on first use, and scikit-learn with them.
"""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
