"""F and G that are stated as CVXPY expressions or as the optimal values of CVXPY problems."""
