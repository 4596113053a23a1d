"""The content of a model file: the keys of a model, its binary models and their certificates, each value checked.

The file is not trusted: every value is checked for its type and its range before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import Keys
from boostopt._utils.json_values import (
    Count,
    Flag,
    Named,
    Text,
    Texts,
    is_finite,
    parse_count,
    parse_fields,
    parse_list,
    parse_object,
    parse_text,
)
from boostopt._utils.user_modules import is_python_file_path
from boostopt.boosting.objectives.soft_margin import MEASURES, SOFT_MARGIN
from boostopt.estimators.training.binary_fit import PARAMETER_CHECKS
from boostopt.estimators.training.training_data import BALANCED
from boostopt.oracles import Hypothesis
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state

MAX_DESCRIPTION_BYTES = 1 << 26
"""Maximum bytes of the description in a model file, and of the labels; in memory both may need thirty times as much."""

MACHINE_PARAMETERS: Mapping[str, Any] = {
    "checkpoint": None,
    "verbose": False,
    "n_jobs": None,
    "time_limit": None,
    "warm_start": False,
}
"""Parameters that depend on the machine of the fit, with their values after loading."""

OBJECT_PARAMETERS = ("base", "backend")
"""Parameters that may be objects, for which a file has null."""

LABEL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""Numeric types of labels; other labels are texts."""

TEXT_DTYPE, OBJECT_DTYPE = "text", "object"
"""Types of text labels: an array of texts or of objects."""

DISTRIBUTED_PLACEHOLDER = "with the rows"
"""Placeholder for the distribution that proves an upper bound, if it stays with its rows on a cluster."""


def finite_vector(array: Array, count: int) -> Float[Array, " n"]:
    """Return an array of `count` finite numbers."""
    require(array.shape == (count,) and np.isfinite(array).all(), f"an array does not have {count} finite numbers")
    return array


def require(condition: Any, message: str) -> None:
    """Raise ValueError if a condition is false; an assertion would vanish with python -O."""
    if not condition:
        raise ValueError(message)


def parse_record(keys: Keys, value: Any, label: str) -> dict[str, Any]:
    """Return the attributes of a record from an object that has all keys of attributes without a default."""
    content = parse_object(value, label)
    required = {field.name for field in fields(keys.record) if field.default is MISSING}
    missing = [key for key, name in keys.attributes.items() if name in required and key not in content]
    require(not missing, f"{label} lacks {', '.join(missing)}")
    return parse_fields(keys, content)


def _parse_labels(value: Any, label: str) -> npt.NDArray[Any]:
    """Return checked labels, ascending and different."""
    saved = parse_object(value, label)
    values, kind = parse_list(saved.get("values"), f"values of {label}"), parse_text(saved.get("type"), "type")
    require(len(values) >= 2, "it has fewer than two classes")
    if kind in (TEXT_DTYPE, OBJECT_DTYPE):
        require(all(isinstance(value, str) for value in values), "the classes are not texts")
        # An array of texts takes the size of the longest text for each entry, four bytes a letter.
        require(
            4 * len(values) * max(map(len, values)) <= MAX_DESCRIPTION_BYTES, "the names of the classes are too long"
        )
    else:
        require(kind in LABEL_DTYPES, "the type of the classes is unknown")
        require(all(isinstance(value, bool | int | float) and math.isfinite(value) for value in values), "infinite")
        is_flag = [isinstance(value, bool) for value in values]
        require(all(is_flag) if kind == "bool" else not any(is_flag), f"the classes are not of the type {kind}")
    classes = np.array(values, dtype={TEXT_DTYPE: np.str_, OBJECT_DTYPE: object}.get(kind, kind))
    require(classes.tolist() == values, f"the classes are not of the type {kind}")
    require((classes[1:] > classes[:-1]).all(), "the classes are not in order")
    return classes


def _parse_positive_count(value: Any, label: str) -> int:
    """Return an integer in [1, 2^63)."""
    require(parse_count(value, label) >= 1, f"{label} must be at least 1")
    return value


def _parse_nu(value: Any, label: str) -> float:
    """Return a share in (0, 1] as a float, or a number of examples as an integer."""
    require(
        is_finite(value) and 0 < value <= (1.0 if isinstance(value, float) else 2**63),
        f"{label} must be a positive number, a share of at most 1 or a whole number of examples",
    )
    return value


def _parse_majority(value: Any, label: str) -> int:
    """Return 1 or -1."""
    require(type(value) is int and value in (-1, 1), f"the {label} is neither -1 nor 1")
    return value


def _parse_array(value: Any, label: str) -> Array:
    """Return an array of float64 of one dimension."""
    require(
        isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1,
        f"{label} is not an array of float64 in a row",
    )
    return value


def _parse_table(value: Any, label: str) -> Array:
    """Return an array of float64 of two dimensions."""
    require(
        isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 2,
        f"the {label} are not a table of numbers",
    )
    return value


def _parse_parameters(value: Any, label: str) -> dict[str, Any]:
    """Return the saved parameters of a classifier by name."""
    return {name: _parse_parameter(entry, name) for name, entry in parse_object(value, label).items()}


