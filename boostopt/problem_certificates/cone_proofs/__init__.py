"""Certified intervals of conic programs from their sparse data, without an expression tree."""
