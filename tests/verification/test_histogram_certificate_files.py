"""Certificates of histogram runs: proved in whole numbers by whoever has the rows, and forged in vain."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from boostopt import Run, boost, verify
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.errors import OptionError
from boostopt.oracles import BinnedStumps, DecisionStumps
from boostopt.rows.margin_grid import MARGIN_SCALE, N_BINS, WEIGHT_SCALE
from boostopt.verification import subject
from boostopt.verification.histogram_certificate_verdict import DIGEST_MISSING
from boostopt.verification.verification_result import FUNCTIONS_NOT_STATED


@cache
def examples(N: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N, 4)), 1)
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1, -1)


def oracle() -> BinnedStumps:
    return BinnedStumps(*examples())


@cache
def run(page: str = "erlpboost") -> HistogramRun:
    capped: dict[str, Any] = {} if page == "totalboost" else {"nu": 60.0}
    boosted_run = boost(page, oracle(), epsilon=0.02, **capped)
    assert isinstance(boosted_run, HistogramRun)
    return boosted_run


@cache
def file_text() -> str:
    """Return the certificate file of the run, before anything in it is forged."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "class.json"
        run().save_certificate(path, oracle())
        return path.read_text()


@pytest.mark.parametrize("nu", [150.0, 300.0])
@pytest.mark.parametrize("page", ["binary_erlpboost", "binary_softboost"])
def test_caps_of_representatives_with_equal_multiplicities_are_those_of_nu(
    page: str, nu: float, tmp_path: Path
) -> None:
    """At half of the examples and at all, both representatives have the same cap."""
    path, boosted_run = tmp_path / "class.json", boost(page, oracle(), nu=nu, epsilon=0.05)
    boosted_run.save_certificate(path, oracle())
    assert verify(path, oracle())


@pytest.mark.thorough_cases("softboost")
@pytest.mark.every(3)
@pytest.mark.parametrize("page", ["erlpboost", "lpboost", "binary_erlpboost", "softboost", "totalboost"])
def test_verify_of_a_histogram_file_with_equal_rows_proves_it(page: str, tmp_path: Path) -> None:
    path, certificate = tmp_path / "class.json", run(page).class_certificate
    run(page).save_certificate(path, oracle())
    X, y = examples()
    other_oracles = (
        BinnedStumps(X, y, codes=tmp_path / "codes.npy"),
        DecisionStumps(X, y),
        BinnedStumps(X[::-1], y[::-1]),
    )
    for k, reader_oracle in enumerate((oracle(), *other_oracles)):
        verification = verify(path, reader_oracle, exact=k % 2 == 1)
        assert verification and verification.verdict == "proved", verification
        assert (verification.lower, verification.upper) == (certificate.lower, certificate.upper)
        lower, upper = verification.fractions
        assert lower is not None and upper is not None
        assert certificate.lower <= lower <= upper <= certificate.upper
    assert subject(path) == "class"


@pytest.mark.thorough
def test_a_run_that_was_stored_without_its_rows_has_its_certificate_too(tmp_path: Path) -> None:
    run().stored_run.save(tmp_path / "run.npz")
    Run.load(tmp_path / "run.npz").save_certificate(tmp_path / "class.json", oracle())
    assert verify(tmp_path / "class.json", oracle())


def test_multiplicities_are_told(tmp_path: Path) -> None:
    X, y = examples()
    c = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    weighted = BinnedStumps(X, y, c=c)
    boost("lpboost", weighted, nu=100.0, epsilon=0.02).save_certificate(tmp_path / "class.json", weighted)
    assert verify(tmp_path / "class.json", weighted, c=c, d0=c)
    for name in ("c", "d0"):
        arguments: dict[str, Any] = {name: np.ones(len(y))}
        assert re.search(rf"\bother\b.* {name}$", verify(tmp_path / "class.json", weighted, **arguments).reason)
    assert re.search(rf"\bexamples\b.* {int(c.sum())} .* 300 ", verify(tmp_path / "class.json", oracle()).reason)


def change_entry(*names: Any, value: Any) -> Any:
    def change(content: Any) -> None:
        for name in names[:-1]:
            content = content[name]
        content[names[-1]] = value(content[names[-1]]) if callable(value) else value

    return change


