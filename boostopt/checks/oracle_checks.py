"""Checks of an oracle, one property at a time, on small random examples: they compare its answers with its class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.user_modules import is_python_file_path, load_single_class
from boostopt._utils.validation import check_seed
from boostopt.checks.check_report import CheckReport
from boostopt.checks.references.measurements import (
    Findings,
    Measurement,
    NotApplicable,
    Note,
    assertion,
    call_component,
    require_instance,
    require_number,
    run_check,
)
from boostopt.errors import OptionError, short_repr
from boostopt.oracles.base import Answer, Column, Hypothesis, Oracle, Query, check_oracle_factory

N_EXAMPLES, N_FEATURES = 14, 3
"""Numbers of examples and of features."""

N_QUERIES = 12
"""Number of queries, each with its example weights."""

EDGE_TOLERANCE = 1e-12
"""Allowed error of an edge, a sum of products with weights that sum to 1."""

OracleFactory = Callable[[Any, Any, Any], Any]
"""Makes an oracle from features, labels and multiplicities."""


@dataclass(frozen=True, eq=False)
class OracleProbe:
    """An oracle over examples of one kind, its answers, and the known hypotheses of its class."""

    make: OracleFactory
    X: Float[Array, "N j"]
    y: Array
    c: ExampleVector
    random_state: int
    _answers: list[tuple[Float[Array, " n"], Answer]] = field(default_factory=list[Any])

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle."""
        return require_instance(call_component(self.make, self.X, self.y, self.c), Oracle, "what makes the oracle")

    @cached_property
    def positive_mask(self) -> Any:
        """The examples that count."""
        return self.c > 0

    @property
    def answers(self) -> list[tuple[Float[Array, " n"], Answer]]:
        """The oracle's answers to weights of several kinds."""
        if not self._answers:
            rng, n = np.random.default_rng([self.random_state, 1]), int(self.positive_mask.sum())
            for k in range(N_QUERIES):
                d = rng.dirichlet(np.full(n, (0.1, 1.0, 10.0)[k % 3])) if k else np.full(n, 1.0 / n)
                answer = require_instance(call_component(self.oracle.best, Query(d, 1 + k % 2)), Answer, "best")
                self._answers.append((d, answer))
        return self._answers

    @cached_property
    def members(self) -> list[Hypothesis] | None:
        """All hypotheses, None if the oracle does not list them."""
        listed = call_component(self.oracle.members)
        return None if listed is None else call_component(lambda: list(listed))

    def values(self, h: Hypothesis) -> Float[Array, " n"]:
        """Return the margins of a hypothesis, computed from its values; with two classes, a pair is an example."""
        raw, y = np.asarray(call_component(h, self.X[self.positive_mask])), self.y[self.positive_mask]
        if call_component(lambda: h.class_labels) is not None and raw.shape == (len(y), 2):
            return y * (raw[:, 1] - raw[:, 0]) / 2.0
        return y * raw if raw.shape == (len(y),) else np.full(len(y), np.nan)

    @cached_property
    def known_margins(self) -> dict[Hypothesis, Float[Array, " n"]]:
        """Margins of all known hypotheses of the class: the members, the answers, and their negations."""
        hypotheses = [column.hypothesis for _, answer in self.answers for column in answer.columns]
        return {h: self.values(h) for h in [*(self.members or ()), *hypotheses]}


def check_oracle(oracle_class: object, random_state: int = 0) -> CheckReport:
    """Check an oracle on small random examples, with ties, equal features and examples that do not count.

    Parameters
    ----------
    oracle_class
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
        `oracle_class` is none of these or does not take (X, y, c), or the file does not define exactly one oracle.
    """
    made_by: Any = (
        load_single_class(oracle_class, Oracle, "an oracle")  # pyright: ignore[reportArgumentType]
        if is_python_file_path(oracle_class) or isinstance(oracle_class, PathLike)
        else oracle_class
    )
    if not callable(made_by) or isinstance(made_by, Oracle):
        raise OptionError(
            f"expected a class of oracles, or a function of (X, y, c) that makes one; got "
            f"{short_repr(oracle_class)}. Pass it."
        )
    check_oracle_factory(made_by, None, None, None, "a class of oracles, or a function that makes one,")
    probes = list(_make_probes(made_by, check_seed("random_state", random_state)))
    checks = (
        run_check(name, (item for probe in probes for item in check(probe))) for name, check in ORACLE_CHECKS.items()
    )
    return CheckReport(getattr(made_by, "__name__", "oracle"), tuple(checks))


