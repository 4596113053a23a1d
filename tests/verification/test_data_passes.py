"""The checker of certificates by passes over the data: arithmetic of its own, whatever the modules of the runs say."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
from support.certificate_files import document, program
from test_layers import ROOT, imports

from boostopt import boost, verify
from boostopt.errors import ProblemError
from boostopt.oracles import BinnedStumps, DecisionStumps
from boostopt.rows.binned_rows import BinnedRows
from boostopt.rows.feature_encoding import BinnedFeatures
from boostopt.verification.trusted_kernel import data_passes
from boostopt.verification.trusted_kernel.data_passes import (
    MAX_Q,
    ONE,
    negative_loss,
    negative_loss_upper,
    soft_margin,
)
from boostopt.verification.trusted_kernel.json_parsing import Rejected

PROGRAMS: dict[str, dict[str, Any]] = {"erlpboost": {"nu": 60.0}, "log_loss": {"eta": 8.0}}
"""A soft margin and a loss, with their parameters."""


def examples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 4)), 1)
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=300) > 0, 1, -1)


def oracle() -> BinnedStumps:
    return BinnedStumps(*examples())


@cache
def certificate(page: str) -> str:
    """The file of an honest run."""
    import tempfile

    epsilon = 0.05 * (300 if page == "log_loss" else 1)
    run = boost(page, oracle(), epsilon=epsilon, **PROGRAMS[page])
    with tempfile.TemporaryDirectory() as folder:
        run.save_certificate(Path(folder) / "class.json", oracle())
        return (Path(folder) / "class.json").read_text()


def by(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change what a function returns."""
    return lambda function: lambda *arguments, **named: change(function(*arguments, **named))


