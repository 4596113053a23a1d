"""The tables of programs that others have made: claims, proofs, published optima, seconds."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.evidence.experiment import Results
from benchmarks.pages import row
from benchmarks.program_file_steps import SOLVERS, SOURCES, has_failed
from boostopt._utils.formatting import format_interval

BEGIN, END = "<!-- instances of others -->", "<!-- end of instances of others -->"

MAX_DISTANCE = 1e-4
"""Distance of a claimed value from the proved interval, over max(1, |value|), beyond which it is refuted."""

CONFIRMING_GAP = 1e-3
"""Scaled gap of the widest interval that confirms a published optimum."""

DECIMAL, BINARY = "exactly, decimal numbers", "exactly, binary numbers"
"""Sources of proofs of the two readings of a file."""

_EXACTLY = {"decimal": DECIMAL, "binary": BINARY}

N_DEAREST = 10

MAX_SHOWN = 24
"""Length of the longest fraction that a cell shows."""

TITLES = {
    "netlib": "Linear programs of Netlib",
    "netlib_infeasible": "Infeasible linear programs of Netlib",
    "maros_meszaros": "Quadratic programs of Maros and Meszaros",
    "cblib_exp": "Exponential cones of CBLIB",
    "cblib_socp": "Second-order cones of CBLIB",
    "sdplib": "Semidefinite programs of SDPLIB",
}
"""Headings of the collections."""

Steps = Mapping[str, Mapping[str, Any]]
"""Results of the steps of one file, by step."""


@dataclass(frozen=True)
class Truth:
    """A proved statement about one reading of a file.

    Attributes
    ----------
    status
        "optimal" for an exact optimum; else the status of a certificate or of an exact proof.
    lower, upper
        Ends of an interval of the optimum, of the minimum for files that minimize; fractions or infinities.
    is_maximized
        Whether the file maximizes.
    source
        The method that proved it.
    """

    status: str
    lower: Fraction | float
    upper: Fraction | float
    is_maximized: bool
    source: str

    @property
    def has_optimum(self) -> bool:
        """True unless it is proved that there is no optimum."""
        return self.status not in ("infeasible", "unbounded")

    @property
    def gap(self) -> float:
        """The scaled gap."""
        if self.lower == self.upper:
            return 0.0
        lower, upper = float(self.lower), float(self.upper)
        gap = (upper - lower) / max(1.0, abs(lower), abs(upper))
        return gap if math.isfinite(gap) else math.inf


@cache
def _published() -> Any:
    return json.loads((Path(__file__).parent / "published_optima.json").read_text(encoding="utf-8"))


def published_optimum(file: str) -> str | None:
    """Return the published optimum of a file as it is printed, or "infeasible"; None if there is none."""
    collection, _, name = file.partition("/")
    stem = name.removesuffix(".gz").removesuffix(".cbf").removesuffix(".mat").removesuffix(".dat-s")
    entry = _published().get(collection, {"optima": {}})
    return entry["optima"].get(stem, entry.get("all"))


def printed_interval(text: str) -> tuple[Fraction, Fraction]:
    """Return the numbers within one unit of the last printed digit: published values are rounded or cut off."""
    number = Decimal(text)
    unit = Fraction(Decimal(1).scaleb(int(number.as_tuple().exponent)))
    return Fraction(number) - unit, Fraction(number) + unit


def truths(done: Steps) -> list[Truth]:
    """Return what is proved of a file: by exact optima of both readings, and by certificates of the floats."""
    is_maximized = done["load"].get("is_maximized", False)
    proofs = list[Truth]()
    for numbers in ("decimal", "binary"):
        result = done.get(f"exact {numbers}")
        if result is None or has_failed(result) or not result["is_proved"]:
            continue
        status = result["status"]
        lower, upper = _ends(status, is_maximized)
        if status == "optimal":
            value = Fraction(result["fraction"] or Decimal(result["value"]))
            lower = upper = value
        proofs.append(Truth(status, lower, upper, is_maximized, _EXACTLY[numbers]))
    certificate = joint_certificate(done)
    return proofs if certificate is None else [*proofs, certificate]


def joint_certificate(done: Steps) -> Truth | None:
    """Return the intersection of the certified intervals of a file; None where no answer was certified."""
    certificates = [result for step, result in done.items() if step.startswith("certify ") and not has_failed(result)]
    if not certificates:
        return None
    statuses = [result["status"] for result in certificates]
    status = next((s for s in statuses if s in ("infeasible", "unbounded")), "open")
    lower = max(_number(result["lower"]) for result in certificates)
    upper = min(_number(result["upper"]) for result in certificates)
    if status == "open" and math.isfinite(lower) and math.isfinite(upper):
        status = "bounded"
    return Truth(status, lower, upper, done["load"].get("is_maximized", False), "by a certificate")


def _number(text: str) -> Fraction | float:
    value = float(text)
    return Fraction(value) if math.isfinite(value) else value


def _ends(status: str, is_maximized: bool) -> tuple[float, float]:
    """Return the ends of the interval of a problem without an optimum."""
    if status == "optimal":
        return -math.inf, math.inf
    end = math.inf if (status == "infeasible") != is_maximized else -math.inf
    return end, end


def is_refuted(claim: Mapping[str, Any], proofs: Sequence[Truth]) -> bool:
    """Return whether a claim contradicts a proof of each reading of a file, that in decimal numbers and that in floats.

    A claim that is right for one reading is right.
    """
    decimal = [truth for truth in proofs if truth.source == DECIMAL]
    binary = [truth for truth in proofs if truth.source != DECIMAL]
    readings = [reading for reading in (decimal, binary) if reading]
    return bool(readings) and all(any(_is_contradicted(claim, truth) for truth in reading) for reading in readings)


def _is_contradicted(claim: Mapping[str, Any], truth: Truth) -> bool:
    status = claim.get("status") or ""
    if status.startswith("optimal"):
        if not truth.has_optimum:
            return True
        return claim["value"] is not None and distance(claim["value"], truth) > MAX_DISTANCE
    is_feasible = truth.status != "infeasible" and math.isfinite(truth.lower if truth.is_maximized else truth.upper)
    if status.startswith("infeasible") and "unbounded" not in status:
        return is_feasible or truth.status == "unbounded"
    if status.startswith("unbounded"):
        return truth.has_optimum and math.isfinite(truth.upper if truth.is_maximized else truth.lower)
    if status.startswith("infeasible_or_unbounded"):
        return truth.status in ("optimal", "bounded")
    return False


def distance(value: float, truth: Truth) -> float:
    """Return the distance of a value from a proved interval, over max(1, |value|)."""
    return max(0.0, float(truth.lower - value), float(value - truth.upper)) / max(1.0, abs(value))


def verdict(file: str, proofs: Sequence[Truth]) -> str:
    """Return what the proofs say of the published optimum.

    Of the exact optima, that of the decimal numbers counts: these are the numbers that the authors of a file wrote.
    """
    text = published_optimum(file)
    if text is None:
        return "none published"
    if not proofs:
        return "not decided"
    truth = proofs[0]
    if text == "infeasible":
        has_end = truth.has_optimum and truth.gap < math.inf
        return "confirmed" if truth.status == text else "**contradicted**" if has_end else "not decided"
    low, high = printed_interval(text)
    if not truth.has_optimum or truth.upper < low or truth.lower > high:
        return "**contradicted**"
    if low <= truth.lower and truth.upper <= high:
        return "sharpened"
    return "confirmed" if truth.gap <= CONFIRMING_GAP else "not decided"


def describe_claim(claim: Mapping[str, Any]) -> str:
    """Return the claim of a solver in words."""
    if not claim.get("takes", True):
        return "-"
    if "exceeded" in claim:
        return f"over {claim['exceeded']:g} s"
    if "failure" in claim:
        return "failed"
    status = claim["status"] or "failed"
    return f"{status} {claim['value']:.10g}" if status.startswith("optimal") and claim["value"] is not None else status


def describe_truth(truth: Truth) -> str:
    """Return a proved statement in words."""
    if not truth.has_optimum:
        return f"{truth.status}, {truth.source}"
    return f"{describe_interval(truth)}, {truth.source}"


def describe_interval(truth: Truth) -> str:
    """Return an interval in words."""
    if not truth.has_optimum:
        return f"proved {truth.status}"
    if truth.lower == truth.upper:
        return f"{float(truth.lower):.15g}"
    return format_interval(float(truth.lower), float(truth.upper))


def digits(truth: Truth | None) -> str:
    """Return the number of proved digits; empty where nothing is proved."""
    if truth is None or not math.isfinite(truth.gap):
        return "0"
    return "" if not truth.has_optimum else str(min(16, max(0, math.floor(-math.log10(max(truth.gap, 1e-16))))))


def tables(results: Results) -> str:
    """Return all tables of the page."""
    files = dict[str, dict[str, Any]]()
    for parameters, result in results:
        files.setdefault(parameters["file"], {})[parameters["step"]] = result
    parts = [_summary(files), "", _versions(results)]
    parts += ["", "## Refuted claims", "", *_refuted_table(files)]
    parts += ["", "## Contradicted optima", "", *_contradicted_table(files)]
    parts += ["", "## The dearest certificates", "", *_dearest_table(files)]
    for collection in TITLES:
        members = {file: files[file] for file in sorted(files) if file.startswith(f"{collection}/")}
        if members:
            parts += ["", f"## {TITLES[collection]}", "", *_source(collection), *_collection_table(members)]
    return "\n".join(parts)


def _summary(files: Mapping[str, Steps]) -> str:
    lines = [
        "| collection | files | certificates ended | bounded or decided | gap at most 1e-6 | exact | sharpened | "
        "confirmed | contradicted | refuted claims | median of seconds of certificate over solve | "
        "median of seconds of proof over solve |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for collection, title in TITLES.items():
        members = {file: done for file, done in files.items() if file.startswith(f"{collection}/")}
        if not members:
            continue
        certificates = [joint_certificate(done) for done in members.values()]
        ended = [truth for truth in certificates if truth is not None]
        decided = [truth for truth in ended if truth.status != "open"]
        verdicts = [verdict(file, truths(done)) for file, done in members.items()]
        exact = sum(any(truth.source.startswith("exactly") for truth in truths(done)) for done in members.values())
        lines.append(
            row(
                [
                    title,
                    str(len(members)),
                    str(len(ended)),
                    str(len(decided)),
                    str(sum(not truth.has_optimum or truth.gap <= 1e-6 for truth in decided)),
                    str(exact),
                    *(str(sum(word in text for text in verdicts)) for word in ("sharpened", "confirmed", "contra")),
                    str(sum(1 for file, done in members.items() for _ in refuted_claims(file, done))),
                    _median_cell(map(seconds_ratio, members.values())),
                    _median_cell(map(proof_ratio, members.values())),
                ]
            )
        )
    return "\n".join(lines)


def _median_cell(ratios: Iterable[float | None]) -> str:
    """Return the median of the ratios that are known, and their number; empty where none is."""
    numbers = [ratio for ratio in ratios if ratio is not None]
    return f"{statistics.median(numbers):.3g} (of {len(numbers)})" if numbers else ""


def _versions(results: Results) -> str:
    versions = sorted({line["version"] for line in results.lines})
    processors = sorted({line["processor"] for line in results.lines})
    return f"Made by boostopt {', '.join(versions)} on {', '.join(processors)}."


def seconds_ratio(done: Steps) -> float | None:
    """Return the seconds of the first certificate over those of Clarabel's solve; None without both.

    A solve that exceeded its limit counts with the limit: then the ratio is at most the number.
    """
    solve, certificate = _solve_and_certificate(done)
    seconds = _least_seconds(solve)
    return None if has_failed(certificate) or seconds is None else certificate["seconds"] / seconds


def proof_ratio(done: Steps) -> float | None:
    """Return the seconds of the first certificate without its own solves over those of Clarabel's solve.

    None where one of these is missing: certificates of earlier versions have no seconds of their solves.
    """
    solve, certificate = _solve_and_certificate(done)
    proof, seconds = proof_seconds(certificate), _least_seconds(solve)
    return None if proof is None or seconds is None else proof / seconds


def _least_seconds(solve: Mapping[str, Any]) -> float | None:
    """Return the seconds that a solve takes at least; None where it failed or was not run."""
    return solve.get("exceeded", solve.get("seconds"))


def proof_seconds(certificate: Mapping[str, Any]) -> float | None:
    """Return the seconds of a certificate without those of the solves in it; None where these were not measured."""
    if has_failed(certificate) or "solver_seconds" not in certificate:
        return None
    return certificate["seconds"] - certificate["solver_seconds"]


def _solve_and_certificate(done: Steps) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return Clarabel's solve and the first certificate; a failure in place of one that is missing."""
    missing: Mapping[str, Any] = {"failure": "not run"}
    steps = [f"certify {source}" for source in SOURCES]
    return done.get(f"solve {SOLVERS[0]}", missing), next((done[step] for step in steps if step in done), missing)


