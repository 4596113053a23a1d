"""F as its author states F: a CVXPY expression or a formula."""
