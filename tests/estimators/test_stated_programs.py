"""A fit is about the program that was stated: what has one value an example goes where the example goes.

The twin of every fit here is `boost` over the rows that count, in their order. Both are about the same class of
hypotheses, so two true intervals have a common point. A program whose rows were merged or sorted without their values
has another optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from boostopt import boost, list_formulations, load_dataset, path, verify
from boostopt.authoring import (
    COUNT,
    PER_EXAMPLE,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyRegularizer,
    Examples,
    Formulation,
    MaximumEdge,
    Regularizer,
    Squares,
    formula,
    parameter,
    prototype,
)
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.ensembles import reweight, reweight_one_vs_rest
from boostopt.errors import OptionError, ProblemError
from boostopt.estimators import MarginBoostClassifier
from boostopt.estimators import probability_calibration as probabilities
from boostopt.estimators.training import nu_by_cross_validation as choosing_nu
from boostopt.estimators.training.training_data import merge_examples
from boostopt.estimators.training.validation_set import split_validation_set
from boostopt.formulations.erlpboost import ERLPBoost
from boostopt.functions.regularizers.linear_tilt import Tilted
from boostopt.oracles import BinnedStumps, DecisionStumps, Estimators, GivenMargins, KernelColumns, RawFeatures
from boostopt.programs.formulation_catalogue import get_formulation
from boostopt.programs.loss_penalty_formulation import combine

pytestmark = [
    pytest.mark.filterwarnings("ignore::boostopt.MarginWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

EPSILON = 1e-3
NU = parameter("the least number of examples that share the weight", COUNT)
Z = parameter("the cost of weight on each example", PER_EXAMPLE)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of `Costs`."""

    nu: float = NU
    z: Any = Z


class Costs(Formulation[Any]):
    """F = the cap and the costs of weights: symmetric, as each example keeps its cost."""

    name = title = "costs"
    Parameters = Parameters
    is_symmetric = True

    def regularizer(self, p: Any, examples: Examples) -> Regularizer:
        return Tilted(CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)), p.z)

    def edge_function(self, p: Any) -> MaximumEdge:
        return MaximumEdge()


COSTS = prototype("costs", lambda p, x: Tilted(CappedSimplexIndicator(CappedSimplex(x.c, p.nu)), p.z), nu=NU, z=Z)
"""The same program; nothing says that it is symmetric."""


def described_formulation(f: Any, **parameters: Any) -> Formulation[Any]:
    """Return the page of a function in CVXPY's words."""

    def regularizer(p: Any, x: Examples) -> Regularizer:
        return CvxpyRegularizer(CappedSimplex(x.c, p.nu), lambda d: f(d, p), x.c / x.total)

    return prototype("described", regularizer, nu=NU, **parameters)


RNG = np.random.default_rng(3)
N = 24
X = RNG.integers(0, 4, size=(N, 2)).astype(float)
y = RNG.integers(0, 2, N)
z = RNG.normal(size=N)
COPIES = np.repeat(np.arange(12), 2)
"""Rows of which each comes twice."""

ROWS: dict[str, tuple[Any, Any, Any, Any]] = {
    "all different": (X + np.arange(N)[:, np.newaxis] % 7 / 10.0, y, z, None),
    "copies of unequal costs": (X[COPIES], y[COPIES], z, None),
    "copies of equal costs": (X[COPIES], y[COPIES], z[COPIES], None),
    "weights of 0": (X, y, z, np.arange(N) % 5 * 1.0),
    "parts of examples": (X, y, z, RNG.uniform(0.1, 2.0, N)),
}


def fitted(formulation: Any, X: Any, y: Any, c: Any = None, **parameters: Any) -> Any:
    defaults: dict[str, Any] = {"nu": 0.3, "intercept": False, "epsilon": EPSILON}
    return MarginBoostClassifier(formulation, **{**defaults, **parameters}).fit(X, y, c)


def check_same(run: Any, reference: Any, wide: float = EPSILON) -> None:
    """Two runs over one class bound the same number, and say where it is."""
    one, two = run.class_certificate, reference.class_certificate
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert max(one.gap, two.gap) <= wide


