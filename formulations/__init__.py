"""The algorithms, one module each: the programs of the papers, which boostopt solves and certifies."""

DEFAULT_FORMULATION = "erlpboost"
"""The formulation that classifiers use by default."""

SOFT_MARGIN_FORMULATION = "lpboost"
"""The formulation whose value is the soft margin alone: it measures ensembles of other libraries."""
