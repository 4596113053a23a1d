"""The methods of the IDA benchmark, each over the same RBF networks, with what it certifies.

AdaBoost makes the networks, at most one a round. LP_REG and QP_REG weight them anew; LPBoost, SoftBoost and ERLPBoost
boost over them as a given class, so that the bound over the class is exact. AdaBoost_REG fits networks of the same kind
to its own weights, as in the paper. The parameters of each are chosen from its own grid.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.ida_data import Part
from boostopt import boost, get_formulation
from boostopt._utils.array_types import Array, Float
from boostopt.boosting.run.combined_hypothesis import predicted_classes, weighted_vote
from boostopt.oracles import GivenMargins, RBFNetworks, RBFSettings
from boostopt.oracles.feature_validation import evaluate
from boostopt.oracles.matrix_oracle import MatrixColumn
from boostopt.rows.margin_matrix import MarginMatrix

Values = tuple[float, ...]

QP_TOL = 1e-6
"""The target gap of QP_REG. Without slack the interior point may miss the default, and a fallback takes a minute."""


@dataclass(frozen=True)
class Options:
    """The settings that are the same for all sets and methods.

    Attributes
    ----------
    rounds
        Of AdaBoost and AdaBoost_REG, and trees of scikit-learn's AdaBoost.
    K, iterations, lambda_
        Of the RBF networks: centres, steps of conjugate gradients, factor of the regularisation.
    epsilon
        Accuracy of the soft margin at which LPBoost, SoftBoost and ERLPBoost stop.
    folds, selecting
        Parameters are chosen by so many folds of the training parts of the first so many splits.
    """

    rounds: int = 50
    K: int = 5
    iterations: int = 4
    lambda_: float = 1e-6
    epsilon: float = 0.01
    folds: int = 5
    selecting: int = 5


@dataclass(frozen=True, eq=False)
class Networks:
    """The networks that AdaBoost has collected from the training part.

    Attributes
    ----------
    U
        Margins of the networks, shape (N, t).
    H
        Their values on the test part, shape (n, t).
    w
        AdaBoost's weights, shape (t,).
    """

    U: MarginMatrix
    H: Float[Array, "n t"]
    w: Float[Array, " t"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a method.

    Attributes
    ----------
    error
        Share of the test part that is classified wrongly.
    gap
        The gap that the method certifies for its own program or over the class; None if it certifies nothing.
    U, w
        Margins and weights of its networks; None where it has none.
    """

    error: float
    gap: float | None = None
    U: MarginMatrix | None = None
    w: Float[Array, " t"] | None = None


Method = Callable[[Part, Networks, Options, Values], Outcome]


def oracle_of(part: Part, options: Options) -> RBFNetworks:
    """Return the learner: its networks differ with the seed of the part and with the round."""
    settings = RBFSettings(options.K, options.iterations, options.lambda_)
    return RBFNetworks(part.X, part.y, random_state=part.seed, settings=settings)


def collect_networks(part: Part, options: Options) -> Networks:
    """Run AdaBoost for all rounds: no rule ends it, but a network that is right on every example does.

    As printed that one is left out, unless it is the first.
    """
    run = boost("adaboost", oracle_of(part, options), keep_faultless=False, max_rounds=options.rounds, rules=())
    active = np.flatnonzero(run.w).tolist()
    H = np.column_stack(list(evaluate([run.hypotheses[q] for q in active], part.X_test)))
    return Networks(run.record.pool.margins.take_columns(np.array(active)), H, run.w[active])


def error_of(part: Part, networks: Networks, numbers: list[int], w: Float[Array, " k"]) -> float:
    """Return the test error of weights of the networks of those numbers; where f = 0 the majority decides."""
    f = weighted_vote([MatrixColumn(q) for q in numbers], w, networks.H)
    return float(np.mean(predicted_classes(f, "majority", part.majority) != part.y_test))


def count(share: float, part: Part) -> float:
    """Return nu as a number of examples; it is never below 1."""
    return max(1.0, share * len(part.y))


