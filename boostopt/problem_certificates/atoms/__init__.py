"""The atoms: values, minorants and bounds of the functions that CVXPY's atoms mean."""
