"""Does the fuzz of certificates see a fault in the code? Ten faults of one line each, one at a time.

    python benchmarks/code_faults.py --page docs/any_problem.md

A process of its own imports boostopt with one line of a module replaced. It certifies the problems of `KINDS` and of
`FURTHER_KINDS` with the answers of `fuzzed_certificates`, in balls and in floats, until an interval is false or its
bounds cross. The code without a fault has to pass the whole run. The exit status is 1 if a fault was not seen, or if
the code without a fault was refuted.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

BEGIN, END = "<!-- code faults -->", "<!-- end of code faults -->"

ARITHMETICS = ("balls", "floats")
"""The two ways in which coefficients are read. For the second, small problems are read as large ones."""

N_PROBLEMS = 3
"""Number of problems of each kind."""

ROOM = "boostopt.problem_certificates"

CROSSED = "bounds cross"
"""The text in place of an interval whose bounds the certificate itself refuses."""


@dataclass(frozen=True)
class CodeFault:
    """A line of a module, and the wrong line in place of it.

    Attributes
    ----------
    title
        What is wrong.
    module
        The module within `ROOM`.
    line
        The line, without its indentation. It stands once in the module.
    wrong_line
        The other line.
    """

    title: str
    module: str
    line: str
    wrong_line: str

    @property
    def module_name(self) -> str:
        """The full name of the module."""
        return f"{ROOM}.{self.module}"

    def faulty_source(self, source: str) -> str:
        """Return the source of the module with the wrong line.

        Raises
        ------
        ValueError
            The line does not stand there once.
        """
        lines = source.splitlines()
        places = [i for i, line in enumerate(lines) if line.strip() == self.line]
        if len(places) != 1:
            raise ValueError(
                f"expected the line {self.line!r} once in {self.module_name}; got it {len(places)} times. "
                "Write the line of today into FAULTS."
            )
        indentation = lines[places[0]][: -len(self.line)]
        return "\n".join([*lines[: places[0]], indentation + self.wrong_line, *lines[places[0] + 1 :], ""])


FAULTS: Sequence[CodeFault] = (
    CodeFault(
        "upper ends are rounded to the nearest float",
        "arithmetic.balls",
        "return nearest if flint.arb(nearest) >= value else math.nextafter(nearest, math.inf)",
        "return nearest",
    ),
    CodeFault(
        "sums of products in floats have no rounding error",
        "arithmetic.sparse_float_forms",
        "errors = np.where(is_exact, inherited, gamma(counts + 1.0) * total + inherited)",
        "errors = inherited",
    ),
    CodeFault(
        "negative slopes that are left are forgotten",
        "minorants.minorant_minimum",
        "total = total + slope * ball(float(upper[j]))",
        "total = total + ZERO",
    ),
    CodeFault(
        "inequalities hold to 1e-6 only",
        "feasible_point",
        "if i not in self.promotions.rows and not value <= 0:",
        "if i not in self.promotions.rows and not value <= ball(1e-6):",
    ),
    CodeFault(
        "matrices of a point need not be semidefinite",
        "feasible_point",
        "if not is_positive_semidefinite(constraint.rows.values(z), constraint.n):",
        "if not all(value.is_finite() for value in constraint.rows.values(z)):",
    ),
    CodeFault(
        "multipliers of inequalities have either sign",
        "minorants.lagrangian_minorant",
        "if not multiplier >= 0:",
        "if not multiplier.is_finite():",
    ),
    CodeFault(
        "quadratic forms are not shifted until they are semidefinite",
        "atoms.multivariate_smooth",
        "offset = offset - self.sign * ball(self.epsilon) * distance",
        "pass",
    ),
    CodeFault(
        "slopes of absolute values lie outside [-1, 1] by 1e-6",
        "atoms.norms",
        "return balls(np.clip(tangents.parameters[i], -1, 1)), ZERO",
        "return balls(np.clip(tangents.parameters[i], -1, 1) * (1 + 1e-6)), ZERO",
    ),
    CodeFault(
        "slopes of log_sum_exp sum up to 1 only up to rounding",
        "atoms.largest_entries",
        "return [entry / total for entry in entries]",
        "return entries",
    ),
    CodeFault(
        "tangents of exponentials have the value at their point as their constant",
        "atoms.univariate_smooth",
        "return slope, slope * (1 - v)",
        "return slope, slope",
    ),
)
"""Faults of rounding, of signs, of constants, of the sets of slopes, and of conditions that are not tested."""


class FaultyModuleLoader(importlib.machinery.SourceFileLoader):
    """The loader of a module with a fault. It neither reads nor writes compiled files.

    Parameters
    ----------
    fault
        The fault.
    path
        The file of the module.
    """

    def __init__(self, fault: CodeFault, path: str) -> None:
        super().__init__(fault.module_name, path)
        self._fault = fault

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(self._fault.faulty_source(source), self.path, "exec", dont_inherit=True)


class FaultyModuleFinder(importlib.abc.MetaPathFinder):
    """The finder of a module with a fault.

    Parameters
    ----------
    fault
        The fault.
    """

    def __init__(self, fault: CodeFault) -> None:
        self._fault = fault
        self.has_loaded = False

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return the spec of the module with the fault; None for all others."""
        if fullname != self._fault.module_name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        self.has_loaded = True
        spec.loader = FaultyModuleLoader(self._fault, spec.origin)
        return spec


