"""Files of CVXPY problems: what is saved is accepted, states the problem, and is proved without CVXPY."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy
import flint
import numpy as np
import problem_forgeries
import pytest
from problem_faults import FAULTS, is_shown
from support.kernel_imports import check_imports
from support.problem_files import CASES, RATIONAL, certified, content, problem_of_statement, text

import boostopt
from boostopt import ProblemError, certify_problem
from boostopt.problem_certificates.problem_certificate import ProblemCertificate
from boostopt.verification import subject, verify
from boostopt.verification.problem_certificate_verdict import verify_problem_certificate
from boostopt.verification.problem_kernel import atoms, matrix_atoms, problem_schema, rationals_and_balls
from boostopt.verification.problem_kernel.problem_checker import check_ray
from boostopt.verification.problem_statement import STATEMENT_BITS, rational_of

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

KERNEL = Path(str(atoms.__file__)).parent

GAP = 2e-7
"""The width of the interval in a file, relative to its size, from Clarabel's default answers."""


def saved(case: str, folder: Path) -> Path:
    """Write the file of a problem."""
    path = folder / "certificate.json"
    path.write_text(text(case))
    return path


@pytest.mark.every(2)
@pytest.mark.fast_cases("p-norm", "power mean", "trace of inverse")
@pytest.mark.thorough_cases("sum of largest eigenvalues")
@pytest.mark.parametrize("case", CASES)
def test_saved_problem_certificates_are_accepted(case: str, tmp_path: Path) -> None:
    certificate, _ = certified(case)
    path = saved(case, tmp_path)
    verification = verify(path)
    assert verification and verification.verdict == "proved", verification.reason
    assert subject(path) == "problem"
    if certificate.status == "bounded":
        room = 1e-9 * max(1.0, abs(certificate.lower))
        assert verification.claimed[0] <= verification.lower <= verification.upper <= verification.claimed[1]
        assert verification.upper - verification.lower <= GAP * max(1.0, abs(certificate.upper))
        # Both intervals contain the optimum.
        assert verification.lower <= certificate.upper and certificate.lower <= verification.upper
        assert verification.lower >= certificate.lower - room and verification.upper <= certificate.upper + room
    else:
        assert verification.outcome == certificate.status
        assert (verification.lower, verification.upper) == (certificate.lower, certificate.upper)


@pytest.mark.thorough_cases("sum of largest eigenvalues")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.every(6)
def test_the_statement_means_the_problem(case: str) -> None:
    _, problem = certified(case)
    again = problem_of_statement(content(case)["problem"])
    with np.errstate(all="ignore"):
        again.solve(solver="CLARABEL")
    assert again.status == problem.status
    if problem.status == "optimal":
        assert again.value == pytest.approx(problem.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("case", RATIONAL)
def test_linear_and_quadratic_problems_are_proved_in_fractions(case: str) -> None:
    lower, upper = verify_problem_certificate(content(case)).fractions
    assert lower is not None and upper is not None
    assert 0 <= upper - lower <= Fraction(1, 10**12)


def test_the_optimum_of_a_linear_problem_is_proved_to_be_a_fraction(tmp_path: Path) -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0] + x[1]), [3 * x[0] + x[1] >= 1, x[0] + 3 * x[1] >= 1])
    problem.solve(solver="CLARABEL")
    certify_problem(problem).save(tmp_path / "half.json")
    verification = verify(tmp_path / "half.json", problem)
    assert verification.fractions == (Fraction(1, 2), Fraction(1, 2))
    assert verification.claimed == (0.5, 0.5)


@pytest.mark.parametrize("atom", [lambda u: -cp.log(u), lambda u: cp.power(u, 1.5), lambda u: cp.kl_div(u, 1), cp.exp])
def test_answers_without_duals_are_saved(atom: Any, tmp_path: Path) -> None:
    """Steps find the multipliers in memory; a solve proposes those of the file."""
    x = cp.Variable(2, name="x")
    u = np.array([[1.0, 2.0], [0.5, -1.0]]) @ x + 2
    problem = cp.Problem(cp.Minimize(cp.sum(atom(u)) + x @ np.array([1.25, 0.5])), [x >= -0.5, x <= 1, cp.norm(x) <= 1])
    problem.solve(solver="CLARABEL")
    optimum = problem.value
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(None)
    certificate = certify_problem(problem)
    certificate.save(tmp_path / "problem.json")
    verification = verify(tmp_path / "problem.json")
    assert verification and optimum - 1e-6 <= verification.lower <= verification.upper <= optimum + 1e-6


