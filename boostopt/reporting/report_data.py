"""Contents of a report for the template: texts, formulas and pictures, all computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from boostopt.comparison.benchmark_result import Benchmark
from boostopt.comparison.rendering.result_sentences import (
    Conclusion,
    contradiction_advice,
    is_problem,
    refuted_values,
    sent_accuracies,
    summarize_comparison,
    summarize_program,
    trivial_bounds,
)
from boostopt.comparison.rendering.score_sentences import (
    EMPTY_CELL,
    BenchmarkCell,
    failure_reasons,
    fastest_backends_text,
    gap_request_text,
    mean_cells,
    score_cells,
)
from boostopt.comparison.scores import SHIFT_SECONDS
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import SolveResults
from boostopt.comparison.work_precision.work_precision import WorkPrecision
from boostopt.errors import ProblemError
from boostopt.reporting.benchmark_figures import ReportFigure, claim_figures, precision_figures, program_figures
from boostopt.reporting.fact_tables import data_facts, environment_facts, parameter_facts, provenance_facts
from boostopt.reporting.log_sections import group_by_backend
from boostopt.reporting.mathml import FormulationMarkup, formulation_markup
from boostopt.reporting.svg import figure_to_svg, narrow_intervals, wide_intervals

PRECISION_KIND = "Work and precision"
"""The kind of a report of work and precision."""

MAX_UNFOLDED = 3
"""Largest number of formulations, and of programs, that the page shows unfolded."""

MAX_PICTURES = 12
"""Number of programs with pictures of intervals: the first ones. Contradictory intervals are always drawn."""

NO_PICTURE = "The intersection of the intervals does not have two finite bounds, so there is nothing to draw."
TOO_MANY_PICTURES = (
    f"A report draws the intervals of its first {MAX_PICTURES} programs, and intervals that contradict each other. "
    "The function boostopt.pictures.intervals draws those of any program."
)
"""Notes in place of a picture."""


@dataclass(frozen=True)
class FormulationSection:
    """A formulation with its sources, or a CVXPY problem: as markup, or as plain text in another notation."""

    name: str
    title: str
    markup: FormulationMarkup | None
    text: str
    sources: tuple[str, ...]
    is_problem: bool = False


@dataclass(frozen=True)
class ScoreTable:
    """A table of backends against gaps, with the accuracies among the solvers' options, and remarks below."""

    gaps: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[BenchmarkCell, str], ...]], ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ProgramSection:
    """A program with all its results."""

    label: str
    verdict: Conclusion
    parameters: tuple[tuple[Markup, str, Markup], ...]
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[tuple[str, Markup], ...]
    no_picture: str
    rows: tuple[SolveRecord, ...]
    conclusions: tuple[Conclusion, ...]
    scores: ScoreTable | None
    logs: Mapping[str, Sequence[SolveRecord]]


@dataclass(frozen=True)
class ReportData:
    """A whole report."""

    kind: str
    title: str
    verdicts: tuple[Conclusion, ...]
    origin: tuple[tuple[str, str], ...]
    formulations: tuple[FormulationSection, ...]
    programs: tuple[ProgramSection, ...]
    means: ScoreTable | None
    illustrations: tuple[ReportFigure, ...]
    claims: tuple[ReportFigure, ...]
    precision: tuple[ReportFigure, ...]
    precision_tables: Markup
    skipped: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    unfolded: bool
    shift: str


def build_report_data(results: SolveResults) -> ReportData:
    """Return the contents of the report of a comparison, of a benchmark, or of work and precision."""
    if isinstance(results, WorkPrecision):
        # The rest of the page is that of a benchmark of the cheapest requests.
        return replace(
            build_report_data(replace(results.to_benchmark(), file=results.file)),
            kind=PRECISION_KIND,
            precision=precision_figures(results),
            precision_tables=Markup(results.to_html()),
        )
    benchmark = results if isinstance(results, Benchmark) else None
    measured = benchmark if any(run.ran for run in results.runs) else None
    several = len(results.programs) > 1
    illustrated = {*list(results.programs)[:MAX_PICTURES], *results.contradictory_programs}
    programs = tuple(
        _program_section(results, k, label, label in illustrated) for k, label in enumerate(results.programs)
    )
    formulations = _formulation_sections(results)
    return ReportData(
        kind="Benchmark" if benchmark else "Comparison",
        title=_title(results, formulations),
        verdicts=_verdicts(results, programs),
        origin=provenance_facts(results),
        formulations=formulations,
        programs=programs,
        means=_mean_score_table(benchmark) if benchmark and several else None,
        illustrations=program_figures(measured) if measured and several else (),
        claims=claim_figures(measured) if measured else (),
        precision=(),
        precision_tables=Markup(""),
        skipped=results.provenance.skipped,
        provenance=environment_facts(results),
        unfolded=len(programs) <= MAX_UNFOLDED,
        shift=f"{SHIFT_SECONDS:g}",
    )


def _title(results: SolveResults, formulations: Sequence[FormulationSection]) -> str:
    """Return the title: the numbers of programs and backends, or the formulation and the data of one program."""
    if len(results.programs) > 1:
        count = len({run.backend for run in results.runs})
        return f"{len(results.programs)} {_noun(results)}s, {count} backend{'s' if count > 1 else ''}"
    name, data = formulations[0].title, results.provenance.data
    return f"{name} on {data}" if data else name


