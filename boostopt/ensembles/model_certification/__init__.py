"""Certification of fitted models of other libraries: the gap of each to the optimum of its own objective."""
