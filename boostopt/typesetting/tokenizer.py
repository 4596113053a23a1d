"""The words of the pages' notation and how an expression falls apart into them."""

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
"""ASCII for a character."""

SYMBOLS = {name: f"\\{name}" for name in (*_LOWERCASE_GREEK, *_UPPERCASE_GREEK, *_VARIANTS)} | {
    "infinity": r"\infty",
    "inf": r"\infty",
}
"""Symbols with a name; a single letter is a symbol too."""

FUNCTIONS = {
    **{name: f"\\{name}" for name in ("ln", "log", "exp", "max", "min", "sup", "inf", "tanh", "sinh", "cosh", "arg")},
    **{"argmin": r"\arg\min", "argmax": r"\arg\max"},
    **{name: rf"\operatorname{{{name}}}" for name in ("sigmoid", "logit", "artanh", "arctanh", "erf", "sgn", "AvgMin")},
}
"""Functions that may stand without brackets; before a bracket or an index any name is one."""

SUMS = {"sum": r"\sum", "prod": r"\prod"}
ACCENTS = {"hat": r"\hat", "tilde": r"\tilde", "bar": r"\bar"}

MARKS = {
    **{"<=": r"\le", ">=": r"\ge", "<": "<", ">": ">", "=": "=", "!=": r"\ne", ":=": ":=", "~": r"\sim"},
    **{"=>": r"\Rightarrow", "<=>": r"\Leftrightarrow", "->": r"\to", "∈": r"\in", "∝": r"\propto", "≈": r"\approx"},
    **{"+": "+", "-": "-", "±": r"\pm", "*": r"\cdot", ",": ",", ";": ";", ":": ":", ".": ".", "...": r"\dots"},
}
"""Relations, signs and punctuation."""

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
"""Uw, Ud: a matrix times a vector."""

Kind = Literal["number", "symbol", "function", "sum", "accent", "word", "mark"]


@dataclass(frozen=True)
class Token:
    """A word of an expression.

    Attributes
    ----------
    kind
        What it is.
    text
        As it was typed, a Greek letter by its name.
    position
        Index of its first character.
    before, after
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
        A character is unknown; the message names it and its place.
    """
    tokens: list[Token] = []
    place = 0
    while True:
        blanks = len(expression[place:]) - len(expression[place:].lstrip())
        place += blanks
        matched = _TOKEN.match(expression, place)
        if matched is None:  # the end: the last alternative takes any character
            return _resolve_kinds(tokens)
        text = matched[0]
        if _MATRIX_PRODUCT.fullmatch(text):
            text = "U"
        elif matched.lastgroup == "hyphenated" and all(_is_mathematics(part) for part in text.split("-")):
            text = text.split("-")[0]  # a difference, eta-gamma, and no word
        end = place + len(text)
        kind = _token_kind(_ASCII_FORMS.get(text, text), expression[end : end + 1])
        if kind is None:
            raise OptionError(
                f"expected the plain notation of the pages; got {text!r} (U+{ord(text):04X}) at position {place} of "
                f"{expression!r}. Spell it out in letters, or say it in words."
            )
        after = len(expression[end:]) - len(expression[end:].lstrip())
        tokens.append(Token(kind, _ASCII_FORMS.get(text, text), place, blanks, after))
        place = end


class TokenReader:
    """Walks over the tokens of an expression; `closers` holds what closes each open bracket, the outermost first."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens: list[Token] = tokenize(expression)
        self.k: int = 0
        self.closers: list[tuple[str, ...]] = [()]

    def syntax_error(self, expected: str) -> OptionError:
        """Return the error for what stands at the present place."""
        token = self.peek()
        got = f"{token.text!r} at position {token.position}" if token else "the end"
        return OptionError(f"expected {expected}; got {got} of {self.expression!r}. Correct the expression there.")

    def peek(self) -> Token | None:
        """Return the present token, None at the end."""
        return self.tokens[self.k] if self.k < len(self.tokens) else None

    def take(self, expected: str = "a symbol, a number or a bracket") -> Token:
        """Return the present token and go on to the next."""
        token = self.peek()
        if token is None:
            raise self.syntax_error(expected)
        self.k += 1
        return token

    def is_at(self, *texts: str, attached: bool = False) -> bool:
        """Whether the present token is one of these marks, without a blank before it if attached."""
        token = self.peek()
        return (
            token is not None
            and token.kind == "mark"
            and token.text in texts
            and not (attached and token.blanks_before)
        )

    def is_closing(self) -> bool:
        """Whether the present token closes the innermost open bracket."""
        return self.is_at(*self.closers[-1])


def _resolve_kinds(tokens: list[Token]) -> list[Token]:
    """Return the tokens with the kinds that depend on the neighbours.

    The `a` of `is a maximum` is a word; the `in` of `d in C_nu` is a relation, that of `w in the simplex` is not; a
    word beside a fraction bar or under a power is a symbol.
    """
    read = list(tokens)
    for k, token in enumerate(tokens):
        before, after = read[k - 1] if k else None, tokens[k + 1] if k + 1 < len(tokens) else None
        if token.text == "a" and before and after and before.kind == after.kind == "word":
            read[k] = replace(token, kind="word")
        elif token.kind == "word" and "/" in (before and before.text, after and after.text):
            read[k] = replace(token, kind="symbol")
        elif token.kind == "word" and after and after.text == "^":
            read[k] = replace(token, kind="symbol")
    for k, token in enumerate(read):
        follows_word = k > 0 and read[k - 1].kind == "word"
        if token.text == "in" and token.kind == "word" and not follows_word and k + 1 < len(read):
            if read[k + 1].kind in ("symbol", "number") or read[k + 1].text in BRACKETS:
                read[k] = replace(token, kind="mark", text="∈")
    return read


def _is_mathematics(text: str) -> bool:
    """Whether a name is a symbol, a product or a function and not a word."""
    return _MATRIX_PRODUCT.fullmatch(text) is not None or _token_kind(text, "") != "word"


def _token_kind(text: str, following: str) -> Kind | None:
    """Return the kind of a token by the character that follows it, None for an unknown character."""
    if text == "inf" and following == "_":  # elsewhere it is infinity
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
