"""Prose with formulas in the plain notation of the pages: which stretches of a paragraph are mathematics.

A page is read in a terminal too, so its formulas are not marked. A stretch is a formula if its tokens are symbols,
numbers, signs and brackets, and no words. It must have a symbol, an interval, an operator between numbers, a negative
number or a power of ten. Punctuation parts formulas, so that `e = Uᵀd, m = Uw` has two. What cannot be translated stays
as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from boostopt.errors import OptionError
from boostopt.typesetting.latex_translator import latex
from boostopt.typesetting.tokenizer import BRACKETS, Token, tokenize

_CODE_PATTERN = re.compile(r"`+[^`]+`+|\b[a-z]{3,}(?:_[a-z]{2,})+(?:=\w+)?\b|\b[a-z]+=(?:True|False|None)\b")
"""Code between backticks, and names of arguments, with what they are set to."""

_WORD_PATTERN = re.compile(
    r"[^\W\d_]+(?:'[a-z]{1,2}\b|(?<=s)'(?=\s))|\be\.g\.|\bi\.e\.|[^\x00-\x7fᵀ²³≤≥∞\u0391-\u03c9]+|\b[A-Z]\d\d\b"
    r"|[$@#%&\\\"?!]|\b\d+(?:-[a-z]+)+|\((?:\d+(?:\.\d+)*[a-z]?)\)|\d+\.\d+\.\d+|\b(?:19|20)\d\d[a-z]\b"
)
"""Prose that looks like mathematics: a possessive, an erratum, an equation, 2-norm, 0.1.5, 2010b."""

_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "/", "^", "*", "∈", "->"})
_TRIMMED_TOKENS = frozenset({",", ";", ":", ".", "∈", "+", "-", "/", "*", "=", "'", "~", "<", ">", "|", "||", "_", "^"})
_SEPARATORS = frozenset({",", ";", ":"})
_POWER_OF_TEN = re.compile(r"[\d.]+e[+-]?\d+")
_ARTICLES = frozenset({"a", "A", "I"})


@dataclass(frozen=True)
class ProsePart:
    """A stretch of a paragraph: words as typed, code with its backticks, or a formula in LaTeX."""

    text: str
    kind: Literal["words", "code", "formula"]


def split_prose(text: str) -> Iterator[ProsePart]:
    """Yield the words, the code and the formulas of a paragraph, in order.

    Parameters
    ----------
    text
        One paragraph in the notation of the pages, with line breaks or without.
    """
    words = " ".join(text.split())
    place = 0
    for code in _CODE_PATTERN.finditer(words):
        yield from _split_text(words[place : code.start()])
        yield ProsePart(code[0] if code[0].startswith("`") else f"`{code[0]}`", "code")
        place = code.end()
    yield from _split_text(words[place:])


def typeset_prose(text: str) -> str:
    """Return a paragraph as Markdown: formulas between dollars, code between backticks, everything else escaped.

    Parameters
    ----------
    text
        One paragraph in the notation of the pages, with line breaks or without.
    """
    shown = {"words": escape_markdown, "code": str, "formula": "${}$".format}
    return "".join(shown[part.kind](part.text) for part in split_prose(text))


def display_to_markdown(text: str) -> str | None:
    """Return an indented paragraph as display mathematics, a line below the other; None if half of it is words."""
    lines = [line.strip().rstrip(",") for line in text.strip().splitlines()]
    try:
        kinds = [token.kind for line in lines for token in tokenize(line)]
        if 2 * kinds.count("word") >= len(kinds):
            return None
        rows = [f"& {latex(line)}" for line in lines]
    except OptionError:
        return None
    body = " \\\\[0.5ex]\n".join(rows)
    return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$"


def escape_markdown(text: str) -> str:
    """Return plain text for Markdown: nothing in it is markup."""
    return re.sub(r"([\\*_\[\]<>$|~`])", r"\\\1", text)


def _split_text(text: str) -> Iterator[ProsePart]:
    """Yield the parts of a text without code."""
    place = 0
    for start, end in _find_formulas(text):
        try:
            translated = latex(text[start:end])
        except OptionError:
            continue
        if place < start:
            yield ProsePart(text[place:start], "words")
        yield ProsePart(translated, "formula")
        place = end
    if place < len(text):
        yield ProsePart(text[place:], "words")


def _find_formulas(text: str) -> list[tuple[int, int]]:
    """Return where the formulas of a text begin and end."""
    # Words are hidden behind others of their length, which nothing takes for mathematics.
    hidden = _WORD_PATTERN.sub(lambda match: "w" * len(match[0]) if len(match[0]) > 1 else " ", text)
    try:
        tokens = tokenize(hidden)
    except OptionError:
        return []
    prose, called = _classify_brackets(tokens)
    runs, run = list[list[int]](), list[int]()
    depth = 0
    for k, token in enumerate(tokens):
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}")) if k not in prose else 0
        parts = depth <= 0 and (token.text in _SEPARATORS or _ends_sentence(tokens, k))
        if (_is_word(tokens, k) and k not in called) or k in prose or parts:
            runs.append(run)
            run = []
        else:
            run.append(k)
    runs.append(run)
    trimmed = (_trim_run(tokens, run) for run in runs)
    return [
        (tokens[run[0]].position, _token_end(tokens, run[-1], hidden)) for run in trimmed if _is_formula(tokens, run)
    ]


def _token_end(tokens: Sequence[Token], k: int, text: str) -> int:
    """Return where a token ends."""
    end = tokens[k + 1].position if k + 1 < len(tokens) else len(text)
    return end - (len(text[:end]) - len(text[:end].rstrip()))


def _is_word(tokens: Sequence[Token], k: int) -> bool:
    """Whether a token is a word of prose, and no index."""
    indexes = k > 0 and tokens[k - 1].text == "_" and not tokens[k].blanks_before
    return tokens[k].kind == "word" and not indexes


def _ends_sentence(tokens: Sequence[Token], k: int) -> bool:
    """Whether a dot ends a sentence: nothing stands before it, and a blank or nothing after it."""
    token = tokens[k]
    return token.text == "." and not token.blanks_before and (bool(token.blanks_after) or k + 1 == len(tokens))


def _classify_brackets(tokens: Sequence[Token]) -> tuple[set[int], set[int]]:
    """Return the brackets that hold words or are open, and what stands in those of functions, words too.

    Square brackets count where a round one closes or opens them, as in [0, 1).
    """
    prose, called, opened = set[int](), set[int](), list[int]()
    for k, token in enumerate(tokens):
        if token.text in ("(", "["):
            opened.append(k)
        elif token.text in (")", "]"):
            if not opened:
                prose.add(k)
                continue
            start = opened.pop()
            inside = range(start, k)
            if start and tokens[start - 1].kind == "function" and not tokens[start].blanks_before:
                called |= set(inside)
            elif any(_is_word(tokens, j) or tokens[j].text in ";:" or _ends_sentence(tokens, j) for j in inside):
                prose |= {start, k}
    return prose | set(opened), called


def _trim_run(tokens: Sequence[Token], run: list[int]) -> list[int]:
    """Return a run without the articles, names of functions and signs that stand at its ends."""
    run = list(run)
    while run:
        first, last = tokens[run[0]], tokens[run[-1]]
        following = tokens[run[1]] if len(run) > 1 else None
        alone = following is None or following.text in _TRIMMED_TOKENS - {"_", "^", "|", "||", "-"}
        if _is_article(tokens, run[0]) and (
            following is None or following.kind in ("sum", "function") or (len(run) == 2 and following.kind == "symbol")
        ):
            run = run[1:]
        elif _is_article(tokens, run[-1]) and last.blanks_before and _precedes_a_word(tokens, run[-1]):
            run = run[:-1]
        elif first.kind in ("sum", "function") and alone:
            run = run[1:]
        elif first.text in _TRIMMED_TOKENS - {"-", "|", "||", "<"} or (first.text == "-" and first.blanks_after):
            run = run[1:]
        elif last.kind in ("sum", "function") or (last.text in _TRIMMED_TOKENS and not _is_matched_mark(tokens, run)):
            run = run[:-1]
        else:
            break
    return run


def _is_article(tokens: Sequence[Token], k: int) -> bool:
    """Whether a letter is an article or a pronoun; the A in the middle of a sentence is a symbol."""
    starts = k == 0 or tokens[k - 1].text in (".", ":", "(")
    return tokens[k].text in _ARTICLES and (tokens[k].text != "A" or starts)


def _precedes_a_word(tokens: Sequence[Token], k: int) -> bool:
    """Whether a word comes next."""
    return k + 1 < len(tokens) and tokens[k + 1].kind == "word"


def _is_matched_mark(tokens: Sequence[Token], run: Sequence[int]) -> bool:
    """Whether the last mark of a run closes one before it, or stands above a symbol, as in `w^+`."""
    last = tokens[run[-1]].text
    if len(run) > 1 and tokens[run[-2]].text == "^":
        return True
    return last in ("|", "||", ">") and any(BRACKETS.get(tokens[k].text) == last for k in run[:-1])


def _is_formula(tokens: Sequence[Token], run: Sequence[int]) -> bool:
    """Whether a run has a symbol, an interval, an operator between numbers, a negative number or a power of ten."""
    own = [tokens[k] for k in run]
    if any(token.kind == "symbol" for token in own):
        return True
    if not any(token.kind == "number" for token in own):
        return False
    texts = [token.text for token in own]
    operated = any(text in _RELATIONS or text in ("[", "{") for text in texts)
    interval = texts[0] == "(" and texts[-1] in (")", "]") and "," in texts
    return operated or interval or any(_POWER_OF_TEN.fullmatch(text) for text in texts) or texts[0] == "-"