@pytest.mark.parametrize(
    ("build", "optimum"),
    [
        (lambda x, X: (X[0, 1] + X[0, 0], [cp.lambda_max(X) <= 1, cp.trace(X) >= 2]), 1.0),
        (lambda x, X: (X[0, 1] + X[0, 0], [cp.sigma_max(X) <= 1, cp.trace(X) >= 2]), 1.0),
        (lambda x, X: (cp.quad_over_lin(1 + 0 * x[0], x[1]) + cp.square(x[0] - 1), []), 0.0),
        (lambda x, X: (cp.matrix_frac(np.ones(2), X), []), 0.0),
        (lambda x, X: (cp.tr_inv(X) + cp.square(x[0]), []), 0.0),
    ],
)
def test_largest_entries_of_diagonals_and_quotients_that_vanish_are_saved(
    build: Any, optimum: float, tmp_path: Path
) -> None:
    x, X = cp.Variable(2, name="x"), cp.Variable((2, 2), symmetric=True, name="X")
    objective, constraints = build(x, X)
    certificate = certify_problem(cp.Problem(cp.Minimize(objective), constraints), solver="auto")
    certificate.save(tmp_path / "problem.json")
    verification = verify(tmp_path / "problem.json")
    assert optimum - 1e-6 <= verification.lower <= optimum <= verification.upper <= optimum + 1e-3


def test_another_problem_than_the_one_of_the_file_is_rejected(tmp_path: Path) -> None:
    path = saved("linear", tmp_path)
    assert verify(path, certified("linear")[1])
    rejected = verify(path, certified("lasso")[1])
    assert not rejected and "another problem" in rejected.reason
    with pytest.raises(ProblemError, match=r"\bcvxpy\.Problem\b.*\bgot ndarray"):
        verify(path, np.eye(2))


def test_files_of_programs_need_data(tmp_path: Path) -> None:
    program = boostopt.get_formulation("lpboost").bind(np.array([[1, -1], [-1, 1], [1, 1]]), nu=2.5)
    program.solve().save(tmp_path / "program.json")
    with pytest.raises(ProblemError, match=r"\bmargin matrix\b.*\bgot none\b"):
        verify(tmp_path / "program.json")


@pytest.mark.thorough_cases("bounds")
@pytest.mark.parametrize("case", ["atom", "root", "bounds", "indefinite", "moved", "no answers"])
def test_save_of_a_problem_without_a_file_form_is_refused_and_writes_nothing(case: str, tmp_path: Path) -> None:
    x, t = cp.Variable(2, name="x"), cp.Variable(nonneg=True)
    problems: dict[str, Any] = {
        "atom": (cp.Minimize(cp.perspective(cp.quad_form(x, np.eye(2)), t) + t), [x >= 1]),
        "root": (cp.Minimize(cp.sqrt(cp.Constant(2.0)) * x[0]), [x >= 1]),
        "bounds": (cp.Minimize(cp.logistic(x[0] - x[1]) - 0.3 * (x[0] - x[1])), [cp.abs(x) <= 9]),
        "indefinite": (
            cp.Minimize(cp.quad_form(x, cp.psd_wrap(np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]]))) + x[0]),
            [x >= 1],
        ),
        "moved": (cp.Minimize(cp.sum(x)), [x[0] + x[1] == 0.3, 3 * x[0] + 3 * x[1] == 0.9, x >= 0]),
        "no answers": (cp.Minimize(cp.sum(x)), [x >= 1]),
    }
    problem = cp.Problem(*problems[case])
    problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem, tolerance=1e-12)
    words = {
        "atom": r"\bperspectives of atoms\b.*\bQuadraticForm\b.*\bquad_over_lin\b",
        "root": r"\bcoefficients that are fractions\b",
        "indefinite": r"\bexactly semidefinite\b",
        "moved": r"\bright sides that were moved\b",
        "no answers": r"\bwithout answers\b",
    }
    path = tmp_path / "certificate.json"
    if case == "no answers":
        certificate = ProblemCertificate(1.0, 2.0, "bounded", None, None, {})
    if case not in words:
        certificate.save(path)
        assert verify(path)
        return
    with pytest.raises(ProblemError, match=words[case]):
        certificate.save(path)
    assert not path.exists()


@pytest.mark.parametrize(("lower", "upper", "is_valid"), [(0, None, True), (None, None, True), (0, 5, False)])
def test_a_ray_leaves_no_bound(lower: int | None, upper: int | None, is_valid: bool) -> None:
    no_rows = problem_schema.Rows([], [])
    problem = problem_schema.Problem(
        sign=1,
        lower=[None if lower is None else Fraction(lower)],
        upper=[None if upper is None else Fraction(upper)],
        nodes=[],
        objective=problem_schema.Rows([{0: Fraction(-1)}], [Fraction(0)]),
        inequalities=no_rows,
        equalities=no_rows,
        matrices=[],
    )
    ray = problem_schema.ScaledVector([1], 1)
    if is_valid:
        check_ray(problem, ray)
    else:
        with pytest.raises(Exception, match="bounds of entry 0"):
            check_ray(problem, ray)