def _make_probes(make: OracleFactory, random_state: int) -> Iterator[OracleProbe]:
    """Yield examples with real features, then with few different values, then with multiplicities, one of them 0."""
    for k in range(3):
        rng = np.random.default_rng([random_state, k])
        X = (
            rng.normal(size=(N_EXAMPLES, N_FEATURES))
            if k % 2 == 0
            else rng.integers(0, 4, (N_EXAMPLES, N_FEATURES)) * 1.0
        )
        y = np.where(rng.random(N_EXAMPLES) < 0.5, 1, -1).astype(np.int8)
        y[:2] = 1, -1
        c = rng.integers(0, 4, N_EXAMPLES).astype(np.float64) if k == 2 else np.ones(N_EXAMPLES)
        c[:3] = (1.0, 1.0, 0.0) if k == 2 else 1.0
        yield OracleProbe(make, X, y, c, random_state)


def _check_examples(probe: OracleProbe) -> Findings:
    """Check that N, y and c describe the examples that count."""
    oracle, n = probe.oracle, int(probe.positive_mask.sum())
    count = require_number(call_component(lambda: oracle.N), "N")
    yield assertion(count == n, f"N must be the number of examples with c > 0, {n}; it is {count:g}")
    c = np.asarray(call_component(lambda: oracle.c))
    yield assertion(np.array_equal(c, probe.c[probe.positive_mask]), "c must be the positive multiplicities", {"c": c})
    y = call_component(lambda: oracle.y)
    yield assertion(
        y is None or np.array_equal(y, probe.y[probe.positive_mask]), "y must be the labels of the examples that count"
    )


def _check_columns(probe: OracleProbe) -> Findings:
    """Check that `best` returns at least one column and at most the requested number, of different hypotheses."""
    for k, (_, answer) in enumerate(probe.answers):
        columns = answer.columns
        yield assertion(
            1 <= len(columns) <= 1 + k % 2, f"best must return 1 to {1 + k % 2} columns; it returns {len(columns)}"
        )
        names = {column.hypothesis for column in columns}
        yield assertion(len(names) == len(columns), "no two columns may be of one hypothesis")
        for column in columns:
            yield from _check_margins(probe, column)


def _check_margins(probe: OracleProbe, column: Column) -> Findings:
    """Check that the margins of a column are y h(x) of its hypothesis, in [-1, 1]."""
    margins, expected = (
        np.asarray(column.margins),
        probe.values(require_instance(column.hypothesis, Hypothesis, "a column")),
    )
    shaped = margins.shape == expected.shape and margins.dtype.kind in "if"
    yield assertion(shaped, f"margins must be {len(expected)} numbers; got shape {margins.shape} of {margins.dtype}")
    arguments = {"hypothesis": str(column.hypothesis)}
    if shaped:
        yield Measurement(float(np.abs(margins).max()) - 1.0, EDGE_TOLERANCE, "margins leave [-1, 1] by", arguments)
        yield Measurement(
            float(np.abs(margins - expected).max()), EDGE_TOLERANCE, "margins differ from y h(X) by", arguments
        )


def _check_edge(probe: OracleProbe) -> Findings:
    """Check that an edge is margins . d, and that the first column has the largest."""
    for d, answer in probe.answers:
        for column in answer.columns:
            expected = math.fsum((np.asarray(column.margins, dtype=np.float64) * d).tolist())
            description = f"the edge {column.edge:.9g} of a column is not margins . d = {expected:.9g}: off by"
            yield Measurement(
                abs(require_number(column.edge, "edge") - expected), EDGE_TOLERANCE, description, {"d": d}
            )
        if not answer.not_best_edge:
            later = max(column.edge for column in answer.columns) - answer.columns[0].edge
            yield Measurement(
                later, EDGE_TOLERANCE, "a later column has an edge that is larger than the first by", {"d": d}
            )


def _check_bound(probe: OracleProbe) -> Findings:
    """Check that no edge of a known hypothesis or of its negation exceeds `edge_bound`, the bound for the class."""
    oracle = probe.oracle
    for d, answer in probe.answers:
        if answer.edge_bound is None:
            yield NotApplicable("no bound of the class is known")
            continue
        for h, margins in probe.known_margins.items():
            edge = math.fsum((margins * d).tolist())
            edge = abs(edge) if oracle.reflexive else edge
            description = (
                f"`edge_bound` is {answer.edge_bound:.12g}, and the edge of a hypothesis is {edge:.12g}: larger by"
            )
            # One-sided: `edge_bound` may be too small by no more than the rounding of this sum.
            yield Measurement(
                edge - require_number(answer.edge_bound, "edge_bound"),
                1e-16,
                description,
                {"d": d, "hypothesis": str(h)},
            )


