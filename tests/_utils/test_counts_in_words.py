"""Counts in words: one feature, one round and one hypothesis have singulars, in files of version 0.1.0 too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import boost, path, verify
from boostopt._utils.files import read_npz, write_plain_npz
from boostopt._utils.formatting import with_singular
from boostopt.boosting.run.run_file import META
from boostopt.oracles import (
    BinnedStumps,
    DecisionStumps,
    DepthTwoTrees,
    MulticlassStumps,
    RawFeatures,
    RegressionStumps,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 1)).round(1)
Y = np.where(X[:, 0] + RNG.normal(size=40) > 0, 1, -1)


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        (DecisionStumps(X, Y), "decision stumps on 1 feature, both directions"),
        (DecisionStumps(np.hstack([X, X]), Y), "decision stumps on 2 features, both directions"),
        (BinnedStumps(X, Y, bins=2), "decision stumps on 1 feature, both directions, at most 1 threshold of each"),
        (MulticlassStumps(X, np.arange(40) % 3), "decision stumps on 1 feature with votes for 3 classes"),
        (RegressionStumps(X, X[:, 0]), "decision stumps on 1 feature for numbers, radius 3.8"),
        (RawFeatures(X, Y), "1 feature as it is, both directions"),
        (RawFeatures(np.hstack([X, X]), Y), "2 features as they are, both directions"),
    ],
    ids=str,
)
def test_classes_of_one_feature_have_a_singular(oracle: Any, words: str) -> None:
    assert str(oracle) == words


def test_trees_have_a_singular() -> None:
    assert str(DepthTwoTrees(X, Y)).startswith("decision trees of depth two on 1 feature")
    assert "features" not in str(DepthTwoTrees(X, Y))


def test_a_run_of_one_round_has_singulars() -> None:
    run = boost("erlpboost", DecisionStumps(X, Y), nu=8, update="total", max_rounds=1)
    assert repr(run).startswith("Run(erlpboost: 1 round, 1 hypothesis, 1 with weight; ")
    assert repr(run.trace).startswith("Trace(1 round: ")
    along = path("erlpboost", DecisionStumps(X, Y), nu=[8.0], update="total", max_rounds=1)
    assert repr(along) == "RegularizationPath(1 value of nu from 8 to 8, 1 round)"


def test_files_of_version_0_1_0_keep_their_class(tmp_path: Path) -> None:
    file, oracle = tmp_path / "run.npz", DecisionStumps(X, Y)
    whole = boost("erlpboost", oracle, nu=8, checkpoint=file)
    arrays = read_npz(file)
    text = arrays[META].tobytes().decode()
    assert "on 1 feature," in text
    arrays[META] = np.frombuffer(text.replace("on 1 feature,", "on 1 features,").encode(), dtype=np.uint8)
    with file.open("wb") as stream:
        write_plain_npz(stream, arrays)
    again = boost("erlpboost", oracle, nu=8, checkpoint=file)
    assert np.array_equal(again.w, whole.w)
    certificate = tmp_path / "proof.json"
    whole.save_certificate(certificate, oracle)
    content = json.loads(certificate.read_text())
    assert content["data"]["oracle"] == str(oracle)
    content["data"]["oracle"] = "decision stumps on 1 features, both directions"
    certificate.write_text(json.dumps(content))
    assert verify(certificate, oracle).accepted


def test_only_the_words_of_stumps_change() -> None:
    assert with_singular("decision stumps on 1 features, at most 1 thresholds of each") == (
        "decision stumps on 1 feature, at most 1 threshold of each"
    )
    for words in ("decision stumps on 11 features", "my 1 features", "at most 21 thresholds of each"):
        assert with_singular(words) == words
