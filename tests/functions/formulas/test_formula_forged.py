"""Certificate files that state a formula and are forged: refused, in words."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typechecker

from boostopt.authoring import POSITIVE, CappedSimplex, Formulation, formula, parameter, prototype
from boostopt.programs.program import Program
from boostopt.verification import Verification, save, verify
from boostopt.verification.trusted_kernel.exact_numbers import ArbBalls
from boostopt.verification.trusted_kernel.formula_terms import ParsedFormula
from boostopt.verification.trusted_kernel.json_parsing import Rejected
from boostopt.verification.trusted_kernel.number_types import FloatBalls

TEXT = "d*log(d/d0)/eta + tilt*d"
TILT = np.linspace(-1.0, 1.0, 12)


def page(text: str = TEXT) -> Formulation[Any]:
    def make(p: Any, e: Any) -> Any:
        numbers = {"eta": p.eta, "tilt": TILT}
        used: dict[str, Any] = {k: v for k, v in numbers.items() if k in text}
        return formula(text, CappedSimplex(e.c, 3.0), e.d0, **used)

    return prototype("stated", make, eta=parameter("the inverse strength", POSITIVE))


@cache
def program() -> Program:
    rng = np.random.default_rng(0)
    c, d0 = rng.uniform(0.5, 2.0, 12), rng.dirichlet(np.ones(12))
    return page().bind(np.round(rng.uniform(-1, 1, (12, 3)), 3), c=c, d0=d0, eta=7.0)


@cache
def text(folder: Path) -> str:
    path = folder / "true.json"
    save(program().solve("interior", tol=1e-10), path)
    return path.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formulas")


def judged(content: Any, folder: Path, formulation: Any = None, **more: Any) -> Verification:
    path = folder / "changed.json"
    path.write_text(json.dumps(content))
    return verify(path, program(), formulation=formulation or page(), **more)


def test_the_file_as_it_was_saved_is_accepted(folder: Path) -> None:
    document = json.loads(text(folder))
    assert document["F"]["text"] == TEXT and document["F"]["parameters"] == {"eta": 7.0, "tilt": "array"}
    for exact in (False, True):
        assert judged(document, folder, exact=exact)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_a_claim_of_more_is_refused(end: str, exact: bool, folder: Path) -> None:
    document = json.loads(text(folder))
    document["claim"][end] += 1e-6 if end == "lower" else -1e-6
    verdict = judged(document, folder, exact=exact)
    assert not verdict
    claimed = repr(verdict.claimed[("lower", "upper").index(end)])
    assert f" {claimed}; " in verdict.reason and "bound" in verdict.reason


def test_a_better_claim_by_another_beta_or_another_tilt_is_refused(folder: Path) -> None:
    for change in (0.5, -1e6, 1e200):
        document = json.loads(text(folder))
        document["proof"]["beta"] += change
        document["claim"]["lower"] = document["claim"]["upper"]
        assert not judged(document, folder)
    document = json.loads(text(folder))
    document["arrays"]["formula tilt"][0] += 1e-9
    assert "other formula tilt" in judged(document, folder).reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": "d*log(d/d0)/eta + tilt*d - d/1000000"}, "means F"),
        ({"derivative": "log(d/d0)/eta"}, ": derivative"),
        ({"parameters": {"eta": 7.0}}, "the arrays"),
        ({"parameters": {"eta": True, "tilt": "array"}}, "a number"),
        ({"parameters": [7.0]}, "an object"),
        ({"text": 7}, "a text"),
        ({"text": "d" * 1001}, "at most 1000"),
        ({"nu": 3.5}, "means F"),
    ],
    ids=("text", "derivative", "arrays", "number", "parameters", "kind-of-text", "long-text", "nu"),
)
def test_another_formula_and_a_stored_derivative_are_refused(change: Any, reason: str, folder: Path) -> None:
    document = json.loads(text(folder))
    document["F"] |= change
    assert reason in judged(document, folder).reason


def recomputed(text: str, parameters: dict[str, Any], exact: bool = False) -> Any:
    """Return the checker's own answer on a formula, without any page."""
    A, n = (ArbBalls() if exact else FloatBalls()), 12
    with A.precision_context():
        u = A.to_vector(np.full(n, 0.3))
        return ParsedFormula.parse(text, parameters).separable_term(A, u, np.ones(n), np.full(n, 1.0 / n))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d*log(d/d0) - 40*d**2", r"\bderivative\b.* -27\.\d+ at d"),
        ("d**3 - d**2/5", r"\bderivative\b.* -0\.4 at d"),
        ("-max(d - 1/10, 0)**2", r"\bderivative\b.* -2 at d"),
        ("huber(d, 1/10) - d**2/2", r"\bderivative\b.* -1 at d"),
        ("1/(d - 1/10)**2", r"\bpower -2\b"),
        ("log(d - 1/10)", r"\blogarithm\b"),
        ("max(d - 1/10, 0)", "slope jumps"),
        ("sqrt(d - u)", r"\bpower 1/2\b"),
    ],
    ids=("entropy", "cube", "positive-part", "huber", "pole", "logarithm", "kink", "root"),
)
def test_a_formula_that_is_not_convex_on_part_of_the_box_is_refused(text: str, reason: str, exact: bool) -> None:
    with typechecker.unchecked(), pytest.raises(Rejected, match=reason):
        recomputed(text, {}, exact)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("__import__('os').system('true')", "not part"),
        ("d.__class__", "not part"),
        ("(lambda: d)()", "not part"),
        ("[d for d in d]", "not part"),
        ("9**9**9**9**9", "many digits"),
        ("2**(2**(2**(2**(2**2))))*d", "many digits"),
        ("d*1e400", "1e100"),
        ("(" * 300 + "d" + ")" * 300, "no formula"),
        ("-" * 900 + "d", "300 names"),
        ("*".join(["(d + d0 + c + 1)"] * 60), r"\b1000\b.*\b1019\b"),
        ("exp(" * 14 + "d" + ")" * 14, "too long"),
        ("*".join(f"(1 + exp({k}*d))**-1" for k in range(1, 20)), "too long"),
        ("+".join(f"log(exp({k}*d) + d)**3" for k in range(1, 20)), "too long"),
        ("d/0", r"\bpower -1\b"),
        ("d +", "no formula"),
        ("eta*d", "name 'eta'"),
        ("d % 2", r"\bMod\b"),
        ("d if d else c", "not part"),
        ("", "no formula"),
    ],
)
def test_hostile_formulas_are_refused_at_once(text: str, reason: str) -> None:
    with typechecker.unchecked(), pytest.raises(Rejected, match=reason):
        recomputed(text, {})


