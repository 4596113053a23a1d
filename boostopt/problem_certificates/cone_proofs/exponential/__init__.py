"""Answers to programs with exponential cones."""
