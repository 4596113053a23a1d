"""A pair (F, G) by kind and numbers: what a certificate states of the program that it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from boostopt.edges.base import EdgeFunction
from boostopt.edges.bounded import BoundedEdges, FixedEdges
from boostopt.edges.linear import LinearEdges
from boostopt.edges.maximum import AbsoluteEdge, MaximumEdge
from boostopt.edges.squared import SquaredEdges, SquaredPositiveEdges
from boostopt.edges.tied import TiedEdges
from boostopt.errors import ProblemError
from boostopt.programs.program import Examples
from boostopt.regularizers.base import Regularizer
from boostopt.regularizers.binary_entropy import BinaryEntropy, LogarithmicLoss
from boostopt.regularizers.cap import Cap
from boostopt.regularizers.hinge import Hinge
from boostopt.regularizers.norms import NormBall, NormPenalty
from boostopt.regularizers.relative_entropy import RelativeEntropy, UnnormalizedRelativeEntropy
from boostopt.regularizers.tilted import Tilted
from boostopt.shapes import Array, Float

Stated = tuple[dict[str, Any], dict[str, Array]]
"""A statement of F and the arrays that it needs."""

ENTROPIES = {
    RelativeEntropy: "relative entropy",
    UnnormalizedRelativeEntropy: "unnormalized relative entropy",
    BinaryEntropy: "binary entropy",
}

NORMS = {NormBall: "norm ball", NormPenalty: "norm penalty"}

EDGE_FUNCTIONS: Mapping[type[EdgeFunction], Callable[[Any], dict[str, Any]]] = {
    MaximumEdge: lambda G: {"kind": "maximum"},
    AbsoluteEdge: lambda G: {"kind": "absolute"},
    BoundedEdges: lambda G: {"kind": "bounded", "gamma": G.gamma},
    FixedEdges: lambda G: {"kind": "fixed", "rho": G.rho},
    SquaredEdges: lambda G: {"kind": "squared"},
    SquaredPositiveEdges: lambda G: {"kind": "squared positive"},
    LinearEdges: lambda G: {"kind": "linear", "slope": G.slope},
    TiedEdges: lambda G: {"kind": "tied"},
}


def described_edge(G: EdgeFunction) -> dict[str, Any]:
    """Return G by kind and numbers.

    Raises
    ------
    ProblemError
        It is none of boostopt's own, so that a file cannot say what it is.
    """
    if type(G) not in EDGE_FUNCTIONS:
        raise _foreign("an edge function", G)
    return EDGE_FUNCTIONS[type(G)](G)


def described(F: Regularizer, examples: Examples, nus: tuple[float, ...] = ()) -> Stated:
    """Return F by kind and numbers, with the arrays that it needs.

    Parameters
    ----------
    F
        The regularizer.
    examples
        Multiplicities and reference distribution.
    nus
        Numbers by which c may have been divided to give the caps: where one of them gives these, the caps are stated by
        it.

    Raises
    ------
    ProblemError
        It is none of boostopt's own with closed forms, so that a file cannot say what it is.
    """
    stated, arrays = _described(F, examples, nus)
    return stated, arrays


def _described(F: Regularizer, examples: Examples, nus: tuple[float, ...]) -> Stated:
    c, d0 = examples.c, examples.d0
    if type(F) is Cap:
        return _with_caps({"kind": "cap"}, F.upper, c, np.ones(len(c), dtype=bool), (F.domain.nu, *nus))
    if isinstance(F, BinaryEntropy | RelativeEntropy) and type(F) in ENTROPIES:
        live = d0 > 0
        binary = isinstance(F, BinaryEntropy)
        # A weight that stands at its cap has its reference for a cap, however the caps were scaled.
        caps, tried = (np.where(F.free, F.caps, d0), nus) if binary else (F.upper, (F.domain.nu, *nus))
        if np.array_equal(np.where(F.free, F.d0, d0) if binary else F.d0, d0):
            return _with_caps({"kind": ENTROPIES[type(F)], "eta": F.eta}, caps, c, live, tried)
    if type(F) is LogarithmicLoss and np.array_equal(F.caps, c) and np.array_equal(F.d0, 0.5 * c):
        return {"kind": "logarithmic loss", "eta": F.eta}, {}
    if type(F) is Hinge and np.array_equal(F.c, c):
        return {"kind": "hinge", "C": F.C}, {}
    if isinstance(F, NormBall | NormPenalty) and type(F) in NORMS and np.array_equal(F.c, c):
        base, arrays = _described(F.base, examples, nus)
        return {"kind": NORMS[type(F)], "p": F.p, "r": F.r, "base": base}, arrays
    if type(F) is Tilted and type(F.base) in (Cap, RelativeEntropy):
        base, arrays = _described(F.base, examples, nus)
        return {"kind": "tilted", "base": base}, {**arrays, "tilt": F.tilt}
    raise _foreign("a regularizer", F)


def _with_caps(
    stated: dict[str, Any],
    caps: Float[Array, " N"],
    c: Float[Array, " N"],
    live: Array,
    nus: tuple[float, ...],
) -> Stated:
    """Return a statement with its caps: by a nu if one gives them."""
    for nu in nus:
        for name, counts in (("c / nu", c), ("1 / nu", np.ones(len(c)))):
            with np.errstate(all="ignore"):
                if np.array_equal((counts / nu)[live], caps[live]):
                    return {**stated, "caps": name, "nu": nu}, {}
    return {**stated, "caps": "given"}, {"caps": caps}


def _foreign(what: str, part: object) -> ProblemError:
    return ProblemError(
        f"a certificate in a file must be about {what} whose conjugate is known in closed form, one of boostopt's own; "
        f"got {type(part).__name__}. Keep the program and its certificate in Python, or state it by boostopt's pieces."
    )