def refuted_claims(file: str, done: Steps) -> Iterator[tuple[str, Mapping[str, Any], Truth]]:
    """Yield solver, claim and the narrowest proof of the claims that are refuted."""
    proofs = truths(done)
    for solver in SOLVERS:
        claim = done.get(f"solve {solver}")
        if claim is not None and claim.get("takes") and not has_failed(claim) and is_refuted(claim, proofs):
            yield solver, claim, min(proofs, key=lambda truth: truth.gap)


def _refuted_table(files: Mapping[str, Steps]) -> list[str]:
    lines = ["| file | solver | claim | proved | command |", "|---|---|---|---|---|"]
    for file in sorted(files):
        for solver, claim, truth in refuted_claims(file, files[file]):
            command = f"`python benchmarks/program_files.py --show {file} {solver}`"
            lines.append(row([file, solver, describe_claim(claim), describe_interval(truth), command]))
    return lines if len(lines) > 2 else ["None."]


def _contradicted_table(files: Mapping[str, Steps]) -> list[str]:
    lines = ["| file | published | proved | relative distance |", "|---|--:|---|--:|"]
    for file in sorted(files):
        proofs = truths(files[file])
        if "contradicted" in verdict(file, proofs):
            published = str(published_optimum(file))
            lines.append(row([file, published, describe_truth(proofs[0]), _relative_distance(published, proofs[0])]))
    return lines if len(lines) > 2 else ["None."]


