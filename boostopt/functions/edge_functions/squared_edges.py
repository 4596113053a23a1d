"""A quarter of the squared edges, or of their squared positive parts: hypothesis weights with a quadratic penalty.

G(e) = (1/4) ||[e]_+||^2 with G*(w) = ||w||^2 + I[w >= 0] [Raetsch, Onoda, Mueller 2001, figure 14], and
G(e) = (1/4) ||e||^2 with G*(w) = ||w||^2, as in the support vector machine. Both are the elastic net with l1 = 0 and
l2 = 2; in certificate files, they have kinds of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from boostopt.functions.edge_functions.norm_and_elastic_net_penalties import ElasticEdges


@dataclass(frozen=True)
class SquaredEdges(ElasticEdges):
    """A quarter of the sum of the squares of the edges: `ElasticEdges(True, 0, 2)`."""

    signed: bool = field(default=True, init=False, repr=False)
    l1: float = field(default=0.0, init=False, repr=False)
    l2: float = field(default=2.0, init=False, repr=False)

    kind: ClassVar[str] = "squared"

    def statement(self) -> dict[str, Any]:
        return {"kind": self.kind}


@dataclass(frozen=True)
class SquaredPositiveEdges(SquaredEdges):
    """A quarter of the sum of the squares of the positive edges: `ElasticEdges(False, 0, 2)`."""

    signed: bool = field(default=False, init=False, repr=False)

    kind: ClassVar[str] = "squared positive"
