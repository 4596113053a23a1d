"""Code shared by the commands that boost: the checks before a run, the gap it reached, and its records."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from boostopt._utils.files import is_same_file, resolve_target, write_atomically
from boostopt._utils.formatting import format_parameters
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.rules import rule_of
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_file import remove_partial_files
from boostopt.boosting.run.stop_reason import LIMITS, StopReason
from boostopt.errors import OptionError
from boostopt.objectives.soft_margin import SoftMarginObjective
from boostopt.oracles.hypothesis_descriptions import in_words
from boostopt.programs.identity import certificate_fields
from boostopt.verification.certificate_files import edge_to_json, regularizer_to_json

CERTIFIED_GAP_TOLERANCE = 1e-9
"""The amount by which a certified gap may exceed the gap that a rule found, because of rounding."""


def validate_requested_results(
    name: str, goal: SoftMarginObjective | None, certificate: str | None, picture: str | None = None
) -> None:
    """Raise an error, before the run, for a requested result that the run cannot have."""
    if goal is None:
        if certificate or picture:
            raise OptionError(
                f"{name} has no soft margin over a class to certify or to draw; got "
                f"{'--certificate' if certificate else '--picture'}. Leave it out."
            )
    elif certificate:
        # The writer of the file refuses what it cannot state.
        regularizer_to_json(goal.F0, goal.examples)
        edge_to_json(goal.G)


def within_epsilon(run: Run) -> bool:
    """Whether the gap over the class is at most epsilon; False if no bound of the class is known."""
    return run.problem.has_class_bound and run.class_certificate.gap <= run.problem.epsilon + CERTIFIED_GAP_TOLERANCE


def is_successful(run: Run) -> bool:
    """Whether a run succeeded.

    If the class is bounded, its certificate decides: the gap must be at most epsilon. If it is not, for a heuristic
    oracle or a program without a soft margin, a stopping rule of the formulation must hold. Algorithms without a
    stopping rule succeed when they reach their limit or end by themselves. Early stopping succeeds when held-out
    examples are predicted no better.
    """
    problem = run.problem
    if within_epsilon(run):
        return True
    reason = run.stop_reason
    if reason is StopReason.NO_SMALLER_TEST_ERROR or (problem.needs_limit and reason in LIMITS):
        return True
    if run.reason.startswith(problem.formulation.boosting.extra_success_reasons):
        return True
    rule = rule_of(run.reason)
    by_rule = rule is not None and not rule.caveat(problem)
    unknown = not problem.has_class_bound or math.isinf(run.class_certificate.gap)
    return unknown and (by_rule or (problem.objective is None and reason is StopReason.CONVERGED))


def gap_text(run: Run) -> Text:
    """Return the gap over the class, and whether it is as small as asked."""
    epsilon = run.problem.epsilon
    if not run.problem.has_class_bound:
        done = "a stopping rule holds" if is_successful(run) else "NOT reached: no stopping rule holds"
        return Text(f"no soft margin; {done}", "yellow" if is_successful(run) else "red")
    certificate = run.class_certificate
    if not certificate.has_upper_bound:
        done = "a stopping rule holds" if is_successful(run) else "NOT reached: no stopping rule holds"
        words = f"not known: the oracle is heuristic, no bound of the class; {done}"
        return Text(words, "yellow" if is_successful(run) else "red")
    if is_successful(run) and not within_epsilon(run):
        ends = {StopReason.NO_SMALLER_TEST_ERROR: "held-out examples are predicted no better"}
        ends |= dict.fromkeys(LIMITS, "the rounds asked for are over")
        over = ends.get(run.stop_reason, "the algorithm has come to its own end")
        return Text(f"{certificate.gap:.2e}; {over}", "yellow")
    words = f"{certificate.gap:.2e}, {'within' if is_successful(run) else 'NOT within'} epsilon = {epsilon:g}"
    return Text(words, "green" if is_successful(run) else "red")


def was_interrupted(run: Run) -> bool:
    """Whether the user stopped a run."""
    return run.stop_reason is StopReason.INTERRUPTED


def is_distributed(run: Run) -> bool:
    """Whether the rows of a run are on a cluster; then no vector of their length is requested."""
    return isinstance(run, HistogramRun) and run.aggregates_only


def parameters_of(run: Run) -> Any:
    """Return the parameters of a run; those that change during the run have their values of the last round."""
    if is_distributed(run):
        return run.problem.template.parameters
    record = run.record
    last = record.pool.margins.column(record.pool.t - 1)
    return record.problem.parameters(record.state.before_last_answer.progress(record.problem, last))


def run_headline(run: Run) -> str:
    """Describe the boosted problem in a line."""
    numbers = format_parameters(parameters_of(run))
    return f"{run.problem.formulation.name}: N = {run.N}" + (f", {numbers}" if numbers else "")


def run_to_json(run: Run) -> dict[str, Any]:
    """Return the results of a run as plain values, without its trace."""
    problem, over_class, apart = run.problem, None, is_distributed(run)
    if problem.has_class_bound:
        certificate = run.class_certificate
        over_class = {
            "lower": certificate.lower,
            "upper": certificate.upper,
            "gap": certificate.gap,
            "bounded": certificate.has_upper_bound,
            "what": certificate.quantity,
        }
    return {
        "formulation": problem.formulation.name,
        "parameters": asdict(parameters_of(run)),
        "update": problem.update,
        "epsilon": problem.epsilon,
        "examples": run.N,
        "examples_with_multiplicity": problem.examples.total,
        "oracle": run.oracle,
        "digest": None if apart else run.record.digest,
        "reached": is_successful(run),
        "within_epsilon": within_epsilon(run),
        "reason": run.reason,
        "class": over_class,
        "collected": None if apart else certificate_fields(run.certificate),
        "rounds": run.rounds,
        "most_rounds": run.iteration_bound,
        "hypotheses": len(run.w),
        "active": int(np.count_nonzero(run.w)),
        "seconds": run.trace[-1].seconds if len(run.trace) else 0.0,
    }


def describe_weights(run: Run, names: Sequence[str]) -> list[tuple[float, str]]:
    """Return the hypotheses with a weight in words, the heaviest first."""
    order = np.argsort(-np.abs(run.w), kind="stable").tolist()
    return [(float(run.w[q]), in_words(run.hypotheses[q], names)) for q in order if run.w[q] != 0.0]


def validate_output_paths(source: str | None, *paths: str | None, read: Sequence[str | None] = ()) -> None:
    """Raise an error before the work, instead of after it, for a file that could not be written.

    Parameters
    ----------
    source
        The data.
    *paths
        All files that the command writes.
    read
        The other files that the command reads.

    Raises
    ------
    DataError
        The folder of a file does not exist, or the path names something other than a regular file.
    OptionError
        Two results would be written to one file, or a result to an input file.
    """
    taken = [path for path in (source, *read) if path is not None]
    for path in paths:
        if path is None:
            continue
        if any(is_same_file(path, other) for other in taken):
            raise OptionError(
                f"each result needs a file of its own, and none that of the data or of another input; got {path!r} "
                "twice. Name another file."
            )
        remove_partial_files(path)
        remove_partial_files(resolve_target(path))
        taken.append(path)


HTML_FORMAT, JSON_FORMAT, NPZ_FORMAT = ("HTML", ".html", ".htm"), ("JSON", ".json"), ("an npz file", ".npz")
"""Formats of output files with their endings."""


def validate_suffix(option: str, path: str | None, form: tuple[str, ...]) -> None:
    """Raise OptionError, before the work, for a file whose ending names another format than the one written."""
    what, *endings = form
    if path is not None and Path(path).suffix.lower() not in ("", *endings):
        raise OptionError(
            f"{option} writes {what}, so its file ends in {' or '.join(endings)}; got {path!r}. Name such a file."
        )


def validate_picture_path(path: str | None, picture_name: str) -> None:
    """Raise an error if a picture cannot be drawn or its format is unknown."""
    if path is None:
        return
    from boostopt import pictures

    getattr(pictures, picture_name)  # raises an error with the command that installs matplotlib, if it is missing
    from matplotlib.figure import Figure

    known = Figure().canvas.get_supported_filetypes()
    suffix = Path(path).suffix[1:].lower()
    if suffix not in known:
        raise OptionError(f"--picture takes a file ending in .png, .svg, .pdf or the like; got {path!r}.")


def save_picture(figure: Any, path: str) -> None:
    """Write a picture."""
    content = io.BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower())
    write_atomically(Path(path), lambda file: file.write(content.getvalue()))
