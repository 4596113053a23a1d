"""Certificates of problems with known optima, after wrong answers: no interval may be false.

python benchmarks/fuzzed_certificates.py --count 50000 --seed 0 --resume build/fuzzed.jsonl --page docs/any_problem.md
writes two tables, by kind of problem and by lie. Each problem (`closed_forms`) gets every lie of `LIES` once, so three
solves serve all of its certificates. Problems in the file of `--resume` are not done again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.closed_forms import KINDS, ClosedForm, Real, closed_form, cp, mp, real
from benchmarks.pages import replace_between, row
from boostopt import certify_problem
from boostopt._utils.cvxpy_tools import solve_quietly

BEGIN, END = "<!-- fuzzed certificates -->", "<!-- end of fuzzed certificates -->"

DIGITS_TOL = 1e-50
"""Relative error of optima by mpmath; fractions are compared exactly."""

Arrays = list[Any]


@dataclass(frozen=True)
class Answer:
    """Values of the variables, and duals of the constraints, of one solve."""

    values: Arrays
    duals: Arrays


@dataclass(frozen=True)
class Answers:
    """Answers that a lie is made of: of the problem, of another of its kind, and of the opposite objective."""

    truth: Answer
    neighbour: Answer
    opposite: Answer


def is_false(certificate: Any, item: ClosedForm) -> bool:
    """Return whether an interval does not contain the optimum, or a status contradicts it."""
    is_minimized = isinstance(item.problem.objective, cp.Minimize)
    smallest = item.optimum if is_minimized else -item.optimum
    if (certificate.status == "infeasible") > (smallest == math.inf):
        return True
    if (certificate.status == "unbounded") > (smallest == -math.inf):
        return True
    return not (is_at_most(certificate.lower, item.optimum) and is_at_least(certificate.upper, item.optimum))


def is_at_most(end: float, optimum: Real) -> bool:
    """Return whether an end is not above the optimum."""
    if math.isnan(end):
        return False
    if math.isinf(end) or isinstance(optimum, float):
        return end <= optimum
    if isinstance(optimum, Fraction):
        return Fraction(end) <= optimum
    return bool(real(end) <= optimum + DIGITS_TOL * max(mp.one, abs(optimum)))


def is_at_least(end: float, optimum: Real) -> bool:
    """Return whether an end is not below the optimum."""
    return is_at_most(-end, -optimum)


def shapes(item: ClosedForm) -> list[Any]:
    """Return the shapes of the variables and of the duals."""
    duals = [dual.shape for constraint in item.problem.constraints for dual in constraint.dual_variables]
    return [[variable.shape for variable in item.problem.variables()], duals]


def solve(problem: Any, variables: list[Any]) -> Answer:
    """Return the answer of Clarabel, with zeros where it leaves no values."""
    for variable in variables:
        variable.save_value(None)
    solve_quietly(problem, "CLARABEL")
    values = [dense(variable.value, variable.shape) for variable in variables]
    duals = [dense(dual.value, dual.shape) for constraint in problem.constraints for dual in constraint.dual_variables]
    return Answer(values, duals)


def dense(value: Any, shape: tuple[int, ...]) -> Any:
    """Return a value as an array; zeros of a shape if there is none."""
    if value is None:
        return np.zeros(shape)
    return np.array(value.toarray() if hasattr(value, "toarray") else value, dtype=float)


def answers(item: ClosedForm, kind: str, rng: np.random.Generator) -> Answers:
    """Return the answers of a problem, of a neighbour of equal shapes, and of an opposite objective."""
    variables = item.problem.variables()
    truth = solve(item.problem, variables)
    neighbour = next(
        (candidate for candidate in (closed_form(kind, rng) for _ in range(40)) if shapes(candidate) == shapes(item)),
        item,
    )
    opposite = -item.objective
    if not opposite.is_convex():
        opposite = -sum((cp.sum(cp.multiply(rng.normal(size=v.shape), v)) for v in variables), cp.Constant(0.0))
    of_neighbour = solve(neighbour.problem, neighbour.problem.variables())
    of_opposite = solve(cp.Problem(cp.Minimize(opposite), item.problem.constraints), variables)
    return Answers(truth, of_neighbour, of_opposite)


Lie = Callable[[Answers, np.random.Generator], tuple[Arrays, Arrays]]
"""A function that returns values and duals."""


def noisy(arrays: Arrays, size: float, rng: np.random.Generator) -> Arrays:
    """Return arrays with noise."""
    return [array + size * rng.normal(size=array.shape) for array in arrays]


def permuted(arrays: Arrays, rng: np.random.Generator) -> Arrays:
    """Return arrays with the entries of all of them in another order."""
    if not arrays:
        return []
    entries = rng.permutation(np.concatenate([array.ravel() for array in arrays]))
    ends = np.cumsum([array.size for array in arrays])[:-1]
    return [part.reshape(array.shape) for part, array in zip(np.split(entries, ends), arrays, strict=True)]


def scaled(arrays: Arrays, factor: float) -> Arrays:
    """Return arrays times a factor."""
    return [factor * array for array in arrays]


def round_arrays(arrays: Arrays) -> Arrays:
    """Return arrays with two decimals."""
    return [np.round(array, 2) for array in arrays]


LIES: dict[str, Lie] = {
    "none: the solver's answer": lambda a, rng: (a.truth.values, a.truth.duals),
    "duals: negated": lambda a, rng: (a.truth.values, scaled(a.truth.duals, -1.0)),
    "duals: times 1e-3 to 1e3": lambda a, rng: (a.truth.values, scaled(a.truth.duals, 10 ** rng.uniform(-3, 3))),
    "duals: in another order": lambda a, rng: (a.truth.values, permuted(a.truth.duals, rng)),
    "duals: zero": lambda a, rng: (a.truth.values, scaled(a.truth.duals, 0.0)),
    "duals: 1e3 to 1e200": lambda a, rng: (
        a.truth.values,
        scaled(noisy(a.truth.duals, 1.0, rng), 10.0 ** rng.integers(3, 200)),
    ),
    "duals: nan": lambda a, rng: (a.truth.values, [np.full(dual.shape, np.nan) for dual in a.truth.duals]),
    "duals: noise of 1e-6": lambda a, rng: (a.truth.values, noisy(a.truth.duals, 1e-6, rng)),
    "duals: noise of 1": lambda a, rng: (a.truth.values, noisy(a.truth.duals, 1.0, rng)),
    "duals: of a neighbour": lambda a, rng: (a.truth.values, a.neighbour.duals),
    "values: noise of 1e-6": lambda a, rng: (noisy(a.truth.values, 1e-6, rng), a.truth.duals),
    "values: noise of 1": lambda a, rng: (noisy(a.truth.values, 1.0, rng), a.truth.duals),
    "values: negated": lambda a, rng: (scaled(a.truth.values, -1.0), a.truth.duals),
    "values: in another order": lambda a, rng: (permuted(a.truth.values, rng), a.truth.duals),
    "values: 1e3 to 1e200": lambda a, rng: (
        scaled(noisy(a.truth.values, 1.0, rng), 10.0 ** rng.integers(3, 200)),
        a.truth.duals,
    ),
    "values: of a neighbour (stale)": lambda a, rng: (a.neighbour.values, a.truth.duals),
    "values: of the opposite": lambda a, rng: (a.opposite.values, a.truth.duals),
    "both: two decimals": lambda a, rng: (round_arrays(a.truth.values), round_arrays(a.truth.duals)),
    "both: noise of 1e-2": lambda a, rng: (noisy(a.truth.values, 1e-2, rng), noisy(a.truth.duals, 1e-2, rng)),
    "both: random": lambda a, rng: (
        noisy(scaled(a.truth.values, 0.0), 3.0, rng),
        noisy(scaled(a.truth.duals, 0.0), 3.0, rng),
    ),
    "both: of a neighbour": lambda a, rng: (a.neighbour.values, a.neighbour.duals),
    "both: of the opposite": lambda a, rng: (a.opposite.values, a.opposite.duals),
    "both: of the opposite, wrong sign": lambda a, rng: (a.opposite.values, scaled(a.opposite.duals, -1.0)),
    "both: zero": lambda a, rng: (scaled(a.truth.values, 0.0), scaled(a.truth.duals, 0.0)),
}
"""Answers that are left in a problem, by name."""


def tell(item: ClosedForm, values: Arrays, duals: Arrays) -> None:
    """Put values and duals into a problem, symmetric ones where the variable is."""
    for variable, value in zip(item.problem.variables(), values, strict=True):
        is_symmetric = variable.attributes.get("symmetric") or variable.attributes.get("PSD")
        variable.save_value((value + value.T) / 2 if is_symmetric else value)
    places = [dual for constraint in item.problem.constraints for dual in constraint.dual_variables]
    for place, dual in zip(places, duals, strict=True):
        place.save_value(dual)


def told_problems(kind: str, index: int, seed: int) -> Iterator[tuple[str, ClosedForm]]:
    """Yield one problem as often as there are lies, with the name of the lie that was just put into it."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode()), index])
    item = closed_form(kind, rng)
    material = answers(item, kind, rng)
    for name, lie in LIES.items():
        tell(item, *lie(material, rng))
        yield name, item


