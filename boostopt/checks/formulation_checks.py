"""Checks of a formulation on small random instances: F, G, the printed problems, and copies of examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt._utils.formatting import format_count
from boostopt._utils.validation import check_seed
from boostopt.checks import problem_checks as printed
from boostopt.checks.check_report import Check, CheckReport
from boostopt.checks.edge_checks import EDGE_CHECKS
from boostopt.checks.fault_localization import functions_run, of_page, suspected
from boostopt.checks.problem_checks import PageProbe
from boostopt.checks.references.measurements import (
    ROUNDING,
    Measured,
    Measurements,
    NotAsked,
    PieceFailed,
    apart,
    ask,
    made,
    places_of,
    scale_of,
)
from boostopt.checks.references.probes import RegularizerProbe
from boostopt.checks.references.random_instances import bound, draw_instances
from boostopt.checks.regularizer_checks import REGULARIZER_CHECKS
from boostopt.errors import BoostoptError, ProblemError, reason_of, unknown_name
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.catalogue import get_formulation
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import check_value

INSTANCES = 3
"""Number of random instances of a page: `drawing` has this many kinds."""

COPIES_COUNT = "c_n = k must count as k copies of example n (the others)"
ORDER_IS_FREE = "the examples in another order (the others) must have the same weights"


def check_formulation(which: object, random_state: int = 0, **parameters: Any) -> CheckReport:
    """Check a formulation on small random instances.

    Parameters
    ----------
    which
        A name from `list_formulations()`, the path of a page or a formulation.
    random_state
        Seed of the instances: real and +-1 margins, even and uneven multiplicities and references.
    **parameters
        Fixed values of parameters; the other parameters are drawn from their domains.

    Returns
    -------
    The checks of F ("F: ..."), of G ("G: ...") and of the page.

    Raises
    ------
    OptionError
        The formulation is unknown, or it has no such parameter.
    ProblemError
        A value is not a number, or not a flag.
    """
    page = get_formulation(which)
    for name in parameters:
        if name not in page.parameters:
            raise unknown_name(f"parameter of {page.name}", name, page.parameters)
    for name, value in parameters.items():
        # The report tells whether a value is out of range: this depends on the instance.
        if page.parameters[name].domain.kind != "per example" and value is not None:
            check_value(page.parameters[name], value, 1)
    return CheckReport(page.name, _checks(page, check_seed("random_state", random_state), parameters))


def _checks(page: Formulation[Any], random_state: int, parameters: dict[str, Any]) -> tuple[Check, ...]:
    try:
        instances = draw_instances(page, random_state, INSTANCES, parameters)
    except PieceFailed as failure:
        return (_unbound(failure, lambda: draw_instances(page, random_state, 1, parameters)),)
    probes = [PageProbe(page, instance, random_state + k) for k, instance in enumerate(instances)]
    refusals = [words for instance in instances for words in instance.refusals]
    refused = f"; {format_count(len(refusals), 'draw')} refused, the last: {refusals[-1]}" if refusals else ""
    checks = [Check("binds", True, 0.0, 0.0, f"{len(instances)} instances{refused}"[:300])]
    for name, check in REGULARIZER_CHECKS.items():
        checks.append(made(f"F: {name}", _over(probes, (check(one.F) for one in probes))))
    for name, check in EDGE_CHECKS.items():
        checks.append(made(f"G: {name}", _over(probes, (check(one.G) for one in probes))))
    for name, check in PAGE_CHECKS.items():
        checks.append(made(name, _over(probes, (check(one) for one in probes))))
    first, given = instances[0].program, instances[0]
    bind = partial(bound, page, probes[0].U, given.c, given.d0, given.values)
    return suspected(checks, of_page(page, first.regularizer, first.edge_function, bind))


def _unbound(failure: PieceFailed, draw: Callable[[], Any]) -> Check:
    """Return the check that fails if a page cannot be bound; it gives the line of a refused expression."""
    last = functions_run(draw)[-1:] if isinstance(failure.__cause__, BoostoptError) and failure.__cause__.about else []
    return Check("binds", False, np.inf, 0.0, str(failure), tuple(dict.fromkeys([*last, *places_of(failure)])))


def _over(probes: list[PageProbe], streams: Iterable[Measurements]) -> Measurements:
    """Chain the measurements of all instances, each with the name of its instance."""
    for one, stream in zip(probes, streams, strict=True):
        for item in stream:
            told = isinstance(item, Measured)
            yield replace(item, at={**item.at, "instance": one.instance}) if told else item


def copies(probe: PageProbe) -> Measurements:
    """An example with c_n = k equals k copies: F* is the same, and the weights of the copies sum to a maximizer."""
    instance, N = probe.instance, probe.program.margins.N
    rng = np.random.default_rng([probe.seed, 11])
    k = rng.integers(2, 5, N)  # more examples than the instance had, so that nu remains possible
    values = dict(instance.values)
    repeated = {name: np.repeat(value, k) if name in probe.per_example else value for name, value in values.items()}
    d0 = instance.d0
    try:
        merged = bound(probe.page, probe.U, k.astype(np.float64), d0, values).regularizer
        parts = None if d0 is None else np.repeat(d0 / k, k)
        copied = bound(probe.page, np.repeat(probe.U, k, axis=0), None, parts, repeated).regularizer
    except ProblemError as refusal:
        yield NotAsked(f"one instance cannot be bound with other multiplicities ({reason_of(refusal)})"[:200])
        return
    starts = np.concatenate([[0], np.cumsum(k)[:-1]])
    for z in (rng.uniform(-1, 1, N), rng.normal(size=N) * 3.0):
        yield from _alike(
            merged, copied, z, np.repeat(z, k), lambda d: np.add.reduceat(d, starts), COPIES_COUNT, {"k": k}
        )


def permutation(probe: PageProbe) -> Measurements:
    """Permuting the examples permutes their weights."""
    instance, N = probe.instance, probe.program.margins.N
    rng = np.random.default_rng([probe.seed, 12])
    order, z = rng.permutation(N), rng.uniform(-1, 1, N)
    values = {name: value[order] if name in probe.per_example else value for name, value in instance.values.items()}
    c, d0 = (None if values is None else values[order] for values in (instance.c, instance.d0))
    F = probe.program.regularizer
    permuted = ask(lambda: bound(probe.page, probe.U[order], c, d0, values)).regularizer
    yield from _alike(F, permuted, z, z[order], lambda d: d[np.argsort(order)], ORDER_IS_FREE, {"order": order})


def _alike(
    F: Regularizer,
    other: Regularizer,
    z: Float[Array, " N"],
    others_z: Float[Array, " M"],
    back: Callable[[Float[Array, " M"]], Float[Array, " N"]],
    demand: str,
    at: dict[str, Any],
) -> Measurements:
    """Compare F* at z with another regularizer's at its z, and the maximizer with the other one, mapped back."""
    at = {"z": z, **at}
    if not F.exact:
        # An upper bound may be loose in different places, so the suprema themselves are compared.
        values = [RegularizerProbe(f, 0, 0).supremum.at(x) for f, x in ((F, z), (other, others_z))]
        yield from printed.compared(f"{demand}; F* of the examples and of the others", values[0], values[1])
        return
    one, many = RegularizerProbe(F, 0, 0).conjugate_at(z), RegularizerProbe(other, 0, 0).conjugate_at(others_z)
    tolerance = ROUNDING * scale_of(one.value, float(np.abs(z).max()))
    what = f"{demand}; F* is {one.value:.9g} of the examples and {many.value:.9g} of the others; apart"
    yield Measured(apart(one.value, many.value), tolerance, what, at)
    gap = float(RegularizerProbe(F, 0, 0).gaps(back(many.d), z, one).sum())
    what = f"{demand}; the weights of the others, brought back, are no maximizer: gap"
    yield Measured(gap, tolerance, what, at)


PAGE_CHECKS: dict[str, Callable[[PageProbe], Measurements]] = {
    "labels": printed.labels,
    "senses": printed.senses,
    "strong-duality": printed.strong_duality,
    "literal-primal": printed.literal_primal,
    "literal-dual": printed.literal_dual,
    "certificate": printed.certificate,
    "printed-dual-at-w": printed.printed_dual,
    "closed-dual-at-w": printed.closed_dual,
    "multiplier-w": printed.multiplier_w,
    "multiplier-d": printed.multiplier_d,
    "copies": copies,
    "permutation": permutation,
}
"""The checks of a page by name, in the order of a report."""
