"""The problems of the arena: a frozen set of boosting programs, of kinds stated in CVXPY, and of files of others.

All data are drawn from the raw bits of a generator, whose stream NumPy promises to keep, and are multiples of a power
of two, so that sums are exact and the set is the same on every machine. A change of a problem needs a new `VERSION`:
its digests are in benchmarks/arena_set.json, and a test compares them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np

from boostopt import get_formulation, load_problem
from boostopt._utils.array_types import Array

cp: Any = cvxpy
"""CVXPY, whose own annotations refuse expressions that it takes."""

VERSION = "2"
"""The version of the set. Results of different versions are not merged."""

MIN_OPTIMUM = 1.0 / 64.0
"""The least |optimum| of a problem of the set that is not of a file of others: a relative gap is at most 64 times finer
than the gap itself."""

INSTANCES = Path(__file__).parents[2] / "shared" / "instances"
"""The folder of files of others; without it, the set lacks their family."""

Data = Mapping[str, Any]
"""Arrays and numbers by name."""


@dataclass(frozen=True)
class ArenaProblem:
    """A problem of the set.

    Attributes
    ----------
    name
        Its name.
    family
        "boosting", "cvxpy" or "files": which entrants take it.
    is_degenerate
        Whether it has many optimal bases or equal examples and hypotheses on purpose.
    data
        The data, all that defines the problem beside its statement.
    state
        A function of the data that returns the program, or the CVXPY problem.
    statement
        The words from which the digest of the statement is made.
    """

    name: str
    family: str
    data: Callable[[], Data]
    state: Callable[[Data], Any]
    statement: str
    is_degenerate: bool = False

    def make(self) -> Any:
        """Return the program, or the CVXPY problem."""
        return self.state(self.data())

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the statement and of the data."""
        digest = hashlib.sha256(f"{self.name} {self.statement};".encode())
        for name, value in sorted(self.data().items()):
            array = np.ascontiguousarray(value)
            digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
            digest.update(array.data)
        return digest.hexdigest()


@dataclass
class Draws:
    """Draws from the raw stream of PCG64, which does not depend on the version of NumPy."""

    seed: int
    _generator: Any = field(init=False)

    def __post_init__(self) -> None:
        self._generator = np.random.PCG64(self.seed)

    def uniform(self, *shape: int) -> Array:
        """Return multiples of 2^-16 in [0, 1)."""
        bits = self._generator.random_raw(int(np.prod(shape))) >> np.uint64(48)
        return bits.astype(np.float64).reshape(shape) / 65536.0

    def bell(self, *shape: int) -> Array:
        """Return sums of four uniform numbers minus 2, with mean 0 and variance 1/3."""
        return self.uniform(4, *shape).sum(axis=0) - 2.0


# Boosting programs


def sign_margins(seed: int, N: int, t: int, least_right: float = 0.5625) -> Array:
    """Return margins of hypotheses that are right on a share of the examples: least_right, and up to 1/8 more."""
    draws = Draws(seed)
    right = least_right + 0.125 * draws.uniform(t)
    return np.where(draws.uniform(N, t) < right, 1.0, -1.0)


def real_margins(seed: int, N: int, t: int, mean: float = 0.125) -> Array:
    """Return margins between -1 and 1 around a positive mean."""
    return np.clip(mean + 0.75 * Draws(seed).bell(N, t), -1.0, 1.0)


def sparse_margins(seed: int, N: int, t: int) -> Array:
    """Return margins that are 0 on three of four examples, and positive on 62 to 75 % of the others."""
    return np.where(Draws(seed + 1000).uniform(N, t) < 0.25, sign_margins(seed, N, t, 0.625), 0.0)


def repeated_margins(seed: int) -> Array:
    """Return 50 examples ten times, with 20 hypotheses three times."""
    return np.tile(sign_margins(seed, 50, 20), (10, 3))


