"""Stumps at few thresholds: DecisionStumps where all thresholds are there, else exactly what the codes say."""

from __future__ import annotations

import errno
import os
import pickle
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import typechecker

from boostopt import DataError, OptionError, ProblemError, boost
from boostopt._utils.files import leftover_temporary_files
from boostopt.estimators import MarginBoostClassifier
from boostopt.oracles import BinnedStumps, DecisionStumps, Query, Stump
from boostopt.oracles.stumps import threshold_sketches

FORMS = {
    "dense": np.asarray,
    "Fortran order": np.asfortranarray,
    "single precision": lambda X: np.asarray(X, np.float32),
    "csr": scipy.sparse.csr_array,
    "coo": scipy.sparse.coo_matrix,
    "lists": lambda X: X.tolist(),
}


def noisy(N: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of few and of many values, mostly zero, constant, in single precision; labels; weights."""
    rng = np.random.default_rng(seed)
    X = np.float32(rng.normal(size=(N, 6))).astype(float)
    X[:, 1] = rng.integers(-2, 3, N)
    X[:, 2] *= rng.random(N) < 0.1
    X[:, 3] = 0.0
    return X, rng.choice([-1, 1], N), rng.dirichlet(np.ones(N))


def binned(**options: Any) -> BinnedStumps:
    X, y, _ = noisy()
    return BinnedStumps(X, y, **options)


def largest(oracle: Any, d: np.ndarray) -> float:
    bound = oracle.best(Query(d)).edge_bound
    assert bound is not None
    return bound


def answers(oracle: Any, d: np.ndarray, count: int) -> list[Any]:
    answer = oracle.best(Query(d, count))
    return [answer.edge_bound, *((c.hypothesis, c.edge, c.margins.tolist(), c.margins.dtype) for c in answer.columns)]


@pytest.mark.every(3)
@pytest.mark.parametrize("reflexive", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bins", [65_536, 300])
def test_with_all_thresholds_every_answer_is_that_of_all_stumps(form: str, reflexive: bool, bins: int) -> None:
    X, y, d = noisy()
    few_stumps = BinnedStumps(FORMS[form](X), y, bins=bins, reflexive=reflexive)
    whole = DecisionStumps(X, y, reflexive=reflexive)
    assert few_stumps.complete and str(few_stumps) == str(whole)
    for count in (1, 4, 40):
        for weights in (d, np.where(d > np.median(d), d, 0.0), np.zeros(300)):
            assert answers(few_stumps, weights, count) == answers(whole, weights, count)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bins", [2, 7, 256])
def test_the_best_of_few_thresholds_is_the_best_by_their_margins(bins: int, seed: int) -> None:
    X, y, d = noisy(seed=seed)
    oracle = BinnedStumps(X, y, bins=bins)
    assert not oracle.complete and re.search(rf"\b6\b.*\b{bins - 1}\b", str(oracle))
    answer = oracle.best(Query(d, 1000))  # all of them
    hypotheses: set[Any] = {column.hypothesis for column in answer.columns}
    assert answer.edge_bound is not None
    whole: Any = DecisionStumps(X, y)
    for column in answer.columns:
        stump: Any = column.hypothesis
        h = np.where(X[:, stump.feature] > stump.threshold, stump.sign, -stump.sign)
        assert np.array_equal(column.margins, y * h) and np.array_equal(stump(X), h)
        assert column.edge == pytest.approx(float(d @ (y * h)), abs=1e-15)
        assert column.edge <= answer.edge_bound
        assert np.array_equal(oracle.margins_of(stump), column.margins)
        assert whole.margins_of(stump).tolist() == column.margins.tolist()
    assert max(len({s.threshold for s in hypotheses if s.feature == j}) for j in range(6)) <= bins - 1
    assert answer.columns[0].edge == max(column.edge for column in answer.columns)
    assert answer.edge_bound <= largest(whole, d)


def test_thresholds_come_from_a_sample_of_many_rows_and_few_values_from_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold_sketches, "SAMPLE_SIZE", 50)
    monkeypatch.setattr(threshold_sketches, "BLOCK_ROWS", 37)
    X, y, d = noisy()
    X[:, 4] = np.arange(300) % 6 == 1  # no row of the sample, every 6th from 0
    X[:, 5] = np.where(np.arange(300) % 6 == 0, 1.0, X[:, 5])  # one value in the sample
    oracle = BinnedStumps(X, y, bins=8)
    thresholds = {j: oracle.binned.thresholds_by_feature[j] for j in range(6)}
    assert thresholds[1].tolist() == [-1.5, -0.5, 0.5, 1.5]
    assert thresholds[4].tolist() == [0.5]
    assert len(thresholds[3]) == len(thresholds[5]) == 0
    values = np.unique(X[::6, 0])
    assert len(thresholds[0]) == 7 and set(thresholds[0]) <= set((values[1:] + values[:-1]) / 2)
    for j, cuts in thresholds.items():
        assert np.array_equal(oracle.binned.codes[j], [(x > cuts).sum() for x in X[:, j]])
    assert largest(oracle, d) <= largest(DecisionStumps(X, y), d)


@pytest.mark.parametrize("row", [0, 6, 7, 240, 299])
@pytest.mark.parametrize("features", [slice(0, 6), slice(1, 4)])  # the second ones have few values
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_an_entry_that_is_not_finite_is_named_by_its_row_among_all(
    number: float, features: slice, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threshold_sketches, "SAMPLE_SIZE", 50)  # every 6th row
    monkeypatch.setattr(threshold_sketches, "PROBE_SIZE", 20)
    monkeypatch.setattr(threshold_sketches, "BLOCK_ROWS", 37)
    for j in range(features.stop - features.start):
        noise, y, _ = noisy()
        X = np.round(noise[:, features], 1)
        X[299, 0] = X[row, j] = number
        name = f"row {row}, feature {0 if row == 299 else j}"
        for c in (None, np.arange(300) != row):  # also of rows that do not count
            with pytest.raises(ProblemError, match=rf"^X\b.*\b{number}\b.*\b{name}\b"):
                BinnedStumps(X, y, c, bins=40)
        masked = np.ma.masked_array(np.ones_like(X), np.zeros(X.shape, dtype=bool))
        masked[row, j] = np.ma.masked
        with pytest.raises(ProblemError, match=rf"\bmasked\b.*\({row}, {j}\)"):
            BinnedStumps(masked, y, bins=40)


@pytest.mark.parametrize("bins", [5, 65_536])
def test_codes_in_a_file_answer_as_those_in_the_memory(bins: int, tmp_path: Path) -> None:
    X, y, d = noisy()
    np.save(tmp_path / "X.npy", np.float32(X))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    path = tmp_path / "codes.npy"
    path.write_text("what was there before")
    mapped_answers = BinnedStumps(mapped, y, bins=bins, codes=path)
    memory_answers = BinnedStumps(X, y, bins=bins)
    assert isinstance(mapped_answers.binned.codes, np.memmap) and not mapped_answers.binned.codes.flags.writeable
    assert (
        mapped_answers.binned.codes.dtype == memory_answers.binned.codes.dtype == (np.uint8 if bins == 5 else np.uint16)
    )
    assert mapped_answers.digest == memory_answers.digest
    assert answers(mapped_answers, d, 7) == answers(memory_answers, d, 7)
    assert not list(leftover_temporary_files(path))


def test_a_file_that_cannot_be_filled_leaves_what_was_there(tmp_path: Path) -> None:
    X, y, _ = noisy()
    X[299, 2] = np.nan
    content = "what was there before"
    (tmp_path / "codes.npy").write_text(content)
    with pytest.raises(ProblemError, match=r"^X\b.*\bnan\b.*\b299\b.*\b2\b"):
        BinnedStumps(X, y, codes=tmp_path / "codes.npy")
    assert (tmp_path / "codes.npy").read_text() == content
    with pytest.raises(DataError, match=r"\bmissing/codes\.npy\b.*\bwritten\b"):
        BinnedStumps(noisy()[0], y, codes=tmp_path / "missing" / "codes.npy")


def test_codes_that_a_full_disk_cannot_take_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapped file without space for its pages ended the process."""
    X, y, _ = noisy()
    sizes = list[int]()

    def refuse(descriptor: int, offset: int, size: int) -> None:
        sizes.append(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    with pytest.raises(
        DataError, match=r"codes\.npy cannot be written: No space left on device\. Choose another place"
    ):
        BinnedStumps(X, y, codes=tmp_path / "codes.npy")
    assert sizes[0] > X.size and not list(tmp_path.iterdir())


def test_copies_are_multiplicities_and_multiplicity_0_is_left_out() -> None:
    X, y, _ = noisy(60)
    c = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    weighted = BinnedStumps(X, y, c=c, bins=6)
    copied = BinnedStumps(np.repeat(X, c.astype(int), axis=0), np.repeat(y, c.astype(int)), bins=6)
    assert weighted.N == (c > 0).sum() and np.array_equal(weighted.c, c[c > 0])
    assert all(map(np.array_equal, weighted.binned.thresholds_by_feature, copied.binned.thresholds_by_feature))
    d = np.random.default_rng(2).integers(1, 9, weighted.N) / 1.0
    one, copied_answer = weighted.best(Query(d)), copied.best(Query(np.repeat(d / c[c > 0], c[c > 0].astype(int))))
    assert one.columns[0].hypothesis == copied_answer.columns[0].hypothesis
    assert one.columns[0].edge == pytest.approx(copied_answer.columns[0].edge, rel=1e-14)


@pytest.mark.parametrize("reflexive", [True, False])
def test_constants_are_the_class_only_where_nothing_else_is(reflexive: bool) -> None:
    y, d = np.array([-1, 1, -1]), np.array([0.5, 0.2, 0.3])
    oracle = BinnedStumps(np.full((3, 2), 7.0), y, reflexive=reflexive)
    whole = DecisionStumps(np.full((3, 2), 7.0), y, reflexive=reflexive)
    assert answers(oracle, d, 3) == answers(whole, d, 3)
    constant = oracle.best(Query(d)).columns[0].hypothesis
    assert np.array_equal(oracle.margins_of(constant), oracle.best(Query(d)).columns[0].margins)
    varying, always = binned(), Stump(0, -np.inf, 1, 6)
    with pytest.raises(ProblemError, match=f"{re.escape(str(varying))}.*{re.escape(str(always))}"):
        varying.margins_of(always)


@pytest.mark.parametrize(
    "stump", [Stump(0, 0.123, 1, 6), Stump(0, 0.0, 1, 5), Stump(3, 0.0, 1, 6), Stump(1, 0.5, -1, 6)]
)
def test_stumps_of_another_class_are_refused(stump: Stump) -> None:
    oracle = binned(reflexive=False)
    with pytest.raises(ProblemError, match=f"{re.escape(str(oracle))}.*{re.escape(str(stump))}"):
        oracle.margins_of(stump)


def test_the_digest_tells_class_and_examples_apart() -> None:
    X, y, _ = noisy()
    digests = [
        BinnedStumps(X, y).digest,
        BinnedStumps(X, y, bins=100).digest,
        BinnedStumps(X, y, bins=301).digest,
        BinnedStumps(X, y, reflexive=False).digest,
        BinnedStumps(X[::-1], y).digest,
        BinnedStumps(X, -y).digest,
        BinnedStumps(X, y, c=np.full(300, 2.0)).digest,
        BinnedStumps(X[:, :5], y).digest,
        DecisionStumps(X, y).digest,
    ]
    assert len(set(digests)) == len(digests)
    assert pickle.loads(pickle.dumps(BinnedStumps(X, y))).digest == digests[0]
    assert BinnedStumps(scipy.sparse.csr_array(X), y).digest == digests[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["lpboost", "erlpboost", "softboost", "adaboost"])
def test_boosting_gives_a_certificate_over_the_class(name: str, tmp_path: Path) -> None:
    X, y, _ = noisy()
    oracle = BinnedStumps(X, y, bins=16)
    options: dict[str, Any] = {"max_rounds": 40} if name == "adaboost" else {"nu": 60, "epsilon": 0.05}
    run = boost(name, oracle, **options)
    run.verify_class(oracle)
    assert all(oracle.margins_of(h) is not None for h in run.hypotheses)
    # A smaller class: its optimum is no larger.
    whole = boost(name, DecisionStumps(X, y), **options)
    assert run.class_certificate.lower <= whole.class_certificate.upper
    run.save_certificate(tmp_path / "class.json", oracle)


@pytest.mark.parametrize("bins", [301, 16])
def test_the_classifier_takes_it_by_name(bins: int) -> None:
    X, y, _ = noisy()
    model = MarginBoostClassifier(base="binned", base_options={"bins": bins}, nu=0.3, epsilon=0.05).fit(X, y)
    assert re.fullmatch(rf"{re.escape(str(BinnedStumps(X, y, bins=bins)))}\b.*\bconstants", model.oracle_)
    assert model.predict(X).shape == (300,)


def test_a_million_entries_are_asked_with_little_memory() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50_000, 20)), rng.choice([-1, 1], 50_000)
    tracemalloc.start()
    oracle = BinnedStumps(X, y)
    base_memory, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    oracle.best(Query(np.full(50_000, 2e-5)))
    query_memory = tracemalloc.get_traced_memory()[1] - base_memory
    tracemalloc.stop()
    assert (
        base_memory < 1.2 * (X.size + 17 * len(y)) + 1e5
    )  # a byte an entry, labels, multiplicities and which rows count
    assert peak < base_memory + 2 * X.nbytes  # the sample, which is all of them
    assert query_memory < 60 * len(y) + 1e6


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"bins": 1}, OptionError, r"^bins\b.*\b2;.*\b1\b"),
        ({"bins": 65_537}, OptionError, r"^bins\b.*\b65536;.*\b65537\b"),
        ({"bins": 16.5}, OptionError, r"^bins\b.*\b2;.*\b16\.5\b"),
        ({"codes": "codes.bin"}, OptionError, r"^codes\b.*\.npy;.*'codes\.bin'"),
        ({"X": np.ones((0, 3))}, ProblemError, r"^X\b.*; \w+ \(0, 3\)\."),
        ({"X": np.ones(300)}, ProblemError, r"^X\b.*; \w+ \(300,\)\."),
        ({"X": np.full((300, 6), "a")}, ProblemError, r"^X\b.*: .*<U1\b"),
        ({"X": np.ones((299, 6))}, ProblemError, r"^X\b.*\by\b.*\(299, 6\).*\(300,\)"),
        ({"y": np.ones(300)}, ProblemError, r"\bclasses\b.*\b300\b"),
        ({"c": -np.ones(300)}, ProblemError, r"\bc\b.*\b300\b.*\(300,\),.* -1,.* -300\."),
    ],
    ids=[
        "one bin",
        "many bins",
        "half a bin",
        "other ending",
        "no rows",
        "no matrix",
        "text",
        "fewer rows",
        "one class",
        "negative",
    ],
)
def test_invalid_arguments_are_refused_with_a_reason(bad: dict[str, Any], error: type[Exception], message: str) -> None:
    X, y, _ = noisy()
    arguments: dict[str, Any] = {"X": X, "y": y, **bad}
    with typechecker.unchecked(), pytest.raises(error, match=message):
        BinnedStumps(**arguments)


