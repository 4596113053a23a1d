"""Draws the picture of the README: `python docs/images/draw.py`. Seconds are those of the machine."""

from __future__ import annotations

from pathlib import Path

from boostopt import compare, get_formulation, load_dataset, pictures

BACKENDS = ["interior", "cvxpy:clarabel", "cvxpy:scs", "augmented_lagrangian", "sqp"]

if __name__ == "__main__":
    U = load_dataset("breast_cancer").margin_matrix(t=100, random_state=0)
    program = get_formulation("erlpboost").bind(U, nu=57, eta=1000)
    figure = pictures.intervals(compare(program, BACKENDS, tol=1e-8, time_limit=15.0))
    figure.savefig(Path(__file__).parent / "intervals.png", dpi=120)
