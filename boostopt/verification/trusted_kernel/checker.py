"""The bounds of a certificate, recomputed from U, c, d0, d and w alone.

Weak duality: for d in the domain of F with edges in that of G, and w in the domain of G*,

    -F*(-Uw) - G*(w)  <=  optimum  <=  F(d) + G(U'd),

and if <d, Uw> > sup of <w, e> over the edges that G allows, for all d in the domain of F, there is no optimum. Weights
in a file miss their sums by rounding. They are moved to a point that satisfies the conditions exactly; what is not
known of its digits is carried along by the number type. Only NumPy and the standard library are imported here.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from boostopt.verification.trusted_kernel.certificate_schema import Document
from boostopt.verification.trusted_kernel.conjugates import (
    Box,
    Edge,
    Norm,
    Vector,
    binary,
    cap,
    chi_square,
    edge,
    entropy,
    exponential,
    hinge,
    logistic,
    margin_variance,
    quadratic_hinge,
    shortfall,
)
from boostopt.verification.trusted_kernel.feasible_points import (
    FEASIBLE,
    Terms,
    at_most_one,
    held,
    into_ball,
    normed_weights,
    on_equations,
    smallest_in,
)
from boostopt.verification.trusted_kernel.formula_terms import StatedFormula
from boostopt.verification.trusted_kernel.json_parsing import fail
from boostopt.verification.trusted_kernel.number_types import BLOCK, ZERO, Numbers, dense

ROUNDED = 1e-13
"""By how much edges of an infeasible program must be beyond what is allowed, so that it is no matter of rounding."""

HUGE = 1e3
"""Caps beyond it count as 2; smaller ones, which lose little, as they always have: a proof stays what it was."""


Fractions = tuple[Fraction | None, Fraction | None]
"""Both ends of an interval as rational numbers, None where one is not known as such."""


@dataclass(frozen=True)
class ProvedBounds:
    """The proved ends, rounded outward, or an excess; what each end has lost; the ends where they are rational."""

    lower: float
    upper: float
    excess: float = 0.0
    lost: tuple[float, float] = (0.0, 0.0)
    fractions: Fractions = (None, None)


@dataclass(frozen=True)
class StatedRegularizer:
    """F: a sum on a box, a linear term, a norm."""

    box: Box
    tilt: Vector | None
    norm: Norm | None

    def value(self, A: Numbers, d: Vector) -> Any:
        """Return F(d) for d in the domain."""
        value = A.total(self.box.values(d))
        if self.tilt is not None:
            value = value + A.total(self.tilt * d)
        if self.norm is not None and not self.norm.ball:
            value = value + self.norm.of(A, d) * A.number(self.norm.r)
        return value


def digest(U: Any) -> str:
    """Return SHA-256 of the shape and the values of a matrix, row by row as float64."""
    sha = hashlib.sha256(repr((int(U.shape[0]), int(U.shape[1]))).encode())
    for start in range(0, U.shape[0], BLOCK):
        sha.update(np.ascontiguousarray(dense(U, slice(start, start + BLOCK)) + 0.0).data)  # + 0.0 undoes -0.0
    return sha.hexdigest()


def vector_digest(x: np.ndarray) -> str:
    """Return SHA-256 of the values of a vector as float64."""
    return hashlib.sha256(np.ascontiguousarray(x + 0.0, dtype=np.float64).data).hexdigest()


def check_shape(document: Document, U: Any) -> None:
    """Reject a document that is of a margin matrix of another shape."""
    if tuple(U.shape) != (document.N, document.t):
        fail(f"the certificate is of {document.N} examples and {document.t} hypotheses; the data are {tuple(U.shape)}")


def recompute(document: Document, U: Any, A: Numbers) -> ProvedBounds:
    """Return the bounds that a document proves for a margin matrix.

    Raises
    ------
    Rejected
        The matrix is another one, or the weights are not what they must be.
    """
    check_shape(document, U)
    if digest(U) != document.digest:
        fail("the certificate is of another margin matrix: its digest differs")
    for name, vector, stated in (("c", document.c, document.digest_c), ("d0", document.d0, document.digest_d0)):
        if vector_digest(vector) != stated:
            fail(f"the certificate has other {name} than its digest states")
    F = regularizer(document, A)
    G = _edge_formula(document, U, A, F) if document.G["kind"] == "formula" else edge(A, document.G)
    if G.weights == "tied" and document.t != 2:
        fail(f"an edge function that ties two edges has t = 2; the certificate says {document.t}")
    if document.outcome == "infeasible":
        excess = _excess(A, document, U, F, G)
        if 0.0 < A.low(excess) <= ROUNDED * math.fsum(np.abs(document.arrays["w"]).tolist()):
            fail("infeasibility is not proved beyond rounding: relative to the edges, the excess is below 1e-13")
        return ProvedBounds(math.inf, math.inf, float(A.low(excess)), (_width(A, excess), 0.0))
    w = _hypothesis_weights(A, G, document.arrays["w"])
    below = _conjugate(A, document, F, -A.margins(U, w)) + G.conjugate(w)
    lower, lost = _end(-A.high(below)), _width(A, below)
    above = _primal(A, document, U, F, G) if "d" in document.arrays else None
    if above is None:
        return ProvedBounds(lower, math.inf, lost=(lost, 0.0), fractions=(_fraction(-below), None))
    upper, fractions = 0.0 - _end(-A.high(above)), (_fraction(-below), _fraction(above))
    return ProvedBounds(lower, upper, lost=(lost, _width(A, above)), fractions=fractions)


def _edge_formula(document: Document, U: Any, A: Numbers, F: StatedRegularizer) -> Edge:
    """Return the edge function of a formula; Rejected where edges may leave [-1, 1], on which it counts."""
    blocks = (dense(U, slice(start, start + BLOCK)) for start in range(0, document.N, BLOCK))
    if not (F.box.on_simplex and not F.box.free and all(bool((np.abs(block) <= 1.0).all()) for block in blocks)):
        fail("a formula of the edges needs weights of one sign that sum to 1, and margins in [-1, 1]")
    return StatedFormula.of(document.G["text"], document.G["parameters"], "e").edge(A, document.t)


def regularizer(document: Document, A: Numbers) -> StatedRegularizer:
    """Return F as it is stated."""
    c, d0, F = document.c, document.d0, document.F
    norm = tilt = None
    if F["kind"] in ("norm ball", "norm penalty"):
        caps = F["base"]["caps"]
        central = caps == "c / nu" or (caps == "1 / nu" and F["base"]["nu"] <= 1.0)
        norm = Norm(F["kind"] == "norm ball", F["p"], F["r"], c, central)
    if F["kind"] == "tilted":
        tilt = A.vector(document.arrays["tilt"])
    box = _box(document, A, F.get("base", F), c, d0)
    _check_inhabited(A, box, norm)
    return StatedRegularizer(box, tilt, norm)


def _box(document: Document, A: Numbers, F: Any, c: np.ndarray, d0: np.ndarray) -> Box:
    """Return the sum over the examples."""
    if F["kind"] == "hinge":
        return hinge(A, A.vector(c) * A.number(F["C"]))
    if F["kind"] == "quadratic hinge":
        return quadratic_hinge(A, c, F["C"], F["mu"], F["B"])
    if F["kind"] == "exponential":
        return exponential(A, c, F["C"])
    if F["kind"] == "logistic":
        return logistic(A, A.vector(c) * A.number(F["C"]))
    if F["kind"] == "margin variance":
        if not math.fsum(c.tolist()) > 1.0:
            fail("a variance of the margins needs multiplicities that sum to more than 1")
        return margin_variance(A, c, F["D"])
    if F["kind"] == "shortfall":
        return shortfall(A, c, F["C"], F["theta"])
    if F["kind"] == "logarithmic loss":
        half = A.vector(0.5 * c)
        return binary(A, A.vector(c), F["eta"], 0.5 * c, half, np.ones(len(c), dtype=bool), simplex=False)
    counts = np.ones(len(c)) if F["caps"] == "1 / nu" else c
    of, nu = (document.arrays["caps"], 1.0) if F["caps"] == "given" else (counts, F["nu"])
    stated = _formula(document, F) if F["kind"] == "formula" else None
    plain, live = of / nu, d0 > 0 if stated is None or stated.read.depends_on("d0") else np.ones(len(c), dtype=bool)
    counted = of if F["kind"] == "cap" else of[live]
    total = math.fsum(counted.tolist()) / nu
    if total < 1.0 - 1e-12:
        fail(f"there are no example weights within the caps: they sum to {total:.6g}, less than 1")
    free = live & (d0 < plain)
    # A nu above the sum of the multiplicities by rounding means that sum, and so does one that lets no weight move.
    short = math.fsum([*counted.tolist(), -nu]) < 0 or (F["kind"] == "binary entropy" and not free.any())
    by = A.total(A.vector(counted)) if short else A.number(nu)
    u = A.vector(of) if nu == 1.0 and not short else A.vector(of) / by
    if F["kind"] == "cap":
        # Weights that sum to 1 never reach 2: a huge cap says no more, and would multiply the rounding beside it.
        return cap(A, A.choose((plain > HUGE) & (not short), A.vector(np.full(len(c), 2.0)), u))
    if stated is not None:
        return stated.box(A, A.choose(live, u, A.vector(np.zeros(len(c)))), c, d0)
    if F["kind"] == "power divergence":
        if F["q"] != 2.0:
            fail(f"a power divergence is known for the order 2 alone; q of F is {F['q']!r}")
        return chi_square(A, u, F["eta"], c)
    if F["kind"] in ("relative entropy", "unnormalized relative entropy"):
        return entropy(A, u, F["eta"], d0, F["kind"] != "relative entropy")
    if F["kind"] != "binary entropy":
        fail(f"the kind of F is unknown: {F['kind']!r} has no formula")
    if not (d0 <= plain * (1 + 1e-11)).all():
        fail("the binary entropy needs a reference distribution within the caps")
    rest = u - A.vector(d0) if short else A.residue(of, nu, d0) / by
    return binary(A, u, F["eta"], d0, rest, free, simplex=True)


def _formula(document: Document, F: Any) -> StatedFormula:
    """Return the formula that is stated, as far as it can be read."""
    parameters = {
        name: document.arrays[f"formula {name}"] if value == "array" else value
        for name, value in F["parameters"].items()
    }
    return StatedFormula.of(F["text"], parameters)


def _check_inhabited(A: Numbers, box: Box, norm: Norm | None) -> None:
    """Reject a domain that has no point: every bound would hold of nothing, by as much as a multiplier is large."""
    one = A.number(1.0)
    if box.on_simplex and (A.high(A.total(box.upper) - one) < 0.0 or A.low(A.total(box.lower) - one) > 0.0):
        fail("there are no example weights within the caps: they cannot sum to 1")
    if norm is None or not norm.ball or not A.exact:
        return
    center = smallest_in(A, norm, A.high(box.upper) > ZERO)
    if not (A.certain(A.number(norm.r) - norm.of(A, center)) and (A.high(center - box.upper) <= 0.0).all()):
        fail(
            "in exact arithmetic, no example weights in the ball are known: it may touch the simplex in one point only"
        )


def _conjugate(A: Numbers, document: Document, F: StatedRegularizer, z: Vector) -> Any:
    """Return a number that is not below F*(z)."""
    z = z if F.tilt is None else z - F.tilt
    extra = A.number(0.0)
    if F.norm is not None:
        s = A.vector(document.arrays["s"])
        size = F.norm.dual(A, s)
        if F.norm.ball:
            extra = size * A.number(F.norm.r)
        else:
            s = s * A.number(at_most_one(A, size / A.number(F.norm.r)))
        z = z - s
    beta = A.number(document.beta if F.box.on_simplex else 0.0)
    return A.total(F.box.conjugates(z - beta)) + beta + extra


def _excess(A: Numbers, document: Document, U: Any, F: StatedRegularizer, G: Edge) -> Any:
    """Return by how much <d, Uw> exceeds what G allows, at least, for every d in the domain of F."""
    w, weights = document.arrays["w"], A.vector(document.arrays["w"])
    if G.weights == "tied":
        if w[0] != -w[1]:
            fail("a proof of infeasibility must weight the two edges that are equal by opposite numbers")
    elif math.isinf(G.bound) and math.isnan(G.equal):
        fail("a program whose edges are not bounded is feasible")
    elif G.weights == "positive" and not (w >= 0).all():
        fail("a proof of infeasibility must have non-negative weights where edges are bounded from above")
    if F.box.free:
        fail("infeasibility is not proved, because the weights have no box")
    beta = A.number(document.beta if F.box.on_simplex else 0.0)
    y = -A.margins(U, weights) - beta
    lower, upper = F.box.lower, F.box.upper
    if F.box.on_simplex:
        upper = A.choose(A.low(upper) >= 1.0, A.vector(np.ones(document.N)), upper)
    support = A.total(lower * y) + A.total((upper - lower) * A.positive(y)) + beta
    return -support - G.conjugate(weights)


def _hypothesis_weights(A: Numbers, G: Edge, raw: np.ndarray) -> Vector:
    """Return the weights as they must be, exactly; Rejected where they are not so but for rounding."""
    w, total, size = A.vector(raw), math.fsum(raw.tolist()), math.fsum(np.abs(raw).tolist())
    if G.weights in ("simplex", "positive") and not (raw >= 0).all():
        fail(f"w must be non-negative; its smallest entry is {raw.min():.3g}")
    if G.weights in ("simplex", "tied") and not abs(total - 1.0) <= FEASIBLE * max(1.0, size):
        fail(f"w must sum to 1; it sums to {total!r}")
    if G.weights == "ball" and not size <= 1.0 + FEASIBLE:
        fail(f"the absolute values of w must sum to at most 1; they sum to {size!r}")
    if G.norm is not None:
        length = G.norm(w)
        if not A.high(length) <= G.radius * (1.0 + FEASIBLE):
            fail(f"the norm of w must be at most {G.radius!r}; it is {float(A.high(length))!r}")
        return w * A.number(at_most_one(A, length / A.number(G.radius)))
    if G.weights == "given" and not (np.abs(raw - G.slope) <= FEASIBLE * abs(G.slope)).all():
        fail(f"every entry of w must be {G.slope!r}")
    if G.weights == "simplex":
        return w / A.total(w)
    if G.weights == "ball":
        return w * A.number(at_most_one(A, A.total(A.size(w))))
    if G.weights == "tied":
        own = A.choose(np.array([False, True]), w, A.vector(np.zeros(2)))
        return A.choose(np.array([False, True]), w, A.vector(np.ones(2)) - A.total(own))
    return A.vector(np.full(len(raw), G.slope)) if G.weights == "given" else w


def _primal(A: Numbers, document: Document, U: Any, F: StatedRegularizer, G: Edge) -> Any:
    """Return F(d') + G(U'd') for a point d' that is feasible and near d; None where none can be told."""
    d = normed_weights(A, F.box, F.norm, document.arrays["d"])
    ball = F.norm if F.norm is not None and F.norm.ball else None
    if ball is not None:
        d = into_ball(A, ball, d, F.box)
    if d is not None and (G.weights == "tied" or not math.isnan(G.equal)):
        d = on_equations(A, F.box, d, _terms(document, U, G))
        # What led onto the equations may have led out of the ball.
        if d is not None and ball is not None and not A.certain(A.number(ball.r) - ball.of(A, d)):
            return None
    if d is None:
        return None
    e = A.edges(U, d)
    if not math.isinf(G.bound):
        below = held(A, U, F.box, d, e, G.bound, G.absolute)
        if below is None:
            return None
        d, e = below
    return F.value(A, d) + G.value(e)


def _terms(document: Document, U: Any, G: Edge) -> list[Terms]:
    """Return the equations sum d_n (a_n - b_n) = 0 as pairs (a, b)."""
    columns = dense(U, slice(0, document.N))
    if G.weights == "tied":
        return [(columns[:, 1], columns[:, 0])]
    return [(column, np.full(len(column), G.equal)) for column in columns.T]


def _width(A: Numbers, x: Any) -> float:
    """Return what is not known of a number."""
    return float(A.high(x) - A.low(x))


def _fraction(x: Any) -> Fraction | None:
    """Return a number if it is rational."""
    return x if isinstance(x, Fraction) else None


def _end(x: Any) -> float:
    """Return a lower end; -inf where nothing is known, 0 without a sign."""
    return float(x) + 0.0 if np.isfinite(x) else -math.inf
