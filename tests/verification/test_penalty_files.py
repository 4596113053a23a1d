"""Certificate files of losses with penalties: what was changed in one is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boostopt
from boostopt import get_formulation, verify

U = np.random.default_rng(0).uniform(-1, 1, (12, 3))
NUMBERS = {"C": 0.7, "mu": 0.3, "alpha": 0.5, "nu": 3.0, "r": 0.8, "l1": 0.3, "l2": 0.5}


def saved_document(name: str, path: Path) -> dict[str, Any]:
    """Return the document of the certificate file of an optimum."""
    page = get_formulation(name)
    program = page.bind(U, **{key: NUMBERS[key] for key in page.parameters})
    program.solve(tol=1e-9).certificate.save(path, program)
    assert verify(path, U, exact=True)
    return json.loads(path.read_text())


def reason(content: dict[str, Any], path: Path, **options: Any) -> str:
    """Return the reason why a file with this content is refused."""
    path.write_text(json.dumps(content))
    verification = verify(path, U, **options)
    assert not verification
    return verification.reason


PAIRS = (
    "hinge+l2_ball",
    "smoothed_hinge+signed_l1_ball",
    "squared_hinge+elastic_net",
    "exponential+signed_l1",
    "cvar+linf_ball",
)


@pytest.mark.parametrize("name", PAIRS)
def test_an_interval_that_is_a_little_narrower_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    document = saved_document(name, path)
    for end, by in (("lower", 1e-6), ("upper", -1e-6)):
        forged = json.loads(json.dumps(document))
        forged["claim"][end] += by
        assert "claim" in reason(forged, path) or "proved" in reason(forged, path)


@pytest.mark.parametrize("name", PAIRS)
def test_another_number_in_the_pair_is_another_program(name: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    document = saved_document(name, path)
    for side in ("F", "G"):
        for key, value in document[side].items():
            if key in document["formulation"]["parameters"]:
                forged = json.loads(json.dumps(document))
                forged[side][key] = 1.1 * value
                assert re.search(
                    rf"\b{side} = .*'{key}': {value!r}\b.*; .*'{key}': {1.1 * value!r}\b", reason(forged, path)
                )


@pytest.mark.parametrize("name", ("hinge+l2_ball", "hinge+l1_ball", "hinge+linf_ball"))
def test_weights_outside_their_ball_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    document = saved_document(name, path)
    document["arrays"]["w"] = [
        1.01 * NUMBERS["r"] / np.abs(document["arrays"]["w"]).max() * w for w in document["arrays"]["w"]
    ]
    assert re.search(r"\bnorm\b.*\bw\b.* 0\.8;", reason(document, path))


@pytest.mark.parametrize(
    ("name", "side", "key", "value", "why"),
    [
        ("hinge+l2_ball", "G", "p", 3.0, r"^p\b.*\bG\b.* 3\.0$"),
        ("hinge+l2_ball", "G", "signed", 1, r"^signed\b.* 1$"),
        ("hinge+l2_ball", "G", "r", 0.0, r"^r\b.*\bpositive\b.* 0\.0$"),
        ("hinge+elastic_net", "G", "l1", -0.1, r"^l1\b.* 0;.* -0\.1$"),
        ("hinge+signed_l1", "G", "l1", 0.0, r"^l1\b.*\bpositive;.* 0\.0$"),
        ("squared_hinge+l1", "F", "mu", 0.3, r"\bmu = 0\.5;.* 0\.3$"),
        ("smoothed_hinge+l1", "F", "B", 0.0, r"^B\b.*\bpositive\b.* 0\.0$"),
    ],
    ids=["p", "signed", "r", "l1 below 0", "l1 of 0", "mu", "B"],
)
def test_penalty_files_with_an_impossible_number_are_refused(
    name: str, side: str, key: str, value: Any, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "one.json"
    document = saved_document(name, path)
    document[side][key] = value
    assert re.search(why, reason(document, path))


def test_rough_answers_are_proved_too(tmp_path: Path) -> None:
    """Beyond the slope that no optimum reaches, the loss is as it is where the certificate was made."""
    rng = np.random.default_rng(1)
    for name in ("squared_hinge+l1", "exponential+linf_ball", "smoothed_hinge+elastic_net", "cvar+signed_elastic_net"):
        page = get_formulation(name)
        program = page.bind(U, **{key: NUMBERS[key] for key in page.parameters})
        for size in (1.0, 100.0):
            certificate = program.certify(rng.dirichlet(np.ones(12)), size * rng.normal(size=3))
            certificate.save(tmp_path / "rough.json", program)
            assert verify(tmp_path / "rough.json", U, exact=True)


def test_names_of_no_pair_are_refused_and_pages_can_be_passed(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    document = saved_document("hinge+l1", path)
    assert verify(path, U, formulation=boostopt.combine("hinge", "l1"))
    document["formulation"]["name"] = "hinge+l3"
    assert re.search(r"'hinge\+l3'.*\bunknown\b", reason(document, path))
