"""One formulation for each pair of a loss of the margins and a penalty of the hypothesis weights.

    max over w of -(loss(Uw) + penalty(w)),    min over d of F(d) + G(Uᵀd),    F* the loss at -m, G* the penalty

Shen, Li, van den Hengel 2013 state this family. Each loss and each penalty is written once, as a function and in words.
A page combines one of each.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from boostopt._utils.validation import flag
from boostopt.errors import OptionError, shown, unknown_name
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.edge_functions.bounded import BoundedEdges
from boostopt.functions.edge_functions.intercept import InterceptEdges
from boostopt.functions.edge_functions.maximum import AbsoluteEdge, MaximumEdge
from boostopt.functions.edge_functions.penalties import BallEdges, ElasticEdges, OneNormEdges
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.regularizers.capped_simplex import CappedSimplex
from boostopt.functions.regularizers.indicators import Cap
from boostopt.functions.regularizers.standard_losses import Exponential, Hinge, Logistic, QuadraticHinge
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import COUNT, POSITIVE, Domain, parameter
from boostopt.programs.program import Examples

SIGNED = "signed_"
"""Beginning of a penalty's name where weights are free in sign."""

INTERCEPT = "intercept"
"""End of a name where the first hypothesis has a weight of any sign that costs nothing."""

JOIN = "+"
"""What stands between the names of a loss and a penalty."""

LEVEL = Domain("(0, 1]", lambda value, examples: 0.0 < value <= 1.0)


