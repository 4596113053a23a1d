"""Formulas as TeX that know when they need brackets; names, numbers, sums and products as TeX."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from boostopt.typesetting.tokenizer import SYMBOLS

SUM, ENTRYWISE, PRODUCT, SIMPLE = range(4)
"""The precedence of the operator that joins the parts of a formula."""

ELLIPSIS = r"\cdots"
"""The sign for terms that are left out of a sum."""

N_DIGITS = 6
"""Number of digits of a number."""

MAX_DENOMINATOR = 1000
"""Largest denominator of a number that is shown as a fraction."""

LEFT_TEXT = {
    "|": r"\vert{}",
    "<": "{<}",  # no tag of HTML begins with a sign before a brace
    ">": "{>}",
    "*": r"\ast{}",
    "[": r"\lbrack{}",
    "]": r"\rbrack{}",
}
"""Signs of names that Markdown and HTML read, in TeX for math mode."""

INDEXED_NAME = re.compile(r"([A-Za-z]+)_?((?<=_).+|\d+)")
"""A name with an index, such as x_max or x1."""


@dataclass(frozen=True)
class Formula:
    """TeX for math mode.

    Attributes
    ----------
    text
        The TeX.
    binding
        SUM, ENTRYWISE, PRODUCT or SIMPLE: brackets are needed where something stronger is expected.
    """

    text: str
    binding: int = SIMPLE

    def enclose(self, binding: int) -> str:
        """Return the TeX, in round brackets if the formula is weaker than a binding."""
        is_weak = self.binding < binding or (self.text.startswith("-") and binding > SUM)
        return in_brackets(self.text) if is_weak else self.text

    @property
    def transpose(self) -> Formula:
        """The formula with the sign of a transpose, or without it if it has one."""
        if self.text.endswith(r"^{\top}") and self.binding == SIMPLE:
            return Formula(self.text.removesuffix(r"^{\top}"))
        return self.power(r"\top")

    def power(self, exponent: str) -> Formula:
        """Return the formula with a superscript; a second superscript needs brackets."""
        base = in_brackets(self.text) if _has_superscript(self.text) else self.enclose(SIMPLE)
        return Formula(f"{base}^{{{exponent}}}")


def _has_superscript(text: str) -> bool:
    """Return whether TeX ends with a superscript in braces."""
    depth = 0
    for k in range(len(text) - 1, -1, -1):
        depth += (text[k] == "}") - (text[k] == "{")
        if text[k] == "{" and depth == 0:
            return text[-1] == "}" and k > 0 and text[k - 1] == "^"
        if depth == 0:
            return False
    return False


ONES = Formula(r"\mathbf{1}")
"""The vector of ones."""

ONES_MATRIX = Formula(r"\mathbf{1} \mathbf{1}^{\top}", PRODUCT)
"""The matrix of ones."""

IDENTITY = Formula("I")
"""The identity matrix."""


def in_brackets(text: str) -> str:
    """Return TeX in round brackets of its height."""
    is_tall = any(sign in text for sign in (r"\frac", r"\left", "^{", r"\sum"))
    return rf"\left({text}\right)" if is_tall else f"({text})"


def number_formula(value: float) -> Formula:
    """Return a number with at most N_DIGITS digits, or as a fraction of small numbers."""
    if math.isfinite(value) and value != float(f"{value:.{N_DIGITS}g}"):
        fraction = Fraction(value).limit_denominator(MAX_DENOMINATOR)
        if fraction.numerator / fraction.denominator == value:
            sign = "-" if value < 0 else ""
            return Formula(rf"{sign}\frac{{{abs(fraction.numerator)}}}{{{fraction.denominator}}}", PRODUCT)
    mantissa, _, exponent = f"{value:.{N_DIGITS}g}".partition("e")
    if not exponent:
        return Formula(mantissa.replace("inf", r"\infty"))
    power = f"10^{{{int(exponent)}}}"
    if mantissa in ("1", "-1"):
        return Formula(mantissa.removesuffix("1") + power, PRODUCT)
    return Formula(rf"{mantissa} \cdot {power}", PRODUCT)


def name_formula(name: str) -> Formula:
    """Return a name of a user: a letter, a Greek letter or a word, with what follows `_` or its digits as an index."""
    parts = INDEXED_NAME.fullmatch(name)
    base, index = (parts.group(1), parts.group(2)) if parts else ("", "")
    if not base or _is_upright(_word(base)):
        return Formula(_word(name))
    return Formula(f"{_word(base)}_{{{_word(index)}}}")


def _word(word: str) -> str:
    """Return a word as TeX: letters and numbers in italics, Greek letters as such, other words upright."""
    if word in SYMBOLS and SYMBOLS[word] != SYMBOLS["infinity"]:
        return SYMBOLS[word]
    if (len(word) == 1 and word.isalpha()) or word.isdigit():
        return word
    text = rf"\text{{{escape_words(word)}}}"
    return f"{{{text}}}" if LEFT_TEXT.keys() & set(word) else text


def _is_upright(text: str) -> bool:
    """Return whether TeX begins with a word."""
    return text.startswith((r"\text{", r"{\text{"))


def escape_words(words: str) -> str:
    """Return words for the text mode of TeX, within Markdown: nothing in them ends a cell, a formula or a paragraph.

    Signs that Markdown or HTML would read leave the text mode. Unprintable letters and backquotes are replaced.
    """
    words = "".join(letter if letter.isprintable() else " " for letter in " ".join(words.split()))
    text = re.sub(r"([&%$#_{}])", r"\\\1", words.replace("\\", "/").replace("`", "'"))
    text = text.replace("^", r"\^{}").replace("~", r"\~{}")
    return "".join(rf"}}{LEFT_TEXT[sign]}\text{{" if sign in LEFT_TEXT else sign for sign in text)


def operator_formula(name: str, arguments: Sequence[Formula], index: str = "") -> Formula:
    """Return a function by its name, with its arguments in brackets."""
    subscript = f"_{{{index}}}" if index else ""
    inner = ", ".join(argument.text for argument in arguments)
    return Formula(rf"\operatorname{{{escape_words(name)}}}{subscript}{in_brackets(inner)}")


def product(*factors: Formula) -> Formula:
    """Return a product; a factor 1 is left out, and a dot separates numbers."""
    texts = [factor.enclose(PRODUCT) for factor in factors if factor.text != "1"]
    if not texts:
        return Formula("1")
    if len(texts) == 1:
        return next(factor for factor in factors if factor.text != "1")
    result = texts[0]
    for text in texts[1:]:
        is_word = _is_upright(text) or (result.endswith("}") and r"\text{" in result)
        result += (r" \cdot " if text[0].isdigit() else r" \, " if is_word else " ") + text
    return Formula(result, PRODUCT)


def entrywise_product(first: Formula, second: Formula) -> Formula:
    """Return the product of equal entries."""
    return Formula(rf"{first.enclose(ENTRYWISE)} \circ {second.enclose(ENTRYWISE)}", ENTRYWISE)


def signed_sum(terms: Sequence[tuple[int, Formula]]) -> Formula:
    """Return a sum of terms with their signs; 0 for no terms. Terms that are left out stand for themselves."""
    text, count = "", 0
    for sign, formula in terms:
        term = formula.text if formula.binding > SUM or sign > 0 else in_brackets(formula.text)
        if term.startswith("-") and formula.binding > SUM:
            sign, term = -sign, term[1:]
        elif term.startswith("-") and text:
            term = in_brackets(term)
        text += (" + " if sign > 0 else " - ") + term if text else ("-" if sign < 0 else "") + term
        count += 1
    if not text:
        return Formula("0")
    return Formula(text, SUM if count > 1 else terms[0][1].binding if terms[0][0] > 0 else PRODUCT)


def is_number(expression: Any) -> bool:
    """Return whether a CVXPY expression has one entry."""
    return expression.size == 1


def is_column(expression: Any) -> bool:
    """Return whether a CVXPY expression is a vector."""
    return expression.ndim == 1 or (expression.ndim == 2 and expression.shape[1] == 1)


def inner_product(weight: Formula, argument: Formula, expression: Any) -> Formula:
    """Return the inner product of a weight and an argument with the shape of an expression."""
    if is_number(expression):
        return product(weight, argument)
    if is_column(expression):
        return product(weight.transpose, argument)
    if weight == ONES_MATRIX:
        return product(ONES.transpose, argument, ONES)
    return Formula(rf"\langle {weight.text}, {argument.text} \rangle")