def of_adaboost(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    error = error_of(part, networks, list(range(len(networks.w))), networks.w)
    return Outcome(error, None, networks.U, networks.w)


def of_adaboost_reg(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    C = values[0] * len(part.y)
    run = boost("adaboost_reg", oracle_of(part, options), C=C, max_rounds=options.rounds)
    error = float(np.mean(run.predict(part.X_test) != part.y_test))
    return Outcome(error, None, run.record.pool.margins, run.w)


def of_lp_reg(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    solution = optimum(networks.U, count(values[0], part))
    return _weighted(part, networks, solution, solution.certificate.gap)


def of_qp_reg(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    solution = get_formulation("qp_reg_adaboost").bind(networks.U, C=values[0]).solve(tol=QP_TOL).raise_if_failed()
    # Its value is no margin: the gap is taken relative to it.
    return _weighted(part, networks, solution, solution.certificate.scaled_gap)


def of_boosting(name: str, part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    run = boost(name, GivenMargins(networks.U), nu=count(values[0], part), epsilon=options.epsilon)
    numbers = [h.state()["q"] for h in run.hypotheses if isinstance(h, MatrixColumn)]
    return Outcome(error_of(part, networks, numbers, run.w), run.class_certificate.gap)


def of_svm(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    from sklearn.svm import SVC

    C, factor = values
    gamma = factor / (part.X.shape[1] * float(part.X.var()))
    return _of_sklearn(part, SVC(C=C, gamma=gamma))


def of_stumps(part: Part, networks: Networks, options: Options, values: Values) -> Outcome:
    from sklearn.ensemble import AdaBoostClassifier

    return _of_sklearn(part, AdaBoostClassifier(n_estimators=options.rounds, random_state=part.seed))


def optimum(U: MarginMatrix, nu: float) -> Any:
    """Return the solution of LP_REG, which is LPBoost's program over all networks."""
    return get_formulation("lp_reg_adaboost").bind(U, C=1.0 / nu).solve().raise_if_failed()


def left_open(U: MarginMatrix, w: Float[Array, " t"], nu: float) -> float:
    """Return how far the soft margin of weights can be, as certified, from the best of their networks."""
    best, total = optimum(U, nu), w.sum()
    return best.program.certify(best.certificate.d, w / total if total > 0.0 else w).gap


METHODS: Mapping[str, Method] = {
    "AdaBoost": of_adaboost,
    "AdaBoost_REG": of_adaboost_reg,
    "LP_REG": of_lp_reg,
    "QP_REG": of_qp_reg,
    "LPBoost": partial(of_boosting, "lpboost"),
    "SoftBoost": partial(of_boosting, "softboost"),
    "ERLPBoost": partial(of_boosting, "erlpboost"),
    "RBF-SVM": of_svm,
    "stumps": of_stumps,
}
"""The methods by the names in the table. "stumps" is scikit-learn's AdaBoost."""

NU = 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.02
GRIDS: Mapping[str, Mapping[str, Values]] = {
    "AdaBoost_REG": {"C/N": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)},
    "LP_REG": {"nu/N": NU},
    "QP_REG": {"C": (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)},
    "LPBoost": {"nu/N": NU},
    "SoftBoost": {"nu/N": NU},
    "ERLPBoost": {"nu/N": NU},
    "RBF-SVM": {"C": (1.0, 10.0, 100.0, 1000.0), "gamma d var": (0.1, 0.3, 1.0, 3.0, 10.0)},
}
"""Values to choose from, the most regularized first: among equals the first is chosen."""


def points(method: str) -> list[Values]:
    """Return the points of a method's grid, the last axis fastest; one point of no values where it has no grid."""
    return list(itertools.product(*GRIDS.get(method, {}).values()))


def errors_on_grids(part: Part, options: Options) -> dict[str, list[float]]:
    """Return the errors of each method that has a grid, at all of its points."""
    networks = collect_networks(part, options)
    return {name: [METHODS[name](part, networks, options, values).error for values in points(name)] for name in GRIDS}


def outcomes(part: Part, options: Options, parameters: Mapping[str, Values]) -> dict[str, Any]:
    """Return error, gap, networks and seconds of each method at the values that were chosen for it.

    AdaBoost and AdaBoost_REG strive for no soft margin: their gap is what their weights leave open of the best soft
    margin of their networks, at the nu that was chosen for LP_REG.
    """
    began = time.perf_counter()
    networks = collect_networks(part, options)
    outcome_by_method = dict[str, Any]({"networks": networks.U.t, "networks, seconds": time.perf_counter() - began})
    nu = count(parameters["LP_REG"][0], part)
    for name, method in METHODS.items():
        began = time.perf_counter()
        outcome = method(part, networks, options, parameters.get(name, ()))
        seconds, gap = time.perf_counter() - began, outcome.gap
        if outcome.U is not None and outcome.w is not None and gap is None:
            gap = left_open(outcome.U, outcome.w, nu)
        outcome_by_method[name] = {"error": outcome.error, "gap": gap, "seconds": seconds}
    return outcome_by_method


def _weighted(part: Part, networks: Networks, solution: Any, gap: float) -> Outcome:
    """Return what the weights of a program over all networks come to."""
    w = solution.w
    return Outcome(error_of(part, networks, list(range(len(w))), w), gap)


def _of_sklearn(part: Part, classifier: Any) -> Outcome:
    """Return what a classifier of scikit-learn comes to."""
    return Outcome(float(np.mean(classifier.fit(part.X, part.y).predict(part.X_test) != part.y_test)))
