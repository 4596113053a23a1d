"""Margins and features of -1 and 1 on a Dask cluster: the same run as of the same rows here, to the last bit."""

from __future__ import annotations

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

from boostopt import boost
from boostopt.boosting.run.run import Run
from boostopt.ensembles.distributed_reweighting import DistributedMembers
from boostopt.errors import OptionError, ProblemError
from boostopt.oracles import BinnedStumps, GivenMargins, Oracle, RawFeatures
from boostopt.oracles.base import HypothesisClass
from boostopt.oracles.distributed.cluster_classes import DistributedClass
from boostopt.oracles.matrix_oracle import DistributedMargins, MatrixColumn
from boostopt.oracles.raw_feature_oracle import DistributedFeatures, Feature
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.feature_encoding import BinnedFeatures

pytestmark = pytest.mark.thorough

from_array: Any = da.from_array
from_pandas: Any = dd.from_pandas

N, T = 600, 12
RNG = np.random.default_rng(8)
Y = RNG.choice([-1, 1], N)
H = np.where(RNG.random((N, T)) < np.linspace(0.5, 0.7, T), Y[:, np.newaxis], -Y[:, np.newaxis])
U = H * Y[:, np.newaxis]
U[:, 3], U[:, 4] = 1, -1
U[:400, 3] = -1
C = RNG.integers(0, 4, N)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    how: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with LocalCluster(n_workers=2, processes=False, **how) as cluster, Client(cluster) as client:
        yield client


