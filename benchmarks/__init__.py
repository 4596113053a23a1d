"""Measurements, and what tests and reports share of them."""
