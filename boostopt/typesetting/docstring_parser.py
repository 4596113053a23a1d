"""A parser of the docstrings of formulations: title, problems, KKT system, symbols, prose and sources.

    Title: a sentence that states the purpose of the program.

    Primal   min_{d, gamma}   gamma
             s.t.  Uᵀd <= gamma : w,   sum d = 1 : beta

    Dual     max_w   ...

    KKT      w_q (gamma - e_q) = 0,   d_n >= 0

    Symbols  kappa : a symbol that no table explains,   chi : another one

    Prose, in paragraphs.

    Sources: the publications that state the program.

A block starts at the first column with its name, followed by two blanks or more. The further lines of a block are
indented. A comma with two blanks or more, or a line break, separates two statements. ` : ` precedes a multiplier.
Further blocks, such as `Dual (reduced)` or `Printed`, stay in order. So does the problem of another case: an indented
paragraph that starts with min_ or max_. `Symbols` is optional.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Literal

from boostopt.errors import OptionError


@dataclass(frozen=True)
class PrintedProblem:
    """An optimization problem in plain notation.

    Attributes
    ----------
    name
        The name of the block.
    sense
        "min" or "max".
    variables
        The variables of the optimization.
    objective
        The expression to minimize or to maximize.
    constraints
        Pairs of a constraint and the name of its multiplier, or None.
    """

    name: str
    sense: Literal["min", "max"]
    variables: tuple[str, ...]
    objective: str
    constraints: tuple[tuple[str, str | None], ...]

    @property
    def expressions(self) -> tuple[str, ...]:
        """All expressions of the problem, in order."""
        texts = [text for pair in self.constraints for text in pair if text is not None]
        return (*self.variables, self.objective, *texts)


@dataclass(frozen=True)
class Statements:
    """A block of statements in plain notation, all of which hold, with the name of the block."""

    name: str
    expressions: tuple[str, ...]


@dataclass(frozen=True)
class PageText:
    """The parts of the docstring of a formulation.

    Attributes
    ----------
    title, summary
        The first paragraph before and after the colon.
    primal, dual, kkt
        The blocks of every formulation.
    further
        The other named blocks, in order.
    symbols
        Pairs of a symbol that the docstring explains and its meaning.
    prose
        The paragraphs with their line breaks; an indented paragraph is a display.
    sources
        The last paragraph without the word "Sources:".
    """

    title: str
    summary: str
    primal: PrintedProblem
    dual: PrintedProblem
    kkt: Statements
    further: tuple[PrintedProblem | Statements, ...]
    symbols: tuple[tuple[str, str], ...]
    prose: tuple[str, ...]
    sources: str

    @property
    def expressions(self) -> tuple[str, ...]:
        """All expressions of all blocks, in order."""
        blocks = (self.primal, self.dual, self.kkt, *self.further)
        return tuple(expression for block in blocks for expression in block.expressions)


def parse_page(docstring: str) -> PageText:
    """Return the parts of the docstring of a formulation.

    Raises
    ------
    OptionError
        The title, a block or the sources are missing, or a block does not have the layout that this module describes.
    """
    first, *rest = re.split(r"\n[ \t]*\n", inspect.cleandoc(docstring))
    title, colon, summary = _on_one_line(first).partition(": ")
    if not colon or not title:
        raise OptionError(
            f"expected the docstring of a formulation to start with 'Title: sentence.'; got {first[:60]!r}. "
            "Write the title, a colon and the purpose of the program."
        )
    blocks, prose, sources = _split_paragraphs(rest)
    if not sources:
        raise OptionError(
            f"expected a last paragraph 'Sources: ...'; {title} has none. Name the publications that state the program."
        )
    blocks_by_name = {name: _parse_block(title, name, body) for name, body in blocks if name != "Symbols"}
    if len(blocks_by_name) + any(name == "Symbols" for name, _ in blocks) < len(blocks):
        raise OptionError(f"expected each block of {title} once; got {', '.join(n for n, _ in blocks)}. Rename one.")
    primal, dual, kkt = (_find_block(title, name, blocks_by_name) for name in ("Primal", "Dual", "KKT"))
    if not (isinstance(primal, PrintedProblem) and isinstance(dual, PrintedProblem) and isinstance(kkt, Statements)):
        raise OptionError(f"expected two problems and conditions in {title}; got others. Correct its blocks.")
    further = tuple(block for block in blocks_by_name.values() if block not in (primal, dual, kkt))
    symbols = _parse_symbols(title, dict(blocks).get("Symbols", ""))
    return PageText(title, summary, primal, dual, kkt, further, symbols, prose, sources)


def _split_paragraphs(paragraphs: list[str]) -> tuple[list[tuple[str, str]], tuple[str, ...], str]:
    """Return the blocks by name, the prose and the sources."""
    blocks: list[tuple[str, str]] = []
    prose: list[str] = []
    sources = ""
    in_block = False  # an indented paragraph continues a block
    for paragraph in paragraphs:
        if in_block and paragraph[:1].isspace():
            name, body = blocks[-1]
            if _MIN_MAX_HEAD.match(paragraph) and not name.startswith("KKT"):  # the problem of another case
                blocks.append((_name_of_case(name, paragraph), paragraph))
            else:
                blocks[-1] = (name, f"{body}\n{paragraph}")
            continue
        new_blocks = _parse_blocks(paragraph)
        blocks += new_blocks
        in_block = bool(new_blocks)
        if match := re.match(r"Sources?:\s+", paragraph):
            sources = _on_one_line(paragraph[match.end() :])
        elif not new_blocks:
            prose.append(paragraph)
    return blocks, tuple(prose), sources


_BLOCK_HEAD = re.compile(
    r"(?:Primal|Dual|KKT)(?: \([^)\n]*\))?(?::?(?:[ \t]{2,}|[ \t]*\n(?=[ \t]))|[ \t](?=(?:min|max)_))"
    r"|[A-Z]\w*(?: [\w-]+){0,3}(?: \([^)\n]*\))?(?:[ \t]{2,}|[ \t]*\n(?=[ \t]))"
)
"""A pattern of the head of a block: a name and two blanks, or a name on a line before an indented one."""


def _parse_blocks(paragraph: str) -> list[tuple[str, str]]:
    """Return names and bodies of the blocks of a paragraph; [] for prose."""
    if not _BLOCK_HEAD.match(paragraph):
        return []
    blocks: list[tuple[str, str]] = []
    for chunk in re.split(r"\n(?=\S)", paragraph):
        match = _BLOCK_HEAD.match(chunk)
        if match is None:
            raise OptionError(
                f"expected the further lines of the block {blocks[-1][0]!r} to be indented, or a blank line after it; "
                f"got {chunk[:60]!r} at the first column. Indent the line."
            )
        blocks.append((match[0].strip().removesuffix(":"), chunk[match.end() :]))
    return blocks


def _name_of_case(name: str, body: str) -> str:
    """Return the name of a further problem of a block, with the condition at the end of the first line of its body."""
    condition = re.search(r"[ \t]{2,}((?:for|if|where|with)\b.*)", body.strip().splitlines()[0])
    return f"{name.partition(' (')[0]} ({condition[1] if condition else 'continued'})"


def _find_block(title: str, name: str, blocks: dict[str, PrintedProblem | Statements]) -> PrintedProblem | Statements:
    """Return the block of a name; if there is none, the first with an addition, such as `Dual (reduced)`."""
    for block in (blocks.get(name), *(block for key, block in blocks.items() if key.startswith(f"{name} ("))):
        if block is not None:
            return block
    raise OptionError(
        f"expected a block {name!r} in the docstring of {title}; got the blocks {', '.join(blocks) or 'none'}. "
        f"Start a paragraph with {name!r} at the first column, two blanks, and the statement."
    )


_MIN_MAX_HEAD = re.compile(r"\s*(min|max)_(?:\{([^{}]*)\}|(\w+))\s+")
_COMMA = re.compile(r"[,;](?:[ \t]{2,}|[ \t]*\n)\s*|[ \t]{2,}(?=with\b)")
_LINE = re.compile(r"\s*\n\s*")
_NARROW_COMMA = re.compile(r",\s*")
_RELATION = re.compile(r"[<>=≤≥≠∈∝]|\b(?:in|free|for|where)\b")
_CONTINUES_AFTER = re.compile(r"(?:[-+*/=<>:,]|\b(?:where|if|and|or|for|in|over))$")
_CONTINUES_WITH = re.compile(r"<?=|>=|[-+*/:]|[<>]\s|(?:where|if|and|or|for|in)\b")


def _parse_block(title: str, name: str, body: str) -> PrintedProblem | Statements:
    """Return a block: a problem if it is named Primal or Dual or starts with min_ or max_, else statements."""
    kind = name.partition(" (")[0]
    match = None if kind == "KKT" else _MIN_MAX_HEAD.match(body)  # max_q e_q = gamma is no problem
    if match is None:
        if kind in ("Primal", "Dual"):
            raise OptionError(
                f"expected the block {name!r} of {title} to start with min_{{variables}} or max_{{variables}}; "
                f"got {_on_one_line(body)[:60]!r}. Write the variables after min_ or max_, then the objective."
            )
        return Statements(name, _require_statements(title, name, _split_statements(body)))
    head, *tails = re.split(r"(?<!\S)(?:s\.t\.|subject to)(?!\S)", body[match.end() :])
    # Conditions may follow the objective, as in `sum d,   d free`; a line break alone does not end the objective.
    objective, *conditions = [_collapse_spaces(part).rstrip(",;") for part in _split_outside_brackets(head, _COMMA)]
    for tail in tails:
        conditions += _require_statements(title, f"{name}: s.t.", _split_statements(tail))
    if not objective:
        raise OptionError(
            f"expected an objective in the block {name!r} of {title}; got none. Write it after min_{{...}}."
        )
    variables = tuple(_split_outside_brackets((match[2] or match[3]).strip(), _NARROW_COMMA))
    pairs = tuple(_split_multiplier(condition) for condition in conditions if condition)
    return PrintedProblem(name, "min" if match[1] == "min" else "max", variables, objective, pairs)


def _require_statements(title: str, name: str, statements: tuple[str, ...]) -> tuple[str, ...]:
    """Return the statements; raise OptionError if there is none."""
    if not statements:
        raise OptionError(
            f"expected statements in the block {name!r} of {title}; got none. Write one, or drop the block."
        )
    return statements


def _split_statements(text: str) -> tuple[str, ...]:
    """Return the statements of a block; a line break separates two of them if both are complete relations."""
    statements: list[str] = []
    for part in _split_outside_brackets(text, _COMMA):
        lines: list[str] = []
        for line in map(_collapse_spaces, _split_outside_brackets(part.strip(), _LINE)):
            both_complete = lines and _RELATION.search(lines[-1]) and _RELATION.search(line)
            if both_complete and not _CONTINUES_AFTER.search(lines[-1]) and not _CONTINUES_WITH.match(line):
                lines.append(line)
            else:
                lines[-1:] = [" ".join([*lines[-1:], line])]
        statements += lines
    stripped = (re.sub(r"(?:[,;\s]|(?<!\.)\.)+$", "", statement) for statement in statements)
    return tuple(statement for statement in stripped if statement)


def _split_multiplier(statement: str) -> tuple[str, str | None]:
    """Return a constraint and the name of its multiplier, or None."""
    *parts, last = _split_outside_brackets(statement, re.compile(r"\s+:\s+"))
    return (" : ".join(parts), last) if parts else (last, None)


def _parse_symbols(title: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of symbol and meaning from the block `Symbols`, in which ` : ` follows each symbol."""
    prefix, *pairs = re.split(r"[,;]?\s+(?=\S+ : )", f" {text}")
    if prefix.strip():
        raise OptionError(
            f"expected 'symbol : meaning' in the block 'Symbols' of {title}; got {_on_one_line(text)[:60]!r}. "
            "Separate two of them by a comma and two blanks."
        )
    entries = (pair.partition(" : ") for pair in pairs)
    return tuple((name, _on_one_line(meaning).rstrip(",.;")) for name, _, meaning in entries)


def _split_outside_brackets(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split a text at the separators outside all brackets."""
    parts: list[str] = []
    depth = start = k = 0
    while k < len(text):
        match = separator.match(text, k) if depth == 0 else None
        if match is not None:
            parts.append(text[start:k])
            start = k = match.end()
            continue
        depth += (text[k] in "([{") - (text[k] in ")]}")
        k += 1
    return [*parts, text[start:]]


def _collapse_spaces(text: str) -> str:
    """Return a text on one line; three blanks replace a longer run, which separates a condition from a formula."""
    return re.sub(r"[ \t]+", lambda blanks: "   " if len(blanks[0]) > 2 else " ", _LINE.sub(" ", text.strip()))


def _on_one_line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())
