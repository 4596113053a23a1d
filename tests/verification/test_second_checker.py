"""A second checker of certificate files, written from docs/file_format.md alone: it imports nothing of boostopt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import CATALOGUE

Certified = Callable[[str], tuple[str, tuple[Any, Any, Any]]]
"""Returns the text of a file, and the matrix, the multiplicities and the references that it is of."""

# The implementation.

TOP = "kind format subject formulation F G data claim proof arrays made"
"""The names of a file."""

DIGITS, SLACK, MISSED, ZERO = 100, Decimal("1e-40"), Decimal("1e-11"), Decimal(0)
"""Digits of all numbers, a bound of what sums lose, what weights may miss their conditions by, and 0."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, no name of which may occur twice."""
    assert len({name for name, _ in pairs}) == len(pairs), "a name occurs twice"
    return dict(pairs)


def number(value: Any) -> Decimal:
    """The float that is nearest to a text, exactly."""
    assert isinstance(value, int | Decimal) and not isinstance(value, bool), "a number"
    assert abs(value) <= Decimal("1e15"), "a number so small that 100 digits lose nothing that counts"
    return Decimal(float(value))


def end(value: Any) -> Decimal:
    """An end of the claim, as its text says."""
    assert value in ("inf", "-inf") or (isinstance(value, int | Decimal) and not isinstance(value, bool)), "an end"
    return Decimal(value)


def sha(array: Any, first: str = "") -> str:
    """The digest of an array."""
    return hashlib.sha256(first.encode() + (np.asarray(array, "<f8") + 0.0).tobytes()).hexdigest()


exact = np.vectorize(Decimal, otypes=[object])
"""Returns floats with all their digits."""


def check(path: Path, U: Any, c: Any, d0: Any) -> None:
    """Raise AssertionError unless the interval of a file holds for LPBoost or ERLPBoost on these data."""
    document, (N, t) = json.loads(path.read_text(), object_pairs_hook=once, parse_float=Decimal), U.shape
    assert set(document) == set(TOP.split()) and set(document["data"]) == set("N t U c d0".split()), "names of the file"
    assert (document["kind"], document["format"], document["subject"]) == ("boostopt certificate", 1, "program"), (
        "another file"
    )
    name, parameters, data = document["formulation"]["name"], document["formulation"]["parameters"], document["data"]
    smooth = {"lpboost": {}, "erlpboost": {"eta": parameters.get("eta")}}[name]
    assert set(parameters) == {"nu", "epsilon", "two_sided", *smooth}, "names of the parameters"
    assert parameters["two_sided"] is False and type(document["format"]) is int, "another program or format"
    kind = "relative entropy" if smooth else "cap"
    assert document["F"] == {"kind": kind, "caps": "c / nu", "nu": parameters["nu"], **smooth}, "another F"
    assert document["G"] == {"kind": "maximum"} and document["claim"]["outcome"] == "solved", "another G or outcome"
    assert {"w"} <= set(document["arrays"]) <= {"w", "d", "c", *(["d0"] if smooth else [])}, "names of arrays"
    arrays: dict[str, Any] = {name: np.array(list(map(number, values))) for name, values in document["arrays"].items()}
    stated_c = arrays.get("c", np.ones(N)).astype(float)
    stated_d0 = arrays.get("d0", stated_c / stated_c.sum()).astype(float)
    assert np.array_equal(c, stated_c) and np.array_equal(d0, stated_d0), "other multiplicities or references"
    assert np.abs(U).max() <= 1e15, "numbers of the data"
    assert (data["N"], data["t"], data["U"]) == (N, t, sha(U, f"({N}, {t})")), "another matrix"
    assert (data["c"], data["d0"]) == (sha(c), sha(d0)), "other digests"
    with localcontext(prec=DIGITS):
        rows, refs, w, beta = exact(U), exact(d0), arrays["w"], number(document["proof"]["beta"])
        f = Entropy(number(smooth["eta"])) if smooth else Cap()
        u = np.where((d0 > 0) | (not smooth), exact(c) / number(parameters["nu"]), exact(np.zeros(N)))
        assert len(w) == t and min(w) >= 0 and abs(w.sum() - 1) < MISSED, "w"
        y = -(rows @ w) / w.sum() - beta
        lower = -beta - sum(map(f.conjugate, y, u, refs), ZERO)
        assert end(document["claim"]["lower"]) <= lower - SLACK, "the lower bound"
        if document["claim"]["upper"] == "inf":
            return
        d = arrays["d"]
        assert len(d) == N and abs(d.sum() - 1) < MISSED, "d"
        assert (d >= -MISSED).all() and (d <= u + MISSED).all(), "d"
        d = np.minimum(np.maximum(d, 0), u)
        d = d / max(d.sum(), Decimal(1))
        d = d + (u - d) * (
            (1 - d.sum()) / max((u - d).sum(), SLACK)
        )  # the missing weight, by the distances to the caps
        upper = sum(map(f.value, d, refs), ZERO) + max(d @ rows)
        assert abs(d.sum() - 1) < SLACK and upper + SLACK <= end(document["claim"]["upper"]), "the upper bound"


