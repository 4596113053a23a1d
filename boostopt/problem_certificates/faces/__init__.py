"""Equations that hold on the face of a cone in which all feasible points lie."""
