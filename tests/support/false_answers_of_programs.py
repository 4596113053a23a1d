"""False answers of random programs of a loss and a penalty, and boosting runs by solvers that say anything.

All intervals of one program hold its one optimum: each lower bound is at most each upper bound, exactly.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from support.problems import junk_answer
from support.writing_components import Careless, Vandal

from boostopt import boost, get_backend, get_formulation
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.boosting_certificates.certificate import Certificate
from boostopt.errors import BoostoptError
from boostopt.oracles import GivenMargins
from boostopt.programs.loss_penalty_catalogue import LOSSES, PENALTIES
from boostopt.programs.program import Program

LIES = 20
"""False answers of each program."""

FORMULATIONS = (
    "lpboost",
    "erlpboost",
    "binary_erlpboost",
    "softboost",
    "corrective_erlpboost",
    "corrective_binary_erlpboost",
)
"""Formulations of boosting whose runs are held against the program of all hypotheses."""

Answer = tuple[np.ndarray | None, np.ndarray | None]


@dataclass(frozen=True)
class Reckless(Backend):
    """A solver that draws the weights: as inaccurate as can be."""

    @property
    def name(self) -> str:
        return "reckless"

    @property
    def version(self) -> str:
        return "1"

    def takes(self, program: Program) -> Capability:
        return Capability(True)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        t = task.program.margins.t
        w = np.random.default_rng(t).dirichlet(np.full(t, 0.3))
        yield Attempt(form="dual", options={}, status="drawn", claims=True, w=w)


def pair_names() -> list[str]:
    """Return the names of all pairs of a loss and a penalty, with weights of both signs where there are such."""
    signs = ("", "signed_")
    return [
        f"{loss}+{sign}{penalty}"
        for loss in LOSSES
        for penalty in PENALTIES
        for sign in signs
        if not (sign and penalty == "simplex")
    ]


def draw_pair(name: str, rng: np.random.Generator) -> Program:
    """Bind a pair to random margins, multiplicities and parameters of very different sizes."""
    N, t = int(rng.integers(3, 40)), int(rng.integers(1, 7))
    margins = np.clip(rng.normal(rng.uniform(-0.2, 0.6), 0.6, (N, t)), -1, 1)
    U = np.sign(margins) if rng.random() < 0.3 else margins
    if t > 1 and rng.random() < 0.2:
        U[:, 1] = U[:, 0]
    page = get_formulation(name)
    numbers = {parameter: float(np.exp(rng.uniform(-3, 3))) for parameter in page.parameters}
    if "nu" in numbers:
        numbers["nu"] = float(rng.uniform(1.0, N))
    if "alpha" in numbers:
        numbers["alpha"] = float(rng.uniform(0.05, 1.0))
    return page.bind(U, c=rng.integers(1, 4, N), **numbers)


def parameters_of(program: Program) -> dict[str, Any]:
    """Return the parameters of a program by name."""
    return {field.name: getattr(program.parameters, field.name) for field in dataclasses.fields(program.parameters)}


def neighbour(program: Program, rng: np.random.Generator) -> Program:
    """Return the same program with some margins changed."""
    U = program.margins.to_array().copy()
    rows = rng.random(len(U)) < 0.3
    U[rows] = np.clip(U[rows] + rng.normal(0, 0.3, U[rows].shape), -1, 1)
    formulation: Any = program.formulation
    return formulation.bind(U, c=program.examples.c, **parameters_of(program))


def false_answers(
    program: Program, true: Answer, other_answers: Sequence[Answer], rng: np.random.Generator
) -> Iterator[Answer]:
    """Yield lies: junk, other problems' answers, wrong signs, orders, scales, and one half of an answer."""
    N, t = program.margins.shape
    d, w = (np.zeros(size) if array is None else array for array, size in zip(true, (N, t), strict=True))
    yield from other_answers
    yield -d, -w
    yield d[::-1], w[::-1]
    yield rng.permutation(d), w
    yield d, rng.permutation(w)
    yield d * float(10.0 ** rng.integers(-12, 12)), w
    yield d, w * float(10.0 ** rng.integers(-12, 12))
    yield d, None
    yield None, w
    yield d + rng.normal(0, 1e-7, N), w + rng.normal(0, 1e-7, t)
    for _ in range(LIES - 9 - len(other_answers)):
        yield junk_answer(rng, N), junk_answer(rng, t)