@pytest.mark.parametrize("weights", [np.ones(299), np.full(300, np.nan)])
def test_weights_must_be_one_finite_number_for_each(weights: np.ndarray) -> None:
    with pytest.raises(ProblemError, match=rf"\bd\b.*\b300\b.*{re.escape(str(weights.shape))}"):
        binned().best(Query(weights))


def test_rows_that_are_not_finite_are_named_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold_sketches, "BLOCK_ROWS", 64)
    for row in (3, 100, 299):
        X, y, _ = noisy()
        X[row, 4] = np.inf
        with pytest.raises(ProblemError, match=rf"^X\b.*\binf\b.*\b{row}\b.*\b4\b"):
            BinnedStumps(X, y)


@pytest.mark.parametrize("form", ["text", "times"])
def test_an_entry_that_is_no_number_is_named_by_its_row_among_all(form: str) -> None:
    X: Any = np.zeros((17_000, 2), dtype=object if form == "text" else "datetime64[s]")
    if form == "text":
        X[16_999, 1] = "Rome"
    words = "'Rome' at row 16999, feature 1" if form == "text" else r".* at row 0, feature 0"
    with pytest.raises(ProblemError, match=rf"^X must be an array of numbers\b.*; got {words}\. ") as caught:
        BinnedStumps(X, np.resize([-1, 1], len(X)))
    assert "16384" not in str(caught.value)
