r"""Translation of the plain notation, such as `(1/eta) sum_n d_n ln(d_n / d0_n)`, to LaTeX by recursive descent.

The notation spells out the symbols of the papers. It has `_` and `^` for scripts, `/` for fractions, juxtaposition for
products, `||d||_p`, `|e_q|`, `[x]_+`, `<d, w>`, named functions and words. The grammar is:

    sequence   (relation | sign | punctuation | words | product)*    up to the closing bracket
    product    factor ("/" factor | factor)*
    factor     (number | symbol | function | bracketed sequence) script* [bracketed sequence]

The result needs amsmath, which MathJax and KaTeX support as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from boostopt.errors import OptionError
from boostopt.typesetting.tokenizer import (
    ACCENTS,
    BRACKETS,
    FUNCTIONS,
    MARKS,
    SUMS,
    SUPERSCRIPTS,
    SYMBOLS,
    TokenReader,
)

_LEFT = {"(": "(", "[": "[", "{": r"\{", "<": r"\langle", "|": r"\lvert", "||": r"\lVert"}
_RIGHT = {")": ")", "]": "]", "}": r"\}", ">": r"\rangle", "|": r"\rvert", "||": r"\rVert"}
_SPACED_MARKS = frozenset(MARKS) - set(",;:.")
"""Signs and relations, around which LaTeX sets spaces."""
_AFTER_STAR = frozenset({"(", ",", ";", "_", "^", *BRACKETS.values()})
_FACTOR_KINDS = frozenset({"simple", "group", "call"})
_INDICES = frozenset("nqtijkm")
"""Letters of indices with several letters: `U_nq`."""


@dataclass(frozen=True)
class _LatexPart:
    """The LaTeX of a part of an expression.

    Attributes
    ----------
    text
        The LaTeX.
    kind
        The kind of the part, which decides whether brackets around it are superfluous.
    tall
        Whether brackets around the part must grow with it.
    inner
        The content of a group in round brackets; "" for other parts.
    """

    text: str
    kind: Literal["simple", "sequence", "fraction", "group", "operator", "call"] = "sequence"
    tall: bool = False
    inner: str = ""


def latex(expression: str) -> str:
    r"""Translate an expression in plain notation to LaTeX.

    Parameters
    ----------
    expression
        Plain text: `"(1/eta) sum_n d_n ln(d_n / d0_n)"`.

    Returns
    -------
    LaTeX for math mode: `\frac{1}{\eta} \sum_{n} d_{n} \ln\left(\frac{d_{n}}{d_{n}^{0}}\right)`.

    Raises
    ------
    OptionError
        A character is unknown, or a bracket, a script or a fraction is incomplete; the message names the position.
    """
    return _LatexTranslator(expression).translate()


class _LatexTranslator(TokenReader):
    """A translator with a method for each rule of the grammar."""

    def translate(self) -> str:
        """Return the LaTeX of the whole expression."""
        if not self.tokens:
            raise OptionError("expected an expression; got an empty one. Leave it out, or write what holds.")
        return self.sequence(flat=False).text

    def sequence(self, flat: bool) -> _LatexPart:
        """Return the tokens up to the closing bracket or the end; if `flat`, as in a script, fractions have no bar."""
        pieces: list[_LatexPart] = []
        while (token := self.peek()) is not None and not self.is_closing():
            if pieces and token.blanks_before > 2:
                pieces.append(_LatexPart(r"\quad"))
            if token.kind == "word":
                pieces.append(_LatexPart(self.words()))
            elif token.kind == "mark" and token.text in MARKS and not self.is_inner_product():
                pieces.append(_LatexPart(self.mark()))
            elif self.starts_factor():
                pieces.append(self.product(flat))
            else:
                raise self.syntax_error("a symbol, a number or a word")
        # No blank before punctuation, nor after a sign that starts the expression.
        text = re.sub(r" (?=[,;.](?: |$))|(?<=^-) ", "", " ".join(piece.text for piece in pieces))
        kind = pieces[0].kind if len(pieces) == 1 else "sequence"
        return _LatexPart(text, kind, any(piece.tall for piece in pieces))

    def words(self) -> str:
        """Return a run of words in text mode, with blanks before and after next to mathematics."""
        first = self.k
        run = [self.take().text]
        while (token := self.peek()) and token.kind == "word":
            run.append(self.take().text)
        previous = self.tokens[first - 1] if first else None
        leading = "" if previous is None or previous.text in _SPACED_MARKS or previous.text in BRACKETS else " "
        trailing = (
            "" if token is None or token.text in _SPACED_MARKS or token.text in ",;." or self.is_closing() else " "
        )
        return rf"\text{{{leading}{' '.join(run)}{trailing}}}"

    def mark(self) -> str:
        """Return a relation, a sign or a punctuation mark; a dot between blanks is a product or an empty argument."""
        token = self.take()
        if token.text == "." and (
            (token.blanks_before and token.blanks_after) or self.is_at("||", "|")
        ):  # u . d, or ||.||
            return r"\cdot"
        return MARKS[token.text] + (r" \quad" if token.text in ",;" and token.blanks_after == 2 else "")

    def is_inner_product(self) -> bool:
        """Return whether the current `<` opens `<d, w>`: no blank after it, and a blank, a bracket or none before."""
        token = self.tokens[self.k]
        can_open = token.blanks_before > 0 or self.k == 0 or self.tokens[self.k - 1].text in BRACKETS
        return token.text == "<" and can_open and token.blanks_after == 0

    def starts_factor(self) -> bool:
        """Return whether the current token starts a factor."""
        token = self.peek()
        if token is None or token.kind == "word" or self.is_closing():
            return False
        return token.kind != "mark" or self.is_inner_product() or (token.text in BRACKETS and token.text != "<")

    def product(self, flat: bool) -> _LatexPart:
        """Return adjacent factors; a numerator is the run of factors before the bar, after a sum or a fraction."""
        pieces = [self.factor(flat)]
        while True:
            if self.is_at("/"):
                if pieces[-1].kind == "operator":
                    raise self.syntax_error("the operand of the operator")
                self.take()
                if flat:
                    pieces += [_LatexPart("/"), self.factor(flat)]
                    continue
                first = len(pieces) - 1
                while first > 0 and {pieces[first].kind, pieces[first - 1].kind} <= _FACTOR_KINDS:
                    first -= 1
                numerator = (
                    _without_parentheses(pieces[-1])
                    if first == len(pieces) - 1
                    else " ".join(p.text for p in pieces[first:])
                )
                pieces[first:] = [_LatexPart(rf"\frac{{{numerator}}}{{{self.denominator()}}}", "fraction", tall=True)]
            elif self.starts_factor() and self.tokens[self.k].blanks_before < 3:
                pieces.append(self.factor(flat))
            else:
                kind = pieces[0].kind if len(pieces) == 1 else "sequence"
                return _LatexPart(" ".join(piece.text for piece in pieces), kind, any(piece.tall for piece in pieces))

    def denominator(self) -> str:
        """Return one factor, or an operator with its operand: `q_n / sum_k q_k`."""
        if not self.starts_factor():
            raise self.syntax_error("a denominator")
        pieces = [self.factor(flat=False)]
        while pieces[0].kind == "operator" and self.starts_factor():
            pieces.append(self.factor(flat=False))
        return " ".join(_without_parentheses(piece) if len(pieces) == 1 else piece.text for piece in pieces)

    def factor(self, flat: bool) -> _LatexPart:
        """Return a number, a symbol, a function or a bracket, each with its scripts."""
        if not self.starts_factor():
            raise self.syntax_error("a symbol, a number or a bracket")
        token = self.tokens[self.k]
        if token.kind == "mark":
            return self.bracketed(flat)
        self.take()
        if token.kind == "number":
            return self.scripted(*_number_parts(token.text))
        if token.kind == "sum":
            return _LatexPart(self.scripted(SUMS[token.text]).text, "operator", tall=True)
        if token.kind == "accent":
            return self.scripted(rf"{ACCENTS[token.text]}{{{self.accented()}}}")
        if token.text == "sqrt":
            return self.scripted(rf"\sqrt{{{_without_parentheses(self.factor(flat))}}}", tall=True)
        if token.kind == "function":
            name = self.scripted(FUNCTIONS.get(token.text, rf"\operatorname{{{token.text}}}")).text
            if not (self.is_at("(", "{") or self.is_at("[", attached=True)):
                return _LatexPart(name, "operator")
        else:
            symbol = self.scripted(*_symbol_parts(token.text))
            if not self.is_at("(", "[", attached=True):
                return symbol
            name = symbol.text
        argument = self.group(flat, call=True)
        return _LatexPart(name + self.scripted(argument.text).text, "call", argument.tall)

    def accented(self) -> str:
        """Return the operand of an accent: a symbol, or the content of brackets."""
        if self.is_at("("):
            return self.enclosed(flat=True)[1].text
        token = self.peek()
        if token is None or token.kind != "symbol":
            raise self.syntax_error("a symbol under the accent")
        return _with_scripts(*_symbol_parts(self.take().text))

    def bracketed(self, flat: bool) -> _LatexPart:
        """Return a bracketed group with its scripts; a single fraction without scripts needs no brackets."""
        group = self.group(flat)
        end = self.k
        piece = self.scripted(group.text, tall=True)
        return group if self.k == end else piece

    def group(self, flat: bool, call: bool = False) -> _LatexPart:
        """Return a bracketed sequence with brackets of its height; the brackets of a call always stay."""
        coefficient = self.k > 0 and self.tokens[self.k - 1].kind == "number"  # 2 (1/2) is not two and a half
        opening, inner, closing = self.enclosed(flat)
        round_brackets = opening == "(" and closing == ")"
        needs_brackets = call or coefficient or self.is_at("^", "_", *SUPERSCRIPTS)
        if inner.kind == "fraction" and round_brackets and not needs_brackets:
            return inner
        opener, closer = _LEFT[opening], _RIGHT[closing]
        blank = " " if opener.startswith("\\") else ""
        if inner.tall:
            opener, closer = rf"\left{opener}", rf"\right{closer}"
        text = f"{opener}{blank}{inner.text}{blank}{closer}"
        return _LatexPart(text, "group", True, inner.text if round_brackets else "")

    def enclosed(self, flat: bool) -> tuple[str, _LatexPart, str]:
        """Return the current opening bracket, the enclosed sequence, and the closing bracket."""
        opening = self.take()
        self.closers.append((")", "]") if opening.text in "([" else (BRACKETS[opening.text],))
        inner = self.sequence(flat)
        if not inner.text:
            raise self.syntax_error(f"something after the {opening.text!r} at position {opening.position}")
        interval = "," in inner.text  # the brackets of [0, 1) differ
        if not self.is_closing() or not (interval or self.is_at(BRACKETS[opening.text])):
            raise self.syntax_error(
                f"{BRACKETS[opening.text]!r} for the {opening.text!r} at position {opening.position}"
            )
        self.closers.pop()
        return opening.text, inner, self.take().text

    def scripted(self, base: str, subscript: str = "", superscript: str = "", tall: bool = False) -> _LatexPart:
        """Return a base with the following scripts."""
        while True:
            if self.is_at("_"):
                self.take()
                if (token := self.peek()) and token.kind == "accent":  # gamma_hat
                    base = rf"{ACCENTS[self.take().text]}{{{base}}}"
                    continue
                script = self.script(power=False)
                subscript = f"{subscript}, {script}" if subscript else script
            elif self.is_at("^"):
                self.take()
                script = self.script(power=True)
                if superscript:  # a power of a symbol with a superscript: (d^0)^2
                    base, subscript = f"({_with_scripts(base, subscript, superscript)})", ""
                superscript = script
            elif self.is_at(*SUPERSCRIPTS, attached=True):
                superscript = f"{superscript} {SUPERSCRIPTS[self.take().text]}".strip()
            elif not base[0].isdigit() and self.is_star_superscript():
                self.take()
                superscript = f"{superscript} *".strip()
            else:
                transposed = base == "U" and superscript in ("T", r"\prime")
                return _LatexPart(
                    _with_scripts(base, subscript, r"\top" if transposed else superscript), "simple", tall
                )

    def is_star_superscript(self) -> bool:
        """Return whether the current `*` marks a conjugate, F*(z), or an optimum, w*, and is no product."""
        if not self.is_at("*", attached=True):
            return False
        following = self.tokens[self.k + 1 : self.k + 2]
        return not following or self.tokens[self.k].blanks_after > 0 or following[0].text in _AFTER_STAR

    def script(self, power: bool) -> str:
        """Return the content of a script without braces; a power also without round brackets."""
        if self.is_at("{", "("):
            opening, inner, _ = self.enclosed(flat=True)
            return inner.text if power or opening == "{" else f"({inner.text})"
        token = self.take("a script")
        if token.text in ("+", "-", "*"):
            following = self.peek()
            signed = token.text != "*" and following is not None and following.kind in ("number", "symbol")
            return MARKS[token.text].replace(r"\cdot", "*") + (
                self.script(power) if signed and not token.blanks_after else ""
            )
        if token.kind == "number":
            return token.text
        if token.kind == "symbol":
            return _with_scripts(*_symbol_parts(token.text))
        if token.kind == "function" and token.text in FUNCTIONS:
            return FUNCTIONS[token.text]
        if token.kind in ("word", "function") and set(token.text) <= _INDICES:
            return " ".join(token.text)
        if token.kind in ("word", "function", "accent"):
            return rf"\text{{{token.text}}}"
        self.k -= 1
        raise self.syntax_error("a script")


def _symbol_parts(name: str) -> tuple[str, str, str]:
    """Return a symbol, its digits as a subscript, and a superscript: the papers write d0, the reference, as d^0."""
    base = name.rstrip("0123456789")
    digits = name.removeprefix(base)
    letter = SYMBOLS.get(base, base if len(base) == 1 else rf"\text{{{base}}}")  # a word may stand for a number
    return (letter, "", digits) if name == "d0" else (letter, digits, "")


def _number_parts(text: str) -> tuple[str, str, str]:
    """Return a number, an empty subscript, and the exponent of a power of ten as the superscript."""
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text, "", ""
    return "10" if mantissa == "1" else rf"{mantissa} \cdot 10", "", exponent.removeprefix("+")


def _with_scripts(base: str, subscript: str, superscript: str) -> str:
    """Return a base with its subscript and superscript."""
    return base + (f"_{{{subscript}}}" if subscript else "") + (f"^{{{superscript}}}" if superscript else "")


def _without_parentheses(piece: _LatexPart) -> str:
    """Return the LaTeX of a part without round brackets, which a fraction bar makes superfluous."""
    return piece.inner if piece.kind == "group" and piece.inner else piece.text
