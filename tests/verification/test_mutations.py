"""A catalogue of wrong certificates and random bytes: what is wrong is rejected with a reason, and nothing crashes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fuzzing import fuzz
from mutations import CATALOGUE, Change
from support.certificate_files import CASES, document, judged, program

pytestmark = pytest.mark.every(2)


@pytest.mark.parametrize("case", CASES)
def test_documents_without_mutation_are_accepted(case: str, tmp_path: Path) -> None:
    assert judged(document(case), case, tmp_path)


@pytest.mark.parametrize(("name", "case", "change"), CATALOGUE, ids=[f"{case}: {name}" for name, case, _ in CATALOGUE])
def test_every_mutation_is_rejected_with_a_reason(name: str, case: str, change: Change, tmp_path: Path) -> None:
    verification = judged(change(document(case)), case, tmp_path)
    assert not verification.accepted, name
    assert len(verification.reason) > 20
    assert verification.verdict == "none"


def test_the_catalogue_is_long_enough() -> None:
    assert len({name for name, _, _ in CATALOGUE}) >= 40


@pytest.mark.every(2)
@pytest.mark.parametrize("case", CASES)
def test_other_data_are_rejected(case: str, tmp_path: Path) -> None:
    U = program(case).margins.to_array()
    changed = U.copy()
    changed[3, 1] = np.nextafter(changed[3, 1], 0.0)
    for other_U in (changed, -U, U[::-1], U[:, ::-1], U[1:], U[:, 1:], np.hstack([U, U])):
        verification = judged(document(case), case, tmp_path, U=other_U)
        assert not verification.accepted
        assert "margin matrix" in verification.reason or "examples" in verification.reason


def test_another_c_or_d0_than_the_readers_is_rejected(tmp_path: Path) -> None:
    file_document, examples = document("reference"), program("reference").examples
    assert judged(file_document, "reference", tmp_path, c=examples.c, d0=examples.d0)
    assert "multiplicities" in judged(file_document, "reference", tmp_path, c=np.ones(16)).reason
    assert "d0" in judged(file_document, "reference", tmp_path, d0=np.full(16, 1 / 16)).reason


@pytest.mark.thorough
def test_random_bytes_are_rejected_or_harmless(tmp_path: Path) -> None:
    counts = fuzz(300, 1, tmp_path)
    assert counts["rejected"] > 150
    assert counts["rejected"] + counts["harmless"] == 300
