"""Learners of our own: what the oracles and the classifiers fit.

    from boostopt.learners.rbf import fit_rbf

    network = fit_rbf(X, y, weights, K=20)
    network.value(X)

They import nothing of boosting.
"""
