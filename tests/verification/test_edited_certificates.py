"""Certificates of programs and problems with each key taken away, changed or taken from another file.

Each is rejected in words, or what it claims of the program that it states is true. A certificate is accepted beside an
edited file of its program only if the file states this program.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import conic_forgeries
import linear_forgeries
import numpy as np
import problem_forgeries
import pytest
from conic_programs.program_file_forgeries import KINDS, choose, random_cbf, random_mps, random_sdpa
from support import problem_files
from support.document_edits import REMOVED, edited, places
from support.file_edits import HUGE_VALUES, VALUES, cast_array, edit_array, value_at
from support.speeds import many

from boostopt import ConicProgram, certify_problem, exact_optimum, load_problem, save_problem, verify
from boostopt.conic_programs.writers.save_problem import differences
from boostopt.errors import BoostoptError, ProblemError
from boostopt.verification.trusted_kernel.json_parsing import parse_json
from boostopt.verification.verification_result import Verification

Judge = Callable[[Verification, Any, Any], bool]
"""A function of a verdict, the edited content and the first one: whether what is accepted is true."""


KINDS_WITH_DATA = tuple(f"boostopt {name} certificate" for name in ("problem", "linear program", "conic program"))
"""The kinds of files that hold their data."""


def linear_files() -> list[Any]:
    return [json.loads(linear_forgeries.text(seed)) for seed in range(many(6, 3))]


def conic_files() -> list[Any]:
    texts = [conic_forgeries.text(seed) for seed in range(10)]
    return [json.loads(text) for text in texts if text is not None]


def problem_certificates() -> list[Any]:
    return [problem_files.content(case) for case in ("linear", "box", "equations", "quadratic")]


def is_true_of_problem(verification: Verification, content: Any, original: Any) -> bool:
    return problem_forgeries.judge(verification, content, original) != "FALSE"


SUBJECTS: dict[str, tuple[Callable[[], list[Any]], Judge]] = {
    "linear": (linear_files, lambda verification, content, _: linear_forgeries.is_true(verification, content)),
    "conic": (conic_files, lambda verification, content, _: conic_forgeries.is_possible(verification, content)),
    "problem": (problem_certificates, is_true_of_problem),
}
"""Files of each kind, and the judge of what is accepted."""


def edits(document: Any, neighbour: Any, rng: np.random.Generator) -> Iterator[tuple[Any, str]]:
    """Yield a content for each key: without it, with another value, with that of a neighbour, by another name."""
    for place in places(document):
        *inside, key = place
        yield edited(document, place, REMOVED), f"without {place}"
        for values in (VALUES, HUGE_VALUES):
            value = choose(values, rng)
            yield edited(document, place, value), f"{place}: {value!r}"
        try:
            value = value_at(neighbour, place)
        except (KeyError, IndexError, TypeError):
            continue
        if value != value_at(document, place):
            yield edited(document, place, value), f"{place} of a neighbour"
        if isinstance(key, str):
            renamed = dict(value_at(document, tuple(inside)))
            renamed[f"{key}_"] = renamed.pop(key)
            yield edited(document, tuple(inside), renamed) if inside else renamed, f"{place} by another name"


def verdict_on(path: Path, content: Any) -> tuple[Verification, Any]:
    """Return the verdict on a file with a content, and what it states; data are asked for where the kind is another."""
    path.write_text(json.dumps(content))
    try:
        verification = verify(path)
    except ProblemError as refusal:
        assert "got none. Pass" in str(refusal) and content.get("kind") not in KINDS_WITH_DATA
        return Verification(False, str(refusal)), None
    assert verification or (verification.reason and "\n" not in verification.reason)
    return verification, parse_json(path.read_bytes()) if verification else None


@pytest.mark.thorough_cases("conic", "problem")
@pytest.mark.parametrize("kind", SUBJECTS)
def test_certificates_with_an_edited_key_are_rejected_or_true(kind: str, tmp_path: Path) -> None:
    read, is_true = SUBJECTS[kind]
    rng, counts, documents = np.random.default_rng(0), Counter[bool](), read()
    for document, neighbour in pairwise([*documents, documents[0]]):
        everything = list(edits(document, neighbour, rng))
        sample = rng.permutation(len(everything))[: many(600, 12)]
        for content, description in (everything[k] for k in sample):
            verification, top = verdict_on(tmp_path / "edited.json", content)
            counts[bool(verification)] += 1
            assert not verification or is_true(verification, top, document), (description, json.dumps(content))
    assert counts[False] > many(1000, 20), counts


@pytest.mark.thorough_cases("conic", "problem")
@pytest.mark.parametrize("kind", SUBJECTS)
def test_proofs_of_neighbours_are_rejected_or_true(kind: str, tmp_path: Path) -> None:
    """The proof and the claim of each file, together and alone, in each other file."""
    read, is_true = SUBJECTS[kind]
    documents = read()
    for document in documents:
        for neighbour in documents:
            for names in (("proof",), ("claim",), ("proof", "claim")):
                content = document | {name: neighbour[name] for name in names}
                verification, top = verdict_on(tmp_path / "edited.json", content)
                assert not verification or is_true(verification, top, document), (names, content)


def edited_beside(certificate: Path, statement: Path, rng: np.random.Generator, count: int) -> Counter[bool]:
    """Count the verdicts on a certificate with edits in its own text and in the file of its statement.

    AssertionError if one with another statement is accepted.
    """
    original, counts = statement.read_bytes(), Counter[bool]()
    document = json.loads(original)
    neighbour = document | {key: rng.random() for key in ("kind", "format")}
    everything = list(edits(document, neighbour, rng))
    for k in rng.permutation(len(everything))[:count]:
        content, description = everything[k]
        statement.write_text(json.dumps(content, sort_keys=True, separators=(",", ":")))
        for data in (None, statement):
            verification = verify(certificate, data)
            counts[bool(verification)] += 1
            assert not verification or statement.read_bytes() == original, description
    statement.write_bytes(original)
    return counts


def test_statements_that_were_edited_in_a_file_beside_are_rejected(tmp_path: Path) -> None:
    program = linear_forgeries.program_of(linear_files()[1]["program"])
    square = replace(program, P=np.eye(program.shape[1]), is_maximized=False)
    certificate, statement, rng = tmp_path / "certificate.json", tmp_path / "program.json", np.random.default_rng(1)
    for proof in (exact_optimum(program), exact_optimum(square), problem_files.certified("linear")[0]):
        statement.unlink(missing_ok=True)
        proof.save(certificate, data=statement)
        assert verify(certificate) and verify(certificate, statement)
        assert edited_beside(certificate, statement, rng, many(500, 12))[False] > many(300, 20)


def certified_programs(folder: Path) -> Iterator[tuple[ConicProgram, Path, Path]]:
    """Yield programs of all formats that have a certificate, with its file and the file of the program."""
    rng = np.random.default_rng(6)
    for ending, random_text in {".mps": random_mps, ".cbf": random_cbf, ".dat-s": random_sdpa}.items():
        n_certified = 0
        while n_certified < 4:
            model, certificate = folder / f"model{ending}", folder / "certificate.json"
            model.write_text(random_text(rng))
            program = load_problem(model)
            try:
                certify_problem(program).save(certificate)
            except BoostoptError:
                continue
            n_certified += 1
            yield program, certificate, model


def is_another(program: ConicProgram, path: Path) -> bool:
    """Return whether a file is refused or states another program; names are no part of it."""
    try:
        return not set(differences(program, load_problem(path))) <= {"column_names", "row_names"}
    except BoostoptError:
        return True


def judge_data(program: ConicProgram, certificate: Path, path: Path) -> bool:
    """Return whether a certificate is accepted for a file; AssertionError if the file states another program."""
    try:
        verification = verify(certificate, path)
    except BoostoptError as refusal:
        assert path.name in str(refusal) or "conic program" in str(refusal) or "linear program" in str(refusal)
        return False
    assert not verification or not is_another(program, path), path.read_bytes()
    return bool(verification)


@pytest.mark.thorough
def test_a_certificate_is_accepted_for_no_other_text(tmp_path: Path) -> None:
    rng, counts = np.random.default_rng(7), Counter[bool]()
    for program, certificate, model in certified_programs(tmp_path):
        text = model.read_text()
        assert judge_data(program, certificate, model)
        for number in range(120):
            forged = model.with_name(f"forged{model.suffix}")
            forged.write_bytes(choose(list(KINDS.values()), rng)(text, rng).encode() if number else text.encode())
            counts[judge_data(program, certificate, forged)] += 1
    assert min(counts.values()) >= 30, counts


def archive_edits(
    arrays: dict[str, Any], neighbour: dict[str, Any], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield arrays of an archive with each key taken away, renamed, changed or taken from a neighbour."""
    for key in arrays:
        remainder = {name: array for name, array in arrays.items() if name != key}
        yield remainder
        yield remainder | {f"{key}_": arrays[key]}
        for kind in ("f4", "i4", "U9", "?", "c16", "S3", "M8[s]"):
            with np.errstate(all="ignore"):
                changed = remainder | {key: cast_array(arrays[key], kind)}
            yield changed
        yield remainder | {key: arrays[key][::-1] if arrays[key].ndim else arrays[key]}
        if key in neighbour:
            yield remainder | {key: neighbour[key]}
    for _ in range(many(300, 20)):
        changed = dict(arrays)
        for _ in range(rng.integers(1, 3)):
            edit_array(changed, rng)
        yield changed