@dataclass(frozen=True)
class Stated:
    """One side of the pair, in the notation of the pages.

    Attributes
    ----------
    of_primal
        The term of the primal.
    primal
        The primal's conditions.
    of_dual
        The term that the dual subtracts, "" for none.
    dual
        The dual's conditions.
    kkt
        What holds at an optimum.
    variables
        Further variables of the primal and of the dual.
    """

    of_primal: str
    primal: tuple[str, ...]
    of_dual: str
    dual: tuple[str, ...]
    kkt: str
    variables: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the margins.

    Attributes
    ----------
    title
        Its name in the literature.
    regularizer
        Makes F from the parameters and the examples.
    stated
        F and F* in words.
    source
        Where it is from.
    parameters
        Its parameters, each made by `parameter`.
    """

    title: str
    regularizer: Callable[[Any, Examples], Regularizer]
    stated: Stated
    source: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class WeightPenalty:
    """A penalty of the hypothesis weights.

    Attributes
    ----------
    title
        Its name in the literature.
    edge_function
        Makes G from the parameters and from whether weights are free in sign.
    stated
        G and G* in words, for weights that are not negative and for those free in sign; None where there are none such.
    source
        Where it is from.
    parameters
        Its parameters, each made by `parameter`.
    """

    title: str
    edge_function: Callable[[Any, bool], EdgeFunction]
    stated: tuple[Stated, Stated | None]
    source: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])


OF_INTERCEPT = """
The first hypothesis is the intercept: the primal asks for e_1 = 0 : w_1, w_1 may have any sign, and nothing of the
penalty counts it.
"""

PRICE = parameter("the price of the loss at one example", POSITIVE, 1.0)
RADIUS = parameter("the radius of the ball of hypothesis weights", POSITIVE)
PRICE_OF_1_NORM = parameter("the price of the 1-norm of the hypothesis weights", POSITIVE)
PRICE_OF_SQUARES = parameter("the price of half of the squared 2-norm of the hypothesis weights", POSITIVE)


def _capped(*further: str) -> Stated:
    """Return minus the mean of the nu smallest margins in words."""
    return Stated(
        "0",
        ("sum d = 1 : beta", "0 <= d <= c / nu : psi"),
        "(1/nu) sum_n c_n psi_n - rho",
        ("m >= rho - psi", "psi >= 0"),
        ",   ".join(["psi_n = max(0, rho - m_n)", "beta = -rho", "psi_n (c_n - nu d_n) = 0", *further]),
        ("", "rho, psi"),
    )


LOSSES: Mapping[str, MarginLoss] = {
    "hinge": MarginLoss(
        "Hinge loss",
        lambda p, examples: Hinge(examples.c, p.C),
        Stated(
            "-sum_n d_n",
            ("0 <= d <= C c : psi",),
            "C sum_n c_n psi_n",
            ("m >= 1 - psi", "psi >= 0"),
            "psi_n = max(0, 1 - m_n),   psi_n (C c_n - d_n) = 0,   m_n > 1  =>  d_n = 0",
            ("", "psi"),
        ),
        "Cortes and Vapnik 1995",
        {"C": PRICE},
    ),
    "squared_hinge": MarginLoss(
        "Squared hinge loss",
        lambda p, examples: QuadraticHinge(examples.c, p.C, 0.5, None),
        Stated(
            "-sum_n d_n + (1/4) sum_n d_n^2 / (C c_n)",
            ("d >= 0",),
            "C sum_n c_n max(0, 1 - m_n)^2",
            (),
            "d_n = 2 C c_n max(0, 1 - m_n)",
        ),
        "Cortes and Vapnik 1995",
        {"C": PRICE},
    ),
    "smoothed_hinge": MarginLoss(
        "Smoothed hinge loss",
        lambda p, examples: QuadraticHinge(examples.c, p.C, p.mu, 1.0),
        Stated(
            "-sum_n d_n + (mu/2) sum_n d_n^2 / (C c_n)",
            ("0 <= d <= C c : psi",),
            "C sum_n c_n (max(0, 1 - m_n - psi_n)^2 / (2 mu) + psi_n)",
            ("psi >= 0",),
            "psi_n = max(0, 1 - m_n - mu),   d_n = C c_n min(1, max(0, 1 - m_n) / mu)",
            ("", "psi"),
        ),
        "Nesterov 2005; Shalev-Shwartz and Zhang 2013",
        {"C": PRICE, "mu": parameter("the width over which the hinge is smoothed", POSITIVE, 1.0)},
    ),
    "modified_huber": MarginLoss(
        "Modified Huber loss",
        lambda p, examples: QuadraticHinge(examples.c, p.C, 0.5, 4.0),
        Stated(
            "-sum_n d_n + (1/4) sum_n d_n^2 / (C c_n)",
            ("0 <= d <= 4 C c : psi",),
            "C sum_n c_n (max(0, 1 - m_n - psi_n)^2 + 4 psi_n)",
            ("psi >= 0",),
            "psi_n = max(0, -1 - m_n),   d_n = C c_n min(4, 2 max(0, 1 - m_n))",
            ("", "psi"),
        ),
        "Zhang 2004",
        {"C": PRICE},
    ),
    "logistic": MarginLoss(
        "Logistic loss",
        lambda p, examples: Logistic.priced(examples.c, p.C),
        Stated(
            "sum_n [ d_n ln(d_n / (C c_n)) + (C c_n - d_n) ln((C c_n - d_n) / (C c_n)) ]",
            (),
            "C sum_n c_n ln(1 + exp(-m_n))",
            (),
            "d_n = C c_n / (1 + exp(m_n))",
        ),
        "Friedman, Hastie, Tibshirani 2000; Shen and Li 2010",
        {"C": PRICE},
    ),
    "exponential": MarginLoss(
        "Exponential loss",
        lambda p, examples: Exponential(examples.c, p.C),
        Stated(
            "sum_n [ d_n ln(d_n / (C c_n)) - d_n ]",
            (),
            "C sum_n c_n exp(-m_n)",
            (),
            "d_n = C c_n exp(-m_n)",
        ),
        "Freund and Schapire 1997; Shen and Li 2010",
        {"C": PRICE},
    ),
    "soft_margin": MarginLoss(
        "Soft margin",
        lambda p, examples: Cap(CappedSimplex(examples.c, p.nu)),
        _capped(),
        "Demiriz, Bennett, Shawe-Taylor 2002",
        {"nu": parameter("the least number of examples that share the weight", COUNT)},
    ),
    "cvar": MarginLoss(
        "Conditional value at risk of the margins",
        lambda p, examples: Cap(CappedSimplex(examples.c, min(p.alpha * examples.total, examples.total))),
        _capped("nu = alpha sum_n c_n"),
        "Rockafellar and Uryasev 2000",
        {"alpha": parameter("the share of the examples whose smallest margins are meant", LEVEL)},
    ),
}
"""The losses by name."""


def _signs(positive: Stated, signed: Stated) -> tuple[Stated, Stated]:
    """Return both, the conditions of weights that are not negative added to the first."""
    return dataclasses.replace(positive, dual=(*positive.dual, "w >= 0")), signed


PENALTIES: Mapping[str, WeightPenalty] = {
    "simplex": WeightPenalty(
        "convex combinations",
        lambda p, signed: MaximumEdge(),
        (
            Stated(
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
    "l1_ball": WeightPenalty(
        "ball of the 1-norm",
        lambda p, signed: AbsoluteEdge() if signed and p.r == 1.0 else BallEdges(signed, 1.0, p.r),
        _signs(
            Stated(
                "r gamma",
                ("e <= gamma", "gamma >= 0"),
                "",
                ("sum w <= r : gamma",),
                "w_q (gamma - e_q) = 0,   gamma (r - sum w) = 0",
                ("gamma", ""),
            ),
            Stated(
                "r gamma",
                ("|e| <= gamma",),
                "",
                ("||w||_1 <= r : gamma",),
                "|w_q| gamma = w_q e_q,   gamma (r - ||w||_1) = 0",
                ("gamma", ""),
            ),
        ),
        "Shalev-Shwartz and Singer 2008, (3)",
        {"r": RADIUS},
    ),
    "l1": WeightPenalty(
        "penalty of the 1-norm",
        lambda p, signed: OneNormEdges(True, p.l1) if signed else BoundedEdges(p.l1),
        _signs(
            Stated("0", ("e <= l1",), "l1 sum_q w_q", (), "w_q (l1 - e_q) = 0"),
            Stated("0", ("|e| <= l1",), "l1 ||w||_1", (), "|w_q| l1 = w_q e_q"),
        ),
        "Shen and Li 2010",
        {"l1": PRICE_OF_1_NORM},
    ),
    "l2_squared": WeightPenalty(
        "penalty of the squared 2-norm",
        lambda p, signed: ElasticEdges(signed, 0.0, p.l2),
        _signs(
            Stated(
                "(1/(2 l2)) sum_q max(0, e_q)^2",
                (),
                "(l2/2) sum_q w_q^2",
                (),
                "w_q = max(0, e_q) / l2",
            ),
            Stated("(1/(2 l2)) sum_q e_q^2", (), "(l2/2) sum_q w_q^2", (), "w_q = e_q / l2"),
        ),
        "Shen, Li, van den Hengel 2013",
        {"l2": PRICE_OF_SQUARES},
    ),
    "l2_ball": WeightPenalty(
        "ball of the 2-norm",
        lambda p, signed: BallEdges(signed, 2.0, p.r),
        _signs(
            Stated(
                "r ||max(0, e)||_2",
                (),
                "",
                ("||w||_2 <= r : gamma",),
                "gamma w_q = r max(0, e_q),   gamma (r - ||w||_2) = 0",
            ),
            Stated("r ||e||_2", (), "", ("||w||_2 <= r : gamma",), "gamma w_q = r e_q,   gamma (r - ||w||_2) = 0"),
        ),
        "Shen, Li, van den Hengel 2013",
        {"r": RADIUS},
    ),
    "elastic_net": WeightPenalty(
        "elastic net",
        lambda p, signed: ElasticEdges(signed, p.l1, p.l2),
        _signs(
            Stated(
                "(1/(2 l2)) sum_q max(0, e_q - l1)^2",
                (),
                "l1 sum_q w_q + (l2/2) sum_q w_q^2",
                (),
                "w_q = max(0, e_q - l1) / l2",
            ),
            Stated(
                "(1/(2 l2)) sum_q max(0, |e_q| - l1)^2",
                (),
                "l1 ||w||_1 + (l2/2) sum_q w_q^2",
                (),
                "|w_q| = max(0, |e_q| - l1) / l2,   w_q e_q >= 0",
            ),
        ),
        "Zou and Hastie 2005",
        {"l1": PRICE_OF_1_NORM, "l2": PRICE_OF_SQUARES},
    ),
    "linf_ball": WeightPenalty(
        "ball of the infinity norm",
        lambda p, signed: BallEdges(signed, math.inf, p.r),
        _signs(
            Stated(
                "r sum_q max(0, e_q)",
                (),
                "",
                ("w <= r",),
                "e_q > 0  =>  w_q = r,   e_q < 0  =>  w_q = 0",
            ),
            Stated(
                "r sum_q |e_q|",
                (),
                "",
                ("|w| <= r",),
                "e_q > 0  =>  w_q = r,   e_q < 0  =>  w_q = -r",
            ),
        ),
        "Shen, Li, van den Hengel 2013",
        {"r": RADIUS},
    ),
}
"""The penalties by name."""


class Combination(Formulation[Any]):
    """F the conjugate of a loss, G that of a penalty; the problems are the derived ones."""

    is_symmetric = True
    of_margins: MarginLoss
    of_weights: WeightPenalty
    signed: bool
    intercept: bool

    def __init__(self, loss: str, penalty: str, signed: bool, intercept: bool) -> None:
        self.of_margins, self.of_weights = LOSSES[loss], PENALTIES[penalty]
        self.signed, self.intercept = signed, intercept
        # Set on the object: what a page's class says of all its objects, a pair says of this one.
        self.Parameters = _parameters(loss, penalty)  # pyright: ignore[reportAttributeAccessIssue]
        end = f"{JOIN}{INTERCEPT}" if intercept else ""
        self.name = f"{loss}{JOIN}{SIGNED if signed else ''}{penalty}{end}"  # pyright: ignore[reportAttributeAccessIssue]
        free = f"{', weights free in sign' if signed else ''}{', an intercept' if intercept else ''}"
        self.title = f"{self.of_margins.title}, {self.of_weights.title}{free}"  # pyright: ignore[reportAttributeAccessIssue]
        self.sources = (self.of_margins.source, self.of_weights.source)  # pyright: ignore[reportAttributeAccessIssue]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Combination) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return combined, (self.name,)

    def regularizer(self, p: Any, examples: Examples) -> Regularizer:
        return self.of_margins.regularizer(p, examples)

    def edge_function(self, p: Any) -> EdgeFunction:
        G = self.of_weights.edge_function(p, self.signed)
        return InterceptEdges(G) if self.intercept else G

    @property
    def text(self) -> str:
        """The page, made of what is stated of the loss and of the penalty."""
        loss, penalty = self.of_margins.stated, self._penalty
        primal = _sum(loss.of_primal, penalty.of_primal)
        dual = _sum(loss.of_dual, penalty.of_dual)
        of_primal = ", ".join(["d", "e", *(each.variables[0] for each in (penalty, loss) if each.variables[0])])
        of_dual = ", ".join(["w", "m", *(each.variables[1] for each in (loss, penalty) if each.variables[1])])
        first = OF_INTERCEPT if self.intercept else ""
        return f"""{self.title}: the smallest sum of the loss and of the penalty.

