"""The symbols of a formulation docstring and their meanings; the standard symbols are in `docs/conventions.md`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from boostopt.typesetting.docstring_parser import PageText
from boostopt.typesetting.tokenizer import SYMBOLS, Token, tokenize

STANDARD: Mapping[str, str] = {
    "U": "margin matrix, U[n, q] = y_n h_q(x_n) in [-1, 1]: rows are examples, columns hypotheses",
    "d": "weights of the examples",
    "w": "weights of the hypotheses",
    "e": "edges of the hypotheses, e = Uᵀd",
    "m": "margins of the examples, m = Uw",
    "c": "multiplicities, 1 by default: example n stands for c_n copies of itself",
    "d0": "reference distribution, proportional to c by default",
    "N": "number of examples",
    "t": "number of hypotheses",
    "n": "index of an example",
    "q": "index of a hypothesis",
    "nu": "least number of examples, counted with multiplicity, that share the weight: each gets at most c / nu",
    "eta": "inverse strength of the entropy",
    "epsilon": "accuracy at which boosting stops",
    "gamma": "largest edge, or the bound of the edges",
    "rho": "level that the margins reach up to their slacks; in a projection the edge that is asked for",
    "beta": "multiplier of sum d = 1",
    "psi": "multipliers of the cap on d, slacks of the margins",
    "zeta": "multipliers of d >= 0",
    "lambda": "multipliers of further constraints",
    "xi": "slacks of the margins",
    "s": "multipliers of the norm, slacks of the margins",
    "r": "radius of a norm ball, or strength of a norm",
    "p": "exponent of a norm",
    "C": "price of a unit of slack at one example",
    "phi": "weighted error after the step",
    "alpha": "step, the weight by which the newest hypothesis enters",
    "u": "column of the newest hypothesis",
    "v": "margins of the mixture of the earlier hypotheses",
    "x": "instance",
    "y": "label, -1 or 1",
    "h": "hypothesis",
    "Delta": "relative entropy",
    "C_nu": "capped simplex: sum d = 1, 0 <= d <= c / nu",
    "C_Delta": "largest value of the entropy",
    "p_n": "reference weight as a share of its cap, nu d0_n / c_n",
    "r_q": "edge of hypothesis q when it came",
    "||.||_q": "dual norm, 1/p + 1/q = 1",
}
"""Meanings of symbols that neither the parameters nor the docstring of a formulation explain."""

ELSEWHERE = "see the remarks"
"""The meaning of a symbol that only the prose of a docstring explains."""


def symbols(expression: str, further_names: Collection[str] = STANDARD) -> list[str]:
    """Return the different symbols of an expression as typed, in order.

    Parameters
    ----------
    expression
        Plain text.
    further_names
        Further names that are symbols: words, and symbols with an index, such as `C_nu` and `||.||_q`. Other indices
        are separate symbols. A power of e is the exponential function and no edge.

    Raises
    ------
    OptionError
        A character is unknown.
    """
    names: list[str] = []
    tokens = tokenize(expression)
    for k, token in enumerate(tokens):
        if token.kind in ("word", "function") and token.text in further_names:
            names.append(token.text)
        if token.kind != "symbol" or SYMBOLS.get(token.text) == SYMBOLS["infinity"]:
            continue
        base = _token_text(tokens, k - 2) if _token_text(tokens, k - 1) == "_" else ""
        indexed = f"{'||.||' if base == '||' else base}_{token.text}"
        if base and indexed in further_names:
            names[-1:] = [indexed] if names[-1:] == [base] else [*names[-1:], indexed]
        elif not (token.text == "e" and _token_text(tokens, k + 1) == "^"):
            names.append(token.text)
    return list(dict.fromkeys(names))


def _token_text(tokens: list[Token], k: int) -> str:
    """Return the text of a token, "" for an index out of range."""
    return tokens[k].text if 0 <= k < len(tokens) else ""


def symbol_table(page: PageText, meanings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the symbols in the blocks of a docstring, in order, each with its meaning.

    Parameters
    ----------
    page
        The parsed docstring.
    meanings
        Meanings by symbol, such as those of the formulation's parameters. They take precedence over the block
        `Symbols`, which takes precedence over the standard meanings.

    Returns
    -------
    Pairs of a symbol as typed and its meaning; `ELSEWHERE` for a symbol without a meaning.
    """
    specific = {**dict(page.symbols), **meanings}
    standard = {name: text for name, text in STANDARD.items() if name.rpartition("_")[0] not in specific}
    all_meanings = {**standard, **specific}
    names = dict.fromkeys(symbol for expression in page.expressions for symbol in symbols(expression, all_meanings))
    return [(symbol, all_meanings.get(symbol, ELSEWHERE)) for symbol in names]
