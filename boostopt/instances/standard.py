"""The standard set: programs of every family on margins of every kind, for comparing solvers.

`boostopt export --set` writes it for the authors of solvers, and the first form of each solver is measured on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.array_types import Array, Float
from boostopt.data.datasets import Dataset, load_dataset
from boostopt.errors import DataError
from boostopt.functions.regularizers.capped_simplex import project_capped_simplex
from boostopt.programs.formulation_catalogue import get_formulation
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

NU_FRACTION = 0.1
"""nu / N in all programs that have a nu."""

IDA_CASES = {"diabetis": (50, 1e2), "german": (100, 1e3), "image": (50, 1e4)}
"""The sets of the IDA benchmark in the standard set, each with the number of stumps and eta."""

N_UPDATES = 100
"""The number of updates of d whose largest edge becomes the bound of SoftBoost's edges."""


@dataclass(frozen=True, eq=False)
class MarginCase:
    """Margins and their description.

    Attributes
    ----------
    name
        The name of the case.
    shows
        A description in a few words.
    U
        Margins, shape (N, t).
    eta
        The rate of the entropies on these margins.
    gamma
        The bound of the edges on these margins. None for the largest edge after `N_UPDATES` updates of the examples'
        weights, rounded up to four digits, so that some d satisfies the bound.
    """

    name: str
    shows: str
    U: Float[Array, "N t"]
    eta: float
    gamma: float | None = None

    @property
    def nu(self) -> float:
        """The smallest number of examples that share the weight."""
        return max(1.0, float(round(NU_FRACTION * self.U.shape[0])))


def standard_cases(ida: str | os.PathLike[str] | None = None) -> Mapping[str, MarginCase]:
    """Return the margins of the set, by name.

    Parameters
    ----------
    ida
        A folder with the IDA benchmark's diabetis.npz, german.npz and image.npz (each with X and y), whose stumps then
        belong to the set too; None for the margins that need no file.

    Raises
    ------
    DataError
        One of the files is missing, or is not such a data set.
    """
    return {case.name: case for case in (*_generated_cases(), *(() if ida is None else _ida_cases(Path(ida))))}


def standard_programs(ida: str | os.PathLike[str] | None = None) -> Mapping[str, Program]:
    """Return every formulation of the set on all its margins, by labels such as "lpboost on random_tiny".

    Parameters
    ----------
    ida
        As in `standard_cases`.

    Raises
    ------
    DataError
        A file of the folder is missing, or is not such a data set.
    """
    bound = dict[str, Program]()
    for case in standard_cases(ida).values():
        U = MarginMatrix(case.U)
        for name, parameters in FORMULATION_PARAMETERS.items():
            margins = MarginMatrix(_two_columns(case.U)) if name in TWO_COLUMN_FORMULATIONS else U
            bound[f"{name} on {case.name}"] = get_formulation(name).bind(margins, **parameters(case))
    return bound


def _edge_bound(case: MarginCase) -> float:
    """Return the edge bound of a case."""
    if case.gamma is not None:
        return case.gamma
    d = np.full(case.U.shape[0], 1.0 / case.U.shape[0])
    for _ in range(N_UPDATES):
        q = np.argmax(d @ case.U)
        d = project_capped_simplex(d * np.exp(-0.1 * case.U[:, q]), case.nu)
    return float(np.ceil(1e4 * np.max(d @ case.U)) / 1e4)


FORMULATION_PARAMETERS: Mapping[str, Callable[[MarginCase], dict[str, Any]]] = {
    "lpboost": lambda case: {"nu": case.nu},
    "l1_adaboost": lambda case: {"C": 10.0 / case.U.shape[0]},
    "qp_reg_adaboost": lambda case: {"C": 10.0 / case.U.shape[0]},
    "norm_ball": lambda case: {"r": 2.0 / case.U.shape[0] ** 0.5},
    "erlpboost": lambda case: {"nu": case.nu, "eta": case.eta},
    "binary_erlpboost": lambda case: {"nu": case.nu, "eta": case.eta},
    "softboost": lambda case: {"nu": case.nu, "gamma": _edge_bound(case)},
    "log_loss": lambda case: {"eta": case.eta},
    "corrective_erlpboost": lambda case: {"nu": case.nu, "eta": case.eta},
}
"""The formulations of the set, one or two for each family, with the parameters on a case."""

TWO_COLUMN_FORMULATIONS = frozenset({"corrective_erlpboost"})
"""Formulations with two hypotheses: the mean of all but the last one, and the last one."""


def _two_columns(U: Float[Array, "N t"]) -> Float[Array, "N 2"]:
    return np.column_stack([U[:, :-1].mean(axis=1), U[:, -1]])


def _generated_cases() -> Iterator[MarginCase]:
    """Yield the cases that need no file."""
    yield MarginCase("random_tiny", "random signs, 100 x 10", _random_signs(100, 10, 1), 10.0)
    yield MarginCase("random_small", "random signs, 1000 x 50", _random_signs(1000, 50, 2), 1e3)
    yield MarginCase("random_wide", "random signs, 2000 x 200", _random_signs(2000, 200, 3), 1e6)
    yield MarginCase("random_tall", "random signs, 20000 x 10", _random_signs(20_000, 10, 4), 1e3)
    cancer = load_dataset("breast_cancer")
    yield MarginCase("cancer_10", "10 stumps of breast_cancer", _stump_margins(cancer, 10), 1e2)
    yield MarginCase("cancer_200", "200 stumps of breast_cancer", _stump_margins(cancer, 200), 1e4)
    rng = np.random.default_rng(5)
    yield MarginCase("real", "real-valued, 1000 x 50", np.clip(rng.normal(0.1, 0.4, (1000, 50)), -1.0, 1.0), 1e4)
    distinct_rows = _random_signs(50, 20, 6)
    copies = np.tile(distinct_rows, (10, 3))
    yield MarginCase("degenerate", "50 examples ten times, 20 hypotheses three times", copies, 1e2)
    d = project_capped_simplex(rng.uniform(size=600), 60)
    useless = rng.uniform(-0.5, 0.5, (600, 30))
    useless -= d @ useless
    # The edges of this d are 0, and no d has a smaller largest edge: with a bound close to 0 hardly any d is feasible.
    negated = np.hstack([useless, -useless])
    yield MarginCase(
        "nearly_infeasible", "hypotheses and their negations without an edge, 600 x 60", negated, 1e5, 1e-6
    )


def _ida_cases(folder: Path) -> Iterator[MarginCase]:
    """Yield stumps of the IDA sets."""
    for name, (count, eta) in IDA_CASES.items():
        path = folder / f"{name}.npz"
        if not path.is_file():
            raise DataError(f"expected the IDA set {path}; there is no such file. Name the folder that has it.")
        with np.load(path) as file:
            missing = {"X", "y"} - set(file.files)
            if missing:
                raise DataError(f"expected X and y in {path}; it has {', '.join(file.files)}. Name another folder.")
            dataset = Dataset(name, file["X"], file["y"])
        yield MarginCase(name, f"{count} stumps of {name}", _stump_margins(dataset, count), eta)


def _stump_margins(dataset: Dataset, count: int) -> Float[Array, "N t"]:
    return np.asarray(dataset.margin_matrix(count, 0), dtype=np.float64)


def _random_signs(N: int, t: int, seed: int) -> Float[Array, "N t"]:
    """Draw hypotheses that are correct on 55 to 75 % of the examples."""
    rng = np.random.default_rng(seed)
    right = rng.uniform(0.55, 0.75, t)
    return np.where(rng.uniform(size=(N, t)) < right, 1.0, -1.0)