def _relative_distance(published: str, truth: Truth) -> str:
    """Return the distance of a published optimum from what is proved, over its absolute value, as a cell."""
    if published == "infeasible" or not truth.has_optimum:
        return ""
    value = Fraction(Decimal(published))
    return f"{float(max(truth.lower - value, value - truth.upper)) / abs(float(value)):.1e}"


def _dearest_table(files: Mapping[str, Steps]) -> list[str]:
    lines = ["| file | certificate, s | proof, s | solve, s | ratio |", "|---|--:|--:|--:|--:|"]
    ratios = {file: ratio for file, done in files.items() if (ratio := seconds_ratio(done)) is not None}
    for file in sorted(ratios, key=lambda name: -ratios[name])[:N_DEAREST]:
        certificate, solve = _first_seconds(files[file])
        proof = proof_seconds(_solve_and_certificate(files[file])[1])
        proof_cell = "" if proof is None else f"{proof:.3g}"
        lines.append(row([file, certificate, proof_cell, solve, f"{ratios[file]:.3g}"]))
    late = [file for file in sorted(files) if any("exceeded" in r for s, r in files[file].items() if "certify" in s)]
    return [*lines, "", f"Certificates that did not end in time: {', '.join(late) if late else 'none'}."]


def _first_seconds(done: Steps) -> tuple[str, str]:
    """Return the seconds of the first certificate and of Clarabel's solve, as cells."""
    steps = [f"certify {source}" for source in SOURCES]
    first = next((done[step] for step in steps if step in done), None)
    return _seconds_cell(first), _seconds_cell(done.get(f"solve {SOLVERS[0]}"))


