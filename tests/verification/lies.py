"""Structured lies: files of programs, of classes and of histogram runs that claim more than their proof.

A lie takes the answer of the opposite problem, of a neighbour or of another file, exchanges orders, kinds, digests
and outcomes, or writes numbers oddly. An accepted file must be true: a solve of its statement gives the interval.

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
"""Changes the content of a file and returns the name of the lie."""

Place = tuple[Any, ...]


@dataclass(frozen=True)
class Subject:
    """Files about one program or one class.

    Attributes
    ----------
    said
        The honest file.
    others
        The files of neighbours: of the opposite problem, and of other parameters.
    judge
        Returns the verdict on a file.
    truth
        Returns an interval that contains the value that a file states.
    """

    honest: Any
    neighbours: tuple[Any, ...]
    judge: Callable[[Path], Verification]
    truth: Callable[[Any], tuple[float, float]]


def saved_content(write_file: Callable[[Path], None]) -> Any:
    """Return the content of a file that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        write_file(Path(folder) / "c.json")
        return json.loads((Path(folder) / "c.json").read_text())


NEIGHBOUR_FACTORS = ({"nu": 1.05}, {"eta": 1.1}, {"C": 0.95}, {"r": 1.02}, {"gamma": 0.9}, {"rho": 1.1}, {"p": 1.05})
"""Factors of the parameters of neighbours."""


@cache
def program_subject(case: str) -> Subject:
    """Return a subject: a program, its opposite, and programs with parameters that are nearby."""
    bound_program = program(case)
    U, c, d0 = bound_program.margins.to_array(), bound_program.examples.c, bound_program.examples.d0
    parameters = document(case)["formulation"]["parameters"]
    page = get_formulation(bound_program.formulation.name)
    references = {"d0": d0} if page.uses_reference else {}

    @cache
    def solution(numbers: tuple[tuple[str, Any], ...], sign: float = 1.0) -> Any:
        return page.bind(sign * U, c=c, **references, **{k: math.inf if v == "inf" else v for k, v in numbers}).solve(
            tol=1e-9
        )

    def truth(content: Any) -> tuple[float, float]:
        certificate = solution(tuple(sorted(content["formulation"]["parameters"].items()))).certificate
        return certificate.lower, certificate.upper

    neighbours = [solution(tuple(sorted(parameters.items())), -1.0)]
    for factors in NEIGHBOUR_FACTORS:
        if all(isinstance(parameters.get(name), float) for name in factors):
            numbers = {**parameters, **{name: parameters[name] * factor for name, factor in factors.items()}}
            neighbours.append(solution(tuple(sorted(numbers.items()))))
    files = tuple(saved_content(lambda path, answer=answer: save(answer, path)) for answer in neighbours)
    return Subject(document(case), files, lambda path: verify(path, U, c=c, d0=d0), truth)


@cache
def examples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 3)), 1)
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=80) > 0, 1, -1), rng.integers(1, 3, 80).astype(float)


@cache
def class_subject(kind: str) -> Subject:
    """Return a subject: a run over a class by steps, or by histogram Newton for a soft margin or a loss."""
    X, y, c = examples()
    page, name, value = ("log_loss", "eta", 6.0) if kind == "loss" else ("erlpboost", "nu", 30.0)
    update = "total" if kind == "steps" else "newton"
    accuracy = 0.01 * (float(c.sum()) if kind == "loss" else 1.0)
    oracle_class = DecisionStumps if kind == "steps" else BinnedStumps

    @cache
    def run(number: float, sign: int = 1) -> Run:
        numbers: dict[str, Any] = {name: number}
        return boost(page, oracle_class(X, sign * y, c=c), epsilon=accuracy, update=update, **numbers)

    def file(number: float, sign: int = 1) -> Any:
        return saved_content(lambda path: run(number, sign).save_certificate(path, oracle_class(X, sign * y, c=c)))

    def truth(content: Any) -> tuple[float, float]:
        certificate = run(content["formulation"]["parameters"][name]).class_certificate
        return certificate.lower, certificate.upper

    neighbours = file(value, -1), file(value * 0.9), file(value * 1.1)
    return Subject(file(value), neighbours, lambda path: verify(path, oracle_class(X, y, c=c)), truth)


