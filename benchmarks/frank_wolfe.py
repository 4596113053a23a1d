"""MLPBoost and the corrective steps beside LPBoost and ERLPBoost: rounds to a class gap of epsilon, and theory's bound.

Decision stumps of both directions, epsilon = 0.01, nu = 0.1 N and, where labels are so noisy that the best soft margin
at 0.1 N is next to 0, also 0.5 N; and the instance on which LPBoost collects N / 2 hypotheses, with nu = 1. Every
update is named, so that none is histogram Newton. german and a9a come from ../shared/data, beside the repository. If
they are missing, the output says so. A run ends after so many rounds, with the gap that it has then. (A time limit
would put a foreign solver into a process of its own, where it may end at other optimal weights.) Seconds are processor
time of one thread: read them as orders of magnitude. Rounds are equal everywhere except for LPBoost, whose weights are
the solver's.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from benchmarks.boosting import FOLDER, examples, left_out
from boostopt import boost, instances, load_dataset
from boostopt.boosting import Run
from boostopt.oracles import DecisionStumps, GivenMargins, Oracle

EPSILON = 0.01

GERMAN = FOLDER / "german.numer.svm.xz"

HARD = 400
"""Examples of the hard instance."""

MOST = 60_000
"""Rounds after which a run is ended."""

WAYS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "LPBoost": ("lpboost", {"update": "total"}),
    "ERLPBoost": ("erlpboost", {"update": "total"}),
    "corrective, step": ("corrective_erlpboost", {"update": "step"}),
    "corrective, line search": ("corrective_erlpboost", {"update": "line_search"}),
    "corrective, pairwise": ("corrective_erlpboost", {"update": "pairwise"}),
    "corrective, blended": ("corrective_erlpboost", {"update": "blended_pairwise"}),
    "MLPBoost, step": ("erlpboost", {"update": "mlpboost", "corrective": "step"}),
    "MLPBoost, line search": ("erlpboost", {"update": "mlpboost"}),
    "MLPBoost, pairwise": ("erlpboost", {"update": "mlpboost", "corrective": "pairwise"}),
    "MLPBoost, blended": ("erlpboost", {"update": "mlpboost", "corrective": "blended_pairwise"}),
}
"""The runs by their words in the table: formulation and options."""

HEADER = "| set | nu | update | rounds | by the program | hypotheses | with weight | class gap | seconds | at most |"


@dataclass(frozen=True)
class Case:
    """A class of hypotheses and the count of the soft margin.

    Attributes
    ----------
    data
        The name of the data set.
    nu
        Examples that share the weight, in words.
    oracle
        The source of the hypotheses.
    count
        The same as a number, of the number of examples.
    """

    data: str
    nu: str
    oracle: Callable[[], Oracle]
    count: Callable[[int], float]


def stumps(data: str) -> DecisionStumps:
    """Return the stumps over a set."""
    if data != "german":
        return DecisionStumps(*examples(data))
    loaded = load_dataset(str(GERMAN))
    assert loaded.y is not None
    return DecisionStumps(loaded.X, loaded.y)


def cases() -> Iterator[Case]:
    """Yield the cases whose data are there."""
    yield Case(f"hard, N = {HARD}", "1", lambda: GivenMargins(instances.iteration_lower_bound(HARD).U), lambda N: 1.0)
    yield _case("breast_cancer", 0.1)
    for data, missing in (("german", "" if GERMAN.exists() else f"{GERMAN.name} is not there"), ("a9a", left_out())):
        if missing:
            print(f"left out: {data}: {missing}")
            continue
        yield _case(data, 0.1)
        yield _case(data, 0.5)


def _case(data: str, share: float) -> Case:
    """Return the case of a set at a share of its examples."""
    return Case(data, f"{share:g} N", partial(stumps, data), lambda N: share * N)


def line(case: Case, oracle: Oracle, way: str, max_rounds: int, epsilon: float) -> str:
    """Boost once and return the row of the table."""
    name, options = WAYS[way]
    began = time.process_time()
    run: Run = boost(
        name, oracle, nu=case.count(oracle.N), epsilon=epsilon, history=False, max_rounds=max_rounds, **options
    )
    seconds = time.process_time() - began
    by_program, n_active = sum(backend != "" for backend in run.trace["backend"]), int((run.w > 0.0).sum())
    ended = run.class_certificate.gap <= epsilon
    allowed = "" if math.isinf(run.iteration_bound) else f"{run.iteration_bound:,.0f}"
    rounds = f"{run.rounds}" if ended else f"> {run.rounds}"
    gap = f"{run.class_certificate.gap:.4f}"
    cells = (case.data, case.nu, way, rounds, by_program, len(run.hypotheses), n_active, gap, f"{seconds:.2g}", allowed)
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sets", nargs="*", help="only sets whose names begin so: hard, breast_cancer, german, a9a")
    options.add_argument("--ways", nargs="*", help="only ways whose names begin so: LPBoost, MLPBoost")
    options.add_argument("--most", type=int, default=MOST, help="rounds after which a run is ended")
    options.add_argument("--epsilon", type=float, default=EPSILON, help="the gap at which a run ends")
    arguments = options.parse_args()
    print(f"{HEADER}\n{'|---' * HEADER.count(' | ')}|---|")
    for case in cases():
        if arguments.sets and not case.data.startswith(tuple(arguments.sets)):
            continue
        oracle = case.oracle()
        for way in WAYS:
            if not arguments.ways or way.startswith(tuple(arguments.ways)):
                print(line(case, oracle, way, arguments.most, arguments.epsilon), flush=True)


if __name__ == "__main__":
    main()
