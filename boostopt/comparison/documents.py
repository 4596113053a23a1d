"""Files of comparisons and benchmarks: readers that return the results as they were written.

The file was written by `to_json`, or is the file of `resume`. It is not trusted. The type of every value is checked.
Numbers must be finite and consistent with each other. No name in the file is used to compute, open or run anything.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boostopt._utils.validation import check_path
from boostopt.backends.profiles import is_named_profile
from boostopt.comparison import json_schema as fields
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison, comparison_settings
from boostopt.comparison.provenance import ORIGIN, Provenance
from boostopt.comparison.results_log import FILE_KIND, parse_json_object, parse_record_line
from boostopt.comparison.solve_record import SolveRecord, parse_record
from boostopt.comparison.solve_results import SETTINGS, BenchmarkSettings, intersect_intervals
from boostopt.errors import DataError, reason_of

MAX_FILE_BYTES = 1_000_000_000
"""The size in bytes of the largest file that is read."""

CLOCK_TOLERANCE = 0.02
"""Seconds by which clocks may disagree."""

MIN_SECONDS, MAX_SECONDS = 1e-9, 1e9
"""The range of seconds that a solve can take: from a tick of the clock to decades."""


def load_results(path: str | os.PathLike[str]) -> Comparison | Benchmark:
    """Read a file that `to_json` of a comparison or a benchmark wrote, or the file of `resume`.

    Raises
    ------
    DataError
        The file cannot be read or is none of these; a value has a wrong type; or a number is not finite or contradicts
        another one.
    """
    path = check_path("path", path, DataError)
    if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe might never end
        raise DataError(f"{path} cannot be read: it is no regular file. Save what comes out of it, and report on that.")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as failure:
        raise DataError(f"{path} cannot be read: {reason_of(failure)}. Check the path.") from failure
    if len(content) > MAX_FILE_BYTES:
        raise DataError(
            f"{path} is larger than {MAX_FILE_BYTES:,} bytes, the limit. Report on fewer programs at a time."
        )
    text = content.decode(errors="replace")
    first = parse_json_object(text.partition("\n")[0])
    if first is not None and first.get("kind") == FILE_KIND:
        return _load_results_log(path, first, text)
    return _load_json(path, text)


def _load_json(path: Path, text: str) -> Comparison | Benchmark:
    """Read a file that `to_json` wrote."""
    try:
        read = json.loads(text, parse_constant=fields.reject_non_finite)
    except (ValueError, RecursionError, OverflowError) as failure:
        raise DataError(
            f"expected what `compare --json` wrote, or the file of --resume; {path} is no JSON text, or it is "
            f"truncated ({str(failure)[:120]}). Write it anew."
        ) from None
    try:
        top = fields.parse_object(read, "the file")
        if "runs" in top:
            return replace(_parse_benchmark(top), file=str(path))
        if "rows" in top:
            return replace(_parse_comparison(top), file=str(path))
        raise ValueError("it has neither runs nor rows")
    except (ValueError, TypeError, RecursionError) as failure:
        raise _invalid_file_error(path, failure) from None


def _load_results_log(path: Path, head: Mapping[str, Any], text: str) -> Benchmark:
    """Read the file of `resume`: the latest version of each finished run, without an incomplete last line."""
    whole = text[: text.rfind("\n") + 1].splitlines()
    latest: dict[tuple[str, str, float, int], tuple[str, SolveRecord]] = {}
    ways: set[bool] = set()
    for number, line in enumerate(whole[1:], 2):
        version, row = parse_record_line(path, number, line)
        ways.add(is_named_profile(row.profile))
        try:
            latest[row.program, row.backend, row.tol, row.repeat] = version, _validate_record(row)
        except (ValueError, TypeError, RecursionError) as failure:
            raise _invalid_file_error(path, ValueError(f"line {number}: {failure}")) from None
    if not latest:
        raise DataError(f"expected finished runs; {path} has none yet. Let the benchmark go on, then report.")
    runs = tuple(run for _, run in latest.values())
    if len(ways) > 1:
        raise DataError(
            f"expected runs that were all asked for in one way; {path} has gaps to be reached and profiles by name, "
            "whose times belong in no one table. Give each a file of its own."
        )
    versions = list(dict.fromkeys(version for version, _ in latest.values()))
    try:
        digests = fields.parse_object(head.get("programs"), "programs")
        described = fields.parse_object(head.get("described", {}), "described")
        labels = dict.fromkeys([*digests, *(run.program for run in runs)])
        programs = {label: _parse_program(described.get(label, {})) for label in labels}
        profiles = sorted({run.tol for run in runs}, reverse=True)
        of_runs = {"profiles": profiles, "repeats": 1 + max(run.repeat for run in runs), "seed": 0}
        settings = BenchmarkSettings(**fields.parse_fields(SETTINGS, {**head, **of_runs}))
        environment, provenance = _parse_environment(head), _parse_provenance(head)
    except (ValueError, TypeError, RecursionError) as failure:
        raise _invalid_file_error(path, failure) from None
    return Benchmark(programs, settings, environment, ", ".join(versions), runs, provenance, str(path))


def _invalid_file_error(path: Path, failure: Exception) -> DataError:
    return DataError(f"expected a comparison or a benchmark; {path} is none: {reason_of(failure)}. Write it anew.")


def _parse_comparison(top: Mapping[str, Any]) -> Comparison:
    """Return a comparison; its rows become runs of a single repeat."""
    tol = fields.parse_fraction(top.get("tol"), "tol")
    rows = [fields.parse_object(row, "a row") for row in fields.parse_list(top.get("rows"), "rows")]
    logs = fields.parse_list(top["logs"], "logs") if "logs" in top else [[]] * len(rows)
    if not rows or len(logs) != len(rows):
        raise ValueError(f"it must have rows, and as many logs; it has {len(rows)} and {len(logs)}")
    program = _parse_program(top)
    label = str(program["about"].get("headline") or program["formulation"])
    runs = [
        {
            "program": label,
            "digest": "",
            **{name: row.get(name) for name in ("backend", "version", "result", "reason")},
            "tol": tol,
            "repeat": 0,
            "record": row,
            "log": log,
        }
        for row, log in zip(rows, logs, strict=True)
    ]
    read = tuple(_validate_record(parse_record(run)) for run in runs)
    _require_distinct(read)
    lower, upper = intersect_intervals(read)
    for name, own in (("lower", lower), ("upper", upper), ("overlap", lower <= upper)):
        said = top.get(name)
        if said is not None and said != own:
            raise ValueError(f"{name} of all rows together is {own}; the file says {said}")
    version, settings = fields.parse_text(top.get("boostopt"), "boostopt"), comparison_settings(tol, read)
    return Comparison({label: program}, settings, _parse_environment(top), version, read, _parse_provenance(top))


def _parse_benchmark(top: Mapping[str, Any]) -> Benchmark:
    """Make a benchmark from its runs; scores and means are computed from the runs, never taken from the file."""
    runs = tuple(
        _validate_record(parse_record(fields.parse_object(run, "a run")))
        for run in fields.parse_list(top.get("runs"), "runs")
    )
    programs = {
        label: _parse_program(about) for label, about in fields.parse_object(top.get("programs"), "programs").items()
    }
    if not runs or {run.program for run in runs} != set(programs):
        raise ValueError("its runs must be of the programs that it names, each with one at least")
    _require_distinct(runs)
    settings = fields.parse_object(top.get("settings"), "settings")
    if {run.tol for run in runs} != set(fields.parse_fractions(settings.get("profiles"), "profiles")):
        raise ValueError("the gaps of its runs must be its profiles")
    read = BenchmarkSettings(**fields.parse_fields(SETTINGS, settings))
    version = fields.parse_text(top.get("boostopt"), "boostopt")
    return Benchmark(programs, read, _parse_environment(top), version, runs, _parse_provenance(top))


def _require_distinct(runs: Iterable[SolveRecord]) -> None:
    """Raise ValueError if a run occurs twice."""
    keys = [(run.program, run.backend, run.tol, run.repeat) for run in runs]
    if len(set(keys)) < len(keys):
        raise ValueError("a run stands in it twice")


def _validate_record(row: SolveRecord) -> SolveRecord:
    """Return a row, or raise ValueError if its numbers contradict each other."""
    fields.parse_fraction(row.tol, "tol")
    if row.ran and row.verdict is None:
        raise ValueError(f"{row.backend} was run, and its verdict is missing")
    if row.lower > row.upper:
        raise ValueError(
            f"the interval of {row.backend} has a lower end above the upper one: {row.lower} and {row.upper}"
        )
    if row.ran and row.reached != (row.scaled_gap <= row.tol):
        raise ValueError(
            f"the result of {row.backend} is {row.result!r} at {row.tol:g}, and its gap {row.scaled_gap:g}"
        )
    width = row.upper - row.lower
    if row.ran and not row.infeasible and math.isfinite(width):
        rounding = 1e-12 * max(row.gap, abs(row.lower), abs(row.upper))
        if abs(row.gap - width) > 1e-3 * row.gap + rounding:
            raise ValueError(f"the interval of {row.backend} is {width:g} wide, and its gap {row.gap:g}")
        scaled = row.gap / max(1.0, abs(row.lower), abs(row.upper))
        if abs(row.scaled_gap - scaled) > 1e-6 * scaled:
            raise ValueError(f"the scaled gap of {row.backend} must be {scaled:g}; it is {row.scaled_gap:g}")
    spent = math.fsum(seconds for seconds in row.phases.values() if seconds is not None)
    if row.ran and spent > 1.1 * row.seconds + CLOCK_TOLERANCE:
        raise ValueError(f"the phases of {row.backend} took {spent:g} s together, and the solve {row.seconds:g} s")
    if row.reached and not MIN_SECONDS <= row.seconds <= MAX_SECONDS:
        raise ValueError(f"the seconds in which {row.backend} reached its gap are none that it can take: {row.seconds}")
    return row


def _parse_program(value: Any) -> dict[str, Any]:
    """Read the content of a program. Missing fields are left out or empty, so that nobody has to check them again."""
    content = fields.parse_object(value, "a program")
    about = fields.parse_object(content.get("about", {}), "about")
    for name in ("headline", "title", "page", "storage", "reference"):
        fields.parse_text(about.get(name, ""), name)
    for entry in fields.parse_object(about.get("meanings", {}), "meanings").values():
        fields.parse_text(entry, "a meaning")
    fields.parse_texts(about.get("sources", []), "sources")
    for name, where in (("smallest", about), ("largest", about), ("examples_with_multiplicity", content)):
        if where.get(name) is not None:
            fields.parse_finite(where[name], name)
    for name, where in (("nonzeros", about), ("examples", content), ("hypotheses", content)):
        if where.get(name) is not None:
            fields.parse_count(where[name], name)
    counted = [
        fields.parse_finite(entry, "a multiplicity")
        for entry in fields.parse_list(about.get("multiplicities", []), "they")
    ]
    if len(counted) not in (0, 2):
        raise ValueError("multiplicities must be the smallest and the largest one")
    equal = fields.parse_list(about.get("equal_weights", []), "equal_weights")
    if len(equal) not in (0, 2):
        raise ValueError("equal_weights must be the two bounds that they prove")
    for bound in equal:
        if bound is not None:
            fields.parse_finite(bound, "a bound of equal weights")
    parameters = fields.parse_object(content.get("parameters", {}), "parameters")
    for name, entry in parameters.items():
        if not (entry is None or isinstance(entry, bool | str | list)):
            fields.parse_finite(entry, f"the parameter {name}")
    numbers = ("examples", "examples_with_multiplicity", "hypotheses", "program_digest")
    return {
        **{name: content[name] for name in numbers if name in content},
        "formulation": fields.parse_text(content.get("formulation", ""), "formulation"),
        "parameters": parameters,
        "digest": fields.parse_text(content.get("digest", ""), "digest"),
        "about": about,
    }


def _parse_provenance(top: Mapping[str, Any]) -> Provenance:
    """Read the origin."""
    return Provenance(**fields.parse_fields(ORIGIN, fields.parse_object(top.get("origin", {}), "origin")))


def _parse_environment(top: Mapping[str, Any]) -> dict[str, Any]:
    """Read the machine of the measurement."""
    machine = fields.parse_object(top.get("machine"), "machine")
    fields.parse_object(machine.get("threads", {}), "threads")
    return machine
