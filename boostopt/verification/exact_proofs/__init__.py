"""Proofs in fractions near those of floats: proposals for the checker of problems in files."""
