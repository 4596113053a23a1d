"""Shared by the commands that boost: the oracle of a data set, progress, what a run has reached, and its records."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from boostopt.boosting.driver import CONVERGED, INTERRUPTED, LIMIT, TIME
from boostopt.boosting.problem import Problem, set_anew
from boostopt.boosting.rules import RULES
from boostopt.boosting.run import Run
from boostopt.boosting.saving import sweep
from boostopt.boosting.soft_margin import Goal
from boostopt.cli.options import check_required
from boostopt.comparison.records import bounds
from boostopt.data.datasets import Dataset
from boostopt.errors import OptionError, ProblemError, needed, unknown_name
from boostopt.files import replace_file, same_place, written
from boostopt.oracles import Feature, GivenMargins, Hypothesis, Oracle, Stump
from boostopt.programs.formulation import Formulation
from boostopt.text import parameters_in_words
from boostopt.verification.describing import described, described_edge

TREE = "tree"
"""The class of decision trees, which scikit-learn fits."""

TREE_OPTIONS = ("max_depth", "min_samples_leaf", "max_leaf_nodes", "values")
"""What may be said of it."""

DEPTH = 3
"""Of trees, where nothing is said."""

ROUNDED = 1e-9
"""By how much a certified gap may exceed what a rule found, rounding included."""


def oracle_of_data(
    dataset: Dataset, name: str | None, options: dict[str, Any], reflexive: bool | None, random_state: int
) -> tuple[Oracle, Any]:
    """Return the oracle of a data set, and the reference distribution of the examples that count.

    Raises
    ------
    OptionError
        There is no such class or option, or the data are a margin matrix, whose columns are the class.
    """
    d0 = dataset.d0
    if d0 is not None and dataset.c is not None:
        d0 = d0[dataset.c > 0]
    if dataset.U is not None:
        if name is not None or options:
            raise OptionError(
                f"{dataset.name} holds U, whose columns are the class of hypotheses; got an oracle or its options. "
                "Leave out --oracle and --option, or pass data with X and y."
            )
        return GivenMargins(dataset.U, c=dataset.c, reflexive=bool(reflexive)), d0
    from boostopt.classifiers.bases import BASES, oracle_of

    if name is not None and name not in (*BASES, TREE):
        raise unknown_name("oracle", name, (*BASES, TREE))
    check_options(name or "stump", options, "--oracle")
    base = _tree(options) if name == TREE else name or "stump"
    rest = {key: value for key, value in options.items() if key not in TREE_OPTIONS[:3]} if name == TREE else options
    y = needed(dataset.y, "a data set with classes")
    c = np.ones(len(y)) if dataset.c is None else np.asarray(dataset.c, dtype=np.float64)
    return oracle_of(base, rest, reflexive is not False, random_state, dataset.X, y, c), d0


def _tree(options: dict[str, Any]) -> Any:
    """Return a decision tree that is not fitted."""
    from sklearn.tree import DecisionTreeClassifier

    said = {name: options[name] for name in TREE_OPTIONS[:3] if name in options}
    given: dict[str, Any] = {"max_depth": DEPTH, **said}
    tree = DecisionTreeClassifier(**given)
    try:
        tree.fit([[0.0], [1.0]], [0, 1])  # it looks at its parameters no earlier
    except ValueError as failure:
        reason = str(failure).splitlines()[0].rstrip(".")
        raise OptionError(f"--option of a tree: {reason}. Mend the option, or leave it out.") from None
    return tree


def check_options(kind: str, options: Iterable[str], flag: str) -> None:
    """Raise OptionError for an option that a class of hypotheses does not have, and say which class has it."""
    from boostopt.classifiers.bases import BASES

    for name in options:
        if name not in _options_of(kind):
            having = [other for other in (*BASES, TREE) if name in _options_of(other)]
            hint = f" It is an option of {' and '.join(having)}: pass {flag} {having[0]}." if having else ""
            raise OptionError(f"{unknown_name(f'option of {kind}', name, _options_of(kind))}{hint}")


def _options_of(kind: str) -> list[str]:
    """Return the names of the options of a class of hypotheses."""
    from boostopt import oracles
    from boostopt.classifiers.bases import BASES, options_of

    return list(TREE_OPTIONS) if kind == TREE else options_of(getattr(oracles, BASES[kind]))


def problem_of(
    page: Formulation[Any], oracle: Oracle, d0: Any, update: str | None, epsilon: float, given: Mapping[str, Any]
) -> Problem:
    """Return what is to be boosted, so that what is wrong with it is said before any work, in words of the command."""
    values = {name: value for name, value in given.items() if value is not None and name != "epsilon"}
    try:
        return Problem.of(page, oracle.c, d0, epsilon, update, values)
    except ProblemError:
        check_required(page, {**values, "epsilon": epsilon}, set_anew(page, epsilon))
        raise


def check_results(name: str, goal: Goal | None, certificate: str | None, picture: str | None = None) -> None:
    """Raise an error for a result that no run with a goal has, before the run."""
    if goal is None:
        if certificate or picture:
            raise OptionError(
                f"{name} has no soft margin over a class to certify or to draw; got "
                f"{'--certificate' if certificate else '--picture'}. Leave it out."
            )
    elif certificate:
        # What a file cannot state is refused by what states it.
        described(goal.F0, goal.examples)
        described_edge(goal.G)


def reached(run: Run) -> bool:
    """Whether a run came to what was asked of it.

    Where the class is bounded its certificate decides: the gap is at most epsilon. Where it is not, for a heuristic
    oracle or a program without a soft margin, a stopping rule of the formulation must hold. Algorithms that no rule
    need ever stop have done what was asked when they have come to their limit.
    """
    problem, gap = run.record.problem, math.inf
    if problem.goal is not None:
        gap = run.class_certificate.gap
        if gap <= problem.epsilon + ROUNDED:
            return True
    if problem.update == "projection" and not math.isfinite(run.most_rounds) and run.reason in (LIMIT, TIME):
        return True
    rule = RULES.get(run.reason.partition(":")[0])
    by_rule = rule is not None and not rule.doubt(problem)
    return math.isinf(gap) and (by_rule or (problem.goal is None and run.reason == CONVERGED))


def gap_in_words(run: Run) -> Text:
    """Return the gap over the class, and whether it is as small as asked."""
    epsilon = run.record.problem.epsilon
    if run.record.problem.goal is None:
        done = "a stopping rule holds" if reached(run) else "NOT reached: no stopping rule holds"
        return Text(f"no soft margin; {done}", "yellow" if reached(run) else "red")
    certificate = run.class_certificate
    if not certificate.exact:
        done = "a stopping rule holds" if reached(run) else "NOT reached: no stopping rule holds"
        words = f"not known: the oracle is heuristic, no bound of the class; {done}"
        return Text(words, "yellow" if reached(run) else "red")
    if reached(run) and certificate.gap > epsilon + ROUNDED:
        return Text(f"{certificate.gap:.2e}; the rounds asked for are over", "yellow")
    words = f"{certificate.gap:.2e}, {'within' if reached(run) else 'NOT within'} epsilon = {epsilon:g}"
    return Text(words, "green" if reached(run) else "red")


def interrupted(run: Run) -> bool:
    """Whether the user stopped a run."""
    return run.reason == INTERRUPTED


def parameters_of(run: Run) -> Any:
    """Return the parameters of a run, those that are set anew as they were in the last round."""
    record = run.record
    last = record.collected.margins.column(record.collected.t - 1)
    return record.problem.parameters(record.state.as_solved.progress(record.problem, last))


def headline(run: Run) -> str:
    """Return what was boosted, in a line."""
    record = run.record
    said = parameters_in_words(parameters_of(run))
    return f"{record.problem.page.name}: N = {record.collected.N}" + (f", {said}" if said else "")


def run_record(run: Run) -> dict[str, Any]:
    """Return what a run has found as plain values, without its trace."""
    problem, over_class = run.record.problem, None
    if problem.goal is not None:
        certificate = run.class_certificate
        over_class = {"lower": certificate.lower, "upper": certificate.upper, "gap": certificate.gap}
        over_class["bounded"] = certificate.exact
    return {
        "formulation": problem.page.name,
        "parameters": asdict(parameters_of(run)),
        "update": problem.update,
        "epsilon": problem.epsilon,
        "examples": run.record.collected.N,
        "examples_with_multiplicity": problem.examples.total,
        "oracle": run.record.oracle,
        "digest": run.record.digest,
        "reached": reached(run),
        "reason": run.reason,
        "class": over_class,
        "collected": bounds(run.certificate),
        "rounds": run.rounds,
        "most_rounds": run.most_rounds,
        "hypotheses": len(run.w),
        "active": int(np.count_nonzero(run.w)),
        "seconds": run.trace[-1].seconds if len(run.trace) else 0.0,
    }


def weighted(run: Run, names: Sequence[str]) -> list[tuple[float, str]]:
    """Return the hypotheses with a weight in words, the heaviest first."""
    order = np.argsort(-np.abs(run.w), kind="stable").tolist()
    return [(float(run.w[q]), in_words(run.hypotheses[q], names)) for q in order if run.w[q] != 0.0]


def in_words(hypothesis: Hypothesis, names: Sequence[str]) -> str:
    """Return a hypothesis in words, with the name of its feature where it is known."""
    said = str(hypothesis)
    if not isinstance(hypothesis, Stump | Feature) or hypothesis.feature >= len(names):
        return said
    return said.replace(f"feature {hypothesis.feature}", names[hypothesis.feature], 1)


def check_outputs(source: str | None, *paths: str | None, read: Sequence[str | None] = ()) -> None:
    """Raise an error for a file that could not be written, before the work and not after it.

    Parameters
    ----------
    source
        The data.
    *paths
        All files that the command writes.
    read
        What else it reads.

    Raises
    ------
    DataError
        There is no folder to write it in, or what is there is no regular file.
    OptionError
        Two results would go into one file, or one into a file that is read.
    """
    taken = [path for path in (source, *read) if path is not None]
    for path in paths:
        if path is None:
            continue
        if any(same_place(path, other) for other in taken):
            raise OptionError(
                f"each result needs a file of its own, and none that of the data or of another input; got {path!r} "
                "twice. Name another file."
            )
        sweep(path)
        sweep(written(path))
        taken.append(path)


def check_picture(path: str | None, drawn: str) -> None:
    """Raise an error where a picture could not be drawn or its format is unknown."""
    if path is None:
        return
    from boostopt import pictures

    getattr(pictures, drawn)  # says how matplotlib is installed, if it is not
    from matplotlib.figure import Figure

    known = Figure().canvas.get_supported_filetypes()
    suffix = Path(path).suffix[1:].lower()
    if suffix not in known:
        raise OptionError(f"--picture takes a file ending in .png, .svg, .pdf or the like; got {path!r}.")


def save_picture(figure: Any, path: str) -> None:
    """Write a picture."""
    content = io.BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower())
    replace_file(Path(path), lambda file: file.write(content.getvalue()))
