"""Output of the commands that boost: checks before a run, success and gap of a run, records and pictures."""

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
from boostopt.boosting.objectives.soft_margin import SoftMarginObjective
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.run_file import remove_partial_files
from boostopt.boosting.run.stop_reason import LIMITS, StopReason
from boostopt.boosting.stopping_rules import rule_of
from boostopt.errors import OptionError
from boostopt.oracles.hypothesis_descriptions import in_words
from boostopt.programs.program import Program
from boostopt.programs.program_identity import certificate_fields
from boostopt.verification.described_files.functions_as_problems import is_described
from boostopt.verification.functions_as_json import edge_to_json, regularizer_to_json

CERTIFIED_GAP_TOLERANCE = 1e-9
"""Rounding allowance: by how much a certified gap may exceed the gap that a stopping rule computed."""


def validate_requested_results(
    program: Program, objective: SoftMarginObjective | None, certificate: str | None, picture: str | None = None
) -> None:
    """Raise an error, before the run, for a requested result that the run cannot have.

    Parameters
    ----------
    program
        A program of the formulation.
    objective
        The soft margin over the class; None if the formulation has none.
    certificate, picture
        The requested files; None for no request.

    Raises
    ------
    OptionError
        There is no soft margin to draw, or no value over a class to certify.
    ProblemError
        A certificate file cannot state F or G.
    """
    F, G = (program.regularizer, program.edge_function) if objective is None else (objective.F0, objective.G)
    is_bounded = objective is not None or (G.has_class_bound and not is_described(F, G))
    if (picture and objective is None) or (certificate and not is_bounded):
        raise OptionError(
            f"{program.formulation.name} has no soft margin over a class to certify or to draw; got "
            f"{'--picture' if is_bounded or not certificate else '--certificate'}. Leave it out."
        )
    if certificate and not is_described(F, G):
        # The writers of the file raise an error for functions that they cannot state.
        regularizer_to_json(F, program.examples)
        edge_to_json(G)


def within_epsilon(run: Run) -> bool:
    """Return whether the gap over the class is at most epsilon; False if there is no bound over the class."""
    return run.problem.has_class_bound and run.class_certificate.gap <= run.problem.epsilon + CERTIFIED_GAP_TOLERANCE


