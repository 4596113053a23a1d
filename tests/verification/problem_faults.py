"""Faults of one line in the checker of problem files, and whether forgeries show each of them.

As a script: `python tests/verification/problem_faults.py 600` prints the faults that so many forgeries do not show.
"""

from __future__ import annotations

import json
import sys
import time
import types
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from problem_forgeries import (
    answer_opposite,
    claim_more,
    claim_other,
    content,
    judge,
    lie_about_point,
    lie_stationary,
    verdict_on,
)
from support.problem_files import text

import boostopt.verification.problem_certificate_verdict as verdicts

FOLDER = Path(str(verdicts.__file__)).parent / "problem_kernel"
PACKAGE = "boostopt.verification.problem_kernel"
MODULES = (
    "rationals_and_balls",
    "atoms",
    "matrix_atoms",
    "problem_schema",
    "implied_equation_checks",
    "problem_checker",
)
"""The modules of the checker, in the order of their imports."""

FAULTS: Mapping[str, tuple[str, str, str]] = {
    "signs of inequalities": (
        "problem_checker",
        "if any(multiplier < 0 for multiplier in (multipliers.objective, *multipliers.inequalities)):",
        "if False:",
    ),
    "signs of atoms": ("problem_checker", "if mu * node.atom.sign < 0:", "if False:"),
    "bounds of x": ("problem_checker", "if side is None:", "if side is None and (side := ZERO) is None:"),
    "the side of a bound": ("problem_checker", "side = lower if slope > 0 else upper", "side = upper or lower"),
    "multipliers of matrices": ("problem_checker", "or not is_semidefinite(matrix):", "or False:"),
    "the sign of matrices": ("problem_checker", "[-entry for entry in Z]", "[entry for entry in Z]"),
    "a proof of infeasibility": (
        "problem_checker",
        "if not excludes_all_points(problem, document.multipliers):",
        "if not lower_bound(problem, document.multipliers) is not None:",
    ),
    "inequalities of the point": ("problem_checker", "if not is_at_most(value, ZERO):", "if False:"),
    "equalities of the point": (
        "problem_checker",
        "if not (is_at_most(value, ZERO) and is_at_most(ZERO, value)):",
        "if not is_at_most(value, ZERO):",
    ),
    "bounds of the point": ("problem_checker", "value > upper * D", "False"),
    "the claimed lower bound": (
        "problem_checker",
        "lower is None or not is_at_most(claim.lower, lower)",
        "lower is None",
    ),
    "the claimed upper bound": (
        "problem_checker",
        "upper is None or not is_at_most(upper, claim.upper)",
        "upper is None",
    ),
    "the objective of the ray": (
        "problem_checker",
        "falls = is_positive(-change) or (is_at_most(change, ZERO) and values.falls_beyond_bounds(row, problem.sign))",
        "falls = True",
    ),
    "absolute values": ("atoms", "return ZERO if all(abs(entry) <= mu for entry in s) else None", "return ZERO"),
    "the largest absolute value": ("atoms", "return ZERO if sum(map(abs, s)) <= mu else None", "return ZERO"),
    "the largest entry": ("atoms", "return ZERO if min(s) >= 0 and sum(s) == mu else None", "return ZERO"),
    "the smallest entry": ("atoms", "return ZERO if max(s) <= 0 and sum(s) == -mu else None", "return ZERO"),
    "the sum of the largest": (
        "atoms",
        "return ZERO if all(0 <= entry <= mu for entry in s) and sum(s) == self.count * mu else None",
        "return ZERO",
    ),
    "the norm": ("atoms", "return ZERO if sum(entry * entry for entry in s) <= mu * mu else None", "return ZERO"),
    "squares": (
        "atoms",
        "return quotient(-self.divisor * total(entry * entry for entry in s), 4 * mu)",
        "return quotient(-self.divisor * total(entry * entry for entry in s), 8 * mu)",
    ),
    "squares over the last": ("atoms", "<= -4 * mu * s[-1] else None", "<= -16 * mu * s[-1] else None"),
    "the quadratic form": (
        "atoms",
        "return quotient(pair_product(-self.sign, form), mu)",
        "return quotient(pair_product(-self.sign, form), 2 * mu)",
    ),
    "Huber's loss": ("atoms", "if abs(s[0]) <= 2 * self.threshold * mu else None", ""),
    "the exponential": (
        "atoms",
        "pair_sum(s[0], entropy_term(s[0], mu))",
        "pair_sum(2 * s[0], entropy_term(s[0], mu))",
    ),
    "the logarithm": ("atoms", "return pair_sum(mu, -pair_product(mu,", "return pair_sum(2 * mu, -pair_product(mu,"),
    "the entropy": (
        "atoms",
        "return -pair_product(mu, exponential(quotient(s[0], mu) - 1))",
        "return -pair_product(mu, exponential(quotient(s[0], mu) - 2))",
    ),
    "the logistic loss": (
        "atoms",
        "pair_sum(entropy_term(s[0], mu), entropy_term(mu - s[0], mu)) if 0 <= s[0] <= mu else None",
        "pair_sum(mu, mu)",
    ),
    "the relative entropy": (
        "atoms",
        "return ZERO if is_at_most(pair_product(mu, exponential(quotient(s[0], mu) - 1)), -s[1]) else None",
        "return ZERO",
    ),
    "log-sum-exp": (
        "atoms",
        "return total(entropy_term(entry, mu) for entry in s) if min(s) >= 0 and sum(s) == mu else None",
        "return mu",
    ),
    "the largest eigenvalue": ("matrix_atoms", "return ZERO if is_semidefinite(S) else None", "return ZERO"),
    "the power mean": ("atoms", "return ZERO if is_at_most(Fraction(1), size) else None", "return ZERO"),
    "the spectral norm": (
        "matrix_atoms",
        "return ZERO if size is not None and is_at_most(size, Fraction(1)) else None",
        "return ZERO",
    ),
    "the nuclear norm": ("matrix_atoms", "return ZERO if is_semidefinite(block) else None", "return ZERO"),
    "the matrix fraction": ("matrix_atoms", "return ZERO if is_semidefinite(rest) else None", "return ZERO"),
    "the product with the exponential": (
        "atoms",
        "return pair_sum(pair_product(mu, pair_product(u, exponential(u))), -pair_product(s[0], u))",
        "return ZERO",
    ),
    "the sum of the largest eigenvalues": (
        "matrix_atoms",
        "return ZERO if is_semidefinite(S) and is_semidefinite(rest) else None",
        "return ZERO",
    ),
    "the matrix entropy": ("matrix_atoms", "return -pair_product(mu, trace_of_exponential(H))", "return ZERO"),
    "the perspective": (
        "atoms",
        "return ZERO if bound is not None and is_at_most(s[-1], bound) else None",
        "return ZERO",
    ),
    "the determinant": (
        "matrix_atoms",
        "total([Fraction(self.n), value,",
        "total([Fraction(2 * self.n), value,",
    ),
}
"""The module, the code, and the wrong code of each fault."""


