"""Data sets by name or from a file, and answers that were computed elsewhere."""
