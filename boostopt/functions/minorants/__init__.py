"""Affine minorants of convex CVXPY expressions, kinks included."""
