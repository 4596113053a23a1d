"""The solvers of a comparison: opened by their names, and run so that each solve gives a record."""
