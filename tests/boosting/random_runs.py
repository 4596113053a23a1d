"""Random runs three times: in one go, in one go with checkpoints, and killed and resumed from them.

`python tests/boosting/checkpointed.py 2000` compares so many, to the last bit, and says which differ.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from plain_stumps import PlainStumps

from boostopt import boost
from boostopt.boosting.boosting_problem import CORRECTIVE_STEPS
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.trace import COLUMNS, TraceRow
from boostopt.boosting.stabilization import Stabilization
from boostopt.oracles import GivenMargins
from boostopt.oracles.base import Oracle

TIMES = ("oracle_seconds", "update_seconds", "seconds")

BACKENDS = ("auto", "auto", "highs", "interior", "highs:primal")
"""Those that a run may go on from; "highs" is for linear programs alone."""


class Killed(BaseException):
    """An error that ends a run at once, as a signal that kills its process would."""


@dataclass(frozen=True)
class Case:
    """A run: what is called, over which class, with which options."""

    boost: Callable[..., Run]
    oracle: Callable[[], Oracle]
    options: dict[str, Any]
    rounds: int
    rng: np.random.Generator

    def __call__(self, **further: Any) -> Run:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return self.boost(self.oracle(), **{"max_rounds": self.rounds, **self.options, **further})


def oracle_of(rng: np.random.Generator, N: int, t: int) -> Callable[[], Oracle]:
    """Return what makes one of several oracles over N examples anew."""
    c = rng.integers(1, 4, N).astype(float) if rng.random() < 0.3 else None
    if rng.random() < 0.25:
        X = np.round(rng.normal(size=(N, 4)), 1)
        y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=N) > 0, 1, -1)
        y[:2] = 1, -1
        return lambda: PlainStumps(X, y, c=c, reflexive=True)
    U = rng.choice([-1, 1], (N, t)) if rng.random() < 0.5 else np.round(rng.uniform(-1, 1, (N, t)), rng.integers(1, 9))
    choose = "random" if rng.random() < 0.2 else "best"
    return lambda: GivenMargins(U, c=c, choose=choose, reflexive=True, random_state=5)


def formulation_of(rng: np.random.Generator, nu: float) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Return a formulation, its parameters, and the updates that it may have."""
    mixing, capped = (*CORRECTIVE_STEPS, "program", "mlpboost"), {"nu": nu}
    return [
        ("lpboost", capped, ()),
        ("lpboost", {**capped, "two_sided": True}, ()),
        ("lp_adaboost", {}, ()),
        ("lp_reg_adaboost", {"C": 0.2}, ()),
        ("l1_adaboost", {"C": 0.4}, ()),
        ("qp_reg_adaboost", {"C": 0.4}, ()),
        ("norm_ball", {"p": float(rng.choice([2.0, np.inf])), "r": 0.6}, ()),
        ("erlpboost", capped, mixing),
        ("erlpboost", {**capped, "eta": float(rng.choice([2.0, 20.0, 500.0]))}, mixing),
        ("binary_erlpboost", capped, mixing),
        ("unnormalized_erlpboost", capped, ()),
        ("corrective_erlpboost", capped, mixing),
        ("softboost", capped, ()),
        ("binary_softboost", capped, ()),
        ("totalboost", {}, ()),
        ("log_loss", {}, ()),
        ("adaboost", {}, ()),
        ("ata", {"phi": 0.4}, ()),
        ("arc_gv", {}, ()),
        ("adaboost_star", {"accuracy": 0.1}, ()),
        ("coordinate_ascent", {}, ()),
        ("approximate_coordinate_ascent", {}, ()),
    ][int(rng.integers(22))]


def booster_of(rng: np.random.Generator) -> tuple[Callable[..., Run], dict[str, Any]]:
    """Return a booster that is no convex program, and its parameters."""
    return [
        (partial(boost, "adaboost_reg"), {"C": 3.0, "p": int(rng.integers(1, 3))}),
        (partial(boost, "smoothboost"), {"kappa": 0.2, "gamma": 0.05}),
        (partial(boost, "brownboost"), {"time": 2.0}),
        (partial(boost, "madaboost"), {"kappa": 0.1}),
        (partial(boost, "nu_arc"), {"nu": 2.5}),
    ][int(rng.integers(5))]


