"""Instances with known answers, random programs, and the slow, obviously right twins of the fast formulas."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.optimize

import boostopt
from boostopt.backends.base import Attempt, Backend, Capability, Task
from boostopt.instances import Instance, stalled_criterion
from boostopt.programs.program import Program

# The reference instance; its optima were computed by two independent routes to ten digits.
REFERENCE_U = np.array([[1, 0.5, -1], [0.5, -1, 1], [-1, 1, 0.5], [1, -0.5, 0.25], [-0.5, 0.75, -1], [0.25, 1, -0.75]])
REFERENCE_D0 = np.array([0.1, 0.15, 0.2, 0.25, 0.2, 0.1])
REFERENCE_NU = 2.5
REFERENCE_ETA = 4.0
REFERENCE_W = np.array([0.5, 0.3, 0.2])
REFERENCE_M = np.array([0.45, 0.15, -0.1, 0.4, -0.225, 0.275])

DEFAULT_BACKENDS = ("cvxpy:clarabel", "cvxpy:scs", "cvxpy:highs")


def reference_lpboost() -> Program:
    return boostopt.get_formulation("lpboost").bind(REFERENCE_U, nu=REFERENCE_NU)


def reference_erlpboost(eta: float = REFERENCE_ETA) -> Program:
    return boostopt.get_formulation("erlpboost").bind(REFERENCE_U, nu=REFERENCE_NU, eta=eta, d0=REFERENCE_D0)


@cache
def stalled_problem() -> Instance:
    """Return the run that makes no progress, at its full length: drawing it takes longer than most tests of it."""
    return stalled_criterion()


def noisy_stumps(N: int, t: int, seed: int = 0) -> np.ndarray:
    """Margins of t random stumps on N examples of a linear concept, one label in ten flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 10))
    y = np.where(X @ np.array([1, 1, 0.5, *[0] * 7]) > 0, 1, -1)
    y[rng.random(N) < 0.1] *= -1
    return boostopt.stump_matrix(X, y, t, seed)


class Panic(BaseException):
    """The error of a library in Rust: no Exception."""


class Unprintable(Exception):
    """An object that cannot be shown."""

    def __str__(self) -> str:
        raise SystemExit("not even asked for its name")


LEAVING: dict[str, BaseException] = {
    "leave": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "panic": Panic("index out of bounds"),
    "stop": GeneratorExit(),
    "unprintable": Unprintable(),
    "surrogate": ValueError("\ud800 and \x1b[2J"),
}
"""Errors of a backend that are not for the program around it."""


@dataclass(frozen=True)
class Fake(Backend):
    """A backend with a script of attempts and a fault after them.

    It supports all programs unless it has a reason, and appends its queries to lists. Other processes can import it.
    """

    called: str = "fake"
    script: tuple[Any, ...] = ()
    reason: str = ""
    queries: tuple[list[Any], ...] = ()
    action: str = ""
    numbered: str = ""
    spends: int = 0

    @property
    def name(self) -> str:
        return self.called

    @property
    def version(self) -> str:
        return self.numbered or f"1.0-{self.called}"

    def takes(self, program: Program) -> Capability:
        return Capability(not self.reason, self.reason)

    def keeps_limit(self, program: Program) -> bool:
        return self.action not in ("hang", "hold", "flood", "allocate")

    def attempts(self, task: Task) -> Iterator[Attempt]:
        for notes in self.queries:
            notes.append((task.tol, task.deadline.remaining))
        assert not self.reason, "asked to solve what it cannot take"
        if self.action == "print":
            print("by Python to 1")  # noqa: T201
            print("by Python to 2", file=sys.stderr)  # noqa: T201
            ctypes.CDLL(None).puts(b"by C to 1")
        spent = os.urandom(self.spends)
        yield from self.script
        del spent
        if self.action == "abort":
            os.write(2, b"double free or corruption (out)\n")
            os.abort()
        if self.action == "exit":
            os._exit(3)
        if self.action == "hang":
            time.sleep(3600)
        if self.action == "hold":
            ctypes.PyDLL(None).sleep(3600)  # Python's lock is not given back
        while self.action == "flood":
            os.write(1, b"still here\n" * 5000)
        memory = list[bytes]()
        while self.action == "allocate":
            memory.append(os.urandom(1_000_000))
        if self.action == "raise":
            raise RuntimeError("no such luck\nagain")
        if self.action in LEAVING:
            raise LEAVING[self.action]
        if self.action == "slow":
            time.sleep(0.05)


