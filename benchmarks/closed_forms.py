"""Random convex problems whose optimum is known exactly, or by a closed form that mpmath evaluates to 60 digits.

The numbers of a problem are floats, and the closed forms take them as exact. Linear and quadratic programs are solved
in fractions: the active sets are enumerated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cvxpy
import mpmath
import numpy as np

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

mp: Any = mpmath.mp.clone()
"""The context of the closed forms; mpmath has no types."""
mp.dps = 60

Real = Any
"""A number of mpmath, a fraction, or an infinite float."""

Vector = list[Fraction]


@dataclass(frozen=True)
class ClosedForm:
    """A problem with its optimum.

    Attributes
    ----------
    problem
        The problem in CVXPY, without values.
    optimum
        Its optimum. It is a fraction where it is exact, a number of 60 digits, or infinite.
    objective
        The expression that is minimized.
    """

    problem: Any
    optimum: Real
    objective: Any


Build = Callable[[np.random.Generator], tuple[Any, list[Any], Real]]
"""A function that returns an objective to minimize, constraints and the optimum."""


def real(value: float) -> Real:
    """Return a float as a number of 60 digits, without rounding."""
    return mp.mpf(float(value))


def from_fraction(value: Fraction) -> Real:
    """Return a fraction as a number of 60 digits."""
    return mp.mpf(value.numerator) / mp.mpf(value.denominator)


def floats(rng: np.random.Generator, *shape: int) -> Any:
    """Return small integers, dyadic numbers, or floats of full length."""
    values = rng.normal(size=shape)
    return (np.round(3 * values), np.round(64 * values) / 64, values)[rng.integers(3)]


def positive_floats(rng: np.random.Generator, n: int) -> Any:
    """Return numbers from 0.1 to 3."""
    return rng.uniform(0.1, 3.0, n) if rng.random() < 0.5 else rng.integers(1, 4, n).astype(float)


def fractions(values: Any) -> list[Any]:
    """Return an array as nested lists of fractions."""
    array = np.asarray(values, dtype=float)
    return [Fraction(v) for v in array.tolist()] if array.ndim == 1 else [fractions(row) for row in array]


def solve_linear_system(matrix: list[Vector], right: Vector) -> Vector | None:
    """Return the solution of a square system by elimination; None if the matrix is singular."""
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [first - factor * second for first, second in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]


def dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    """Return the inner product of two vectors."""
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def quadratic_optimum(P: Any, q: Any, G: Any, h: Any, n_equalities: int = 0) -> Fraction:
    """Return the minimum of x'Px / 2 + q'x subject to Gx <= h, whose first rows are equalities, in fractions.

    P is positive semidefinite, and the program has an optimum. If P is singular, the feasible set has a vertex.
    """
    form, linear, rows, sides = fractions(P), fractions(q), fractions(G), fractions(h)
    n, m = len(linear), len(sides)
    equalities = list(range(n_equalities))
    for size in range(n - n_equalities + 1):
        for inequalities in itertools.combinations(range(n_equalities, m), size):
            active = [*equalities, *inequalities]
            upper = [form[j] + [rows[i][j] for i in active] for j in range(n)]
            lower = [rows[i] + [Fraction(0)] * len(active) for i in active]
            z = solve_linear_system(upper + lower, [-entry for entry in linear] + [sides[i] for i in active])
            if z is None or any(multiplier < 0 for multiplier in z[n + n_equalities :]):
                continue
            x = z[:n]
            if all(dot(row, x) <= side for row, side in zip(rows, sides, strict=True)):
                return sum((dot(row, x) * entry for row, entry in zip(form, x, strict=True)), Fraction(0)) / 2 + dot(
                    linear, x
                )
    raise ValueError("expected a program with an optimum at a regular active set; there is none")


def with_box(G: Any, h: Any, n: int, radius: float) -> tuple[Any, Any]:
    """Return rows together with the rows of a box around the origin."""
    return np.vstack([G, np.eye(n), -np.eye(n)]), np.concatenate([h, np.full(2 * n, radius)])


def linear_program(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize a linear function over a polytope that contains the origin."""
    n = int(rng.integers(2, 4))
    c, A, b, radius = floats(rng, n), floats(rng, 2, n), positive_floats(rng, 2), float(rng.integers(1, 5))
    x = cp.Variable(n)
    constraints = [A @ x <= b, x <= radius, x >= -radius]
    return c @ x, constraints, quadratic_optimum(np.zeros((n, n)), c, *with_box(A, b, n, radius))


