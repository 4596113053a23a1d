"""The texts of the formulations of a loss and a penalty: titles, sources, problems and conditions of optimality."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

INTERCEPT_NOTE = """
The first hypothesis is the intercept: the primal asks for e_1 = 0 : w_1, w_1 may have any sign, and nothing of the
penalty counts it.
"""


@dataclass(frozen=True)
class ProblemText:
    """The terms of a loss or a penalty in both problems, in the notation of the formulations.

    Attributes
    ----------
    primal_term
        The term of the primal.
    primal_constraints
        The constraints of the primal.
    dual_term
        The term that the dual subtracts, "" for none.
    dual_constraints
        The constraints of the dual.
    kkt
        The optimality conditions.
    variables
        Further variables of the primal and of the dual.
    """

    primal_term: str
    primal_constraints: tuple[str, ...]
    dual_term: str
    dual_constraints: tuple[str, ...]
    kkt: str
    variables: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class LossText:
    """The text of a loss of the margins.

    Attributes
    ----------
    title
        The name in the literature.
    problem
        F and F* in plain notation.
    source
        The reference.
    """

    title: str
    problem: ProblemText
    source: str


@dataclass(frozen=True)
class PenaltyText:
    """The text of a penalty of the hypothesis weights.

    Attributes
    ----------
    title
        The name in the literature.
    problems
        G and G* in plain notation, for non-negative weights and for weights free in sign; None if the penalty does not
        allow the latter.
    source
        The reference.
    """

    title: str
    problems: tuple[ProblemText, ProblemText | None]
    source: str


def title_of(loss: LossText, penalty: PenaltyText, signed: bool, intercept: bool) -> str:
    """Return the title of a loss with a penalty."""
    free = f"{', weights free in sign' if signed else ''}{', an intercept' if intercept else ''}"
    return f"{loss.title}, {penalty.title}{free}"


def page_of(loss: LossText, penalty: PenaltyText, signed: bool, intercept: bool) -> str:
    """Return the text of a formulation of a loss and a penalty, composed of the texts of both."""
    loss_problem, penalty_problem = loss.problem, _penalty_problem(penalty, signed)
    primal = _join_terms(loss_problem.primal_term, penalty_problem.primal_term)
    dual = _join_terms(loss_problem.dual_term, penalty_problem.dual_term)
    primal_variables = ", ".join(
        ["d", "e", *(text.variables[0] for text in (penalty_problem, loss_problem) if text.variables[0])]
    )
    dual_variables = ", ".join(
        ["w", "m", *(text.variables[1] for text in (loss_problem, penalty_problem) if text.variables[1])]
    )
    note = INTERCEPT_NOTE if intercept else ""
    return f"""{title_of(loss, penalty, signed, intercept)}: the smallest sum of the loss and of the penalty.

Primal   min_{{{primal_variables}}}   {primal}
         s.t.  {_join_constraints("e = Uᵀd : w", *penalty_problem.primal_constraints, *loss_problem.primal_constraints)}

Dual     max_{{{dual_variables}}}   -({dual})
         s.t.  {_join_constraints("m = U w : d", *loss_problem.dual_constraints, *penalty_problem.dual_constraints)}

KKT      {loss_problem.kkt},
         {penalty_problem.kkt}

Multipliers are named after the colon. The values are MINUS the sum of the loss and of the penalty.
{note}
Sources: {loss.source}; {penalty.source}. c are multiplicities.
"""


def _penalty_problem(penalty: PenaltyText, signed: bool) -> ProblemText:
    """Return the problem of a penalty for signed or non-negative weights; the latter if the penalty has only one."""
    positive, free = penalty.problems
    return free if signed and free is not None else positive


def _join_terms(*terms: str) -> str:
    """Return the sum of the terms that are not 0."""
    return " + ".join(term for term in terms if term not in ("", "0")).replace("+ -", "- ") or "0"


def _join_constraints(*constraints: str) -> str:
    """Join constraints as a formulation prints them."""
    return ",   ".join(constraints)


def _soft_margin_text(*further: str) -> ProblemText:
    """Return the problem text of minus the mean of the nu smallest margins."""
    return ProblemText(
        "0",
        ("sum d = 1 : beta", "0 <= d <= c / nu : psi"),
        "(1/nu) sum_n c_n psi_n - rho",
        ("m >= rho - psi", "psi >= 0"),
        ",   ".join(["psi_n = max(0, rho - m_n)", "beta = -rho", "psi_n (c_n - nu d_n) = 0", *further]),
        ("", "rho, psi"),
    )


LOSS_TEXTS: Mapping[str, LossText] = {
    "hinge": LossText(
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
    "squared_hinge": LossText(
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
    "smoothed_hinge": LossText(
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
    "modified_huber": LossText(
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
    "logistic": LossText(
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
    "exponential": LossText(
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
    "soft_margin": LossText("Soft margin", _soft_margin_text(), "Demiriz, Bennett, Shawe-Taylor 2002"),
    "cvar": LossText(
        "Conditional value at risk of the margins",
        _soft_margin_text("nu = alpha sum_n c_n"),
        "Rockafellar and Uryasev 2000",
    ),
}
"""The texts of the losses by name."""


def _texts_by_sign(positive: ProblemText, signed: ProblemText) -> tuple[ProblemText, ProblemText]:
    """Return both problems; the first gets the constraint w >= 0."""
    return dataclasses.replace(positive, dual_constraints=(*positive.dual_constraints, "w >= 0")), signed


PENALTY_TEXTS: Mapping[str, PenaltyText] = {
    "simplex": PenaltyText(
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
    "l1_ball": PenaltyText(
        "ball of the 1-norm",
        _texts_by_sign(
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
    "l1": PenaltyText(
        "penalty of the 1-norm",
        _texts_by_sign(
            ProblemText("0", ("e <= l1",), "l1 sum_q w_q", (), "w_q (l1 - e_q) = 0"),
            ProblemText("0", ("|e| <= l1",), "l1 ||w||_1", (), "|w_q| l1 = w_q e_q"),
        ),
        "Shen and Li 2010",
    ),
    "l2_squared": PenaltyText(
        "penalty of the squared 2-norm",
        _texts_by_sign(
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
    "l2_ball": PenaltyText(
        "ball of the 2-norm",
        _texts_by_sign(
            ProblemText(
                "r ||max(0, e)||_2",
                (),
                "",
                ("||w||_2 <= r : gamma",),
                "gamma w_q = r max(0, e_q),   gamma (r - ||w||_2) = 0",
            ),
            ProblemText("r ||e||_2", (), "", ("||w||_2 <= r : gamma",), "gamma w_q = r e_q,   gamma (r - ||w||_2) = 0"),
        ),
        "Shen, Li, van den Hengel 2013",
    ),
    "elastic_net": PenaltyText(
        "elastic net",
        _texts_by_sign(
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
    "linf_ball": PenaltyText(
        "ball of the infinity norm",
        _texts_by_sign(
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
}
"""The texts of the penalties by name."""
