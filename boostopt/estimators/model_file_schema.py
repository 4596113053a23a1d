"""The content of a model file: the keys of a model, its binary models and their certificates, each value checked.

The file is not trusted: every value is checked for its type and its range before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
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
    TextsByName,
    describe_array,
    is_finite,
    parse_count,
    parse_fields,
    parse_list,
    parse_object,
    parse_sign,
    parse_text,
    unexpected,
)
from boostopt._utils.user_modules import is_python_file_path
from boostopt.backends import is_name_of_own_backend
from boostopt.boosting.objectives.soft_margin import MEASURES, SOFT_MARGIN
from boostopt.errors import short_repr
from boostopt.estimators.training.binary_fit import PARAMETER_CHECKS
from boostopt.estimators.training.hypothesis_classes import HYPOTHESIS_CLASSES
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

OBJECT_PARAMETERS: Mapping[str, Callable[[Any], bool]] = {
    "base": lambda value: isinstance(value, str) and value in HYPOTHESIS_CLASSES,
    "backend": is_name_of_own_backend,
}
"""Parameters that may be objects, for which a file has null, and what else a file may have: names of boostopt."""

MAX_SEED = 2**32 - 1
"""Largest seed that scikit-learn accepts."""

LABEL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""Numeric types of labels; other labels are texts."""

TEXT_DTYPE, OBJECT_DTYPE = "text", "object"
"""Types of text labels: an array of texts or of objects."""

DISTRIBUTED_PLACEHOLDER = "with the rows"
"""Placeholder for the distribution that proves an upper bound, if it stays with its rows on a cluster."""


MASS_TOL = 1e-6
"""Difference of the sum of a distribution from 1, and of a soft margin from [-1, 1], above all rounding errors."""


def finite_vector(array: Array, count: int, label: str) -> Float[Array, " n"]:
    """Return an array of `count` finite numbers."""
    if not (array.shape == (count,) and np.isfinite(array).all()):
        got = f"shape {array.shape}" if array.shape != (count,) else f"{array[~np.isfinite(array)][0]}"
        raise ValueError(f"{label} must be {count} finite numbers; got {got}")
    return array


def require(condition: Any, message: str) -> None:
    """Raise ValueError if a condition is false; an assertion would vanish with python -O."""
    if not condition:
        raise ValueError(message)


def parse_record(keys: Keys, value: Any, label: str) -> dict[str, Any]:
    """Return the attributes of a record from an object that has all keys of attributes without a default."""
    content = parse_object(value, label)
    required = {
        entry.name for entry in fields(keys.record) if entry.default is MISSING and entry.default_factory is MISSING
    }
    missing = [key for key, name in keys.attributes.items() if name in required and key not in content]
    require(not missing, f"{label} must have {', '.join(missing)}; got none")
    unknown = sorted(content.keys() - keys.attributes.keys())
    require(not unknown, f"{label} must have no {short_repr(', '.join(unknown))}, which this version does not know")
    return parse_fields(keys, content)


def _parse_labels(value: Any, label: str) -> npt.NDArray[Any]:
    """Return checked labels, ascending and different."""
    saved = parse_object(value, label)
    values, kind = parse_list(saved.get("values"), f"values of {label}"), parse_text(saved.get("type"), "type")
    expected = f"two or more labels of the type {short_repr(kind)}"
    if len(values) < 2:
        raise unexpected(f"values of {label}", expected, values)
    if kind in (TEXT_DTYPE, OBJECT_DTYPE):
        letters = max(len(parse_text(value, f"each of the {label}")) for value in values)
        # An array of texts takes the size of the longest text for each entry, four bytes a letter.
        is_short = 4 * len(values) * letters <= MAX_DESCRIPTION_BYTES
        require(is_short, f"the names of the {label} must be shorter; got one of {letters:,} letters")
    else:
        require(kind in LABEL_DTYPES, f"the type of the {label} must be one of labels; got {short_repr(kind)}")
        if not all(isinstance(value, bool) is (kind == "bool") and is_label(value) for value in values):
            raise unexpected(f"values of {label}", expected, values)
    classes = np.array(values, dtype={TEXT_DTYPE: np.str_, OBJECT_DTYPE: object}.get(kind, kind))
    if classes.tolist() != values:
        raise unexpected(f"values of {label}", expected, values)
    is_ascending = bool((classes[1:] > classes[:-1]).all())
    require(is_ascending, f"the {label} must be ascending and different; got {short_repr(values)}")
    return classes


def is_label(value: Any) -> bool:
    """Return whether a value is a finite number or a Boolean."""
    return isinstance(value, bool) or is_finite(value)


def _parse_positive_count(value: Any, label: str) -> int:
    """Return an integer in [1, 2^63)."""
    if parse_count(value, label) < 1:
        raise unexpected(label, "a count of at least 1", value)
    return value


def _parse_nu(value: Any, label: str) -> float:
    """Return a share in (0, 1] as a float, or a number of examples as an integer."""
    if not (is_finite(value) and 0 < value <= (1.0 if isinstance(value, float) else 2**63)):
        raise unexpected(label, "a share in (0, 1] or a whole number of examples, at least 1", value)
    return value


