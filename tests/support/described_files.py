"""Programs with described functions whose certificates are saved, and a second reading of their statements by CVXPY."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
from support.descriptions import DESCRIPTIONS, UNIFORM, N, fairness, make_program
from support.problem_files import problem_of_statement

from boostopt.authoring import (
    COUNT,
    POSITIVE,
    CappedSimplex,
    CappedSimplexIndicator,
    CvxpyEdges,
    CvxpyRegularizer,
    RelativeEntropy,
    SquaredEdges,
    parameter,
    prototype,
)
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.programs.program import Program

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

MARGINS = np.sign(np.random.default_rng(5).normal(size=(N, 5)) + 0.3)


OTHER_MARGINS = np.random.default_rng(0).choice([-1.0, 1.0], size=(N, 5))
"""Margins at whose optimum the nuclear norm has a tangent without a narrow box."""


def squares(d: Any) -> Any:
    """Return the squared distance from the uniform weights."""
    return cp.sum_squares(d - UNIFORM)


def smooth_largest(e: Any) -> Any:
    """Return a smooth upper bound of the largest edge."""
    return cp.log_sum_exp(8 * e) / 8


def of_edges(G: Callable[[Any], Any]) -> Program:
    """Return a program of the capped simplex with a described edge function."""
    formulation = prototype(
        "described edges",
        lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)),
        lambda p: CvxpyEdges(G),
        nu=parameter("the number of examples", COUNT),
    )
    return formulation.bind(MARGINS, nu=3)


def of_both() -> Program:
    """Return a program of transport and fairness with multiplicities, a reference and a parameter that is no count."""
    formulation = prototype(
        "both described",
        lambda p, examples: CvxpyRegularizer(
            CappedSimplex(examples.c, p.nu),
            lambda d: (p.eta * cp.sum(cp.abs(d - examples.d0)), [d[0] <= d[1]]),
            examples.c / examples.total,
        ),
        lambda p: CvxpyEdges(fairness),
        nu=parameter("the number of examples", COUNT),
        eta=parameter("the price of weights", POSITIVE),
    )
    d0 = np.arange(1.0, N + 1)
    return formulation.bind(MARGINS / 2, nu=3, eta=0.3, c=np.arange(1.0, N + 1) / 2, d0=d0 / d0.sum())


def of_entropy() -> Program:
    """Return a program of the relative entropy with a described edge function."""
    formulation = prototype(
        "entropy and described edges",
        lambda p, examples: RelativeEntropy(CappedSimplex(examples.c, p.nu), 20.0, examples.d0),
        lambda p: CvxpyEdges(smooth_largest),
        nu=parameter("the number of examples", COUNT),
    )
    return formulation.bind(MARGINS, nu=3)


def of_squared_edges() -> Program:
    """Return a program with a described regularizer and squared edges."""
    formulation = prototype(
        "squared edges",
        lambda p, examples: CvxpyRegularizer(CappedSimplex(examples.c, p.nu), squares, examples.c / examples.total),
        lambda p: SquaredEdges(),
        nu=parameter("the number of examples", COUNT),
    )
    return formulation.bind(MARGINS, nu=3)


PROGRAMS: Mapping[str, Callable[[], Program]] = {
    **{name: lambda f=f: make_program(f, MARGINS) for name, f in DESCRIPTIONS.items() if name != "nuclear norm"},
    "nuclear norm": lambda: make_program(DESCRIPTIONS["nuclear norm"], OTHER_MARGINS),
    "squares": lambda: make_program(squares, MARGINS),
    "fair edges": lambda: of_edges(fairness),
    "smooth edges": lambda: of_edges(smooth_largest),
    "both": of_both,
    "entropy": of_entropy,
    "squared edges": of_squared_edges,
}
"""Programs by name."""


@cache
def certified(name: str) -> tuple[Program, Certificate]:
    """Return a program with the certificate of Clarabel's answer."""
    program = PROGRAMS[name]()
    return program, program.solve("cvxpy:clarabel", tol=1e-7).certificate


@cache
def text(name: str) -> str:
    """Return the text of the file of a program."""
    program, certificate = certified(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        certificate.save(path, program)
        return path.read_text()


def content(name: str) -> dict[str, Any]:
    """Return what the file of a program states, to be changed."""
    return json.loads(text(name))


def problem_of_file(document: Mapping[str, Any], U: np.ndarray) -> Any:
    """Return the CVXPY problem of the program that a file states."""
    arguments, objectives = list[Any](), list[Any]()
    constraints = list[Any]()
    for name in ("F", "G"):
        statement = document[name]["problem"]
        part = problem_of_statement(statement)
        (x,) = [item for item in part.variables() if item.name() == "x"]
        arguments.append(x[statement["variables"][document[name]["argument"]]["positions"]])
        objectives.append(part.objective.args[0])
        constraints += part.constraints
    return cp.Problem(cp.Minimize(sum(objectives)), [*constraints, arguments[1] == U.T @ arguments[0]])