def is_successful(run: Run) -> bool:
    """Return whether a run succeeded.

    If there is a bound over the class, the certificate decides: the gap must be at most epsilon. If there is none, for
    a heuristic oracle or a program without a soft margin, a stopping rule of the formulation must hold. Algorithms
    without a stopping rule succeed when they reach their limit or end by themselves. Early stopping succeeds when
    held-out examples are predicted no better.
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
    rule_holds = rule is not None and not rule.caveat(problem)
    is_unbounded = not problem.has_class_bound or math.isinf(run.class_certificate.gap)
    return is_unbounded and (rule_holds or (problem.objective is None and reason is StopReason.CONVERGED))


def gap_text(run: Run) -> Text:
    """Return a text with the gap over the class, and whether the gap is at most epsilon."""
    epsilon = run.problem.epsilon
    if not run.problem.has_class_bound:
        outcome = "a stopping rule holds" if is_successful(run) else "NOT reached: no stopping rule holds"
        return Text(f"no soft margin; {outcome}", "yellow" if is_successful(run) else "red")
    certificate = run.class_certificate
    if not certificate.has_upper_bound:
        outcome = "a stopping rule holds" if is_successful(run) else "NOT reached: no stopping rule holds"
        text = f"not known: the oracle is heuristic, no bound of the class; {outcome}"
        return Text(text, "yellow" if is_successful(run) else "red")
    if is_successful(run) and not within_epsilon(run):
        reasons = {StopReason.NO_SMALLER_TEST_ERROR: "held-out examples are predicted no better"}
        reasons |= dict.fromkeys(LIMITS, "the limit on rounds or on time is reached")
        reason = reasons.get(run.stop_reason, "the algorithm ended by itself")
        return Text(f"{certificate.gap:.2e}; {reason}", "yellow")
    text = f"{certificate.gap:.2e}, {'within' if is_successful(run) else 'NOT within'} epsilon = {epsilon:g}"
    return Text(text, "green" if is_successful(run) else "red")


def was_interrupted(run: Run) -> bool:
    """Return whether the user stopped a run."""
    return run.stop_reason is StopReason.INTERRUPTED


def is_distributed(run: Run) -> bool:
    """Return whether the rows of a run are on a cluster, so that no vector has their length."""
    return isinstance(run, HistogramRun) and run.aggregates_only


def parameters_of(run: Run) -> Any:
    """Return the parameters of a run; parameters that change during the run have the values of the last round."""
    if is_distributed(run):
        return run.problem.template.parameters
    record = run.record
    last = record.pool.margins.column(record.pool.t - 1)
    return record.problem.parameters(record.state.before_last_answer.progress(record.problem, last))


def run_headline(run: Run) -> str:
    """Return a line that describes the problem of a run."""
    numbers = format_parameters(parameters_of(run))
    return f"{run.problem.formulation.name}: N = {run.N}" + (f", {numbers}" if numbers else "")


def run_to_json(run: Run) -> dict[str, Any]:
    """Return the results of a run as plain values, without its trace."""
    problem, class_record, distributed = run.problem, None, is_distributed(run)
    if problem.has_class_bound:
        certificate = run.class_certificate
        class_record = {
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
        "digest": None if distributed else run.record.digest,
        "reached": is_successful(run),
        "within_epsilon": within_epsilon(run),
        "reason": run.reason,
        "class": class_record,
        "collected": None if distributed else certificate_fields(run.certificate),
        "rounds": run.rounds,
        "most_rounds": run.iteration_bound,
        "hypotheses": len(run.w),
        "active": int(np.count_nonzero(run.w)),
        "seconds": run.trace[-1].seconds if len(run.trace) else 0.0,
    }


def describe_weights(run: Run, names: Sequence[str]) -> list[tuple[float, str]]:
    """Return the non-zero weights, the largest first, each with the description of its hypothesis."""
    order = np.argsort(-np.abs(run.w), kind="stable").tolist()
    return [(float(run.w[q]), in_words(run.hypotheses[q], names)) for q in order if run.w[q] != 0.0]


def validate_output_paths(source: str | None, *paths: str | None, read: Sequence[str | None] = ()) -> None:
    """Raise an error before the work, instead of after it, for a file that could not be written.

    Parameters
    ----------
    source
        The data; None if there is no data file.
    *paths
        The files that the command writes; None for a file that is not requested.
    read
        The other files that the command reads.

    Raises
    ------
    DataError
        The folder of a file does not exist, its disk is full, or the path names something other than a regular file.
    OptionError
        Two results would be written to one file, or a result to an input file.
    """
    used_paths = [path for path in (source, *read) if path is not None]
    for path in paths:
        if path is None:
            continue
        if any(is_same_file(path, used) for used in used_paths):
            raise OptionError(
                f"each result needs a file of its own, other than the data and the other inputs; got {path!r} twice. "
                "Name another file."
            )
        remove_partial_files(path)
        remove_partial_files(resolve_target(path))
        used_paths.append(path)


HTML_FORMAT, JSON_FORMAT, NPZ_FORMAT = ("HTML", ".html", ".htm"), ("JSON", ".json"), ("an npz file", ".npz")
"""Formats of output files: the name, and the suffixes."""


def validate_suffix(option: str, path: str | None, form: tuple[str, ...]) -> None:
    """Raise OptionError, before the work, for a file whose suffix names a format other than `form`."""
    format_name, *suffixes = form
    if path is not None and Path(path).suffix.lower() not in ("", *suffixes):
        endings = " or ".join(suffixes)
        raise OptionError(
            f"{option} writes {format_name}, so its file ends in {endings}; got {path!r}. Name such a file."
        )


def validate_picture_path(path: str | None, picture_name: str) -> None:
    """Raise an error if a picture cannot be drawn or its format is unknown."""
    if path is None:
        return
    from boostopt import pictures

    getattr(pictures, picture_name)  # raises an error if matplotlib is missing, with the command that installs it
    from matplotlib.figure import Figure

    if Path(path).suffix[1:].lower() not in Figure().canvas.get_supported_filetypes():
        raise OptionError(f"--picture takes a file with the suffix .png, .svg, .pdf or the like; got {path!r}.")


def save_picture(figure: Any, path: str) -> None:
    """Write a picture into a file; the suffix sets the format."""
    content = io.BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower())
    write_atomically(Path(path), lambda file: file.write(content.getvalue()))
