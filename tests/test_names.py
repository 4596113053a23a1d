"""Names are nouns and verbs: participles, prepositions and pronouns are no names. docs/english.md has the rules."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

import boostopt

ROOT = Path(boostopt.__file__).parent
PRODUCT = (ROOT, ROOT.parent / "formulations")
TESTS = ROOT.parent / "tests"
OTHER_FOLDERS = tuple(ROOT.parent / name for name in ("benchmarks", "tools", "docs"))

KEYS = {
    "benchmarks/evidence/soft_margins_table_runs.py": {"chosen": 1},
    "benchmarks/evidence/softboost_table.py": {"every": 2},
}
"""Parameters that are such words, because they are keys of the kept results in docs/evidence, by file."""

WORDS = frozenset(
    (
        "above alone among any anew apart as asked at before behind below beside between beyond broken "
        "chosen coded collected dead described drawn each elsewhere every filled followed found gained given "
        "gone heard held here its joined kept known learnt least left linearized live lost looked made meant "
        "met most moved near needed none noted of off on other others over own placed printed put rated "
        "reached risen rounded said same seen shown since so softened solved some stated still stored stuck "
        "taken that them then there these they this those told touching turned under unfit until waited "
        "wanted what when where which widened with within worth written wrong"
    ).split()
)
"""Words that are no names of functions, classes, attributes, parameters or locals."""

QUESTION_WORDS = frozenset(
    "how what whatever when where wherever whether which whichever who whoever whom whose why".split()
)
"""Words that begin no docstring of the product, the tools and the tests."""

PARTICLES = QUESTION_WORDS | frozenset(
    (
        "among as at between by for from if in it its like of on one only over same so that there these this those "
        "under up with without "
        "built chosen drawn found given held kept known lost made met said seen sent taken told written"
    ).split()
)
"""Words that begin no docstring of the product and the tools: no verbs and no nouns."""

PARTICIPLE = re.compile(r"[\w-]+(?:ed|ing)")
"""A word that may be a participle."""

ADJECTIVES = frozenset(
    (
        "allowed binned certified checked closing encoded estimated finished fitted merged published requested scaled "
        "selected shared starting stored training unbounded unnormalized"
    ).split()
)
"""Participles that stand before a noun, such as "scaled gap"."""

GERUNDS = frozenset("boosting rounding typesetting".split())
"""Nouns that end like participles."""

BEGINNING = re.compile(r'^ *r?"""(\w[\w-]*).*', re.MULTILINE)
"""The line that begins a docstring, and its first word."""

ROLES = frozenset("__init__ backend base compare export formulation requirements verify".split())
"""Names of modules that stand in two folders, where both have the same role."""


TEXT = re.compile(r'''""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*''', re.DOTALL)
"""Strings and comments of a source."""

BOUND_NAME = re.compile(
    r"\b(?:def|class)\s+(\w+)|(?<![\w.])([^\W\d]\w*)(?![\w.(])"
    r"|(?<=\.)(\w+)(?=\s*(?:[-+*/%&|^@<>]{0,3}=|[:,)\]]|in\b))"
)
"""Names that a source may bind: what is defined, names that are not called, and attributes that may be targets."""


def may_bind_words(text: str) -> bool:
    """Return whether a source may bind a word that is no name: most do not, and need no syntax tree."""
    names = BOUND_NAME.findall(TEXT.sub('""', text))
    words = {defined.lower() or name or attribute for defined, name, attribute in names}
    return not WORDS.isdisjoint(word.strip("_") for word in words if not keyword.iskeyword(word))


def names_of(tree: ast.AST) -> Counter[str]:
    """Count the functions, classes, attributes, parameters and locals that have such a word as their name."""
    counts = Counter[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            counts[node.name.lower()] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] += 1
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            counts[node.attr] += 1
        elif isinstance(node, ast.arg):
            counts[node.arg] += 1
    return Counter({name: count for name, count in counts.items() if name.strip("_") in WORDS})