def false_intervals(n_problems: int, seed: int) -> Iterator[dict[str, str] | None]:
    """Yield what is false about each certificate, None if nothing is, of all problems and lies in both arithmetics."""
    from benchmarks import fuzzed_certificates as fuzz
    from benchmarks.closed_forms import FURTHER_KINDS, KINDS
    from boostopt import certify_problem
    from boostopt.errors import ProblemError
    from boostopt.problem_certificates import problem_reader

    limits = {"balls": problem_reader.MAX_BALLS, "floats": -1}
    for index, arithmetic, kind in itertools.product(range(n_problems), ARITHMETICS, FURTHER_KINDS | KINDS):
        for lie, item in fuzz.told_problems(kind, index, seed):
            try:
                with mock.patch.object(problem_reader, "MAX_BALLS", limits[arithmetic]):
                    certificate = certify_problem(item.problem)
                interval = certificate.words if fuzz.is_false(certificate, item) else ""
            except ProblemError as error:
                if "This is a bug" not in str(error):
                    raise
                interval = CROSSED
            yield {"kind": kind, "lie": lie, "arithmetic": arithmetic, "interval": interval} if interval else None


def first_false_interval(fault: CodeFault | None, n_problems: int, seed: int) -> dict[str, Any]:
    """Return how many certificates there were, and the first that is false, None if none is.

    The module with the fault stays in the process.
    """
    finder = None if fault is None else FaultyModuleFinder(fault)
    if finder is not None:
        sys.meta_path.insert(0, finder)
    count, falsehood = 0, None
    for falsehood in false_intervals(n_problems, seed):
        count += 1
        if falsehood is not None:
            break
    if fault is not None and not (finder is not None and finder.has_loaded):
        raise ValueError(
            f"expected a fault in a module that is imported after it was put there; got {fault.module_name}. "
            "Call this in a process of its own."
        )
    return {"certificates": count, "false": falsehood}


def run_in_process(fault: CodeFault | None, n_problems: int, seed: int) -> dict[str, Any]:
    """Return `first_false_interval` of a process of its own."""
    number = -1 if fault is None else list(FAULTS).index(fault)
    command = [sys.executable, __file__, "--number", str(number), "--problems", str(n_problems), "--seed", str(seed)]
    completed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if completed.returncode:
        raise RuntimeError(
            f"expected a run with the fault {number}; it ended with {completed.returncode}: {completed.stderr[-2000:]}"
        )
    return json.loads(completed.stdout.splitlines()[-1])


def table(results: Sequence[tuple[CodeFault | None, dict[str, Any]]]) -> str:
    """Return the table of all runs."""
    from benchmarks.pages import row

    lines = ["| fault | certificates until it is seen | problem | answer | what is false |", "|---|--:|---|---|---|"]
    for fault, result in results:
        title = "none" if fault is None else fault.title
        falsehood, count = result["false"], f"{result['certificates']:,}"
        if falsehood is None:
            lines.append(row([title, f"not seen in {count}", "", "", ""]))
            continue
        problem = f"{falsehood['kind']}, in {falsehood['arithmetic']}"
        lines.append(row([title, count, problem, falsehood["lie"], falsehood["interval"]]))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if a fault was not seen, or the code without a fault was refuted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=N_PROBLEMS, help="number of problems of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="run with this fault, counted from 0, -1 for none, in this process")
    parser.add_argument("--page", type=Path, help="page into which the table is written")
    options = parser.parse_args(arguments)
    faults = [None, *FAULTS]
    if options.number is not None:
        print(json.dumps(first_false_interval(faults[options.number + 1], options.problems, options.seed)))
        return 0
    results = [(fault, run_in_process(fault, options.problems, options.seed)) for fault in faults]
    print(table(results))
    if options.page is not None:
        from benchmarks.pages import replace_between

        replace_between(options.page, BEGIN, END, table(results))
    return int(any((fault is None) != (result["false"] is None) for fault, result in results))


if __name__ == "__main__":
    sys.exit(main())
