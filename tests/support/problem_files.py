"""CVXPY problems whose certificates are saved, and a second reading of what a file states, by CVXPY's atoms."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np

import boostopt
from boostopt.problem_certificates.problem_certificate import ProblemCertificate

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

rng = np.random.default_rng(0)
M, N = 8, 4
A, B = np.round(rng.normal(size=(M, N)), 3), np.round(rng.normal(size=M), 3)
C = np.round(rng.uniform(0.1, 1, size=N), 3)
P = A.T @ A
W = np.round(np.abs(rng.normal(size=(3, 3))), 2)


def minimize(build: Callable[[Any], tuple[Any, list[Any]]], **attributes: Any) -> Callable[[], Any]:
    """Return what builds a problem of N unknowns that is minimized."""

    def build_problem() -> Any:
        objective, constraints = build(cp.Variable(N, name="x", **attributes))
        return cp.Problem(cp.Minimize(objective), constraints)

    return build_problem


def maximize(build: Callable[[Any], tuple[Any, list[Any]]], **attributes: Any) -> Callable[[], Any]:
    """Return what builds a problem of N unknowns that is maximized."""

    def build_problem() -> Any:
        objective, constraints = build(cp.Variable(N, name="x", **attributes))
        return cp.Problem(cp.Maximize(objective), constraints)

    return build_problem


def max_cut() -> Any:
    """Return a relaxed cut."""
    X = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace((np.diag((W + W.T).sum(0)) - W - W.T) @ X) / 4), [cp.diag(X) == 1])


def eigenvalue() -> Any:
    """Return the smallest largest eigenvalue of some matrices."""
    X = cp.Variable((3, 3), symmetric=True)
    return cp.Problem(cp.Minimize(cp.lambda_max(X)), [X[0, 1] == 1, cp.trace(X) == 1, X[1, 2] >= 0.25])


def determinant() -> Any:
    """Return a sparse inverse covariance."""
    X = cp.Variable((2, 2), symmetric=True)
    S = np.array([[1.0, 0.5], [0.5, 2.0]])
    return cp.Problem(cp.Minimize(-cp.log_det(X) + cp.trace(S @ X) + 0.1 * cp.sum(cp.abs(X))))


def nuclear_norm() -> Any:
    """Return a completed matrix."""
    X = cp.Variable((2, 3))
    return cp.Problem(cp.Minimize(cp.normNuc(X)), [X[0, 0] == 1, X[1, 1] == 2, X[0, 2] >= 0.5, X[1, 2] == 1])


def spectral_norm() -> Any:
    """Return the smallest matrix with some entries."""
    X = cp.Variable((2, 3))
    return cp.Problem(cp.Minimize(cp.sigma_max(X) + 0.25 * cp.sum(X)), [X[0, 0] == 1, X[1, 1] >= 2, X[1, 2] == 1])


POSITIVE = np.abs(A)


def matrices(build: Callable[[Any], tuple[Any, list[Any]]]) -> Callable[[], Any]:
    """Return what builds a problem of a symmetric matrix."""

    def build_problem() -> Any:
        return cp.Problem(*build(cp.Variable((3, 3), symmetric=True)))

    return build_problem


def perspective(is_concave: bool) -> Any:
    """Return a problem with the perspective of exponentials, or of logarithms."""
    y, s = cp.Variable(2), cp.Variable(nonneg=True)
    if is_concave:
        values = cp.perspective(cp.sum(cp.log(y)), s)
        return cp.Problem(cp.Maximize(values - s), [y[0] + 2 * y[1] + s <= 3, s >= 0.125])
    values = cp.perspective(cp.sum(cp.exp(y)), s)
    return cp.Problem(cp.Minimize(values + cp.square(s)), [y[0] + y[1] == 1, s >= 0.5, y[0] <= 0.25, y >= -5])


PRICES = np.array([[1.0, 0.5, 0], [0.5, 2, 0.25], [0, 0.25, 1]])

CASES: Mapping[str, Callable[[], Any]] = {
    "linear": minimize(lambda x: (C @ x, [A @ x <= B + 3, x >= -1])),
    "box": minimize(lambda x: (A[0] @ x, [cp.sum(x) <= 2]), bounds=[-1, 1]),
    "equations": maximize(lambda x: (-C @ x, [A[:2] @ x == A[:2].sum(1)]), nonneg=True),
    "least squares": minimize(lambda x: (cp.sum_squares(A @ x - B), [])),
    "quadratic": minimize(lambda x: (cp.quad_form(x, P) + C @ x, [x >= 0.125, cp.sum(x) == 3])),
    "concave quadratic": maximize(lambda x: (C @ x - cp.quad_form(x, P), [x <= 1])),
    "lasso": minimize(lambda x: (cp.sum_squares(A @ x - B) / 3 + 0.7 * cp.norm1(x), [])),
    "huber": minimize(lambda x: (cp.sum(cp.huber(A @ x - B, 0.5)), [])),
    "absolute": minimize(lambda x: (cp.norm1(A @ x - B), [])),
    "chebyshev": minimize(lambda x: (cp.norm_inf(A @ x - B), [])),
    "largest": minimize(lambda x: (cp.max(A @ x - B), [cp.norm1(x) <= 2])),
    "smallest": maximize(lambda x: (cp.min(A @ x - B), [cp.norm_inf(x) <= 2])),
    "sum of largest": minimize(lambda x: (cp.sum_largest(A @ x - B, 3), [cp.abs(x) <= 2])),
    "norm": minimize(lambda x: (cp.norm(A @ x - B) + 0.1 * cp.norm1(x), [])),
    "second-order cone": minimize(lambda x: (C @ x, [cp.SOC(1 + x[0] / 2, A @ x)])),
    "p-norm": minimize(lambda x: (cp.pnorm(A @ x - B, 1.5), [])),
    "squares over last": minimize(lambda x: (cp.quad_over_lin(A @ x - B, x[0] + 2), [x[0] >= -1, x[0] <= 3])),
    "fourth power": minimize(lambda x: (cp.sum(cp.power(A @ x - B, 4)), [])),
    "power": minimize(lambda x: (cp.sum(cp.power(x, 1.5)), [POSITIVE @ x >= 1])),
    "root": maximize(lambda x: (cp.sum(cp.sqrt(x)), [POSITIVE @ x <= 1])),
    "inverse": minimize(lambda x: (cp.sum(cp.inv_pos(x)), [POSITIVE @ x <= 1])),
    "exponential": minimize(lambda x: (cp.sum(cp.exp(A @ x)) + cp.sum_squares(x), [])),
    "logarithm": maximize(lambda x: (cp.sum(cp.log(POSITIVE @ x)), [cp.sum(x) == 1]), nonneg=True),
    "shifted logarithm": maximize(lambda x: (cp.sum(cp.log1p(POSITIVE @ x)), [cp.sum(x) <= 1]), nonneg=True),
    "entropy": maximize(lambda x: (cp.sum(cp.entr(x)), [cp.sum(x) == 1, x[0] + 2 * x[1] == 0.5])),
    "logistic": minimize(lambda x: (cp.sum(cp.logistic(A @ x)) / M + 0.1 * cp.sum_squares(x), [])),
    "relative entropy": minimize(
        lambda x: (cp.sum(cp.rel_entr(x, np.full(N, 0.25))), [cp.sum(x) == 1, x[0] + 2 * x[1] == 0.5])
    ),
    "divergence": minimize(lambda x: (cp.sum(cp.kl_div(x, np.arange(1.0, N + 1))), [cp.sum(x) == 2])),
    "log-sum-exp": minimize(lambda x: (cp.log_sum_exp(A @ x - B) + 0.125 * cp.sum_squares(x), [])),
    "geometric mean": maximize(lambda x: (cp.geo_mean(x), [POSITIVE @ x <= 1])),
    "exponential cone": minimize(
        lambda x: (x[2] + x[0], [cp.ExpCone(x[0], x[1], x[2]), x[1] == 1, x[0] >= -2, x[3] == 0])
    ),
    "cut": max_cut,
    "largest eigenvalue": eigenvalue,
    "determinant": determinant,
    "nuclear norm": nuclear_norm,
    "spectral norm": spectral_norm,
    "matrix fraction": minimize(
        lambda x: (
            cp.matrix_frac(x[:2], cp.diag(x[2:]) + np.array([[1, 0.5], [0.5, 1]])) + x[2] + 2 * x[3],
            [x[0] + x[1] == 1, x[2:] >= 0],
        )
    ),
    "trace of inverse": matrices(lambda X: (cp.Minimize(cp.tr_inv(X) + cp.trace(PRICES @ X)), [])),
    "product with exponential": minimize(
        lambda x: (cp.sum(cp.xexp(x)) - C @ x, [x[0] + x[1] >= 0.25, cp.sum(x) <= 3]), nonneg=True
    ),
    "sum of largest eigenvalues": matrices(
        lambda X: (cp.Minimize(cp.lambda_sum_largest(X, 2)), [X[0, 1] == 1, cp.trace(X) == 1, X[1, 2] >= 0.25])
    ),
    "matrix entropy": matrices(
        lambda X: (cp.Maximize(cp.von_neumann_entr(X) - cp.trace(PRICES @ X)), [cp.trace(X) == 1, X[0, 1] == 0.125])
    ),
    "perspective": lambda: perspective(False),
    "concave perspective": lambda: perspective(True),
    "power mean": maximize(lambda x: (cp.harmonic_mean(x), [POSITIVE @ x <= 1])),
    "infeasible": minimize(lambda x: (cp.sum(x), [x >= 1, cp.sum(x) <= 2])),
    "infeasible cone": minimize(lambda x: (cp.sum(x), [cp.norm(x) <= 1, cp.sum(x) >= 10])),
    "unbounded": maximize(lambda x: (x[0] + x[1], [x[0] - x[1] <= 1, x[2] == 0, x[3] == 0])),
}
"""Problems by name."""

RATIONAL = ("linear", "equations", "least squares", "quadratic", "concave quadratic")
"""Problems whose optimum is a fraction that the file proves."""


@cache
def certified(case: str) -> tuple[ProblemCertificate, Any]:
    """Return the certificate of a problem by Clarabel's answer, and the problem."""
    problem = CASES[case]()
    with warnings.catch_warnings(action="ignore"):
        problem.solve(solver="CLARABEL")
    return boostopt.certify_problem(problem), problem


