"""Exact optima of linear programs: bases, exact solutions of their systems, refinement, proofs of infeasibility."""
