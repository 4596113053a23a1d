"""Programs of every kind with their certificates in files, for the tests of verification."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from boostopt import Program, get_formulation
from boostopt.verification import Verification, save, verify
from boostopt.verification.trusted_kernel.certificate_schema import read_document
from boostopt.verification.trusted_kernel.json_parsing import Rejected

CASES = (
    "cap",
    "entropy",
    "reference",
    "binary",
    "bounded",
    "infeasible",
    "hinge",
    "squares",
    "ball",
    "penalty",
    "fixed",
)
"""The certificates that are mutated: one case for each family, the outcomes among them."""


@cache
def program(case: str) -> Program:
    """A small program of a family."""
    rng = np.random.default_rng(7)
    U = np.round(rng.uniform(-1, 1, (16, 4)), 3)
    c, d0 = np.round(rng.uniform(0.5, 2, 16), 2), rng.dirichlet(np.ones(16))
    arguments: dict[str, tuple[str, dict[str, Any]]] = {
        "cap": ("lpboost", {"nu": 3.5, "c": c}),
        "entropy": ("erlpboost", {"nu": 4.0, "eta": 7.0}),
        "reference": ("erlpboost", {"nu": 3.0, "eta": 7.0, "c": c, "d0": d0}),
        "binary": ("binary_erlpboost", {"nu": 2.0, "eta": 5.0}),
        "bounded": ("softboost", {"nu": 2.0, "gamma": -0.2}),
        "infeasible": ("softboost", {"nu": 8.0, "gamma": -0.5}),
        "hinge": ("l1_adaboost", {"C": 0.7}),
        "squares": ("qp_reg_adaboost", {"C": 0.7, "c": c}),
        "ball": ("norm_ball", {"r": 0.3, "eta": 50.0}),
        "penalty": ("norm_penalty", {"r": 0.4, "p": 3.0}),
        "fixed": ("entropy_projection", {"rho": 0.05}),
    }
    name, numbers = arguments[case]
    return get_formulation(name).bind(U, **numbers)


@cache
def text(case: str) -> str:
    """The file of a program's certificate."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        save(program(case).solve(tol=1e-9), path)
        return path.read_text()


def document(case: str) -> Any:
    """The same as JSON says it, to be changed."""
    return json.loads(text(case))


def stated_examples(path: Path) -> dict[str, Any]:
    """C and d0 as a file states them, so that its bounds are checked whatever they are; nothing if it is no file."""
    try:
        content = read_document(path)
        return {"c": content.c, "d0": content.d0}
    except (Rejected, MemoryError):
        return {}


def judged(content: Any, case: str, folder: Path, U: Any = None, **options: Any) -> Verification:
    """The verdict on a changed file."""
    path = folder / "changed.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return verify(path, program(case).margins if U is None else U, **{**stated_examples(path), **options})


__all__ = ["CASES", "document", "judged", "program", "stated_examples", "text"]
