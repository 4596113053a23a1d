"""Certified intervals of the optimal values of convex CVXPY problems."""
