"""Sentences and rounded numbers about single runs and runs of one program, shared by the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from boostopt._utils.formatting import format_interval
from boostopt.comparison.rendering.solver_claim_sentences import stopping_test_sentences
from boostopt.comparison.solve_record import AUTO, SolveRecord
from boostopt.comparison.solve_results import intersect_intervals, refutation

CONTRADICTION_ADVICE = (
    "Whatever the solvers did, F or G contradicts its conjugate. If the formulation is your own, run `boostopt check` "
    "on it. If it is one of boostopt's, that is a bug in boostopt: please report it with the data."
)
"""Advice on intervals of a program that have no point in common."""

PROBLEM_CONTRADICTION_ADVICE = (
    "Whatever the solvers did, that is a bug in boostopt: please report it with the CVXPY problem."
)
"""Advice on intervals of a CVXPY problem that have no point in common."""

NO_ANSWER = "no answer"
"""Text in place of an interval if no attempt left an answer."""

NO_ANSWER_SENTENCE = "No backend left an answer."
"""Conclusion if no backend left an answer."""

MAX_GAP_FRACTION = 0.01
"""Requested gap over the size of the optimum, above which the optimum is called small."""

Kind = Literal["known", "good", "warning", "wrong"]
"""Kind of a conclusion: a true finding ("known", "good", "warning"), or a bug of boostopt ("wrong")."""


@dataclass(frozen=True)
class Conclusion:
    """A sentence about results, and its kind."""

    words: str
    kind: Kind


# One program


def no_answer_reason(run: SolveRecord) -> str:
    """Return why a run has no answer, in the solver's own words."""
    return run.error or run.solver_status or "no attempt was made"


def summarize_program(runs: Sequence[SolveRecord]) -> Conclusion:
    """Return the proved bounds of the optimum, the backends that proved them, and whether all intervals agree."""
    ran, (lower, upper) = [run for run in runs if run.ran], intersect_intervals(runs)
    if not ran:
        return Conclusion("No backend named can take this program.", "wrong")
    if lower > upper:
        return Conclusion(f"The intervals contradict each other. {contradiction_advice(runs)}", "wrong")
    if has_no_optimum(ran):
        provers = dict.fromkeys(run.backend for run in ran if run.has_target_gap)
        if is_problem(ran):  # boostopt proves it without the solvers
            agreement = f"as {join_names(provers)} say" if provers else "which no solver says"
            return Conclusion(
                f"It is proved that the {decided_text(ran)}, {agreement}.", "good" if provers else "warning"
            )
        return Conclusion(f"The {decided_text(ran)}, proved by {join_names(provers)}.", "good")
    if not any(run.answered for run in ran):
        return Conclusion(NO_ANSWER_SENTENCE, "warning")
    bounds = f"The {_optimum_text(lower, upper)}"
    agreement = "all intervals agree" if len({run.backend for run in ran}) > 1 else "no other backend was run"
    successes = [run for run in ran if run.has_target_gap]
    if not successes:
        return Conclusion(f"{bounds}: nobody certified it to {min(run.tol for run in ran):g}; {agreement}.", "warning")
    finest = min(run.tol for run in successes)
    provers = dict.fromkeys(run.backend for run in successes if run.tol == finest)
    kind: Kind = "good" if finest == min(run.tol for run in ran) else "warning"
    return Conclusion(f"{bounds}: certified to {finest:g} by {join_names(provers)}; {agreement}.", kind)


