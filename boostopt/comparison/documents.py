"""Readers of files of comparisons and benchmarks, which return the results as they were written.

`to_json` wrote the file, or the file is the results log of `resume`. The file is not trusted. The type of every value
is checked. Numbers must be finite and consistent with each other. No name in the file is used to compute, open or run
anything.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boostopt._utils import json_values
from boostopt._utils.validation import check_path
from boostopt.backends.accuracy_profiles import is_named_profile
from boostopt.comparison.benchmark import Measurement
from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.compare import Comparison, comparison_settings
from boostopt.comparison.provenance import ORIGIN, Provenance
from boostopt.comparison.result_field_parsers import parse_fraction, parse_fractions
from boostopt.comparison.results_log import ACCURACIES, FILE_KIND, parse_json_object, parse_record_line
from boostopt.comparison.solve_record import SolveRecord, parse_record
from boostopt.comparison.solve_results import SETTINGS, BenchmarkSettings, intersect_intervals
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.errors import DataError, reason_of

MAX_FILE_BYTES = 1_000_000_000
"""Size of the largest file that is read, in bytes."""

CLOCK_TOLERANCE = 0.02
"""Seconds by which the clocks of phases and of the solve may differ."""

MIN_SECONDS, MAX_SECONDS = 1e-9, 1e9
"""Range of the seconds of a solve: from a tick of the clock to decades."""


def load_results(path: str | os.PathLike[str]) -> Comparison | Benchmark | WorkPrecision:
    """Read a file that `to_json` of a result wrote, or the results log of `resume`.

    Parameters
    ----------
    path
        The file, of at most `MAX_FILE_BYTES` bytes.

    Returns
    -------
    The result that was written. A results log gives a benchmark of the solves that are finished, or their work and
    precision if the solvers were asked for accuracies.

    Raises
    ------
    DataError
        The file cannot be read or has another content; a value has a wrong type; or a number is not finite or
        contradicts another one.
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
    header = parse_json_object(text.partition("\n")[0])
    if header is not None and header.get("kind") == FILE_KIND:
        return _load_results_log(path, header, text)
    return _load_json(path, text)


def _load_json(path: Path, text: str) -> Comparison | Benchmark | WorkPrecision:
    """Return the result in a file that `to_json` wrote."""
    try:
        document = json.loads(text, parse_constant=json_values.reject_non_finite)
    except (ValueError, RecursionError, OverflowError) as failure:
        raise DataError(
            f"expected what `compare --json` wrote, or the file of --resume; {path} is no JSON text, or it is "
            f"truncated ({str(failure)[:120]}). Write it anew."
        ) from None
    try:
        top = json_values.parse_object(document, "the file")
        if "runs" in top:
            result = _parse_work_precision(top) if "requests" in top else _parse_benchmark(top)
            return replace(result, file=str(path))
        if "rows" in top:
            return replace(_parse_comparison(top), file=str(path))
        raise ValueError("it has neither runs nor rows")
    except (ValueError, TypeError, RecursionError) as failure:
        raise _invalid_file_error(path, failure) from None


def _load_results_log(path: Path, header: Mapping[str, Any], text: str) -> Benchmark | WorkPrecision:
    """Return the result in a results log: the latest version of each finished run, without an incomplete line."""
    lines = text[: text.rfind("\n") + 1].splitlines()
    latest: dict[tuple[str, str, float, int], tuple[str, SolveRecord]] = {}
    request_kinds: set[bool] = set()  # whether a run was requested by a profile
    for number, line in enumerate(lines[1:], 2):
        version, row = parse_record_line(path, number, line)
        request_kinds.add(is_named_profile(row.profile))
        try:
            latest[row.program, row.backend, row.tol, row.repeat] = version, _validate_record(row)
        except (ValueError, TypeError, RecursionError) as failure:
            raise _invalid_file_error(path, ValueError(f"line {number}: {failure}")) from None
    if not latest:
        raise DataError(f"expected finished runs; {path} has none yet. Let the benchmark go on, then report.")
    runs = tuple(run for _, run in latest.values())
    asks_accuracies = header.get("asked_by") == ACCURACIES
    if len(request_kinds) > 1 and not asks_accuracies:
        raise DataError(
            f"expected runs that all have one kind of request; {path} has gaps to be reached and profiles by name, "
            "whose times belong in no one table. Give each a file of its own."
        )
    versions = list(dict.fromkeys(version for version, _ in latest.values()))
    try:
        digests = json_values.parse_object(header.get("programs"), "programs")
        descriptions = json_values.parse_object(header.get("described", {}), "described")
        labels = dict.fromkeys([*digests, *(run.program for run in runs)])
        programs = {label: _parse_program(descriptions.get(label, {})) for label in labels}
        gaps = sorted({run.tol for run in runs}, reverse=True)
        run_settings = {"profiles": gaps, "repeats": 1 + max(run.repeat for run in runs), "seed": 0}
        settings = BenchmarkSettings(**json_values.parse_fields(SETTINGS, {**header, **run_settings}))
        environment, provenance = _parse_environment(header), _parse_provenance(header)
    except (ValueError, TypeError, RecursionError) as failure:
        raise _invalid_file_error(path, failure) from None
    kind = WorkPrecision if asks_accuracies else Benchmark
    return kind(programs, settings, environment, ", ".join(versions), runs, provenance, str(path))


