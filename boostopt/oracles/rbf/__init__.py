"""RBF networks with adaptive centres: what an oracle and a classifier fit, and the learners that they stand on.

    from boostopt.oracles.rbf.fitting import fit_rbf

    network = fit_rbf(X, y, weights, K=20)
    network.value(X)

Nothing here imports boosting.
"""
