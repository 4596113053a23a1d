"""The content of a problem's certificate file: the problem, the proof and the claim, parsed from untrusted JSON.

docs/file_format.md says what each name means.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from boostopt.verification.problem_kernel.atoms import (
    Atom,
    Divergence,
    Entropy,
    EuclideanNorm,
    Exponential,
    GeometricMean,
    HuberLoss,
    LargestAbsoluteValue,
    LargestEntry,
    Logarithm,
    LogisticLoss,
    LogSumExp,
    Perspective,
    PNorm,
    Power,
    PowerMean,
    ProductWithExponential,
    QuadraticForm,
    RelativeEntropy,
    ShiftedLogarithm,
    SmallestEntry,
    SquaresOverLast,
    SumOfAbsoluteValues,
    SumOfLargest,
    SumOfSquares,
)
from boostopt.verification.problem_kernel.matrix_atoms import (
    LargestEigenvalue,
    LogDeterminant,
    MatrixAtom,
    MatrixEntropy,
    MatrixFraction,
    NuclearNorm,
    SingularValueAtom,
    SpectralNorm,
    SumOfLargestEigenvalues,
)
from boostopt.verification.trusted_kernel.json_parsing import (
    DecimalFloat,
    SizeLimit,
    parse_choice,
    parse_hexadecimal,
    parse_index,
    parse_list,
    parse_number,
    parse_object,
    parse_object_with_keys,
    parse_text,
    reject,
)

FILE_KIND = "boostopt problem certificate"
"""The kind of these files."""

FORMAT = 1
"""The version of the format."""

TOP_LEVEL_KEYS = {"kind", "format", "problem", "proof", "claim", "made"}
"""The names of a file."""

MAX_COEFFICIENT = 1e150
"""Largest absolute value of a number of the problem."""

MAX_DIGITS = 40_000
"""Largest number of hexadecimal digits of a numerator or a denominator."""

MAX_PROBLEM_DIGITS = 500
"""Largest number of hexadecimal digits of a numerator or a denominator of the problem."""

MAX_ODD_BITS = 4_000
"""Largest sum of the bits of the odd parts of all denominators of the problem."""

MAX_WORK = 1e14
"""Largest number of coefficients, rows and groups, times the square of the bits of the proof."""

MAX_CUBES = 10_000_000
"""Largest sum of the cubes of the sizes of all matrices."""

MAX_IMPLIED = 20_000_000
"""Largest number of coefficients that all implied equations of a proof combine."""

MAX_UNKNOWNS = 1_000_000
"""Largest number of unknowns, and of rows of one block."""

MAX_MATRIX = 200
"""Largest size of a matrix."""

MAX_EXPONENT = 1e6
"""Largest absolute value of an exponent."""

STATUSES = {"bounded", "infeasible", "open", "unbounded"}
"""The statements that a claim may make about the problem."""


@dataclass(frozen=True)
class Rows:
    """Affine functions of the unknowns.

    Attributes
    ----------
    rows
        The coefficients of each function by the position of the unknown.
    offsets
        The constant of each function.
    """

    rows: Sequence[Mapping[int, Fraction]]
    offsets: Sequence[Fraction]

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class AtomNode:
    """An atom, applied to m groups of arguments; its values are the unknowns from `start` on.

    Attributes
    ----------
    name
        The name of the atom in the file.
    atom
        The function.
    members
        The positions in `arguments` that each group reads.
    arguments
        Affine functions of the unknowns before `start`.
    start
        The position of the first value.
    """

    name: str
    atom: Atom
    members: Sequence[Sequence[int]]
    arguments: Rows
    start: int


@dataclass(frozen=True)
class Problem:
    """A problem over unknowns: the entries of x, then the values of the atoms.

    Attributes
    ----------
    sign
        1 if the objective is minimized, -1 if it is maximized.
    lower, upper
        Bounds of x; None for an infinite one.
    nodes
        The atoms.
    objective
        One row.
    inequalities, equalities
        Rows that must be <= 0, or 0.
    matrices
        Matrices that must be positive semidefinite: the size, and the entries in C order.
    """

    sign: int
    lower: Sequence[Fraction | None]
    upper: Sequence[Fraction | None]
    nodes: Sequence[AtomNode]
    objective: Rows
    inequalities: Rows
    equalities: Rows
    matrices: Sequence[tuple[int, Rows]]

    @property
    def n(self) -> int:
        """The number of entries of x."""
        return len(self.lower)

    @property
    def n_unknowns(self) -> int:
        """The number of all unknowns."""
        return self.n + sum(len(node.members) for node in self.nodes)

    @property
    def blocks(self) -> list[Rows]:
        """All rows."""
        result = [self.objective, self.inequalities, self.equalities, *(node.arguments for node in self.nodes)]
        return result + [entries for _, entries in self.matrices]

    @property
    def size(self) -> int:
        """The number of unknowns, rows, coefficients and arguments."""
        entries = sum(len(block) + sum(map(len, block.rows)) for block in self.blocks)
        return self.n + entries + sum(len(group) for node in self.nodes for group in node.members)


@dataclass(frozen=True)
class ExposedFace:
    """Vectors that a matrix maps to 0 at every feasible point, as the columns of V, and a positive definite M.

    Attributes
    ----------
    place
        The position of the matrix.
    vectors
        The columns of V.
    weights
        The rows of M: an exposing matrix is V M Vᵀ.
    """

    place: int
    vectors: Sequence[Sequence[Fraction]]
    weights: Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class ImpliedEquations:
    """Equations that a constraint implies, with their multipliers; see `implied_equation_checks`.

    Attributes
    ----------
    constraint, place
        The kind of the constraint, "inequality", "equality" or "matrix", and its position; or "matrices", and 0.
    vector
        For a matrix E the numbers v with vᵀ E v <= 0 at feasible points; empty for other constraints.
    limit
        The kind and the position of an affine constraint by which a term is not negative; None if bounds suffice.
    multipliers
        One number for each equation.
    faces
        For matrices, their faces by an exposing matrix for each.
    equations
        For matrices, the multiples of the equalities, and of the equations of earlier items, that add up to minus the
        exposing matrices times theirs.
    """

    constraint: str
    place: int
    vector: Sequence[Fraction]
    limit: tuple[str, int] | None
    multipliers: Sequence[Fraction]
    faces: Sequence[ExposedFace] = ()
    equations: Sequence[Fraction] = ()


@dataclass(frozen=True)
class Multipliers:
    """The numbers of a lower bound of the problem that is minimized.

    Attributes
    ----------
    objective
        The multiplier of the objective: positive for a bound of the optimum, 0 for a proof of infeasibility.
    inequalities, equalities
        One number for each row.
    matrices
        The entries of a symmetric matrix for each matrix, in C order.
    slopes
        The slopes of each group of each atom, one group after the other.
    implied
        The equations that constraints imply; those of matrices may use earlier ones.
    """

    objective: Fraction
    inequalities: Sequence[Fraction]
    equalities: Sequence[Fraction]
    matrices: Sequence[Sequence[Fraction]]
    slopes: Sequence[Sequence[Fraction]]
    implied: Sequence[ImpliedEquations] = ()


@dataclass(frozen=True)
class ScaledVector:
    """Numbers over one positive denominator."""

    numerators: Sequence[int]
    denominator: int


@dataclass(frozen=True)
class Claim:
    """The claim of a file about the optimum.

    Attributes
    ----------
    status
        "bounded", "open", "infeasible" or "unbounded".
    lower, upper
        The interval; None for a bound that is not claimed.
    """

    status: str
    lower: Fraction | None
    upper: Fraction | None


@dataclass(frozen=True)
class ProblemDocument:
    """The content of a file.

    Attributes
    ----------
    problem
        The problem.
    multipliers
        The proof of the lower bound of the problem that is minimized, or of infeasibility; None if there is none.
    point
        The feasible point, shape (n,); None if there is none.
    ray
        The direction along which the objective falls for ever, shape (n,); None if there is none.
    claim
        The claim.
    """

    problem: Problem
    multipliers: Multipliers | None
    point: ScaledVector | None
    ray: ScaledVector | None
    claim: Claim


def parse_problem_document(top: Mapping[str, Any]) -> ProblemDocument:
    """Return the content of the object that a file states; Rejected if it is not of this form."""
    content = parse_object_with_keys(top, TOP_LEVEL_KEYS, "the file")
    if content["kind"] != FILE_KIND or content["format"] != FORMAT or type(content["format"]) is not int:
        reject(f"it must be a {FILE_KIND} of format {FORMAT}; it says {content['kind']!r}, {content['format']!r}"[:200])
    parse_object(content["made"], "made")
    return parse_proof_and_claim(parse_problem(content["problem"]), content["proof"], content["claim"])


def parse_proof_and_claim(problem: Problem, proof: Any, claim: Any) -> ProblemDocument:
    """Return a problem with the proof and the claim that a file states about it; Rejected if they have other forms."""
    item = parse_object_with_keys(proof, {"multipliers", "point", "ray"}, "proof")
    multipliers = None if item["multipliers"] is None else _parse_multipliers(item["multipliers"], problem)
    point = None if item["point"] is None else _parse_scaled_vector(item["point"], problem.n, "point")
    ray = None if item["ray"] is None else _parse_scaled_vector(item["ray"], problem.n, "ray")
    document = ProblemDocument(problem, multipliers, point, ray, _parse_claim(claim))
    _check_work(document)
    return document


def _check_work(document: ProblemDocument) -> None:
    """Check that a checker needs minutes at most."""
    problem = document.problem
    numbers = [number for block in problem.blocks for row in block.rows for number in row.values()]
    numbers += [number for block in problem.blocks for number in block.offsets]
    for node in problem.nodes:
        numbers += [p for row in node.atom.P for p in row] if isinstance(node.atom, QuadraticForm) else []
    denominators = {number.denominator for number in numbers}
    if sum((q // (q & -q)).bit_length() for q in denominators if q & (q - 1)) > MAX_ODD_BITS:
        raise SizeLimit(f"the odd parts of all denominators may have {MAX_ODD_BITS:,} bits together; they have more")
    cubes = sum(size**3 for size, _ in problem.matrices)
    implied = () if document.multipliers is None else document.multipliers.implied
    cubes += sum(len(face.vectors) ** 3 for item in implied for face in item.faces)
    for node in problem.nodes:
        atom = node.atom.function if isinstance(node.atom, Perspective) else node.atom
        if isinstance(atom, MatrixAtom | QuadraticForm):
            cubes += len(node.members) * math.isqrt(max(map(len, node.members), default=0)) ** 3
        elif isinstance(atom, SingularValueAtom):
            cubes += len(node.members) * (atom.m + atom.n) ** 3
        elif isinstance(atom, MatrixFraction):
            cubes += len(node.members) * (atom.n + atom.k) ** 3
    if cubes > MAX_CUBES:
        raise SizeLimit(f"the cubes of the sizes of all matrices may sum to {MAX_CUBES:,}; they sum to {cubes:,}")
    combined = _size_of_implications(problem, implied)
    if combined > MAX_IMPLIED:
        raise SizeLimit(f"implied equations may combine {MAX_IMPLIED:,} coefficients; they combine {combined:,}")
    bits = max((abs(number).bit_length() for number in _proof_integers(document)), default=1)
    if (problem.size + combined) * bits**2 > MAX_WORK:
        raise SizeLimit(f"numbers of {bits:,} bits are too long for a proof of this size")


def _size_of_implications(problem: Problem, implied: Sequence[ImpliedEquations]) -> int:
    """Return the number of coefficients that implied equations combine; of the first items if these are too many.

    A null vector combines all entries of its matrix, and another constraint the arguments of all of its atoms. Exposing
    matrices combine the equalities, too, and the equations of all earlier items.
    """
    if not implied:
        return 0
    sizes_of_matrices = [sum(map(len, entries.rows)) + len(entries) for _, entries in problem.matrices]
    sizes = [0] * problem.n
    for node in problem.nodes:
        lengths = [len(row) + 1 for row in node.arguments.rows]
        # Each row of the matrix of a quadratic form combines all arguments.
        n_rows = len(node.atom.P) if isinstance(node.atom, QuadraticForm) else 1
        sizes += [n_rows * sum(lengths[i] for i in group) for group in node.members]
    result, equalities = 0, len(problem.equalities) + sum(map(len, problem.equalities.rows))
    for item in implied:
        if item.constraint == "matrices":
            # The equations of earlier items have at most as many coefficients as they combine.
            result += result + equalities
            result += sum(2 * len(face.vectors) * sizes_of_matrices[face.place] for face in item.faces)
            if result > MAX_IMPLIED:  # each further item doubles it
                break
        elif item.constraint == "matrix":
            result += sizes_of_matrices[item.place]
        else:
            rows = problem.inequalities if item.constraint == "inequality" else problem.equalities
            result += sum(sizes[k] for k in rows.rows[item.place])
    return result


def _proof_integers(document: ProblemDocument) -> Iterator[int]:
    """Yield all whole numbers of a proof."""
    for vector in (document.point, document.ray):
        if vector is not None:
            yield vector.denominator
            yield from vector.numerators
    multipliers = document.multipliers
    if multipliers is not None:
        lists = [multipliers.inequalities, multipliers.equalities, *multipliers.matrices, *multipliers.slopes]
        for item in multipliers.implied:
            lists += [item.vector, item.multipliers, item.equations]
            lists += [values for face in item.faces for values in (*face.vectors, *face.weights)]
        for number in (multipliers.objective, *itertools.chain.from_iterable(lists)):
            yield number.numerator


def parse_problem(value: Any) -> Problem:
    """Return the problem that a file states."""
    keys = {"sense", "variables", "lower", "upper", "atoms", "objective", "inequalities", "equalities", "matrices"}
    content = parse_object_with_keys(value, keys, "problem")
    sense = parse_choice(content["sense"], {"minimize", "maximize"}, "sense")
    lower = [_parse_side(side, "-inf", "lower") for side in parse_short_list(content["lower"], "lower")]
    upper = [_parse_side(side, "inf", "upper") for side in parse_short_list(content["upper"], "upper")]
    n = len(lower)
    if len(upper) != n:
        reject(f"there must be as many upper bounds as lower bounds; there are {len(upper)} and {n}")
    _check_variables(content["variables"], n)
    nodes = list[AtomNode]()
    start = n
    for atom in parse_short_list(content["atoms"], "atoms"):
        node = _parse_node(atom, start)
        nodes.append(node)
        start += len(node.members)
        if start > MAX_UNKNOWNS:
            raise SizeLimit(f"there may be at most {MAX_UNKNOWNS:,} unknowns")
    objective = _parse_rows(content["objective"], start, "objective")
    if len(objective) != 1:
        reject(f"the objective must be one row; it is {len(objective)}")
    matrices = list[tuple[int, Rows]]()
    for matrix in parse_short_list(content["matrices"], "matrices"):
        item = parse_object_with_keys(matrix, {"size", "entries"}, "a matrix")
        size = parse_index(item["size"], MAX_MATRIX + 1, "the size of a matrix")
        entries = _parse_rows(item["entries"], start, "entries")
        if len(entries) != size * size or not _is_symmetric(entries, size):
            reject(f"a matrix must have {size} x {size} entries, and be symmetric")
        matrices.append((size, entries))
    return Problem(
        1 if sense == "minimize" else -1,
        lower,
        upper,
        nodes,
        objective,
        _parse_rows(content["inequalities"], start, "inequalities"),
        _parse_rows(content["equalities"], start, "equalities"),
        matrices,
    )


def _check_variables(value: Any, n: int) -> None:
    """Check that the entries of the variables are entries of x, or always 0, and that every entry of x is one."""
    positions = set[int]()
    for item in parse_short_list(value, "variables"):
        variable = parse_object_with_keys(item, {"name", "shape", "positions"}, "a variable")
        parse_text(variable["name"], "the name of a variable")
        shape = [parse_index(size, MAX_UNKNOWNS, "shape") for size in parse_list(variable["shape"], "shape")]
        entries = [parse_index(k, n, "positions", -1) for k in parse_short_list(variable["positions"], "positions")]
        if math.prod(shape) != len(entries):
            reject(f"a variable must have as many positions as entries; it has {len(entries)}")
        if positions & set(entries) - {-1}:
            reject("the positions of two variables must differ")
        positions |= set(entries)
    if positions - {-1} != set(range(n)):
        reject("every entry of x must belong to a variable")


ATOMS: Mapping[str, tuple[set[str], Callable[[Mapping[str, Any]], Atom]]] = {
    "sum of absolute values": (set(), lambda item: SumOfAbsoluteValues()),
    "largest absolute value": (set(), lambda item: LargestAbsoluteValue()),
    "largest": (set(), lambda item: LargestEntry()),
    "smallest": (set(), lambda item: SmallestEntry()),
    "sum of largest": ({"count"}, lambda item: SumOfLargest(_parse_positive(item["count"], "count"))),
    "euclidean norm": (set(), lambda item: EuclideanNorm()),
    "p-norm": ({"exponent"}, lambda item: PNorm(_parse_exponent(item["exponent"], 1))),
    "sum of squares": ({"divisor"}, lambda item: SumOfSquares(_parse_positive(item["divisor"], "divisor"))),
    "squares over last": (set(), lambda item: SquaresOverLast()),
    "quadratic form": ({"size", "matrix", "convex"}, lambda item: _parse_quadratic_form(item)),
    "huber": ({"threshold"}, lambda item: HuberLoss(_parse_positive(item["threshold"], "threshold"))),
    "power": ({"exponent"}, lambda item: Power(_parse_exponent(item["exponent"]))),
    "exponential": (set(), lambda item: Exponential()),
    "product with exponential": (set(), lambda item: ProductWithExponential()),
    "logarithm": (set(), lambda item: Logarithm()),
    "shifted logarithm": (set(), lambda item: ShiftedLogarithm()),
    "entropy": (set(), lambda item: Entropy()),
    "logistic": (set(), lambda item: LogisticLoss()),
    "relative entropy": (set(), lambda item: RelativeEntropy()),
    "divergence": (set(), lambda item: Divergence()),
    "log-sum-exp": (set(), lambda item: LogSumExp()),
    "geometric mean": ({"weights"}, lambda item: GeometricMean(_parse_weights(item["weights"]))),
    "power mean": ({"exponent"}, lambda item: PowerMean(_parse_mean_exponent(item["exponent"]))),
    "spectral norm": ({"shape"}, lambda item: SpectralNorm(*_parse_shape(item["shape"]))),
    "nuclear norm": ({"shape"}, lambda item: NuclearNorm(*_parse_shape(item["shape"]))),
    "matrix fraction": ({"shape"}, lambda item: MatrixFraction(*_parse_shape(item["shape"]))),
    "largest eigenvalue": ({"size"}, lambda item: LargestEigenvalue(_parse_size(item))),
    "sum of largest eigenvalues": (
        {"size", "count"},
        lambda item: SumOfLargestEigenvalues(_parse_size(item), _parse_positive(item["count"], "count")),
    ),
    "log-determinant": ({"size"}, lambda item: LogDeterminant(_parse_size(item))),
    "matrix entropy": ({"size"}, lambda item: MatrixEntropy(_parse_size(item))),
    "perspective": ({"function"}, lambda item: Perspective(_parse_function(item["function"]))),
}
"""The constants of each atom, and the function of the atom."""


def _parse_node(value: Any, start: int) -> AtomNode:
    """Return an atom with its arguments."""
    item = parse_object(value, "an atom")
    name = parse_choice(item.get("atom"), set(ATOMS), "atom")
    constants, make = ATOMS[name]
    parse_object_with_keys(item, constants | {"atom", "members", "arguments"}, f"the atom {name}")
    arguments = _parse_rows(item["arguments"], start, "arguments")
    atom = make(item)
    members = list[Sequence[int]]()
    for group in parse_short_list(item["members"], "members"):
        members.append([parse_index(k, len(arguments), "members") for k in parse_list(group, "members")])
        if not atom.has_size(len(members[-1])):
            reject(f"the atom {name} cannot take {len(members[-1])} numbers")
    return AtomNode(name, atom, members, arguments, start)


def _parse_function(value: Any) -> Atom:
    """Return the function of a perspective: an atom whose numbers are its slopes."""
    item = parse_object(value, "the function of a perspective")
    name = parse_choice(item.get("atom"), set(ATOMS) - {"perspective", "quadratic form"}, "function of a perspective")
    constants, make = ATOMS[name]
    parse_object_with_keys(item, constants | {"atom"}, f"the function {name}")
    return make(item)


def _parse_rows(value: Any, n_unknowns: int, name: str) -> Rows:
    """Return affine functions of the unknowns."""
    item = parse_object_with_keys(value, {"offsets", "rows", "columns", "values"}, name)
    offsets = [parse_rational(entry, name) for entry in parse_short_list(item["offsets"], name)]
    rows = [dict[int, Fraction]() for _ in offsets]
    lists = [parse_list(item[key], name) for key in ("rows", "columns", "values")]
    if len({len(entries) for entries in lists}) != 1:
        reject(f"rows, columns and values of {name} must be of one length")
    for i, k, coefficient in zip(*lists, strict=True):
        row = rows[parse_index(i, len(offsets), f"rows of {name}")]
        column = parse_index(k, n_unknowns, f"columns of {name}")
        if column in row:
            reject(f"{name} has two coefficients in one place")
        row[column] = parse_rational(coefficient, name)
    return Rows(rows, offsets)


def _is_symmetric(entries: Rows, size: int) -> bool:
    """Return whether a matrix of affine functions is symmetric."""
    pairs = [(i * size + j, j * size + i) for i in range(size) for j in range(i)]
    return all(entries.rows[a] == entries.rows[b] and entries.offsets[a] == entries.offsets[b] for a, b in pairs)


def _parse_quadratic_form(item: Mapping[str, Any]) -> QuadraticForm:
    """Return a quadratic form; its matrix must be symmetric."""
    n = _parse_size(item)
    entries = [parse_rational(entry, "matrix") for entry in parse_list(item["matrix"], "matrix")]
    if type(item["convex"]) is not bool:
        reject("convex must be true or false")
    if len(entries) != n * n or any(entries[i * n + j] != entries[j * n + i] for i in range(n) for j in range(i)):
        reject(f"the matrix of a quadratic form must have {n} x {n} entries, and be symmetric")
    return QuadraticForm([entries[i * n : (i + 1) * n] for i in range(n)], 1 if item["convex"] else -1)


def _parse_size(item: Mapping[str, Any]) -> int:
    """Return the size of a matrix."""
    return parse_index(item["size"], MAX_MATRIX + 1, "the size of a matrix", 1)


def _parse_positive(value: Any, name: str) -> Fraction:
    """Return a positive number."""
    number = parse_rational(value, name)
    return number if number > 0 else reject(f"{name} must be positive")


def _parse_exponent(value: Any, largest_excluded: int | None = None) -> Fraction:
    """Return an exponent other than 0 and 1, above a number."""
    p = parse_rational(value, "exponent")
    if p in (0, 1) or abs(p) > MAX_EXPONENT or (largest_excluded is not None and p <= largest_excluded):
        reject(f"an exponent must differ from 0 and 1 and be at most {MAX_EXPONENT:g}, and above 1 for a norm")
    return p


def _parse_mean_exponent(value: Any) -> Fraction:
    """Return an exponent below 1."""
    p = _parse_exponent(value)
    return p if p < 1 else reject("the exponent of a power mean must be below 1")


def _parse_shape(value: Any) -> tuple[int, int]:
    """Return the shape of a matrix."""
    sizes = [parse_index(size, MAX_MATRIX + 1, "shape", 1) for size in parse_list(value, "shape")]
    return (sizes[0], sizes[1]) if len(sizes) == 2 else reject("a shape must have two sizes")


def _parse_weights(value: Any) -> tuple[Fraction, ...]:
    """Return positive weights of sum 1."""
    weights = tuple(_parse_positive(entry, "weights") for entry in parse_short_list(value, "weights"))
    return weights if sum(weights) == 1 else reject("weights must have the sum 1")


def _parse_side(value: Any, infinite: str, name: str) -> Fraction | None:
    """Return a bound; None for the infinite one."""
    return None if value == infinite else parse_rational(value, name)


def parse_short_list(value: Any, name: str) -> list[Any]:
    """Return a list that is not too long."""
    result = parse_list(value, name)
    if len(result) > MAX_UNKNOWNS:
        raise SizeLimit(f"{name} may have at most {MAX_UNKNOWNS:,} entries; it has {len(result):,}")
    return result


def parse_rational(value: Any, name: str) -> Fraction:
    """Return a number of the problem: the float nearest to a number, or the fraction that a text states."""
    if isinstance(value, str):
        top, separator, bottom = value.partition("/")
        result = Fraction(
            parse_hexadecimal(top, name, MAX_PROBLEM_DIGITS), _parse_denominator(bottom, name) if separator else 1
        )
        if abs(result) > MAX_COEFFICIENT:
            raise SizeLimit(f"{name} must have numbers of at most {MAX_COEFFICIENT:g}")
        return result
    return Fraction(parse_number(value, name, MAX_COEFFICIENT))


def _parse_denominator(text: str, name: str) -> int:
    """Return a positive whole number of the problem."""
    result = parse_hexadecimal(text, name, MAX_PROBLEM_DIGITS)
    return result if result > 0 else reject(f"denominators of {name} must be positive")


def _parse_scaled_vector(value: Any, size: int, name: str) -> ScaledVector:
    """Return numbers over one denominator."""
    item = parse_object_with_keys(value, {"denominator", "numerators"}, name)
    denominator = parse_hexadecimal(item["denominator"], name, MAX_DIGITS)
    numerators = parse_list(item["numerators"], name)
    if denominator <= 0 or len(numerators) != size:
        reject(f"{name} must have {size} numerators, and a positive denominator")
    return ScaledVector([parse_hexadecimal(text, name, MAX_DIGITS) for text in numerators], denominator)


def _parse_numbers(value: Any, size: int, name: str) -> list[Fraction]:
    """Return so many whole numbers, as fractions."""
    entries = parse_list(value, name)
    if len(entries) != size:
        reject(f"{name} must have {size} numbers; it has {len(entries)}")
    return [Fraction(parse_hexadecimal(text, name, MAX_DIGITS)) for text in entries]


def _parse_multipliers(value: Any, problem: Problem) -> Multipliers:
    """Return the multipliers of a problem."""
    keys = {"objective", "inequalities", "equalities", "matrices", "slopes"}
    keys |= {"implied"} & set(parse_object(value, "multipliers"))
    item = parse_object_with_keys(value, keys, "multipliers")
    matrices, slopes = parse_list(item["matrices"], "matrices"), parse_list(item["slopes"], "slopes")
    implied = [_parse_implied(entry, problem) for entry in parse_list(item.get("implied", []), "implied")]
    keys_of_implied = {
        (
            entry.constraint,
            entry.place,
            tuple(entry.vector),
            *((face.place, *map(tuple, face.vectors)) for face in entry.faces),
        )
        for entry in implied
    }
    if len(keys_of_implied) != len(implied):
        reject("a constraint that implies equations must be stated once")
    if len(matrices) != len(problem.matrices) or len(slopes) != len(problem.nodes):
        reject("there must be one multiplier for each matrix, and one list of slopes for each atom")
    return Multipliers(
        Fraction(parse_hexadecimal(item["objective"], "objective", MAX_DIGITS)),
        _parse_numbers(item["inequalities"], len(problem.inequalities), "inequalities"),
        _parse_numbers(item["equalities"], len(problem.equalities), "equalities"),
        [
            _parse_numbers(entries, size * size, "the multiplier of a matrix")
            for entries, (size, _) in zip(matrices, problem.matrices, strict=True)
        ],
        [
            _parse_numbers(entries, sum(map(len, node.members)), f"the slopes of {node.name}")
            for entries, node in zip(slopes, problem.nodes, strict=True)
        ],
        implied,
    )


def _parse_implied(value: Any, problem: Problem) -> ImpliedEquations:
    """Return equations that a constraint implies, with their multipliers."""
    if parse_object(value, "implied").get("constraint") == "matrices":
        return _parse_exposed(value, problem)
    item = parse_object_with_keys(value, {"constraint", "place", "vector", "limit", "multipliers"}, "implied")
    kind = parse_choice(item["constraint"], {"inequality", "equality", "matrix"}, "constraint")
    limit = None
    if item["limit"] is not None:
        place = parse_object_with_keys(item["limit"], {"constraint", "place"}, "limit")
        limit_kind = parse_choice(place["constraint"], {"inequality", "equality"}, "constraint")
        limit = limit_kind, parse_index(place["place"], _number_of(problem, limit_kind), "place")
    multipliers = parse_short_list(item["multipliers"], "implied")
    vector = parse_list(item["vector"], "vector")
    return ImpliedEquations(
        kind,
        parse_index(item["place"], _number_of(problem, kind), "place"),
        _parse_numbers(vector, problem.matrices[item["place"]][0] if kind == "matrix" else 0, "vector"),
        limit,
        _parse_numbers(multipliers, len(multipliers), "implied"),
    )


def _parse_exposed(value: Any, problem: Problem) -> ImpliedEquations:
    """Return the equations of matrices that exposing matrices imply, with their multipliers."""
    item = parse_object_with_keys(value, {"constraint", "faces", "equations", "multipliers"}, "implied")
    faces = list[ExposedFace]()
    for entry in parse_short_list(item["faces"], "faces"):
        face = parse_object_with_keys(entry, {"place", "vectors", "weights"}, "a face")
        place = parse_index(face["place"], len(problem.matrices), "place")
        size, vectors = problem.matrices[place][0], parse_list(face["vectors"], "vectors")
        weights = parse_list(face["weights"], "weights")
        if not 0 < len(vectors) <= size or len(weights) != len(vectors):
            reject(f"a face must have 1 to {size} vectors, and as many rows of weights")
        faces.append(
            ExposedFace(
                place,
                [_parse_numbers(numbers, size, "vectors") for numbers in vectors],
                [_parse_numbers(numbers, len(vectors), "weights") for numbers in weights],
            )
        )
    if not faces or len({face.place for face in faces}) != len(faces):
        reject("there must be faces, one at most for each matrix")
    lists = [parse_short_list(item[name], name) for name in ("multipliers", "equations")]
    multipliers, equations = (_parse_numbers(entries, len(entries), "implied") for entries in lists)
    return ImpliedEquations("matrices", 0, [], None, multipliers, faces, equations)


def _number_of(problem: Problem, kind: str) -> int:
    """Return the number of constraints of a kind."""
    if kind == "matrix":
        return len(problem.matrices)
    return len(problem.inequalities if kind == "inequality" else problem.equalities)


def _parse_claim(value: Any) -> Claim:
    """Return the claim, whose bounds are the numbers of their texts, exactly."""
    item = parse_object_with_keys(value, {"status", "lower", "upper"}, "claim")
    status = parse_choice(item["status"], STATUSES, "status")
    if status in ("infeasible", "unbounded"):
        if item["lower"] is not None or item["upper"] is not None:
            reject("a problem that is infeasible or unbounded has no interval: lower and upper must be null")
        return Claim(status, None, None)
    lower, upper = (None if item[k] is None else _parse_end(item[k], k) for k in ("lower", "upper"))
    if status == "bounded" and (lower is None or upper is None):
        reject("a claim that the optimum is bounded must state both bounds")
    if lower is None and upper is None:
        reject("a claim must state a bound")
    return Claim(status, lower, upper)


def _parse_end(value: Any, name: str) -> Fraction:
    """Return a bound, exactly as it is written."""
    parse_number(value, name, 1e308)
    return Fraction(Decimal(value.text)) if isinstance(value, DecimalFloat) else Fraction(value)