def test_quotients_are_stated_as_fractions() -> None:
    with flint.ctx.workprec(STATEMENT_BITS):
        for value in (Fraction(1, 3), Fraction(-7, 30), Fraction(0.1) / 45, Fraction(0.1) * Fraction(0.7) / 9):
            ball = flint.arb(flint.fmpq(value.numerator, value.denominator))
            assert rational_of(ball) == value
            with flint.ctx.workprec(128), pytest.raises(ProblemError, match=r"\bfractions\b"):
                rational_of(+ball)
        with pytest.raises(ProblemError, match=r"\bfractions\b"):
            rational_of(flint.arb(2).sqrt())


def amplified(coefficient: Any) -> Any:
    """Return the problem of 1e39 (x - 1) for coefficient * x >= 1, with an answer for the coefficient 1."""
    x = cp.Variable()
    constraint = cp.multiply(coefficient, x) >= 1
    problem = cp.Problem(cp.Minimize(1e39 * x - 1e39), [constraint, x <= 2])
    x.save_value(np.array(1.0))
    constraint.dual_variables[0].save_value(np.array(1e39))
    return problem


def test_coefficients_that_128_bits_round_are_stated_exactly(tmp_path: Path) -> None:
    """The optimum is 1e39 (1 / (1 + 1e-39) - 1); 128 bits do not tell the coefficient from 1."""
    path, problem = tmp_path / "tiny.json", amplified(cp.Constant(1.0) + 1e-39)
    certify_problem(problem).save(path)
    verification, optimum = verify(path, problem), Fraction(1e39) / (1 + Fraction(1e-39)) - Fraction(1e39)
    assert verification and verification.fractions == (optimum, optimum)


@pytest.mark.parametrize("constant", [lambda: cp.exp(cp.Constant(1e-39)), lambda: 1 + cp.logistic(cp.Constant(-1e5))])
def test_atoms_of_constants_that_are_no_floats_are_refused(constant: Any, tmp_path: Path) -> None:
    """They are next to 1, whatever the number of bits."""
    path = tmp_path / "tiny.json"
    with pytest.raises(ProblemError, match=r"\batom of constants\b"):
        certify_problem(amplified(constant())).save(path)
    assert not path.exists()


def test_weights_of_a_geometric_mean_are_stated_exactly(tmp_path: Path) -> None:
    """The weights 1 and 1e-18 are those of fractions with larger denominators than 1 and 0."""
    x = cp.Variable(2, nonneg=True)
    mean = cp.geo_mean(x, p=[1, 1e-18], approx=False)
    problem = cp.Problem(cp.Maximize(mean), [x <= np.array([1.0, 2.0])])
    x.value = np.array([1.0, 2.0])
    certify_problem(problem).save(tmp_path / "mean.json")
    weight_texts = json.loads((tmp_path / "mean.json").read_text())["problem"]["atoms"][0]["weights"]
    weights = [Fraction(int(p, 16), int(q, 16)) for p, q in (weight.split("/") for weight in weight_texts)]
    assert weights == [1 / (1 + Fraction(1e-18)), Fraction(1e-18) / (1 + Fraction(1e-18))]


def test_data_that_change_after_the_certificate_are_not_stated(tmp_path: Path) -> None:
    x, limit = cp.Variable(), cp.Parameter(value=1.0)
    problem = cp.Problem(cp.Minimize(x), [x >= limit])
    problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem)
    limit.value = 2.0
    with pytest.raises(ProblemError, match=r"\bdata that have changed\b"):
        certificate.save(tmp_path / "changed.json")