@pytest.mark.every(2)
@pytest.mark.parametrize("formulation", [COSTS, Costs()], ids=["as it is", "symmetric"])
@pytest.mark.parametrize("rows", ROWS)
def test_a_fit_and_a_run_over_the_rows_are_about_one_program(rows: str, formulation: Any) -> None:
    X, y, z, c = ROWS[rows]
    counts = np.ones(N) if c is None else c
    run = boost(formulation, DecisionStumps(X, y, c), z=z, nu=0.3 * counts.sum(), epsilon=EPSILON)
    model = fitted(formulation, X, y, c, parameters={"z": z})
    check_same(model.run_, run)
    different = np.unique(np.column_stack([X, y, z])[counts > 0], axis=0)
    assert model.run_.problem.examples.N == (len(different) if formulation.is_symmetric else np.count_nonzero(counts))
    assert model.run_.problem.examples.total == pytest.approx(counts.sum())
    assert not formulation.is_symmetric or model.run_.problem.examples.c.min() >= counts[counts > 0].min()


def test_the_order_of_the_rows_does_not_matter_to_a_symmetric_program() -> None:
    X, y, z, _ = ROWS["copies of unequal costs"]
    order = RNG.permutation(N)
    one, two = (
        fitted(Costs(), X, y, parameters={"z": z}),
        fitted(Costs(), X[order], y[order], parameters={"z": z[order]}),
    )
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert one.certificate_.lower == two.certificate_.lower and one.certificate_.upper == two.certificate_.upper
    permuted = fitted(Costs(), X, y, parameters={"z": z[order]}).certificate_
    assert permuted.upper < one.certificate_.lower or permuted.lower > one.certificate_.upper


def test_weights_are_scaled_only_where_a_share_of_them_is_no_count() -> None:
    """A term that depends on the scale of the multiplicities is the stated one."""
    X, y, *_ = ROWS["all different"]
    c = np.where(np.arange(N) % 2 == 0, 0.25, 1.0)
    squares = prototype(
        "squares", lambda p, x: CappedSimplexIndicator(CappedSimplex(x.c, p.nu)) + Squares(x.c, 5.0), nu=NU
    )
    model = fitted(squares, X, y, c, max_iter=1)
    np.testing.assert_array_equal(model.run_.problem.examples.c, c)
    np.testing.assert_array_equal(fitted(squares, X, y, c / 64, max_iter=1).run_.problem.examples.c, 4.0 * c)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 3.0}])
def test_costs_do_not_hang_on_class_weights(class_weight: Any) -> None:
    X, y, z, _ = ROWS["all different"]
    of_class = (
        {0: N / (2 * (y == 0).sum()), 1: N / (2 * (y == 1).sum())} if class_weight == "balanced" else class_weight
    )
    c = np.where(y == 1, of_class[1], of_class[0])
    model = fitted(COSTS, X, y, parameters={"z": z}, class_weight=class_weight)
    check_same(model.run_, boost(COSTS, DecisionStumps(X, y, c), z=z, nu=0.3 * c.sum(), epsilon=EPSILON))


def test_each_class_against_the_rest_keeps_the_costs() -> None:
    X, _, z, _ = ROWS["all different"]
    three = np.arange(N) % 3
    model = fitted(COSTS, X, three, parameters={"z": z})
    for k, run in enumerate(model.runs_):
        check_same(run, boost(COSTS, DecisionStumps(X, three == k), z=z, nu=0.3 * N, epsilon=EPSILON))


def test_examples_of_several_classes_merge_against_the_rest_where_their_costs_agree() -> None:
    X, costs = np.repeat(np.arange(8.0), 3)[:, np.newaxis], np.repeat([0.5, 0.0], [1, 2])
    model = fitted(Costs(), X, np.arange(24) % 3, parameters={"z": np.tile(costs, 8)})
    assert [run.problem.examples.N for run in model.runs_] == [16, 24, 24]