def _verdicts(results: SolveResults, programs: Sequence[ProgramSection]) -> tuple[Conclusion, ...]:
    """Return the conclusion of the only program; for several programs the contradictions, then one conclusion."""
    if len(programs) == 1:
        return (programs[0].verdict,)
    contradictions = tuple(
        Conclusion(f"The intervals of {label} contradict each other. {contradiction_advice(results.runs)}", "wrong")
        for label in results.contradictory_programs
    )
    if not any(run.ran for run in results.runs):
        return (Conclusion("No backend named can take any of these programs.", "wrong"),)
    finest = min(results.settings.target_gaps)
    certified = {run.program for run in results.runs if run.has_target_gap and run.tol == finest}
    noun = _noun(results)
    count = f"{len(certified)} of {len(programs)} {noun}s are certified to {finest:g} by some backend"
    agreement = "" if contradictions else f"; the intervals of each {noun} agree"
    kind = "good" if len(certified) == len(programs) else "warning"
    return (*contradictions, Conclusion(f"{count}{agreement}.", kind))


def _noun(results: SolveResults) -> str:
    """Return the word for what was solved."""
    return "problem" if is_problem(results.runs) else "program"


def _formulation_sections(results: SolveResults) -> tuple[FormulationSection, ...]:
    """Return the sections of the formulations, each formulation once."""
    formulations: dict[tuple[str, str], FormulationSection] = {}
    for program in results.programs.values():
        about, name = program.get("about", {}), str(program.get("formulation", ""))
        text, is_stated = str(about.get("page", "")), "sense" in program
        if (name, text) not in formulations:
            markup = None if is_stated else formulation_markup(text, about.get("meanings", {}))
            title, sources = str(about.get("title") or name), tuple(about.get("sources", ()))
            plain_text = "" if markup else text
            formulations[name, text] = FormulationSection(name, title, markup, plain_text, sources, is_stated)
    return tuple(formulations.values())


def _program_section(results: SolveResults, k: int, label: str, is_illustrated: bool) -> ProgramSection:
    """Return the section of program k, with or without pictures of the intervals."""
    benchmark = results if isinstance(results, Benchmark) else None
    program, runs = results.programs[label], results.runs_of(label)
    proved = results.equal_weight_bounds(label), results.is_soft_margin_bound(label)
    best = _best_record_per_backend(runs)
    return ProgramSection(
        label=label,
        verdict=summarize_program(runs),
        parameters=parameter_facts(program),
        facts=data_facts(program, results.provenance.data),
        pictures=_interval_pictures(best, f"program{k}") if is_illustrated else (),
        no_picture=NO_PICTURE if is_illustrated else TOO_MANY_PICTURES,
        rows=tuple(best),
        conclusions=tuple(
            [*refuted_values(runs), *trivial_bounds(runs, *proved)]
            if benchmark
            else summarize_comparison(runs, *proved)
        ),
        scores=_program_score_table(benchmark, label) if benchmark else None,
        logs=group_by_backend(runs),
    )


def _best_record_per_backend(runs: Iterable[SolveRecord]) -> list[SolveRecord]:
    """Return the best run of each backend: its interval represents the backend."""
    best: dict[str, SolveRecord] = {}
    for run in runs:
        incumbent = best.get(run.backend)
        if incumbent is None or (run.ran, -run.scaled_gap) > (incumbent.ran, -incumbent.scaled_gap):
            best[run.backend] = run
    return list(best.values())


def _interval_pictures(runs: Sequence[SolveRecord], prefix: str) -> tuple[tuple[str, Markup], ...]:
    """Return the pictures of intervals for wide and for narrow screens; no picture without a finite interval."""
    try:
        wide, narrow = wide_intervals(runs), narrow_intervals(runs)
    except ProblemError:  # infeasible, or no finite interval: the conclusions state the reason
        return ()
    label = "Certified intervals of the backends against each other"
    return ("wide-screen", figure_to_svg(wide, f"{prefix}w", label)), (
        "narrow-screen",
        figure_to_svg(narrow, f"{prefix}n", label),
    )


def _program_score_table(benchmark: Benchmark, label: str) -> ScoreTable:
    """Return the table of times of a program."""
    runs = benchmark.runs_of(label)
    scores = [score for score in benchmark.scores if score.program == label]
    return _score_table(
        benchmark,
        score_cells(scores),
        sent_accuracies(runs),
        [f"{backends}: {why}" for backends, why in failure_reasons(scores)],
    )


def _mean_score_table(benchmark: Benchmark) -> ScoreTable:
    """Return the table of times over all programs."""
    remarks = (
        []
        if benchmark.contradictory_programs
        else [fastest_backends_text(benchmark.means, tol) for tol in benchmark.settings.target_gaps]
    )
    return _score_table(benchmark, mean_cells(benchmark.means), sent_accuracies(benchmark.runs), remarks)


def _score_table(
    benchmark: Benchmark,
    cells: Mapping[tuple[str, float], BenchmarkCell],
    accuracy: Mapping[tuple[str, float], str],
    remarks: Iterable[str],
) -> ScoreTable:
    """Return a table of cells; the accuracy among the solver's options has a line of its own."""
    backends = dict.fromkeys(backend for backend, _ in cells)
    tols = sorted({tol for _, tol in cells}, reverse=True)
    rows = tuple(
        (
            backend,
            tuple((cells.get(key, EMPTY_CELL), accuracy.get(key, "")) for key in ((backend, tol) for tol in tols)),
        )
        for backend in backends
    )
    note = ("Accuracy: the finest tolerance that the solver was sent.",) if accuracy else ()
    return ScoreTable(tuple(gap_request_text(benchmark.runs, tol) for tol in tols), rows, (*remarks, *note))
