"""Oracles that fit a learner of scikit-learn's kind to the weights."""