@cache
def text(case: str) -> str:
    """Return the text of the file of a problem."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        certified(case)[0].save(path)
        return path.read_text()


def content(case: str) -> dict[str, Any]:
    """Return what the file of a problem states, to be changed."""
    return json.loads(text(case))


def number(value: float | str) -> float:
    """Return a number of a problem as a float."""
    if isinstance(value, str):
        top, _, bottom = value.partition("/")
        return float(Fraction(int(top, 16), int(bottom or "1", 16)))
    return float(value)


def row_expressions(rows: Mapping[str, Any], unknowns: Sequence[Any]) -> list[Any]:
    """Return affine functions of unknowns as CVXPY expressions."""
    result: list[Any] = [cp.Constant(number(offset)) for offset in rows["offsets"]]
    for i, k, value in zip(rows["rows"], rows["columns"], rows["values"], strict=True):
        result[i] = result[i] + number(value) * unknowns[k]
    return result


ATOMS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "sum of absolute values": lambda u, item: cp.norm1(u),
    "largest absolute value": lambda u, item: cp.norm_inf(u),
    "largest": lambda u, item: cp.max(u),
    "smallest": lambda u, item: cp.min(u),
    "sum of largest": lambda u, item: cp.sum_largest(u, number(item["count"])),
    "euclidean norm": lambda u, item: cp.norm(u, 2),
    "p-norm": lambda u, item: cp.pnorm(u, number(item["exponent"])),
    "sum of squares": lambda u, item: cp.sum_squares(u) / number(item["divisor"]),
    "squares over last": lambda u, item: cp.quad_over_lin(u[:-1], u[-1]),
    "quadratic form": lambda u, item: cp.quad_form(
        u, np.reshape([number(value) for value in item["matrix"]], (item["size"], item["size"]))
    ),
    "huber": lambda u, item: cp.huber(u[0], number(item["threshold"])),
    "power": lambda u, item: cp.power(u[0], number(item["exponent"])),
    "exponential": lambda u, item: cp.exp(u[0]),
    "logarithm": lambda u, item: cp.log(u[0]),
    "shifted logarithm": lambda u, item: cp.log1p(u[0]),
    "entropy": lambda u, item: cp.entr(u[0]),
    "logistic": lambda u, item: cp.logistic(u[0]),
    "relative entropy": lambda u, item: cp.rel_entr(u[0], u[1]),
    "divergence": lambda u, item: cp.kl_div(u[0], u[1]),
    "log-sum-exp": lambda u, item: cp.log_sum_exp(u),
    "geometric mean": lambda u, item: cp.geo_mean(u, p=[number(value) for value in item["weights"]], approx=False),
    "power mean": lambda u, item: cp.pnorm(u, number(item["exponent"])),
    "spectral norm": lambda u, item: cp.sigma_max(cp.reshape(u, tuple(item["shape"]), order="C")),
    "nuclear norm": lambda u, item: cp.normNuc(cp.reshape(u, tuple(item["shape"]), order="C")),
    "matrix fraction": lambda u, item: cp.matrix_frac(
        cp.reshape(u[: item["shape"][0] * item["shape"][1]], tuple(item["shape"]), order="C"),
        symmetric_matrix(u[item["shape"][0] * item["shape"][1] :], item["shape"][0]),
    ),
    "largest eigenvalue": lambda u, item: cp.lambda_max(symmetric_matrix(u, item["size"])),
    "log-determinant": lambda u, item: cp.log_det(symmetric_matrix(u, item["size"])),
    "product with exponential": lambda u, item: cp.xexp(u[0]),
    "sum of largest eigenvalues": lambda u, item: cp.lambda_sum_largest(
        symmetric_matrix(u, item["size"]), number(item["count"])
    ),
    "matrix entropy": lambda u, item: cp.von_neumann_entr(cp.hermitian_wrap(symmetric_matrix(u, item["size"]))),
    "perspective": lambda u, item: cp.perspective(ATOMS[item["function"]["atom"]](u[:-1], item["function"]), u[-1]),
}
"""CVXPY's atom of each name in a file."""


