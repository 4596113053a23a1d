"""The tokenizer of the plain notation: symbols, functions, marks and words of an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from boostopt.errors import OptionError

_LOWERCASE_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)
_UPPERCASE_GREEK = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega")
_VARIANTS = ("varepsilon", "vartheta", "varrho", "varphi", "ell")
_ASCII_FORMS = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", (*_LOWERCASE_GREEK, *_UPPERCASE_GREEK), strict=True)) | {
    **{"∞": "infinity", "∑": "sum", "‖": "||", "\N{MINUS SIGN}": "-", "≤": "<=", "≥": ">=", "≠": "!=", "…": "..."},
    **{"⇒": "=>", "⇔": "<=>", "→": "->", "·": "*"},
}
"""ASCII forms of characters."""

SYMBOLS = {name: f"\\{name}" for name in (*_LOWERCASE_GREEK, *_UPPERCASE_GREEK, *_VARIANTS)} | {
    "infinity": r"\infty",
    "inf": r"\infty",
}
"""LaTeX of symbols with a name; single letters are symbols too."""

FUNCTIONS = {
    **{name: f"\\{name}" for name in ("ln", "log", "exp", "max", "min", "sup", "inf", "tanh", "sinh", "cosh", "arg")},
    **{"argmin": r"\arg\min", "argmax": r"\arg\max"},
    **{name: rf"\operatorname{{{name}}}" for name in ("sigmoid", "logit", "artanh", "arctanh", "erf", "sgn", "AvgMin")},
}
"""LaTeX of functions that need no brackets; any name before a bracket or an index is a function."""

SUMS = {"sum": r"\sum", "prod": r"\prod"}
ACCENTS = {"hat": r"\hat", "tilde": r"\tilde", "bar": r"\bar"}

MARKS = {
    **{"<=": r"\le", ">=": r"\ge", "<": "<", ">": ">", "=": "=", "!=": r"\ne", ":=": ":=", "~": r"\sim"},
    **{"=>": r"\Rightarrow", "<=>": r"\Leftrightarrow", "->": r"\to", "∈": r"\in", "∝": r"\propto", "≈": r"\approx"},
    **{"+": "+", "-": "-", "±": r"\pm", "*": r"\cdot", ",": ",", ";": ";", ":": ":", ".": ".", "...": r"\dots"},
}
"""LaTeX of relations, signs and punctuation."""

SUPERSCRIPTS = {"ᵀ": r"\top", "²": "2", "³": "3", "'": r"\prime"}
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">", "|": "|", "||": "||"}
"""Closing brackets by opening ones."""

_KNOWN_MARKS = {*MARKS, *SUPERSCRIPTS, *BRACKETS, *BRACKETS.values(), "^", "_", "/"}
_TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)|(?P<hyphenated>[A-Za-z]{2,}(?:-[A-Za-z]{2,})+)|[A-Za-z]+\d*"
    r"|<=>|=>|<=|>=|!=|:=|->|\.\.\.|\|\||.",
    re.DOTALL,
)
_MATRIX_PRODUCT = re.compile("U[a-z]")
"""A pattern of a matrix times a vector: Uw, Ud."""

Kind = Literal["number", "symbol", "function", "sum", "accent", "word", "mark"]


@dataclass(frozen=True)
class Token:
    """A token of an expression.

    Attributes
    ----------
    kind
        The kind of the token.
    text
        The text as typed, with Greek letters by name.
    position
        Index of the first character.
    blanks_before, blanks_after
        The number of blanks on either side.
    """

    kind: Kind
    text: str
    position: int
    blanks_before: int
    blanks_after: int


def tokenize(expression: str) -> list[Token]:
    """Return the tokens of an expression.

    Raises
    ------
    OptionError
        A character is unknown; the message names the character and its position.
    """
    tokens: list[Token] = []
    position = 0
    while True:
        blanks = len(expression[position:]) - len(expression[position:].lstrip())
        position += blanks
        match = _TOKEN.match(expression, position)
        if match is None:  # the end, because the last alternative matches any character
            return _resolve_kinds(tokens)
        text = match[0]
        if _MATRIX_PRODUCT.fullmatch(text):
            text = "U"
        elif match.lastgroup == "hyphenated" and all(_is_mathematics(part) for part in text.split("-")):
            text = text.split("-")[0]  # a difference, eta-gamma, and no word
        end = position + len(text)
        kind = _token_kind(_ASCII_FORMS.get(text, text), expression[end : end + 1])
        if kind is None:
            raise OptionError(
                f"expected the plain notation of formulations; got {text!r} (U+{ord(text):04X}) at position {position} "
                f"of {expression!r}. Spell it out in letters, or say it in words."
            )
        blanks_after = len(expression[end:]) - len(expression[end:].lstrip())
        tokens.append(Token(kind, _ASCII_FORMS.get(text, text), position, blanks, blanks_after))
        position = end


class TokenReader:
    """A reader of the tokens of an expression.

    Attributes
    ----------
    expression, tokens
        The text and its tokens.
    k
        The index of the current token.
    closers
        The closing marks of each open bracket, the outermost first.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens: list[Token] = tokenize(expression)
        self.k: int = 0
        self.closers: list[tuple[str, ...]] = [()]

    def syntax_error(self, expected: str) -> OptionError:
        """Return the error for an unexpected current token."""
        token = self.peek()
        got = f"{token.text!r} at position {token.position}" if token else "the end"
        return OptionError(f"expected {expected}; got {got} of {self.expression!r}. Correct the expression there.")

    def peek(self) -> Token | None:
        """Return the current token, None at the end."""
        return self.tokens[self.k] if self.k < len(self.tokens) else None

    def take(self, expected: str = "a symbol, a number or a bracket") -> Token:
        """Return the current token and advance to the next one."""
        token = self.peek()
        if token is None:
            raise self.syntax_error(expected)
        self.k += 1
        return token

    def is_at(self, *texts: str, attached: bool = False) -> bool:
        """Return whether the current token is one of some marks, without a blank before it if `attached`."""
        token = self.peek()
        return (
            token is not None
            and token.kind == "mark"
            and token.text in texts
            and not (attached and token.blanks_before)
        )

    def is_closing(self) -> bool:
        """Return whether the current token closes the innermost open bracket."""
        return self.is_at(*self.closers[-1])


