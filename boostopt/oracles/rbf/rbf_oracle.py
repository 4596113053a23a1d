"""RBF networks with adaptive centres as hypotheses: heuristic, because no fit proves that its edge is the largest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import Keys
from boostopt._utils.formatting import format_count
from boostopt._utils.json_values import parse_count, read_integer, read_text
from boostopt._utils.validation import check_choice, check_flag, check_instance, check_optional, check_seed
from boostopt.errors import ProblemError, unknown_name
from boostopt.oracles.base import Answer, Column, Query, StateDict, compact_margins
from boostopt.oracles.feature_validation import FeatureHypothesis, FeatureMatrix
from boostopt.oracles.labelled_examples import ExamplesOracle, check_examples
from boostopt.oracles.rbf.network_fitting import RBFNetwork, RBFSettings, fit_rbf
from boostopt.oracles.weight_scaling import as_distribution

NETWORK = Keys(RBFNetwork, {"centres": "centres", "widths": "widths", "output_weights": "output_weights"})
"""Keys of a network in files."""

OUTPUT_FUNCTIONS: dict[str, Callable[[Float[Array, " n"]], Float[Array, " n"]]] = {
    "sign": np.sign,
    "tanh": np.tanh,
    "clip": lambda f: np.clip(f, -1.0, 1.0),
}
"""Functions that compute h(x) from f(x). They are odd, so that -f gives -h, and have values in [-1, 1]."""


@dataclass(frozen=True, eq=False)
class RBFHypothesis(FeatureHypothesis):
    """The hypothesis h(x) = sign f(x), tanh f(x) or f(x) clipped to [-1, 1], for an RBF network f.

    Two such hypotheses are equal if all numbers of the networks and `values` are equal.

    Attributes
    ----------
    number
        The number of this fit among those of its oracle, from 0.
    values
        "sign", "tanh" or "clip".
    network
        f, with one output.

    Raises
    ------
    ProblemError
        The number is negative, or the network has several outputs.
    OptionError
        `values` is unknown.
    """

    kind: ClassVar[str] = "rbf"

    number: int
    values: str
    network: RBFNetwork

    def __post_init__(self) -> None:
        if self.values not in OUTPUT_FUNCTIONS:
            raise unknown_name("kind of values", self.values, OUTPUT_FUNCTIONS)
        if self.number < 0 or self.network.output_weights.ndim != 1:
            raise ProblemError(
                "an RBF hypothesis has a number from 0 and a network with one output; got number "
                f"{self.number} and output weights of shape {self.network.output_weights.shape}. Correct that one."
            )

    def values_on(self, features: FeatureMatrix) -> Float[Array, " n"]:
        return OUTPUT_FUNCTIONS[self.values](
            self.network.value(as_dense(features.checked(self.network.centres.shape[1])))
        )

    def __str__(self) -> str:
        return f"RBF network {self.number}, {format_count(self.network.K, 'centre')}"

    def __repr__(self) -> str:
        return f"RBFHypothesis({self})"

    @property
    def _key(self) -> tuple[str, tuple[int, ...], bytes]:
        return self.values, self.network.centres.shape, b"".join(part.tobytes() for part in self._arrays.values())

    @property
    def _arrays(self) -> dict[str, Array]:
        return NETWORK.to_file(self.network)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, RBFHypothesis) and value._key == self._key

    def state(self) -> StateDict:
        return {"number": self.number, "values": self.values, **self._arrays}

    @classmethod
    def restored(cls, state: StateDict) -> RBFHypothesis:
        parts = {key: np.asarray(state[key]) for key in NETWORK.attributes}
        if any(part.dtype.kind not in "iuf" for part in parts.values()):
            got = ", ".join(str(part.dtype) for part in parts.values())
            raise TypeError(f"{', '.join(parts)} must be real numbers; got {got}")
        numbers = {key: part.astype(np.float64) for key, part in parts.items()}
        return cls(read_integer(state, "number"), read_text(state, "values"), RBFNetwork(**NETWORK.from_file(numbers)))


class RBFNetworks(ExamplesOracle):
    """Fit an RBF network with adaptive centres to the weighted examples. Heuristic: no bound for the class is known.

    Parameters
    ----------
    X
        Features, shape (N, features), finite: an array, or a scipy sparse matrix, which is made dense. All features
        share one width, so give them similar scales.
    y
        Labels, shape (N,): -1 and 1, or 0 and 1.
    c
        Multiplicities of the examples, shape (N,), non-negative; examples with 0 are left out.
    random_state
        Seed of the first centres; each call starts from new centres, and repeated runs are equal.
    values
        The function that gives h(x) from the network's f(x): "sign", "tanh", or "clip", which cuts f to [-1, 1].
    reflexive
        Whether the negations belong to the class. If so, the oracle negates a network with a negative edge.
    settings
        Number of centres, steps and regularisation of each fit.
    **keywords
        Fields of `RBFSettings`, which override the settings: `RBFNetworks(X, y, K=5)`.

    Raises
    ------
    ProblemError
        X, y or c are invalid.
    OptionError
        `values` is unknown, or another option is out of its range.

    References
    ----------
    Raetsch, Onoda, Mueller 2001, appendix D.
    """

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        *,
        random_state: int = 0,
        values: str = "sign",
        reflexive: bool = True,
        settings: RBFSettings | None = None,
        **keywords: Any,
    ) -> None:
        self._values: str = check_choice("kind of values", values, OUTPUT_FUNCTIONS)
        expected = "an RBFSettings", "Make one with boostopt.oracles.RBFSettings(...), or leave it out."
        record = check_optional(check_instance, "settings", settings, RBFSettings, *expected)
        self._settings = replace(record or RBFSettings(), **keywords)
        self._seed, self._calls = check_seed("random_state", random_state), 0
        self.reflexive: bool = check_flag("reflexive", reflexive)
        self._examples = check_examples(X, y, c)
        self._X = as_dense(self._examples.X)

    def best(self, query: Query) -> Answer:
        """Fit a network and return it, or its negation if this has the larger edge and belongs to the class.

        Raises
        ------
        ProblemError
            The weights are not a distribution.
        """
        d, y = as_distribution(query.d, self.y)
        # The generator of a call is made from the call's number, so only this number is saved.
        rng = np.random.default_rng([self._seed, self._calls])
        network = fit_rbf(self._X, y, self.c.sum() * d, self._settings, rng)
        h = OUTPUT_FUNCTIONS[self._values](network.value(self._X))
        edge = float((self.y * h) @ query.d)
        if self.reflexive and edge < 0:
            network, h, edge = RBFNetwork(network.centres, network.widths, -network.output_weights), -h, -edge
        hypothesis = RBFHypothesis(self._calls, self._values, network)
        self._calls += 1
        return Answer((Column(hypothesis, self.y * compact_margins(h), edge),), None)

    def __str__(self) -> str:
        negations = ", and negations" if self.reflexive else ""
        return f"RBF networks with {self._settings.K} adaptive centres{negations}"

    @property
    def digest(self) -> str:
        options = f"{astuple(self._settings)} {self._values} {self.reflexive} {self._seed}"
        return hashlib.sha256(f"{self._examples.digest} {type(self).__name__} {options}".encode()).hexdigest()

    def state(self) -> StateDict:
        return {"calls": self._calls}

    def restore(self, state: StateDict) -> None:
        self._calls = parse_count(state["calls"], "calls")


def as_dense(X: Any) -> Float[Array, "n features"]:
    """Return checked features as an array."""
    return X.toarray() if scipy.sparse.issparse(X) else X