def test_a_parameter_cannot_take_the_place_of_a_weight() -> None:
    with typechecker.unchecked(), pytest.raises(Rejected, match=r"\bcalled d, d0, c, u\b"):
        recomputed("d**2", {"d": 1.0})


def test_bounds_hold_wherever_the_tangent_touches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound holds at any tangent points: other points than the computed ones give a bound that is not below."""
    from boostopt.functions.formulas.conjugate_maximizers import MonotoneDerivative

    A, rng = FloatBalls(), np.random.default_rng(0)
    y = A.to_vector(rng.normal(size=12))
    best = recomputed("d*log(d/d0)/2", {}).conjugates(y)
    for _ in range(20):
        monkeypatch.setattr(MonotoneDerivative, "tangent_points", lambda self, y: rng.uniform(-0.5, 1.0, 12))
        bounds = recomputed("d*log(d/d0)/2", {}).conjugates(y)
        assert (A.upper(bounds) >= A.lower(best)).all()


@pytest.mark.thorough
def test_the_checker_needs_no_sympy(folder: Path) -> None:
    text(folder)
    code = (
        "import sys; sys.modules['sympy'] = None\n"
        "import numpy as np\n"
        "from boostopt.verification.trusted_kernel.number_types import FloatBalls\n"
        "from boostopt.verification.trusted_kernel.formula_terms import ParsedFormula\n"
        "A = FloatBalls(); u = A.to_vector(np.full(3, 0.5))\n"
        "box = ParsedFormula.parse('d*log(d/d0)/eta', {'eta': 2.0}).separable_term(A, u, np.ones(3), np.full(3, 1/3))\n"
        "print(float(A.upper(A.total(box.conjugates(A.to_vector(np.zeros(3)))))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(0.5 * np.exp(-1.0), abs=1e-12)
