"""Semidefinite programs: an interior-point method for them, and duals without interior in faces of cones."""
