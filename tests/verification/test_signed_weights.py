"""MDBoost's weights of both signs below bounded edges: a page of one's own, on which no edge is a mean of margins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostopt import Program, verify
from boostopt.authoring import EDGE, POSITIVE, BoundedEdges, MarginVariance, parameter, prototype

page = prototype(
    "variance_below",
    lambda p, examples: MarginVariance(examples.c, p.D),
    lambda p: BoundedEdges(p.gamma),
    D=parameter("the price of half of the variance", POSITIVE),
    gamma=parameter("the bound of the edges", EDGE, 0.0),
)
U = np.array([[0.3, -0.2], [0.3, -0.2], [1.0, -1.0]])
WEIGHTS = np.array([0.72, 0.72, -0.44])
"""Its second edge is 0.152: above the bound, though no margin of that column is."""


def test_an_edge_above_all_margins_is_seen() -> None:
    program = page.bind(U, D=10.0)
    assert float(WEIGHTS @ U[:, 1]) > 0.1
    certificate = program.certify(WEIGHTS, [0.5, 0.5])
    if np.isfinite(certificate.upper):  # then d was moved to where the edges are within their bounds
        assert (certificate.d @ U <= 1e-12).all()
    assert not certificate.infeasible or not np.isfinite(certificate.upper)


@pytest.mark.parametrize("seed", range(20))
def test_no_interval_excludes_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    N, t = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    program = page.bind(
        rng.uniform(-1, 1, (N, t)), D=float(10 ** rng.uniform(-1, 1.5)), gamma=float(rng.normal(0, 0.2))
    )
    best = program.solve("cvxpy:clarabel", tol=1e-6).certificate
    for _ in range(5):
        d = rng.normal(size=N)
        certificate = program.certify(d / d.sum(), rng.uniform(0, 1, t))
        assert certificate.overlaps(best) or certificate.infeasible == best.infeasible
        if best.infeasible:
            assert not np.isfinite(certificate.upper)


def forge_file(program: Program, path: Path, **changes: Any) -> None:
    """Write an honest file and change what it says."""
    program.certify(None, np.full(program.margins.t, 0.5)).save(path, program)
    document = json.loads(path.read_text())
    document["arrays"].update(changes.pop("arrays", {}))
    document["claim"].update(changes)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("exact", [False, True])
def test_a_false_upper_end_is_rejected(exact: bool, tmp_path: Path) -> None:
    program, path = page.bind(U, D=10.0), tmp_path / "file.json"
    forge_file(program, path, upper=0.2, arrays={"d": WEIGHTS.tolist()})
    assert not verify(path, U, exact=exact, formulation=page)


@pytest.mark.parametrize("exact", [False, True])
def test_a_false_proof_of_infeasibility_is_rejected(exact: bool, tmp_path: Path) -> None:
    margins = np.array([[0.5], [-0.4], [0.3]])
    program, path = page.bind(margins, D=10.0), tmp_path / "file.json"
    assert program.solve("cvxpy:clarabel", tol=1e-6).certificate.upper < 0.01
    forge_file(program, path, arrays={"w": [1.0]})
    document = json.loads(path.read_text())
    document["claim"] = {**document["claim"], "outcome": "infeasible", "excess": 0.05, "beta": 0.0}
    path.write_text(json.dumps(document))
    assert not verify(path, margins, exact=exact, formulation=page)
