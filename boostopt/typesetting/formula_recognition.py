"""Recognition of the formulas in prose: a paragraph in plain notation becomes words, code and formulas.

Users also read docstrings in a terminal, so formulas have no marks there. A run of tokens is a formula if it consists
of symbols, numbers, signs and brackets, without words. It must have a symbol, an interval, an operator between numbers,
a negative number or a power of ten. Punctuation separates formulas: `e = Uᵀd, m = Uw` contains two. A formula that
cannot be translated stays as it is.
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
"""A pattern of code: text between backticks, and names of arguments, also with a value."""

_WORD_PATTERN = re.compile(
    r"[^\W\d_]+(?:'[a-z]{1,2}\b|(?<=s)'(?=\s))|\be\.g\.|\bi\.e\.|[^\x00-\x7fᵀ²³≤≥∞\u0391-\u03c9]+|\b[A-Z]\d\d\b"
    r"|[$@#%&\\\"?!]|\b\d+(?:-[a-z]+)+|\((?:\d+(?:\.\d+)*[a-z]?)\)|\d+\.\d+\.\d+|\b(?:19|20)\d\d[a-z]\b"
)
"""A pattern of prose that resembles mathematics: possessives, numbers of errata and equations, 2-norm, 0.1.5, 2010b."""

_RELATIONS = frozenset({"=", "<", ">", "<=", ">=", "!=", "/", "^", "*", "∈", "->"})
_TRIMMED_TOKENS = frozenset({",", ";", ":", ".", "∈", "+", "-", "/", "*", "=", "'", "~", "<", ">", "|", "||", "_", "^"})
_SEPARATORS = frozenset({",", ";", ":"})
_POWER_OF_TEN = re.compile(r"[\d.]+e[+-]?\d+")
_ARTICLES = frozenset({"a", "A", "I"})


@dataclass(frozen=True)
class ProsePart:
    """A part of a paragraph: words as typed, code with its backticks, or a formula in LaTeX."""

    text: str
    kind: Literal["words", "code", "formula"]


def split_prose(text: str) -> Iterator[ProsePart]:
    """Yield the words, the code and the formulas of a paragraph, in order.

    Parameters
    ----------
    text
        One paragraph in plain notation, with line breaks or without.
    """
    line = " ".join(text.split())
    position = 0
    for code in _CODE_PATTERN.finditer(line):
        yield from _split_text(line[position : code.start()])
        yield ProsePart(code[0] if code[0].startswith("`") else f"`{code[0]}`", "code")
        position = code.end()
    yield from _split_text(line[position:])


def typeset_prose(text: str) -> str:
    """Return a paragraph as Markdown: formulas between dollars, code between backticks, everything else escaped.

    Parameters
    ----------
    text
        One paragraph in plain notation, with line breaks or without.
    """
    formatters = {"words": escape_markdown, "code": str, "formula": "${}$".format}
    return "".join(formatters[part.kind](part.text) for part in split_prose(text))


def display_to_markdown(text: str) -> str | None:
    """Return an indented paragraph as display mathematics, line by line.

    Return None if at least half of its tokens are words, or if a line cannot be translated.
    """
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
    """Return plain text for Markdown, with all characters of markup escaped."""
    return re.sub(r"([\\*_\[\]<>$|~`])", r"\\\1", text)


def _split_text(text: str) -> Iterator[ProsePart]:
    """Yield the parts of a text without code."""
    position = 0
    for start, end in _find_formulas(text):
        try:
            formula = latex(text[start:end])
        except OptionError:
            continue
        if position < start:
            yield ProsePart(text[position:start], "words")
        yield ProsePart(formula, "formula")
        position = end
    if position < len(text):
        yield ProsePart(text[position:], "words")


def _find_formulas(text: str) -> list[tuple[int, int]]:
    """Return the start and the end of each formula of a text."""
    # Letters w replace the words, with equal lengths, because some words contain characters of mathematics.
    masked = _WORD_PATTERN.sub(lambda match: "w" * len(match[0]) if len(match[0]) > 1 else " ", text)
    try:
        tokens = tokenize(masked)
    except OptionError:
        return []
    prose_brackets, arguments = _classify_brackets(tokens)
    runs, run = list[list[int]](), list[int]()
    depth = 0
    for k, token in enumerate(tokens):
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}")) if k not in prose_brackets else 0
        is_separator = depth <= 0 and (token.text in _SEPARATORS or _ends_sentence(tokens, k))
        if (_is_word(tokens, k) and k not in arguments) or k in prose_brackets or is_separator:
            runs.append(run)
            run = []
        else:
            run.append(k)
    runs.append(run)
    trimmed = (_trim_run(tokens, run) for run in runs)
    return [
        (tokens[run[0]].position, _token_end(tokens, run[-1], masked)) for run in trimmed if _is_formula(tokens, run)
    ]


def _token_end(tokens: Sequence[Token], k: int, text: str) -> int:
    """Return the position after the last character of a token."""
    end = tokens[k + 1].position if k + 1 < len(tokens) else len(text)
    return end - (len(text[:end]) - len(text[:end].rstrip()))


def _is_word(tokens: Sequence[Token], k: int) -> bool:
    """Return whether a token is a word of prose and no index."""
    is_index = k > 0 and tokens[k - 1].text == "_" and not tokens[k].blanks_before
    return tokens[k].kind == "word" and not is_index


def _ends_sentence(tokens: Sequence[Token], k: int) -> bool:
    """Return whether a token is the full stop of a sentence: no blank before it, and a blank or the end after it."""
    token = tokens[k]
    return token.text == "." and not token.blanks_before and (bool(token.blanks_after) or k + 1 == len(tokens))


def _classify_brackets(tokens: Sequence[Token]) -> tuple[set[int], set[int]]:
    """Return the brackets of prose, which contain words or have no partner, and the tokens of function arguments.

    A square bracket may close or open a round one, as in [0, 1).
    """
    prose_brackets, arguments, stack = set[int](), set[int](), list[int]()
    for k, token in enumerate(tokens):
        if token.text in ("(", "["):
            stack.append(k)
        elif token.text in (")", "]"):
            if not stack:
                prose_brackets.add(k)
                continue
            start = stack.pop()
            content = range(start, k)
            if start and tokens[start - 1].kind == "function" and not tokens[start].blanks_before:
                arguments |= set(content)
            elif any(_is_word(tokens, j) or tokens[j].text in ";:" or _ends_sentence(tokens, j) for j in content):
                prose_brackets |= {start, k}
    return prose_brackets | set(stack), arguments


def _trim_run(tokens: Sequence[Token], run: list[int]) -> list[int]:
    """Return a run without the articles, names of functions and signs at its start and its end."""
    run = list(run)
    while run:
        first, last = tokens[run[0]], tokens[run[-1]]
        following = tokens[run[1]] if len(run) > 1 else None
        is_isolated = following is None or following.text in _TRIMMED_TOKENS - {"_", "^", "|", "||", "-"}
        if _is_article(tokens, run[0]) and (
            following is None or following.kind in ("sum", "function") or (len(run) == 2 and following.kind == "symbol")
        ):
            run = run[1:]
        elif _is_article(tokens, run[-1]) and last.blanks_before and _precedes_a_word(tokens, run[-1]):
            run = run[:-1]
        elif first.kind in ("sum", "function") and is_isolated:
            run = run[1:]
        elif first.text in _TRIMMED_TOKENS - {"-", "|", "||", "<"} or (first.text == "-" and first.blanks_after):
            run = run[1:]
        elif last.kind in ("sum", "function") or (last.text in _TRIMMED_TOKENS and not _is_matched_mark(tokens, run)):
            run = run[:-1]
        else:
            break
    return run


def _is_article(tokens: Sequence[Token], k: int) -> bool:
    """Return whether a letter is an article or a pronoun; an A in the middle of a sentence is a symbol."""
    starts = k == 0 or tokens[k - 1].text in (".", ":", "(")
    return tokens[k].text in _ARTICLES and (tokens[k].text != "A" or starts)


def _precedes_a_word(tokens: Sequence[Token], k: int) -> bool:
    """Return whether the next token is a word."""
    return k + 1 < len(tokens) and tokens[k + 1].kind == "word"


def _is_matched_mark(tokens: Sequence[Token], run: Sequence[int]) -> bool:
    """Return whether the last mark of a run closes a bracket of the run, or is a superscript, as in `w^+`."""
    last = tokens[run[-1]].text
    if len(run) > 1 and tokens[run[-2]].text == "^":
        return True
    return last in ("|", "||", ">") and any(BRACKETS.get(tokens[k].text) == last for k in run[:-1])


def _is_formula(tokens: Sequence[Token], run: Sequence[int]) -> bool:
    """Return whether a run has a symbol, an interval, an operation, a negative number or a power of ten."""
    members = [tokens[k] for k in run]
    if any(token.kind == "symbol" for token in members):
        return True
    if not any(token.kind == "number" for token in members):
        return False
    texts = [token.text for token in members]
    has_operation = any(text in _RELATIONS or text in ("[", "{") for text in texts)
    is_interval = texts[0] == "(" and texts[-1] in (")", "]") and "," in texts
    return has_operation or is_interval or any(_POWER_OF_TEN.fullmatch(text) for text in texts) or texts[0] == "-"
