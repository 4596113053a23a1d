"""Pages of CVXPY problems: the problem, its Lagrangian and its KKT conditions as TeX."""
