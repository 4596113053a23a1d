"""Convex functions G of the edges with their conjugates, one file a family."""
