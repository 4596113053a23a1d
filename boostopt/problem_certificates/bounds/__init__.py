"""Bounds of the entries of the variables, of rows and of single coordinates."""