def summarize_comparison(
    runs: Sequence[SolveRecord], equal_weights: Sequence[float | None] = (), is_soft_margin_bound: bool = False
) -> list[Conclusion]:
    """Return the conclusions from the runs of one program by several backends, each run once.

    Parameters
    ----------
    runs
        The runs.
    equal_weights, is_soft_margin_bound
        Facts about the program, as in `trivial_bounds`.
    """
    ran, (lower, upper) = [run for run in runs if run.ran], intersect_intervals(runs)
    if not ran or lower > upper:
        return [summarize_program(runs)]
    if not any(run.answered for run in ran):
        return [Conclusion(NO_ANSWER_SENTENCE, "warning")]
    optimum = decided_text(ran) if has_no_optimum(ran) else _optimum_text(lower, upper)
    sentences = [Conclusion(f"All together: the {optimum}.", "known")]
    successes = [run for run in ran if run.has_target_gap]
    wider = [run.backend for run in ran if not run.has_target_gap]
    if has_no_optimum(ran) and is_problem(ran):
        names = ", ".join(run.backend for run in successes)
        sentences += [Conclusion(f"These solvers say so: {names}.", "good")] if successes else []
        sentences += [Conclusion(f"These do not: {', '.join(wider)}.", "warning")] if wider else []
        return [*sentences, *refuted_values(runs)]
    if successes:
        names = ", ".join(run.backend for run in successes)
        sentences.append(Conclusion(f"Certified to {_target_gap_text(ran[0])}: {names}.", "good"))
        fastest = min(successes, key=lambda run: run.seconds)
        sentences.append(Conclusion(f"Fastest of them in this one run: {fastest.backend}.", "good"))
    if lower < upper == math.inf and not is_problem(ran):
        sentences.append(
            Conclusion(
                "No d near the answers keeps the edges within their limits: the program is borderline.", "warning"
            )
        )
    if wider:
        sentences.append(Conclusion(f"Not as narrow as {_target_gap_text(ran[0])}: {', '.join(wider)}.", "warning"))
    sentences += [Conclusion(text, "warning") for text in stopping_test_sentences(runs)]
    return [*sentences, *refuted_values(runs), *trivial_bounds(runs, equal_weights, is_soft_margin_bound)]


def _optimum_text(lower: float, upper: float) -> str:
    """Return what is known about the optimum, without an article."""
    if lower == -math.inf and upper == math.inf:
        return "optimum has no proved bound"
    return f"optimum lies in {format_interval(lower, upper)}"


def is_problem(runs: Iterable[SolveRecord]) -> bool:
    """Return whether runs are of a CVXPY problem; False if none was run."""
    return any(run.residuals is not None for run in runs)


def contradiction_advice(runs: Iterable[SolveRecord]) -> str:
    """Return the advice on intervals that have no point in common."""
    return PROBLEM_CONTRADICTION_ADVICE if is_problem(runs) else CONTRADICTION_ADVICE


def has_no_optimum(runs: Iterable[SolveRecord]) -> bool:
    """Return whether a run proves that there is no optimum."""
    return any(run.infeasible or run.unbounded for run in runs)


def decided_text(runs: Sequence[SolveRecord]) -> str:
    """Return what is proved in place of an optimum."""
    kind = "infeasible" if any(run.infeasible for run in runs) else "unbounded"
    return f"{'problem' if is_problem(runs) else 'program'} is {kind}"


def refuted_values(runs: Sequence[SolveRecord]) -> list[Conclusion]:
    """Return a warning for each solver whose reported value is refuted, for its worst run."""
    worst: dict[str, tuple[float, float]] = {}
    for run in runs:
        distance = refutation(run, runs)
        if run.claimed_value is not None and distance > worst.get(run.backend, (0.0, 0.0))[0]:
            worst[run.backend] = distance, run.claimed_value
    return [
        Conclusion(f"Refuted: {backend} reports the value {value:z.10g}, {_distance_text(distance, runs)}.", "warning")
        for backend, (distance, value) in worst.items()
    ]


def _distance_text(distance: float, runs: Sequence[SolveRecord]) -> str:
    """Return how far a reported value is from what all runs prove."""
    return f"and the {decided_text(runs)}" if math.isinf(distance) else f"which is off by {distance:.1e}"


def trivial_bounds(
    runs: Iterable[SolveRecord], equal_weights: Sequence[float | None], is_soft_margin_bound: bool = False
) -> list[Conclusion]:
    """Return warnings that a program compares little: its optimum is small, or equal weights prove a bound.

    Parameters
    ----------
    runs
        The runs of the program.
    equal_weights
        The lower bound that equal weights of the hypotheses prove, and the upper bound that equal weights of the
        examples prove; None for an infinite bound; empty if the bounds are unknown.
    is_soft_margin_bound
        Whether the optimum is an upper bound of the soft margins of all weights.
    """
    ran = [run for run in runs if run.ran]
    lower, upper = intersect_intervals(ran)
    if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
        return []
    tol = min(run.tol for run in ran)
    size, sentences = max(abs(lower), abs(upper)), list[Conclusion]()
    if size <= tol:
        sentences.append(
            Conclusion(
                f"The optimum is 0 up to the gap {tol:g}: below this gap solvers are compared on noise.", "warning"
            )
        )
    elif tol > MAX_GAP_FRACTION * size:
        sentences.append(
            Conclusion(f"The optimum is small: a gap of {tol:g} is {tol / size:.2g} times its size.", "warning")
        )
    if is_soft_margin_bound and upper <= tol:
        sentences.append(
            Conclusion(
                f"No weights have a soft margin above {tol:g}, and f(x) = 0, which predicts nothing, has 0. "
                "Raise nu, or use better hypotheses.",
                "warning",
            )
        )
    for items, side, bound, optimum in zip(
        ("hypotheses", "examples"), ("lower", "upper"), equal_weights, (upper, lower), strict=False
    ):
        if bound is not None and abs(optimum - bound) <= tol * max(1.0, size):
            sentences.append(
                Conclusion(f"Equal weights of the {items} prove the {side} bound without a solver.", "warning")
            )
    return sentences


