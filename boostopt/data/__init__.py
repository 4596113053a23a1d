"""Data sets by name or from a file, and answers that other tools have computed."""
