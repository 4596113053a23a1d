"""Checks of an oracle, one property at a time, on small random examples: they compare its answers with its class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.user_files import is_python_file_path, load_single_class
from boostopt._utils.validation import check_seed
from boostopt.checks.check_report import CheckReport
from boostopt.checks.fault_localization import methods_of, suspected
from boostopt.checks.references.measurements import (
    Measured,
    Measurements,
    NotAsked,
    Remark,
    ask,
    held,
    made,
    number,
    record,
)
from boostopt.errors import OptionError, short_repr
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query, check_oracle_factory

EXAMPLES, FEATURES = 14, 3
"""Numbers of examples and of features."""

QUERIES = 12
"""Number of example weights for which an oracle is asked."""

ROUNDING = 1e-12
"""Allowed error of an edge, a sum of products with weights that sum to 1."""

Made = Callable[[Any, Any, Any], Any]
"""Makes an oracle from features, labels and multiplicities."""


@dataclass(frozen=True, eq=False)
class _Probe:
    """An oracle over examples of one kind, its answers, and the known hypotheses of its class."""

    make: Made
    X: Float[Array, "N j"]
    y: Array
    c: Float[Array, " N"]
    random_state: int
    _answers: list[tuple[Float[Array, " n"], Answer]] = field(default_factory=list[Any])

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle."""
        return record(ask(self.make, self.X, self.y, self.c), Oracle, "what makes the oracle")

    @cached_property
    def kept(self) -> Any:
        """The examples that count."""
        return self.c > 0

    @property
    def answers(self) -> list[tuple[Float[Array, " n"], Answer]]:
        """The oracle's answers to weights of several kinds."""
        if not self._answers:
            rng, n = np.random.default_rng([self.random_state, 1]), int(self.kept.sum())
            for k in range(QUERIES):
                d = rng.dirichlet(np.full(n, (0.1, 1.0, 10.0)[k % 3])) if k else np.full(n, 1.0 / n)
                answer = record(ask(self.oracle.best, Query(d, 1 + k % 2)), Answer, "best")
                self._answers.append((d, answer))
        return self._answers

    @cached_property
    def members(self) -> list[Hypothesis] | None:
        """All hypotheses, None if the oracle does not list them."""
        listed = ask(self.oracle.members)
        return None if listed is None else ask(lambda: list(listed))

    def values(self, h: Hypothesis) -> Float[Array, " n"]:
        """The margins of a hypothesis, computed from its values."""
        raw = np.asarray(ask(h, self.X[self.kept]))
        return (
            self.y[self.kept] * raw if raw.shape == (int(self.kept.sum()),) else np.full(int(self.kept.sum()), np.nan)
        )

    @cached_property
    def known(self) -> dict[Hypothesis, Float[Array, " n"]]:
        """Margins of all known hypotheses of the class: the members, the answers, and their negations."""
        found = [column.hypothesis for _, answer in self.answers for column in answer.columns]
        return {h: self.values(h) for h in [*(self.members or ()), *found]}


def check_oracle(which: object, random_state: int = 0) -> CheckReport:
    """Check an oracle on small random examples, with ties, equal features and examples that do not count.

    Parameters
    ----------
    which
        A class of oracles, or a function of features, labels and multiplicities (X, y, c) that returns an oracle; or
        the path of a Python file that defines one such class.
    random_state
        Seed of the examples and of the weights.

    Returns
    -------
    One check for each property, in the order of `ORACLE_CHECKS`. If `members` lists the class, the checks compare the
    answers with the whole class; otherwise only with the hypotheses among the answers.

    Raises
    ------
    OptionError
        `which` is none of these or does not take (X, y, c), or the file does not define exactly one oracle.
    """
    made_by: Any = (
        load_single_class(which, Oracle, "an oracle")
        if is_python_file_path(which) or isinstance(which, PathLike)
        else which
    )  # pyright: ignore[reportArgumentType]
    if not callable(made_by) or isinstance(made_by, Oracle):
        raise OptionError(
            f"expected a class of oracles, or a function of (X, y, c) that makes one; got {short_repr(which)}. Pass it."
        )
    check_oracle_factory(made_by, None, None, None, "a class of oracles, or a function that makes one,")
    probes = list(_probes(made_by, check_seed("random_state", random_state)))
    checks = [made(name, (item for probe in probes for item in check(probe))) for name, check in ORACLE_CHECKS.items()]
    return CheckReport(getattr(made_by, "__name__", "oracle"), suspected(checks, _asked(made_by, probes[0])))


