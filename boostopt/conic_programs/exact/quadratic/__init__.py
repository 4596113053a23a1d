"""Exact optima of convex quadratic programs: convexity, a first active set, complementary pivots."""