ATOMS: dict[str, tuple[atoms.Atom, int, float]] = {
    "sum of absolute values": (atoms.SumOfAbsoluteValues(), 3, 0.0),
    "largest absolute value": (atoms.LargestAbsoluteValue(), 3, 0.0),
    "largest": (atoms.LargestEntry(), 3, 0.0),
    "smallest": (atoms.SmallestEntry(), 3, 0.0),
    "sum of largest": (atoms.SumOfLargest(Fraction(3, 2)), 3, 0.0),
    "euclidean norm": (atoms.EuclideanNorm(), 3, 0.0),
    "p-norm": (atoms.PNorm(Fraction(3)), 3, 0.0),
    "sum of squares": (atoms.SumOfSquares(Fraction(2)), 3, 0.0),
    "squares over last": (atoms.SquaresOverLast(), 3, 2.0),
    "quadratic form": (atoms.QuadraticForm([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(1)]], 1), 2, 0.0),
    "huber": (atoms.HuberLoss(Fraction(1, 2)), 1, 0.0),
    "square": (atoms.Power(Fraction(2)), 1, 0.0),
    "sixth power": (atoms.Power(Fraction(6)), 1, 2.0),
    "power": (atoms.Power(Fraction(3, 2)), 1, 2.0),
    "root": (atoms.Power(Fraction(1, 2)), 1, 2.0),
    "inverse": (atoms.Power(Fraction(-1)), 1, 2.0),
    "exponential": (atoms.Exponential(), 1, 0.0),
    "logarithm": (atoms.Logarithm(), 1, 2.0),
    "shifted logarithm": (atoms.ShiftedLogarithm(), 1, 2.0),
    "entropy": (atoms.Entropy(), 1, 2.0),
    "logistic": (atoms.LogisticLoss(), 1, 0.0),
    "relative entropy": (atoms.RelativeEntropy(), 2, 2.0),
    "divergence": (atoms.Divergence(), 2, 2.0),
    "log-sum-exp": (atoms.LogSumExp(), 3, 0.0),
    "geometric mean": (atoms.GeometricMean((Fraction(1, 4), Fraction(3, 4))), 2, 2.0),
    "power mean": (atoms.PowerMean(Fraction(-1)), 3, 2.0),
    "spectral norm": (matrix_atoms.SpectralNorm(2, 3), 6, 0.0),
    "nuclear norm": (matrix_atoms.NuclearNorm(2, 3), 6, 0.0),
    "matrix fraction": (matrix_atoms.MatrixFraction(2, 1), 6, 0.0),
    "largest eigenvalue": (matrix_atoms.LargestEigenvalue(2), 4, 0.0),
    "log-determinant": (matrix_atoms.LogDeterminant(2), 4, 0.0),
    "product with exponential": (atoms.ProductWithExponential(), 1, 0.0),
    "sum of largest eigenvalues": (matrix_atoms.SumOfLargestEigenvalues(2, Fraction(3, 2)), 4, 0.0),
    "matrix entropy": (matrix_atoms.MatrixEntropy(2), 4, 0.0),
    "perspective": (atoms.Perspective(atoms.Exponential()), 2, 2.0),
    "concave perspective": (atoms.Perspective(atoms.Logarithm()), 2, 2.0),
}
"""An atom of each kind, the number of its arguments, and how far these lie above 0."""

CVXPY_ATOMS: dict[str, Any] = {
    "sum of absolute values": cp.norm1,
    "largest absolute value": cp.norm_inf,
    "largest": cp.max,
    "smallest": cp.min,
    "sum of largest": lambda u: cp.sum_largest(u, 1.5),
    "euclidean norm": cp.norm,
    "p-norm": lambda u: cp.pnorm(u, 3),
    "sum of squares": lambda u: cp.sum_squares(u) / 2,
    "squares over last": lambda u: cp.quad_over_lin(u[:-1], u[-1]),
    "quadratic form": lambda u: cp.quad_form(u, np.array([[2.0, 1.0], [1.0, 1.0]])),
    "huber": lambda u: cp.huber(u[0], 0.5),
    "square": lambda u: cp.square(u[0]),
    "sixth power": lambda u: cp.power(u[0], 6),
    "power": lambda u: cp.power(u[0], 1.5),
    "root": lambda u: cp.sqrt(u[0]),
    "inverse": lambda u: cp.inv_pos(u[0]),
    "exponential": lambda u: cp.exp(u[0]),
    "logarithm": lambda u: cp.log(u[0]),
    "shifted logarithm": lambda u: cp.log1p(u[0]),
    "entropy": lambda u: cp.entr(u[0]),
    "logistic": lambda u: cp.logistic(u[0]),
    "relative entropy": lambda u: cp.rel_entr(u[0], u[1]),
    "divergence": lambda u: cp.kl_div(u[0], u[1]),
    "log-sum-exp": cp.log_sum_exp,
    "geometric mean": lambda u: cp.geo_mean(u, [1, 3]),
    "power mean": lambda u: cp.pnorm(u, -1),
    "spectral norm": lambda u: cp.sigma_max(cp.reshape(u, (2, 3), order="C")),
    "nuclear norm": lambda u: cp.normNuc(cp.reshape(u, (2, 3), order="C")),
    "matrix fraction": lambda u: cp.matrix_frac(u[:2], cp.reshape(u[2:], (2, 2), order="C")),
    "largest eigenvalue": lambda u: cp.lambda_max(cp.reshape(u, (2, 2), order="C")),
    "log-determinant": lambda u: cp.log_det(cp.reshape(u, (2, 2), order="C")),
    "product with exponential": lambda u: u[0] * cp.exp(u[0]),
    "sum of largest eigenvalues": lambda u: cp.lambda_sum_largest(cp.reshape(u, (2, 2), order="C"), 1.5),
    "matrix entropy": lambda u: cp.von_neumann_entr(cp.hermitian_wrap(cp.reshape(u, (2, 2), order="C"))),
    "perspective": lambda u: u[1] * cp.exp(u[0] / u[1]),
    "concave perspective": lambda u: u[1] * cp.log(u[0] / u[1]),
}
"""CVXPY's atom of each of these."""


