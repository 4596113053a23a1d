"""Ensembles that were fitted elsewhere: their members as hypotheses, weighted anew by a program, and thinned.

reweight
    Solve a formulation over the members of a fitted ensemble.
ReweightOptions
    Its options, whole.
Reweighted
    What comes back: weights, the interval of the best soft margin of the members, a classifier.
reweight_one_vs_rest
    The same for more than two classes: one program for each class against the rest.
OneVsRestReweighted
    What comes back of it.
members_of
    The members of a fitted ensemble as hypotheses with values in [-1, 1], and the ensemble's own weights.
Members
    These.

Names are loaded on first use, and scikit-learn with them.
"""

from boostopt.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
