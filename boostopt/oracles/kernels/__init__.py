"""Oracles whose hypotheses are columns of a kernel."""