def archives(folder: Path, programs: Sequence[ConicProgram]) -> list[dict[str, Any]]:
    """Return the arrays of the archives of programs."""
    result = list[dict[str, Any]]()
    for program in programs:
        save_problem(program, folder / "program.npz")
        with np.load(folder / "program.npz") as archive:
            result.append({name: archive[name] for name in archive.files})
    return result


def test_a_certificate_is_accepted_for_no_other_archive(tmp_path: Path) -> None:
    """Archives are refused in words or are programs; of these, only the program of the certificate is accepted."""
    seeds = {"linear": (1, 2), "quadratic": (0, 25), "second_order": (1, 26), "power": (4, 29)}
    rng, counts = np.random.default_rng(8), Counter[bool]()
    for kind, pair in list(seeds.items())[: many(4, 1)]:
        statements = [json.loads(linear_forgeries.text(seed))["program"] for seed in pair]
        programs = [linear_forgeries.program_of(statement) for statement in statements]
        if kind != "linear":
            programs = [conic_forgeries.random_conic_program(seed) for seed in pair]
        certificate, path = tmp_path / "certificate.json", tmp_path / "edited.npz"
        (exact_optimum(programs[0]) if kind == "linear" else certify_problem(programs[0])).save(certificate)
        arrays, neighbour = archives(tmp_path, programs)
        everything = [arrays, *archive_edits(arrays, neighbour, rng)]
        for k in [0, *rng.permutation(len(everything))[: many(250, 30)]]:
            np.savez(path, **everything[k])
            counts[judge_data(programs[0], certificate, path)] += 1
    assert min(counts.values()) >= many(8, 2), counts