def _probes(make: Made, random_state: int) -> Iterator[_Probe]:
    """Yield examples with real features, then with few different values, then with multiplicities, one of them 0."""
    for k in range(3):
        rng = np.random.default_rng([random_state, k])
        X = rng.normal(size=(EXAMPLES, FEATURES)) if k % 2 == 0 else rng.integers(0, 4, (EXAMPLES, FEATURES)) * 1.0
        y = np.where(rng.random(EXAMPLES) < 0.5, 1, -1).astype(np.int8)
        y[:2] = 1, -1
        c = rng.integers(0, 4, EXAMPLES).astype(np.float64) if k == 2 else np.ones(EXAMPLES)
        c[:3] = (1.0, 1.0, 0.0) if k == 2 else 1.0
        yield _Probe(make, X, y, c, random_state)


def _asked(make: Any, probe: _Probe) -> dict[str, list[str]]:
    """Return the places of the functions that each check calls."""
    pieces: list[object] = [make]
    try:
        pieces += [type(column.hypothesis) for column in probe.answers[0][1].columns]
    except Exception:  # noqa: BLE001 a check has reported the failure
        pass
    return methods_of(pieces, ASKED)


def _examples(probe: _Probe) -> Measurements:
    """N, y and c describe the examples that count."""
    oracle, n = probe.oracle, int(probe.kept.sum())
    count = number(ask(lambda: oracle.N), "N")
    yield held(count == n, f"N must be the number of examples with c > 0, {n}; it is {count:g}")
    c = np.asarray(ask(lambda: oracle.c))
    yield held(np.array_equal(c, probe.c[probe.kept]), "c must be the positive multiplicities", {"c": c})
    y = ask(lambda: oracle.y)
    yield held(y is None or np.array_equal(y, probe.y[probe.kept]), "y must be the labels of the examples that count")


def _columns(probe: _Probe) -> Measurements:
    """`best` returns between one column and as many as asked for, of different hypotheses."""
    for k, (_, answer) in enumerate(probe.answers):
        columns = answer.columns
        yield held(
            1 <= len(columns) <= 1 + k % 2, f"best must return 1 to {1 + k % 2} columns; it returns {len(columns)}"
        )
        names = {column.hypothesis for column in columns}
        yield held(len(names) == len(columns), "no two columns may be of one hypothesis")
        for column in columns:
            yield from _margins(probe, column)


def _margins(probe: _Probe, column: Column) -> Measurements:
    """The margins of a column are y h(x) of its hypothesis, in [-1, 1]."""
    told, expected = np.asarray(column.margins), probe.values(record(column.hypothesis, Hypothesis, "a column"))
    shaped = told.shape == expected.shape and told.dtype.kind in "if"
    yield held(shaped, f"margins must be {len(expected)} numbers; got shape {told.shape} of {told.dtype}")
    at = {"hypothesis": str(column.hypothesis)}
    if shaped:
        yield Measured(float(np.abs(told).max()) - 1.0, ROUNDING, "margins leave [-1, 1] by", at)
        yield Measured(float(np.abs(told - expected).max()), ROUNDING, "margins differ from y h(X) by", at)


def _edge(probe: _Probe) -> Measurements:
    """An edge is margins . d, and the first column has the largest."""
    for d, answer in probe.answers:
        for column in answer.columns:
            expected = math.fsum((np.asarray(column.margins, dtype=np.float64) * d).tolist())
            what = f"the edge {column.edge:.9g} of a column is not margins . d = {expected:.9g}: off by"
            yield Measured(abs(number(column.edge, "edge") - expected), ROUNDING, what, {"d": d})
        if not answer.preferred:
            later = max(column.edge for column in answer.columns) - answer.columns[0].edge
            yield Measured(later, ROUNDING, "a later column has an edge that is larger than the first by", {"d": d})


def _largest(probe: _Probe) -> Measurements:
    """No edge of a known hypothesis, or of its negation, exceeds `largest`; the upper bound for the class uses it."""
    oracle = probe.oracle
    for d, answer in probe.answers:
        if answer.largest is None:
            yield NotAsked("no bound of the class is known")
            continue
        for h, margins in probe.known.items():
            edge = math.fsum((margins * d).tolist())
            edge = abs(edge) if oracle.reflexive else edge
            what = f"`largest` is {answer.largest:.12g}, and the edge of a hypothesis is {edge:.12g}: larger by"
            # One-sided: `largest` may be too small by no more than the rounding of this sum.
            yield Measured(edge - number(answer.largest, "largest"), 1e-16, what, {"d": d, "hypothesis": str(h)})