def sources(folders: Sequence[Path]) -> dict[str, str]:
    """Return the texts of the source files in some folders, by file."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return {path.relative_to(ROOT.parent).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def count_by_file(folders: Sequence[Path]) -> dict[str, dict[str, int]]:
    """Count the names that are such words, by file."""
    counts = {file: names_of(ast.parse(text)) for file, text in sources(folders).items() if may_bind_words(text)}
    return {file: dict(sorted(names.items())) for file, names in counts.items() if names}


@pytest.mark.parametrize(
    "folders", [PRODUCT, pytest.param((*OTHER_FOLDERS, TESTS), marks=pytest.mark.thorough)], ids=["product", "others"]
)
def test_names_are_nouns_and_verbs(folders: Sequence[Path]) -> None:
    roots = {folder.relative_to(ROOT.parent).as_posix() for folder in folders}
    keys = {file: names for file, names in KEYS.items() if file.partition("/")[0] in roots}
    assert count_by_file(folders) == keys, "name the value by a noun, and the action by a verb"


def find_particles(text: str) -> list[str]:
    """Return the first lines of docstrings that begin with neither a verb nor a noun."""
    return [line[0].strip() for line in BEGINNING.finditer(text) if is_particle(line[1].lower())]


def is_particle(word: str) -> bool:
    """Return whether a word is a particle, or a participle that stands before no noun."""
    return word in PARTICLES or (PARTICIPLE.fullmatch(word) is not None and word not in ADJECTIVES | GERUNDS)


@pytest.mark.parametrize("folders", [PRODUCT, OTHER_FOLDERS], ids=["product", "others"])
def test_docstrings_begin_with_a_verb_or_a_noun(folders: Sequence[Path]) -> None:
    particles = {file: lines for file, text in sources(folders).items() if (lines := find_particles(text))}
    assert not particles, "begin with a verb or a noun"


def test_docstrings_of_tests_begin_with_no_question() -> None:
    questions = [
        f"{file}: {line[0].strip()}"
        for file, text in sources([TESTS]).items()
        for line in BEGINNING.finditer(text)
        if line[1].lower() in QUESTION_WORDS
    ]
    assert not questions, "begin with a verb or a noun"


def test_a_docstring_that_begins_with_a_particle_is_found() -> None:
    text = '"""Numbers."""\nx = 1\n' + '"""How many."""\ndef f():\n    ' + '"""Sorting x, or not."""\n"""Scaled gap."""'
    assert find_particles(text) == ['"""How many."""', '"""Sorting x, or not."""']


def test_a_word_that_is_no_name_is_found() -> None:
    tree = ast.parse(
        "def told(self, found):\n    self.made = own = found\n    return [of for of in own]\nclass Left: x = 1"
    )
    assert names_of(tree) == {"told": 1, "found": 1, "made": 1, "own": 1, "of": 1, "left": 1}


@pytest.mark.parametrize(
    ("source", "is_binding"),
    [
        ("def told(): pass", True),
        ("class Left: pass", True),
        ("def f(found=1): pass", True),
        ("lambda _own: 1", True),
        ("made: int", True),
        ("self.made = 1", True),
        ("self.made: int = 1", True),
        ("self.made, b = pair", True),
        ("self.made += 1", True),
        ("self.made **= 2", True),
        ("for self.made in rows: pass", True),
        ("with a as self.made: pass", True),
        ("(a, self.made) = pair", True),
        ("(kept := 1)", True),
        ("[x for of in rows]", True),
        ("import numpy as own", True),
        ("x = 'its' # said\ny = f(\"so, that\")", False),
        ('"""What was said:"""\nx = np.where(a, b, c).on(y)', False),
    ],
)
def test_a_source_that_may_bind_a_word_is_read(source: str, is_binding: bool) -> None:
    assert may_bind_words(source) == is_binding
    assert is_binding or not names_of(ast.parse(source))


@pytest.mark.thorough
def test_sources_that_bind_no_word_have_none_in_their_trees() -> None:
    for file, text in sources((*PRODUCT, *OTHER_FOLDERS, TESTS)).items():
        assert may_bind_words(text) or not names_of(ast.parse(text)), file


def test_modules_of_one_name_have_one_role() -> None:
    places = defaultdict[str, set[str]](set)
    for path in ROOT.rglob("*.py"):
        places[path.stem].add(path.parent.relative_to(ROOT).as_posix())
    doubled = {name for name, folders in places.items() if len(folders) > 1}
    assert doubled <= ROLES, "two modules have one name: rename the new one"
