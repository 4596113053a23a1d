"""The solvers that CVXPY finds, and the facts that boostopt needs about each."""