def attempt(d: Any = None, w: Any = None, **fields: Any) -> Attempt:
    """An attempt that claims an optimum."""
    values: dict[str, Any] = {"form": "fake", "options": {}, "status": "fine", "claims": True, **fields}
    return Attempt(
        d=None if d is None else np.asarray(d, float), w=None if w is None else np.asarray(w, float), **values
    )


def bent(attempt: Attempt, **fields: Any) -> Attempt:
    """An attempt with fields that no type allows."""
    for name, value in fields.items():
        object.__setattr__(attempt, name, value)
    return attempt


def right(name: str = "right", action: str = "", **options: Any) -> Fake:
    """A backend that has the optimum of the reference LPBoost instance."""
    answer = reference_lpboost().solve("cvxpy:highs", tol=1e-12)
    return Fake(name, (attempt(answer.d, answer.w, **options),), action=action)


def rough(name: str = "rough", action: str = "", **options: Any) -> Fake:
    """A backend that claims an optimum and is nowhere near."""
    return Fake(name, (attempt(np.eye(6)[0], [1, 0, 0], **options),), action=action)


@dataclass(frozen=True)
class RandomProgram:
    """The ingredients of a random program."""

    U: np.ndarray
    nu: float
    c: np.ndarray | None
    d0: np.ndarray | None
    eta: float

    def bind(self, name: str) -> Program:
        if name == "lpboost":
            return boostopt.get_formulation(name).bind(self.U, nu=self.nu, c=self.c)
        return boostopt.get_formulation(name).bind(self.U, nu=self.nu, eta=self.eta, c=self.c, d0=self.d0)


