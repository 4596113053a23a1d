"""Small random instances of a formulation: margins, multiplicities, references and parameters in their domains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from boostopt._utils.array_types import Array, ExampleVector, Float
from boostopt.checks.references.measurements import (
    ComponentError,
    call_component,
    describe_exception,
    format_argument,
    locate_in_user_file,
    optimal_value,
)
from boostopt.errors import ProblemError
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import (
    COUNT,
    EDGE,
    EXPONENT,
    FRACTION,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    REAL,
    Domain,
)
from boostopt.programs.program import Examples, Program

MAX_DRAWS = 40
"""Draws before the search for an instance is given up: some parameters fit few examples only."""

MIN_INTERIOR_WEIGHT = 1e-3
"""A lower bound on all weights of some point with the required edges."""

N_COLUMNS = (3, 2, 1)
"""Numbers of hypotheses, used in turn, if the formulation leaves this number open."""

FAR_APART = 10.0
"""Ratio of positive bounds from which on values between them are drawn evenly by their logarithms."""

EXPONENTS = (2.0, math.inf, 1.5, 3.0, 1.25)
"""Ratios of small integers: CVXPY represents norms with these exponents exactly, others only approximately."""


@dataclass(frozen=True)
class RandomInstance:
    """A bound program, with the arguments of `bind`.

    Attributes
    ----------
    program
        The program.
    values
        The parameters passed to `bind`, without those that `fill_parameters` sets.
    c, d0
        As passed to `bind`, None for the default.
    rejected_draws
        The refusals of earlier draws, in the words of the formulation.
    """

    program: Program
    values: Mapping[str, Any]
    c: ExampleVector | None
    d0: ExampleVector | None
    rejected_draws: tuple[str, ...] = ()

    def __str__(self) -> str:
        p = self.program.parameters
        values = ", ".join(f"{field.name} = {format_argument(getattr(p, field.name))}" for field in fields(p))
        further = [name for name, value in (("c", self.c), ("d0", self.d0)) if value is not None]
        return f"({self.program.margins!r}, {values}{''.join(f', uneven {name}' for name in further)})"


def draw_instances(
    formulation: Formulation[Any], random_state: int, number: int, parameters: Mapping[str, Any]
) -> list[RandomInstance]:
    """Return instances of a formulation, at most one of them infeasible if others can be found.

    Raises
    ------
    ComponentError
        The formulation raises anything but a ProblemError, or none of `MAX_DRAWS` draws can be bound.
    """
    instances = list[RandomInstance]()
    infeasible = 0
    for k in range(number):
        instance: RandomInstance | None = None
        refused, hopeless = list[ProblemError](), False
        for attempt in range(MAX_DRAWS):
            rng = np.random.default_rng([random_state, k, attempt])
            try:
                instance = _draw_instance(formulation, rng, k, parameters, zeros=attempt < MAX_DRAWS // 2)
            except ProblemError as refusal:
                refused.append(refusal)
                continue
            hopeless = _is_infeasible(instance.program)
            if not (infeasible and hopeless) and (hopeless or _has_interior_point(instance.program)):
                break
        if instance is None:
            line = f" ({location})" if (location := locate_in_user_file(refused[-1])) else ""
            message = f"no random instance can be bound; the last of {MAX_DRAWS} was refused{line}: {refused[-1]}"
            raise ComponentError(message) from refused[-1]
        infeasible += hopeless
        instances.append(replace(instance, rejected_draws=tuple(map(str, refused))))
    return instances


def _is_infeasible(program: Program) -> bool:
    """Return whether a solver reports an infeasible program; if no solver takes it, the checks report that."""
    try:
        return optimal_value(call_component(program.cvxpy, "primal")) == math.inf
    except ComponentError:
        return False


def _has_interior_point(program: Program) -> bool:
    """Return whether some weights that are all positive satisfy the equations for the edges.

    If the equations force weights to 0, the dual optimum is not attained, and there is no upper bound to check.
    """
    allowed = program.edge_function.domain(program.margins.t)
    if allowed is None or not (allowed.low == allowed.high).any():
        return True
    equation, U = allowed.low == allowed.high, program.margins.to_array()
    in_support = program.examples.d0 > 0
    A = (allowed.rows(program.margins.t)[equation] @ U.T)[:, in_support]
    n = A.shape[1]
    answer: Any = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-np.eye(n), np.ones(n)]),
        b_ub=np.zeros(n),
        A_eq=np.block([[A, np.zeros((len(A), 1))], [np.ones(n), np.zeros(1)]]),
        b_eq=np.append(allowed.high[equation], 1.0),
        bounds=(None, None),
    )
    return answer.status == 0 and float(answer.x[-1]) > MIN_INTERIOR_WEIGHT


def _draw_instance(
    formulation: Formulation[Any], rng: np.random.Generator, k: int, parameters: Mapping[str, Any], zeros: bool
) -> RandomInstance:
    """Draw the k-th instance: real entries or signs; even c and d0, then uneven ones, then a zero in d0 as well."""
    N = int(rng.integers(8, 11))
    t = formulation.columns or N_COLUMNS[k % len(N_COLUMNS)]
    U = _draw_margins(rng, N, t, signs=k % 2 == 1)
    c = rng.uniform(0.4, 2.5, N) if k % 3 else None
    d0 = None
    if formulation.uses_reference and k % 3:
        d0 = rng.dirichlet(np.full(N, 8.0))
        d0[0] = 0.0 if k % 3 == 2 and zeros else d0[0]
        d0 /= d0.sum()
    examples = Examples(np.ones(N) if c is None else c, np.full(N, 1.0 / N) if d0 is None else d0)
    values = dict(parameters)
    flags = 0
    for name, parameter in formulation.parameters.items():
        flag = parameter.domain.kind == "flag"
        if name not in values:
            canonical = isinstance(parameter.default, float) and math.isnan(parameter.default)
            if not (canonical and rng.random() < 0.5):
                values[name] = bool((k >> flags) & 1) if flag else _draw_parameter(parameter.domain, examples, rng)
        flags += flag
    return RandomInstance(bind_formulation(formulation, U, c, d0, values), values, c, d0)


def bind_formulation(
    formulation: Formulation[Any],
    U: Float[Array, "N t"],
    c: ExampleVector | None,
    d0: ExampleVector | None,
    values: Mapping[str, Any],
) -> Program:
    """Bind a formulation. A ProblemError is returned as the result; any other exception is a failed check."""
    try:
        return formulation.bind(U, c=c, d0=d0, **values)
    except ProblemError:
        raise
    except Exception as failure:
        location = locate_in_user_file(failure) or "binding"
        raise ComponentError(f"{location} raised {describe_exception(failure)}") from failure


def _draw_margins(rng: np.random.Generator, N: int, t: int, signs: bool) -> Float[Array, "N t"]:
    """Draw a margin matrix of full column rank, so that the edges determine the hypothesis weights."""
    while True:
        U = rng.choice([-1.0, 1.0], (N, t)) if signs else rng.uniform(-1, 1, (N, t))
        if np.linalg.matrix_rank(np.column_stack([U, np.ones(N)])) == t + 1:
            return U


def _draw_parameter(domain: Domain, examples: Examples, rng: np.random.Generator) -> Any:
    """Draw a parameter, of a typical size if its domain is known, otherwise any number that the domain contains."""
    if domain.kind == "per example":
        kinds = (rng.normal(size=examples.N), rng.random(examples.N), 1.0 * (rng.random(examples.N) < 0.5))
        return kinds[rng.integers(len(kinds))]
    if domain.bounds is not None:
        lower, upper = domain.bounds
        far = lower > 0.0 and upper > FAR_APART * lower
        value = math.exp(rng.uniform(math.log(lower), math.log(upper))) if far else float(rng.uniform(lower, upper))
        return min(max(float(f"{value:.3g}"), lower), upper)
    total = examples.total
    # Two digits: if it becomes an exponent, CVXPY can represent it exactly.
    positive = float(f"{rng.choice([rng.uniform(0.2, 1), math.exp(rng.uniform(math.log(0.5), math.log(30)))]):.2g}")
    if domain is COUNT:
        return float(rng.choice([1.0, total, rng.uniform(1, total), max(1.0, math.floor(total / 3))]))
    if domain is POSITIVE:
        return positive
    if domain is POSITIVE_OR_INFINITE:
        return math.inf if rng.random() < 0.3 else positive
    if domain is EXPONENT:
        return float(rng.choice(EXPONENTS))
    if domain in (EDGE, REAL):
        return float(rng.uniform(-0.6, 0.6))
    if domain is FRACTION:
        return float(rng.uniform(0.1, 0.9))
    for _ in range(MAX_DRAWS):
        for value in (rng.uniform(0, 1), rng.uniform(-1, 1), positive, rng.uniform(1, total), 10 * rng.normal()):
            if domain.contains(float(value), examples):
                return float(value)
    raise ComponentError(f"no number was found in the domain {domain.text}; pass a value")
