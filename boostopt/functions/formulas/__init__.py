"""Formulas of one weight or edge: read, differentiated, proved convex, computed. Nothing but NumPy is needed.

Certificate files come from strangers and may state a formula. A text is never evaluated: it is read by a grammar into
sums of products with rational coefficients, which are differentiated exactly and enclosed by intervals.
"""
