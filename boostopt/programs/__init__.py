"""Formulations, their parameters, and programs: a formulation bound to a margin matrix and to numbers."""