CASES_OF: Mapping[str, tuple[str, ...]] = {
    "signs of inequalities": (
        "linear",
        "second-order cone",
    ),
    "signs of atoms": (
        "lasso",
        "entropy",
    ),
    "bounds of x": ("least squares",),
    "the side of a bound": (
        "box",
        "equations",
    ),
    "multipliers of matrices": ("cut",),
    "the sign of matrices": ("cut",),
    "a proof of infeasibility": ("linear",),
    "inequalities of the point": ("linear",),
    "equalities of the point": ("quadratic",),
    "bounds of the point": ("box",),
    "the claimed lower bound": ("linear",),
    "the claimed upper bound": ("linear",),
    "the objective of the ray": ("linear",),
    "absolute values": ("lasso",),
    "the largest absolute value": ("chebyshev",),
    "the largest entry": ("largest",),
    "the smallest entry": ("smallest",),
    "the sum of the largest": ("sum of largest",),
    "the norm": ("norm",),
    "squares": ("least squares",),
    "squares over the last": ("squares over last",),
    "the quadratic form": ("quadratic",),
    "Huber's loss": ("huber",),
    "the exponential": ("exponential",),
    "the logarithm": ("logarithm",),
    "the entropy": ("entropy",),
    "the logistic loss": ("logistic",),
    "the relative entropy": ("relative entropy",),
    "log-sum-exp": ("log-sum-exp",),
    "the largest eigenvalue": ("largest eigenvalue",),
    "the power mean": ("power mean",),
    "the spectral norm": ("spectral norm",),
    "the nuclear norm": ("nuclear norm",),
    "the matrix fraction": ("matrix fraction",),
    "the product with the exponential": ("product with exponential",),
    "the sum of the largest eigenvalues": ("sum of largest eigenvalues",),
    "the matrix entropy": ("matrix entropy",),
    "the perspective": ("perspective", "concave perspective"),
    "the determinant": ("determinant",),
}
"""Problems whose forgeries can show a fault."""