def check(kind: str, index: int, seed: int) -> dict[str, Any]:
    """Return the scaled gaps, None where infinite, and the false intervals of all lies about one problem."""
    gaps, falsehoods = dict[str, float | None](), list[list[str]]()
    for name, item in told_problems(kind, index, seed):
        certificate = certify_problem(item.problem)
        is_finite = math.isfinite(certificate.lower) and math.isfinite(certificate.upper)
        gaps[name] = float(certificate.scaled_gap) if is_finite else None
        if is_false(certificate, item):
            falsehoods.append([name, repr(certificate.lower), repr(certificate.upper), certificate.status])
    return {"kind": kind, "index": index, "seed": seed, "gaps": gaps, "false": falsehoods}


def run(count: int, seed: int, path: Path | None) -> list[dict[str, Any]]:
    """Return the records of at least `count` certificates; records in a file are not computed again."""
    records = dict[tuple[str, int], dict[str, Any]]()
    if path is not None and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["seed"] == seed and list(record["gaps"]) == list(LIES):
                records[record["kind"], record["index"]] = record
    rounds = math.ceil(count / (len(KINDS) * len(LIES)))
    units = [(kind, index) for index in range(rounds) for kind in KINDS]
    for kind, index in units:
        if (kind, index) in records:
            continue
        record = records[kind, index] = check(kind, index, seed)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
    return [records[unit] for unit in units]


