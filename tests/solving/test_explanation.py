"""Answers explained in words: who is named, and when."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.problems import Fake, attempt, reference_erlpboost, reference_lpboost

from boostopt import OptionError, ProblemError, get_formulation
from boostopt._utils.formatting import format_interval
from boostopt.authoring import (
    COUNT,
    CappedSimplex,
    formula,
    parameter,
    prototype,
)
from boostopt.cli.templates.regularizer_class import NewName, cvxpy_value_of
from boostopt.rows.margin_matrix import MarginMatrix
from boostopt.solving.explanation import D_SOURCE_DESCRIPTIONS, OPTIMALITY_CONDITIONS, explain

NUMBER = r"-?\b\d[\d.]*(?:e[+-]\d+)?\b"


def test_the_worst_are_named_with_their_weights_and_what_they_cost() -> None:
    program = reference_lpboost()
    certificate = program.certify(d=np.full(6, 1 / 6), w=[0.0, 0.0, 1.0])
    of_d, of_w = explain(program, certificate, 1e-9).conditions[-2:]
    e = program.margins.edges(certificate.d)
    cost = e.max() - e[2]
    assert of_w.location.startswith("hypothesis 2: ")
    assert re.findall(NUMBER, of_w.location) == ["2", "1", f"{e[2]:.3g}", f"{e.max():.3g}", f"{cost:.1e}"]
    assert (of_w.holds, of_w.status_word, of_w.violation_text) == (False, "FAILS", f"{cost:.2e}")
    assert of_d.holds == (certificate.example_gaps.sum() <= 1e-9 * certificate.scale)


def test_three_at_most_are_named_the_worst_first() -> None:
    program = reference_erlpboost()
    gaps = np.array([0.1, 0.3, 0.0, 0.25, 0.2, 0.15])
    certificate = replace(program.certify(w=[0.5, 0.25, 0.25]), example_gaps=gaps)
    of_d = explain(program, certificate, 1e-9).conditions[-2]
    assert [part.split(":")[0] for part in of_d.location.split("; ")] == ["example 1", "example 3", "example 4"]
    m = program.margins.margins(certificate.w)
    worst = of_d.location.split("; ")[0]
    assert re.findall(NUMBER, worst) == ["1", f"{certificate.d[1]:.3g}", f"{m[1]:.3g}", "3.0e-01"]


def test_only_who_costs_a_tenth_of_the_gap_is_named() -> None:
    program = reference_erlpboost()
    certificate = replace(program.certify(w=[0.5, 0.25, 0.25]), example_gaps=np.array([0.0, 0.9, 0.05, 0.05, 0.0, 0.0]))
    of_d = explain(program, certificate, 1e-9).conditions[-2]
    assert of_d.location.count("example ") == 1


def test_nobody_is_looked_up_where_every_condition_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    program = reference_erlpboost()
    certificate = program.solve("cvxpy:clarabel", tol=1e-12).certificate

    def refuse(U: MarginMatrix, weights: np.ndarray) -> np.ndarray:
        raise AssertionError("a pass over U for nobody")

    monkeypatch.setattr(MarginMatrix, "margins", refuse)
    monkeypatch.setattr(MarginMatrix, "edges", refuse)
    explanation = explain(program, certificate, 1e-9)
    assert explanation.headline.startswith("Optimal: ")
    assert [condition.location for condition in explanation.conditions[-2:]] == ["", ""]


LICENCE = "Error: rescode.err_missing_license_file(1008): License cannot be located."


def test_no_answer_is_said_with_the_solvers_own_words() -> None:
    silent = Fake("cvxpy:mosek", (attempt(form="primal", status="raised", claims=False, error=LICENCE),) * 2)
    solution = reference_lpboost().solve(silent)
    explanation = solution.explain()
    assert "cvxpy:mosek" in explanation.headline and f"primal: {LICENCE}" in explanation.headline
    assert explanation.conditions == ()
    (fact,) = explanation.facts
    c = solution.certificate
    assert format_interval(c.lower, c.upper) in fact
    assert LICENCE in str(explanation) == repr(explanation)
    headline = reference_lpboost().solve(Fake("quiet")).explain().headline
    assert "quiet" in headline and "no attempt" in headline


def test_another_programs_certificate_is_refused_and_a_d_that_was_replaced_named() -> None:
    U = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    program, unrelated = (get_formulation("lpboost").bind(U, nu=nu) for nu in (2.5, 2.0))
    certificate = program.certify(d=[0.4, 0.4, 0.2], w=[0.5, 0.5])
    assert not any(proof in program.explain(certificate).headline for proof in D_SOURCE_DESCRIPTIONS.values())
    with pytest.raises(ProblemError, match=re.escape(certificate.words)):
        unrelated.explain(certificate)
    replaced = program.explain(program.certify(d=np.full(3, 1 / 3), w=[0.5, 0.5]))
    assert replaced.headline.startswith("Optimal: ")
    assert D_SOURCE_DESCRIPTIONS["d(w)"] in replaced.headline


def test_a_program_explains_an_answer_from_elsewhere() -> None:
    program = reference_lpboost()
    d = program.solve(tol=1e-9).d
    pair = program.certify(d, [0.0, 0.0, 1.0])
    assert program.explain(pair, 1e-9) == explain(program, pair, 1e-9)
    # Conditions of missing values are open, and conditions of wrong values fail.
    certificate = program.certify(d - 0.1)
    conditions = program.explain(certificate).conditions
    marks = {
        name: condition.status_word for name, condition in zip(certificate.kkt.residuals, conditions, strict=False)
    }
    assert all(condition.name.endswith(f", {name}") for name, condition in zip(marks, conditions, strict=False))
    assert marks["sum d = 1"] == "FAILS"
    assert marks["w >= 0"] == "open"
    assert marks[OPTIMALITY_CONDITIONS[1]] == "open"
    unrelated = get_formulation("lpboost").bind(np.ones((5, 3)), nu=2)
    with pytest.raises(ProblemError, match=r"\b5 examples\b.*\b3\b.*\b6\b.*\b3\b"):
        unrelated.explain(pair)
    with pytest.raises(OptionError, match=r"^tol\b"):
        program.explain(pair, 0.0)


def test_an_allowance_for_rounding_that_is_most_of_the_width_is_named() -> None:
    program = prototype(
        "steep",
        lambda p, examples: formula("(d + 10000)**2 - 20000*d - 100000000", domain=CappedSimplex(examples.c, p.nu)),
        nu=parameter("number", COUNT),
    ).bind(np.random.default_rng(0).uniform(-1.0, 1.0, (30, 6)), nu=5)
    certificate = program.solve().certificate
    assert certificate.scaled_gap > 1e-8
    assert certificate.is_mostly_rounding
    rounding = f"{2.0 * certificate.slack:.2e}"
    assert f"rounding={rounding}" in repr(certificate)
    assert re.search(rf"\b{re.escape(rounding)}\b.*\ballowance\b", explain(program, certificate, 1e-8).headline)


def test_rounding_is_not_named_where_the_answer_is_what_is_wrong() -> None:
    program = reference_lpboost()
    for certificate in (program.solve().certificate, program.certify(d=np.full(6, 1 / 6), w=[0.0, 0.0, 1.0])):
        assert not certificate.is_mostly_rounding
        assert "rounding=" not in repr(certificate)
        assert "allowance" not in explain(program, certificate, 1e-9).headline


class WrongSign(NewName):
    """Squares whose slope has the wrong sign."""

    def derivatives(self, d: np.ndarray) -> np.ndarray:
        return -super().derivatives(d)


@pytest.mark.parametrize("kind", [NewName, WrongSign])
def test_slopes_that_contradict_the_values_are_told(kind: type[NewName]) -> None:
    def regularizer(p: Any, examples: Any) -> NewName:
        a = examples.c / examples.total
        return kind(CappedSimplex(examples.c, p.nu), lambda d: cvxpy_value_of(d, a, 1.0), inside=a)

    formulation = prototype("squares", regularizer, nu=parameter("number", COUNT))
    program = formulation.bind(np.random.default_rng(0).uniform(-1.0, 1.0, (30, 6)), nu=5)
    certificate = program.certify(w=np.eye(6)[3])
    facts = [fact for fact in explain(program, certificate, 1e-9).facts if "contradict" in fact]
    if kind is NewName:
        assert not facts
        return
    ends = certificate.upper - certificate.lower
    assert re.findall(NUMBER, facts[0]) == [f"{certificate.gap_terms:.2e}", f"{ends:.2e}"]
    assert "`derivatives`" in facts[0] and "`boostopt check`" in facts[0]