def array(values: np.ndarray = U, parts: int = 4) -> Any:
    return from_array(values, chunks=(-(-N // parts), 5)[: values.ndim])


def frame(values: np.ndarray = U, parts: int = 4) -> Any:
    columns = {f"h{q}": values[:, q] for q in range(values.shape[1])}
    return from_pandas(pd.DataFrame({**columns, "copies": C, "label": Y}), npartitions=parts)


def local_class(c: np.ndarray, reflexive: bool = False) -> HypothesisClass:
    """The same rows in this process."""
    counting = c > 0
    features = BinnedFeatures.from_codes((U[counting].T > 0).astype(np.uint8), [np.zeros(1)] * T)
    rows = BinnedRows.from_binned(features, np.ones(counting.sum(), np.int8), c[counting].astype(float))
    return DistributedMembers(rows, 1, T, reflexive)


def boosted(oracle: HypothesisClass, formulation: str = "erlpboost") -> Run:
    return boost(formulation, oracle, nu=0.3 * oracle.total, epsilon=0.02)


def are_equal(one: Run, reference: Run) -> bool:
    certificate, reference_certificate = one.class_certificate, reference.class_certificate
    return (
        np.array_equal(one.w, reference.w)
        and (certificate.lower, certificate.upper) == (reference_certificate.lower, reference_certificate.upper)
        and np.array_equal(np.asarray(certificate.d), np.asarray(reference_certificate.d))
    )


@pytest.mark.parametrize("reflexive", [False, True])
@pytest.mark.parametrize("formulation", ["erlpboost", "lpboost", "binary_erlpboost"])
def test_margins_are_boosted_where_they_are(formulation: str, reflexive: bool, client: Any) -> None:
    ones = np.ones(N, int)
    twin, steps = (
        boosted(local_class(ones, reflexive), formulation),
        boosted(GivenMargins(U, reflexive=reflexive), formulation),
    )
    for parts in (1, 2, 5):
        for collection in (array(parts=parts), frame(parts=parts).drop(columns=["copies", "label"])):
            oracle = GivenMargins(collection, reflexive=reflexive)
            assert isinstance(oracle, DistributedMargins) and (oracle.N, oracle.total, oracle.majority) == (N, N, 1)
            run = boosted(oracle, formulation)
            assert are_equal(run, twin) and list(run.hypotheses) == list(twin.hypotheses)
    assert run.class_certificate.lower <= steps.class_certificate.upper
    assert steps.class_certificate.lower <= run.class_certificate.upper
    assert run.oracle == steps.oracle and all(isinstance(h, MatrixColumn) for h in run.hypotheses)
    assert np.array_equal(run.decision_function(H), twin.decision_function(H))


def test_multiplicities_are_named_or_stand_beside_the_margins(client: Any) -> None:
    twin = boosted(local_class(C))
    table = frame().drop(columns="label")
    for oracle in (
        GivenMargins(table, c="copies"),  # pyright: ignore[reportArgumentType]
        GivenMargins(table.drop(columns="copies"), c=table["copies"]),
        GivenMargins(array(), c=C),
        GivenMargins(array(parts=3), c=from_array(C, chunks=50)),
    ):
        assert are_equal(boosted(oracle), twin) and (oracle.N, oracle.total) == ((C > 0).sum(), C.sum())
    steps = boosted(GivenMargins(U, c=C)).class_certificate
    assert steps.lower <= twin.class_certificate.upper and twin.class_certificate.lower <= steps.upper


def test_a_constant_column_is_a_hypothesis(client: Any) -> None:
    constant = np.column_stack([U, np.ones(N, int)])
    run = boosted(GivenMargins(array(constant)))
    assert run.class_certificate.upper >= 1.0 >= run.class_certificate.lower >= 0.98
    assert MatrixColumn(T) in run.hypotheses
    only = boosted(GivenMargins(array(-constant[:, T:]), reflexive=True))
    assert list(only.hypotheses) == [MatrixColumn(0, -1)] and only.class_certificate.lower == 1.0


@pytest.mark.parametrize("reflexive", [False, True])
def test_features_of_two_values_are_stumps(reflexive: bool, client: Any) -> None:
    twin, steps = boosted(BinnedStumps(H, Y, C, reflexive=reflexive)), boosted(RawFeatures(H, Y, C, reflexive))
    for parts in (1, 2, 5):
        for arguments in ((array(H, parts), Y, C), (frame(H, parts), "label", "copies")):
            oracle = RawFeatures(*arguments, reflexive=reflexive)
            assert isinstance(oracle, DistributedFeatures) and oracle.majority == (1 if C @ Y >= 0 else -1)
            run = boosted(oracle)
            assert are_equal(run, twin)
    assert run.class_certificate.lower <= steps.class_certificate.upper
    assert steps.class_certificate.lower <= run.class_certificate.upper
    assert run.oracle == steps.oracle and all(isinstance(h, Feature) for h in run.hypotheses)
    assert np.array_equal(run.predict(H), twin.predict(H))
    oracle.check_features(H)
    with pytest.raises(ProblemError, match="12 features"):
        oracle.check_features(H[:, 1:])


@pytest.mark.parametrize("make", [lambda: GivenMargins(array()), lambda: RawFeatures(array(H), Y)])
def test_questions_whose_answers_are_as_long_as_the_rows_are_refused(make: Callable[[], Any], client: Any) -> None:
    oracle = make()
    assert isinstance(oracle, DistributedClass) and not isinstance(oracle, Oracle)
    for question in (
        lambda: boost("lpboost", oracle, nu=0.3 * N, update="total"),
        lambda: boost("adaboost", oracle, max_rounds=3),
    ):
        with pytest.raises(ProblemError, match=r"\bdata passes\b.*X\.compute\(\)"):
            question()


def test_labels_are_not_known_of_margins_alone(client: Any) -> None:
    assert not hasattr(GivenMargins(array()), "y") and not hasattr(RawFeatures(array(H), Y), "y")


class Mine(GivenMargins):
    """Another class of hypotheses, for all that is known."""


class Ours(RawFeatures):
    """Another one."""


def margins_with_value(value: float) -> np.ndarray:
    values = U.astype(float)
    values[444, 7] = value
    return values


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a share": (
        lambda: GivenMargins(array(margins_with_value(0.5))),
        ProblemError,
        r"\bU\b.*\b0\.5\b.*\b7\b.*U\.compute\(\)",
    ),
    "no vote": (
        lambda: GivenMargins(frame(margins_with_value(0.0)).drop(columns=["copies", "label"])),
        ProblemError,
        r"\bU\b.*-1 and 1\b.*\b0\b.*\b7\b",
    ),
    "a label": (
        lambda: RawFeatures(array(margins_with_value(2.0)), Y),
        ProblemError,
        r"\bX\b.*-1 and 1\b.*\b2\b.*\b7\b",
    ),
    "no number": (lambda: GivenMargins(array(margins_with_value(np.nan))), ProblemError, r"\bnan\b.*\b7\b"),
    "chunks": (
        lambda: GivenMargins(array()[array()[:, 0] > 0]),
        ProblemError,
        r"\bU\b.*\(nan, 12\).*U\.compute_chunk_sizes",
    ),
    "one axis": (lambda: GivenMargins(array()[:, 0]), ProblemError, r"\bU\b.*\(600,\)"),
    "a series": (
        lambda: GivenMargins(frame()["h0"]),
        ProblemError,
        r"\bU\b.*dask\.dataframe.*\bSeries\b",
    ),
    "copies": (lambda: GivenMargins(array(), c=C + 0.5), ProblemError, r"\bc\b.*\b1048576\b.*\d\.5\b"),
    "lengths": (lambda: GivenMargins(array(), c=C[:9]), ProblemError, r"\bc\b.*\(600, 12\).*\(9,\)"),
    "no column": (lambda: GivenMargins(frame(), c="many"), ProblemError, r"^c\b.*\bU\b.*'many'"),
    "nobody": (lambda: GivenMargins(array(), c=0 * C), ProblemError, r"example.*\bcount\b.*\bnone\b"),
    "one class": (lambda: RawFeatures(array(H), np.ones(N)), ProblemError, r"classes.*\b600\b"),
    "choice": (lambda: GivenMargins(array(), "random"), OptionError, r"^choose\b.*'random'"),
    "order": (lambda: GivenMargins(array(), [0, 1]), OptionError, r"^choose\b.*\[0, 1\]"),
    "guarantee": (lambda: GivenMargins(array(), guarantee=0.1), OptionError, r"^guarantee\b.*\b0\.1\b"),
    "a class": (lambda: Mine(array()), ProblemError, r"\bGivenMargins\b.*\bMine\b"),
    "its class": (lambda: Ours(array(H), Y), ProblemError, r"\bRawFeatures\b.*\bOurs\b"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_arguments_are_refused_by_name(case: str, client: Any) -> None:
    make, error, message = REFUSED[case]
    with typechecker.unchecked(), pytest.raises(error, match=message):
        make()
