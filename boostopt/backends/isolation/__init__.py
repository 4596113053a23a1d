"""Isolation of foreign solvers: they run in processes of their own, and their faults become attempts."""