def contradictions(intervals: Sequence[Certificate]) -> list[str]:
    """Return the reasons for which these cannot be intervals of one optimum."""
    lower, upper = (np.array([getattr(interval, end) for interval in intervals]) for end in ("lower", "upper"))
    reasons = []
    if np.isnan(lower).any() or np.isnan(upper).any():
        reasons.append("an end is nan")
    if lower.max() > upper.min():
        reasons.append(f"lower bound {lower.max()!r} above upper bound {upper.min()!r}")
    return reasons


def attack_pair(name: str, seed: int) -> tuple[Counter[str], list[str]]:
    """Certify false answers of one random program; return the counts, and the contradictions.

    Among the answers are those of the opposite problem (margins of the other sign), of a neighbour, and of a solve
    whose backend writes to all arrays.
    """
    rng = np.random.default_rng([seed, pair_names().index(name)])
    program, counts = draw_pair(name, rng), Counter[str]()
    arguments = {"c": program.examples.c, **parameters_of(program)}
    formulation: Any = program.formulation
    opposite = formulation.bind(-program.margins.to_array(), **arguments)
    solutions = [problem.solve() for problem in (program, opposite, neighbour(program, rng))]
    answers = [(solution.d, solution.w) for solution in solutions]
    intervals = [solutions[0].certificate]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d, w in false_answers(program, answers[0], answers[1:], rng):
            intervals.append(program.certify(d=d, w=w))
        if seed % 10 == 0:
            inner = get_backend("interior")
            for backend in (Vandal(inner), Careless(inner)):
                try:
                    intervals.append(program.solve(backend).certificate)
                except BoostoptError:
                    counts["refused"] += 1
    counts["certificates"] += len(intervals)
    counts["finite"] += sum(bool(np.isfinite([x.lower, x.upper]).all()) for x in intervals)
    return counts, [f"{name} {seed}: {reason}" for reason in contradictions(intervals)]


def attack_run(seed: int) -> tuple[Counter[str], list[str]]:
    """Boost over all columns of a random matrix, now and then by a solver that lies.

    The optimum over the class is that of LPBoost with all hypotheses and their negations, certified by two solvers.
    """
    rng, counts = np.random.default_rng([seed, 77]), Counter[str]()
    N, t = int(rng.integers(5, 40)), int(rng.integers(2, 15))
    U = rng.choice([-1.0, 1.0], (N, t)) if rng.random() < 0.5 else np.round(rng.uniform(-1, 1, (N, t)), 3)
    c = rng.integers(1, 4, N).astype(float) if rng.random() < 0.3 else np.ones(N)
    nu = float(rng.uniform(1.0, 0.7 * c.sum()))
    name = FORMULATIONS[int(rng.integers(len(FORMULATIONS)))]
    whole = get_formulation("lpboost").bind(np.hstack([U, -U]), c=c, nu=nu)
    intervals: list[Any] = [whole.solve(backend).certificate for backend in ("interior", "highs")]
    backends = ("auto", Reckless(), Vandal(get_backend("interior")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for backend in backends if seed % 5 == 0 else backends[:2]:
            oracle = GivenMargins(U, c=c, reflexive=True, random_state=seed)
            try:
                run = boost(name, oracle, nu=nu, epsilon=float(rng.choice([0.1, 0.01])), max_rounds=60, backend=backend)
            except BoostoptError as error:
                counts[f"refused: {type(error).__name__}"] += 1
                continue
            counts["runs"] += 1
            intervals.append(run.class_certificate)
    return counts, [f"{name} {seed}: {reason}" for reason in contradictions(intervals)]
