"""The bounds of a certificate, recomputed from U, c, d0, d and w alone.

Weak duality: for d in the domain of F with edges in that of G, and w in the domain of G*,

    -F*(-Uw) - G*(w)  <=  optimum  <=  F(d) + G(U'd),

If, for all d in the domain of F, <d, Uw> exceeds the supremum of <w, e> over the edges in the domain of G, the program
is infeasible. Weights in a file satisfy their constraints up to rounding. They are replaced by a feasible point, whose
rounding errors the number type bounds. The module imports only NumPy and the standard library.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument
from boostopt.verification.trusted_kernel.conjugates import (
    LOSS_KINDS,
    NormTerm,
    SeparableTerm,
    Vector,
    binary_entropy_term,
    cap_term,
    chi_square_term,
    entropy_term,
)
from boostopt.verification.trusted_kernel.edge_terms import EdgeTerms, build_edge_terms
from boostopt.verification.trusted_kernel.feasible_weights import (
    FEASIBILITY_TOLERANCE,
    LinearEquation,
    feasible_weights_with_norm,
    min_norm_point,
    project_into_ball,
    project_onto_equations,
    scale_to_edge_bound,
    shrink_factor,
)
from boostopt.verification.trusted_kernel.formula_terms import ParsedFormula
from boostopt.verification.trusted_kernel.json_parsing import reject
from boostopt.verification.trusted_kernel.number_types import BLOCK_ROWS, ZERO_THRESHOLD, NumberType, dense_rows

INFEASIBILITY_TOLERANCE = 1e-13
"""The smallest relative excess of edges that proves infeasibility beyond rounding errors."""

MAX_EXACT_CAP = 1e3
"""Larger caps count as 2; smaller caps stay as they are, because their rounding errors are small."""


RationalBounds = tuple[Fraction | None, Fraction | None]
"""Both bounds as rational numbers; None for a bound that is not rational."""


@dataclass(frozen=True)
class ProvedBounds:
    """The proved bounds of a certificate.

    Attributes
    ----------
    lower, upper
        The bounds, rounded outward.
    excess
        The proved excess of the edges of an infeasible program, otherwise 0.
    rounding_errors
        Bounds on the rounding errors of both bounds.
    rational_bounds
        Both bounds as rational numbers, if they are rational.
    """

    lower: float
    upper: float
    excess: float = 0.0
    rounding_errors: tuple[float, float] = (0.0, 0.0)
    rational_bounds: RationalBounds = (None, None)


@dataclass(frozen=True)
class RegularizerTerms:
    """The regularizer F: a separable term on a box, a linear term and a norm term."""

    box: SeparableTerm
    linear_term: Vector | None
    norm: NormTerm | None

    def value(self, A: NumberType, d: Vector) -> Any:
        """Return F(d) for d in the domain."""
        value = A.total(self.box.values(d))
        if self.linear_term is not None:
            value = value + A.total(self.linear_term * d)
        if self.norm is not None and not self.norm.ball:
            value = value + self.norm.norm(A, d) * A.to_number(self.norm.r)
        return value


def matrix_digest(U: Any) -> str:
    """Return SHA-256 of the shape and the values of a matrix, row by row as float64."""
    sha = hashlib.sha256(repr((int(U.shape[0]), int(U.shape[1]))).encode())
    for start in range(0, U.shape[0], BLOCK_ROWS):
        sha.update(
            np.ascontiguousarray(dense_rows(U, slice(start, start + BLOCK_ROWS)) + 0.0).data
        )  # + 0.0 undoes -0.0
    return sha.hexdigest()


def vector_digest(x: np.ndarray) -> str:
    """Return SHA-256 of the values of a vector as float64."""
    return hashlib.sha256(np.ascontiguousarray(x + 0.0, dtype=np.float64).data).hexdigest()


def check_shape(document: CertificateDocument, U: Any) -> None:
    """Reject a document about a margin matrix of another shape."""
    if tuple(U.shape) != (document.N, document.t):
        reject(
            f"the certificate is of {document.N} examples and {document.t} hypotheses; the data are {tuple(U.shape)}"
        )


def recompute_bounds(document: CertificateDocument, U: Any, A: NumberType) -> ProvedBounds:
    """Return the bounds that a document proves for a margin matrix.

    Raises
    ------
    Rejected
        The matrix is another one, or the weights are not feasible.
    """
    check_shape(document, U)
    if matrix_digest(U) != document.digest:
        reject("the certificate is of another margin matrix: its digest differs")
    for name, vector, expected_digest in (
        ("c", document.c, document.digest_c),
        ("d0", document.d0, document.digest_d0),
    ):
        if vector_digest(vector) != expected_digest:
            reject(f"the certificate has other {name} than its digest states")
    F = build_regularizer(document, A)
    G = _build_edge_formula(document, U, A, F) if document.G["kind"] == "formula" else build_edge_terms(A, document.G)
    if G.weight_constraint == "tied" and document.t != 2:
        reject(f"an edge function that ties two edges has t = 2; the certificate says {document.t}")
    if document.outcome == "infeasible":
        excess = _infeasibility_excess(A, document, U, F, G)
        if 0.0 < A.lower(excess) <= INFEASIBILITY_TOLERANCE * math.fsum(np.abs(document.arrays["w"]).tolist()):
            reject("infeasibility is not proved beyond rounding: relative to the edges, the excess is below 1e-13")
        return ProvedBounds(math.inf, math.inf, float(A.lower(excess)), (_uncertainty(A, excess), 0.0))
    w = _feasible_hypothesis_weights(A, G, document.arrays["w"])
    dual_bound = _conjugate_bound(A, document, F, -A.margins(U, w)) + G.conjugate(w)
    lower, lower_error = _lower_float(-A.upper(dual_bound)), _uncertainty(A, dual_bound)
    primal_bound = _primal_bound(A, document, U, F, G) if "d" in document.arrays else None
    if primal_bound is None:
        return ProvedBounds(
            lower, math.inf, rounding_errors=(lower_error, 0.0), rational_bounds=(_as_fraction(-dual_bound), None)
        )
    upper, fractions = (
        0.0 - _lower_float(-A.upper(primal_bound)),
        (_as_fraction(-dual_bound), _as_fraction(primal_bound)),
    )
    return ProvedBounds(
        lower, upper, rounding_errors=(lower_error, _uncertainty(A, primal_bound)), rational_bounds=fractions
    )


def _build_edge_formula(document: CertificateDocument, U: Any, A: NumberType, F: RegularizerTerms) -> EdgeTerms:
    """Return the edge function of a formula; Rejected where edges may leave [-1, 1], on which it counts."""
    blocks = (dense_rows(U, slice(start, start + BLOCK_ROWS)) for start in range(0, document.N, BLOCK_ROWS))
    if not (
        F.box.on_simplex and not F.box.is_unbounded and all(bool((np.abs(block) <= 1.0).all()) for block in blocks)
    ):
        reject("a formula of the edges needs weights of one sign that sum to 1, and margins in [-1, 1]")
    return ParsedFormula.parse(document.G["text"], document.G["parameters"], "e").edge_function(A, document.t)


def build_regularizer(document: CertificateDocument, A: NumberType) -> RegularizerTerms:
    """Return the regularizer that a document states."""
    c, d0, F = document.c, document.d0, document.F
    norm = tilt = None
    if F["kind"] in ("norm ball", "norm penalty"):
        caps = F["base"]["caps"]
        central = caps == "c / nu" or (caps == "1 / nu" and F["base"]["nu"] <= 1.0)
        norm = NormTerm(F["kind"] == "norm ball", F["p"], F["r"], c, central)
    if F["kind"] == "tilted":
        tilt = A.to_vector(document.arrays["tilt"])
    box = _build_separable_term(document, A, F.get("base", F), c, d0)
    _require_nonempty_domain(A, box, norm)
    return RegularizerTerms(box, tilt, norm)


def _build_separable_term(
    document: CertificateDocument, A: NumberType, F: Any, c: np.ndarray, d0: np.ndarray
) -> SeparableTerm:
    """Return the separable term of a regularizer, given its JSON."""
    if F["kind"] in LOSS_KINDS:
        return LOSS_KINDS[F["kind"]].term(A, c, F)
    counts = np.ones(len(c)) if F["caps"] == "1 / nu" else c
    cap_numerators, nu = (document.arrays["caps"], 1.0) if F["caps"] == "given" else (counts, F["nu"])
    expected_digest = _parse_formula(document, F) if F["kind"] == "formula" else None
    caps, has_reference = (
        cap_numerators / nu,
        d0 > 0
        if expected_digest is None or expected_digest.expression.depends_on("d0")
        else np.ones(len(c), dtype=bool),
    )
    counted_numerators = cap_numerators if F["kind"] == "cap" else cap_numerators[has_reference]
    total = math.fsum(counted_numerators.tolist()) / nu
    if total < 1.0 - 1e-12:
        reject(f"there are no example weights within the caps: they sum to {total:.6g}, less than 1")
    is_free = has_reference & (d0 < caps)
    # A nu above the sum of the multiplicities by rounding means that sum, and so does one that lets no weight move.
    is_sum_of_counts = math.fsum([*counted_numerators.tolist(), -nu]) < 0 or (
        F["kind"] == "binary entropy" and not is_free.any()
    )
    divisor = A.total(A.to_vector(counted_numerators)) if is_sum_of_counts else A.to_number(nu)
    u = A.to_vector(cap_numerators) if nu == 1.0 and not is_sum_of_counts else A.to_vector(cap_numerators) / divisor
    if F["kind"] == "cap":
        # Weights that sum to 1 never reach 2: a huge cap says no more, and would multiply the rounding beside it.
        return cap_term(
            A, A.select((caps > MAX_EXACT_CAP) & (not is_sum_of_counts), A.to_vector(np.full(len(c), 2.0)), u)
        )
    if expected_digest is not None:
        return expected_digest.separable_term(A, A.select(has_reference, u, A.to_vector(np.zeros(len(c)))), c, d0)
    if F["kind"] == "power divergence":
        if F["q"] != 2.0:
            reject(f"a power divergence is known for the order 2 alone; q of F is {F['q']!r}")
        return chi_square_term(A, u, F["eta"], c)
    if F["kind"] in ("relative entropy", "unnormalized relative entropy"):
        return entropy_term(A, u, F["eta"], d0, F["kind"] != "relative entropy")
    if F["kind"] != "binary entropy":
        reject(f"the kind of F is unknown: {F['kind']!r} has no formula")
    if not (d0 <= caps * (1 + 1e-11)).all():
        reject("the binary entropy needs a reference distribution within the caps")
    complement = u - A.to_vector(d0) if is_sum_of_counts else A.capped_difference(cap_numerators, nu, d0) / divisor
    return binary_entropy_term(A, u, F["eta"], d0, complement, is_free, simplex=True)


def _parse_formula(document: CertificateDocument, F: Any) -> ParsedFormula:
    """Return the formula that is stated, as far as it can be read."""
    parameters = {
        name: document.arrays[f"formula {name}"] if value == "array" else value
        for name, value in F["parameters"].items()
    }
    return ParsedFormula.parse(F["text"], parameters)


def _require_nonempty_domain(A: NumberType, box: SeparableTerm, norm: NormTerm | None) -> None:
    """Reject an empty domain, for which every bound would hold."""
    one = A.to_number(1.0)
    if box.on_simplex and (A.upper(A.total(box.upper) - one) < 0.0 or A.lower(A.total(box.lower) - one) > 0.0):
        reject("there are no example weights within the caps: they cannot sum to 1")
    if norm is None or not norm.ball or not A.exact:
        return
    center = min_norm_point(A, norm, A.upper(box.upper) > ZERO_THRESHOLD)
    if not (
        A.is_certainly_nonnegative(A.to_number(norm.r) - norm.norm(A, center))
        and (A.upper(center - box.upper) <= 0.0).all()
    ):
        reject(
            "in exact arithmetic, no example weights in the ball are known: it may touch the simplex in one point only"
        )


def _conjugate_bound(A: NumberType, document: CertificateDocument, F: RegularizerTerms, z: Vector) -> Any:
    """Bound F*(z) from above."""
    z = z if F.linear_term is None else z - F.linear_term
    extra = A.to_number(0.0)
    if F.norm is not None:
        s = A.to_vector(document.arrays["s"])
        size = F.norm.dual_norm(A, s)
        if F.norm.ball:
            extra = size * A.to_number(F.norm.r)
        else:
            s = s * A.to_number(shrink_factor(A, size / A.to_number(F.norm.r)))
        z = z - s
    beta = A.to_number(document.beta if F.box.on_simplex else 0.0)
    return A.total(F.box.conjugates(z - beta)) + beta + extra


def _infeasibility_excess(
    A: NumberType, document: CertificateDocument, U: Any, F: RegularizerTerms, G: EdgeTerms
) -> Any:
    """Bound from below the excess of <d, Uw> over its maximum in the domain of G, for all d in the domain of F."""
    w, weights = document.arrays["w"], A.to_vector(document.arrays["w"])
    if G.weight_constraint == "tied":
        if w[0] != -w[1]:
            reject("a proof of infeasibility must weight the two edges that are equal by opposite numbers")
    elif math.isinf(G.max_edge) and math.isnan(G.fixed_edge):
        reject("a program whose edges are not bounded is feasible")
    elif G.weight_constraint == "positive" and not (w >= 0).all():
        reject("a proof of infeasibility must have non-negative weights where edges are bounded from above")
    if F.box.is_unbounded:
        reject("infeasibility is not proved, because the weights have no box")
    beta = A.to_number(document.beta if F.box.on_simplex else 0.0)
    y = -A.margins(U, weights) - beta
    lower, upper = F.box.lower, F.box.upper
    if F.box.on_simplex:
        upper = A.select(A.lower(upper) >= 1.0, A.to_vector(np.ones(document.N)), upper)
    support = A.total(lower * y) + A.total((upper - lower) * A.positive(y)) + beta
    return -support - G.conjugate(weights)


def _feasible_hypothesis_weights(A: NumberType, G: EdgeTerms, raw_w: np.ndarray) -> Vector:
    """Return the weights as they must be, exactly; Rejected where they are not so but for rounding."""
    w, total, size = A.to_vector(raw_w), math.fsum(raw_w.tolist()), math.fsum(np.abs(raw_w).tolist())
    if G.weight_constraint in ("simplex", "positive") and not (raw_w >= 0).all():
        reject(f"w must be non-negative; its smallest entry is {raw_w.min():.3g}")
    if G.weight_constraint in ("simplex", "tied") and not abs(total - 1.0) <= FEASIBILITY_TOLERANCE * max(1.0, size):
        reject(f"w must sum to 1; it sums to {total!r}")
    if G.weight_constraint == "ball" and not size <= 1.0 + FEASIBILITY_TOLERANCE:
        reject(f"the absolute values of w must sum to at most 1; they sum to {size!r}")
    if G.norm is not None:
        length = G.norm(w)
        if not A.upper(length) <= G.radius * (1.0 + FEASIBILITY_TOLERANCE):
            reject(f"the norm of w must be at most {G.radius!r}; it is {float(A.upper(length))!r}")
        return w * A.to_number(shrink_factor(A, length / A.to_number(G.radius)))
    if (
        G.weight_constraint == "given"
        and not (np.abs(raw_w - G.fixed_weight) <= FEASIBILITY_TOLERANCE * abs(G.fixed_weight)).all()
    ):
        reject(f"every entry of w must be {G.fixed_weight!r}")
    if G.weight_constraint == "simplex":
        return w / A.total(w)
    if G.weight_constraint == "ball":
        return w * A.to_number(shrink_factor(A, A.total(A.absolute(w))))
    if G.weight_constraint == "tied":
        second_weight = A.select(np.array([False, True]), w, A.to_vector(np.zeros(2)))
        return A.select(np.array([False, True]), w, A.to_vector(np.ones(2)) - A.total(second_weight))
    return A.to_vector(np.full(len(raw_w), G.fixed_weight)) if G.weight_constraint == "given" else w


def _primal_bound(A: NumberType, document: CertificateDocument, U: Any, F: RegularizerTerms, G: EdgeTerms) -> Any:
    """Return F(d') + G(U'd') for a point d' that is feasible and near d; None where none can be told."""
    d = feasible_weights_with_norm(A, F.box, F.norm, document.arrays["d"])
    ball = F.norm if F.norm is not None and F.norm.ball else None
    if ball is not None:
        d = project_into_ball(A, ball, d, F.box)
    if d is not None and (G.weight_constraint == "tied" or not math.isnan(G.fixed_edge)):
        d = project_onto_equations(A, F.box, d, _edge_equations(document, U, G))
        # The projection onto the equations may leave the ball.
        if d is not None and ball is not None and not A.is_certainly_nonnegative(A.to_number(ball.r) - ball.norm(A, d)):
            return None
    if d is None:
        return None
    e = A.edges(U, d)
    if not math.isinf(G.max_edge):
        dual_bound = scale_to_edge_bound(A, U, F.box, d, e, G.max_edge, G.absolute)
        if dual_bound is None:
            return None
        d, e = dual_bound
    return F.value(A, d) + G.value(e)


def _edge_equations(document: CertificateDocument, U: Any, G: EdgeTerms) -> list[LinearEquation]:
    """Return the equations sum d_n (a_n - b_n) = 0 as pairs (a, b)."""
    columns = dense_rows(U, slice(0, document.N))
    if G.weight_constraint == "tied":
        return [(columns[:, 1], columns[:, 0])]
    return [(column, np.full(len(column), G.fixed_edge)) for column in columns.T]


def _uncertainty(A: NumberType, x: Any) -> float:
    """Return the width of the interval of a number."""
    return float(A.upper(x) - A.lower(x))


def _as_fraction(x: Any) -> Fraction | None:
    """Return a number if it is a fraction, otherwise None."""
    return x if isinstance(x, Fraction) else None


def _lower_float(x: Any) -> float:
    """Return a lower bound as a float: -inf if it is not finite, and 0.0 for -0.0."""
    return float(x) + 0.0 if np.isfinite(x) else -math.inf
