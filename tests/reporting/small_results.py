"""Shared parts of the tests of reports: small results of every kind, and a page taken apart."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from support.problems import Fake, attempt, reference_erlpboost, reference_lpboost, right, rough
from support.speeds import THOROUGH

from boostopt import Benchmark, Comparison, benchmark, compare, get_formulation, list_formulations
from boostopt._utils.json_values import plain
from boostopt.comparison.provenance import Provenance
from boostopt.comparison.solve_record import SolveRecord
from boostopt.comparison.solve_results import BenchmarkSettings
from boostopt.programs.program_identity import describe_program, program_facts
from boostopt.reporting import to_html

BACKENDS = ("cvxpy:clarabel", "cvxpy:highs", "interior")
GAPS = (1e-3, 1e-5, 1e-7) if THOROUGH else (1e-7,)
"""Target gaps of the benchmark, each with pictures of its own."""

ORIGIN = Provenance.of_this_process("boostopt compare --report out.html", "2026-01-02T03:04:05+00:00", "data.csv")


@functools.cache
def linear() -> Comparison:
    return compare(reference_lpboost(), BACKENDS, origin=ORIGIN)


@functools.cache
def entropy() -> Comparison:
    """One backend cannot take it."""
    return compare(reference_erlpboost(), BACKENDS, origin=ORIGIN)


@functools.cache
def infeasible() -> Comparison:
    program = get_formulation("softboost").bind(reference_lpboost().margins, nu=2.5, gamma=-0.9)
    return compare(program, BACKENDS, origin=ORIGIN)


@functools.cache
def half() -> Comparison:
    """A wide interval and a narrow one."""
    program = get_formulation("softboost").bind(reference_lpboost().margins, nu=2.5, gamma=0.1)
    return compare(program, [Fake("half", (attempt(w=[1.0, 0.0, 0.0]),)), "cvxpy:clarabel"])


@functools.cache
def nothing() -> Comparison:
    return compare(reference_lpboost(), [Fake("unable", reason="it takes nothing"), Fake("other", reason="nor it")])


@functools.cache
def contradicting() -> Comparison:
    """As only a mistake of boostopt could."""
    good = compare(reference_lpboost(), [right("a"), right("b"), rough("c")])
    return replace(good, runs=(replace(good.rows[0], lower=0.5, upper=0.6), *good.rows[1:]))


@functools.cache
def measured() -> Benchmark:
    """Two programs, three gaps, in the fast suite one, and two repeats: reached, failed and not run."""
    programs = {"small.csv: linear": reference_lpboost(), "other.csv: entropy": reference_erlpboost()}
    backends = ["cvxpy:highs", "interior", rough()]
    origin = replace(ORIGIN, skipped=(("broken.csv", "It has no label column."),))
    return benchmark(programs, backends, GAPS, repeats=2, time_limit=20.0, origin=origin)


_HTML: dict[int, tuple[object, str]] = {}


def html_of(result: Comparison | Benchmark) -> str:
    """The page of a result, made once: its pictures take a second each where the machine is busy."""
    if id(result) not in _HTML:
        _HTML[id(result)] = result, to_html(result)
    return _HTML[id(result)][1]


@functools.cache
def every_page() -> Benchmark:
    """A program of every formulation, which nobody has run."""
    programs = {name: get_formulation(name).example_program() for name in list_formulations()}
    about = {
        name: plain({**program_facts(program), "about": describe_program(program)})
        for name, program in programs.items()
    }
    runs = tuple(
        SolveRecord(program=name, backend="none", version="", tol=1e-3, result="not run", reason="nobody was asked")
        for name in programs
    )
    return Benchmark(about, BenchmarkSettings((1e-3,), 1, None, False, 0), {}, "0", runs)


RESULTS: dict[str, Any] = {
    "linear": linear,
    "entropy": entropy,
    "infeasible": infeasible,
    "half": half,
    "nothing": nothing,
    "contradicting": contradicting,
    "measured": measured,
}

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "wbr"}


class Page(HTMLParser):
    """A page taken apart: tags that are not closed in their order, names, references, and the text that is shown."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.classes: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.events: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        self.faults += [f"{tag} is not closed" for tag in self.open]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "class":
                self.classes += (value or "").split()
            elif name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
                self.references.append(value or "")
            elif name.startswith("on"):
                self.events.append(name)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> where {self.open[-1:]} is open")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def is_finite(interval: tuple[float, float]) -> bool:
    """Return whether an interval has two finite bounds."""
    return all(map(math.isfinite, interval))
