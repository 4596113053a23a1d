"""The page of theorems and the tests agree."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from boostopt.functions.regularizers.binary_entropy import BinaryEntropy
from boostopt.functions.regularizers.relative_entropy import RelativeEntropy

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "theorems.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    defined = {
        name
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 40
    assert named <= defined


def test_every_theorem_is_proved_and_held_by_a_test() -> None:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:-2]:
        statements = len(re.findall(r"^\*\*Theorem", section, re.MULTILINE))
        assert statements > 0
        assert len(re.findall(r"^\*Proof", section, re.MULTILINE)) >= statements, section[:60]
        assert "*Held by*" in section, section[:60]


def test_the_price_of_each_entropy_is_the_one_on_the_page() -> None:
    """Theorem 10 has another bound for the binary entropy than for the relative one, and the page both as numbers."""
    N, nu = 30, 3.0
    c, d0 = np.ones(N), np.full(N, 1 / N)
    corner = np.where(np.arange(N) < nu, 1 / nu, 0.0)
    paragraph = PAGE.split("The price of an entropy is")[1].split("\n\n")[0]
    match = re.search(r"at \$\\sum c = 30\$, \$\\nu = 3\$ it is \$([\d.]+) / .*? and \$([\d.]+) /", paragraph)
    assert match is not None
    for number, F in zip(
        match.groups(),
        (RelativeEntropy.capped(c, nu, 1.0, d0), BinaryEntropy.capped(c, nu, 1.0, d0)),
        strict=True,
    ):
        price = F.value(corner) - F.value(d0)
        assert price == pytest.approx(F.value_bound - F.value(d0), abs=1e-12)  # attained, and not exceeded
        assert price == pytest.approx(float(number), abs=5e-4)
