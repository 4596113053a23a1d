"""Programs that every solver of entropies must take, with their optimum where it is known in advance."""

from __future__ import annotations

from support.problems import REFERENCE_D0, REFERENCE_U, noisy_stumps

from boostopt import Program, get_formulation


def bound(name: str, U: object, **parameters: object) -> Program:
    return get_formulation(name).bind(U, **parameters)  # pyright: ignore[reportArgumentType]


ENTROPIES: dict[str, tuple[Program, float | None]] = {
    "perfect stump": (bound("erlpboost", [[1, -1], [1, 1], [1, 1]], nu=2, eta=5), 1.0),
    "constant feature": (bound("erlpboost", [[0.0], [0.0]], nu=1, eta=3), 0.0),
    "N = 2, t = 1": (bound("erlpboost", [[1.0], [-1.0]], nu=2, eta=1), 0.0),
    "nu = sum c": (bound("erlpboost", REFERENCE_U, nu=6, eta=9), float(REFERENCE_U.mean(axis=0).max())),
    "no cap binds": (bound("erlpboost", REFERENCE_U, nu=1, eta=0.5), None),
    "d0 with zeros": (bound("erlpboost", REFERENCE_U, nu=2, eta=4, d0=[0.5, 0, 0.2, 0, 0.1, 0.2]), None),
    "d0 outside the cap": (bound("erlpboost", REFERENCE_U, nu=3, eta=4, d0=[0.9, 0.02, 0.02, 0.02, 0.02, 0.02]), None),
    "eta = 1e6": (bound("erlpboost", REFERENCE_U, nu=2.5, eta=1e6, d0=REFERENCE_D0), None),
    "two-sided": (bound("erlpboost", REFERENCE_U, nu=2.5, eta=10, two_sided=True), None),
    "noise": (bound("erlpboost", noisy_stumps(300, 12), nu=30, eta=100), None),
    "noise, steep": (bound("erlpboost", noisy_stumps(300, 12), nu=30, eta=2e4), None),
    "binary": (bound("binary_erlpboost", REFERENCE_U, nu=2.5, eta=20), None),
    "edges below a bound": (bound("softboost", REFERENCE_U, nu=2.5, gamma=0.05), None),
    "logarithmic loss": (bound("log_loss", REFERENCE_U, eta=5), None),
    "edges of a given value": (bound("entropy_projection", REFERENCE_U[:, :1], rho=0.1), None),
    "two tied edges": (bound("corrective_erlpboost", REFERENCE_U[:, :2], nu=2.5, eta=10, segment=False), None),
}