def _resolve_kinds(tokens: list[Token]) -> list[Token]:
    """Return the tokens with the kinds that depend on the neighbours.

    The `a` of `is a maximum` is a word. The `in` of `d in C_nu` is a relation, and the `in` of `w in the simplex` is
    not. A word next to a fraction bar or with a power is a symbol.
    """
    resolved = list(tokens)
    for k, token in enumerate(tokens):
        previous, following = resolved[k - 1] if k else None, tokens[k + 1] if k + 1 < len(tokens) else None
        if token.text == "a" and previous and following and previous.kind == following.kind == "word":
            resolved[k] = replace(token, kind="word")
        elif token.kind == "word" and "/" in (previous and previous.text, following and following.text):
            resolved[k] = replace(token, kind="symbol")
        elif token.kind == "word" and following and following.text == "^":
            resolved[k] = replace(token, kind="symbol")
    for k, token in enumerate(resolved):
        follows_word = k > 0 and resolved[k - 1].kind == "word"
        if token.text == "in" and token.kind == "word" and not follows_word and k + 1 < len(resolved):
            if resolved[k + 1].kind in ("symbol", "number") or resolved[k + 1].text in BRACKETS:
                resolved[k] = replace(token, kind="mark", text="∈")
    return resolved


def _is_mathematics(text: str) -> bool:
    """Return whether a name is a symbol, a product or a function and not a word."""
    return _MATRIX_PRODUCT.fullmatch(text) is not None or _token_kind(text, "") != "word"


def _token_kind(text: str, following: str) -> Kind | None:
    """Return the kind of a token before a character; None for an unknown character."""
    if text == "inf" and following == "_":  # the infimum; otherwise infinity
        return "function"
    kinds: tuple[tuple[bool, Kind], ...] = (
        (text in SYMBOLS or text.rstrip("0123456789") in SYMBOLS, "symbol"),
        (re.fullmatch("[A-Za-z][0-9]*", text) is not None, "symbol"),
        (text in SUMS, "sum"),
        (text in FUNCTIONS, "function"),
        (text in ACCENTS, "accent"),
        (text[0].isalpha() and text.isascii() and following in set("([_"), "function"),
        (text[0].isalpha() and text.isascii(), "word"),
        (text in _KNOWN_MARKS, "mark"),
        (text[-1] in "0123456789", "number"),
    )
    return next((kind for holds, kind in kinds if holds), None)