def arguments_of(name: str, rng: np.random.Generator) -> list[Fraction]:
    """Return arguments in the domain of an atom, in sixteenths."""
    _, k, shift = ATOMS[name]
    u = np.round(rng.normal(size=k) * 16) / 16
    if name in ("largest eigenvalue", "sum of largest eigenvalues", "log-determinant", "matrix entropy"):
        u[2] = u[1]
        u[[0, 3]] = np.abs(u[[0, 3]]) + abs(u[1]) + 0.5
    if name == "matrix fraction":
        u[4] = u[3]
        u[[2, 5]] = np.abs(u[[2, 5]]) + abs(u[3]) + 0.5
    return [Fraction(value) for value in (np.abs(u) + 1 / 16 if shift else u).tolist()]


def slopes_of(name: str, mu: Fraction, rng: np.random.Generator) -> list[Fraction]:
    """Return slopes, often in the domain of the conjugate."""
    atom, k, _ = ATOMS[name]
    s = rng.normal(size=k) * float(rng.choice([0.2, 1.0]))
    if name in ("largest", "log-sum-exp", "smallest", "sum of largest"):
        weights = [Fraction(int(value)) for value in rng.integers(1, 9, size=k)]
        count = Fraction(3, 2) if name == "sum of largest" else Fraction(1)
        return [atom.sign * count * mu * weight / sum(weights) for weight in weights]
    if name in ("largest eigenvalue", "log-determinant"):
        B = np.round(rng.normal(size=(2, 2)) * 8)
        S = B @ B.T
        size = Fraction(float(np.trace(S))) / mu if name == "largest eigenvalue" else Fraction(-1)
        return [Fraction(value) / size if size else Fraction(0) for value in S.ravel().tolist()]
    if name == "sum of largest eigenvalues":
        b = [Fraction(int(value)) for value in rng.integers(1, 9, size=2)]
        size = 2 * sum(value * value for value in b) / mu
        return [(mu / 2 if i == j else 0) + b[i] * b[j] / size for i in range(2) for j in range(2)]
    if name == "matrix entropy":
        s[2] = s[1]
        return [Fraction(value) * mu for value in s.tolist()]
    if name in ("squares over last", "relative entropy", "divergence", "perspective"):
        s[-1] = -abs(s[-1]) * 3
        s[0] = abs(s[0]) if name == "perspective" else s[0]
    if name == "matrix fraction":
        s[[2, 5]] = -np.abs(s[[2, 5]]) * 4 - 0.5
        s[3:5] = 0.1 * s[0]
    if atom.sign < 0 or name == "inverse":
        s = -np.abs(s)
    return [Fraction(value) * mu for value in s.tolist()]