def quadratic_program(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize a strictly convex quadratic form over a polytope."""
    n = int(rng.integers(2, 4))
    R = np.round(3 * rng.normal(size=(n, n)))
    P, q, A, b = R.T @ R + np.eye(n), floats(rng, n), floats(rng, 2, n), positive_floats(rng, 2)
    x = cp.Variable(n)
    return cp.quad_form(x, P) / 2 + q @ x, [A @ x <= b], quadratic_optimum(P, q, A, b)


def least_squares(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize a sum of squares subject to bounds."""
    n = 2
    A, b = np.vstack([np.eye(n), np.round(4 * rng.normal(size=(2, n)))]), np.round(8 * rng.normal(size=4)) / 4
    x = cp.Variable(n)
    G, h = np.vstack([np.eye(n), -np.eye(n)]), np.concatenate([np.ones(n), np.zeros(n)])
    optimum = quadratic_optimum(2 * A.T @ A, -2 * A.T @ b, G, h) + Fraction(float(b @ b))
    return cp.sum_squares(A @ x - b), [x <= 1, x >= 0], optimum


def projection_to_simplex(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Project a point onto the simplex."""
    n, point = 3, np.round(64 * rng.normal(size=3)) / 64
    G, h = np.vstack([np.ones(n), -np.eye(n)]), np.concatenate([[1.0], np.zeros(n)])
    optimum = quadratic_optimum(2 * np.eye(n), -2 * point, G, h, n_equalities=1) + Fraction(float(point @ point))
    x = cp.Variable(n, nonneg=bool(rng.random() < 0.5))
    return cp.sum_squares(x - point), [cp.sum(x) == 1, x >= 0], optimum


def largest_affine(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize the largest of affine functions over a box."""
    n, m = 2, 4
    A, b = floats(rng, m, n), floats(rng, m)
    rows = np.hstack([A, -np.ones((m, 1))])
    box = np.hstack([np.vstack([np.eye(n), -np.eye(n)]), np.zeros((2 * n, 1))])
    optimum = quadratic_optimum(
        np.zeros((n + 1, n + 1)), np.eye(n + 1)[n], np.vstack([rows, box]), np.concatenate([-b, np.full(2 * n, 2.0)])
    )
    x = cp.Variable(n)
    return cp.max(A @ x + b), [x <= 2, x >= -2], optimum


def sum_of_distances(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize weighted distances of a number from points: one of the points is a minimizer."""
    points, shares = floats(rng, 5), positive_floats(rng, 5)
    values = [
        sum(Fraction(s) * abs(Fraction(p) - Fraction(t)) for p, s in zip(points, shares, strict=True)) for t in points
    ]
    x = cp.Variable()
    return shares @ cp.abs(x - points), [], min(values)


def separable(term: Callable[[Any], Any], optimum: Callable[[Real], Real], low: float, high: float) -> Build:
    """Return a problem of sum_i term(u_i) - c_i u_i with u an invertible map of the variables, and low < c_i < high.

    Parameters
    ----------
    term
        The sum of a convex function over the entries of a vector, in CVXPY.
    optimum
        The minimum of term(u) - c u over one number u.
    low, high
        The bounds of c.
    """

    def build(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
        n = int(rng.integers(1, 4))
        M = np.triu(np.round(2 * rng.normal(size=(n, n))), 1) + np.diag(rng.choice([-1.0, 1.0, 2.0], n))
        c = low + (high - low) * rng.uniform(0.05, 0.95, n)
        x = cp.Variable(n)
        u = (M @ x)[rng.permutation(n)]
        return term(u) - c @ u, [x <= 1e3, x >= -1e3], sum((optimum(real(entry)) for entry in c), mp.zero)

    return build


def entropy(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Maximize entropy and a linear function over the simplex."""
    n = int(rng.integers(2, 5))
    c = floats(rng, n)
    x = cp.Variable(n)
    return c @ x - cp.sum(cp.entr(x)), [cp.sum(x) == 1], -mp.log(sum(mp.exp(-real(entry)) for entry in c))


def log_sum_exp(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize log_sum_exp minus a mean: the conjugate is the entropy of the weights."""
    parts = rng.integers(1, 8, 3)
    share = np.append(parts, 32 - parts.sum()) / 32
    x = cp.Variable(4)
    optimum = -sum(real(entry) * mp.log(real(entry)) for entry in share)
    return cp.log_sum_exp(x) - share @ x, [cp.sum(x) == float(rng.integers(-3, 4))], optimum


def budget(is_mean: bool) -> Build:
    """Return a maximum of weighted logarithms, or of a weighted geometric mean, on a budget."""

    def build(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
        n = int(rng.integers(2, 4))
        weights, prices, total = rng.integers(1, 4, n), positive_floats(rng, n), float(rng.uniform(0.5, 5))
        x, sum_of_weights = cp.Variable(n), int(weights.sum())
        logs = [
            int(w) * mp.log(int(w) * real(total) / (sum_of_weights * real(price)))
            for w, price in zip(weights, prices, strict=True)
        ]
        objective = -cp.geo_mean(x, weights.tolist()) if is_mean else -weights @ cp.log(x)
        optimum = -mp.exp(sum(logs) / sum_of_weights) if is_mean else -sum(logs)
        return objective, [prices @ x <= total], optimum

    return build


def norm_of_a_vector(values: Any) -> Real:
    """Return the Euclidean norm."""
    return mp.sqrt(sum(real(entry) ** 2 for entry in np.ravel(values)))


def ball_of_a_norm(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize a linear function over a Euclidean ball, stated by a norm or a cone."""
    n = int(rng.integers(2, 4))
    c, centre, radius = floats(rng, n) + 0.25, floats(rng, n), float(positive_floats(rng, 1)[0])
    x = cp.Variable(n)
    constraint = cp.norm(x - centre) <= radius if rng.random() < 0.5 else cp.SOC(cp.Constant(radius), x - centre)
    middle = sum((Fraction(a) * Fraction(b) for a, b in zip(c, centre, strict=True)), Fraction(0))
    return c @ x, [constraint], from_fraction(middle) - real(radius) * norm_of_a_vector(c)


def shortest_vector(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize the norm on a hyperplane."""
    n = int(rng.integers(2, 5))
    a, side = floats(rng, n) + 0.25, float(rng.normal())
    x = cp.Variable(n)
    return cp.norm(x), [a @ x == side], abs(real(side)) / norm_of_a_vector(a)


def mean_of_squares(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize |x|^2 / t + a t on a hyperplane: 2 sqrt(a) |x|."""
    a, side, weight = floats(rng, 2) + 0.25, float(rng.uniform(0.5, 2)), float(rng.uniform(0.2, 3))
    x, t = cp.Variable(2), cp.Variable()
    distance = real(side) / norm_of_a_vector(a)
    return cp.quad_over_lin(x, t) + weight * t, [a @ x == side], 2 * mp.sqrt(real(weight)) * distance


def extreme_eigenvalue(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Maximize a linear function of density matrices: the largest eigenvalue."""
    n = int(rng.integers(2, 4))
    root = np.round(16 * rng.normal(size=(n, n))) / 16
    C = root + root.T
    largest = max(mp.eigsy(mp.matrix(C.tolist()), eigvals_only=True))
    if rng.random() < 0.5:
        X = cp.Variable((n, n), PSD=True)
        return -cp.trace(C @ X), [cp.trace(X) == 1], -largest
    t = cp.Variable()
    return t, [cp.lambda_max(C - t * np.eye(n)) <= 0], largest


def log_determinant(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Maximize log det X - <A, X>: the optimum is -n - log det A."""
    n, root = 2, np.round(2 * rng.normal(size=(2, 2)))
    A = root @ root.T + np.eye(n)
    determinant = Fraction(A[0, 0]) * Fraction(A[1, 1]) - Fraction(A[0, 1]) ** 2
    X = cp.Variable((n, n), symmetric=True)
    return cp.trace(A @ X) - cp.log_det(X), [X << 100 * np.eye(n)], n + mp.log(from_fraction(determinant))


def trace_of_inverse(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize tr X^-1 + <D, X> with a diagonal D: the optimum is 2 tr D^(1/2)."""
    d = positive_floats(rng, 2)
    X = cp.Variable((2, 2), symmetric=True)
    return cp.tr_inv(X) + d @ cp.diag(X), [X << 100 * np.eye(2)], 2 * sum(mp.sqrt(real(entry)) for entry in d)


def dual_norm(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Maximize a linear function of matrices of spectral norm 1: the nuclear norm."""
    C = np.round(16 * rng.normal(size=(2, 2))) / 16
    square = sum((Fraction(entry) ** 2 for entry in C.ravel()), Fraction(0))
    determinant = Fraction(C[0, 0]) * Fraction(C[1, 1]) - Fraction(C[0, 1]) * Fraction(C[1, 0])
    nuclear = mp.sqrt(from_fraction(square + 2 * abs(determinant)))
    spectral = (nuclear + mp.sqrt(from_fraction(square - 2 * abs(determinant)))) / 2
    X = cp.Variable((2, 2))
    pairing = cp.sum(cp.multiply(C, X))
    if rng.random() < 0.5:
        return -pairing, [cp.sigma_max(X) <= 1], -nuclear
    return -pairing, [cp.normNuc(X) <= 1], -spectral


def exponential_cone(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize z with y exp(x / y) <= z, for a given y and a smallest x."""
    a, y = float(rng.uniform(-2, 2)), float(rng.choice([0.5, 1.0, 2.0]))
    x = cp.Variable(3)
    return x[2], [cp.ExpCone(x[0], x[1], x[2]), x[0] >= a, x[1] == y], real(y) * mp.exp(real(a) / real(y))


def power_cone(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Maximize |z| <= x^a y^(1 - a) on a budget for x and y."""
    a, total = float(rng.choice([0.25, 0.5, 0.75])), float(rng.uniform(0.5, 4))
    x = cp.Variable(3)
    share = real(a)
    largest = real(total) * share**share * (1 - share) ** (1 - share)
    return -x[2], [cp.PowCone3D(x[0], x[1], x[2], a), x[0] + x[1] <= total], -largest


def contradictory(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Return a problem without a feasible point; the contradiction may be small."""
    x, excess = cp.Variable(2), float(rng.choice([1e-9, 1e-6, 1e-3, 1.0]))
    c = floats(rng, 2)
    constraints = [
        [x[0] + x[1] <= 1, x[0] + x[1] >= 1 + excess],
        [cp.norm(x) <= 1, x[0] + x[1] >= 1.5 + excess],
        [cp.exp(x[0]) <= 1, x[0] >= excess],
        [cp.sum_squares(x) <= -excess],
        [x[0] == 1, 2 * x[0] == 2 + excess],
    ][rng.integers(5)]
    return c @ x + cp.sum_squares(x), constraints, math.inf


def unbounded(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Return a problem whose objective falls along a ray."""
    x, slope = cp.Variable(2), float(rng.choice([1e-6, 1e-3, 1.0]))
    constraints = [
        [x[0] <= x[1], x[1] <= 5],
        [cp.exp(x[0]) <= 3 - x[1]],
        [cp.square(x[1]) <= 2 - x[0]],
        [cp.norm(x[1]) <= 1 - x[0], x[1] >= 0],
    ][rng.integers(4)]
    return slope * x[0] + cp.square(x[1]), constraints, -math.inf


def whole_vertex(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize a linear function over a box whose ends are whole: the vertex is a float, the optimum is not."""
    n = int(rng.integers(3, 7))
    c, ends = rng.normal(size=n), rng.integers(1, 100, n) * np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x = cp.Variable(n)
    vertex = np.where(c > 0, ends, ends + 1)
    return c @ x, [x >= ends, x <= ends + 1], dot(fractions(c), fractions(vertex))


def nearly_semidefinite(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize (x1 + s x2)^2 - e x2^2 over a wide box, s = 1 or -1, for an e as small as a rounding."""
    excess, radius = 2.0 ** -float(rng.integers(48, 54)), float(10 ** rng.integers(2, 6))
    side = float(rng.choice([-1.0, 1.0]))
    x = cp.Variable(2)
    form = cp.quad_form(x, np.array([[1.0, side], [side, 1 - excess]]))
    return form, [x <= radius, x >= -radius], -Fraction(excess) * Fraction(radius) ** 2


def density_matrix(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Maximize a linear function of matrices of trace 1 that a constraint says are semidefinite."""
    root = np.round(16 * rng.normal(size=(2, 2))) / 16
    C, X = root + root.T, cp.Variable((2, 2), symmetric=True)
    difference = (Fraction(C[0, 0]) - Fraction(C[1, 1])) ** 2 + 4 * Fraction(C[0, 1]) ** 2
    largest = (from_fraction(Fraction(C[0, 0]) + Fraction(C[1, 1])) + mp.sqrt(from_fraction(difference))) / 2
    return -cp.trace(C @ X), [cp.trace(X) == 1, X >> 0], -largest


def shortest_in_a_norm(rng: np.random.Generator) -> tuple[Any, list[Any], Real]:
    """Minimize the norm with the exponent 3/2, 3 or 4 on a hyperplane: its distance is that of the dual norm."""
    p, a, side = (
        Fraction(int(rng.choice([3, 6, 8])), 2),
        floats(rng, int(rng.integers(2, 4))) + 0.25,
        float(rng.normal()),
    )
    x, q = cp.Variable(len(a)), from_fraction(p / (p - 1))
    dual_size = sum(abs(real(entry)) ** q for entry in a) ** (1 / q)
    return cp.pnorm(x, float(p)), [a @ x == side], abs(real(side)) / dual_size


KINDS: dict[str, Build] = {
    "linear program": linear_program,
    "quadratic program": quadratic_program,
    "least squares": least_squares,
    "projection onto the simplex": projection_to_simplex,
    "largest of affine functions": largest_affine,
    "sum of distances": sum_of_distances,
    "exponentials": separable(lambda u: cp.sum(cp.exp(u)), lambda c: c - c * mp.log(c), 0.0, 4.0),
    "logistic": separable(
        lambda u: cp.sum(cp.logistic(u)), lambda c: -c * mp.log(c) - (1 - c) * mp.log(1 - c), 0.0, 1.0
    ),
    "logarithms": separable(lambda u: -cp.sum(cp.log(u)), lambda c: 1 + mp.log(-c), -4.0, 0.0),
    "log1p": separable(lambda u: -cp.sum(cp.log1p(u)), lambda c: 1 + mp.log(-c) + c, -4.0, 0.0),
    "reciprocals": separable(lambda u: cp.sum(cp.inv_pos(u)), lambda c: 2 * mp.sqrt(-c), -4.0, 0.0),
    "square roots": separable(lambda u: -cp.sum(cp.sqrt(u)), lambda c: 1 / (4 * c), -4.0, 0.0),
    "entropies": separable(lambda u: -cp.sum(cp.entr(u)), lambda c: -mp.exp(c - 1), -2.0, 2.0),
    "divergences": separable(lambda u: cp.sum(cp.kl_div(u, 2.0)), lambda c: 2 - 2 * mp.exp(c), -2.0, 2.0),
    "Huber": separable(lambda u: cp.sum(cp.huber(u, 1.5)), lambda c: -(c**2) / 4, -3.0, 3.0),
    "squares": separable(lambda u: cp.sum_squares(u), lambda c: -(c**2) / 4, -9.0, 9.0),
    "powers 3/2": separable(lambda u: cp.sum(cp.power(u, 1.5)), lambda c: -4 * c**3 / 27, 0.0, 4.0),
    "powers 4": separable(lambda u: cp.sum(cp.power(u, 4)), lambda c: -3 * mp.cbrt(c / 4) ** 4, 0.0, 4.0),
    "absolute values": separable(lambda u: cp.sum(cp.abs(u)), lambda c: mp.zero, -1.0, 1.0),
    "entropy on the simplex": entropy,
    "log_sum_exp": log_sum_exp,
    "logarithms on a budget": budget(False),
    "geometric mean on a budget": budget(True),
    "ball of a norm": ball_of_a_norm,
    "shortest vector": shortest_vector,
    "quad_over_lin": mean_of_squares,
    "extreme eigenvalue": extreme_eigenvalue,
    "log_det": log_determinant,
    "tr_inv": trace_of_inverse,
    "nuclear and spectral norm": dual_norm,
    "exponential cone": exponential_cone,
    "power cone": power_cone,
    "infeasible": contradictory,
    "unbounded": unbounded,
}
"""Problems by their kind."""

FURTHER_KINDS: dict[str, Build] = {
    "whole vertex": whole_vertex,
    "nearly semidefinite form": nearly_semidefinite,
    "density matrix": density_matrix,
    "shortest vector in another norm": shortest_in_a_norm,
}
"""Problems that show faults of the code: intervals as narrow as a rounding, shifts, multipliers that are matrices."""


def closed_form(kind: str, rng: np.random.Generator) -> ClosedForm:
    """Return a random problem of a kind with its optimum; half of the problems maximize."""
    objective, constraints, optimum = (KINDS | FURTHER_KINDS)[kind](rng)
    if rng.random() < 0.5:
        return ClosedForm(cp.Problem(cp.Minimize(objective), constraints), optimum, objective)
    return ClosedForm(cp.Problem(cp.Maximize(-objective), constraints), -optimum, objective)
