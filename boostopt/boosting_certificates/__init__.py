"""Proofs from answers: (d, w) made feasible, the interval of the optimum, and w recovered from d."""