@pytest.mark.parametrize("name", ATOMS)
@pytest.mark.parametrize("seed", range(3))
def test_values_contain_those_of_cvxpy_and_bounds_are_nowhere_above(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    atom, n_bounds = ATOMS[name][0], 0
    with rationals_and_balls.working_precision():
        points = [arguments_of(name, rng) for _ in range(12)]
        for u in points[:2]:
            value = atom.value(u)
            assert value is not None
            low, high = rationals_and_balls.floor_float(value), rationals_and_balls.ceil_float(value)
            expected = CVXPY_ATOMS[name](cp.Constant(np.array([float(entry) for entry in u]))).value
            assert low - 1e-9 <= float(expected) <= high + 1e-9 and high - low <= 1e-9 * max(1.0, abs(low))
        for _ in range(12):
            mu = Fraction(int(rng.integers(1, 40)), 8)
            s = slopes_of(name, mu, rng)
            bound = atom.infimum(mu, s)
            if bound is None:
                continue
            n_bounds += 1
            for u in points:
                value = atom.value(u)
                linear = sum(a * b for a, b in zip(atom.slopes(s), u, strict=True))
                term = rationals_and_balls.pair_sum(rationals_and_balls.pair_product(atom.sign * mu, value), -linear)
                assert rationals_and_balls.floor_float(bound) <= rationals_and_balls.ceil_float(term) + 1e-15, (
                    mu,
                    s,
                    u,
                )
    assert n_bounds >= 1


@pytest.mark.parametrize("name", ATOMS)
def test_bounds_are_attained(name: str) -> None:
    # At a point u, the slope of mu f there has the bound mu f(u) - <s, u>, by the gradient in differences.
    atom, rng = ATOMS[name][0], np.random.default_rng(5)
    if name in ("quadratic form", "spectral norm", "nuclear norm", "matrix fraction") or "eigenvalue" in name:
        return  # their numbers are no gradients, or their values are known to less than the differences need
    u = arguments_of(name, rng)
    h, mu = Fraction(1, 2**40), Fraction(3, 2)

    def value(point: list[Fraction]) -> Fraction:
        result = atom.value(point)
        assert result is not None
        return rationals_and_balls.midpoint(result)

    with rationals_and_balls.working_precision():
        s = list[Fraction]()
        for i in range(len(u)):
            up, down = ([*u[:i], u[i] + sign * h, *u[i + 1 :]] for sign in (1, -1))
            s.append(atom.sign * mu * (value(up) - value(down)) / (2 * h))
        inner = [entry * (1 - Fraction(1, 10**9)) for entry in s]
        if name in ("largest", "log-sum-exp", "smallest", "sum of largest"):
            count = Fraction(3, 2) if name == "sum of largest" else Fraction(1)
            inner = [atom.sign * mu * count * entry / sum(s) for entry in s]
        if name in ("geometric mean", "power mean", "relative entropy", "divergence", "squares over last"):
            inner = [entry - abs(entry) / 10**8 for entry in s]
        if isinstance(atom, atoms.Perspective):  # the last slope is the bound of the others
            inner[-1] = rationals_and_balls.midpoint(atom.function.infimum(mu, inner[:-1])) - Fraction(1, 10**30)
        bound = atom.infimum(mu, inner)
        assert bound is not None, inner
        attained = atom.sign * mu * value(u) - sum(a * b for a, b in zip(inner, u, strict=True))
        assert abs(float(rationals_and_balls.midpoint(bound) - attained)) <= 1e-6


@pytest.mark.parametrize("name", ATOMS)
def test_bounds_for_the_multiplier_1_are_numbers(name: str) -> None:
    # Logarithms and powers of 1 are fractions, and sums of these with balls must not fail.
    rng, atom = np.random.default_rng(3), ATOMS[name][0]
    with rationals_and_balls.working_precision():
        bounds = [atom.infimum(Fraction(1), slopes_of(name, Fraction(1), rng)) for _ in range(6)]
        bounds.append(atom.infimum(Fraction(1), [Fraction(atom.sign)] * ATOMS[name][1]))
    assert all(bound is None or isinstance(bound, Fraction | flint.arb) for bound in bounds)


def test_values_that_are_0_are_the_fraction_0() -> None:
    third = Fraction(1, 3)
    cases: list[tuple[atoms.Atom, list[Fraction]]] = [
        (atoms.Divergence(), [third, third]),
        (atoms.RelativeEntropy(), [third, third]),
        (matrix_atoms.LargestEigenvalue(2), [Fraction(0)] * 4),
        (matrix_atoms.SpectralNorm(2, 3), [Fraction(0)] * 6),
    ]
    with rationals_and_balls.working_precision():
        for atom, u in cases:
            assert rationals_and_balls.is_zero(atom.value(u)), atom
        assert atoms.RelativeEntropy().value([Fraction(0), Fraction(0)]) is None
        assert not rationals_and_balls.is_zero(matrix_atoms.LargestEigenvalue(2).value([Fraction(0)] * 3 + [third]))


def implying(build: Callable[[Any], list[Any]]) -> Any:
    """Return the least sum of three entries that constraints set to (1, 2, 3)."""
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.sum(x)), build(x - np.array([1.0, 2.0, 3.0])))


WITHOUT_SLACK: dict[str, Callable[[], Any]] = {
    "norm": lambda: implying(lambda u: [cp.norm(u) <= 0]),
    "spectral norm": lambda: implying(lambda u: [cp.sigma_max(cp.diag(u)) <= 0]),
    "squares of rows": lambda: implying(
        lambda u: [cp.sum_squares(np.array([[1.0, 1, 0], [0, 1, 1]]) @ u) <= 0, u >= -1]
    ),
    "log_det": lambda: cp.Problem(cp.Minimize(cp.trace(X := cp.Variable((3, 3), symmetric=True)) - cp.log_det(X))),
}
"""Problems with inequalities without slack, whose points satisfy the equations that these imply; and one without a box
whose multiplier is 1."""


@pytest.mark.parametrize("name", WITHOUT_SLACK)
def test_problems_without_slack_travel(name: str, tmp_path: Path) -> None:
    problem = WITHOUT_SLACK[name]()
    problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem)
    certificate.save(tmp_path / "certificate.json")
    verification = verify(tmp_path / "certificate.json")
    assert verification and verification.lower <= certificate.upper and certificate.lower <= verification.upper
    assert verification.upper - verification.lower <= 1e-5


def test_fractions_that_grow_become_balls() -> None:
    with rationals_and_balls.working_precision():
        x = Fraction(3**30_000, 2**47_000)
        product = rationals_and_balls.pair_product(x, x)
        assert not rationals_and_balls.is_exact(product)
        assert rationals_and_balls.is_at_most(Fraction(x) ** 2 * Fraction(999, 1000), product)


