"""The algorithms, one page each: what is printed in the papers, as programs that solve and certify."""

DEFAULT = "erlpboost"
"""The formulation that classifiers take where none is named."""

SOFT_MARGIN = "lpboost"
"""The formulation whose value is the soft margin and nothing else: what an ensemble made elsewhere is measured by."""
