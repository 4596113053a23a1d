"""The atoms of matrices that a file may name: eigenvalues, singular values, determinants, quotients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from boostopt.verification.problem_kernel.atoms import MAX_ENTRY, Atom, SumOfLargest, Vector, entropy_of_size, matrix_of
from boostopt.verification.problem_kernel.rationals_and_balls import (
    PRECISION,
    ZERO,
    Number,
    eigenvalues_of,
    is_at_most,
    is_finite,
    is_positive,
    is_semidefinite,
    is_zero,
    largest,
    logarithm,
    midpoint,
    nearest_float,
    pair_product,
    pair_sum,
    pivots_of,
    quotient,
    root,
    solve,
    to_ball,
    total,
    trace_of_exponential,
    union,
)

N_SHIFTS = 12
"""Number of distances from a computed eigenvalue at which a bound of it is tried."""

TINY = Fraction(1, 2**60)
"""Smallest unit of these distances."""

N_VECTOR_STEPS = 2
"""Number of steps of inverse iteration in balls."""

MANY = 100
"""Size of other eigenvalues, in units of the largest one, from which distances in this unit are tried first."""


@dataclass(frozen=True)
class MatrixAtom(Atom):
    """A function of the symmetric part of an n x n matrix, in C order."""

    n: int

    def has_size(self, k: int) -> bool:
        return k == self.n * self.n

    def slope_matrix(self, s: Sequence[Fraction]) -> list[list[Fraction]] | None:
        """Return slopes as a matrix; None if it is not symmetric: then a skew matrix has no lower bound."""
        rows = matrix_of(s, self.n)
        is_symmetric = all(rows[i][j] == rows[j][i] for i in range(self.n) for j in range(i))
        return rows if is_symmetric else None

    def infimum_of_semidefinite(self, s: Sequence[Fraction]) -> Number | None:
        """Return 0, a lower bound of -<S, X> over semidefinite X, if -S is semidefinite; None otherwise."""
        S = self.slope_matrix(s)
        return ZERO if S is not None and is_semidefinite([[-entry for entry in row] for row in S]) else None


@dataclass(frozen=True)
class LargestEigenvalue(MatrixAtom):
    """The largest eigenvalue."""

    is_homogeneous = True

    def value(self, u: Vector) -> Number | None:
        X = symmetric_part(u, self.n)
        if not all(is_finite(entry) for row in X for entry in row):
            return None
        if all(is_zero(X[i][j]) for i in range(self.n) for j in range(i)):
            return largest([X[i][i] for i in range(self.n)])
        floats = np.array([[nearest_float(entry) for entry in row] for row in X])
        if not (np.abs(floats) <= MAX_ENTRY).all():
            return None
        try:
            eigenvalues, vectors = np.linalg.eigh(floats)
        except np.linalg.LinAlgError:  # the iteration did not converge: nothing is proved
            return None
        v = [Fraction(entry) for entry in vectors[:, -1].tolist()]
        nearest = Fraction(float(eigenvalues[-1]))
        size = Fraction(float(np.abs(eigenvalues).max())) + TINY
        starts = [(nearest, size)]
        if size > MANY * (abs(nearest) + TINY):  # floats do not hold the largest one beside the others
            v = _refined_vector(X, nearest, v)
        products = (pair_product(v[i] * v[j], X[i][j]) for i in range(self.n) for j in range(self.n))
        lower = quotient(total(products), sum(entry * entry for entry in v))
        middle = midpoint(lower)
        if size > MANY * (abs(middle) + TINY):
            starts.insert(0, (middle, abs(middle) + TINY))
        for start, unit in starts:
            for k in range(N_SHIFTS):  # from 1e-17 to 1e-6 of the size
                upper = start + unit * self.n / Fraction(10) ** (17 - k)
                rest = [[pair_sum(upper if i == j else ZERO, -X[i][j]) for j in range(self.n)] for i in range(self.n)]
                if is_semidefinite(rest):
                    return union(lower, upper)
        return None

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        S = self.slope_matrix(s)
        if S is None or sum(S[i][i] for i in range(self.n)) != mu:
            return None
        return ZERO if is_semidefinite(S) else None


@dataclass(frozen=True)
class LogDeterminant(MatrixAtom):
    """The logarithm of the determinant of a positive definite matrix."""

    has_open_domain = True

    @property
    def sign(self) -> int:
        return -1

    def value(self, u: Vector) -> Number | None:
        return log_determinant(symmetric_part(u, self.n))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        S = self.slope_matrix(s)
        value = None if S is None else log_determinant([[-entry for entry in row] for row in S])
        if value is None:
            return None
        return pair_product(mu, total([Fraction(self.n), value, -pair_product(Fraction(self.n), logarithm(mu))]))

    def domain_infimum(self, s: Sequence[Fraction]) -> Number | None:
        return self.infimum_of_semidefinite(s)

    def asymptotic_slope(self, a: Vector) -> Number | None:
        return ZERO if is_semidefinite(symmetric_part(a, self.n)) else None  # it does not decrease

    def grows(self, is_growing: Sequence[bool], a: Vector) -> bool:
        return any(is_positive(a[place]) for place in range(0, self.n**2, self.n + 1))  # then X^-1 A is not 0


@dataclass(frozen=True)
class SumOfLargestEigenvalues(MatrixAtom):
    """The sum of the `count` largest eigenvalues; the next one counts for the fraction of a count."""

    is_homogeneous = True

    count: Fraction

    def has_size(self, k: int) -> bool:
        return super().has_size(k) and 0 < self.count <= self.n

    def value(self, u: Vector) -> Number | None:
        eigenvalues = eigenvalues_of(symmetric_part(u, self.n))
        return None if eigenvalues is None else SumOfLargest(self.count).value(eigenvalues)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # It is the largest <Z, X> with Z and I - Z positive semidefinite, and tr Z = count.
        S = self.slope_matrix(s)
        if S is None or sum(S[i][i] for i in range(self.n)) != self.count * mu:
            return None
        rest = [[(mu if i == j else ZERO) - S[i][j] for j in range(self.n)] for i in range(self.n)]
        return ZERO if is_semidefinite(S) and is_semidefinite(rest) else None


@dataclass(frozen=True)
class MatrixEntropy(MatrixAtom):
    """-tr X log X for positive semidefinite X."""

    @property
    def sign(self) -> int:
        return -1

    def value(self, u: Vector) -> Number | None:
        X = symmetric_part(u, self.n)
        eigenvalues = eigenvalues_of(X) if is_semidefinite(X) else None
        return None if eigenvalues is None else total(entropy_of_size(eigenvalue) for eigenvalue in eigenvalues)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # mu tr X log X - <S, X> is smallest at X = exp(S / mu - I), by the inequality of O. Klein.
        S = self.slope_matrix(s)
        if S is None:
            return None
        H = [[entry / mu - (i == j) for j, entry in enumerate(row)] for i, row in enumerate(S)]
        return -pair_product(mu, trace_of_exponential(H))

    def domain_infimum(self, s: Sequence[Fraction]) -> Number | None:
        return self.infimum_of_semidefinite(s)


@dataclass(frozen=True)
class SingularValueAtom(Atom):
    """A function of the singular values of an m x n matrix, in C order."""

    m: int
    n: int

    def has_size(self, k: int) -> bool:
        return k == self.m * self.n


@dataclass(frozen=True)
class SpectralNorm(SingularValueAtom):
    """The largest singular value."""

    is_homogeneous = True

    def value(self, u: Vector) -> Number | None:
        X = [list(u[i * self.n : (i + 1) * self.n]) for i in range(self.m)]
        gram = [total(pair_product(row[i], row[j]) for row in X) for i in range(self.n) for j in range(self.n)]
        eigenvalue = LargestEigenvalue(self.n).value(gram)
        return None if eigenvalue is None else root(eigenvalue)

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        size = NuclearNorm(self.m, self.n).value([entry / mu for entry in s])
        return ZERO if size is not None and is_at_most(size, Fraction(1)) else None


@dataclass(frozen=True)
class NuclearNorm(SingularValueAtom):
    """The sum of the singular values."""

    is_homogeneous = True

    def value(self, u: Vector) -> Number | None:
        floats = np.array([nearest_float(entry) for entry in u]).reshape(self.m, self.n)
        if not (np.abs(floats) <= MAX_ENTRY).all():
            return None
        try:
            U, sizes, V = np.linalg.svd(floats, full_matrices=False)
        except np.linalg.LinAlgError:  # the iteration did not converge: nothing is proved
            return None
        A = [[Fraction(entry) for entry in row] for row in (U * np.sqrt(sizes)).tolist()]
        B = [[Fraction(entry) for entry in row] for row in (np.sqrt(sizes)[:, None] * V).tolist()]
        rank = range(len(sizes))
        # X = A B + E has a norm of at most (|A|^2 + |B|^2) / 2 + sqrt(rank) |E|, in Frobenius norms.
        residual = [
            pair_sum(u[i * self.n + j], -sum((A[i][k] * B[k][j] for k in rank), ZERO))
            for i in range(self.m)
            for j in range(self.n)
        ]
        squares = sum((entry * entry for row in (*A, *B) for entry in row), ZERO)
        error = root(len(sizes) * total(pair_product(entry, entry) for entry in residual))
        # The product with a matrix of spectral norm 1 is a lower bound.
        slopes = [Fraction(entry) for entry in (U @ V).ravel().tolist()]
        size = SpectralNorm(self.m, self.n).value(slopes)
        if size is None:
            return None
        product = total(pair_product(slope, entry) for slope, entry in zip(slopes, u, strict=True))
        return union(quotient(product, largest([size, Fraction(1)])), pair_sum(squares / 2, error))

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        # [[mu I, S], [S', mu I]] is semidefinite if no singular value of S exceeds mu.
        size = self.m + self.n
        block = [[mu if i == j else ZERO for j in range(size)] for i in range(size)]
        for i in range(self.m):
            for j in range(self.n):
                block[i][self.m + j] = block[self.m + j][i] = s[i * self.n + j]
        return ZERO if is_semidefinite(block) else None


@dataclass(frozen=True)
class MatrixFraction(Atom):
    """tr Xᵀ P^-1 X of an n x k matrix X and the symmetric part of a definite n x n matrix P, one after the other."""

    is_homogeneous = True

    n: int
    k: int

    def has_size(self, k: int) -> bool:
        return k == self.n * (self.k + self.n)

    def value(self, u: Vector) -> Number | None:
        n, k = self.n, self.k
        P = symmetric_part(u[n * k :], n)
        if log_determinant(P) is None:
            return None
        solution = solve([entry for row in P for entry in row], u[: n * k], n)
        return (
            None if solution is None else total(pair_product(x, y) for x, y in zip(u[: n * k], solution, strict=True))
        )

    def infimum(self, mu: Fraction, s: Sequence[Fraction]) -> Number | None:
        n, k = self.n, self.k
        S = MatrixAtom.slope_matrix(LogDeterminant(n), s[n * k :])
        if S is None:
            return None
        X = [s[i * k : (i + 1) * k] for i in range(n)]
        products = [[sum(a * b for a, b in zip(first, second, strict=True)) for second in X] for first in X]
        rest = [[-4 * mu * S[i][j] - products[i][j] for j in range(n)] for i in range(n)]
        return ZERO if is_semidefinite(rest) else None

    def domain_infimum(self, s: Sequence[Fraction]) -> Number | None:
        size = self.n * self.k
        return None if any(s[:size]) else LogDeterminant(self.n).infimum_of_semidefinite(s[size:])

    def asymptotic_slope(self, a: Vector) -> Number | None:
        # It does not increase with the definite matrix.
        X, P = a[: self.n * self.k], symmetric_part(a[self.n * self.k :], self.n)
        is_falling = all(is_zero(entry) for entry in X) and is_semidefinite(P)
        return ZERO if is_falling else super().asymptotic_slope(a)


def _refined_vector(
    X: Sequence[Sequence[Number]], eigenvalue: Fraction, vector: Sequence[Fraction]
) -> Sequence[Fraction]:
    """Return a vector nearer to an eigenvector, by inverse iteration in balls; it only proposes."""
    n = len(X)
    shifted = [pair_sum(X[i][j], -eigenvalue if i == j else ZERO) for i in range(n) for j in range(n)]
    for _ in range(N_VECTOR_STEPS):
        solution = solve(shifted, vector, n)
        entries = [] if solution is None else [midpoint(entry) for entry in solution]
        size = max(map(abs, entries), default=ZERO)
        if not size:
            return vector
        vector = [Fraction(round(entry / size * 2**PRECISION), 2**PRECISION) for entry in entries]
    return vector


def symmetric_part(entries: Vector, n: int) -> list[list[Number]]:
    """Return (X + Xᵀ) / 2 of an n x n matrix X in C order."""
    X = matrix_of(entries, n)
    return [[quotient(pair_sum(X[i][j], X[j][i]), Fraction(2)) for j in range(n)] for i in range(n)]


def log_determinant(X: Sequence[Sequence[Number]]) -> Number | None:
    """Return the logarithm of the determinant of a symmetric matrix; None if it may not be positive definite."""
    pivots = pivots_of([[ZERO if is_zero(entry) else to_ball(entry) for entry in row] for row in X])
    if pivots is None or not all(is_positive(pivot) for pivot in pivots):
        return None
    return to_ball(total(logarithm(pivot) for pivot in pivots))