def _invalid_file_error(path: Path, failure: Exception) -> DataError:
    """Return the error for a file with another content."""
    return DataError(f"expected a comparison or a benchmark; {path} is none: {reason_of(failure)}. Write it anew.")


def _parse_comparison(top: Mapping[str, Any]) -> Comparison:
    """Return the comparison in a document; each row becomes a run of a single repeat."""
    tol = parse_fraction(top.get("tol"), "tol")
    rows = [json_values.parse_object(row, "a row") for row in json_values.parse_list(top.get("rows"), "rows")]
    logs = json_values.parse_list(top["logs"], "logs") if "logs" in top else [[]] * len(rows)
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
    records = tuple(_validate_record(parse_record(run)) for run in runs)
    _require_distinct(records)
    lower, upper = intersect_intervals(records)
    for name, computed in (("lower", lower), ("upper", upper), ("overlap", lower <= upper)):
        claim = top.get(name)
        if claim is not None and claim != computed:
            raise ValueError(f"{name} of all rows together is {computed}; the file says {claim}")
    version, settings = json_values.parse_text(top.get("boostopt"), "boostopt"), comparison_settings(tol, records)
    return Comparison({label: program}, settings, _parse_environment(top), version, records, _parse_provenance(top))


def _parse_benchmark(top: Mapping[str, Any]) -> Benchmark:
    """Return the benchmark in a document; scores and means are computed from the runs, never read from the file."""

    def check_gaps(gaps: set[float], named_gaps: set[float]) -> None:
        if gaps != named_gaps:
            raise ValueError("the gaps of its runs must be its profiles")

    return Benchmark(*_parse_measurement(top, check_gaps))


def _parse_work_precision(top: Mapping[str, Any]) -> WorkPrecision:
    """Return the work and precision in a document; points are computed from the runs, never read from the file."""

    def check_requests(requests: set[float], named_requests: set[float]) -> None:
        if not requests <= named_requests:
            raise ValueError("the requests of its runs must be among its profiles")

    return WorkPrecision(*_parse_measurement(top, check_requests))


def _parse_measurement(top: Mapping[str, Any], check_requests: Callable[[set[float], set[float]], None]) -> Measurement:
    """Return the programs, the settings, the environment, the version, the runs and the provenance in a document.

    `check_requests` gets the requests of the runs and those that the settings name; it raises ValueError.
    """
    runs = tuple(
        _validate_record(parse_record(json_values.parse_object(run, "a run")))
        for run in json_values.parse_list(top.get("runs"), "runs")
    )
    programs = {
        label: _parse_program(facts)
        for label, facts in json_values.parse_object(top.get("programs"), "programs").items()
    }
    if not runs or {run.program for run in runs} != set(programs):
        raise ValueError("its runs must be of the programs that it names, each with one at least")
    _require_distinct(runs)
    settings = json_values.parse_object(top.get("settings"), "settings")
    check_requests({run.tol for run in runs}, set(parse_fractions(settings.get("profiles"), "profiles")))
    version = json_values.parse_text(top.get("boostopt"), "boostopt")
    parsed_settings = BenchmarkSettings(**json_values.parse_fields(SETTINGS, settings))
    return programs, parsed_settings, _parse_environment(top), version, runs, _parse_provenance(top)


def _require_distinct(runs: Iterable[SolveRecord]) -> None:
    """Raise ValueError if a run occurs twice."""
    keys = [(run.program, run.backend, run.tol, run.repeat) for run in runs]
    if len(set(keys)) < len(keys):
        raise ValueError("a run stands in it twice")


