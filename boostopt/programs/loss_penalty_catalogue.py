"""The names of losses and penalties that `combine` accepts: the text of each, and its F or G, from `functions`.

F* is the loss at -m, and G* the penalty. `loss_penalty_formulation` combines one of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.edge_bound_indicators import BoundedEdges
from boostopt.functions.edge_functions.largest_edge import AbsoluteEdge, MaximumEdge
from boostopt.functions.edge_functions.norm_and_elastic_net_penalties import BallEdges, ElasticEdges, OneNormEdges
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.capped_simplex_indicator import CappedSimplexIndicator
from boostopt.functions.regularizers.loss_conjugates import Exponential, Hinge, Logistic, QuadraticHinge
from boostopt.programs.loss_penalty_texts import (
    LossText,
    PenaltyText,
    ProblemText,
    soft_margin_text,
    texts_by_sign,
)
from boostopt.programs.parameters import COUNT, POSITIVE, Domain, parameter
from boostopt.programs.program import Examples

FRACTION_DOMAIN = Domain("(0, 1]", lambda value, examples: 0.0 < value <= 1.0)


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the margins.

    Attributes
    ----------
    text
        The title, the source, F and F* in plain notation.
    regularizer
        Function that returns F for the parameters and the examples.
    parameters
        The parameters, each created by `parameter`.
    """

    text: LossText
    regularizer: Callable[[Any, Examples], Regularizer]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class WeightPenalty:
    """A penalty of the hypothesis weights.

    Attributes
    ----------
    text
        The title, the source, G and G* in plain notation.
    edge_function
        Function that returns G for the parameters and a flag: whether weights are free in sign.
    parameters
        The parameters, each created by `parameter`.
    """

    text: PenaltyText
    edge_function: Callable[[Any, bool], EdgeFunction]
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])


PRICE = parameter("the price of the loss at one example", POSITIVE, 1.0)

RADIUS = parameter("the radius of the ball of hypothesis weights", POSITIVE)

PRICE_OF_1_NORM = parameter("the price of the 1-norm of the hypothesis weights", POSITIVE)

PRICE_OF_SQUARES = parameter("the price of half of the squared 2-norm of the hypothesis weights", POSITIVE)