FORGED = {
    "a higher lower bound": change_entry("claim", "lower", value=lambda x: x + 1e-9),
    "a lower upper bound": change_entry("claim", "upper", value=lambda x: x - 1e-9),
    "an end that is no number": change_entry("claim", "upper", value="nan"),
    "another value": change_entry("claim", "what", value="value of the program"),
    "a value that is no text": change_entry("claim", "what", value=["soft margin"]),
    "another nu": change_entry("nu", value=59.0),
    "another nu of the page": change_entry("formulation", "parameters", "nu", value=59.0),
    "another formulation": change_entry("formulation", "name", value="softboost"),
    "a formulation of the same soft margin": change_entry("formulation", "name", value="binary_erlpboost"),
    "another eta": change_entry("formulation", "parameters", "eta", value=3.0),
    "another eta of F": change_entry("formulation", "F", "eta", value=3.0),
    "another G": change_entry("formulation", "G", value={"kind": "absolute"}),
    "another digest": change_entry("data", "digest", value="0" * 64),
    "a digest that is no text": change_entry("data", "digest", value=0),
    "an unknown one": change_entry("formulation", "name", value="nonsense"),
    "another w": change_entry("w", value=lambda W: W[::-1]),
    "weights of a larger sum": change_entry("w", value=lambda W: [2 * x for x in W]),
    "weights of a smaller sum": change_entry("w", value=lambda W: [x // 2 for x in W]),
    "a negative weight": change_entry("w", value=lambda W: [-1, *W[1:]]),
    "a weight of the other kind": change_entry("w", value=lambda W: [True, *W[1:]]),
    "more weights than hypotheses": change_entry("w", value=lambda W: [*W, *[0] * 500]),
    "no weights": change_entry("w", value=[]),
    "weights above the largest": change_entry("d", "table", value=lambda q: [4 * WEIGHT_SCALE, *q[1:]]),
    "negative ones": change_entry("d", "table", value=lambda q: [-1, *q[1:]]),
    "weights of no example": change_entry("d", "table", value=[0] * (N_BINS + 2)),
    "weights on fewer than nu": change_entry("d", "table", value=[WEIGHT_SCALE] + [0] * (N_BINS + 1)),
    "equal weights": change_entry("d", "table", value=[1] * (N_BINS + 2)),
    "fewer buckets": change_entry("d", "table", value=lambda q: q[1:]),
    "a window elsewhere": change_entry("d", "origin", value=2 * MARGIN_SCALE),
    "a window of no width": change_entry("d", "shift", value=-1),
    "a shift that is too large": change_entry("d", "shift", value=64),
    "another threshold": change_entry("data", "hypotheses", 0, "is", "threshold", value=0.123),
    "another split": change_entry("data", "hypotheses", 0, "split", value=[0, 1, 1]),
    "a split that is not there": change_entry("data", "hypotheses", 0, "split", value=[0, 10**6, 1]),
    "a feature that is not there": change_entry("data", "hypotheses", 0, "split", value=[99, 0, 1]),
    "half a split": change_entry("data", "hypotheses", 0, "split", value=[0, 1]),
    "no hypothesis": change_entry("data", "hypotheses", 0, value=3),
    "a kind that is unknown": change_entry("data", "hypotheses", 0, "is", "kind", value="nonsense"),
    "more examples": change_entry("data", "examples", value=301),
    "more rows": change_entry("data", "N", value=301),
    "another class": change_entry("data", "oracle", value="decision stumps"),
    "another format": change_entry("format", value=2),
    "another name": change_entry("more", value=1),
    "arrays": change_entry("arrays", value=lambda old: {"w": [1.0]}),
    "a program's": change_entry("subject", value="program"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_histogram_files_are_rejected(name: str, tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    document = json.loads(file_text())
    document["more"] = 0
    FORGED[name](document)
    if name != "another name":
        del document["more"]
    path.write_text(json.dumps(document))
    verification = verify(path, oracle())
    assert not verification and len(verification.reason) > 20, verification


@pytest.mark.parametrize("change", ["weights of a smaller sum", "no weights"])
def test_weights_of_a_smaller_sum_are_rejected_for_their_sum(change: str, tmp_path: Path) -> None:
    """A smaller sum would make a negative soft margin larger, whatever the claim is."""
    path, document = tmp_path / "class.json", json.loads(file_text())
    FORGED[change](document)
    document["claim"]["lower"] = -1.0
    path.write_text(json.dumps(document))
    assert re.search(r"\bweights must sum\b", verify(path, oracle()).reason)


@pytest.mark.parametrize("nu", [1.0, 150.0, 300.0])
def test_counts_at_which_caps_have_two_names_are_told(nu: float, tmp_path: Path) -> None:
    """Files at nu = 1, and at half and all of the sum of c, are accepted, but not with a neighbouring float of nu."""
    path = tmp_path / "class.json"
    boost("lpboost", oracle(), nu=nu, epsilon=0.1, update="newton").save_certificate(path, oracle())
    assert verify(path, oracle())
    document = json.loads(path.read_text())
    for next_nu in (math.nextafter(nu, 0.0), math.nextafter(nu, math.inf)):
        path.write_text(json.dumps({**document, "nu": next_nu}))
        assert re.search(rf"\bmargin\b.* nu = {next_nu:g}\b", verify(path, oracle()).reason)


def test_verify_without_the_rows_of_the_file_names_the_difference(tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "class.json", examples()
    run().save_certificate(path, oracle())
    assert re.search(r"\boracle\b.*\bclass_of\(X, y\)", verify(path, X).reason)
    fewer, negated = BinnedStumps(X[1:], y[1:]), BinnedStumps(X, -y)
    narrow, coarse, one = BinnedStumps(X[:, :3], y), BinnedStumps(X, y, bins=9), BinnedStumps(X, y, reflexive=False)
    assert re.search(rf"\bexamples: .* 300 .*; .* 299 .*{re.escape(str(fewer))}$", verify(path, fewer).reason)
    digests = json.loads(path.read_text())["data"]["digest"], negated.binned_rows.digest()
    assert re.search(rf"\bexamples: .*{digests[0]};.*{digests[1]}\.", verify(path, negated).reason)
    for other_oracle in (narrow, coarse, one):
        assert verify(path, other_oracle).reason.endswith(f"; the data give 300 of 300 and {other_oracle}")
    with pytest.raises(OptionError, match=r"\bexamples\b.*\bclass\b.* 300 "):
        run().save_certificate(tmp_path / "other.json", BinnedStumps(X, -y))
    assert not (tmp_path / "other.json").exists()


def test_the_digest_tells_rows_with_the_same_sums_apart_in_any_order(tmp_path: Path) -> None:
    """Two examples of one class swap a feature, so that each feature alone has the same values with each label."""
    X, y = examples()
    path, order = tmp_path / "class.json", np.random.default_rng(3).permutation(len(y))
    run().save_certificate(path, oracle())
    assert verify(path, BinnedStumps(X[order], y[order]))
    document, copy = json.loads(path.read_text()), X.copy()
    document["claim"] = {"lower": "-inf", "upper": "inf"}
    path.write_text(json.dumps(document))
    two = int(np.argmax(y == 1))
    one = int(np.flatnonzero((y == 1) & (X[:, 1] != X[two, 1]))[0])
    copy[[one, two]] = np.column_stack((X[[one, two], 0], X[[two, one], 1], X[[one, two], 2:]))
    verification = verify(path, BinnedStumps(copy, y))
    assert not verification
    for part in (document["data"]["digest"], BinnedStumps(copy, y).binned_rows.digest(), "features"):
        assert part in verification.reason


@pytest.mark.thorough
def test_an_eta_is_refused_with_what_it_means_and_what_the_file_states(tmp_path: Path) -> None:
    for update, kind in (("newton", HistogramRun), ("total", Run)):
        path = tmp_path / "class.json"
        boosted_run = boost("erlpboost", oracle(), nu=60.0, epsilon=0.02, update=update)
        assert isinstance(boosted_run, kind)
        boosted_run.save_certificate(path, oracle())
        assert verify(path, oracle()).reason.count("checked") == 0
        document = json.loads(path.read_text())
        eta = document["formulation"]["parameters"]["eta"]
        document["formulation"]["parameters"]["eta"] = 3.0
        path.write_text(json.dumps(document))
        pair = rf"\bF = .*'relative entropy', 'eta': 3\.0\b.*; .*\bF = .*'eta': {eta!r}\b.*\bparameters\b"
        assert re.search(pair, verify(path, oracle()).reason)


def test_older_files_are_verified_and_say_what_was_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    run().save_certificate(path, oracle())
    document = json.loads(path.read_text())
    assert document["claim"].pop("what") == "soft margin"
    del document["data"]["digest"], document["formulation"]["F"], document["formulation"]["G"]
    path.write_text(json.dumps(document))
    verification = verify(path, oracle())
    assert verification.verdict == "proved"
    assert verification.reason.endswith(FUNCTIONS_NOT_STATED + DIGEST_MISSING)


def test_a_claim_of_less_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "class.json"
    run().save_certificate(path, oracle())
    document = json.loads(path.read_text())
    document["claim"] = {"lower": "-inf", "upper": "inf"}
    path.write_text(json.dumps(document))
    assert verify(path, oracle())
