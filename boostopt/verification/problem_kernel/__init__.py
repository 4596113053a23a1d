"""The checker of files of CVXPY problems: every claim again, in exact rationals and balls."""