class Recorded:
    """A class of hypotheses and a page that note for which rows they are made: a row has its cost as a feature."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.right: list[bool] = []
        self.page = prototype("recorded", self.regularizer, nu=NU, z=Z)
        # A function: scikit-learn copies other objects for each fit.
        self.base = lambda X, y, c: (self.rows.append(X), DecisionStumps(X, y, c))[1]

    def regularizer(self, p: Any, examples: Examples) -> Regularizer:
        self.right.append(len(self.rows) == 0 or np.array_equal(p.z, self.rows[-1][:, 0]))
        return Tilted(CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)), p.z)

    def classifier(self, **parameters: Any) -> Any:
        return MarginBoostClassifier(self.page, base=self.base, epsilon=0.3, max_iter=3, **parameters)

    def check(self, *sizes: int) -> None:
        assert all(self.right) and len(self.right) >= len(self.rows) > 0
        assert {len(rows) for rows in self.rows} == set(sizes)


FEATURES = np.column_stack([z, X])
COUNTS = np.where(np.arange(N) % 6 == 1, 0.0, 1.0)
"""Weights of which four are 0."""


def test_examples_that_are_held_out_take_their_costs_along() -> None:
    recorded = Recorded()
    model = recorded.classifier(early_stopping=True, validation_fraction=0.25, parameters={"z": z})
    model.fit(FEATURES, y, COUNTS)
    recorded.check(15)
    rows, _ = split_validation_set(FEATURES, y, COUNTS, 0.25, None)
    np.testing.assert_array_equal(model.run_.problem.template.parameters.z, z[rows])


@pytest.mark.parametrize("formulation", ["as it is", "symmetric"])
def test_folds_that_choose_nu_take_their_costs_along(formulation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing_nu, "NU_FRACTIONS", (0.5, 1.0))
    monkeypatch.setattr(choosing_nu, "MAX_FOLDS", 2)
    monkeypatch.setattr(choosing_nu, "finer_nus", lambda scores: scores.nus[:1])  # no further value
    recorded, twice = Recorded(), np.tile(np.arange(N), 2)
    recorded.page.is_symmetric = formulation == "symmetric"  # pyright: ignore[reportAttributeAccessIssue]
    recorded.classifier(nu="auto", parameters={"z": z[twice]}).fit(FEATURES[twice], y[twice])
    sizes = {len(rows) for rows in recorded.rows}
    assert all(recorded.right)
    # Copies go into folds of their own; rows are merged only if the formulation is symmetric. Shares have one oracle.
    assert max(sizes) == (N if formulation == "symmetric" else 2 * N) and len(recorded.rows) == 3
    assert formulation == "symmetric" or sizes == {N, 2 * N}


def test_a_path_of_nu_goes_on_where_weights_begin_to_be_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing_nu, "NU_FRACTIONS", (0.05, 1.0))
    monkeypatch.setattr(choosing_nu, "MAX_FOLDS", 2)
    monkeypatch.setattr(choosing_nu, "finer_nus", lambda scores: scores.nus[:1])  # no further value
    model = Recorded().classifier(nu="auto").fit(FEATURES, y, np.full(N, 0.5), z=z)
    assert len(model.nus_) == 2 and model.nus_[0] * 6 < 1 < model.nus_[1] * 6


@pytest.mark.parametrize("passed", ["parameters", "fit"])
def test_folds_of_probabilities_take_their_costs_along(passed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probabilities, "CALIBRATION_FOLDS", 2)
    recorded = Recorded()
    model = recorded.classifier(nu=0.3, probability=True, parameters={"z": z} if passed == "parameters" else None)
    model.fit(FEATURES, y, COUNTS, **({"z": z} if passed == "fit" else {}))
    assert all(recorded.right) and len(recorded.rows) == 4


def test_searches_split_what_is_passed_to_fit() -> None:
    recorded = Recorded()
    failing: dict[str, Any] = {"cv": 2, "error_score": "raise"}
    search: Any = GridSearchCV(recorded.classifier(), {"nu": [0.3]}, **failing)
    search.fit(FEATURES, y, z=z)
    recorded.check(12, N)
    cross_val_score(recorded.classifier(), FEATURES, y, params={"z": z}, **failing)
    recorded.check(12, N)
    with pytest.raises(ProblemError, match=r"^z\b.*\(12,\).*\(24,\)"):
        cross_val_score(recorded.classifier(parameters={"z": z}), FEATURES, y, **failing)


@pytest.mark.parametrize(
    ("parameters", "passed", "error", "facts"),
    [
        ({"z": z[1:]}, {}, ProblemError, r"\bz\b.*\bX\b.*\(24,\).*\(23,\)"),
        ({"z": np.where(np.arange(N) == 2, np.nan, z)}, {}, ProblemError, r"\bz\b.*\bnan at 2\b"),
        ({}, {"z": 1.0}, ProblemError, r"\bz\b.*\bX\b.*\(24,\).*\(\)"),
        ({"z": z}, {"z": z}, OptionError, r"\bz\b.*\bin parameters\b.*\bin fit\b"),
        ({"z": z}, {"price": 1.0}, OptionError, r"\bfit\b.*\bprice\b.*\{'price': \.\.\.\}"),
        ({"z": z}, {"sample_wieght": z}, OptionError, r"\bcosts\b.*'sample_wieght'"),
    ],
    ids=["too few", "nan", "number", "twice", "price", "unknown"],
)
def test_values_that_belong_to_no_rows_are_refused(
    parameters: dict[str, Any], passed: dict[str, Any], error: type[Exception], facts: str
) -> None:
    price = parameter("the price", POSITIVE, 1.0)
    formulation = prototype(
        "costs", lambda p, x: Tilted(CappedSimplexIndicator(CappedSimplex(x.c, p.nu)), p.z), nu=NU, z=Z, price=price
    )
    with pytest.raises(error, match=facts):
        MarginBoostClassifier(formulation, parameters=parameters).fit(X, y, **passed)


@pytest.mark.parametrize("rows", ["all different", "copies of equal costs"])
def test_a_page_that_knows_the_rows_by_their_order_keeps_them(rows: str) -> None:
    X, y, z, _ = ROWS[rows]
    formulation = prototype("closed", lambda p, x: Tilted(CappedSimplexIndicator(CappedSimplex(x.c, p.nu)), z), nu=NU)
    model = fitted(formulation, X, y)
    check_same(model.run_, boost(formulation, DecisionStumps(X, y), nu=0.3 * N, epsilon=EPSILON))
    np.testing.assert_array_equal(model.run_.problem.F.tilt, z)


def test_a_page_whose_arrays_cannot_lose_rows_is_refused() -> None:
    formulation = prototype("closed", lambda p, x: formula("z*d", CappedSimplex(x.c, p.nu), z=z), nu=NU)
    oracle = DecisionStumps(X, y, COUNTS)
    facts = r"\bz\b.* 20 .*\(24,\).*\bclosed\b.* 20 .* 24 .*\bPER_EXAMPLE\b"
    with pytest.raises(ProblemError, match=facts):
        fitted(formulation, X, y, COUNTS)
    with pytest.raises(ProblemError, match=facts):
        boost(formulation, oracle, nu=5)
    with pytest.raises(ProblemError, match=facts):
        path(formulation, oracle, nu=[5, 6])
    with pytest.raises(ProblemError, match=r"\bclosed\b.* 21 .* 24 .*\bPER_EXAMPLE\b"):
        fitted(formulation, X, y, early_stopping=True)
    with pytest.raises(ProblemError, match=r"\bz\b.* 16 .*\(24,\)"):
        fitted(formulation, X, y, nu="auto")


U = np.sign(RNG.normal(size=(N, 5)))
ORACLES: dict[str, Any] = {
    "stumps": lambda c: DecisionStumps(X, y, c),
    "binned": lambda c: BinnedStumps(X, y, c),
    "features": lambda c: RawFeatures(X / 4.0, y, c),
    "kernel": lambda c: KernelColumns(X, y, c=c),
    "given": lambda c: GivenMargins(U, c=c),
    "estimators": lambda c: Estimators(RandomForestClassifier(1, max_depth=1, random_state=0), X, y, c=c),
}


@pytest.mark.parametrize("kind", ORACLES)
def test_rows_of_multiplicity_0_leave_with_their_values(kind: str) -> None:
    oracle, alive = ORACLES[kind](COUNTS), COUNTS > 0
    d0 = np.where(alive, RNG.uniform(1.0, 2.0, N), 0.0)
    d0 /= d0.sum()
    assert oracle.n_rows == N and oracle.N == 20
    whole, part = (
        boost(COSTS, oracle, z=z[rows], d0=d0[rows], nu=6, max_rounds=3, epsilon=0.1) for rows in (slice(None), alive)
    )
    for run in (whole, part):
        np.testing.assert_array_equal(run.problem.template.parameters.z, z[alive])
        np.testing.assert_array_equal(run.problem.examples.d0, d0[alive])
    assert ORACLES[kind](None).n_rows == N
    with pytest.raises(ProblemError, match=r"\bz\b.*\(20,\).*\(3,\)"):
        boost(COSTS, oracle, z=z[:3], nu=6)


def test_a_path_leaves_out_the_same_rows() -> None:
    oracle = DecisionStumps(X, y, COUNTS)
    runs = path(COSTS, oracle, nu=[6, 8], z=z, epsilon=0.1)
    assert len(runs.runs) == 2
    for run in runs.runs:
        np.testing.assert_array_equal(run.problem.template.parameters.z, z[COUNTS > 0])


def test_reweighting_leaves_out_the_same_rows() -> None:
    forest, alive = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, y), COUNTS > 0
    whole = reweight(forest, X, y, COSTS, sample_weight=COUNTS, z=z, nu=6)
    part = reweight(forest, X[alive], y[alive], COSTS, z=z[alive], nu=6)
    for reweighted in (whole, part):
        np.testing.assert_array_equal(reweighted.program.parameters.z, z[alive])
    one, two = whole.solution.certificate, part.solution.certificate
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    formulation = prototype("closed", lambda p, x: formula("z*d", CappedSimplex(x.c, p.nu), z=z), nu=NU)
    with pytest.raises(ProblemError, match=r"\bclosed\b.* 20 .* 24 .*\bPER_EXAMPLE\b"):
        reweight(forest, X, y, formulation, sample_weight=COUNTS, nu=6)
    three = np.arange(N) % 3
    forest.fit(X, three)
    parts = reweight_one_vs_rest(forest, X, three, COSTS, sample_weight=COUNTS, z=z, nu=3).parts
    assert all(np.array_equal(part.program.parameters.z, z[alive]) for part in parts)


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_examples_of_unequal_values_are_different(sparse: bool) -> None:
    rows, labels = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [-0.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 0, 1, 0])
    values = {"z": np.array([1.0, 5.0, 2.0, 5.0, 1.0]), "v": np.zeros(5)}
    features = scipy.sparse.csr_array(rows) if sparse else rows
    merged = merge_examples(features, labels, np.arange(1.0, 6.0), values).merged()
    merged_rows = sorted(zip(merged.codes.tolist(), merged.values["z"].tolist(), merged.c.tolist(), strict=True))
    assert merged_rows == [(0, 1.0, 6.0), (0, 2.0, 3.0), (1, 5.0, 6.0)]
    assert merged.copies.tolist() == merged.c.tolist()
    assert merge_examples(features, labels, np.full(5, 0.5), values).merged().copies.sum() == 5


def test_a_certificate_of_a_fit_is_about_the_rows_and_their_values(tmp_path: Path) -> None:
    X, y, z, _ = ROWS["copies of unequal costs"]
    formulation = prototype("priced", lambda p, x: formula("z*d", CappedSimplex(x.c, p.nu), z=p.z), nu=NU, z=Z)
    model, proof = fitted(formulation, X, y, parameters={"z": z}, epsilon=0.2), tmp_path / "proof.json"
    model.save_certificate(proof, X, y)
    assert verify(proof, model.class_of(X, y), formulation=formulation)
    order = np.arange(N)[::-1]
    assert not verify(proof, model.class_of(X[order], y[order]), formulation=formulation)
    unfitted = MarginBoostClassifier(formulation, intercept=False)
    assert unfitted.class_of(X, y, z=z).digest == model.class_of(X, y).digest


class Renamed(ERLPBoost):
    """The same F and G, printed in another way."""

    name = "renamed"

    def primal(self, U: Any, p: Any, examples: Examples) -> Any:
        return super().primal(U, p, examples)


class Changed(Renamed):
    """Parameters that may be others."""

    def fill_parameters(self, p: Any, examples: Examples) -> Any:
        return super().fill_parameters(p, examples)


class SaidFormulation(Changed):
    """The same, and its author says what the functions leave as it was."""

    is_symmetric = True


def test_a_subclass_with_functions_of_its_own_says_anew_that_it_is_symmetric() -> None:
    assert Renamed.is_symmetric and not Changed.is_symmetric and SaidFormulation.is_symmetric
    assert not type("Further", (SaidFormulation,), {"regularizer": lambda self, p, x: None}).is_symmetric
    assert not COSTS.is_symmetric
    assert all(get_formulation(name).is_symmetric for name in list_formulations())
    assert (
        all(formulation.is_symmetric for formulation in BOOSTERS_BY_NAME.values())
        and combine("hinge", "l1").is_symmetric
    )


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["distinct", "copies", "weights of 0", "order", "groups"])
def test_descriptions_over_real_data(case: str) -> None:
    data: Any = load_dataset("breast_cancer")
    n = 30 if case == "groups" else 60
    rows = np.repeat(np.arange(0, n, 2), 2) if case in ("copies", "order") else np.arange(n)
    X, y = data.X[rows], data.y[rows]
    c = np.where(np.arange(n) % 7 == 0, 0.0, 1.0) if case == "weights of 0" else np.ones(n)
    lam = parameter("the price", POSITIVE, 1.0)
    formulation = described_formulation(lambda d, p: p.lam * (p.z @ d), z=Z, lam=lam)
    values: dict[str, Any] = {"z": np.random.default_rng(0).normal(size=n), "lam": 0.5}
    if case == "order":
        formulation, values = described_formulation(lambda d, p: cp.tv(d)), {}
    elif case == "groups":
        formulation, values = described_formulation(lambda d, p: sum(cp.norm(d[k : k + 10]) for k in (0, 10, 20))), {}
    model, oracle = fitted(formulation, X, y, c, nu=0.2, epsilon=0.01, parameters=values), DecisionStumps(X, y, c)
    assert model.class_of(X, y, c).digest == oracle.digest
    check_same(model.run_, boost(formulation, oracle, nu=0.2 * c.sum(), epsilon=0.01, **values), 0.1)