LOSSES: Mapping[str, MarginLoss] = {
    "hinge": MarginLoss(
        LossText(
            "Hinge loss",
            ProblemText(
                "-sum_n d_n",
                ("0 <= d <= C c : psi",),
                "C sum_n c_n psi_n",
                ("m >= 1 - psi", "psi >= 0"),
                "psi_n = max(0, 1 - m_n),   psi_n (C c_n - d_n) = 0,   m_n > 1  =>  d_n = 0",
                ("", "psi"),
            ),
            "Cortes and Vapnik 1995",
        ),
        lambda p, examples: Hinge(examples.c, p.C),
        {"C": PRICE},
    ),
    "squared_hinge": MarginLoss(
        LossText(
            "Squared hinge loss",
            ProblemText(
                "-sum_n d_n + (1/4) sum_n d_n^2 / (C c_n)",
                ("d >= 0",),
                "C sum_n c_n max(0, 1 - m_n)^2",
                (),
                "d_n = 2 C c_n max(0, 1 - m_n)",
            ),
            "Cortes and Vapnik 1995",
        ),
        lambda p, examples: QuadraticHinge(examples.c, p.C, 0.5, None),
        {"C": PRICE},
    ),
    "smoothed_hinge": MarginLoss(
        LossText(
            "Smoothed hinge loss",
            ProblemText(
                "-sum_n d_n + (mu/2) sum_n d_n^2 / (C c_n)",
                ("0 <= d <= C c : psi",),
                "C sum_n c_n (max(0, 1 - m_n - psi_n)^2 / (2 mu) + psi_n)",
                ("psi >= 0",),
                "psi_n = max(0, 1 - m_n - mu),   d_n = C c_n min(1, max(0, 1 - m_n) / mu)",
                ("", "psi"),
            ),
            "Nesterov 2005; Shalev-Shwartz and Zhang 2013",
        ),
        lambda p, examples: QuadraticHinge(examples.c, p.C, p.mu, 1.0),
        {"C": PRICE, "mu": parameter("the width over which the hinge is smoothed", POSITIVE, 1.0)},
    ),
    "modified_huber": MarginLoss(
        LossText(
            "Modified Huber loss",
            ProblemText(
                "-sum_n d_n + (1/4) sum_n d_n^2 / (C c_n)",
                ("0 <= d <= 4 C c : psi",),
                "C sum_n c_n (max(0, 1 - m_n - psi_n)^2 + 4 psi_n)",
                ("psi >= 0",),
                "psi_n = max(0, -1 - m_n),   d_n = C c_n min(4, 2 max(0, 1 - m_n))",
                ("", "psi"),
            ),
            "Zhang 2004",
        ),
        lambda p, examples: QuadraticHinge(examples.c, p.C, 0.5, 4.0),
        {"C": PRICE},
    ),
    "logistic": MarginLoss(
        LossText(
            "Logistic loss",
            ProblemText(
                "sum_n [ d_n ln(d_n / (C c_n)) + (C c_n - d_n) ln((C c_n - d_n) / (C c_n)) ]",
                (),
                "C sum_n c_n ln(1 + exp(-m_n))",
                (),
                "d_n = C c_n / (1 + exp(m_n))",
            ),
            "Friedman, Hastie, Tibshirani 2000; Shen and Li 2010",
        ),
        lambda p, examples: Logistic.priced(examples.c, p.C),
        {"C": PRICE},
    ),
    "exponential": MarginLoss(
        LossText(
            "Exponential loss",
            ProblemText(
                "sum_n [ d_n ln(d_n / (C c_n)) - d_n ]",
                (),
                "C sum_n c_n exp(-m_n)",
                (),
                "d_n = C c_n exp(-m_n)",
            ),
            "Freund and Schapire 1997; Shen and Li 2010",
        ),
        lambda p, examples: Exponential(examples.c, p.C),
        {"C": PRICE},
    ),
    "soft_margin": MarginLoss(
        LossText("Soft margin", soft_margin_text(), "Demiriz, Bennett, Shawe-Taylor 2002"),
        lambda p, examples: CappedSimplexIndicator(CappedSimplex(examples.c, p.nu)),
        {"nu": parameter("the least number of examples that share the weight", COUNT)},
    ),
    "cvar": MarginLoss(
        LossText(
            "Conditional value at risk of the margins",
            soft_margin_text("nu = alpha sum_n c_n"),
            "Rockafellar and Uryasev 2000",
        ),
        lambda p, examples: CappedSimplexIndicator(
            CappedSimplex(examples.c, min(p.alpha * examples.total, examples.total))
        ),
        {"alpha": parameter("the share of the examples whose smallest margins are meant", FRACTION_DOMAIN)},
    ),
}
"""The losses by name."""

