"""The papers' own solvers: the augmented Lagrangian, and sequential quadratic programming."""
