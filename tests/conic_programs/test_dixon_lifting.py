"""Square systems of rational numbers: solutions satisfy the equations exactly; singular matrices are refused."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from flint import fmpq

from boostopt.conic_programs.exact import dixon_lifting
from boostopt.conic_programs.exact.dixon_lifting import (
    Column,
    ExactSystem,
    SingularSystemError,
    _perfect_matching,  # pyright: ignore[reportPrivateUsage]
)
from boostopt.conic_programs.exact.work_limit import TooMuchWorkError, count_work, is_granted, work_limit


@pytest.fixture(params=[0, dixon_lifting.MAX_ELIMINATION_SIZE], autouse=True)
def max_elimination_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Small nuclei are divided into blocks as large ones, or not divided."""
    monkeypatch.setattr(dixon_lifting, "MAX_ELIMINATION_SIZE", request.param)
    return request.param


def columns_of(matrix: list[list[int]]) -> list[Column]:
    size = len(matrix)
    return [{i: fmpq(matrix[i][j]) for i in range(size) if matrix[i][j]} for j in range(size)]


@pytest.mark.parametrize("density", [0.15, 0.3, 1.0])
def test_solutions_satisfy_the_equations(density: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 12))
        matrix = (rng.integers(-4, 5, (size, size)) * (rng.random((size, size)) < density)).tolist()
        b = [fmpq(int(value), 7) for value in rng.integers(-5, 6, size)]
        if round(np.linalg.det(matrix)) == 0:
            with pytest.raises(SingularSystemError):
                ExactSystem(columns_of(matrix)).solve(b)
            continue
        system = ExactSystem(columns_of(matrix))
        z, y = system.solve(b), system.solve_transposed(b)
        assert [sum((fmpq(matrix[i][j]) * z[j] for j in range(size)), fmpq(0)) for i in range(size)] == b
        assert [sum((fmpq(matrix[i][j]) * y[i] for i in range(size)), fmpq(0)) for j in range(size)] == b


def test_triangular_matrices_have_no_nucleus() -> None:
    lower = [[1 if j <= i else 0 for j in range(6)] for i in range(6)]
    permutation = [3, 0, 5, 1, 4, 2]
    system = ExactSystem(columns_of([lower[i] for i in permutation]))
    assert system.nucleus_size == 0
    assert ExactSystem(columns_of([[1, 1, 0], [0, 1, 1], [1, 0, 1]])).nucleus_size == 3


def block_matrix(rng: np.random.Generator, sizes: list[int], entries: int) -> list[list[int]]:
    """Return a block triangular matrix with its rows and columns in a random order."""
    n = sum(sizes)
    matrix = np.zeros((n, n), dtype=int)
    start = 0
    for size in sizes:
        end = start + size
        block = rng.integers(-entries, entries + 1, (size, size)) + 7 * entries * np.eye(size, dtype=int)
        matrix[start:end, start:end] = np.roll(block, 1, axis=0)  # the diagonal has no matching
        matrix[start:end, end:] = rng.integers(-2, 3, (size, n - end)) * (rng.random((size, n - end)) < 0.3)
        start = end
    return matrix[rng.permutation(n)][:, rng.permutation(n)].tolist()


