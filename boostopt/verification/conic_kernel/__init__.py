"""The checker of conic and quadratic programs in files: fractions and balls, without solvers."""