def _target_gap_text(run: SolveRecord) -> str:
    """Return the requested gap, relative to max(1, |optimum|): as a multiple of the optimum, or as an absolute gap."""
    is_relative = run.gap > 1.0001 * run.scaled_gap
    return f"{run.tol:g} times the optimum" if is_relative else f"an absolute gap of {run.tol:g}"


def proved_interval_text(run: SolveRecord) -> str:
    """Return the interval that a run proves for the optimum, rounded outward."""
    if not run.answered:
        return NO_ANSWER
    if run.optimum_sign is not None:
        return "infeasible" if run.infeasible else "unbounded"
    return f"infeasible, proved by {run.excess or math.nan:.3g}" if run.infeasible else format_interval(*run.interval)


def gap_text(run: SolveRecord) -> str:
    """Return the certified gap of an answer, not scaled; "-" for no answer and where there is no optimum."""
    return f"{run.gap:.1e}" if run.answered and not has_no_optimum([run]) else "-"


def relative_width(run: SolveRecord) -> str:
    """Return the certified gap over the larger absolute bound of the optimum; "-" for none."""
    return f"{run.relative_gap:.1e}" if run.answered and not has_no_optimum([run]) else "-"


def claimed_value_text(run: SolveRecord, runs: Iterable[SolveRecord] = ()) -> str:
    """Return the optimum that a solver reports, marked if all runs together refute it; "-" for none."""
    if run.claimed_value is None:
        return "-"
    return f"{run.claimed_value:z.10g}{' (refuted)' if refutation(run, runs) else ''}"


def worst_residual_text(run: SolveRecord) -> str:
    """Return the largest residual of a KKT condition over its scale; "-" if none was measured."""
    return _residual_text(max(run.residuals.values())) if run.residuals else "-"


def residuals_text(run: SolveRecord) -> str:
    """Return the largest residual of each kind of KKT condition over its scale; "" if none was measured."""
    return ", ".join(f"{kind} {_residual_text(residual)}" for kind, residual in (run.residuals or {}).items())


def _residual_text(residual: float) -> str:
    """Return a residual with two digits."""
    return f"{residual:.1e}" if residual else "0"


def format_seconds(run: SolveRecord) -> str:
    """Return the seconds of a single run."""
    return f"{run.seconds:.3f}"


def iterations_text(run: SolveRecord) -> str:
    """Return the number of iterations over all attempts; "-" if the solver does not count them."""
    return "-" if run.iterations is None else str(run.iterations)


def accuracy_request_text(run: SolveRecord) -> str:
    """Return the profile of a solve and the finest accuracy among the solver's options; "" if both are unknown."""
    return ", ".join(filter(None, (run.profile, "" if run.finest_accuracy is None else f"{run.finest_accuracy:g}")))


def sent_accuracies(runs: Iterable[SolveRecord]) -> dict[tuple[str, float], str]:
    """Return the accuracies among the options of each backend at each gap; backends without one are left out."""
    accuracies: dict[tuple[str, float], set[float]] = {}
    for run in runs:
        if run.ran and run.finest_accuracy is not None:
            accuracies.setdefault((run.backend, run.tol), set()).add(run.finest_accuracy)
    return {
        key: f"accuracy {' to '.join(f'{extreme:g}' for extreme in sorted({max(values), min(values)})[::-1])}"
        for key, values in accuracies.items()
    }


def best_form_text(run: SolveRecord) -> str:
    """Return the number of attempts, and the form of the best attempt."""
    return f"best of {run.attempts}: {run.form}" if run.form else NO_ANSWER


def phase_seconds_text(run: SolveRecord) -> str:
    """Return the seconds of each phase."""
    return ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in run.phases.items() if seconds is not None)


def answering_backend_text(run: SolveRecord) -> str:
    """Return the backend that answered for the automatic choice; "" for any other backend."""
    name = run.answered_by
    return f"answered by {name}, tried {', '.join(run.path or ())}" if run.backend == AUTO and name else ""


def join_names(names: Iterable[str]) -> str:
    """Join names for a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