@pytest.mark.parametrize("sizes", [[3, 1, 4, 2], [5, 5], [1, 6], [8]])
def test_block_triangular_systems_are_solved_exactly(sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    for _ in range(5):
        matrix = block_matrix(rng, sizes, 9)
        size = len(matrix)
        b = [fmpq(int(value), 3) for value in rng.integers(-5, 6, size)]
        system = ExactSystem(columns_of(matrix))
        z, y = system.solve(b), system.solve_transposed(b)
        assert [sum((fmpq(matrix[i][j]) * z[j] for j in range(size)), fmpq(0)) for i in range(size)] == b
        assert [sum((fmpq(matrix[i][j]) * y[i] for i in range(size)), fmpq(0)) for j in range(size)] == b


@pytest.mark.parametrize(("sizes", "n_blocks"), [([3, 3, 3], 3), ([4, 5], 2), ([8], 1), ([3], 1)])
@pytest.mark.parametrize("has_one_denominator", [False, True])
def test_long_right_sides_are_solved_by_blocks_exactly(
    sizes: list[int], n_blocks: int, has_one_denominator: bool
) -> None:
    """Numbers of independent blocks have no common denominator, so that theirs are not multiplied."""
    rng, generator = np.random.default_rng(1), random.Random(2)
    matrix = block_matrix(rng, sizes, 9)
    n = len(matrix)
    q = generator.getrandbits(2000) | 1
    b = [fmpq(generator.getrandbits(2000), q if has_one_denominator else q + 2 * i) for i in range(n)]
    system = ExactSystem(columns_of(matrix))
    for _ in range(2):
        z, y = system.solve(b), system.solve_transposed(b)
        assert [sum((fmpq(matrix[i][j]) * z[j] for j in range(n)), fmpq(0)) for i in range(n)] == b
        assert [sum((fmpq(matrix[i][j]) * y[i] for i in range(n)), fmpq(0)) for j in range(n)] == b
    assert len(system._blocks) == n_blocks  # pyright: ignore[reportPrivateUsage]


def test_large_blocks_with_short_determinants_are_solved_exactly() -> None:
    """A cycle of 1 and -2 on 80 rows, whose determinant is 1 - 2^80."""
    size = 80
    matrix = [[1 if i == j else -2 if j == (i + 1) % size else 0 for j in range(size)] for i in range(size)]
    system = ExactSystem(columns_of(matrix))
    assert system.nucleus_size == size
    b = [fmpq(i % 5 - 2) for i in range(size)]
    z, y = system.solve(b), system.solve_transposed(b)
    assert [sum((fmpq(matrix[i][j]) * z[j] for j in range(size)), fmpq(0)) for i in range(size)] == b
    assert [sum((fmpq(matrix[i][j]) * y[i] for i in range(size)), fmpq(0)) for j in range(size)] == b


def test_a_matching_is_found_exactly_where_a_permutation_is_one() -> None:
    """All patterns of random places up to order 6, beside a search of all permutations."""
    generator = random.Random(0)
    for _ in range(300):
        n = generator.randint(1, 6)
        rows = [[j for j in range(n) if generator.random() < 0.35] for _ in range(n)]
        has_matching = any(all(j in row for j, row in zip(p, rows, strict=True)) for p in permutations(range(n)))
        columns = _perfect_matching(rows)
        assert (columns is not None) == has_matching
        if columns is not None:
            assert sorted(columns) == list(range(n)) and all(j in row for j, row in zip(columns, rows, strict=True))


def test_a_matrix_without_a_matching_is_singular(max_elimination_size: int) -> None:
    """Three rows have entries in two columns alone; no row and no column has a single entry."""
    matrix = [[1, 2, 0, 0, 0], [3, 5, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 2, 3], [0, 0, 4, 5, 7]]
    if not max_elimination_size:
        with pytest.raises(SingularSystemError, match="matching"):
            ExactSystem(columns_of(matrix))
    with pytest.raises(SingularSystemError):
        ExactSystem(columns_of(matrix)).solve([fmpq(1)] * 5)


def test_work_that_is_too_large_is_refused_in_advance() -> None:
    matrix = block_matrix(np.random.default_rng(0), [30], 10**9)
    b = [fmpq(1)] * 30
    with work_limit(1000), pytest.raises(TooMuchWorkError):
        ExactSystem(columns_of(matrix)).solve(b)
    z = ExactSystem(columns_of(matrix)).solve(b)
    assert sum(int(value.q).bit_length() for value in z) > 1000


def test_limits_of_work_within_limits_grant_no_more() -> None:
    with work_limit(100):
        with work_limit(1000):
            assert is_granted(100) and not is_granted(101)
            count_work(90)
        with work_limit(10):
            assert is_granted(10) and not is_granted(11)
        assert is_granted(100)
    assert is_granted(1000)


@pytest.mark.parametrize("sizes", [[3, 1, 4, 2], [8], [1, 1, 1], [20, 30]])
@pytest.mark.parametrize("denominators", [(1,), (1, 2, 4), (1, 3, 7, 10)])
def test_expected_digits_are_compared_as_they_are(sizes: list[int], denominators: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(sizes))
    columns: list[Column] = [
        {i: entry / int(rng.choice(denominators)) for i, entry in column.items()}
        for column in columns_of(block_matrix(rng, sizes, 9))
    ]
    expected = ExactSystem(columns).n_expected_digits
    for factor in (0.5, 0.99, 1.0, 2.0, 100.0):
        system = ExactSystem(columns)
        assert system.needs_more_digits(factor * expected) == (expected > factor * expected)


@pytest.mark.parametrize("sizes", [[3, 1, 4, 2], [8], [1, 1, 1]])
def test_approximations_have_as_many_digits_as_are_asked(sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    matrix = block_matrix(rng, sizes, 9)
    b = [fmpq(int(value), 3) for value in rng.integers(-5, 6, len(matrix))]
    system = ExactSystem(columns_of(matrix))
    for solve in (system.solve, system.solve_transposed):
        exact = solve(b)
        distances = [abs(value - approximation) for value, approximation in zip(exact, solve(b, 200), strict=True)]
        assert max(distances) < fmpq(1, 2**180)
        assert max(distances) > 0
        assert solve(b) == exact  # an approximation leaves no trace