def table(records: Iterable[dict[str, Any]]) -> str:
    """Return the two tables: by kind of problem and by lie."""
    records = list(records)
    first_lie = next(iter(LIES))
    parts = ["| kind of problem | problems | certificates | finite | false | worst gap of a solver's answer |"]
    parts += ["|---|--:|--:|--:|--:|--:|"]
    for kind in KINDS:
        of_kind = [record for record in records if record["kind"] == kind]
        gaps = [gap for record in of_kind for gap in record["gaps"].values()]
        n_false = sum(len(record["false"]) for record in of_kind)
        worst = worst_gap([record["gaps"][first_lie] for record in of_kind])
        parts.append(row([kind, f"{len(of_kind):,}", *counts(gaps, n_false), worst]))
    all_gaps = [gap for record in records for gap in record["gaps"].values()]
    n_false = sum(len(record["false"]) for record in records)
    parts.append(row(["all", f"{len(records):,}", *counts(all_gaps, n_false), ""]))
    parts += ["", "| lie | certificates | finite | false | median gap | worst gap |", "|---|--:|--:|--:|--:|--:|"]
    for name in LIES:
        gaps = [record["gaps"][name] for record in records]
        n_false = sum(name == entry[0] for record in records for entry in record["false"])
        finite = [gap for gap in gaps if gap is not None]
        median = f"{np.median(finite):.0e}" if finite else ""
        parts.append(row([name, *counts(gaps, n_false), median, worst_gap(finite)]))
    return "\n".join(parts)


def counts(gaps: list[float | None], n_false: int) -> list[str]:
    """Return the numbers of certificates, of finite ones and of false ones, as cells."""
    return [f"{len(gaps):,}", f"{sum(gap is not None for gap in gaps):,}", str(n_false)]


def worst_gap(gaps: list[float | None]) -> str:
    """Return the largest finite gap as a cell; empty if there is none."""
    return f"{max(finite):.0e}" if (finite := [gap for gap in gaps if gap is not None]) else ""


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; return 1 if an interval is false."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="least number of certificates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, help="file of results, continued if it exists")
    parser.add_argument("--page", type=Path, help="page into which the tables are written")
    options = parser.parse_args(arguments)
    records = run(options.count, options.seed, options.resume)
    tables = table(records)
    print(tables)
    if options.page is not None:
        replace_between(options.page, BEGIN, END, tables)
    for record in records:
        for entry in record["false"]:
            print(f"false: {record['kind']}, problem {record['index']}, seed {record['seed']}: {entry}")
    return int(any(record["false"] for record in records))


if __name__ == "__main__":
    sys.exit(main())