def cyclic_margins(n: int) -> Array:
    """Return margins n x n whose rows are cyclic shifts of the first: all examples are alike, and so are columns."""
    first = np.where(np.arange(n) < (5 * n) // 8, 1.0, -1.0)
    return np.array([np.roll(first, k) for k in range(n)])


PARAMETERS: Mapping[str, Callable[[int], dict[str, float]]] = {
    "lpboost": lambda N: {"nu": N / 8},
    "l1_adaboost": lambda N: {"C": 16.0 / N},
    "qp_reg_adaboost": lambda N: {"C": 16.0 / N},
    "qrlp_boost": lambda N: {"nu": N / 8, "eta": 64.0},
    "norm_ball": lambda N: {"r": 2.0 / N**0.5},
    "erlpboost": lambda N: {"nu": N / 8, "eta": 64.0},
    "binary_erlpboost": lambda N: {"nu": N / 8, "eta": 64.0},
    "log_loss": lambda N: {"eta": 64.0},
}
"""The formulations, with their parameters at N examples."""

MARGINS: Mapping[str, tuple[Callable[[], Array], tuple[str, ...]]] = {
    "signs 200 x 20": (lambda: sign_margins(1, 200, 20), tuple(PARAMETERS)),
    "signs 1000 x 50": (lambda: sign_margins(2, 1000, 50), tuple(PARAMETERS)),
    "real 1000 x 50": (lambda: real_margins(3, 1000, 50), tuple(PARAMETERS)),
    "sparse 2000 x 100": (lambda: sparse_margins(4, 2000, 100), tuple(PARAMETERS)),
    "real 100000 x 24": (
        lambda: real_margins(5, 100_000, 24, 0.1875),
        ("lpboost", "qrlp_boost", "erlpboost", "log_loss"),
    ),
    "real 2000 x 1000": (lambda: real_margins(6, 2000, 1000), ("lpboost", "l1_adaboost", "qrlp_boost", "erlpboost")),
}
"""Margins by name, with the formulations on them."""

DEGENERATE: Mapping[str, tuple[Callable[[], Array], tuple[str, ...]]] = {
    "repeated 500 x 60": (
        lambda: repeated_margins(7),
        ("lpboost", "l1_adaboost", "qp_reg_adaboost", "norm_ball", "erlpboost"),
    ),
    "cyclic 96 x 96": (
        lambda: cyclic_margins(96),
        ("lpboost", "l1_adaboost", "qp_reg_adaboost", "norm_ball", "erlpboost"),
    ),
}
"""Margins of programs that are degenerate on purpose."""


def boosting_problem(formulation: str, case: str, margins: Callable[[], Array], is_degenerate: bool) -> ArenaProblem:
    """Return a formulation on margins."""

    def state(data: Data) -> Any:
        U = data["U"]
        return get_formulation(formulation).bind(U, **PARAMETERS[formulation](U.shape[0]))

    def draw() -> Data:
        U = margins()
        return {"U": U, **PARAMETERS[formulation](U.shape[0])}

    return ArenaProblem(f"{formulation} on {case}", "boosting", draw, state, formulation, is_degenerate)


# Kinds of problems that people state in CVXPY


def regression_data(seed: int, m: int, n: int) -> Callable[[], Data]:
    """Return a function that draws a matrix, targets near it, and their signs."""

    def draw() -> Data:
        draws = Draws(seed)
        A, x = draws.bell(m, n), np.where(np.arange(n) % 3 == 0, np.round(4 * draws.bell(n)), 0.0)
        b = A @ x + 0.25 * draws.bell(m)
        return {"A": A, "b": b, "y": np.where(A @ x + draws.bell(m) > 0, 1.0, -1.0)}

    return draw


def portfolio_data(seed: int, n: int, k: int) -> Callable[[], Data]:
    """Return a function that draws factors, variances, returns and scenarios of n assets."""

    def draw() -> Data:
        draws = Draws(seed)
        return {
            "factors": draws.bell(n, k),
            "variances": 0.0625 + draws.uniform(n),
            "returns": 0.25 * draws.uniform(n),
            "scenarios": 1.0 + 0.25 * draws.bell(8 * n, n),
        }

    return draw


def matrix_data(seed: int, n: int) -> Callable[[], Data]:
    """Return a function that draws nonnegative weights of a graph, costs, and symmetric matrices."""

    def draw() -> Data:
        draws = Draws(seed)
        weights = np.triu(np.where(draws.uniform(n, n) < 0.5, draws.uniform(n, n), 0.0), 1)
        symmetric = draws.bell(3, n, n)
        return {
            "weights": weights + weights.T,
            "costs": draws.uniform(n, n),
            "symmetric": symmetric + symmetric.transpose(0, 2, 1),
        }

    return draw


def regressed(
    objective: Callable[[Any, Any, Any, Any], Any], constraints: Callable[[Any], list[Any]] = lambda x: []
) -> Any:
    """Return a function of the data that states min objective(A, b, y, x)."""

    def state(data: Data) -> Any:
        x = cp.Variable(data["A"].shape[1])
        return cp.Problem(cp.Minimize(objective(data["A"], data["b"], data["y"], x)), constraints(x))

    return state


def squares(A: Any, b: Any, x: Any) -> Any:
    """Return the sum of squared residuals over the number of rows."""
    return cp.sum_squares(A @ x - b) / A.shape[0]


def portfolio(objective: Callable[[Data, Any], Any]) -> Callable[[Data], Any]:
    """Return a function of the data that states max objective(data, w) over long weights w."""

    def state(data: Data) -> Any:
        w = cp.Variable(data["returns"].size, nonneg=True)
        return cp.Problem(cp.Maximize(objective(data, w)), [cp.sum(w) == 1])

    return state


def risk(data: Data, w: Any) -> Any:
    """Return the variance of weights."""
    return cp.sum_squares(data["factors"].T @ w) + cp.sum(cp.multiply(data["variances"], cp.square(w)))


def value_at_risk(data: Data, w: Any) -> Any:
    """Return the negative conditional value at risk of the worst eighth of the scenarios."""
    level = cp.Variable()
    losses = cp.pos(-data["scenarios"] @ w - level)
    return -(level + 8.0 * cp.sum(losses) / data["scenarios"].shape[0])


def transport(data: Data) -> Any:
    """Return the transport of equal masses at the least costs."""
    n = data["costs"].shape[0]
    flow = cp.Variable((n, n), nonneg=True)
    value = cp.sum(cp.multiply(data["costs"], flow))
    return cp.Problem(cp.Minimize(value), [cp.sum(flow, axis=0) == 1.0, cp.sum(flow, axis=1) == 1.0])


def entropic_transport(data: Data) -> Any:
    """Return the transport of equal masses with an entropy."""
    n = data["costs"].shape[0]
    flow = cp.Variable((n, n))
    value = cp.sum(cp.multiply(data["costs"], flow)) - cp.sum(cp.entr(flow)) / 16.0
    return cp.Problem(cp.Minimize(value), [cp.sum(flow, axis=0) == 1.0, cp.sum(flow, axis=1) == 1.0])


def maximum_cut(data: Data) -> Any:
    """Return the semidefinite relaxation of the maximum cut."""
    X = cp.Variable(data["weights"].shape, PSD=True)
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(data["weights"], 1.0 - X)) / 4.0), [cp.diag(X) == 1.0])


