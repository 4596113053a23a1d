"""Hypotheses that predict numbers, over the residuals of both signs of each example."""
