"""Convex functions F of the example weights with their conjugates, one file a family."""
