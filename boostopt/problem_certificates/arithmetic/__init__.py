"""Affine forms of the entries of a problem, in balls and in sparse floats with bounds of their errors."""
