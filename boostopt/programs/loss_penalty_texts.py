"""The texts of the formulations of a loss and a penalty, composed of the texts of both.

A text has a title, a source, the terms in both problems, and the conditions of optimality.
"""

from __future__ import annotations

import dataclasses
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


def soft_margin_text(*further: str) -> ProblemText:
    """Return the problem text of minus the mean of the nu smallest margins."""
    return ProblemText(
        "0",
        ("sum d = 1 : beta", "0 <= d <= c / nu : psi"),
        "(1/nu) sum_n c_n psi_n - rho",
        ("m >= rho - psi", "psi >= 0"),
        ",   ".join(["psi_n = max(0, rho - m_n)", "beta = -rho", "psi_n (c_n - nu d_n) = 0", *further]),
        ("", "rho, psi"),
    )


def texts_by_sign(positive: ProblemText, signed: ProblemText) -> tuple[ProblemText, ProblemText]:
    """Return both problems; the first gets the constraint w >= 0."""
    return dataclasses.replace(positive, dual_constraints=(*positive.dual_constraints, "w >= 0")), signed