def _check_best(probe: OracleProbe) -> Findings:
    """Check that the first column is the best of the class, if the class is listed and the oracle is exact."""
    if probe.members is None:
        yield NotApplicable("members lists no hypotheses")
        return
    for d, answer in probe.answers:
        if answer.edge_bound is None or answer.not_best_edge:
            yield Note("the oracle does not say that its answer is the best")
            continue
        best = max(float(probe.known_margins[h] @ d) for h in probe.members)
        description = f"the edge of the best member is {best:.9g}, that of the answer is smaller by"
        yield Measurement(best - float(answer.columns[0].edge), EDGE_TOLERANCE, description, {"d": d})


def _check_members(probe: OracleProbe) -> Findings:
    """Check that the members contain all answers, and all negations if `reflexive`, and check `margins_of`."""
    if probe.members is None:
        yield NotApplicable("members lists no hypotheses")
        return
    listed = set(probe.members)
    for h in probe.known_margins:
        yield assertion(h in listed, f"best answers with a hypothesis that members does not list: {h}")
    rows = {tuple(row.tolist()) for row in (probe.known_margins[h] for h in listed)}
    for h in listed:
        margins = call_component(probe.oracle.margins_of, h)
        if margins is not None:
            difference = float(np.abs(np.asarray(margins, dtype=np.float64) - probe.known_margins[h]).max())
            yield Measurement(difference, EDGE_TOLERANCE, "margins_of differs from y h(X) by", {"hypothesis": str(h)})
        if probe.oracle.reflexive:
            negated = tuple((-probe.known_margins[h]).tolist())
            yield assertion(negated in rows, f"the class is said to be reflexive; it has no negation of {h}")


def _check_state(probe: OracleProbe) -> Findings:
    """Check that a hypothesis restored from its state is equal to the original and has the same values."""
    for h, margins in probe.known_margins.items():
        again = require_instance(call_component(lambda h=h: type(h).restored(h.state())), Hypothesis, "restored")
        yield assertion(
            again == h and hash(again) == hash(h), f"restored(state()) is another hypothesis: {again} for {h}"
        )
        yield Measurement(
            float(np.abs(probe.values(again) - margins).max()), EDGE_TOLERANCE, f"{h} restored differs by"
        )


def _check_digest(probe: OracleProbe) -> Findings:
    """Check that the digest is the same for the same examples, and different for others."""
    digest = call_component(lambda: probe.oracle.digest)
    y = probe.y.copy()
    y[:2] = -y[:2]
    equal_digest = call_component(lambda: probe.make(probe.X, probe.y, probe.c).digest)
    yield assertion(equal_digest == digest, "digest must be the same for the same examples")
    for changed, X, labels in (("features", probe.X + 1.5 * probe.X[::-1], probe.y), ("labels", probe.X, y)):
        changed_digest = call_component(lambda X=X, labels=labels: probe.make(X, labels, probe.c).digest)
        yield assertion(changed_digest != digest, f"digest must be another for other {changed}")


def _check_restore(probe: OracleProbe) -> Findings:
    """Check that answers after `restore` are the same, so that a resumed run equals an uninterrupted one."""
    oracle, (d, _) = probe.oracle, probe.answers[1]
    state = call_component(oracle.state)
    one = call_component(oracle.best, Query(d))
    call_component(oracle.restore, state)
    two = call_component(oracle.best, Query(d))
    is_same_answer = [c.hypothesis for c in one.columns] == [
        c.hypothesis for c in two.columns
    ] and one.edge_bound == two.edge_bound
    yield assertion(bool(is_same_answer), "asked again after restore(state()) it gives another answer", {"d": d})


ORACLE_CHECKS: dict[str, Callable[[OracleProbe], Findings]] = {
    "examples": _check_examples,
    "columns": _check_columns,
    "edge": _check_edge,
    "largest": _check_bound,
    "best": _check_best,
    "members": _check_members,
    "state": _check_state,
    "digest": _check_digest,
    "repeated": _check_restore,
}
"""The checks by name, in the order of a report."""
