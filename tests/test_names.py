"""Names are nouns and verbs: participles, prepositions and pronouns do not become names, and old ones only disappear.

    python tests/test_names.py      writes the list of the old ones anew

docs/english.md has the rules for names.
"""

from __future__ import annotations

import ast
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import boostopt

ROOT = Path(boostopt.__file__).parent
FOLDERS = (ROOT, *(ROOT.parent / name for name in ("formulations", "benchmarks", "tools", "tests")))
OLD_NAMES = Path(__file__).with_name("old_names.json")

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

QUESTIONS = ("What ", "How ", "Where ")
"""Words with which docstrings do not begin."""

ROLES = frozenset("__init__ backend base compare export formulation requirements verify".split())
"""Names of modules that stand in two folders, where both have the same role."""


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


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the package, the formulations, benchmarks, tools and tests, by file."""
    paths = [path for folder in FOLDERS for path in sorted(folder.rglob("*.py"))]
    return {path.relative_to(ROOT.parent).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def count_by_file() -> dict[str, dict[str, int]]:
    """Count the names that are such words, by file."""
    counts = {file: names_of(tree) for file, tree in trees().items()}
    return {file: dict(sorted(names.items())) for file, names in counts.items() if names}


def test_old_names_without_a_noun_only_disappear() -> None:
    listed = json.loads(OLD_NAMES.read_text(encoding="utf-8"))
    now = count_by_file()
    more = {
        f"{file}: {name}"
        for file, names in now.items()
        for name, count in names.items()
        if count > listed.get(file, {}).get(name, 0)
    }
    assert not more, "name the value by a noun, and the action by a verb"
    assert now == listed, "old names have disappeared: run `python tests/test_names.py` to shorten the list"


def texts_of(tree: ast.Module) -> list[str]:
    """Return the docstrings of a module, of its functions and classes, and of its constants and attributes."""
    return [
        node.value.value.lstrip()
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    questions = [
        f"{file}: {text[:60]}"
        for file, tree in trees().items()
        for text in texts_of(tree)
        if text.startswith(QUESTIONS)
    ]
    assert not questions, "begin with a verb or a noun"


def test_a_docstring_that_begins_with_a_question_is_found() -> None:
    tree = ast.parse('"""Numbers."""\nx = 1\n"""How many."""\ndef f():\n    """What f is."""')
    assert sorted(text for text in texts_of(tree) if text.startswith(QUESTIONS)) == ["How many.", "What f is."]


def test_a_word_that_is_no_name_is_found() -> None:
    tree = ast.parse(
        "def told(self, found):\n    self.made = own = found\n    return [of for of in own]\nclass Left: x = 1"
    )
    assert names_of(tree) == {"told": 1, "found": 1, "made": 1, "own": 1, "of": 1, "left": 1}


def test_modules_of_one_name_have_one_role() -> None:
    places = defaultdict[str, set[str]](set)
    for path in ROOT.rglob("*.py"):
        places[path.stem].add(path.parent.relative_to(ROOT).as_posix())
    doubled = {name for name, folders in places.items() if len(folders) > 1}
    assert doubled <= ROLES, "two modules have one name: rename the new one"


if __name__ == "__main__":
    OLD_NAMES.write_text(json.dumps(count_by_file(), indent=1) + "\n", encoding="utf-8")