def test_a_negative_power_of_what_may_be_0_is_no_number() -> None:
    with rationals_and_balls.working_precision():
        near_zero = flint.arb(0, 1e-30)
        assert not rationals_and_balls.is_finite(rationals_and_balls.real_power(near_zero, Fraction(-1, 2)))
        root = rationals_and_balls.real_power(near_zero, Fraction(1, 2))
        assert rationals_and_balls.is_at_most(root, Fraction(1, 10**14)) and root.contains(0)


def test_a_singular_matrix_is_semidefinite_in_fractions_only() -> None:
    singular = [[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]]
    with rationals_and_balls.working_precision():
        assert rationals_and_balls.is_semidefinite(singular)
        singular[1][1] -= Fraction(1, 10**80)
        assert not rationals_and_balls.is_semidefinite(singular)
        balls = [[rationals_and_balls.to_ball(entry / 3) for entry in row] for row in singular]
        assert not rationals_and_balls.is_semidefinite(balls)


HOSTILE: dict[str, Any] = {
    "nan": lambda file: file["problem"]["objective"]["values"].__setitem__(0, float("nan")),
    "infinity": lambda file: file["claim"].__setitem__("lower", float("-inf")),
    "a deep list": lambda file: file.__setitem__("made", json.loads("[" * 99 + "]" * 99)),
    "a long number": lambda file: file["proof"]["point"].__setitem__("denominator", "f" * 50_000),
    "a denominator of 0": lambda file: file["proof"]["point"].__setitem__("denominator", "0"),
    "a fraction over 0": lambda file: file["problem"]["objective"]["values"].__setitem__(0, "1/0"),
    "a negative objective": lambda file: file["proof"]["multipliers"].__setitem__("objective", "-1"),
    "a huge exponent": lambda file: file["problem"]["atoms"].append(
        {
            "atom": "power",
            "exponent": 1e9,
            "members": [[0]],
            "arguments": {"offsets": [1.0], "rows": [], "columns": [], "values": []},
        }
    ),
    "a column of the future": lambda file: file["problem"]["objective"]["columns"].__setitem__(0, 10**6),
    "a truth value as a number": lambda file: file["problem"]["objective"]["values"].__setitem__(0, True),
    "an unknown atom": lambda file: file["problem"]["atoms"].append({"atom": "gamma", "members": [], "arguments": {}}),
    "two places": lambda file: file["problem"]["variables"].append(file["problem"]["variables"][0]),
    "many odd denominators": lambda file: file["problem"]["inequalities"].__setitem__(
        "offsets", [f"1/{'f' * 400}{i:x}1" for i in range(len(file["problem"]["inequalities"]["offsets"]))]
    ),
}
"""Changes that no honest writer makes."""


@pytest.mark.parametrize("change", HOSTILE)
def test_hostile_files_are_rejected_in_words(change: str, tmp_path: Path) -> None:
    document = content("linear")
    HOSTILE[change](document)
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))
    verification = verify(path)
    assert not verification and verification.reason and verification.verdict == "none"


def test_names_that_occur_twice_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "twice.json"
    path.write_text(text("linear").replace('"sense"', '"sense": "maximize", "sense"', 1))
    assert "twice" in verify(path).reason


def test_squares_of_squares_take_no_time() -> None:
    # Exactly, the value at the point would have 2^60 digits.
    document = content("linear")
    problem = document["problem"]
    n = len(problem["lower"])
    for k in range(60):
        rows = {"offsets": [0.5], "rows": [0], "columns": [0 if k == 0 else n + k - 1], "values": [1.0]}
        problem["atoms"].append({"atom": "power", "exponent": 2.0, "members": [[0]], "arguments": rows})
        document["proof"]["multipliers"]["slopes"].append(["0"])
    assert verify_problem_certificate(document).verdict == "proved"


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(6))
def test_no_forgery_is_accepted_unless_its_claim_is_true(seed: int) -> None:
    counts = problem_forgeries.forge(24, 100 + seed, ("linear", "quadratic", "norm"))
    assert sum(sum(kind.values()) for kind in counts.values()) == 24


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_none_of_thousands_of_forgeries_is_accepted_unless_its_claim_is_true(part: int) -> None:
    counts = problem_forgeries.forge(1500, 200 + part)
    assert sum(kind["rejected"] for kind in counts.values()) > 750


@pytest.mark.thorough
@pytest.mark.untyped
@pytest.mark.parametrize("name", FAULTS)
def test_forgeries_show_each_fault_of_the_checker(name: str) -> None:
    assert is_shown(name, 420)


@pytest.mark.untyped
def test_a_forgery_shows_a_fault_of_the_checker() -> None:
    assert is_shown("the claimed upper bound", 12)


