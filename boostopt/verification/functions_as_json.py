"""F and G by kind and numbers, as a certificate file states them."""

from __future__ import annotations

from typing import Any

from boostopt.errors import ProblemError
from boostopt.functions.edge_functions.base import EdgeFunction
from boostopt.functions.regularizer_statements import Statement, defines_own_kind
from boostopt.functions.regularizers.base import Regularizer
from boostopt.programs.program import Examples


def edge_to_json(G: EdgeFunction) -> dict[str, Any]:
    """Return the statement of G, by kind and numbers.

    Raises
    ------
    ProblemError
        G is not one of boostopt, so that a file cannot state it.
    """
    if not defines_own_kind(G):
        raise _not_statable_error("an edge function", G)
    return G.statement()


def regularizer_to_json(F: Regularizer, examples: Examples, nus: tuple[float, ...] = ()) -> Statement:
    """Return the statement of F, by kind and numbers, with its arrays: see `Regularizer.statement`.

    Raises
    ------
    ProblemError
        F is not one of boostopt with a closed form, or refers to other multiplicities or references than the
        examples have, so that a file cannot state it.
    """
    if not defines_own_kind(F):
        raise _not_statable_error("a regularizer", F)
    statement = F.statement(examples.c, examples.d0, nus)
    if statement is None:
        raise ProblemError(
            f"a certificate file can only state {type(F).__name__} with the multiplicities c and the reference d0 of "
            "the program; got others, or a term without a formula of the checker. Take them from the examples (x.c, "
            "x.d0), pass other numbers as parameters, or keep the program and its certificate in Python."
        )
    return statement


def _not_statable_error(function: str, value: object) -> ProblemError:
    """Return the error for an F or a G that no file can state."""
    return ProblemError(
        f"a certificate file can only state {function} that the checker has a formula for, or a formula of yours; got "
        f"{type(value).__name__}. Write it with boostopt.authoring.formula or edge_formula, or keep the program and "
        "its certificate in Python."
    )
