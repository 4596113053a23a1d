"""RBF networks with adaptive centres, and their fitting by k-means and conjugate gradients.

    network = fit_rbf(X, y, weights, K=20)
    network.value(X)

This package does not import boosting.
"""
