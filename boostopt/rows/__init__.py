"""Rows as codes: features cut at thresholds, one byte or two an entry, and sums of whole numbers over them."""
