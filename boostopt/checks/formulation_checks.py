"""Checks of a formulation on small random instances: F, G, the printed problems, and copies of examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_seed
from boostopt.checks import printed_problem_checks
from boostopt.checks.check_report import Check, CheckReport
from boostopt.checks.edge_checks import EDGE_CHECKS
from boostopt.checks.formulation_probe import FormulationProbe
from boostopt.checks.references.measurements import (
    CLOSED_FORM_TOLERANCE,
    ComponentError,
    Findings,
    Measurement,
    NotApplicable,
    absolute_difference,
    call_component,
    relative_scale,
    run_check,
)
from boostopt.checks.references.random_instances import bind_formulation, draw_instances
from boostopt.checks.references.random_test_points import RegularizerProbe
from boostopt.checks.regularizer_checks import REGULARIZER_CHECKS
from boostopt.errors import ProblemError, reason_of, unknown_name
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation
from boostopt.programs.parameters import check_value

N_INSTANCES = 3
"""Number of random instances of a formulation: `random_instances` has this many kinds."""

COPIES_MESSAGE = "c_n = k must count as k copies of example n (the others)"
PERMUTATION_MESSAGE = "the examples in another order (the others) must have the same weights"


def check_formulation(name_or_formulation: object, random_state: int = 0, **parameters: Any) -> CheckReport:
    """Check a formulation on small random instances.

    Parameters
    ----------
    name_or_formulation
        A name from `list_formulations()`, the path of a formulation file, or a formulation.
    random_state
        Seed of the instances: real and +-1 margins, even and uneven multiplicities and references.
    **parameters
        Fixed values of parameters; the other parameters are drawn from their domains.

    Returns
    -------
    The checks of F ("F: ..."), of G ("G: ...") and of the formulation.

    Raises
    ------
    OptionError
        The formulation is unknown, or it has no such parameter.
    ProblemError
        A value is not a number, or not a flag.
    """
    formulation = get_formulation(name_or_formulation)
    for name in parameters:
        if name not in formulation.parameters:
            raise unknown_name(f"parameter of {formulation.name}", name, formulation.parameters)
    for name, value in parameters.items():
        # The report tells whether a value is out of range: this depends on the instance.
        if formulation.parameters[name].domain.kind != "per example" and value is not None:
            check_value(formulation.parameters[name], value, 1)
    return CheckReport(formulation.name, _run_checks(formulation, check_seed("random_state", random_state), parameters))


def _run_checks(formulation: Formulation[Any], random_state: int, parameters: dict[str, Any]) -> tuple[Check, ...]:
    """Run all checks on random instances; a failed "binds" if the formulation cannot be bound."""
    try:
        instances = draw_instances(formulation, random_state, N_INSTANCES, parameters)
    except ComponentError as failure:
        return (Check("binds", False, np.inf, 0.0, str(failure)),)
    probes = [FormulationProbe(formulation, instance, random_state + k) for k, instance in enumerate(instances)]
    refusals = [words for instance in instances for words in instance.rejected_draws]
    refused = f"; {format_count(len(refusals), 'draw')} refused, the last: {refusals[-1]}" if refusals else ""
    checks = [Check("binds", True, 0.0, 0.0, f"{len(instances)} instances{refused}"[:300])]
    for name, check in REGULARIZER_CHECKS.items():
        checks.append(run_check(f"F: {name}", _with_instance(probes, (check(one.F) for one in probes))))
    for name, check in EDGE_CHECKS.items():
        checks.append(run_check(f"G: {name}", _with_instance(probes, (check(one.G) for one in probes))))
    for name, check in FORMULATION_CHECKS.items():
        checks.append(run_check(name, _with_instance(probes, (check(one) for one in probes))))
    return tuple(checks)


def _with_instance(probes: list[FormulationProbe], streams: Iterable[Findings]) -> Findings:
    """Chain the measurements of all instances, each with the name of its instance."""
    for one, stream in zip(probes, streams, strict=True):
        for item in stream:
            is_measurement = isinstance(item, Measurement)
            yield replace(item, arguments={**item.arguments, "instance": one.instance}) if is_measurement else item


def check_copies(probe: FormulationProbe) -> Findings:
    """Check that c_n = k equals k copies: F* is the same, and the weights of the copies sum to a maximizer."""
    instance, N = probe.instance, probe.program.margins.N
    rng = np.random.default_rng([probe.seed, 11])
    k = rng.integers(2, 5, N)  # more examples than in the instance, so that nu remains possible
    values = dict(instance.values)
    repeated = {name: np.repeat(value, k) if name in probe.per_example else value for name, value in values.items()}
    d0 = instance.d0
    try:
        merged = bind_formulation(probe.formulation, probe.U, k.astype(np.float64), d0, values).regularizer
        parts = None if d0 is None else np.repeat(d0 / k, k)
        copied = bind_formulation(probe.formulation, np.repeat(probe.U, k, axis=0), None, parts, repeated).regularizer
    except ProblemError as refusal:
        yield NotApplicable(f"one instance cannot be bound with other multiplicities ({reason_of(refusal)})"[:200])
        return
    starts = np.concatenate([[0], np.cumsum(k)[:-1]])
    for z in (rng.uniform(-1, 1, N), rng.normal(size=N) * 3.0):
        yield from _compare_conjugates(
            merged, copied, z, np.repeat(z, k), lambda d: np.add.reduceat(d, starts), COPIES_MESSAGE, {"k": k}
        )


def check_permutation(probe: FormulationProbe) -> Findings:
    """Check that permuting the examples permutes their weights."""
    instance, N = probe.instance, probe.program.margins.N
    rng = np.random.default_rng([probe.seed, 12])
    order, z = rng.permutation(N), rng.uniform(-1, 1, N)
    values = {name: value[order] if name in probe.per_example else value for name, value in instance.values.items()}
    c, d0 = (None if values is None else values[order] for values in (instance.c, instance.d0))
    F = probe.program.regularizer
    permuted = call_component(lambda: bind_formulation(probe.formulation, probe.U[order], c, d0, values)).regularizer
    yield from _compare_conjugates(
        F, permuted, z, z[order], lambda d: d[np.argsort(order)], PERMUTATION_MESSAGE, {"order": order}
    )


def _compare_conjugates(
    F: Regularizer,
    other_function: Regularizer,
    z: ExampleVector,
    others_z: Float[Array, " M"],
    back: Callable[[Float[Array, " M"]], ExampleVector],
    demand: str,
    arguments: dict[str, Any],
) -> Findings:
    """Compare F* at z with another regularizer's at its z, and the maximizer with the other one, mapped back."""
    arguments = {"z": z, **arguments}
    if not F.has_closed_form_conjugate:
        # An upper bound may be loose in different places, so the suprema themselves are compared.
        values = [RegularizerProbe(f, 0, 0).supremum.value(x) for f, x in ((F, z), (other_function, others_z))]
        yield from printed_problem_checks.compare_optima(
            f"{demand}; F* of the examples and of the others", values[0], values[1]
        )
        return
    one, many = RegularizerProbe(F, 0, 0).conjugate_at(z), RegularizerProbe(other_function, 0, 0).conjugate_at(others_z)
    tolerance = CLOSED_FORM_TOLERANCE * relative_scale(one.value, float(np.abs(z).max()))
    description = f"{demand}; F* is {one.value:.9g} of the examples and {many.value:.9g} of the others; apart"
    yield Measurement(absolute_difference(one.value, many.value), tolerance, description, arguments)
    gap = float(RegularizerProbe(F, 0, 0).gaps(back(many.d), z, one).sum())
    description = f"{demand}; the weights of the others, brought back, are no maximizer: gap"
    yield Measurement(gap, tolerance, description, arguments)


FORMULATION_CHECKS: dict[str, Callable[[FormulationProbe], Findings]] = {
    "labels": printed_problem_checks.check_labels,
    "senses": printed_problem_checks.check_senses,
    "strong-duality": printed_problem_checks.check_strong_duality,
    "literal-primal": printed_problem_checks.check_stated_primal,
    "literal-dual": printed_problem_checks.check_stated_dual,
    "certificate": printed_problem_checks.check_certificate,
    "printed-dual-at-w": printed_problem_checks.check_dual_at_w,
    "closed-dual-at-w": printed_problem_checks.check_closed_form_dual,
    "multiplier-w": printed_problem_checks.check_multiplier_w,
    "multiplier-d": printed_problem_checks.check_multiplier_d,
    "copies": check_copies,
    "permutation": check_permutation,
}
"""The checks of a formulation by name, in the order of a report."""
