"""The algorithms, one page each: the programs of the papers, which boostopt solves and certifies."""

DEFAULT = "erlpboost"
"""The formulation that classifiers use by default."""

SOFT_MARGIN = "lpboost"
"""The formulation whose value is the soft margin alone: it measures ensembles of other libraries."""