class Cap:
    """F = 0 up to the cap."""

    def value(self, x: Decimal, r: Decimal) -> Decimal:
        return ZERO

    def conjugate(self, y: Decimal, u: Decimal, r: Decimal) -> Decimal:
        return u * max(y, ZERO)


class Entropy:
    """F = (1/eta) sum d ln(d / d0) up to the cap."""

    def __init__(self, eta: Decimal) -> None:
        self.eta = eta

    def value(self, x: Decimal, r: Decimal) -> Decimal:
        return x * (x / r).ln() / self.eta if x > 0 else ZERO

    def conjugate(self, y: Decimal, u: Decimal, r: Decimal) -> Decimal:
        if u == 0:
            return u
        x = self.eta * y - 1
        return r * x.exp() / self.eta if x <= (u / r).ln() else u * y - self.value(u, r)


# The end of the implementation.

CASES = ("cap", "entropy", "reference")
"""Files of LPBoost with multiplicities, of ERLPBoost, and of ERLPBoost with multiplicities and references."""


@pytest.mark.parametrize("case", CASES)
def test_second_checker_accepts_saved_files(case: str, certified: Certified, tmp_path: Path) -> None:
    text, data = certified(case)
    path = tmp_path / "certificate.json"
    path.write_text(text)
    check(path, *data)
    document = json.loads(text)
    del document["arrays"]["d"]
    document["claim"]["upper"] = "inf"
    path.write_text(json.dumps(document))
    check(path, *data)


@pytest.mark.parametrize(
    ("name", "case", "change"),
    [row for row in CATALOGUE if row[1] in CASES],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_second_checker_rejects_mutations(
    name: str, case: str, change: Any, certified: Certified, tmp_path: Path
) -> None:
    text, data = certified(case)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(change(json.loads(text))))
    with pytest.raises((AssertionError, AttributeError, KeyError, TypeError)):
        check(path, *data)


@pytest.mark.parametrize("case", CASES)
def test_both_checkers_prove_the_same_ends(case: str, certified: Certified, tmp_path: Path, verdict: Any) -> None:
    """Claims between what both have proved and a little more: at 1e-12 above one of them they part."""
    text, data = certified(case)
    path, proved = tmp_path / "certificate.json", verdict(text, case)
    for name, out in (("lower", -1), ("upper", 1)):
        for step, accepted in ((1e-12, True), (-1e-12, False)):
            document = json.loads(text)
            document["claim"][name] = getattr(proved, name) + out * step
            path.write_text(json.dumps(document))
            assert bool(verdict(path.read_text(), case)) == accepted
            if accepted:
                check(path, *data)
            else:
                with pytest.raises(AssertionError, match=f"the {name} bound"):
                    check(path, *data)


def mix_bits(x: int) -> int:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return x


def test_the_digest_of_coded_rows_is_made_as_the_page_says(looks: tuple[Any, Any, Any, Any]) -> None:
    content, X, y, c = looks
    cuts = {j: (np.unique(X[:, j])[1:] + np.unique(X[:, j])[:-1]) / 2 for j in range(X.shape[1])}
    total = 0
    for row, label, copies in zip(X, y.tolist(), c.tolist(), strict=True):
        codes = {j: int((cuts[j] < row[j]).sum()) for j in cuts if len(cuts[j])}
        total += copies * mix_bits((label + sum(mix_bits((j << 32) + k + 1) for j, k in codes.items())) % 2**64)
    sizes = [(j, len(cuts[j]) + 1) for j in sorted(cuts) if len(cuts[j])]
    text = repr((len(y), int(c.sum()), sizes, total % 2**64))
    assert content["data"]["digest"] == hashlib.sha256(text.encode()).hexdigest()
