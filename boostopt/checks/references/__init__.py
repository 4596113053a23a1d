"""References that checks compare with: CVXPY, dual functions, probes, random instances."""