def _parse_array(value: Any, label: str) -> Array:
    """Return an array of float64 of one dimension."""
    return _array_of_floats(value, label, 1)


def _parse_table(value: Any, label: str) -> Array:
    """Return an array of float64 of two dimensions."""
    return _array_of_floats(value, label, 2)


FLOAT_ARRAYS = {1: "an array of float64 in a row", 2: "a table of float64"}
"""Arrays in words by their dimensions."""


def _array_of_floats(value: Any, label: str, dimensions: int) -> Array:
    """Return an array of float64."""
    if not (isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == dimensions):
        raise ValueError(f"{label} must be {FLOAT_ARRAYS[dimensions]}; got {describe_array(value)}")
    return value


def _parse_parameters(value: Any, label: str) -> dict[str, Any]:
    """Return the saved parameters of a classifier by name."""
    return {name: _parse_parameter(entry, name) for name, entry in parse_object(value, label).items()}


def _parse_parameter(value: Any, name: str) -> Any:
    """Return a saved parameter that a fit takes, unless the fit would execute or overwrite the file that it names."""
    if name in MACHINE_PARAMETERS:
        return MACHINE_PARAMETERS[name]
    # A further fit would execute the file of a formulation, of an oracle or of a backend.
    require(
        not is_python_file_path(value), f"{name} must be a name; got {short_repr(value)}, the path of a Python file"
    )
    if name == "formulation":
        return parse_text(value, name)
    if isinstance(value, dict):
        require(set(value) == {"mapping"}, f"{name} must be a mapping; got {short_repr(value)}")
        pairs = [parse_list(pair, f"a pair of {name}") for pair in parse_list(value["mapping"], name)]
        for pair in pairs:
            if len(pair) != 2 or not all(isinstance(entry, bool | int | float | str | None) for entry in pair):
                raise unexpected(name, "a mapping with pairs of plain values", pair)
        value = {key: entry for key, entry in pairs}
    if not (value is None or isinstance(value, dict | bool | int | float | str)):
        raise unexpected(name, "a plain value", value)
    if name == "class_weight":
        weights: list[Any] = list(value.values()) if isinstance(value, dict) else []
        is_known = value in (None, BALANCED) or isinstance(value, dict)
        if not is_known or not all(is_finite(weight) and weight > 0 for weight in weights):
            raise unexpected(name, f'positive numbers by class, "{BALANCED}" or null', value)
    elif name == "random_state":
        if value is not None and not (type(value) is int and 0 <= value <= MAX_SEED):
            raise unexpected(name, f"a whole number up to {MAX_SEED:,} or null", value)
    elif name in OBJECT_PARAMETERS:
        if value is not None and not OBJECT_PARAMETERS[name](value):
            raise unexpected(name, f"the name of a {name} of boostopt, or null", value)
    else:
        require(name in PARAMETER_CHECKS, f"the parameters must be known; got {short_repr(name)}")
        PARAMETER_CHECKS[name](name, value)
    return value


def _parse_hypotheses(value: Any, label: str) -> list[Hypothesis]:
    """Return hypotheses from their states."""
    return [hypothesis_from_state(parse_object(state, f"each of the {label}")) for state in parse_list(value, label)]


def _parse_lower(value: Any, label: str) -> float:
    """Return a lower bound, a finite number."""
    if not (isinstance(value, float) and math.isfinite(value)):
        raise unexpected(label, "a finite number", value)
    return value


def _parse_upper(value: Any, label: str) -> float:
    """Return an upper bound, which may be inf."""
    if not (isinstance(value, float) and value > -math.inf):
        raise unexpected(label, "a number or inf", value)
    return value


def _parse_witness(value: Any, label: str) -> Array | str:
    """Return the distribution that proves an upper bound, or the placeholder for one on a cluster."""
    if isinstance(value, str) and value == DISTRIBUTED_PLACEHOLDER:
        return value
    return finite_vector(_parse_array(value, label), len(value), label)


def _parse_quantity(value: Any, label: str) -> str:
    """Return the name of a bounded quantity."""
    if parse_text(value, label) not in MEASURES:
        raise unexpected(label, "the name of a bounded value", value)
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
    majority: Annotated[int, parse_sign]
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
    versions: TextsByName = field(default_factory=dict[str, str])
    features: Annotated[int, _parse_positive_count]
    feature_names: Texts | None
    zero_based: Flag | None = None
    rounds: Count
    nu: Annotated[float, _parse_nu] | None = None
    sigmoids: Annotated[Array, _parse_table] | None = None
    parameters: Annotated[Mapping[str, Any], _parse_parameters]
    parts: Annotated[list[Any], parse_list]
    digest: Text = ""


MODEL = Keys(
    ModelRecord,
    {
        "versions": "versions",
        "classes": "classes",
        "features": "features",
        "feature_names": "feature_names",
        "zero_based": "zero_based",
        "rounds": "rounds",
        "nu": "nu",
        "sigmoids": "sigmoids",
        "parameters": "parameters",
        "parts": "parts",
        "digest": "digest",
    },
)
"""Keys of a model."""
