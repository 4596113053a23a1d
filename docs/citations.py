"""Sources as the docstrings write them, linked to the bibliography."""

from __future__ import annotations

import re
from pathlib import Path

BIBLIOGRAPHY = Path(__file__).with_name("references.bib")
SPELLED_OUT = {r"{\"a}": "ae", r"{\"o}": "oe", r"{\"u}": "ue", r"{\'e}": "e", r"{\o}": "o"}


def cited(text: str) -> str:
    """Return Markdown with a citation after every source that the bibliography has: `Glocer 2009`."""
    for source, key in _keys(BIBLIOGRAPHY.read_text(encoding="utf-8")).items():
        text = re.sub(rf"{re.escape(source)}\b", f"{source} {{cite:p}}`{key}`", text)
    return text


def _keys(bibliography: str) -> dict[str, str]:
    """Return the keys by authors and year, as in `Warmuth, Glocer, Raetsch 2007` and `Cortes and Vapnik 1995`."""
    for letter, plain in SPELLED_OUT.items():
        bibliography = bibliography.replace(letter, plain)
    keys: dict[str, str] = {}
    for key, entry in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", bibliography, re.DOTALL | re.MULTILINE):
        fields = dict(re.findall(r"^ *(\w+) = \{(.*)\},?$", entry, re.MULTILINE))
        authors = [author.partition(",")[0] for author in fields["author"].split(" and ")]
        names = " and ".join(authors) if len(authors) < 3 else ", ".join(authors)
        keys[f"{names} {fields['year']}"] = key
    return keys
