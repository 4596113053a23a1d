"""Files that are no certificates: each is rejected with its reason, and nothing in them is followed or executed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.certificate_files import document, judged, text

from boostopt.verification import subject, verify
from boostopt.verification.trusted_kernel import certificate_schema as reading

NOTHING = np.zeros((16, 4))

BAD: tuple[tuple[str, bytes, str], ...] = (
    ("empty", b"", "not JSON"),
    ("no text", b"\xff\xfe\x00", "not JSON"),
    ("a number", b"3", "object"),
    ("a list", b"[]", "object"),
    ("another object", b"{}", "formulation"),
    ("null", b"null", "object"),
    ("nan", b'{"kind": NaN}', "NaN"),
    ("infinite", b'{"kind": -Infinity}', "Infinity"),
    ("nested", b"[" * 1000 + b"]" * 1000, "nested"),
    ("nested deeply", b"[" * 1_000_000 + b"]" * 1_000_000, "nested"),
    ("nested objects", b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested"),
    ("nested by one too many", b'{"]]]": "\\\\", "a": ' + b"[" * 100 + b"]" * 100 + b"}", "nested"),
    ("nested, with quotes in strings", rb'["\"[", ' + b"[" * 100 + b"]" * 100 + b"]", "nested"),
    ("wide", b"[" + b"[]," * 50_000 + b"[]]", "object"),
    ("brackets in a string", b'["' + b"[" * 1000 + b'"]', "object"),
    ("brackets in an open string", b'["' + b"[" * 1000, "not JSON"),
    ("brackets behind a quote in a string", rb'["\"' + b"[" * 1000 + b'"]', "object"),
    ("brackets behind a backslash in a string", rb'["\\", "' + b"[" * 1000 + b'"]', "object"),
    ("brackets that are closed first", b"]" * 1000 + b"[" * 1000, "not JSON"),
    ("a name twice", b'{"kind": 1, "kind": 2}', "twice"),
    ("a huge number", b'{"kind": ' + b"9" * 5000 + b"}", "digits"),
    ("a long number", b'{"kind": 0.' + b"1" * 5000 + b"}", "letters"),
    ("a long exponent", b'{"kind": 1e-99999999999999999999}', "power"),
    ("a zip", b"PK\x03\x04" + bytes(100), "not JSON"),
    ("a pickle", pickle.dumps({"kind": print}), "not JSON"),
)


@pytest.mark.parametrize(("case", "content", "reason"), BAD, ids=[case for case, _, _ in BAD])
def test_files_without_a_certificate_are_rejected(case: str, content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    verification = verify(path, NOTHING)
    assert not verification and reason in verification.reason, verification


def test_paths_that_are_no_files_are_rejected(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        reason = verify(path, NOTHING).reason
        assert path.name in reason and "read" in reason
    for path in ("x" * 5000, "a\0b", "a\ud800b"):
        assert "read" in verify(path, NOTHING).reason
        assert subject(path) == ""


def test_files_that_are_not_regular_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    file_document = document("entropy")
    file_document["arrays"] = {"beside": "0" * 64}
    (tmp_path / "changed.json").write_text(json.dumps(file_document))
    os.mkfifo(tmp_path / "changed.json.npz")
    opened, plain_open = list[Path](), Path.open

    def record_open(path: Path, *arguments: Any) -> Any:
        opened.append(path)
        return plain_open(path, *arguments) if path.suffix == ".json" else io.BytesIO()

    monkeypatch.setattr(Path, "open", record_open)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        reason = verify(path, NOTHING).reason
        assert path.name in reason and "not a file" in reason
    assert not opened
    reason = verify(tmp_path / "changed.json", NOTHING).reason
    assert "changed.json.npz" in reason and "not a file" in reason
    assert opened == [tmp_path / "changed.json"]


def test_every_truncation_is_rejected(tmp_path: Path) -> None:
    content = text("reference").encode()
    for length in range(0, len(content) - 2, 37):
        assert not judged(content[:length], "reference", tmp_path)


def test_huge_files_are_rejected_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(reading.MAX_TEXT_BYTES + 1)
    assert "limit" in verify(path, NOTHING).reason


def test_a_file_beside_is_no_larger_than_its_vectors(tmp_path: Path) -> None:
    """Sixteen examples and four hypotheses have no megabyte of numbers."""
    with (tmp_path / "changed.json.npz").open("wb") as file:
        file.truncate(1_000_000)
    file_document = document("entropy")
    file_document["arrays"] = {"beside": "0" * 64}
    assert "the limit" in judged(file_document, "entropy", tmp_path).reason


def test_files_that_need_too_much_memory_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> Any:
        raise MemoryError

    for module, name in (
        (import_module("boostopt.verification.verify"), "recompute_bounds"),
        (reading, "parse_document"),
    ):
        monkeypatch.setattr(module, name, full)
        assert "memory" in judged(document("cap"), "cap", tmp_path).reason


def verdict_on_arrays(arrays: bytes, tmp_path: Path) -> Any:
    """Return the verdict on a certificate whose arrays are in a file of these bytes."""
    (tmp_path / "changed.json.npz").write_bytes(arrays)
    file_document = document("entropy")
    file_document["arrays"] = {"beside": hashlib.sha256(arrays).hexdigest()}
    return judged(file_document, "entropy", tmp_path)


def npz_bytes(arrays: dict[str, Any], pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=pickled, **arrays)
    return file.getvalue()


class Trap:
    """An object that acts when it is unpickled."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('executed')",))