def draw(rng: np.random.Generator, largest_N: int = 40, largest_t: int = 6, largest_eta: float = 1e3) -> RandomProgram:
    """Draw a program: real or +-1 entries, nu in its whole range and at its ends, uneven c, d0 with zeros."""
    N, t = int(rng.integers(2, largest_N + 1)), int(rng.integers(1, largest_t + 1))
    U = rng.choice([-1.0, 1.0], size=(N, t)) if rng.random() < 0.5 else rng.uniform(-1, 1, size=(N, t))
    if t > 1 and rng.random() < 0.2:
        U[:, 1] = U[:, 0]
    c = rng.uniform(0.3, 3.0, size=N) if rng.random() < 0.5 else None
    d0 = None
    if rng.random() < 0.5:
        d0 = rng.dirichlet(np.full(N, rng.choice([0.3, 1.0, 10.0]))) + 1e-9
        if rng.random() < 0.4 and N > 4:
            d0[rng.permutation(N)[: N // 4]] = 0.0
        d0 /= d0.sum()
    counts = np.ones(N) if c is None else c
    support_sum = counts.sum() if d0 is None else counts[d0 > 0].sum()
    if support_sum < 1:
        return draw(rng, largest_N, largest_t, largest_eta)
    nu = float(rng.choice([1.0, support_sum, rng.uniform(1, support_sum), max(1.0, np.floor(support_sum / 3))]))
    eta = float(np.exp(rng.uniform(np.log(0.5), np.log(largest_eta))))
    return RandomProgram(U, nu, c, d0, eta)


def slow_capped_softmax(a: np.ndarray, u: np.ndarray) -> np.ndarray:
    """min(u, theta exp(a)) with sum 1, log theta by bisection: no sorting, no selection, no closed form."""
    support = np.isfinite(a) & (u > 0)
    low, high = -a[support].max() - 800.0, float(np.max(np.log(u[support]) - a[support])) + 1.0
    for _ in range(300):
        middle = 0.5 * (low + high)
        total = np.minimum(u[support], np.exp(np.minimum(a[support] + middle, 700.0))).sum()
        low, high = (middle, high) if total < 1 else (low, middle)
    d = np.zeros(len(a))
    d[support] = np.minimum(u[support], np.exp(np.minimum(a[support] + high, 700.0)))
    return d / d.sum()


def slow_soft_margin(m: np.ndarray, c: np.ndarray, nu: float) -> float:
    """The average margin of the nu examples with the smallest, filled up one by one."""
    remaining, total = nu, 0.0
    for n in np.argsort(m):
        take = min(c[n], remaining)
        total += take * m[n]
        remaining -= take
    return (total + max(remaining, 0.0) * m.max()) / nu


def slow_value(program: Program, d: np.ndarray) -> float:
    """Primal value of a feasible d, term by term."""
    value = max(float(program.margins.to_array()[:, q] @ d) for q in range(program.margins.t))
    if program.formulation.name == "erlpboost":
        for n, weight in enumerate(d):
            if weight > 0:
                value += weight * (np.log(weight) - np.log(program.examples.d0[n])) / program.parameters.eta
    return value


def slow_dual(program: Program, w: np.ndarray) -> tuple[float, np.ndarray]:
    """Dual value of a feasible w and a d that attains it, by the twins above."""
    m = program.margins.to_array() @ w
    c, nu = program.examples.c, program.parameters.nu
    if program.formulation.name == "lpboost":
        return slow_soft_margin(m, c, nu), np.full(len(m), np.nan)
    eta, d0 = program.parameters.eta, program.examples.d0
    with np.errstate(divide="ignore"):
        d = slow_capped_softmax(np.log(d0) - eta * m, np.where(d0 > 0, c / nu, 0.0))
    entropy = float(np.sum(d[d > 0] * (np.log(d[d > 0]) - np.log(d0[d > 0]))))
    return float(d @ m) + entropy / eta, d


def independent_bracket(program: Program) -> tuple[float, float]:
    """Bracket the optimum without boostopt's core: scipy's LP, or a smooth maximization over the simplex."""
    U, c, nu = program.margins.to_array(), program.examples.c, program.parameters.nu
    N, t = U.shape
    if program.formulation.name == "lpboost":
        answer: Any = scipy.optimize.linprog(
            np.append(np.zeros(N), 1.0),
            A_ub=np.column_stack([U.T, -np.ones(t)]),
            b_ub=np.zeros(t),
            A_eq=np.append(np.ones(N), 0.0)[np.newaxis],
            b_eq=[1.0],
            bounds=[*((0, cap) for cap in c / nu), (None, None)],
        )
        return answer.fun - 1e-9, answer.fun + 1e-9
    best = (-np.inf, np.inf)
    for start in (np.full(t, 1 / t), *np.eye(t)[:2]):
        answer = scipy.optimize.minimize(
            lambda w: -slow_dual(program, w)[0],
            start,
            jac=lambda w: -(U.T @ slow_dual(program, w)[1]),
            bounds=[(0, 1)] * t,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(t)},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 300},
        )
        w = np.clip(answer.x, 0, None) / np.clip(answer.x, 0, None).sum()
        value, d = slow_dual(program, w)
        best = max(best[0], value - 1e-12), min(best[1], slow_value(program, d) + 1e-12)
        if best[1] - best[0] < 1e-9:
            break
    return best


def junk_answer(rng: np.random.Generator, size: int) -> np.ndarray | None:
    """Draw what a solver may leave in place of an answer."""
    noise = rng.normal(size=size)
    kinds = (
        lambda: None,
        lambda: noise,
        lambda: -np.abs(noise),
        lambda: np.full(size, np.nan),
        lambda: np.where(rng.random(size) < 0.5, np.nan, noise),
        lambda: np.where(rng.random(size) < 0.3, np.inf, np.abs(noise)),
        lambda: np.abs(noise) * 1e300,
        lambda: np.abs(noise) * 1e-310,
        lambda: np.zeros(size),
        lambda: np.eye(size)[int(rng.integers(size))] * 7.0,
        lambda: rng.dirichlet(np.ones(size)) + rng.normal(size=size) * 1e-7,
        lambda: np.full(size, -0.0),
    )
    return kinds[int(rng.integers(len(kinds)))]()