@contextmanager
def faulty_checker(name: str) -> Generator[None]:
    """Replace the checker of files by one with a fault, for the time of a context.

    Raises
    ------
    AssertionError
        The code is not in the module once.
    """
    place, code, faulty_code = FAULTS[name]
    previous = {module: sys.modules[f"{PACKAGE}.{module}"] for module in MODULES}
    attributes = ("check_document", "parse_problem_document", "working_precision")
    functions = {attribute: getattr(verdicts, attribute) for attribute in attributes}
    try:
        for module in MODULES:
            source = (FOLDER / f"{module}.py").read_text()
            if module == place:
                assert source.count(code) == 1, f"{code!r} must be in {module} once"
                source = source.replace(code, faulty_code)
            faulty_module = types.ModuleType(f"{PACKAGE}.{module}")
            sys.modules[faulty_module.__name__] = faulty_module
            exec(compile(source, f"<{module} with a fault>", "exec"), faulty_module.__dict__)
        for attribute in attributes:
            owner = next(m for m in reversed(MODULES) if hasattr(sys.modules[f"{PACKAGE}.{m}"], attribute))
            setattr(verdicts, attribute, getattr(sys.modules[f"{PACKAGE}.{owner}"], attribute))
        yield
    finally:
        for module, original in previous.items():
            sys.modules[f"{PACKAGE}.{module}"] = original
        for attribute, function in functions.items():
            setattr(verdicts, attribute, function)


def is_shown(name: str, times: int, seed: int = 0) -> bool:
    """Return whether a checker with a fault rejects a true file, or accepts one of so many forgeries that is false."""
    rng = np.random.default_rng(seed)
    if not all(verdict_on(text(case).encode())[0] for case in CASES_OF[name]):
        raise ValueError(f"the files of {name} must be true")
    lies = (lie_stationary, lie_about_point, lie_stationary, claim_other, claim_more, answer_opposite)
    forgeries = list[tuple[str, bytes]]()
    for k in range(times):
        case = CASES_OF[name][k % len(CASES_OF[name])]
        document = content(case)
        lies[k // len(CASES_OF[name]) % len(lies)](document, rng)
        forgeries.append((case, json.dumps(document).encode()))
    with faulty_checker(name):
        if not all(verdict_on(text(case).encode())[0] for case in CASES_OF[name]):
            return True
        for case, raw in forgeries:
            verification, top = verdict_on(raw)
            if judge(verification, top, content(case)) == "FALSE":
                return True
    return False


if __name__ == "__main__":
    started = time.perf_counter()
    missed = [name for name in FAULTS if not is_shown(name, int(sys.argv[1]))]
    print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} shown; not: {missed}; {time.perf_counter() - started:.0f} s")  # noqa: T201