def largest_eigenvalue(data: Data) -> Any:
    """Return the least largest eigenvalue of an affine family of matrices."""
    x, (A, B, C) = cp.Variable(2), data["symmetric"]
    return cp.Problem(cp.Minimize(cp.lambda_max(A + x[0] * B + x[1] * C)), [cp.norm(x) <= 4.0])


def denoising(data: Data) -> Any:
    """Return total variation denoising of the targets."""
    x = cp.Variable(data["b"].size)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - data["b"]) / 2.0 + cp.norm1(cp.diff(x)) / 2.0))


def isotonic(data: Data) -> Any:
    """Return the nearest increasing sequence to the targets."""
    x = cp.Variable(data["b"].size)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - data["b"])), [cp.diff(x) >= 0.0])


def enclosing_ball(data: Data) -> Any:
    """Return the smallest ball around the rows of the matrix."""
    c, r = cp.Variable(data["A"].shape[1]), cp.Variable()
    return cp.Problem(cp.Minimize(r), [cp.norm(data["A"] - cp.reshape(c, (1, c.size), order="C"), axis=1) <= r])


def geometric_median(data: Data) -> Any:
    """Return the point with the least mean distance to the rows of the matrix."""
    c = cp.Variable(data["A"].shape[1])
    distances = cp.norm(data["A"] - cp.reshape(c, (1, c.size), order="C"), axis=1)
    return cp.Problem(cp.Minimize(cp.sum(distances) / data["A"].shape[0]))


REGRESSION, WIDE, ASSETS, GRAPH = (
    regression_data(11, 400, 40),
    regression_data(12, 40, 100),
    portfolio_data(13, 40, 5),
    matrix_data(14, 24),
)

