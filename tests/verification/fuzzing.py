"""Random changes of the bytes of certificate files: each is rejected, or harmless because the claim still holds.

As a script: `python tests/verification/fuzzing.py 10000`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from support.certificate_files import CASES, program, stated_examples, text

from boostopt.verification import verify
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument, read_document

MISSED = 1e-8
"""By how much the true optimum is known, relative to its size: the certificates are that narrow."""


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Change, insert, remove or repeat some bytes."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        n, m = (int(k) for k in rng.integers(0, len(changed), 2))
        how = rng.integers(6)
        if how == 0:
            changed[n] = int(rng.integers(256))
        elif how == 1:
            changed[n : n + 1] = b"0123456789.-eE"[m % 14 :][:1]
        elif how == 2:
            del changed[n : n + int(rng.integers(1, 8))]
        elif how == 3:
            changed[n:n] = changed[m : m + int(rng.integers(1, 20))]
        elif how == 4:
            changed[n] ^= 1 << int(rng.integers(8))
        else:
            del changed[n : n + int(rng.integers(1, len(changed)))]
    return bytes(changed)


def harmless(document: CertificateDocument, truth: CertificateDocument) -> bool:
    """Return whether an accepted file is true: its functions and data are the same, its interval has the optimum."""
    has_same_statement = (document.F, document.G, document.digest, document.outcome) == (
        truth.F,
        truth.G,
        truth.digest,
        truth.outcome,
    )
    arrays = all(np.array_equal(getattr(document, name), getattr(truth, name)) for name in ("c", "d0"))
    if document.outcome == "infeasible":
        return has_same_statement and arrays and document.excess <= truth.excess * (1 + MISSED)
    room = MISSED * max(1.0, abs(truth.upper))
    return (
        has_same_statement and arrays and document.lower <= truth.upper + room and document.upper >= truth.lower - room
    )


def fuzz(times: int, seed: int, folder: Path) -> Counter[str]:
    """Try so many changes and return what became of them; AssertionError for a false claim that was accepted."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    whole, path = folder / "whole.json", folder / "fuzzed.json"
    truths = dict[str, CertificateDocument]()
    for case in CASES:
        whole.write_text(text(case))
        truths[case] = read_document(whole)
    for k in range(times):
        case = CASES[k % len(CASES)]
        path.write_bytes(mutated(text(case).encode(), rng))
        verification = verify(path, program(case).margins, **stated_examples(path))
        if verification.accepted:
            assert harmless(read_document(path), truths[case]), path.read_text()
        counts["harmless" if verification.accepted else "rejected"] += 1
    return counts


if __name__ == "__main__":
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        print(fuzz(int(sys.argv[1]), 0, Path(temporary)), f"{time.perf_counter() - started:.0f} s")  # noqa: T201