Primal   min_{{{of_primal}}}   {primal}
         s.t.  {_listed("e = Uᵀd : w", *penalty.primal, *loss.primal)}

Dual     max_{{{of_dual}}}   -({dual})
         s.t.  {_listed("m = U w : d", *loss.dual, *penalty.dual)}

KKT      {loss.kkt},
         {penalty.kkt}

Multipliers are named after the colon. The values are MINUS the sum of the loss and of the penalty.
{first}
Sources: {"; ".join(self.sources)}. c are multiplicities.
"""

    @property
    def _penalty(self) -> Stated:
        positive, signed = self.of_weights.stated
        return signed if self.signed and signed is not None else positive


def combine(loss: str, penalty: str, signed: bool = False, intercept: bool = False) -> Formulation[Any]:
    """Return the formulation of a loss of the margins with a penalty of the hypothesis weights.

    You can bind, solve, certify, compare and boost it like any other formulation. Every function and command takes it
    by its name, such as "hinge+elastic_net" or "logistic+signed_l1".

    Parameters
    ----------
    loss
        "hinge", "squared_hinge", "smoothed_hinge", "modified_huber", "logistic", "exponential", "soft_margin" or
        "cvar". Parameters: the price `C` of the loss at one example, 1 by default; the width `mu` of the smoothed
        hinge; `nu` of the soft margin; the share `alpha` of the examples for "cvar".
    penalty
        "simplex", "l1_ball", "l1", "l2_squared", "l2_ball", "elastic_net" or "linf_ball". Parameters: the radius `r` of
        a ball, the prices `l1` of the 1-norm and `l2` of half of the squared 2-norm.
    signed
        Whether hypothesis weights may be negative.
    intercept
        Whether the first column of U is an intercept: its weight may have any sign and costs nothing. If this column
        holds the labels, its weight is the bias of a linear model. The names of these formulations end in "+intercept".
        Column generation does not support an intercept.

    Raises
    ------
    OptionError
        A name is unknown, or the penalty has no form with signed weights, or no form with an intercept.
    """
    for what, name, known in (("loss", loss, LOSSES), ("penalty", penalty, PENALTIES)):
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(f"expected the name of a {what}; got {shown(name)}. Pass one of {', '.join(known)}.")
        if name not in known:
            raise unknown_name(what, name, known)
    if flag("signed", signed, "Pass whether weights may be negative.") and PENALTIES[penalty].stated[1] is None:
        raise OptionError(
            f"the penalty {penalty} needs non-negative weights; got signed=True. Use l1_ball with r = 1 for signed "
            "weights."
        )
    flag("intercept", intercept, "Pass whether the first column of U is an intercept.")
    if intercept and PENALTIES[penalty].stated[1] is None:
        raise OptionError(f"an intercept needs a penalty that allows the weights 0; got {penalty}. Use l1_ball.")
    return Combination(loss, penalty, signed, intercept)


def combined(name: str) -> Formulation[Any]:
    """Return the formulation that "loss+penalty" names.

    Raises
    ------
    OptionError
        As `combine` does.
    """
    loss, _, rest = name.partition(JOIN)
    penalty, joined, end = rest.partition(f"{JOIN}{INTERCEPT}")
    if end:
        raise unknown_name("penalty", rest, PENALTIES)
    penalty = penalty.strip("_")
    return combine(loss.strip("_"), penalty.removeprefix(SIGNED), penalty.startswith(SIGNED), bool(joined))


@cache
def _parameters(loss: str, penalty: str) -> type[Any]:
    """Return the class of the records of parameters of a loss and a penalty."""
    fields = {**LOSSES[loss].parameters, **PENALTIES[penalty].parameters}
    kinds = [(name, Any, made) for name, made in fields.items()]
    own = {"__reduce__": lambda p: (_record, (loss, penalty, {name: getattr(p, name) for name in fields}))}
    return dataclasses.make_dataclass("Parameters", kinds, frozen=True, kw_only=True, namespace=own)


def _record(loss: str, penalty: str, values: Mapping[str, Any]) -> Any:
    """Return a record of parameters: pickle makes it so."""
    return _parameters(loss, penalty)(**values)


def names_combination(name: str) -> bool:
    """Return whether a name is that of a loss and a penalty, as `combine` gives it."""
    try:
        return JOIN in name and combined(name).name == name
    except OptionError:
        return False


def _sum(*terms: str) -> str:
    """Return the sum of what is not 0."""
    return " + ".join(term for term in terms if term not in ("", "0")).replace("+ -", "- ") or "0"


def _listed(*conditions: str) -> str:
    """Return conditions as a page has them."""
    return ",   ".join(conditions)
