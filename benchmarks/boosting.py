"""Boosting at the sizes of the papers: seconds, rounds, the gap that is certified over the class, memory.

Each line runs in a process of its own, so that its peak of memory is its own, libraries and data included; its seconds
are those of `boost`, the reading and sorting of the data left out. a9a comes from ../shared/data, beside the
repository; where it is not there its lines are left out, and that is said.

The lines with a printed time are runs of Glocer 2009, section 5.6: nu and eta are those of tables 5.10 to 5.12,
epsilon is 0.001, the hypotheses have their negations, and the rows are drawn as there: training and test file together,
of which 60 % are for training. Which rows these were is not known. It stops by the practical rule; here `direct` does,
which certifies the soft margin and is met no later. Its seconds, tables 5.7 to 5.9, were taken on the machines of its
time: read them as orders of magnitude. The lines without a printed time are at parameters of ours.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("", "tests")]

from benchmarks.dissertation_printed import PARAMETERS, ROWS, SECONDS, SETS
from boostopt import boost, load_dataset
from boostopt.boosting import Run
from boostopt.oracles import DecisionStumps, KernelColumns, Oracle, Query, RawFeatures

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "libsvm"
A9A = FOLDER / "a9a.svm.xz", FOLDER / "a9a.t.svm.xz"
"""The training and the test file, which the dissertation puts together before it draws."""

SEED = 0

HEADER = "| work | seconds | rounds | hypotheses | class gap | peak, MB | printed, s | meant to be | met |"
CLOCK = time.perf_counter


@dataclass(frozen=True)
class Line:
    """A line of the report.

    Attributes
    ----------
    work
        The work that was measured: formulation, data and options.
    seconds
        The duration of the run; for the oracle, of a call.
    rounds, hypotheses
        Updates, and hypotheses collected.
    gap
        The difference of the bounds of the soft margin over the class; nan if nothing was boosted.
    megabytes
        The most memory of the process.
    printed_seconds
        Seconds in the dissertation; nan where it has none.
    target
        The target, in words.
    is_met
        True if the target is met.
    """

    work: str
    seconds: float
    rounds: int
    hypotheses: int
    gap: float
    megabytes: float
    printed_seconds: float
    target: str
    is_met: bool


@dataclass(frozen=True)
class Case:
    """A benchmark case of boosting.

    Attributes
    ----------
    name
        Name of the formulation.
    data
        "a9a" or "breast_cancer".
    oracle
        Makes the oracle from the examples.
    share
        nu / N; 0 for nu = 1.
    epsilon
        The accuracy of the soft margin.
    seconds, megabytes
        The limits; the seconds are per 2000 rounds if the rounds are limited.
    printed_seconds
        Seconds in the dissertation.
    options
        Further arguments of `boost`.
    """

    name: str
    data: str
    oracle: Callable[[Any, Any], Oracle]
    share: float
    epsilon: float
    seconds: float
    megabytes: float = 1500.0
    printed_seconds: float = np.nan
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def work(self) -> str:
        """The boosted formulation, data and parameters, in words."""
        eta = f", eta={self.options['eta']:g}" if "eta" in self.options else ""
        nu = f"{self.share:g}N" if self.share else "1"
        return f"{self.name}, {self.oracle.__name__}, {self.data}, nu={nu}{eta}, epsilon={self.epsilon:g}"


PRINTED_NAMES: Mapping[str, str] = {"erlpboost": "erlp", "binary_erlpboost": "bin"}
CLASSES: Mapping[str, Callable[[Any, Any], Oracle]] = {
    "stumps": DecisionStumps,
    "raw": RawFeatures,
    "SVM": KernelColumns,
}
"""The dissertation's classes of hypotheses: all have negations by default; "SVM" are the data matrix times its rows."""


def _a9a(name: str, hypotheses: str, seconds: float) -> Case:
    """A run of the dissertation, at its parameters."""
    algorithm, column = PRINTED_NAMES[name], SETS.index("a9a")
    share, eta = map(float, PARAMETERS[hypotheses][algorithm][column].split(","))
    options: dict[str, Any] = {"eta": eta}
    if hypotheses != "stumps":  # histogram Newton boosts stumps, and has no other rule
        options["rules"] = ("direct",)
    printed_seconds = SECONDS[hypotheses][algorithm][column]
    return Case(
        name, "a9a", CLASSES[hypotheses], share, 0.001, seconds, printed_seconds=printed_seconds, options=options
    )


CORRECTIVE = 2000
"""Rounds of the corrective run."""

CASES: Mapping[str, Case] = {
    "cancer-lp": Case("lpboost", "breast_cancer", DecisionStumps, 0.1, 1e-4, 1.0),
    "cancer-erlp": Case("erlpboost", "breast_cancer", DecisionStumps, 0.1, 0.01, 2.0),
    "cancer-binary": Case("binary_erlpboost", "breast_cancer", DecisionStumps, 0.1, 0.01, 2.0),
    "cancer-soft": Case("softboost", "breast_cancer", DecisionStumps, 0.1, 0.01, 2.0),
    "a9a-stumps-erlp": _a9a("erlpboost", "stumps", 15.0),
    "a9a-stumps-binary": _a9a("binary_erlpboost", "stumps", 15.0),
    "a9a-raw-erlp": _a9a("erlpboost", "raw", 15.0),
    "a9a-raw-binary": _a9a("binary_erlpboost", "raw", 15.0),
    "a9a-kernel-erlp": _a9a("erlpboost", "SVM", 180.0),
    "a9a-kernel-binary": _a9a("binary_erlpboost", "SVM", 180.0),
    "a9a-stumps-lp": Case("lpboost", "a9a", DecisionStumps, 0.3, 0.01, 60.0),
    "a9a-corrective": Case(
        "corrective_erlpboost",
        "a9a",
        RawFeatures,
        0.3,
        0.001,
        CORRECTIVE / 150.0,
        options={"eta": 2408, "rules": ("direct",), "max_rounds": CORRECTIVE, "history": False},
    ),
}
"""The runs by a short name."""

