"""Files of unbounded problems whose rays change atoms: the kernel proves asymptotic slopes, and nothing false."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.unbounded_problems import BOUNDED, UNBOUNDED, cp, leave_point

from boostopt import certify_problem
from boostopt.problem_certificates.problem_reader import read_problem
from boostopt.verification import verify
from boostopt.verification.problem_kernel import atoms, matrix_atoms
from boostopt.verification.problem_kernel.problem_checker import check_ray
from boostopt.verification.problem_kernel.problem_schema import Problem, ScaledVector, parse_problem
from boostopt.verification.problem_kernel.rationals_and_balls import (
    is_finite,
    is_positive,
    pair_product,
    pair_sum,
    working_precision,
)
from boostopt.verification.problem_statement import problem_to_json
from boostopt.verification.trusted_kernel.json_parsing import Rejected


def problem_of(table: dict[str, Any], name: str, is_maximized: bool = False) -> Any:
    """A problem of a table with a feasible point."""
    leave_point()
    objective, constraints = table[name]
    return cp.Problem(cp.Maximize(-objective) if is_maximized else cp.Minimize(objective), constraints)


def as_read_by_the_kernel(problem: Any) -> Problem:
    """The statement of a problem in a file, parsed."""
    return parse_problem(json.loads(json.dumps(problem_to_json(read_problem(problem)))))


def is_accepted(problem: Problem, ray: list[Fraction]) -> bool:
    """Return whether the kernel accepts a ray."""
    scale = int(np.lcm.reduce([value.denominator for value in ray]))
    try:
        with working_precision():
            check_ray(problem, ScaledVector([int(value * scale) for value in ray], scale))
    except Rejected:
        return False
    return True


@pytest.mark.every(4)
@pytest.mark.parametrize("name", UNBOUNDED)
@pytest.mark.parametrize("is_maximized", [False, True])
def test_unbounded_problems_have_files_that_are_accepted(name: str, is_maximized: bool, tmp_path: Path) -> None:
    problem = problem_of(UNBOUNDED, name, is_maximized)
    certify_problem(problem).save(tmp_path / "ray.json")
    verification = verify(tmp_path / "ray.json", problem)
    assert verification and verification.verdict == "proved", verification.reason
    assert json.loads((tmp_path / "ray.json").read_text())["claim"]["status"] == "unbounded"


@pytest.mark.every(4)
@pytest.mark.parametrize("name", sorted(set(BOUNDED) & set(UNBOUNDED)))
def test_the_proof_of_a_neighbour_proves_nothing_about_a_bounded_problem(name: str, tmp_path: Path) -> None:
    certify_problem(problem_of(UNBOUNDED, name)).save(tmp_path / "ray.json")
    document = json.loads((tmp_path / "ray.json").read_text())
    with working_precision():
        document["problem"] = problem_to_json(read_problem(problem_of(BOUNDED, name)))
    (tmp_path / "lie.json").write_text(json.dumps(document))
    assert not verify(tmp_path / "lie.json")


@pytest.mark.parametrize("name", BOUNDED)
def test_no_ray_of_a_bounded_problem_is_accepted(name: str) -> None:
    """Units, whole numbers, directions of the unbounded neighbours, and points: in both directions, and times 1e40."""
    with working_precision():
        problem = as_read_by_the_kernel(problem_of(BOUNDED, name))
    rng, n = np.random.default_rng(len(name)), problem.n
    directions = [
        *np.eye(n),
        *rng.integers(-3, 4, (40, n)),
        np.ones(n),
        2.0**-30 * rng.integers(-3, 4, n) + np.eye(n)[0],
    ]
    for direction in directions:
        for factor in (1, -1, 10**40):
            assert not is_accepted(problem, [Fraction(float(value)) * factor for value in direction])


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_losses_have_rays_exactly_outside_their_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes, weights = rng.integers(-8, 9, size=3) / 8, rng.integers(1, 9, size=3) / 8
    v, x = float(rng.integers(0, 3)), cp.Variable()
    x.value = 1.0
    ends = -float(weights @ np.maximum(-slopes, 0)) - 2 * v, float(weights @ np.maximum(slopes, 0)) + 2 * v
    for c in (ends[0] - 2.0**-20, ends[0], sum(ends) / 2, ends[1], ends[1] + 2.0**-20):
        cvxpy_problem = cp.Problem(cp.Minimize(weights @ cp.logistic(slopes * x) + v * cp.huber(x) - c * x))
        with working_precision():
            problem = as_read_by_the_kernel(cvxpy_problem)
        accepted = [is_accepted(problem, [Fraction(sign)]) for sign in (1, -1)]
        assert accepted == [c > ends[1], c < ends[0]]


ATOMS: dict[str, tuple[atoms.Atom, int]] = {
    "abs": (atoms.SumOfAbsoluteValues(), 3),
    "norm_inf": (atoms.LargestAbsoluteValue(), 3),
    "max": (atoms.LargestEntry(), 3),
    "min": (atoms.SmallestEntry(), 3),
    "sum_largest": (atoms.SumOfLargest(Fraction(3, 2)), 3),
    "norm": (atoms.EuclideanNorm(), 3),
    "pnorm": (atoms.PNorm(Fraction(3, 2)), 3),
    "sum_squares": (atoms.SumOfSquares(Fraction(2)), 2),
    "quad_over_lin": (atoms.SquaresOverLast(), 3),
    "quad_form": (atoms.QuadraticForm([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]], 1), 2),
    "huber": (atoms.HuberLoss(Fraction(3, 2)), 1),
    "square": (atoms.Power(Fraction(2)), 1),
    "power 6": (atoms.Power(Fraction(6)), 1),
    "root": (atoms.Power(Fraction(1, 2)), 1),
    "reciprocal": (atoms.Power(Fraction(-1)), 1),
    "exp": (atoms.Exponential(), 1),
    "xexp": (atoms.ProductWithExponential(), 1),
    "log": (atoms.Logarithm(), 1),
    "log1p": (atoms.ShiftedLogarithm(), 1),
    "entr": (atoms.Entropy(), 1),
    "logistic": (atoms.LogisticLoss(), 1),
    "rel_entr": (atoms.RelativeEntropy(), 2),
    "kl_div": (atoms.Divergence(), 2),
    "log_sum_exp": (atoms.LogSumExp(), 3),
    "geo_mean": (atoms.GeometricMean((Fraction(1, 4), Fraction(3, 4))), 2),
    "lambda_max": (matrix_atoms.LargestEigenvalue(2), 4),
    "log_det": (matrix_atoms.LogDeterminant(2), 4),
    "lambda_sum_largest": (matrix_atoms.SumOfLargestEigenvalues(2, Fraction(3, 2)), 4),
    "von_neumann_entr": (matrix_atoms.MatrixEntropy(2), 4),
    "sigma_max": (matrix_atoms.SpectralNorm(2, 2), 4),
    "normNuc": (matrix_atoms.NuclearNorm(2, 2), 4),
    "matrix_frac": (matrix_atoms.MatrixFraction(2, 1), 6),
    "harmonic_mean": (atoms.PowerMean(Fraction(-1)), 3),
    "power mean": (atoms.PowerMean(Fraction(1, 2)), 3),
    "perspective": (atoms.Perspective(atoms.Exponential()), 2),
    "perspective of log": (atoms.Perspective(atoms.Logarithm()), 2),
    "perspective of xexp": (atoms.Perspective(atoms.ProductWithExponential()), 2),
    "perspective of an indefinite form": (
        atoms.Perspective(atoms.QuadraticForm([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(-1)]], 1)),
        3,
    ),
}
"""Each atom of a file with a number of arguments."""

NOT_CONVEX = ("perspective of xexp", "perspective of an indefinite form")
WITHOUT_SLOPE = ("sum_squares", "square", "power 6", "xexp", "entr", "von_neumann_entr", *NOT_CONVEX)


def test_all_atoms_of_files_occur() -> None:
    values = (*vars(atoms).values(), *vars(matrix_atoms).values())
    classes = {value for value in values if isinstance(value, type) and issubclass(value, atoms.Atom)}
    abstract = {atoms.Atom, atoms.AtomOfSeveral, matrix_atoms.MatrixAtom, matrix_atoms.SingularValueAtom}
    assert {type(atom) for atom, _ in ATOMS.values()} == classes - abstract


@pytest.mark.thorough_cases("normNuc")
@pytest.mark.parametrize("name", ATOMS)
def test_asymptotic_slopes_of_files_bound_all_changes(name: str) -> None:
    """f(u + t a) is at most f(u) + t s, or at least that, and u + t a lies in the domain; at least one a has an s."""
    (atom, k), rng, count = ATOMS[name], np.random.default_rng(len(name)), 0
    identity = np.eye(2).ravel()
    with working_precision():
        for trial in range(40):
            u = [Fraction(int(value), 4) for value in rng.integers(-8, 9, k)]
            if k >= 4:
                u[-4:] = [
                    Fraction(int(value), 4) for value in (rng.integers(1, 3, 4) * identity * 4 + rng.integers(0, 2))
                ]
            if atom.value(u) is None:
                u = [abs(value) + Fraction(1, 4) for value in u]
            value = atom.value(u)
            if value is None or not is_finite(value):
                continue
            a = rng.integers(-4, 5, k)
            if k >= 4 and trial % 2:
                a[-4:] = rng.integers(0, 4, 4) * identity
            for change in (a, np.abs(a), -np.abs(a), a * (np.arange(k) == k - 1), np.abs(a) * (np.arange(k) == k - 1)):
                if not change.any():
                    continue
                changes = [Fraction(int(entry), 2) for entry in change]
                slope = atom.asymptotic_slope(changes)
                if slope is None or not is_finite(slope):
                    continue
                count += 1
                for t in (Fraction(1, 1024), Fraction(1), Fraction(10**4)):
                    end = atom.value([x + t * y for x, y in zip(u, changes, strict=True)])
                    bound = pair_sum(value, pair_product(t, slope))
                    assert end is not None
                    difference = pair_product(Fraction(atom.sign), pair_sum(end, -bound))
                    assert not is_positive(difference)
                is_growing = [entry > 0 for entry in changes]
                if slope == 0 and atom.grows(is_growing, changes):
                    end = atom.value([x + Fraction(10**30) * y for x, y in zip(u, changes, strict=True)])
                    assert end is not None and is_positive(pair_sum(end, pair_sum(Fraction(-50), -value)))
    assert (count > 0) == (name not in WITHOUT_SLOPE)


@pytest.mark.parametrize("name", [name for name, (atom, _) in ATOMS.items() if atom.is_nondecreasing])
def test_atoms_that_do_not_decrease_are_larger_at_larger_arguments(name: str) -> None:
    (atom, k), rng = ATOMS[name], np.random.default_rng(len(name))
    with working_precision():
        for _ in range(40):
            u = [Fraction(int(value), 4) for value in rng.integers(-8, 9, k)]
            value = atom.value(u)
            if value is None or not is_finite(value):
                continue
            larger = [entry + Fraction(int(step), 8) for entry, step in zip(u, rng.integers(0, 9, k), strict=True)]
            end = atom.value(larger)
            assert end is not None and not is_positive(pair_sum(value, -end))


def test_bounds_of_arguments_prove_nothing_about_an_atom_that_is_not_monotone() -> None:
    """Along x = -1 the exponential has the slope 0, but it falls, and its distance from 1 grows above 1/2."""
    leave_point()
    x = cp.Variable()
    x.value = 0.0
    with working_precision():
        problem = as_read_by_the_kernel(cp.Problem(cp.Minimize(x), [cp.abs(1 - cp.exp(x)) <= 0.5]))
    assert not is_accepted(problem, [Fraction(-1)])