def symmetric_matrix(u: Any, n: int) -> Any:
    """Return the symmetric part of a matrix by its entries in C order."""
    X = cp.reshape(u, (n, n), order="C")
    return (X + X.T) / 2


def problem_of_statement(statement: Mapping[str, Any]) -> Any:
    """Return the CVXPY problem that a file states."""
    x = cp.Variable(len(statement["lower"]), name="x")
    unknowns: list[Any] = [x[k] for k in range(len(statement["lower"]))]
    constraints = list[Any]()
    for item in statement["atoms"]:
        arguments = row_expressions(item["arguments"], unknowns)
        for group in item["members"]:
            u = cp.hstack([arguments[i] for i in group])
            if item["atom"] in ("perspective", "product with exponential"):  # CVXPY demands variables, and a sign
                is_nonneg = item["atom"] != "perspective"
                v, s = cp.Variable(u.size - 1 + is_nonneg, nonneg=is_nonneg), cp.Variable(nonneg=True)
                constraints += [cp.hstack([v] if is_nonneg else [v, s]) == u]
                u = v if is_nonneg else [*v, s]
            unknowns.append(ATOMS[item["atom"]](u, item))
    constraints += [row <= 0 for row in row_expressions(statement["inequalities"], unknowns)]
    constraints += [row == 0 for row in row_expressions(statement["equalities"], unknowns)]
    for item in statement["matrices"]:
        constraints.append(symmetric_matrix(cp.hstack(row_expressions(item["entries"], unknowns)), item["size"]) >> 0)
    for k, (low, high) in enumerate(zip(statement["lower"], statement["upper"], strict=True)):
        constraints += [] if low == "-inf" else [x[k] >= number(low)]
        constraints += [] if high == "inf" else [x[k] <= number(high)]
    (objective,) = row_expressions(statement["objective"], unknowns)
    sense = cp.Minimize if statement["sense"] == "minimize" else cp.Maximize
    return cp.Problem(sense(objective), constraints)
