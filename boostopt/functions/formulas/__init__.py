"""Formulas of one weight or one edge: parsing, differentiation, proofs of convexity and evaluation, with NumPy only.

Certificate files come from untrusted sources and may contain a formula. A formula is never evaluated as Python code. It
is parsed by a grammar into sums of products with rational coefficients. These are differentiated exactly and enclosed
by intervals.
"""
