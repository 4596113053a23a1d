"""Facts by name: parameters, data, provenance, versions and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.solve_results import SolveResults
from boostopt.reporting.mathml import prose_markup, symbol_markup


def provenance_facts(results: SolveResults) -> tuple[tuple[str, str], ...]:
    """Return the data, the date, the command and the file of some results."""
    source = results.provenance
    date = source.date.replace("T", " ", 1)
    return known_facts({"Data": source.data, "Made": date, "Command": source.command, "Read from": results.file})


def parameter_facts(program: Mapping[str, Any]) -> tuple[tuple[Markup, str, Markup], ...]:
    """Return symbol, value and meaning of each parameter."""
    meanings = program.get("about", {}).get("meanings", {})
    values = program.get("parameters", {})
    return tuple(
        (symbol_markup(name), _format_parameter(value), prose_markup(meanings.get(name, "")))
        for name, value in values.items()
    )


def _format_parameter(value: Any) -> str:
    """Format a parameter: numbers with six digits, flags in words, arrays by their size."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return f"array of {len(value)}"
    if isinstance(value, int | float):
        return f"{value:z.6g}"
    return "not finite" if value is None else str(value)


def data_facts(program: Mapping[str, Any], source: str) -> tuple[tuple[str, str], ...]:
    """Return the facts about the data of a program."""
    about, N, t = program.get("about", {}), program.get("examples"), program.get("hypotheses")
    total, nonzeros = program.get("examples_with_multiplicity"), about.get("nonzeros")
    smallest, largest = about.get("smallest"), about.get("largest")
    entries = N * t if N and t else 0
    return known_facts(
        {
            "Source": source,
            "Sense": program.get("sense", ""),
            "Scalar variables": program.get("variables"),
            "Scalar constraints": program.get("constraints"),
            "SHA-256 of the cone data": program.get("program_digest", "") if "sense" in program else "",
            "Examples N": "" if N is None else f"{N:,}",
            "Hypotheses t": "" if t is None else f"{t:,}",
            "Non-zeros of U": f"{nonzeros:,} of {entries:,} ({_format_fraction(nonzeros / entries)})"
            if nonzeros and entries
            else "",
            "Entries of U": "" if smallest is None or largest is None else f"from {smallest:.6g} to {largest:.6g}",
            "Kept as": about.get("storage", ""),
            "Multiplicities c": _multiplicities_text(about.get("multiplicities", ()), total),
            "Reference d0": about.get("reference", ""),
            "SHA-256 of U": program.get("digest", ""),
        }
    )


def _multiplicities_text(extremes: Sequence[float], total: float | None) -> str:
    """Describe the multiplicities of the examples by the smallest, the largest and the sum."""
    if not extremes:
        return ""
    smallest, largest = extremes
    sum_text = "" if total is None else f", sum {total:.10g}"
    return "1 each" if smallest == largest == 1.0 else f"from {smallest:.6g} to {largest:.6g}{sum_text}"


def _format_fraction(fraction: float) -> str:
    """Format a fraction in percent; "all" stands for exactly 1, and rounding never gives 100 %."""
    return "all" if fraction == 1.0 else f"{min(100.0 * fraction, 99.9):.3g} %"


def environment_facts(results: SolveResults) -> tuple[tuple[str, str], ...]:
    """Return the versions, the environment and the settings of some results."""
    settings, environment = results.settings, results.environment
    solvers = {run.backend: run.version for run in results.runs if run.version}
    has_limit = settings.time_limit is not None
    processes = "one for all backends that keep the time limit, one each for the others" if has_limit else "one for all"
    limit = "none" if settings.time_limit is None else f"{settings.time_limit:g} s for a solve"
    threads = ", ".join(f"{name}={value}" for name, value in environment.get("threads", {}).items())
    benchmark_facts = {
        "Repeats": f"{settings.repeats}, in shuffled order (seed {settings.seed}), after one that is not counted",
        "Time limit": limit,
    }
    return known_facts(
        {
            "boostopt": results.boostopt,
            **{name: text for name, text in results.provenance.versions.items() if name != "boostopt"},
            "NumPy's BLAS": environment.get("blas", ""),
            "Python": environment.get("python", ""),
            **{f"Backend {name}": version for name, version in solvers.items()},
            "Processor": environment.get("cpu", ""),
            "Cores": environment.get("cores", ""),
            "Threads": threads or "not limited by the environment",
            "System": environment.get("system", ""),
            **(benchmark_facts if isinstance(results, Benchmark) else {}),
            "Processes": "each backend in one of its own" if settings.isolate else processes,
            "Target gaps": ", ".join(f"{tol:g}" for tol in settings.target_gaps),
        }
    )


def known_facts(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the facts as text, without facts that are unknown: None or ""."""
    return tuple((name, str(value)) for name, value in facts.items() if value not in ("", None))
