"""Binned rows: features cut at thresholds, in one or two bytes an entry, and exact integer sums over the rows."""
