"""Members of an ensemble weighed on a Dask cluster: as on the same rows in memory."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import typechecker
from distributed import Client, LocalCluster
from ensemble_examples import ENSEMBLES, STUMP, fresh
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostopt import boost, get_formulation, list_formulations
from boostopt.boosting.run.run import Run
from boostopt.ensembles import Reweighted, members_of, reweight
from boostopt.ensembles.distributed_reweighting import DistributedMembers, DistributedReweighted
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles import DecisionStumps
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.feature_encoding import BinnedFeatures

pytestmark = pytest.mark.thorough

from_array: Any = da.from_array
from_pandas: Any = dd.from_pandas

N = 600
RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(N, 4)), 1)
SIGNS = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=N) > 0, 1, -1)
Y = np.where(SIGNS > 0, "yes", "no")
C = RNG.integers(0, 3, N)
NU = 0.3 * N
NAMES = ["a", "b", "c", "d"]

FOREST = RandomForestClassifier(15, max_depth=3, random_state=0).fit(X[:300], Y[:300])


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with LocalCluster(n_workers=2, processes=False, **how) as cluster, Client(cluster) as client:
        yield client


def array(values: np.ndarray = X, parts: int = 4) -> Any:
    return from_array(values, chunks=(-(-len(values) // parts), 3)[: values.ndim])


def frame(parts: int = 4) -> Any:
    return from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=Y, copies=C), npartitions=parts)


def reweight_on_cluster(ensemble: Any, *examples: Any, **how: Any) -> DistributedReweighted:
    result = reweight(ensemble, *examples, **{"formulation": "lpboost", "nu": NU, "tol": 0.01, **how})
    assert isinstance(result, DistributedReweighted)
    return result


def reweight_in_memory(ensemble: Any, features: Any, y: Any, nu: float = NU, **how: Any) -> Reweighted:
    result = reweight(ensemble, features, y, "lpboost", nu=nu, **how)
    assert isinstance(result, Reweighted)
    return result


def boost_in_memory(
    ensemble: Any, features: Any, signs: np.ndarray, nu: float, epsilon: float, reflexive: bool = False
) -> Run:
    """Boost over the same votes in this process, by histogram Newton."""
    members = members_of(ensemble)
    U = members.margins(features, signs.astype(np.int8), np.arange(len(signs))).to_array()
    binned_features = BinnedFeatures.from_codes((U.T > 0).astype(np.uint8), [np.zeros(1)] * members.t)
    rows = BinnedRows.from_binned(binned_features, np.ones(len(U), np.int8), np.ones(len(U)))
    return boost("lpboost", DistributedMembers(rows, 1, members.t, reflexive), nu=nu, epsilon=epsilon)


def are_equal(first: DistributedReweighted, second: DistributedReweighted) -> bool:
    first_interval, second_interval = first.certificate, second.certificate
    return np.array_equal(first.w, second.w) and (
        first_interval.lower,
        first_interval.upper,
        first.soft_margin_before,
    ) == (
        second_interval.lower,
        second_interval.upper,
        second.soft_margin_before,
    )


def is_consistent(distributed: DistributedReweighted, twin: Reweighted, tol: float = 0.01) -> bool:
    """Return whether results of a cluster and of memory can both be true, and have the requested gap."""
    interval, twin_interval = distributed.certificate, twin.soft_margin_certificate
    assert distributed.soft_margin == interval.lower and distributed.loss <= tol
    assert 0.0 <= twin.soft_margin_before - distributed.soft_margin_before + 1e-12 <= 1e-6
    return (
        interval.lower <= twin_interval.upper
        and twin_interval.lower <= interval.upper
        and distributed.soft_margin_before <= interval.upper
    )


def test_a_forest_of_fifty_trees_is_weighed_by_twenty_thousand_rows(client: Any) -> None:
    examples: Any = make_classification(20_000, 10, n_informative=5, flip_y=0.1, random_state=0)
    features, labels = examples
    forest = RandomForestClassifier(50, max_depth=5, random_state=0).fit(features[:2000], labels[:2000])
    how: dict[str, Any] = {"nu": 2000.0, "tol": None}  # 0.001, which is the default
    result = reweight_on_cluster(forest, array(features, 5), labels, **how)
    twin = reweight_in_memory(forest, features, labels, 2000.0)
    assert is_consistent(result, twin, 1e-3) and result.soft_margin > result.soft_margin_before + 0.1
    run = boost_in_memory(forest, features, 2 * labels - 1, 2000.0, 1e-3)
    assert np.array_equal(result.run.w, run.w) and list(result.run.hypotheses) == list(run.hypotheses)
    assert (result.certificate.lower, result.certificate.upper) == (
        run.class_certificate.lower,
        run.class_certificate.upper,
    )
    for parts in (1, 2):
        assert are_equal(reweight_on_cluster(forest, array(features, parts), array(labels, parts + 1), **how), result)
    assert result.w.sum() == 1.0 and (result.w >= 0).all() and result.n_nonzero_weights <= len(result.members) == 50
    U = twin.U.to_array() @ result.w
    assert np.sort(U)[:2000].mean() == pytest.approx(result.soft_margin, abs=1e-12)
    assert np.array_equal(result.predict(array(features)).compute(), result.predict(features))


@pytest.mark.parametrize("kind", sorted(set(ENSEMBLES) - {"gradient boosting"}))
def test_any_ensemble_of_votes(kind: str, client: Any) -> None:
    ensemble = fresh(ENSEMBLES[kind]).fit(X, Y)
    assert is_consistent(reweight_on_cluster(ensemble, array(), Y), reweight_in_memory(ensemble, X, Y))


@pytest.mark.parametrize("page", ["lpboost", "erlpboost", "binary_erlpboost"])
def test_formulations_of_histogram_newton_are_supported(page: str, client: Any) -> None:
    result = reweight_on_cluster(FOREST, array(), Y, formulation=page)
    assert is_consistent(result, reweight_in_memory(FOREST, X, Y)) and page in repr(result) and result.nu == NU


@pytest.mark.parametrize("how", [{"reflexive": True}, {"two_sided": True}])
def test_members_may_have_negative_weights(how: dict[str, Any], client: Any) -> None:
    models = [fresh(STUMP).fit(X[k::7], np.where(SIGNS[k::7] > 0, "no", "yes")) for k in range(1)] + list(
        fresh(ENSEMBLES["adaboost"]).fit(X, Y).estimators_
    )
    result, twin = reweight_on_cluster(models, array(), Y, **how), reweight_in_memory(models, X, Y, reflexive=True)
    assert is_consistent(result, twin) and (result.w < 0).any() and np.abs(result.w).sum() <= 1.0


def test_examples_of_a_data_frame_are_named(client: Any) -> None:
    table = pd.DataFrame(X, columns=NAMES)
    scaler = ColumnTransformer([("scaled", StandardScaler(), ["b", "a"])])
    pipeline = make_pipeline(scaler, RandomForestClassifier(9, max_depth=2, random_state=0)).fit(table, Y)
    result = reweight_on_cluster(pipeline, frame(), "label", sample_weight="copies", nu=0.3 * C.sum())
    twin = reweight_in_memory(pipeline, table, Y, 0.3 * C.sum(), sample_weight=C)
    assert is_consistent(result, twin) and result.majority == twin.majority
    features = frame(2)[NAMES]
    assert are_equal(
        reweight_on_cluster(pipeline, features, frame(2)["label"], sample_weight=frame(2)["copies"], nu=0.3 * C.sum()),
        result,
    )
    lazy = result.predict(features)
    assert isinstance(lazy, dd.Series) and lazy.compute().tolist() == result.predict(table).tolist()


def test_a_run_knows_no_labels_and_takes_those_that_there_are(client: Any) -> None:
    run = boost("erlpboost", DecisionStumps(X[:200], SIGNS[:200]), nu=60, epsilon=0.1)
    result, twin = reweight_on_cluster(run, array(), array(Y)), reweight_in_memory(run, X, Y)
    assert is_consistent(result, twin) and is_consistent(reweight_on_cluster(run, array(), SIGNS), twin)
    assert set(result.predict(X).tolist()) == {"no", "yes"}


def test_the_result_is_a_plain_local_object_that_predicts_collections(client: Any) -> None:
    result, twin = reweight_on_cluster(FOREST, array(), Y), reweight_in_memory(FOREST, X, Y)
    again = pickle.loads(pickle.dumps(result))
    assert (
        are_equal(again, result)
        and repr(again) == repr(result)
        and again.predict(X).tolist() == result.predict(X).tolist()
    )
    assert "members" in result._repr_html_() and "lpboost" in repr(result)  # pyright: ignore[reportPrivateUsage]
    for one in (result, twin):
        f, labels = one.decision_function(array()), one.predict(array(), at_zero="positive")
        assert isinstance(f, da.Array) and np.array_equal(f.compute(), one.decision_function(X))
        assert np.array_equal(labels.compute(), one.predict(X, at_zero="positive"))
    for ask in (
        lambda: result.solution,
        lambda: result.program,
        lambda: result.goal,
        lambda: result.U,
        lambda: result.margins,
        lambda: result.thinned(3),
    ):
        with pytest.raises(ProblemError, match=r"\bdata passes\b.*\bX\.compute\(\)"):
            ask()
    with pytest.raises(ProblemError, match=r"\bstored\b.*\brows\b"):
        _ = again.certificate.d


WHOLE = [name for name in list_formulations() if get_formulation(name).columns is None]


@pytest.mark.parametrize("page", sorted(set(WHOLE) - {"lpboost", "erlpboost", "binary_erlpboost"}))
def test_every_other_formulation_is_refused_or_certified(page: str, client: Any) -> None:
    options = {"nu": NU, "gamma": 0.2, "rho": 0.1, "r": 0.3, "C": 1.0 / NU}
    numbers: dict[str, Any] = {
        key: options[key] for key, parameter in get_formulation(page).parameters.items() if parameter.required
    }
    try:
        result = reweight(FOREST, array(), Y, page, tol=0.01, **numbers)
    except OptionError as refusal:
        assert re.search(rf"\bLPBoost, ERLPBoost\b.*\b{page}\b", str(refusal))
    else:
        twin = reweight(FOREST, X, Y, page, **numbers)
        assert (
            isinstance(result, DistributedReweighted) and isinstance(twin, Reweighted) and is_consistent(result, twin)
        )


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "values": (
        lambda: reweight_on_cluster(FOREST, array(), Y, values="predict_proba"),
        OptionError,
        r"\bvalues\b.*\bcluster\b.*'predict_proba'",
    ),
    "backend": (
        lambda: reweight_on_cluster(FOREST, array(), Y, backend="highs"),
        OptionError,
        r"\bbackend\b.*\bcluster\b.*'highs'",
    ),
    "d0": (lambda: reweight_on_cluster(FOREST, array(), Y, d0=np.ones(N)), OptionError, r"\bd0\b.*\bcluster\b"),
    "tol": (lambda: reweight_on_cluster(FOREST, array(), Y, tol=1e-6), OptionError, r"\btol\b.* 1e-05\b.* 1e-06\b"),
    "eta": (
        lambda: reweight_on_cluster(FOREST, array(), Y, formulation="erlpboost", eta=1e6),
        OptionError,
        r"\bLPBoost, ERLPBoost\b.*\berlpboost\b.*\beta\b",
    ),
    "nu": (lambda: reweight_on_cluster(FOREST, array(), Y, nu=2.0 * N), ProblemError, rf"\bnu\b.* {2 * N}\b"),
    "no votes": (
        lambda: reweight_on_cluster(fresh(ENSEMBLES["gradient boosting"]).fit(X, Y), array(), Y),
        ProblemError,
        r"\bcluster\b.* -1 and 1\b.* 0\.\d+\b",
    ),
    "a label": (
        lambda: reweight_on_cluster(FOREST, array(), np.where(C == 2, "perhaps", Y)),
        ProblemError,
        r"\by\b.*'no' and 'yes'.*'perhaps'",
    ),
    "one class": (lambda: reweight_on_cluster(FOREST, array(), np.full(N, "no")), ProblemError, rf"\bclasses\b.* {N} "),
    "lengths": (lambda: reweight_on_cluster(FOREST, array(), Y[:100]), ProblemError, r"\by\b.*\(100,\)"),
    "shares": (
        lambda: reweight_on_cluster(FOREST, array(), Y, sample_weight=C + 0.5),
        ProblemError,
        r"\bc\b.*\bwhole\b.* 0 to \d+\b",
    ),
    "features": (
        lambda: reweight_on_cluster(FOREST, array()[:, :3], Y),
        ProblemError,
        r"\bmember 0\b.*\bX\b.* 3 .* 4 ",
    ),
    "names": (
        lambda: reweight_on_cluster(RandomForestClassifier(3).fit(pd.DataFrame(X, columns=NAMES), Y), frame(), "label"),
        ProblemError,
        r"^X\b.* 4 .* 5 ",
    ),
    "chunks": (
        lambda: reweight_on_cluster(FOREST, array()[array()[:, 0] > 0], Y),
        ProblemError,
        r"\bchunks\b.*\bcompute_chunk_sizes\(\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_arguments_are_refused_by_name(case: str, client: Any) -> None:
    make, error, facts = REFUSED[case]
    with typechecker.unchecked(), pytest.raises(error, match=facts):
        make()