def property_patch(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda original: property(lambda self: change(original.fget(self)))


PATCHED: tuple[tuple[str, str, str, Any], ...] = (
    (
        "erlpboost",
        "lower",
        "boosting.objectives.margin_histogram.MarginHistogram.soft_margin_lower_bound",
        by(lambda x: x + Fraction(5, 1000)),
    ),
    (
        "erlpboost",
        "lower",
        "boosting.objectives.exact_objective.ExactSoftMargin.best_lower_bound",
        by(lambda x: x + Fraction(5, 1000)),
    ),
    (
        "erlpboost",
        "lower",
        "boosting.objectives.exact_objective.margin_histogram",
        by(lambda x: type(x)(x.grid, x.counts, x.sums + 10**7 * x.counts)),
    ),
    ("erlpboost", "lower", "rows.margin_grid.MarginGrid.bin_min", by(lambda x: x + 10**7)),
    ("erlpboost", "lower", "rows.binned_rows.BinnedRows.histogram", by(lambda x: (x[0], x[1] + 10**7 * x[0]))),
    (
        "erlpboost",
        "lower",
        "rows.binned_rows.BinnedRows.margins",
        by(lambda parts: [M + np.int32(10**7) for M in parts]),
    ),
    ("erlpboost", "lower", "rows.binned_rows.histogram", by(lambda x: (x[0], x[1] + 10**7 * x[0]))),
    ("erlpboost", "lower", "rows.binned_rows.margins", by(lambda M: M + np.int32(10**7))),
    (
        "erlpboost",
        "upper",
        "boosting.objectives.exact_objective.ExactSoftMargin.regularizer_bound",
        by(lambda x: x - Fraction(5, 1000)),
    ),
    ("erlpboost", "upper", "boosting.objectives.exact_objective.ExactSoftMargin.normalizer", by(lambda x: 2 * x)),
    ("erlpboost", "upper", "boosting.objectives.class_upper_bound.best_direction", by(lambda edges: edges // 2)),
    (
        "erlpboost",
        "upper",
        "boosting.objectives.class_upper_bound.UpperBound.value",
        property_patch(lambda x: x - Fraction(5, 1000)),
    ),
    ("erlpboost", "upper", "rows.binned_rows.BinnedRows.class_edges", by(lambda edges: edges // 2)),
    (
        "erlpboost",
        "upper",
        "rows.binned_rows.signed_sums_by_code",
        by(lambda x: tuple(of_feature // 2 for of_feature in x)),
    ),
    (
        "log_loss",
        "lower",
        "boosting.objectives.exact_objective.ExactLoss.lower_bound",
        by(lambda x: x + Fraction(5, 1000)),
    ),
    (
        "log_loss",
        "lower",
        "boosting.objectives.exact_objective.ExactLoss.best_lower_bound",
        by(lambda x: x + Fraction(5, 1000)),
    ),
    ("log_loss", "lower", "boosting.objectives.exact_objective.rounding_bound", by(lambda x: x - 0.005)),
    (
        "log_loss",
        "upper",
        "boosting.objectives.exact_objective.ExactLoss.regularizer_bound",
        by(lambda x: x - Fraction(5, 1000)),
    ),
    ("log_loss", "upper", "boosting.objectives.exact_objective.ExactLoss.normalizer", by(lambda x: 2 * x)),
    ("log_loss", "upper", "functions.regularizers.binary_entropy.LogarithmicLoss.values", by(lambda x: x - 0.005)),
)
"""Functions that the modules of the runs compute with, each made to return too much or too little."""


def numbers(reason: str) -> tuple[float, ...]:
    """The claimed and the proved number of a reason that names no others."""
    return tuple(map(float, re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", reason)))


@pytest.mark.parametrize(
    ("page", "end", "name", "patch"), PATCHED, ids=[f"{name} {page}" for page, _, name, _ in PATCHED]
)
def test_no_arithmetic_of_the_runs_is_trusted(
    page: str, end: str, name: str, patch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, file_document = tmp_path / "class.json", json.loads(certificate(page))
    file_document["claim"][end] += (0.004 if end == "lower" else -0.004) * (300 if page == "log_loss" else 1)
    path.write_text(json.dumps(file_document))
    monkeypatch.setattr(f"boostopt.{name}", patch(resolve_name(f"boostopt.{name}")))
    claimed, proved = numbers(verify(path, oracle()).reason)
    assert claimed == pytest.approx(file_document["claim"][end]) and (claimed > proved) == (end == "lower")


BY_SOLVERS: tuple[tuple[str, Any], ...] = (
    ("rows.margin_matrix.MarginMatrix.margins", by(lambda m: m + 0.01)),
    ("rows.margin_matrix.MarginMatrix.edges", by(lambda e: e - 0.01)),
    ("functions.regularizers.base.Regularizer.value", by(lambda x: x - 0.01)),
    (
        "functions.regularizers.base.Regularizer.conjugate_at",
        by(lambda point: replace(point, value=point.value - 0.01)),
    ),
    ("boosting.objectives.soft_margin.SoftMarginObjective.soft_margin", by(lambda x: x + 0.01)),
    ("boosting.objectives.soft_margin.SoftMarginObjective.upper_bound", by(lambda x: x - 0.01)),
    ("boosting.boosting_problem.Problem.class_upper_bound", by(lambda x: (x[0] - 0.01, x[1]))),
    ("boosting.run.run.recomputed_bounds", by(lambda bounds: replace(bounds, upper=bounds.upper - 0.01))),
)
"""Functions that solvers, certificates and steps compute with."""


@pytest.mark.parametrize(("name", "patch"), BY_SOLVERS, ids=[name for name, _ in BY_SOLVERS])
def test_no_arithmetic_of_solvers_and_steps_is_trusted(
    name: str, patch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = (document("entropy"), program("entropy").margins.to_array()), (step_run_content(), stumps())
    monkeypatch.setattr(f"boostopt.{name}", patch(resolve_name(f"boostopt.{name}")))
    for content, data in honest:
        for end, more in (("lower", 0.004), ("upper", -0.004)):
            claim = {**content["claim"], "lower": "-inf", "upper": 1.0, end: content["claim"][end] + more}
            (tmp_path / "c.json").write_text(json.dumps({**content, "claim": claim}))
            claimed, proved = numbers(verify(tmp_path / "c.json", data).reason)
            assert claimed == pytest.approx(claim[end]) and (claimed > proved) == (end == "lower")


def stumps() -> DecisionStumps:
    return DecisionStumps(*examples())


@cache
def step_run_content() -> Any:
    """The file of a run by steps."""
    import tempfile

    run = boost("erlpboost", stumps(), nu=60.0, epsilon=0.1, update="total")
    with tempfile.TemporaryDirectory() as folder:
        run.save_certificate(Path(folder) / "class.json", stumps())
        return json.loads((Path(folder) / "class.json").read_text())


def test_save_of_a_wrong_soft_margin_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, patch = (
        "boosting.objectives.margin_histogram.MarginHistogram.soft_margin_lower_bound",
        by(lambda x: x + Fraction(5, 1000)),
    )
    monkeypatch.setattr(f"boostopt.{name}", patch(resolve_name(f"boostopt.{name}")))
    run = boost("erlpboost", oracle(), nu=60.0, epsilon=0.02)
    with pytest.raises(ProblemError, match=r"\bclaims\b") as refused:
        run.save_certificate(tmp_path / "class.json", oracle())
    claimed, proved = numbers(str(refused.value))
    assert 0.0 < claimed - proved < 0.006
    assert not list(tmp_path.iterdir())


def rows_of(rng: np.random.Generator, parts: int = 1) -> tuple[BinnedRows, np.ndarray, np.ndarray, np.ndarray]:
    """Coded rows with their codes, labels and multiplicities."""
    n = int(rng.integers(2, 60))
    codes = np.vstack([np.arange(n) % int(rng.integers(2, 5)) for _ in range(3)]).astype(np.uint8)
    for row in codes:
        rng.shuffle(row)
    # Where nearly all labels are equal no hypothesis comes near to a constant, which is none of the class.
    y = rng.choice([-1, 1], n, p=[0.5, 0.5] if parts == 1 else [0.02, 0.98]).astype(np.int8)
    c = rng.integers(1, 4, n).astype(float)
    sizes = codes.max(axis=1).astype(int)
    binned_features = BinnedFeatures.from_codes(codes, [np.zeros(size) for size in sizes.tolist()])
    return BinnedRows.from_binned(binned_features, y, c, parts), codes.astype(int), y.astype(int), c.astype(int)


def terms_of(rng: np.random.Generator, rows: BinnedRows) -> list[Any]:
    W = rng.multinomial(ONE, rng.dirichlet(np.full(4, 0.5)))
    terms = []
    for weight in W.tolist():
        feature = int(rng.integers(3))
        terms.append((weight, feature, int(rng.integers(rows.n_codes[feature] - 1)), int(rng.choice([-1, 1]))))
    return terms


def values(codes: np.ndarray, feature: int, code: int, sign: int) -> np.ndarray:
    return np.where(codes[feature] > code, sign, -sign)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_data_passes_agree_with_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, codes, y, c = rows_of(rng, 1 + seed % 3)
    terms, of_d = terms_of(rng, rows), terms_of(rng, rows)
    M, M_of_d = (
        np.sum([w * y * values(codes, *split) for w, *split in ensemble], axis=0) for ensemble in (terms, of_d)
    )
    quarters = rng.integers(1, 4 * int(c.sum()) + 1, 6).tolist()
    for nu in (Fraction(float(rng.uniform(0.1, c.sum()))), *(Fraction(k, 4) for k in quarters)):
        remaining, total = nu, Fraction(0)
        for n in np.argsort(M):
            mass = min(remaining, Fraction(int(c[n])))
            remaining, total = remaining - mass, total + mass * int(M[n])
        assert soft_margin(rows, terms, nu) == total / nu / ONE
    shift, origin = int(rng.integers(14, 18)), int(rng.integers(-ONE, 1))
    table = rng.integers(0, MAX_Q + 1, (1 << 14) + 2)
    q = table[np.clip((M_of_d - origin) // 2**shift, -1, 1 << 14) + 1]
    for even in (False, True):
        edges = [
            int((y * c * q) @ values(codes, feature, code, 1))
            for feature, size in rows.n_codes.items()
            for code in range(size - 1)
        ]
        edge, Q = max(map(abs, edges)) if even else max(edges), int(c @ q)
        few = Fraction(Q, int(table.max()))
        bins = origin, shift, 1 << 14
        assert data_passes.soft_margin_upper(rows, of_d, bins, table, even, few) == Fraction(edge, Q)
        with pytest.raises(Rejected, match=r"^d\b.*\bsimplex\b"):
            data_passes.soft_margin_upper(rows, of_d, bins, table, even, few * (1 + Fraction(1, 10**9)))
        eta = float(rng.uniform(0.1, 30))
        terms_of_F = [
            c[n] * sum(p * math.log(2 * p) if p else 0.0 for p in (q[n] / MAX_Q, 1 - q[n] / MAX_Q))
            for n in range(len(y))
        ]
        F = math.fsum(terms_of_F) / eta
        assert 0 <= negative_loss_upper(rows, of_d, bins, table, even, eta) - Fraction(edge, MAX_Q) - F < 1e-11
        loss = math.fsum(c * np.logaddexp(math.log(0.5), math.log(0.5) - eta * M / ONE)) / eta
        assert 0 <= -loss - negative_loss(rows, terms, eta) < 1e-6 * c.sum() * eta


@pytest.mark.parametrize("nu", [Fraction(0), Fraction(-1), Fraction(61)])
def test_a_count_that_no_weights_have_is_rejected(nu: Fraction) -> None:
    rows = rows_of(np.random.default_rng(0))[0]
    count = nu if nu <= 0 else Fraction(rows.n_examples + 1)
    with pytest.raises(Rejected, match=rf"^nu\b.* {rows.n_examples};.* {count}$"):
        soft_margin(rows, [(ONE, 0, 0, 1)], count)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (0, r"^d\b.*\bsimplex\b.* 0, .* 0$"),
        (-1, rf"^d\b.*\bc\b.* {MAX_Q};.* -1 .* 0$"),
        (MAX_Q + 1, rf"^d\b.*\bc\b.* {MAX_Q};.* 0 .* {MAX_Q + 1}$"),
    ],
    ids=["zero", "negative", "large"],
)
def test_weights_of_buckets_that_are_none_are_rejected(entry: int, message: str) -> None:
    """In a bucket without examples, too: 0 is the weight of all others."""
    rows = rows_of(np.random.default_rng(0))[0]
    table = np.zeros((1 << 14) + 2, np.int64)
    table[0] = entry
    with pytest.raises(Rejected, match=message):
        data_passes.soft_margin_upper(rows, [(ONE, 0, 0, 1)], (-ONE, 17, 1 << 14), table, True, Fraction(1))


def test_more_examples_than_sums_are_exact_for_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(np.random.default_rng(0))[0]
    monkeypatch.setattr(data_passes, "MAX_EXAMPLES", rows.n_examples - 1)
    with pytest.raises(Rejected, match=rf"\bsums\b.* {rows.n_examples - 1} .* {rows.n_examples}$"):
        soft_margin(rows, [(ONE, 0, 0, 1)], Fraction(1))


def imported(name: str) -> set[str]:
    """Return all modules of boostopt that a module imports, directly or indirectly."""
    modules, queue = set[str](), [name]
    while queue:
        module = queue.pop()
        if module not in modules:
            modules.add(module)
            file = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
            queue += imports(file if file.is_file() else file.with_suffix("") / "__init__.py")
    return modules


def test_the_checkers_import_what_the_documentation_says_and_nothing_else() -> None:
    kernel = "boostopt.verification.trusted_kernel"
    kernel_modules = {f"{kernel}.{name}" for name in ("data_passes", "number_types", "conjugates", "json_parsing")}
    assert imported(f"{kernel}.data_passes") == kernel_modules
    page = (ROOT.parent / "docs" / "verification.md").read_text()
    (listed,) = re.findall(rf"```text\n({re.escape(kernel)}\.checker\n.*?)```", page, re.DOTALL)
    assert imported(f"{kernel}.checker") == set(listed.split())
    assert imported(f"{kernel}.data_passes") <= imported(f"{kernel}.checker") | {f"{kernel}.data_passes"}
