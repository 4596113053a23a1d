"""The algorithms, one page each: what is printed in the papers, as programs that solve and certify."""

DEFAULT = "erlpboost"
"""The formulation that classifiers take where none is named."""