KINDS: Mapping[str, tuple[Callable[[], Data], Callable[[Data], Any]]] = {
    "least squares": (REGRESSION, regressed(lambda A, b, y, x: squares(A, b, x))),
    "ridge": (REGRESSION, regressed(lambda A, b, y, x: squares(A, b, x) + cp.sum_squares(x) / 8.0)),
    "lasso": (REGRESSION, regressed(lambda A, b, y, x: squares(A, b, x) + cp.norm1(x) / 8.0)),
    "elastic net": (
        REGRESSION,
        regressed(lambda A, b, y, x: squares(A, b, x) + cp.norm1(x) / 8.0 + cp.sum_squares(x) / 16.0),
    ),
    "group lasso": (
        REGRESSION,
        regressed(lambda A, b, y, x: squares(A, b, x) + sum(cp.norm(x[k : k + 5]) for k in range(0, 40, 5)) / 8.0),
    ),
    "nonnegative least squares": (REGRESSION, regressed(lambda A, b, y, x: squares(A, b, x), lambda x: [x >= 0.0])),
    "huber regression": (REGRESSION, regressed(lambda A, b, y, x: cp.sum(cp.huber(A @ x - b, 0.25)))),
    "quantile regression": (
        REGRESSION,
        regressed(lambda A, b, y, x: cp.sum(cp.maximum(0.75 * (A @ x - b), 0.25 * (b - A @ x)))),
    ),
    "least absolute deviations": (REGRESSION, regressed(lambda A, b, y, x: cp.norm1(A @ x - b))),
    "chebyshev regression": (REGRESSION, regressed(lambda A, b, y, x: cp.norm_inf(A @ x - b))),
    "support vectors": (
        REGRESSION,
        regressed(lambda A, b, y, x: cp.sum(cp.pos(1.0 - cp.multiply(y, A @ x))) / 400.0 + cp.sum_squares(x) / 32.0),
    ),
    "logistic": (
        REGRESSION,
        regressed(lambda A, b, y, x: cp.sum(cp.logistic(-cp.multiply(y, A @ x))) / 400.0 + cp.sum_squares(x) / 32.0),
    ),
    "sparse logistic": (
        REGRESSION,
        regressed(lambda A, b, y, x: cp.sum(cp.logistic(-cp.multiply(y, A @ x))) / 400.0 + cp.norm1(x) / 64.0),
    ),
    "basis pursuit": (
        WIDE,
        lambda data: (lambda x: cp.Problem(cp.Minimize(cp.norm1(x)), [data["A"] @ x == data["b"]]))(cp.Variable(100)),
    ),
    "denoising": (REGRESSION, denoising),
    "isotonic": (REGRESSION, isotonic),
    "enclosing ball": (REGRESSION, enclosing_ball),
    "geometric median": (REGRESSION, geometric_median),
    "markowitz": (ASSETS, portfolio(lambda data, w: data["returns"] @ w - risk(data, w))),
    "growth": (ASSETS, portfolio(lambda data, w: cp.sum(cp.log(data["scenarios"] @ w)))),
    "value at risk": (ASSETS, portfolio(value_at_risk)),
    "entropic portfolio": (ASSETS, portfolio(lambda data, w: data["returns"] @ w + cp.sum(cp.entr(w)) / 16.0)),
    "transport": (GRAPH, transport),
    "entropic transport": (GRAPH, entropic_transport),
    "maximum cut": (GRAPH, maximum_cut),
    "largest eigenvalue": (GRAPH, largest_eigenvalue),
}
"""Problems stated in CVXPY by kind, each with its data and its statement."""

FILES = (
    *("netlib/afiro", "netlib/adlittle", "netlib/blend", "netlib/sc105", "netlib/share1b", "netlib/bandm"),
    *("maros_meszaros/HS35", "maros_meszaros/DUAL4", "maros_meszaros/DUALC2", "maros_meszaros/CVXQP1_S"),
    *("cblib_socp/sambal", "cblib_exp/gptest", "sdplib/truss3", "sdplib/control1"),
)
"""Files of others, by collection and name without its ending."""


def file_problem(folder: Path, name: str) -> ArenaProblem | None:
    """Return the problem of a file; None if there is no file of this name."""
    collection, stem = name.split("/")
    paths = sorted(path for path in (folder / collection).glob(f"{stem}.*") if path.name.split(".")[0] == stem)
    if not paths:
        return None
    return ArenaProblem(
        name,
        "files",
        lambda: {"bytes": np.frombuffer(paths[0].read_bytes(), dtype=np.uint8)},
        lambda data: load_problem(paths[0]),
        collection,
    )


def arena_problems(instances: Path | None = INSTANCES) -> dict[str, ArenaProblem]:
    """Return the problems of the set by name.

    Parameters
    ----------
    instances
        The folder of files of others. None, or a folder that does not exist, for the problems without files.
    """
    problems = [
        boosting_problem(formulation, case, margins, is_degenerate)
        for cases, is_degenerate in ((MARGINS, False), (DEGENERATE, True))
        for case, (margins, formulations) in cases.items()
        for formulation in formulations
    ]
    problems += [ArenaProblem(name, "cvxpy", data, state, name) for name, (data, state) in KINDS.items()]
    files = () if instances is None else FILES
    problems += [problem for name in files if (problem := file_problem(Path(instances or ""), name)) is not None]
    return {problem.name: problem for problem in problems}