def _best(probe: _Probe) -> Measurements:
    """The first column is the best of the class, if the class is listed and the oracle is exact."""
    if probe.members is None:
        yield NotAsked("members lists no hypotheses")
        return
    for d, answer in probe.answers:
        if answer.largest is None or answer.preferred:
            yield Remark("the oracle does not say that its answer is the best")
            continue
        best = max(float(probe.known[h] @ d) for h in probe.members)
        what = f"the edge of the best member is {best:.9g}, that of the answer is smaller by"
        yield Measured(best - float(answer.columns[0].edge), ROUNDING, what, {"d": d})


def _members(probe: _Probe) -> Measurements:
    """The members contain every answer, and every negation if `reflexive`; `margins_of` returns their margins."""
    if probe.members is None:
        yield NotAsked("members lists no hypotheses")
        return
    listed = set(probe.members)
    for h in probe.known:
        yield held(h in listed, f"best answers with a hypothesis that members does not list: {h}")
    rows = {tuple(margins.tolist()) for margins in (probe.known[h] for h in listed)}
    for h in listed:
        told = ask(probe.oracle.margins_of, h)
        if told is not None:
            off = float(np.abs(np.asarray(told, dtype=np.float64) - probe.known[h]).max())
            yield Measured(off, ROUNDING, "margins_of differs from y h(X) by", {"hypothesis": str(h)})
        if probe.oracle.reflexive:
            negated = tuple((-probe.known[h]).tolist())
            yield held(negated in rows, f"the class is said to be reflexive; it has no negation of {h}")


def _state(probe: _Probe) -> Measurements:
    """A hypothesis restored from its state is equal to the original and has the same values."""
    for h, margins in probe.known.items():
        again = record(ask(lambda h=h: type(h).restored(h.state())), Hypothesis, "restored")
        yield held(again == h and hash(again) == hash(h), f"restored(state()) is another hypothesis: {again} for {h}")
        yield Measured(float(np.abs(probe.values(again) - margins).max()), ROUNDING, f"{h} restored differs by")


def _digest(probe: _Probe) -> Measurements:
    """The digest is the same for the same examples, and different for others."""
    own = ask(lambda: probe.oracle.digest)
    y = probe.y.copy()
    y[:2] = -y[:2]
    same = ask(lambda: probe.make(probe.X, probe.y, probe.c).digest)
    yield held(same == own, "digest must be the same for the same examples")
    for what, X, labels in (("features", probe.X + 1.5 * probe.X[::-1], probe.y), ("labels", probe.X, y)):
        other = ask(lambda X=X, labels=labels: probe.make(X, labels, probe.c).digest)
        yield held(other != own, f"digest must be another for other {what}")


def _repeated(probe: _Probe) -> Measurements:
    """After `restore` it gives the same answers, so that a resumed run equals an uninterrupted one."""
    oracle, (d, _) = probe.oracle, probe.answers[1]
    before = ask(oracle.state)
    one = ask(oracle.best, Query(d))
    ask(oracle.restore, before)
    two = ask(oracle.best, Query(d))
    same = [c.hypothesis for c in one.columns] == [c.hypothesis for c in two.columns] and one.largest == two.largest
    yield held(bool(same), "asked again after restore(state()) it gives another answer", {"d": d})


ORACLE_CHECKS: dict[str, Callable[[_Probe], Measurements]] = {
    "examples": _examples,
    "columns": _columns,
    "edge": _edge,
    "largest": _largest,
    "best": _best,
    "members": _members,
    "state": _state,
    "digest": _digest,
    "repeated": _repeated,
}
"""The checks by name, in the order of a report."""

ASKED: dict[str, tuple[str, ...]] = {
    "examples": ("__init__", "N", "c", "y"),
    "columns": ("margins_of", "best", "__call__"),
    "edge": ("best",),
    "largest": ("best",),
    "best": ("best",),
    "members": ("members", "margins_of", "__call__"),
    "state": ("restored", "state", "__call__"),
    "digest": ("digest",),
    "repeated": ("restore", "state", "best"),
}
"""The methods of an oracle and of its hypotheses that each check compares."""