def _parse_parameter(value: Any, name: str) -> Any:
    """Return a saved parameter that a fit takes, unless the fit would execute or overwrite the file that it names."""
    if name in MACHINE_PARAMETERS:
        return MACHINE_PARAMETERS[name]
    # A further fit would execute the file of a formulation, of an oracle or of a backend.
    require(not is_python_file_path(value), f"{name} is the path of a Python file")
    if name == "formulation":
        return parse_text(value, name)
    if isinstance(value, dict):
        require(set(value) == {"mapping"}, f"{name} is no mapping")
        pairs = [parse_list(pair, f"a pair of {name}") for pair in parse_list(value["mapping"], name)]
        require(
            all(
                len(pair) == 2 and all(isinstance(entry, bool | int | float | str | None) for entry in pair)
                for pair in pairs
            ),
            f"{name} must have pairs of plain values",
        )
        value = {key: entry for key, entry in pairs}
    require(value is None or isinstance(value, dict | bool | int | float | str), f"{name} is no plain value")
    if name == "class_weight":
        weights = value.values() if isinstance(value, dict) else ()
        require(value in (None, BALANCED) or isinstance(value, dict), f'{name} is no mapping, "{BALANCED}" or null')
        require(all(is_finite(weight) and weight > 0 for weight in weights), f"{name} must have positive numbers")
    elif name == "random_state":
        require(value is None or (isinstance(value, int) and not isinstance(value, bool)), f"{name} is no whole number")
    elif not (value is None and name in OBJECT_PARAMETERS):
        require(name in PARAMETER_CHECKS, f"the parameter {name} is unknown")
        require(name != "base" or isinstance(value, str), "base is no text")
        PARAMETER_CHECKS[name](name, value)
    return value


def _parse_hypotheses(value: Any, label: str) -> list[Hypothesis]:
    """Return hypotheses from their states."""
    return [hypothesis_from_state(parse_object(state, f"each of the {label}")) for state in parse_list(value, label)]


def _parse_lower(value: Any, label: str) -> float:
    """Return a lower bound, a finite number."""
    require(isinstance(value, float) and math.isfinite(value), f"{label} must be a finite number")
    return value


def _parse_upper(value: Any, label: str) -> float:
    """Return an upper bound, which may be inf."""
    require(isinstance(value, float) and value > -math.inf, f"{label} must be a number or inf")
    return value


def _parse_witness(value: Any, label: str) -> Array | str:
    """Return the distribution that proves an upper bound, or the placeholder for one on a cluster."""
    if isinstance(value, str):
        require(value == DISTRIBUTED_PLACEHOLDER, "the upper bound has no known proof")
        return value
    return finite_vector(_parse_array(value, label), len(value))


def _parse_quantity(value: Any, label: str) -> str:
    """Return the name of a bounded quantity."""
    require(parse_text(value, label) in MEASURES, "the bounds have no known name")
    return value


@dataclass(frozen=True, eq=False, kw_only=True)
class CertificateRecord:
    """A certificate in a model file."""

    lower: Annotated[float, _parse_lower]
    upper: Annotated[float, _parse_upper]
    d: Annotated[Array | str, _parse_witness] | None
    quantity: Annotated[str, _parse_quantity] = SOFT_MARGIN


CERTIFICATE = Keys(CertificateRecord, {"lower": "lower", "upper": "upper", "d": "d", "what": "quantity"})
"""Keys of a certificate."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PartRecord:
    """A binary model in a model file."""

    formulation: Text
    oracle: Text
    majority: Annotated[int, _parse_majority]
    rounds: Count
    reason: Text
    w: Annotated[Array, _parse_array]
    hypotheses: Annotated[list[Hypothesis], _parse_hypotheses]
    certificate: Named | None
    spreads: Annotated[Array, _parse_array] | None = None  # earlier versions wrote none


PART = Keys(
    PartRecord,
    {
        "formulation": "formulation",
        "oracle": "oracle",
        "majority": "majority",
        "rounds": "rounds",
        "reason": "reason",
        "w": "w",
        "hypotheses": "hypotheses",
        "certificate": "certificate",
        "spreads": "spreads",
    },
)
"""Keys of a binary model."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelRecord:
    """The description in a model file. Earlier versions wrote no attributes that have a default."""

    classes: Annotated[npt.NDArray[Any], _parse_labels]
    features: Annotated[int, _parse_positive_count]
    feature_names: Texts | None
    zero_based: Flag | None = None
    rounds: Count
    nu: Annotated[float, _parse_nu] | None = None
    sigmoids: Annotated[Array, _parse_table] | None = None
    parameters: Annotated[Mapping[str, Any], _parse_parameters]
    parts: Annotated[list[Any], parse_list]


MODEL = Keys(
    ModelRecord,
    {
        "classes": "classes",
        "features": "features",
        "feature_names": "feature_names",
        "zero_based": "zero_based",
        "rounds": "rounds",
        "nu": "nu",
        "sigmoids": "sigmoids",
        "parameters": "parameters",
        "parts": "parts",
    },
)
"""Keys of a model."""