PENALTIES: Mapping[str, WeightPenalty] = {
    "simplex": WeightPenalty(
        PenaltyText(
            "convex combinations",
            (
                ProblemText(
                    "gamma",
                    ("e <= gamma",),
                    "",
                    ("sum w = 1 : gamma", "w >= 0"),
                    "w_q (gamma - e_q) = 0",
                    ("gamma", ""),
                ),
                None,
            ),
            "Glocer 2009, (2.1)",
        ),
        lambda p, signed: MaximumEdge(),
    ),
    "l1_ball": WeightPenalty(
        PenaltyText(
            "ball of the 1-norm",
            texts_by_sign(
                ProblemText(
                    "r gamma",
                    ("e <= gamma", "gamma >= 0"),
                    "",
                    ("sum w <= r : gamma",),
                    "w_q (gamma - e_q) = 0,   gamma (r - sum w) = 0",
                    ("gamma", ""),
                ),
                ProblemText(
                    "r gamma",
                    ("|e| <= gamma",),
                    "",
                    ("||w||_1 <= r : gamma",),
                    "|w_q| gamma = w_q e_q,   gamma (r - ||w||_1) = 0",
                    ("gamma", ""),
                ),
            ),
            "Shalev-Shwartz and Singer 2008, (3)",
        ),
        lambda p, signed: AbsoluteEdge() if signed and p.r == 1.0 else BallEdges(signed, 1.0, p.r),
        {"r": RADIUS},
    ),
    "l1": WeightPenalty(
        PenaltyText(
            "penalty of the 1-norm",
            texts_by_sign(
                ProblemText("0", ("e <= l1",), "l1 sum_q w_q", (), "w_q (l1 - e_q) = 0"),
                ProblemText("0", ("|e| <= l1",), "l1 ||w||_1", (), "|w_q| l1 = w_q e_q"),
            ),
            "Shen and Li 2010",
        ),
        lambda p, signed: OneNormEdges(True, p.l1) if signed else BoundedEdges(p.l1),
        {"l1": PRICE_OF_1_NORM},
    ),
    "l2_squared": WeightPenalty(
        PenaltyText(
            "penalty of the squared 2-norm",
            texts_by_sign(
                ProblemText(
                    "(1/(2 l2)) sum_q max(0, e_q)^2",
                    (),
                    "(l2/2) sum_q w_q^2",
                    (),
                    "w_q = max(0, e_q) / l2",
                ),
                ProblemText("(1/(2 l2)) sum_q e_q^2", (), "(l2/2) sum_q w_q^2", (), "w_q = e_q / l2"),
            ),
            "Shen, Li, van den Hengel 2013",
        ),
        lambda p, signed: ElasticEdges(signed, 0.0, p.l2),
        {"l2": PRICE_OF_SQUARES},
    ),
    "l2_ball": WeightPenalty(
        PenaltyText(
            "ball of the 2-norm",
            texts_by_sign(
                ProblemText(
                    "r ||max(0, e)||_2",
                    (),
                    "",
                    ("||w||_2 <= r : gamma",),
                    "gamma w_q = r max(0, e_q),   gamma (r - ||w||_2) = 0",
                ),
                ProblemText(
                    "r ||e||_2", (), "", ("||w||_2 <= r : gamma",), "gamma w_q = r e_q,   gamma (r - ||w||_2) = 0"
                ),
            ),
            "Shen, Li, van den Hengel 2013",
        ),
        lambda p, signed: BallEdges(signed, 2.0, p.r),
        {"r": RADIUS},
    ),
    "elastic_net": WeightPenalty(
        PenaltyText(
            "elastic net",
            texts_by_sign(
                ProblemText(
                    "(1/(2 l2)) sum_q max(0, e_q - l1)^2",
                    (),
                    "l1 sum_q w_q + (l2/2) sum_q w_q^2",
                    (),
                    "w_q = max(0, e_q - l1) / l2",
                ),
                ProblemText(
                    "(1/(2 l2)) sum_q max(0, |e_q| - l1)^2",
                    (),
                    "l1 ||w||_1 + (l2/2) sum_q w_q^2",
                    (),
                    "|w_q| = max(0, |e_q| - l1) / l2,   w_q e_q >= 0",
                ),
            ),
            "Zou and Hastie 2005",
        ),
        lambda p, signed: ElasticEdges(signed, p.l1, p.l2),
        {"l1": PRICE_OF_1_NORM, "l2": PRICE_OF_SQUARES},
    ),
    "linf_ball": WeightPenalty(
        PenaltyText(
            "ball of the infinity norm",
            texts_by_sign(
                ProblemText(
                    "r sum_q max(0, e_q)",
                    (),
                    "",
                    ("w <= r",),
                    "e_q > 0  =>  w_q = r,   e_q < 0  =>  w_q = 0",
                ),
                ProblemText(
                    "r sum_q |e_q|",
                    (),
                    "",
                    ("|w| <= r",),
                    "e_q > 0  =>  w_q = r,   e_q < 0  =>  w_q = -r",
                ),
            ),
            "Shen, Li, van den Hengel 2013",
        ),
        lambda p, signed: BallEdges(signed, math.inf, p.r),
        {"r": RADIUS},
    ),
}
"""The penalties by name."""
