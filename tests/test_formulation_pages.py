"""The pages of the formulations: what they show how to use is used."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boostopt
from boostopt.oracles import DecisionStumps

sys.path.append(str(Path(__file__).parents[1] / "docs"))

pages: Any = importlib.import_module("formulation_pages")

NAMES = boostopt.list_formulations()


def test_every_formulation_has_a_family_and_no_family_is_empty() -> None:
    assert {pages.family_of(pages.Page.load(name)) for name in NAMES} == set(pages.FAMILIES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_code_on_a_page_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", pages.use(pages.Page.load(name)), re.DOTALL)
    rng = np.random.default_rng(0)
    N = 120
    X = np.round(rng.normal(size=(N, 4)), 1)
    y = np.where(X[:, 0] + rng.normal(size=N) > 0, 1, -1)
    U = boostopt.stump_matrix(X, y, 20)
    scope = {"boostopt": boostopt, "np": np, "DecisionStumps": DecisionStumps, "X": X, "y": y, "U": U, "N": N}
    exec(code.replace("max_rounds=50", "max_rounds=3"), scope)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == code.count("print(")
    program = scope["program"]
    assert isinstance(program, boostopt.Program)
    c = program.solve().certificate
    assert c.infeasible or c.gap <= 1e-5 * c.scale


@pytest.mark.every(2)
@pytest.mark.parametrize("name", NAMES)
def test_no_page_shows_mathematics_as_it_is_typed(name: str) -> None:
    """Outside of formulas, code and links there is no relation, no sum and no symbol of the papers."""
    page = pages.Page.load(name)
    meanings = {parameter.name: parameter.meaning for parameter in page.parameters}
    for text in (pages.markdown_page(page.text, meanings), pages._parameters(page), *pages._row(page)):
        words = re.sub(r"(?s)\$\$.*?\$\$|(?<!\\)\$[^$\n]+\$|`[^`\n]+`|\]\([^)]*\)", "", text)
        assert not re.search(r"[<>=^ᵀ]|\b(?:sum|max|min)\\?[_({]|\b(?:exp|ln|inf)\b|\d/|\b1e-|\\_[a-z]\b", words), words
        assert not re.search(r"\b(?:eta|nu|psi|rho|gamma|beta|epsilon|lambda|kappa|mu|xi|d0)\b", words), words


def test_domains_are_formulas_and_flags_are_code() -> None:
    domains = {one.name: pages.values_in(one.domain) for name in NAMES for one in pages.Page.load(name).parameters}
    assert domains["nu"] == r"$\left[1, \sum c\right]$"
    assert domains["two_sided"] == "`True` or `False`"
    assert domains["phi"] == "$(0, 1)$" and domains["Delta"] == "$[0, 1)$"
    assert domains["p"] == r"$[1.01, 100]$ or $\infty$"
    assert domains["eta"] == "$[10^{-100}, 10^{100}]$"
