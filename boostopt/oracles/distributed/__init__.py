"""Oracles whose rows are on the workers of a cluster."""
