"""Hypotheses: where the columns of the margin matrix come from."""