ORACLE = "text"
"""The short name of the oracle's call on a set like text."""

DRAWN = 400
"""Words drawn, with repetitions, of which a row keeps 100 different ones."""

TEXT_SECONDS, TEXT_MEGABYTES = 0.15, 1000.0

QUICK = ("cancer-lp", "cancer-erlp", "cancer-binary", "cancer-soft", "a9a-stumps-erlp", "a9a-corrective")


def lines(quick: bool) -> Iterator[Line]:
    """Measure one line after another, each in a process of its own, with one thread for linear algebra.

    With more the threads wait for each other in products of 30,000 numbers, milliseconds where another process is busy.
    """
    names = [name for name in (QUICK if quick else CASES) if CASES[name].data != "a9a" or not left_out()]
    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for name in (*names, ORACLE):
        done = subprocess.run([sys.executable, __file__, name], env=one, stdout=subprocess.PIPE, text=True, check=True)
        yield Line(**json.loads(done.stdout.splitlines()[-1]))


def left_out() -> str:
    """Say what cannot be measured for want of data, "" for nothing."""
    missing = " and ".join(file.name for file in A9A if not file.exists())
    return f"The lines on a9a are left out: no {missing} in shared/data/libsvm, beside the repository." * bool(missing)


def row(line: Line) -> str:
    """Return a row of the table."""
    numbers = (f"{line.seconds:.3g}", line.rounds or "", line.hypotheses or "", _format_number(line.gap, ".2e"))
    target_cells = (
        f"{line.megabytes:.0f}",
        _format_number(line.printed_seconds, ".0f"),
        line.target,
        "yes" if line.is_met else "no",
    )
    return f"| {' | '.join(map(str, (line.work, *numbers, *target_cells)))} |"


def _format_number(number: float, how: str) -> str:
    """Return a number in words, "" for nan."""
    return "" if np.isnan(number) else format(number, how)


def examples(data: str) -> tuple[Any, Any]:
    """Return features and labels."""
    if data != "a9a":
        loaded = load_dataset(data)
        assert loaded.y is not None
        return loaded.X, loaded.y
    from sklearn.datasets import load_svmlight_file

    parts = list[tuple[Any, Any]]()
    for path in A9A:
        with lzma.open(path) as file:
            parts.append(load_svmlight_file(file, n_features=123)[:2])
    X: Any = scipy.sparse.vstack([X for X, _ in parts], format="csr")
    y = np.concatenate([y for _, y in parts])
    assert len(y) == sum(ROWS["a9a"])
    rows = np.sort(np.random.default_rng(SEED).permutation(len(y))[: ROWS["a9a"][0]])
    return X[rows], y[rows]


def measure(case: Case) -> Line:
    """Boost once."""
    oracle = case.oracle(*examples(case.data))
    began = CLOCK()
    run: Run = boost(case.name, oracle, nu=max(case.share * oracle.N, 1.0), epsilon=case.epsilon, **case.options)
    seconds = CLOCK() - began
    limited, gap, peak = "max_rounds" in case.options, run.class_certificate.gap, megabytes()
    is_met = seconds <= case.seconds and peak <= case.megabytes and (limited or gap <= case.epsilon)
    target = f"<= {case.seconds:.3g} s, {case.megabytes:.0f} MB"
    if limited:
        target += f": {run.rounds / seconds:.0f} rounds a second, of >= {run.rounds / case.seconds:.0f}"
    return Line(case.work, seconds, run.rounds, len(run.hypotheses), gap, peak, case.printed_seconds, target, is_met)


def text_like(N: int = 20_000, features: int = 200_000, nonzeros: int = 100) -> Line:
    """A call of the oracle of stumps on words that are rarer and rarer."""
    rng = np.random.default_rng(SEED)
    words = (np.unique((features ** rng.random(DRAWN)).astype(np.int64)) for _ in range(N))
    columns = np.concatenate([rng.permutation(of_one)[:nonzeros] for of_one in words])
    rows = np.repeat(np.arange(N), nonzeros)
    X = scipy.sparse.csr_array((rng.random(N * nonzeros) + 0.1, (rows, columns)), shape=(N, features))
    y = np.where(rng.random(N) < 0.5, 1, -1)
    oracle = DecisionStumps(X, y)
    d = rng.dirichlet(np.ones(N), size=8)
    seconds = list[float]()
    for weights in d:
        began = CLOCK()
        oracle.best(Query(weights))
        seconds.append(CLOCK() - began)
    call, peak = float(np.median(seconds)), megabytes()
    work = f"a call of DecisionStumps, N={N}, {features} features, {nonzeros} nonzeros a row"
    target = f"<= {1000 * TEXT_SECONDS:.0f} ms, {TEXT_MEGABYTES:.0f} MB"
    return Line(work, call, 0, 0, np.nan, peak, np.nan, target, call <= TEXT_SECONDS and peak <= TEXT_MEGABYTES)


def megabytes() -> float:
    """The most memory that this process has taken."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: there a child begins with the peak of the process that started it.
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return float(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e6 / 1024)  # in bytes there, elsewhere in units of 1024


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("name", choices=(*CASES, ORACLE))
    name = options.parse_args().name
    print(json.dumps(asdict(text_like() if name == ORACLE else measure(CASES[name]))))


if __name__ == "__main__":
    main()