def case(seed: int) -> Case:
    """Return the run of a seed."""
    rng = np.random.default_rng([16, seed])
    N, t, rounds = int(rng.integers(5, 40)), int(rng.integers(4, 40)), int(rng.integers(4, 25))
    oracle = oracle_of(rng, N, t)
    if rng.random() < 0.12:
        booster, parameters = booster_of(rng)
        return Case(booster, oracle, parameters, rounds, rng)
    name, parameters, updates = formulation_of(rng, float(rng.uniform(1.0, 0.5 * N)))
    options: dict[str, Any] = {**parameters, "epsilon": float(rng.choice([0.3, 0.05, 1e-3])), "columns_per_round": 1}
    if updates and rng.random() < 0.5:
        options["update"] = str(rng.choice(updates))
    elif updates or name in ("lpboost", "lp_reg_adaboost", "softboost"):
        linear = name.startswith("lp")
        options["backend"] = str(rng.choice([b for b in BACKENDS if linear or not b.startswith("highs")]))
        options["columns_per_round"] = int(rng.integers(1, 4))
        if name != "corrective_erlpboost" and rng.random() < 0.4:
            inner, idle = float(rng.choice([0.5, 0.8])), float(rng.choice([0.5, np.inf]))
            options["stabilization"] = Stabilization(inner, idle=idle)
    return Case(lambda oracle, **parameters: boost(name, oracle, **parameters), oracle, options, rounds, rng)


def killed_at(number: int) -> Callable[[TraceRow], None]:
    """Return what kills a run when that round has been made, before it is stored."""

    def show(row: TraceRow) -> None:
        if row.round == number:
            raise Killed

    return show


def run_in_parts(case: Case, path: Path) -> Run:
    """Return the run that is stopped by a limit, killed, resumed, and resumed once more after its end."""
    n_rounds, rng = int(case.rng.integers(1, 5)), case.rng
    case(checkpoint=path, checkpoint_rounds=n_rounds, max_rounds=int(rng.integers(1, case.rounds + 1)))
    for number in sorted(rng.integers(1, case.rounds + 1, 2).tolist()):
        try:
            case(checkpoint=path, checkpoint_rounds=n_rounds, progress=killed_at(number))
        except Killed:
            continue
    case(checkpoint=path, checkpoint_rounds=n_rounds)
    return case(checkpoint=path, checkpoint_rounds=n_rounds)


def interval(run: Run) -> tuple[float, float]:
    """Return the ends of what is certified over the hypotheses collected."""
    return run.certificate.lower, run.certificate.upper


def differences(first: Run, second: Run) -> list[str]:
    """Return the names of the parts in which two runs differ, to the last bit."""
    is_same = {
        "hypotheses": first.hypotheses == second.hypotheses,
        "w": np.array_equal(first.w, second.w),
        "d": np.array_equal(first.d, second.d),
        "margins": np.array_equal(first.record.state.m, second.record.state.m),
        "reason": first.reason == second.reason,
        # Computed anew from what is stored, and so rounded otherwise.
        "certificate": np.allclose(interval(first), interval(second), rtol=1e-12, atol=1e-14),
        **{
            f"trace: {name}": np.array_equal(first.trace[name], second.trace[name], equal_nan=name != "backend")
            for name in COLUMNS
            if name not in TIMES
        },
    }
    if first.record.problem.objective is not None:
        ours, theirs = first.class_certificate, second.class_certificate
        is_same["class certificate"] = (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    if first.record.history.is_enabled and first.rounds == second.rounds:
        pairs = [(first.at_round(k), second.at_round(k)) for k in range(1, first.rounds + 1)]
        is_same["history"] = all(np.array_equal(a.w, b.w) and np.array_equal(a.d, b.d) for a, b in pairs)
    return [name for name, equal in is_same.items() if not equal]


def compared(seed: int, folder: Path) -> dict[str, list[str]]:
    """Return in what the run of a seed with checkpoints, and the one in parts, differ from the one without."""
    run = case(seed)
    plain = run()
    n_rounds = int(run.rng.integers(1, 5))
    checkpointed = run(checkpoint=folder / f"{seed}.npz", checkpoint_rounds=n_rounds)
    parts = run_in_parts(run, folder / f"{seed} in parts.npz")
    return {"with checkpoints": differences(plain, checkpointed), "in parts": differences(plain, parts)}


def main() -> None:
    """Compare as many runs as the first argument says, from the seed that the second one says."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    bad = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            failures = {how: text for how, text in compared(seed, Path(folder)).items() if text}
        if failures:
            bad += 1
            sys.stdout.write(f"{seed} {failures}\n")
    sys.stdout.write(f"{count} runs compared, {bad} differ\n")


if __name__ == "__main__":
    main()
