"""A pair (F, G) by kind and numbers: what a certificate states of the program that it is about."""

from __future__ import annotations

from typing import Any

from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizers.base import Regularizer
from boostopt.functions.statements import Statement, stated, states_itself
from boostopt.programs.program import Examples


def described_edge(G: EdgeFunction) -> dict[str, Any]:
    """Return G by kind and numbers.

    Raises
    ------
    ProblemError
        It is none of boostopt's own, so that a file cannot say what it is.
    """
    if not states_itself(G):
        raise _foreign("an edge function", G)
    return G.statement()


def described(F: Regularizer, examples: Examples, nus: tuple[float, ...] = ()) -> Statement:
    """Return F by kind and numbers, with the arrays that it needs: see `Regularizer.statement`.

    Raises
    ------
    ProblemError
        It is none of boostopt's own with closed forms, so that a file cannot say what it is.
    """
    statement = stated(F, examples.c, examples.d0, nus)
    if statement is None:
        raise _foreign("a regularizer", F)
    return statement


def class_in_words(oracle: object) -> str:
    """Return the class of an oracle as a file states it: a line of at most 1,000 letters."""
    return " ".join(str(oracle).split())[:1000]


def _foreign(what: str, part: object) -> ProblemError:
    return ProblemError(
        f"a certificate file can only state {what} of boostopt with a closed form, or a formula; got "
        f"{type(part).__name__}. Write it with boostopt.authoring.formula or edge_formula, or keep the program and "
        "its certificate in Python."
    )
