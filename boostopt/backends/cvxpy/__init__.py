"""The solvers that CVXPY finds, and what has to be known about each."""
