"""Quadratic programs over the simplex, solved by active sets."""