def _seconds_cell(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return "not run"
    if "exceeded" in result:
        return f"over {result['exceeded']:g}"
    return "failed" if "failure" in result else f"{result['seconds']:.3g}"


def _source(collection: str) -> list[str]:
    source = _published().get(collection, {}).get("source")
    return [f"Published optima: {source}.", ""] if source else ["No optima are published.", ""]


def _collection_table(members: Mapping[str, Steps]) -> list[str]:
    lines = [
        f"| file | rows x columns | nonzeros | {' | '.join(SOLVERS)} | certified interval | digits | exact | "
        "solve, s | certificate, s | memory, MB | published | verdict |",
        f"|---|--:|--:|{'---|' * len(SOLVERS)}---|--:|---|--:|--:|--:|--:|---|",
    ]
    lines += [_row(file, done) for file, done in members.items()]
    return lines


def _row(file: str, done: Steps) -> str:
    name = file.partition("/")[2].removesuffix(".gz").removesuffix(".cbf").removesuffix(".mat").removesuffix(".dat-s")
    size = done["load"]
    if has_failed(size):
        return row([name, str(size), *[""] * (len(SOLVERS) + 9)])
    refuted = {solver for solver, _, _ in refuted_claims(file, done)}
    claims = [_claim_cell(done.get(f"solve {solver}"), solver in refuted) for solver in SOLVERS]
    truth = joint_certificate(done)
    certificate, solve = _first_seconds(done)
    memory = max(result.get("memory", 0) for result in done.values())
    return row(
        [
            name,
            f"{size['rows']} x {size['columns']}",
            str(size["nonzeros"]),
            *claims,
            certificate if truth is None else describe_interval(truth),
            digits(truth),
            "" if size["cones"] else _exact_cell(done),
            solve,
            certificate,
            str(memory),
            published_optimum(file) or "",
            verdict(file, truths(done)),
        ]
    )


def _claim_cell(claim: Mapping[str, Any] | None, refuted: bool) -> str:
    if claim is None:
        return "not run"
    words = describe_claim(claim).split()
    text = " ".join(words[:1]) if words[0].startswith("optimal") else " ".join(words)
    text = text.replace("_", " ")
    return f"**{text}**" if refuted else text


def _exact_cell(done: Steps) -> str:
    """Return the exact optimum of the decimal numbers, and that of the binary ones where 12 digits differ."""
    decimal, binary = (done.get(f"exact {numbers}") for numbers in ("decimal", "binary"))
    cell, binary_cell = _exact_words(decimal), _exact_words(binary)
    if decimal is None or binary is None or "value" not in decimal or "value" not in binary:
        return cell if cell == binary_cell else f"{cell}; binary: {binary_cell}"
    is_same = f"{Decimal(decimal['value']):.12g}" == f"{Decimal(binary['value']):.12g}"
    return cell if is_same else f"{cell}; binary: {binary_cell}"


def _exact_words(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return "not run"
    if "exceeded" in result:
        return f"over {result['exceeded']:g} s"
    if "failure" in result:
        return "failed"
    if result["status"] != "optimal":
        return result["status"]
    fraction = result["fraction"]
    return fraction if fraction and len(fraction) <= MAX_SHOWN else f"{Decimal(result['value']):.16g}..."
