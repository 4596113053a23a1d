"""Hypotheses with a value for each of several classes, over the pairs of an example and another class."""