SUBJECTS = (*CASES, "steps", "looks", "loss")
"""The subjects of the lies."""


@cache
def subject(name: str) -> Subject:
    return program_subject(name) if name in CASES else class_subject(name)


def places(content: Any, path: Place = ()) -> list[Place]:
    """Return the places of all numbers of a file except those of its origin. Of each list there are at most three."""
    if isinstance(content, dict):
        return [place for key, value in content.items() if key != "made" for place in places(value, (*path, key))]
    if isinstance(content, list):
        return [
            place
            for k in {0, len(content) // 2, len(content) - 1}
            if content
            for place in places(content[k], (*path, k))
        ]
    return [path] if isinstance(content, int | float) else []


def entry(content: Any, place: Place) -> Any:
    for step in place:
        content = content[step]
    return content


def set_entry(content: Any, place: Place, value: Any) -> None:
    entry(content, place[:-1])[place[-1]] = value


def lists(content: Any) -> list[Place]:
    """Return the places of the lists that prove the bounds."""
    if content["subject"] == "looks":
        return [("w",), ("d", "w"), ("d", "table"), ("data", "hypotheses")]
    return [("arrays", name) for name in content["arrays"]]


def neighbour_answer(content: Any, rng: np.random.Generator, neighbour: Any) -> str:
    """Take the answer of a neighbour, or a part of the answer, or everything except the data."""
    names = ["w", "d"] if content["subject"] == "looks" else ["arrays", "proof"]
    how = int(rng.integers(4))
    if how == 0:
        names = names[: int(rng.integers(1, 3))]
    elif how == 1:
        names += ["claim"]
    elif how == 2:
        names += ["claim", "F", "G", "formulation", "nu"]
    for name in names:
        if name in content and name in neighbour:
            content[name] = copy.deepcopy(neighbour[name])
    return f"taken over {how}"


def another_order(content: Any, rng: np.random.Generator) -> str:
    """Put a list into another order: exchange two entries, reverse it, shift it or sort it."""
    place = lists(content)[int(rng.integers(len(lists(content))))]
    values, how = entry(content, place), int(rng.integers(4))
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


def stale(content: Any, rng: np.random.Generator) -> str:
    """Change two entries of an array such that the sum stays, as before an update."""
    place = lists(content)[int(rng.integers(3 if content["subject"] == "looks" else len(lists(content))))]
    values = entry(content, place)
    if not values:
        return "stale"
    i, j = (int(k) for k in rng.integers(0, len(values), 2))
    change = values[i] * float(rng.choice([1.0, 0.5, 1e-3, 1e-9]))
    change = int(change) if isinstance(values[i], int) else change
    values[i], values[j] = values[i] - change, values[j] + change
    return "stale"


def odd_number(content: Any, rng: np.random.Generator) -> str:
    """Mark a number that `as_text` replaces by odd letters."""
    options = places(content)
    place = options[int(rng.integers(len(options)))]
    set_entry(content, place, f"ODD{int(rng.integers(len(ODD)))}")
    return "odd number"


def near_number(content: Any, rng: np.random.Generator) -> str:
    """Multiply a number by a factor near 1, by a large one, or by -1."""
    options = places(content)
    place = options[int(rng.integers(len(options)))]
    value = entry(content, place)
    factor = float(rng.choice([1 + 1e-15, 1 - 1e-12, 1 + 1e-6, 0.9, 2.0, -1.0, 0.0, 1e6, 1e50, 1e-50]))
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(factor) < 1e7
    set_entry(content, place, int(value * factor) if whole else float(value) * factor)
    return "near number"


def parameter_everywhere(content: Any, rng: np.random.Generator) -> str:
    """Change a parameter of the formulation, of F, of G and of the file alike."""
    parameters = content["formulation"]["parameters"]
    names = [name for name, value in parameters.items() if isinstance(value, float) and name != "epsilon"]
    name = names[int(rng.integers(len(names)))]
    number = parameters[name]
    after = number * float(rng.choice([0.9, 1.1, 1.0 + 1e-12]))
    if content["subject"] != "program":
        after = number * float(rng.choice([0.9, 1.1]))
    for part in (parameters, content, *(x for holder in (content, content["formulation"]) for x in _functions(holder))):
        if name in part and part[name] == number:
            part[name] = after
    return "a parameter everywhere"


def _functions(holder: Any) -> list[Any]:
    parts = [holder[name] for name in ("F", "G") if isinstance(holder.get(name), dict)]
    return parts + [part["base"] for part in parts if isinstance(part.get("base"), dict)]


def another_kind(content: Any, rng: np.random.Generator) -> str:
    """Replace F or G by another kind with its numbers."""
    holders = [holder for holder in (content, content["formulation"]) if "F" in holder]
    holder = holders[int(rng.integers(len(holders)))]
    function, kinds = ("F", REGULARIZER_FIELDS) if rng.random() < 0.5 else ("G", EDGE_FIELDS)
    kind, statement = str(rng.choice(sorted(kinds))), holder[function]
    numbers: dict[str, Any] = {"caps": "c / nu", "nu": 4.0, "q": 2.0, "base": statement, "signed": True, "text": "d**2"}
    numbers |= {"parameters": {}, "p": 2.0, "mu": 0.5, "B": "inf"}
    holder[function] = {"kind": kind, **{name: statement.get(name, numbers.get(name, 1.0)) for name in kinds[kind]}}
    if "caps" in kinds[kind]:
        holder[function]["nu"] = statement.get("nu", 4.0)
    return "another kind"


def another_digest(content: Any, rng: np.random.Generator) -> str:
    names = [name for name in ("U", "c", "d0", "digest") if name in content["data"]]
    name = names[int(rng.integers(len(names)))]
    digest = content["data"][name]
    k = int(rng.integers(len(digest)))
    content["data"][name] = digest[:k] + ("0" if digest[k] != "0" else "1") + digest[k + 1 :]
    return "another digest"


def another_outcome(content: Any, rng: np.random.Generator) -> str:
    """Claim an optimum where there is none, or the reverse, or change the subject."""
    if rng.random() < 0.3:
        content["subject"] = str(
            rng.choice([name for name in ("program", "class", "looks") if name != content["subject"]])
        )
        return "another subject"
    if content["claim"].get("outcome") == "solved":
        content["claim"] = {"outcome": "infeasible", "excess": float(10.0 ** rng.uniform(-15, 0))}
        content["arrays"].pop("d", None)
    elif content["claim"].get("outcome") == "infeasible":
        content["claim"] = {"outcome": "solved", "lower": -1e300, "upper": "inf"}
    return "another outcome"


def another_beta(content: Any, rng: np.random.Generator) -> str:
    if "proof" in content:
        content["proof"]["beta"] += float(rng.normal()) * 10.0 ** float(rng.uniform(-9, 3))
        content["proof"]["beta"] *= float(rng.choice([1.0, -1.0, 1e10, 1e200]))
    else:
        content["d"]["origin"], content["d"]["shift"] = int(rng.integers(-(2**30), 2**30)), int(rng.integers(0, 31))
    return "another beta"


def zeros(content: Any, rng: np.random.Generator) -> str:
    """Give zeros a sign: they stay zeros."""
    for place in lists(content)[:1]:
        values = entry(content, place)
        values[:] = [-0.0 if value == 0 and isinstance(value, float) else value for value in values]
    return "zeros"


LIES: tuple[Lie, ...] = (
    another_order,
    stale,
    odd_number,
    near_number,
    parameter_everywhere,
    another_kind,
    another_digest,
    another_outcome,
    another_beta,
    zeros,
)


def claim(content: Any, rng: np.random.Generator, truth: tuple[float, float]) -> str:
    """Claim more than is true at one end. The other end claims nothing."""
    if "excess" in content["claim"]:
        # No edge exceeds 1, nor does a bound of them: the excess of w is at most twice the sum of its sizes.
        content["claim"]["excess"] = (2.5 + float(rng.random())) * math.fsum(map(abs, content["arrays"]["w"]))
        return "claims too much" + FALSE
    lower, upper = truth
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return "of an infeasible program"
    excess = float(10.0 ** rng.uniform(-14, 0)) * max(1.0, abs(lower))
    if rng.random() < 0.5:
        content["claim"] |= {"lower": math.nextafter(upper + excess, math.inf), "upper": 1e9}
    else:
        content["claim"] |= {"lower": -1e9, "upper": math.nextafter(lower - excess, -math.inf)}
    return "claims too much" + FALSE


def as_text(content: Any, rng: np.random.Generator) -> tuple[str, str]:
    """Return the text of a file, and the name of the change of the text."""
    text = json.dumps(content)
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


def is_changed(content: Any, honest: Any) -> bool:
    """Return whether a file has another subject, other digests, or another kind of F or G."""
    holders = [(content, honest), (content.get("formulation"), honest["formulation"])]
    kinds = [
        part[function].get("kind") == honest_part[function]["kind"]
        for part, honest_part in holders
        for function in "FG"
        if function in honest_part
    ]
    digests = [
        content["data"].get(name) == honest["data"][name]
        for name in ("U", "c", "d0", "digest")
        if name in honest["data"]
    ]
    return not (content.get("subject") == honest["subject"] and all(kinds) and all(digests))


def is_true(content: Any, verification: Verification, honest: Any, truth: Callable[[Any], tuple[float, float]]) -> bool:
    """Return whether an accepted claim is true for the data of the reader, and names the formulation."""
    lower, upper = truth(content)
    if content["claim"].get("outcome") == "infeasible":
        return lower == math.inf and verification.lower == math.inf and content["data"] == honest["data"]
    ends = verification.claimed
    inside = ends[0] <= upper and lower <= ends[1] and verification.lower <= upper and lower <= verification.upper
    return bool(inside and content["formulation"]["name"] == honest["formulation"]["name"])


def judge_lies(times: int, seed: int, folder: Path, subjects: tuple[str, ...] = SUBJECTS) -> Counter[str]:
    """Judge a number of lies. An accepted lie raises an AssertionError."""
    rng, counts, path = np.random.default_rng(seed), Counter[str](), folder / "lie.json"
    for k in range(times):
        lie_subject = subject(subjects[k % len(subjects)])
        content, names = copy.deepcopy(lie_subject.honest), list[str]()
        if rng.random() < 0.4:
            names.append(
                neighbour_answer(content, rng, lie_subject.neighbours[int(rng.integers(len(lie_subject.neighbours)))])
            )
        for _ in range(int(rng.integers(0 if names else 1, 3))):
            try:
                names.append(LIES[int(rng.integers(len(LIES)))](content, rng))
            except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
                names.append("over another lie")  # an earlier lie has removed the part
        if rng.random() < 0.5 and isinstance(content.get("claim"), dict):
            try:
                names.append(claim(content, rng, lie_subject.truth(content)))
            except (BoostoptError, KeyError, TypeError, AttributeError):
                names.append("of no program")
        text, how = as_text(content, rng)
        path.write_text(text)
        verification = lie_subject.judge(path)
        counts["accepted" if verification.accepted else "rejected"] += 1
        if not verification.accepted:
            counts["claims" if "claims" in verification.reason else "other reasons"] += 1
            continue
        assert not any(name.endswith(FALSE) for name in (*names, how)), (names, how, text)
        assert not is_changed(json.loads(text), lie_subject.honest), (names, text)
        assert is_true(json.loads(text), verification, lie_subject.honest, lie_subject.truth), (names, how, text)
    return counts


if __name__ == "__main__":
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
        print(judge_lies(int(sys.argv[1]), seed, Path(temporary)), f"{time.perf_counter() - started:.0f} s")  # noqa: T201
