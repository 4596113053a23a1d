"""Errata of Warmuth, Glocer, Raetsch 2007 (SoftBoost). The page is docs/errata.md."""

from __future__ import annotations

import numpy as np
from errata.independent_answers import entropy, lpboost, softboost, uniform


def adaboost_star(V: np.ndarray, accuracy: float, rounds: int) -> np.ndarray:
    """The normalized weights of AdaBoost* after each of the rounds, for entries of +-1."""
    N, t = V.shape
    d, lam, smallest, weights = uniform(N), np.zeros(t), 1.0, np.empty((rounds, t))
    for k in range(rounds):
        e = V.T @ d
        q = int(e.argmax())
        smallest = min(smallest, float(e[q]))
        alpha = np.arctanh(e[q]) - np.arctanh(smallest - accuracy)
        lam[q] += alpha
        d = d * np.exp(-alpha * V[:, q])
        d /= d.sum()
        weights[k] = lam / lam.sum()
    return weights


def test_N1_rounds_of_adaboost_star_grow_with_the_squared_accuracy() -> None:
    N, accuracy = 20, 0.05
    printed_value, corrected = int(np.ceil(2 * np.log(N / accuracy**2))), int(np.ceil(2 * np.log(N) / accuracy**2))
    assert (printed_value, corrected) == (18, 2397)
    for seed in range(3):
        V = np.random.default_rng(seed).choice([-1.0, 1.0], size=(N, 40))
        best = lpboost(V, 1).value
        margins = (V @ adaboost_star(V, accuracy, corrected).T).min(axis=0)
        assert margins[printed_value - 1] < best - 0.25
        assert margins[-1] >= best - accuracy


def test_N2_examples_below_and_at_the_soft_margin() -> None:
    more_than_printed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        V, nu = rng.uniform(-1, 1, size=(20, 6)), rng.choice([3, 4.5, 7])
        m = V @ lpboost(V, nu).w
        rho = np.sort(m)[int(np.ceil(nu)) - 1]
        n_below, up_to = int((m < rho - 1e-9).sum()), int((m <= rho + 1e-9).sum())
        assert n_below <= nu <= up_to
        # Printed: N - nu examples have margin at least rho. Ties at rho make them more.
        more_than_printed += 20 - n_below >= 20 - nu + 2
    assert more_than_printed >= 15


def test_N3_the_projection_of_round_t_is_asked_in_round_t_plus_one() -> None:
    """The oracle returns hypothesis t + 1 for d^t, the projection for the first t hypotheses."""
    V, epsilon, nu = np.random.default_rng(7).choice([-1.0, 1.0], size=(24, 20)), 0.3, 4.0
    run = softboost(V, nu, epsilon)
    guarantee = 1.0
    assert len(run.columns) >= 3 and run.columns[1] != run.columns[0]
    for t, d in enumerate(run.distributions[1:], start=1):
        guarantee = min(guarantee, float(V[:, run.columns[t - 1]] @ run.distributions[t - 1]))
        assert (V[:, run.columns[:t]].T @ d).max() <= guarantee - epsilon + 1e-6
        assert run.columns[t] == (V.T @ d).argmax()
    # Named d_{t+1} after round t, as in section 4, and asked for as d_t in round t + 1, as in algorithm 2, the
    # projection of the first round is not there in the second, which gets its first hypothesis again.
    projections, queries = {1: uniform(24)}, list[int]()
    for t in (0, 1):
        d_t = projections.get(t, projections[min(projections)])
        queries.append(int((V.T @ d_t).argmax()))
        projections[t + 2] = run.distributions[t + 1]
    assert queries == [run.columns[0]] * 2 != run.columns[:2]
    # A hypothesis has one value for each example: with N of them edges would be no numbers.
    assert (V[:, 0] @ run.distributions[0]).ndim == 0 < (np.tile(V[:, 0], (24, 1)) @ run.distributions[0]).ndim


def test_N4_the_last_projection_of_the_proof_does_not_exist() -> None:
    V, epsilon, nu = np.random.default_rng(7).choice([-1.0, 1.0], size=(24, 20)), 0.1, 4.0
    run = softboost(V, nu, epsilon)
    T = len(run.columns)
    # The linear program proves that nothing satisfies the T constraints of which d^T would be the projection.
    assert lpboost(V[:, run.columns], nu).value > run.gamma
    assert len(run.distributions) == T >= 4
    potentials = [entropy(d, uniform(24)) for d in run.distributions]
    assert (T - 1) * epsilon**2 / 2 <= potentials[-1] <= np.log(24 / nu)
    assert len(softboost(V, 24.0, epsilon).columns) == 1 > 2 / epsilon**2 * np.log(24 / 24)
