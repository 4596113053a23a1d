"""Shared tools: array types, checks of arguments, files, text, and lazily loaded names."""