def test_the_checker_imports_no_cvxpy_and_nothing_that_makes_certificates() -> None:
    names = {
        "atoms",
        "matrix_atoms",
        "implied_equation_checks",
        "problem_checker",
        "problem_composition",
        "problem_schema",
        "rationals_and_balls",
    }
    check_imports(KERNEL, names, {"boostopt.verification.trusted_kernel.json_parsing", "numpy", "flint"})


@pytest.mark.thorough
def test_the_checker_loads_no_cvxpy() -> None:
    code = "import sys; from boostopt.verification.problem_kernel import problem_checker; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in run.stdout.split()}
    assert not {"cvxpy", "scipy", "clarabel", "highspy"} & {name.split(".")[0] for name in loaded}
    package_modules = {name for name in loaded if name.startswith("boostopt.")}
    assert not {name for name in package_modules if "problem_certificates" in name}


def test_every_atom_of_the_checker_has_a_test() -> None:
    assert set(problem_schema.ATOMS) <= set(ATOMS)


def transport_of(name: str = "") -> Any:
    """Return a solved linear problem whose variable has a name of CVXPY's, or another one."""
    x = cp.Variable((2, 3), nonneg=True, **({"name": name} if name else {}))
    costs = np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 0.5]])
    rows = [cp.sum(x, axis=1) <= np.array([2.0, 3.0]), cp.sum(x, axis=0) >= np.array([1.0, 1.5, 0.5])]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(costs, x))), rows)
    problem.solve(solver="CLARABEL")
    return problem


def test_names_that_cvxpy_counts_are_no_part_of_a_problem(tmp_path: Path) -> None:
    certify_problem(transport_of()).save(tmp_path / "certificate.json")
    assert verify(tmp_path / "certificate.json", transport_of())
    assert not verify(tmp_path / "certificate.json", transport_of("flow"))
    document = json.loads((tmp_path / "certificate.json").read_text())
    document["problem"]["variables"][0]["name"] = "var12345"  # as older files have it
    (tmp_path / "older.json").write_text(json.dumps(document))
    assert verify(tmp_path / "older.json", transport_of())


def test_certificates_share_the_file_of_their_problem(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    data = tmp_path / "data" / "problem.json"
    data.parent.mkdir()
    for path in (first, second):
        certify_problem(transport_of()).save(path, data=data)
    place = json.loads(first.read_text())["problem"]
    assert place["file"] == "data/problem.json" and len(place["sha256"]) == 64
    for path in (first, second):
        assert verify(path) and verify(path, data) and verify(path, transport_of())
        assert not verify(path, certified("linear")[1])
    copy = data.rename(tmp_path / "moved.json")
    assert verify(first, copy) and verify(first, transport_of())
    assert subject(first) == "problem"


@pytest.mark.parametrize("fault", ["absent", "changed", "swapped", "no problem", "another folder"])
def test_files_of_problems_that_do_not_belong_are_rejected_in_words(fault: str, tmp_path: Path) -> None:
    path, data = tmp_path / "certificate.json", tmp_path / "problem.json"
    certify_problem(transport_of()).save(path, data=data)
    words = {"absent": "another file.*pass its path", "another folder": "in the folder.*Pass its path"}
    if fault == "absent":
        data.unlink()
    elif fault == "changed":
        data.write_bytes(data.read_bytes().replace(b"4.0", b"4.5"))
    elif fault == "swapped":
        certify_problem(certified("linear")[1]).save(tmp_path / "linear.json", data=tmp_path / "other.json")
        (tmp_path / "other.json").replace(data)
    elif fault == "no problem":
        data.write_text("{}")
    else:
        document = json.loads(path.read_text())
        document["problem"]["file"] = "../problem.json"
        path.write_text(json.dumps(document))
    rejected = verify(path)
    assert not rejected and re.search(
        words.get(fault, r"must have the digest .* has .*: pass the path"), rejected.reason
    )


def test_a_file_of_another_problem_is_not_overwritten(tmp_path: Path) -> None:
    data = tmp_path / "problem.json"
    certify_problem(transport_of()).save(tmp_path / "first.json", data=data)
    text_before = data.read_bytes()
    with pytest.raises(ProblemError, match=r"\bnew file\b.*\bother content\b.*\banother name\b"):
        certified("linear")[0].save(tmp_path / "second.json", data=data)
    with pytest.raises(ProblemError, match=r"\bin the folder\b.*\bgot\b.*\bbeside\b"):
        certified("linear")[0].save(tmp_path / "second.json", data=tmp_path.parent / "problem.json")
    assert data.read_bytes() == text_before and not (tmp_path / "second.json").exists()


def test_a_certificate_that_holds_its_problem_takes_no_other_file(tmp_path: Path) -> None:
    path = saved("linear", tmp_path)
    assert "leave the data out" in verify(path, path).reason