def _validate_record(row: SolveRecord) -> SolveRecord:
    """Return a solve; raise ValueError if two of its numbers contradict each other."""
    parse_fraction(row.tol, "tol")
    if row.ran and row.verdict is None:
        raise ValueError(f"{row.backend} was run, and its verdict is missing")
    if row.lower > row.upper:
        raise ValueError(
            f"the interval of {row.backend} has a lower bound above the upper bound: {row.lower} and {row.upper}"
        )
    if row.ran and row.has_target_gap != (row.scaled_gap <= row.tol):
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
    # The seconds of a CVXPY problem are without those of its certificate.
    phases = {name: seconds for name, seconds in row.phases.items() if name != "certify" or row.residuals is None}
    phase_seconds = math.fsum(seconds for seconds in phases.values() if seconds is not None)
    if row.ran and phase_seconds > 1.1 * row.seconds + CLOCK_TOLERANCE:
        raise ValueError(
            f"the phases of {row.backend} took {phase_seconds:g} s together, and the solve {row.seconds:g} s"
        )
    if row.has_target_gap and not MIN_SECONDS <= row.seconds <= MAX_SECONDS:
        raise ValueError(
            f"the seconds in which {row.backend} reached its gap must be from {MIN_SECONDS:g} to {MAX_SECONDS:g}; "
            f"they are {row.seconds}"
        )
    return row


def _parse_program(value: Any) -> dict[str, Any]:
    """Return the facts about a program. Missing fields are left out or empty, so that no caller checks them again."""
    facts = json_values.parse_object(value, "a program")
    description = json_values.parse_object(facts.get("about", {}), "about")
    for content, readers in ((facts, FACT_READERS), (description, DESCRIPTION_READERS)):
        for name, reader in readers.items():
            if name in content:
                reader(content[name], name)
    defaults: dict[str, Any] = {"formulation": "", "parameters": {}, "digest": ""}
    names = [name for name in FACT_READERS if name in facts or name in defaults]
    return {name: facts.get(name, defaults.get(name)) for name in names} | {"about": description}


def _parse_parameters(value: Any, label: str) -> dict[str, Any]:
    """Return parameters by name: finite numbers, flags, texts, lists or null."""
    parameters = json_values.parse_object(value, label)
    for name, entry in parameters.items():
        if not (entry is None or isinstance(entry, bool | str | list)):
            json_values.parse_finite(entry, f"the parameter {name}")
    return parameters


def _parse_extremes(value: Any, label: str) -> list[float]:
    """Return the smallest and the largest of some numbers, or an empty list."""
    if len(json_values.parse_list(value, label)) not in (0, 2):
        raise ValueError(f"{label} must be the smallest and the largest one")
    return [json_values.parse_finite(entry, label) for entry in value]


def _parse_bounds(value: Any, label: str) -> list[float | None]:
    """Return a lower and an upper bound, null for an infinite one; or an empty list."""
    if len(json_values.parse_list(value, label)) not in (0, 2):
        raise ValueError(f"{label} must be the two bounds that they prove")
    return [json_values.parse_finite_or_null(entry, label) for entry in value]


FACT_READERS: Mapping[str, json_values.Reader] = {
    "examples": json_values.parse_count_or_null,
    "examples_with_multiplicity": json_values.parse_finite_or_null,
    "hypotheses": json_values.parse_count_or_null,
    "program_digest": json_values.parse_text,
    "sense": json_values.parse_text,
    "variables": json_values.parse_count,
    "constraints": json_values.parse_count,
    "formulation": json_values.parse_text,
    "parameters": _parse_parameters,
    "digest": json_values.parse_text,
}
"""Readers of the facts about a program, by key, in the order of files."""

DESCRIPTION_READERS: Mapping[str, json_values.Reader] = {
    **dict.fromkeys(("headline", "title", "page", "storage", "reference"), json_values.parse_text),
    "meanings": json_values.parse_text_mapping,
    "sources": json_values.parse_texts,
    "smallest": json_values.parse_finite_or_null,
    "largest": json_values.parse_finite_or_null,
    "nonzeros": json_values.parse_count_or_null,
    "multiplicities": _parse_extremes,
    "equal_weights": _parse_bounds,
    "is_soft_margin_bound": json_values.parse_flag,
}
"""Readers of the description of a program, by key."""


def _parse_provenance(top: Mapping[str, Any]) -> Provenance:
    """Return the provenance in a document."""
    return Provenance(**json_values.parse_fields(ORIGIN, json_values.parse_object(top.get("origin", {}), "origin")))


def _parse_environment(top: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment of the measurement."""
    environment = json_values.parse_object(top.get("machine"), "machine")
    json_values.parse_object(environment.get("threads", {}), "threads")
    return environment