def test_arrays_beside_are_plain_numbers_and_nothing_else(tmp_path: Path) -> None:
    good = {name: np.array(values) for name, values in document("entropy")["arrays"].items()}
    assert verdict_on_arrays(npz_bytes(good), tmp_path)
    trap = np.array([Trap()] * 4, dtype=object)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w.npy", bytes(50_000_000))
    for bad in (
        b"",
        b"PK",
        npz_bytes({**good, "w": trap}, pickled=True),
        zipped.getvalue(),
        npz_bytes({**good, "w": good["w"].astype(complex)}),
        npz_bytes({**good, "w": good["w"].astype(np.float32)}),
        npz_bytes({**good, "w": good["w"][np.newaxis]}),
        npz_bytes({**good, "w": np.full(4, np.nan)}),
        npz_bytes({**good, "w": np.full(4, np.inf)}),
        npz_bytes({"w": good["w"]}),
        npz_bytes(good)[:-30],
    ):
        verification = verdict_on_arrays(bad, tmp_path)
        assert not verification and verification.reason


def test_nothing_is_looked_up_by_a_name_in_a_file(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    file_document = document("entropy")
    file_document["formulation"]["name"] = str(trap)
    reason = judged(file_document, "entropy", tmp_path).reason
    assert repr(str(trap)) in reason and "unknown" in reason
    file_document = document("entropy")
    file_document["made"] = {"path": str(trap), "options": {"__reduce__": "exec"}, "nested": [[[[{}]]]]}
    assert judged(file_document, "entropy", tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.thorough
def test_random_values_in_every_place_are_rejected_or_leave_the_claim_as_it_is(tmp_path: Path) -> None:
    """Awkward values replace every scalar of the document: no verification ends in a traceback."""
    awkward = [None, True, -1, 0, 1e308, -1e-308, 10**19, "inf", "-inf", "nan", "", "x" * 2000, [], {}, [[]], {"a": 1}]

    def places(content: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        inner = (
            content.items()
            if isinstance(content, dict)
            else enumerate(content[:2])
            if isinstance(content, list)
            else ()
        )
        return [path, *(place for key, value in inner for place in places(value, (*path, key)))]

    for case in ("infeasible", "ball"):
        rejected = 0
        for place in places(document(case), ())[1:]:
            if place[0] == "made":
                continue
            for value in awkward:
                file_document = document(case)
                inner = file_document
                for step in place[:-1]:
                    inner = inner[step]
                inner[place[-1]] = value
                rejected += not judged(file_document, case, tmp_path).accepted
        assert rejected > 300
