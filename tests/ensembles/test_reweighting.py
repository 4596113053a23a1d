"""New weights for the members of an ensemble: optimal, certified, and the same for equal data."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import typechecker
from ensemble_examples import ENSEMBLES, NU, SIGNS, STUMP, N, X, Y, Z, best_soft_margin, fresh, soft_margin
from sklearn.tree import DecisionTreeClassifier

from boostopt import OptionError, Outcome, ProblemError, boost, get_formulation, list_formulations
from boostopt.authoring import EdgeFunction, Examples, Formulation, LogarithmicLoss, Regularizer, SquaredPositiveEdges
from boostopt.ensembles import Reweighted, ReweightOptions, reweight
from boostopt.oracles import DecisionStumps

ADABOOST = fresh(ENSEMBLES["adaboost"]).fit(X, Y)
FOREST = fresh(ENSEMBLES["forest"]).fit(X, Y)
BOOSTING = fresh(ENSEMBLES["gradient boosting"]).fit(X, Y)

WHOLE = [name for name in list_formulations() if get_formulation(name).columns is None]
NUMBERS = {"nu": NU, "gamma": 0.2, "rho": 0.1, "r": 0.3}


def numbers(name: str) -> dict[str, Any]:
    """Values of the parameters that a formulation needs."""
    options = {**NUMBERS, "C": 1.0 / NU}
    return {key: options[key] for key, parameter in get_formulation(name).parameters.items() if parameter.required}


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_the_certified_optimum_is_that_of_the_printed_program(kind: str) -> None:
    ensemble = fresh(ENSEMBLES[kind]).fit(X, Y)
    result = reweight(ensemble, X, Y, "lpboost", nu=NU)
    U = result.U.to_array()
    optimum = best_soft_margin(U, NU)
    certificate = result.soft_margin_certificate
    assert certificate.lower - 1e-12 <= optimum <= certificate.upper + 1e-12
    assert certificate.gap <= 1e-9
    assert result.soft_margin_before == pytest.approx(soft_margin(U @ result.own_weights, 10), abs=1e-10)
    assert result.soft_margin == pytest.approx(soft_margin(U @ result.w, 10), abs=1e-10)
    assert result.soft_margin_before <= result.soft_margin <= certificate.upper
    assert 0.0 <= result.loss <= 2e-9
    assert result.nu == NU and result.w.sum() == pytest.approx(1.0, abs=1e-8) and (result.w >= 0).all()
    assert result.n_nonzero_weights == np.count_nonzero(result.w) <= 15 + (kind == "gradient boosting")


UNMEASURED = ("logitboost_cg",)
"""Programs without a soft margin to measure weights by: theirs need not sum to 1, and they have no price of a slack."""


def test_a_program_without_a_soft_margin_measures_no_weights() -> None:
    for name in UNMEASURED:
        with pytest.raises(OptionError, match=rf"\breweight\b.*\bsoft margin\b.*\b{name}\b"):
            reweight(ADABOOST, X, Y, name)


@pytest.mark.every(8)
@pytest.mark.parametrize("reflexive", [False, True])
@pytest.mark.parametrize("name", [name for name in WHOLE if name not in UNMEASURED])
def test_every_program_over_all_hypotheses_gives_weights(name: str, reflexive: bool) -> None:
    tol = 1e-6  # what every backend reaches within a second on each of them
    # With so many edges that must be equal, solvers cannot decide whether the problem is feasible.
    ensemble = list(ADABOOST.estimators_[:3]) if name == "entropy_projection" else ADABOOST
    result = reweight(ensemble, X, Y, name, reflexive=reflexive, tol=tol, **numbers(name))
    assert result.solution.outcome is Outcome.SOLVED and result.certificate.scaled_gap <= tol
    certificate = result.soft_margin_certificate
    assert certificate.scaled_gap <= tol
    # Twice the weights that were dropped, and rounding.
    assert result.soft_margin <= certificate.upper and result.soft_margin_before <= certificate.upper
    assert result.loss == pytest.approx(certificate.upper - result.soft_margin, abs=1e-15)
    assert np.abs(result.w).sum() <= 1 + 1e-12
    if not reflexive and name not in ("svm", "entropy_projection"):
        assert (result.w >= 0).all() and np.abs(result.w).sum() == pytest.approx(1.0, abs=2 * tol)
        if result.nu is not None:
            assert certificate.upper >= best_soft_margin(result.U.to_array(), result.nu) - 1e-9
    f = result.decision_function(X)
    assert np.abs(f).max() <= 1.0
    if np.abs(result.w).sum() > 0.5:
        assert np.mean(result.predict(X) == Y) > 0.6
        # The weights as they are give these margins.
        assert SIGNS * f * np.abs(result.w).sum() == pytest.approx(result.margins, abs=1e-12)
    assert "members" in result._repr_html_() and name in repr(result)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("name", sorted(set(list_formulations()) - set(WHOLE)))
def test_updates_are_no_programs_over_all_hypotheses(name: str) -> None:
    with pytest.raises(OptionError, match=rf"\b{name}\b.* [12] columns?\b"):
        reweight(ADABOOST, X, Y, name)


@pytest.mark.parametrize("C", [0.02, 0.1, 0.3, 5.0])
def test_the_l1_program_is_lp_reg_adaboost_by_another_scaling(C: float) -> None:
    result = reweight(BOOSTING, X, Y, "l1_adaboost", C=C)
    s = float(result.solution.d.sum())
    assert result.nu == pytest.approx(max(s / C, 1.0), rel=1e-12)
    assert result.nu is not None
    reweighting = reweight(BOOSTING, X, Y, "lp_reg_adaboost", C=1.0 / result.nu)
    # w / sum w is optimal there, with the value 1 / s.
    assert result.loss <= 1e-8 and reweighting.soft_margin_certificate.upper == pytest.approx(1.0 / s, abs=1e-7)
    assert result.soft_margin == pytest.approx(reweighting.soft_margin, abs=1e-7)
    assert result.solution.w / result.solution.w.sum() == pytest.approx(result.w, abs=1e-8)


def test_reweight_with_an_optimum_of_0_takes_the_largest_soft_margin() -> None:
    # w = 0 is optimal if and only if no edge of the heaviest d exceeds 1: C Uᵀ1 <= 1.
    result = reweight(ADABOOST, X, Y, "l1_adaboost", C=1e-3)
    assert not result.solution.w.any()
    assert "largest soft margin" in result.weights_source and result.weights_source.endswith(" l1_adaboost are 0")
    assert result.nu == N and result.soft_margin == pytest.approx(result.U.to_array().mean(axis=0).max(), abs=1e-10)


@pytest.mark.parametrize("name", ["softboost", "binary_softboost", "totalboost"])
def test_an_infeasible_bound_gives_the_weights_of_the_linear_program(name: str) -> None:
    nu: dict[str, Any] = {} if name == "totalboost" else {"nu": NU}
    best = reweight(BOOSTING, X, Y, "lpboost", nu=nu.get("nu", 1.0))
    gamma = best.soft_margin_certificate.lower - 0.01
    result = reweight(BOOSTING, X, Y, name, gamma=gamma, **nu)
    assert result.certificate.infeasible and result.solution.outcome is Outcome.INFEASIBLE
    assert "largest soft margin" in result.weights_source and result.weights_source.endswith(f" {name} is infeasible")
    assert result.weights_source in repr(result)
    assert result.soft_margin == pytest.approx(best.soft_margin, abs=1e-8) and result.loss <= 1e-8
    assert result.nu == pytest.approx(nu.get("nu", 1.0))


def test_negations_raise_the_optimum_to_that_of_twice_the_columns() -> None:
    H = np.random.default_rng(3)
    models = [DecisionTreeClassifier(max_depth=1).fit(H.normal(size=(N, 4)), Y) for _ in range(8)]
    result = reweight(models, X, Y, "lpboost", nu=40.0)
    U = result.U.to_array()
    optimum = max(best_soft_margin(np.hstack([U, -U]), 40.0), 0.0)
    assert optimum > result.soft_margin_certificate.upper + 0.01
    for name in ("lpboost", "softboost"):
        bound_option: dict[str, Any] = {"gamma": optimum - 1e-4} if name == "softboost" else {}
        reweighting = reweight(models, X, Y, name, reflexive=True, nu=40.0, **bound_option)
        assert reweighting.soft_margin_certificate.contains(optimum) and (reweighting.w < 0).any()
        assert reweighting.loss <= 1e-8


@pytest.mark.parametrize("backend", ["highs", "highs:ipm", "interior", "cvxpy:clarabel"])
def test_certificates_of_different_backends_overlap(backend: str) -> None:
    reference = reweight(FOREST, X, Y, "lpboost", nu=NU)
    result = reweight(FOREST, X, Y, "lpboost", nu=NU, backend=backend)
    assert result.solution.backend == backend
    assert result.certificate.overlaps(reference.certificate) and result.loss <= 1e-8
    clarabel_certificate = result.goal.program(result.U).solve("cvxpy:clarabel").certificate
    assert clarabel_certificate.overlaps(result.soft_margin_certificate)
    assert result.soft_margin <= clarabel_certificate.upper


@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "l1_adaboost"])
def test_a_weight_of_k_is_k_copies_and_one_of_0_leaves_out(name: str) -> None:
    counts = np.random.default_rng(4).integers(0, 4, N)
    rows = np.repeat(np.arange(N), counts)
    weighted = reweight(FOREST, X, Y, name, sample_weight=counts, values="predict_proba", **numbers(name))
    copied = reweight(FOREST, X[rows], Y[rows], name, values="predict_proba", **numbers(name))
    assert weighted.margins.shape == (np.count_nonzero(counts),)
    assert weighted.certificate.overlaps(copied.certificate)
    assert weighted.soft_margin_certificate.overlaps(copied.soft_margin_certificate)
    assert weighted.soft_margin_before == pytest.approx(copied.soft_margin_before, abs=1e-10)
    assert weighted.nu == pytest.approx(copied.nu)
    d0 = np.random.default_rng(5).dirichlet(np.ones(N)) * (counts > 0)
    if name == "erlpboost":
        result = reweight(FOREST, X, Y, name, sample_weight=counts, d0=d0 / d0.sum(), nu=NU)
        assert result.program.examples.d0 == pytest.approx((d0 / d0.sum())[counts > 0])


def test_one_member_is_an_ensemble() -> None:
    result = reweight([fresh(STUMP).fit(X, Y)], X, Y, "lpboost", nu=NU)
    assert result.w.tolist() == [1.0] and result.soft_margin == result.soft_margin_before and result.loss <= 1e-12
    assert (result.predict(Z) == fresh(STUMP).fit(X, Y).predict(Z)).all()


def test_one_example_of_a_class_is_enough() -> None:
    y = np.where(np.arange(N) == 3, "yes", "no")
    result = reweight(fresh(ENSEMBLES["forest"]).fit(X, y), X, y, "lpboost", nu=NU)
    assert result.loss <= 1e-8 and result.majority == -1


def test_constant_features_leave_the_majority() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensemble = fresh(ENSEMBLES["forest"]).fit(np.ones((N, 2)), Y)
    result = reweight(ensemble, np.ones((N, 2)), Y, "lpboost", nu=float(N))
    larger = "yes" if SIGNS.sum() >= 0 else "no"
    assert set(result.predict(np.ones((3, 2)))) <= {"yes", "no"}
    assert result.soft_margin == pytest.approx(abs(SIGNS.mean()), abs=1e-9)
    assert (result.predict(np.ones((3, 2))) == larger).all()


def test_a_run_of_boosting_is_reweighted_to_its_own_optimum() -> None:
    run = boost("erlpboost", DecisionStumps(X, SIGNS), nu=10, epsilon=0.2)
    result = reweight(run, X, SIGNS, "lpboost", nu=NU)
    assert result.soft_margin_before == pytest.approx(run.class_certificate.lower, abs=1e-10)
    assert result.soft_margin_certificate.lower >= run.class_certificate.lower - 1e-9
    assert result.soft_margin_certificate.lower <= run.class_certificate.upper
    assert set(result.predict(X)) == {-1, 1}
    assert (reweight(run, X, (SIGNS + 1) // 2, "lpboost", nu=NU).w == result.w).all()


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, pd.DataFrame, np.ndarray.tolist])
def test_features_in_other_forms_give_the_same(form: Any) -> None:
    expected = reweight(BOOSTING, X, Y, "lpboost", nu=NU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = reweight(BOOSTING, form(X), pd.Series(Y), "lpboost", nu=NU)
        assert (result.w == expected.w).all()
        assert (result.predict(form(Z)) == expected.predict(Z)).all()


def test_results_pickle() -> None:
    result = reweight(BOOSTING, X, Y, "erlpboost", nu=NU)
    again = pickle.loads(pickle.dumps(result))
    assert isinstance(again, Reweighted)
    assert (again.decision_function(Z) == result.decision_function(Z)).all() and again.loss == result.loss


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"y": Y[:-1]}, r"\bX\b.* 79 .* 80 "),
        ({"y": np.full(N, "yes")}, r"\bclasses\b.* 80 "),
        ({"y": Y, "sample_weight": (Y == "yes").astype(float)}, rf"\bclasses\b.* {np.sum(Y == 'yes')} "),
        ({"y": SIGNS}, r"\by\b.*'no' and 'yes'.* 1\b"),
        ({"y": Y, "sample_weight": np.zeros(N)}, r"\bc\b.* 80 .*\bsum 0\b"),
        ({"y": Y, "sample_weight": -np.ones(N)}, r"\bc\b.* 80 .*\bsum -80\b"),
        ({"y": Y, "nu": 0.1}, r"\bnu\b.*\[1, 80\].* 0\.1\b.* 8\b"),
        ({"y": Y, "nu": None}, r"\blpboost\b.*\bnu\b"),
        ({"y": Y, "X": X[:, :2]}, r"\bmember 0\b.*\bX\b.* 2 .* 4 "),
    ],
    ids=["rows", "one class", "weights of one class", "labels", "zeros", "negative", "share", "no nu", "features"],
)
def test_mismatched_arguments_are_refused(options: Any, facts: str) -> None:
    arguments: dict[str, Any] = {"X": X, "nu": NU, **options}
    with pytest.raises(ProblemError, match=facts):
        reweight(ADABOOST, formulation="lpboost", **arguments)


def test_trees_of_gradient_boosting_refuse_the_features_that_it_refuses() -> None:
    copy = X.copy()
    copy[3, 2] = np.nan
    with pytest.raises(ProblemError, match=r"\bmember 0, DecisionTreeRegressor\b.*\bX\b.*\bnan at row 3, feature 2\b"):
        reweight(BOOSTING, copy, Y, "lpboost", nu=NU)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\bformulation\b.*'lpbost'.*'lpboost'"):
        reweight(ADABOOST, X, Y, "lpbost")
    with pytest.raises(OptionError, match=r"'eta'.*\breweight\b"):
        reweight(ADABOOST, X, Y, "lpboost", nu=NU, eta=3.0)
    with pytest.raises(OptionError, match=r"\bbackend\b.*'nonsense'"):
        reweight(ADABOOST, X, Y, "lpboost", nu=NU, backend="nonsense")


def test_options_come_whole_or_one_by_one() -> None:
    whole = ReweightOptions(reflexive=True, tol=1e-6)
    one = reweight(ADABOOST, X, Y, "lpboost", nu=NU, options=whole, tol=1e-8)
    result = reweight(ADABOOST, X, Y, "lpboost", nu=NU, reflexive=True, tol=1e-8)
    assert one.solution.tol == 1e-8 and one.w.tolist() == result.w.tolist() and whole.tol == 1e-6
    mapping: Any = {"tol": 1e-6}
    with (
        typechecker.unchecked(),
        pytest.raises(OptionError, match=r"\boptions\b.*\bReweightOptions\b.*\{'tol': 1e-06\}"),
    ):
        reweight(ADABOOST, X, Y, "lpboost", nu=NU, options=mapping)
    with pytest.raises(OptionError, match=r"\btol\b.*\(0, 1\).* 2\.0\b"):
        ReweightOptions(tol=2.0)


@dataclass(frozen=True)
class NoParameters:
    """The empty set of parameters."""


class Penalized(Formulation[NoParameters]):
    """Example weights off the simplex without a price of a slack, and a sum over the hypotheses."""

    name = "penalized"
    Parameters = NoParameters

    def regularizer(self, p: NoParameters, examples: Examples) -> Regularizer:
        return LogarithmicLoss(examples.c, 1.0, examples.d0)

    def edge_function(self, p: NoParameters) -> EdgeFunction:
        return SquaredPositiveEdges()


def test_a_program_without_any_soft_margin_is_refused() -> None:
    with pytest.raises(OptionError, match=r"\breweight\b.*\bsoft margin\b.*\bpenalized\b"):
        reweight(ADABOOST, X, Y, Penalized(), tol=1e-6)
