"""Oracles: the sources of hypotheses, which are the columns of the margin matrix.

Exact, so that the bound holds for the whole class and not only for the collected hypotheses:

DecisionStumps
    Every threshold of every feature, in both directions; `Stump`.
BinnedStumps
    The same at few thresholds of each feature, in one byte an entry, for many examples; `Stump`.
DepthTwoTrees
    Decision trees of depth two at few thresholds of each feature, over all pairs of features; `DepthTwoTree`.
MulticlassStumps
    Stumps with a vote for each of several classes; margins are those of pairs of classes; `MulticlassStump`.
RegressionStumps
    Stumps that predict numbers; margins are the residuals of both signs; `RegressionStump`.
RawFeatures
    The features as they are, scaled into [-1, 1]; `Feature`.
KernelColumns
    Kernel values with a training example, linear, polynomial or radial; `KernelColumn`.
GivenMargins
    The columns of a matrix, chosen by their edge, at random or in an order; `MatrixColumn`.

LimitedClass
    A class with limits on the weights of its hypotheses: `Budget` of costs, `vote_caps`, `monotone_votes`,
    `MarginLimit`, `equal_mean_margins`.

Heuristic, without a bound for the class:

Estimators
    Any scikit-learn classifier that takes sample weights; `Fitted`.
Resampled
    Any scikit-learn classifier, fitted to examples that are drawn according to their weights; `Fitted`.
RBFNetworks
    RBF networks with adaptive centres; `RBFHypothesis`, `RBFSettings`.

Hypotheses are functions of X. `evaluate(hypotheses, X)` returns the values of many hypotheses, including your own, and
checks X once.

To write your own oracle, derive from `Oracle` and define N, y, `best`, `digest` and `__str__`. `best` takes a `Query`
with the example weights d. It returns an `Answer`: columns of margins u_n = y_n h(x_n) with large edges u . d, and a
number that no edge of the class exceeds, or None. Each column carries a `Hypothesis`, a function of X that can be saved
as plain numbers. A complete oracle for a given matrix:

    import hashlib

    from boostopt.oracles import Answer, Column, MatrixColumn, Oracle

    class Columns(Oracle):
        def __init__(self, U):
            self.U = U

        @property
        def N(self):
            return len(self.U)

        @property
        def y(self):
            return None

        @property
        def digest(self):
            return hashlib.sha256(self.U.tobytes()).hexdigest()

        def best(self, query):
            e = query.d @ self.U
            q = int(e.argmax())
            return Answer((Column(MatrixColumn(q), self.U[:, q], float(e[q])),), float(e[q]) + 1e-12)

        def __str__(self):
            return f"{self.U.shape[1]} columns"

Names are loaded on first use, so that importing this module loads neither SciPy nor scikit-learn.
"""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
