"""Classifiers of scikit-learn's kind, and fitted ensembles weighted anew."""
