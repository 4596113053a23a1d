"""The checker of exact optima of linear programs in files: fractions of Python, and nothing else."""
