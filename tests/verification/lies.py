"""Structured lies: files of programs, of classes and of histogram runs that say something else than was proved.

A lie takes over the answer of the opposite problem, of a neighbour or of another file, exchanges orders, kinds, digests
and outcomes, or writes numbers oddly. What is accepted must be true, by the interval of a solve of what it states.

As a script: `python tests/verification/lies.py 10000`.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from support.certificate_files import CASES, document, program

from boostopt import Run, boost, get_formulation, verify
from boostopt.errors import BoostoptError
from boostopt.oracles import BinnedStumps, DecisionStumps
from boostopt.verification import Verification, save
from boostopt.verification.trusted_kernel.certificate_schema import EDGE_FIELDS, REGULARIZER_FIELDS

ODD = (
    *("1e400", "-1e400", "1e-400", "-0.0", "0", "true", "false", "null", '"inf"', '"-inf"', '"nan"', '"1"', "[]", "{}"),
    *("NaN", "Infinity", "-Infinity", "9007199254740993", "1e308", "-1e308", "5e-324", "0.1e1", "1E0", "[0.5]", "1_0"),
    *("0.30000000000000000000000000000000000001", "1e99999", "٣", "+1", ".5", "0x10", "--1", "1e"),
)
"""Texts in the place of a number."""

FALSE = "!"
"""A lie whose name ends with it is refused whatever it claims."""

Lie = Callable[[Any, np.random.Generator], str]
"""Changes what a file says, and returns the name of the lie."""

Place = tuple[Any, ...]


@dataclass(frozen=True)
class Subject:
    """Files about one thing.

    Attributes
    ----------
    said
        The honest file.
    others
        Files of neighbours: of the opposite problem, and of other parameters.
    judge
        Returns the verdict on a file.
    truth
        Returns an interval that holds what a file is about.
    """

    said: Any
    others: tuple[Any, ...]
    judge: Callable[[Path], Verification]
    truth: Callable[[Any], tuple[float, float]]


def written(what: Callable[[Path], None]) -> Any:
    """Return the document of a file that is written for this."""
    with tempfile.TemporaryDirectory() as folder:
        what(Path(folder) / "c.json")
        return json.loads((Path(folder) / "c.json").read_text())


NEAR = ({"nu": 1.05}, {"eta": 1.1}, {"C": 0.95}, {"r": 1.02}, {"gamma": 0.9}, {"rho": 1.1}, {"p": 1.05})
"""Factors of the parameters of neighbours."""


@cache
def of_program(case: str) -> Subject:
    """A program, its opposite, and others with parameters that are not far away."""
    bound_program = program(case)
    U, c, d0 = bound_program.margins.to_array(), bound_program.examples.c, bound_program.examples.d0
    given = document(case)["formulation"]["parameters"]
    page = get_formulation(bound_program.formulation.name)
    references = {"d0": d0} if page.uses_reference else {}

    @cache
    def solved(numbers: tuple[tuple[str, Any], ...], sign: float = 1.0) -> Any:
        return page.bind(sign * U, c=c, **references, **{k: math.inf if v == "inf" else v for k, v in numbers}).solve(
            tol=1e-9
        )

    def truth(said: Any) -> tuple[float, float]:
        certificate = solved(tuple(sorted(said["formulation"]["parameters"].items()))).certificate
        return certificate.lower, certificate.upper

    others = [solved(tuple(sorted(given.items())), -1.0)]
    for factors in NEAR:
        if all(isinstance(given.get(name), float) for name in factors):
            numbers = {**given, **{name: given[name] * factor for name, factor in factors.items()}}
            others.append(solved(tuple(sorted(numbers.items()))))
    files = tuple(written(lambda path, answer=answer: save(answer, path)) for answer in others)
    return Subject(document(case), files, lambda path: verify(path, U, c=c, d0=d0), truth)


@cache
def examples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 3)), 1)
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=80) > 0, 1, -1), rng.integers(1, 3, 80).astype(float)


@cache
def of_class(kind: str) -> Subject:
    """A run over a class: by steps, or by histogram Newton for a soft margin or a loss."""
    X, y, c = examples()
    page, name, value = ("log_loss", "eta", 6.0) if kind == "loss" else ("erlpboost", "nu", 30.0)
    update = "total" if kind == "steps" else "newton"
    accuracy = 0.01 * (float(c.sum()) if kind == "loss" else 1.0)
    made = DecisionStumps if kind == "steps" else BinnedStumps

    @cache
    def run(number: float, sign: int = 1) -> Run:
        numbers: dict[str, Any] = {name: number}
        return boost(page, made(X, sign * y, c=c), epsilon=accuracy, update=update, **numbers)

    def file(number: float, sign: int = 1) -> Any:
        return written(lambda path: run(number, sign).save_certificate(path, made(X, sign * y, c=c)))

    def truth(said: Any) -> tuple[float, float]:
        certificate = run(said["formulation"]["parameters"][name]).class_certificate
        return certificate.lower, certificate.upper

    others = file(value, -1), file(value * 0.9), file(value * 1.1)
    return Subject(file(value), others, lambda path: verify(path, made(X, y, c=c)), truth)


SUBJECTS = (*CASES, "steps", "looks", "loss")
"""The subjects of the lies."""


@cache
def subject(name: str) -> Subject:
    return of_program(name) if name in CASES else of_class(name)


def places(held: Any, path: Place = ()) -> list[Place]:
    """The places of all numbers of a file but those of its origin; few of each list."""
    if isinstance(held, dict):
        return [place for key, value in held.items() if key != "made" for place in places(value, (*path, key))]
    if isinstance(held, list):
        return [place for k in {0, len(held) // 2, len(held) - 1} if held for place in places(held[k], (*path, k))]
    return [path] if isinstance(held, int | float) else []


def at(said: Any, place: Place) -> Any:
    for step in place:
        said = said[step]
    return said


def put(said: Any, place: Place, value: Any) -> None:
    at(said, place[:-1])[place[-1]] = value


def lists(said: Any) -> list[Place]:
    """The places of the lists that prove the ends."""
    if said["subject"] == "looks":
        return [("w",), ("d", "w"), ("d", "table"), ("data", "hypotheses")]
    return [("arrays", name) for name in said["arrays"]]


def taken_over(said: Any, rng: np.random.Generator, other: Any) -> str:
    """The answer of a neighbour or of the opposite problem, or a part of it, or all but the data."""
    names = ["w", "d"] if said["subject"] == "looks" else ["arrays", "proof"]
    how = int(rng.integers(4))
    if how == 0:
        names = names[: int(rng.integers(1, 3))]
    elif how == 1:
        names += ["claim"]
    elif how == 2:
        names += ["claim", "F", "G", "formulation", "nu"]
    for name in names:
        if name in said and name in other:
            said[name] = copy.deepcopy(other[name])
    return f"taken over {how}"


def another_order(said: Any, rng: np.random.Generator) -> str:
    """A list in another order: two entries exchanged, turned around, shifted, sorted."""
    place = lists(said)[int(rng.integers(len(lists(said))))]
    values, how = at(said, place), int(rng.integers(4))
    if how == 0:
        i, j = (int(k) for k in rng.integers(0, len(values), 2))
        values[i], values[j] = values[j], values[i]
    elif how == 1:
        values.reverse()
    elif how == 2:
        values[:] = values[1:] + values[:1]
    elif all(isinstance(value, int | float) for value in values):
        values.sort()
    return "another order"


def stale(said: Any, rng: np.random.Generator) -> str:
    """An array as it was before an update: some of its entries moved, the sum kept."""
    place = lists(said)[int(rng.integers(3 if said["subject"] == "looks" else len(lists(said))))]
    values = at(said, place)
    if not values:
        return "stale"
    i, j = (int(k) for k in rng.integers(0, len(values), 2))
    moved = values[i] * float(rng.choice([1.0, 0.5, 1e-3, 1e-9]))
    moved = int(moved) if isinstance(values[i], int) else moved
    values[i], values[j] = values[i] - moved, values[j] + moved
    return "stale"


def odd_number(said: Any, rng: np.random.Generator) -> str:
    """A number in odd letters; they are put into the text later."""
    options = places(said)
    place = options[int(rng.integers(len(options)))]
    put(said, place, f"ODD{int(rng.integers(len(ODD)))}")
    return "odd number"


def near_number(said: Any, rng: np.random.Generator) -> str:
    """A number that is larger or smaller by a little, or turned around."""
    options = places(said)
    place = options[int(rng.integers(len(options)))]
    value = at(said, place)
    factor = float(rng.choice([1 + 1e-15, 1 - 1e-12, 1 + 1e-6, 0.9, 2.0, -1.0, 0.0, 1e6, 1e50, 1e-50]))
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(factor) < 1e7
    put(said, place, int(value * factor) if whole else float(value) * factor)
    return "near number"


def of_both(said: Any, rng: np.random.Generator) -> str:
    """A parameter of the formulation, of F, of G and of the file alike."""
    parameters = said["formulation"]["parameters"]
    names = [name for name, value in parameters.items() if isinstance(value, float) and name != "epsilon"]
    name = names[int(rng.integers(len(names)))]
    before = parameters[name]
    after = before * float(rng.choice([0.9, 1.1, 1.0 + 1e-12]))
    if said["subject"] != "program":
        after = before * float(rng.choice([0.9, 1.1]))
    for part in (parameters, said, *(x for holder in (said, said["formulation"]) for x in _functions(holder))):
        if name in part and part[name] == before:
            part[name] = after
    return "a parameter everywhere"


def _functions(holder: Any) -> list[Any]:
    parts = [holder[name] for name in ("F", "G") if isinstance(holder.get(name), dict)]
    return parts + [part["base"] for part in parts if isinstance(part.get("base"), dict)]


def another_kind(said: Any, rng: np.random.Generator) -> str:
    """Another kind of F or G, with its numbers."""
    holders = [holder for holder in (said, said["formulation"]) if "F" in holder]
    holder = holders[int(rng.integers(len(holders)))]
    which, kinds = ("F", REGULARIZER_FIELDS) if rng.random() < 0.5 else ("G", EDGE_FIELDS)
    kind, before = str(rng.choice(sorted(kinds))), holder[which]
    known: dict[str, Any] = {"caps": "c / nu", "nu": 4.0, "q": 2.0, "base": before, "signed": True, "text": "d**2"}
    known |= {"parameters": {}, "p": 2.0, "mu": 0.5, "B": "inf"}
    holder[which] = {"kind": kind, **{name: before.get(name, known.get(name, 1.0)) for name in kinds[kind]}}
    if "caps" in kinds[kind]:
        holder[which]["nu"] = before.get("nu", 4.0)
    return "another kind"


def another_digest(said: Any, rng: np.random.Generator) -> str:
    names = [name for name in ("U", "c", "d0", "digest") if name in said["data"]]
    name = names[int(rng.integers(len(names)))]
    digest = said["data"][name]
    k = int(rng.integers(len(digest)))
    said["data"][name] = digest[:k] + ("0" if digest[k] != "0" else "1") + digest[k + 1 :]
    return "another digest"


def another_outcome(said: Any, rng: np.random.Generator) -> str:
    """Solved where there is no optimum, and the other way round; or another subject."""
    if rng.random() < 0.3:
        said["subject"] = str(rng.choice([name for name in ("program", "class", "looks") if name != said["subject"]]))
        return "another subject"
    if said["claim"].get("outcome") == "solved":
        said["claim"] = {"outcome": "infeasible", "excess": float(10.0 ** rng.uniform(-15, 0))}
        said["arrays"].pop("d", None)
    elif said["claim"].get("outcome") == "infeasible":
        said["claim"] = {"outcome": "solved", "lower": -1e300, "upper": "inf"}
    return "another outcome"


def beta_of_none(said: Any, rng: np.random.Generator) -> str:
    if "proof" in said:
        said["proof"]["beta"] += float(rng.normal()) * 10.0 ** float(rng.uniform(-9, 3))
        said["proof"]["beta"] *= float(rng.choice([1.0, -1.0, 1e10, 1e200]))
    else:
        said["d"]["origin"], said["d"]["shift"] = int(rng.integers(-(2**30), 2**30)), int(rng.integers(0, 31))
    return "another beta"


def zeros(said: Any, rng: np.random.Generator) -> str:
    """Zeros with a sign, which are zeros."""
    for place in lists(said)[:1]:
        values = at(said, place)
        values[:] = [-0.0 if value == 0 and isinstance(value, float) else value for value in values]
    return "zeros"


LIES: tuple[Lie, ...] = (
    another_order,
    stale,
    odd_number,
    near_number,
    of_both,
    another_kind,
    another_digest,
    another_outcome,
    beta_of_none,
    zeros,
)


def claim(said: Any, rng: np.random.Generator, truth: tuple[float, float]) -> str:
    """Claim more than is true, at one end; what the other end is does not matter."""
    if "excess" in said["claim"]:
        # No edge exceeds 1, nor does a bound of them: the excess of w is at most twice the sum of its sizes.
        said["claim"]["excess"] = (2.5 + float(rng.random())) * math.fsum(map(abs, said["arrays"]["w"]))
        return "claims too much" + FALSE
    lower, upper = truth
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return "of an infeasible program"
    beyond = float(10.0 ** rng.uniform(-14, 0)) * max(1.0, abs(lower))
    if rng.random() < 0.5:
        said["claim"] |= {"lower": math.nextafter(upper + beyond, math.inf), "upper": 1e9}
    else:
        said["claim"] |= {"lower": -1e9, "upper": math.nextafter(lower - beyond, -math.inf)}
    return "claims too much" + FALSE


def as_text(said: Any, rng: np.random.Generator) -> tuple[str, str]:
    """The text of a file, and the name of what was done to it."""
    text = json.dumps(said)
    for k, letters in enumerate(ODD):
        text = text.replace(f'"ODD{k}"', letters)
    how = rng.random()
    if how < 0.05:
        name = str(rng.choice(["claim", "w", "F", "formulation", "lower", "nu", "kind"]))
        if f'"{name}": ' in text:
            k = text.index(f'"{name}": ')
            return text[:k] + f'"{name}": 1, ' + text[k:], "a name twice" + FALSE
    if how < 0.08:
        depth = int(rng.choice([101, 500, 5000]))
        return text[:-1] + f', "made": {"[" * depth}{"]" * depth}}}', "nested" + FALSE
    return text, ""


def is_changed(said: Any, honest: Any) -> bool:
    """Whether a file is about something else: it has another subject, other digests, or another kind of F or G."""
    holders = [(said, honest), (said.get("formulation"), honest["formulation"])]
    kinds = [part[which].get("kind") == own[which]["kind"] for part, own in holders for which in "FG" if which in own]
    digests = [
        said["data"].get(name) == honest["data"][name] for name in ("U", "c", "d0", "digest") if name in honest["data"]
    ]
    return not (said.get("subject") == honest["subject"] and all(kinds) and all(digests))


def is_true(said: Any, verification: Verification, honest: Any, truth: Callable[[Any], tuple[float, float]]) -> bool:
    """Whether what was accepted holds for the data of the reader, and means what the formulation does."""
    lower, upper = truth(said)
    if said["claim"].get("outcome") == "infeasible":
        return lower == math.inf and verification.lower == math.inf and said["data"] == honest["data"]
    ends = verification.claimed
    inside = ends[0] <= upper and lower <= ends[1] and verification.lower <= upper and lower <= verification.upper
    return bool(inside and said["formulation"]["name"] == honest["formulation"]["name"])


def tried(times: int, seed: int, folder: Path, subjects: tuple[str, ...] = SUBJECTS) -> Counter[str]:
    """Have so many lies judged; AssertionError for one that is accepted."""
    rng, counts, path = np.random.default_rng(seed), Counter[str](), folder / "lie.json"
    for k in range(times):
        its = subject(subjects[k % len(subjects)])
        said, names = copy.deepcopy(its.said), list[str]()
        if rng.random() < 0.4:
            names.append(taken_over(said, rng, its.others[int(rng.integers(len(its.others)))]))
        for _ in range(int(rng.integers(0 if names else 1, 3))):
            try:
                names.append(LIES[int(rng.integers(len(LIES)))](said, rng))
            except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
                names.append("over another lie")  # what it was to change is not there any more
        if rng.random() < 0.5 and isinstance(said.get("claim"), dict):
            try:
                names.append(claim(said, rng, its.truth(said)))
            except (BoostoptError, KeyError, TypeError, AttributeError):
                names.append("of no program")
        text, how = as_text(said, rng)
        path.write_text(text)
        verification = its.judge(path)
        counts["accepted" if verification.accepted else "rejected"] += 1
        if not verification.accepted:
            counts["claims" if "claims" in verification.reason else "other reasons"] += 1
            continue
        assert not any(name.endswith(FALSE) for name in (*names, how)), (names, how, text)
        assert not is_changed(json.loads(text), its.said), (names, text)
        assert is_true(json.loads(text), verification, its.said, its.truth), (names, how, text)
    return counts


if __name__ == "__main__":
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
        print(tried(int(sys.argv[1]), seed, Path(temporary)), f"{time.perf_counter() - started:.0f} s")  # noqa: T201
