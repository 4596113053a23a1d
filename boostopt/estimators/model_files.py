"""Model files of classifiers: npz archives of plain arrays with a JSON description; nothing is pickled or executed.

A model file contains all that predictions need: classes, features with their names, every hypothesis as plain numbers,
and the weights to the last bit. It also contains the parameters of the fit, the reasons of its stop, and the recorded
certificates. It contains no run: no margins of the training examples and no trace. `load` checks the type and the range
of every field.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from importlib.metadata import version
from os import PathLike
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import Keys, lack_of, read_npz, write_atomically, write_npz
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
from boostopt._utils.validation import check_path
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.soft_margin import MEASURES, SOFT_MARGIN
from boostopt.boosting.run.run_file import DECODING_ERRORS, META, ArrayExtractor, insert_arrays
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of
from boostopt.estimators.binary_model import BinaryModel, is_distributed
from boostopt.oracles import Feature, Fitted, Hypothesis, KernelColumn, RBFHypothesis, Stump
from boostopt.oracles.distributed.detached_oracle import raise_rows_missing
from boostopt.oracles.hypothesis_serialization import hypothesis_from_state, to_state

FILE_KIND, FORMAT = "boostopt classifier", 1

MAX_DESCRIPTION_BYTES = 1 << 26
"""Maximum bytes of the description in a model file, and of the labels; in memory both may need thirty times as much."""

LABEL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""Numeric types of labels; other labels are texts."""

TEXT_DTYPE, OBJECT_DTYPE = "text", "object"
"""Types of text labels: an array of texts or of objects."""

MALFORMED_ERRORS = (BoostoptError, *DECODING_ERRORS)
"""Errors raised by an invalid or truncated model file."""

MACHINE_PARAMETERS: Mapping[str, Any] = {
    "checkpoint": None,
    "verbose": False,
    "n_jobs": None,
    "time_limit": None,
    "warm_start": False,
}
"""Parameters that depend on the machine of the fit, with their values after loading."""

NOT_SERIALIZABLE = (
    "a model file holds plain numbers only; {subject} cannot be written in this form. Use one of boostopt's own bases, "
    '"stump", "binned", "feature", "kernel" or "rbf". Or pickle the classifier for your own use, but never load a '
    "pickle from others."
)

DISTRIBUTED_PLACEHOLDER = "with the rows"
"""Placeholder for the distribution that proves an upper bound, if it stays with its rows on a cluster."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The contents of a model file.

    Attributes
    ----------
    parameters
        The parameters of the classifier by name.
    attributes
        The attributes that a fit sets, by name.
    scorers
        The binary models, one for each class against the rest or one for two classes.
    """

    parameters: Mapping[str, Any]
    attributes: Mapping[str, Any]
    scorers: tuple[BinaryModel, ...]


def save(model: Any, scorers: Sequence[BinaryModel], path: str | PathLike[str]) -> None:
    """Save a fitted classifier to a model file.

    Raises
    ------
    OptionError
        Hypotheses or labels are not plain numbers and texts, or there are too many of them: a file that `load` would
        refuse is not written.
    DataError
        The file cannot be written.
    """
    names = getattr(model, "feature_names_in_", None)
    writer = ArrayExtractor()
    description = {
        "kind": FILE_KIND,
        "format": FORMAT,
        "versions": {name: version(name) for name in ("boostopt", "numpy", "scikit-learn")},
        "classes": _labels_to_json(model.classes_),
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "zero_based": getattr(model, "zero_based_", None),
        "rounds": int(model.n_iter_),
        "nu": _parameter_to_json(getattr(model, "nu_", None)),
        "sigmoids": writer.extract(getattr(model, "sigmoids_", None)),
        # A formulation file is saved by its name, because a further fit would execute the file at its path.
        "parameters": {
            **{name: _parameter_to_json(value) for name, value in model.get_params(deep=False).items()},
            "formulation": scorers[0].formulation,
        },
        "parts": writer.extract([_binary_model_to_json(scorer) for scorer in scorers]),
    }
    text = _encode_json(description)
    if len(text) > MAX_DESCRIPTION_BYTES:
        raise OptionError(
            f"expected a model whose description has at most {MAX_DESCRIPTION_BYTES:,} bytes; got "
            f"{len(text):,}. Fit fewer hypotheses, or pickle the classifier for your own use."
        )
    writer.arrays[META] = np.frombuffer(text, dtype=np.uint8)
    try:
        _model_from_json(insert_arrays(json.loads(text), writer.arrays), list(model.get_params(deep=False)))
    except MALFORMED_ERRORS as failure:
        raise OptionError(NOT_SERIALIZABLE.format(subject=f"this model ({_describe_error(failure)})")) from failure
    write_atomically(check_path("path", path), lambda file: write_npz(file, writer.arrays))


def _encode_json(description: Mapping[str, Any]) -> bytes:
    """Return a description as JSON."""
    try:
        return json.dumps(description).encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise OptionError(NOT_SERIALIZABLE.format(subject=f"a hypothesis ({reason_of(failure)})")) from failure


def load(path: str | PathLike[str], parameters: Sequence[str]) -> ModelFile:
    """Return the contents of a model file.

    Parameters
    ----------
    path
        The file.
    parameters
        Names of the parameters that the classifier takes.

    Raises
    ------
    DataError
        The file does not exist, is not a model file, was written by another version, or is damaged.
    """
    source = check_path("path", path, DataError)
    if not os.path.isfile(source):  # False also for an invalid path: too long, or with an invalid character
        raise DataError(f"expected a model file; {lack_of(source)}")
    try:
        arrays = read_npz(source)
        text = arrays[META]
        _require(
            text.nbytes <= MAX_DESCRIPTION_BYTES,
            f"its description has {text.nbytes:,} bytes, the limit is {MAX_DESCRIPTION_BYTES:,}",
        )
        description = json.loads(text.tobytes().decode())
        kind, form = description["kind"], description["format"]
    except MALFORMED_ERRORS as failure:
        raise DataError(
            f"expected a model file, as `boostopt fit` and MarginBoostClassifier.save write it; {source} has no "
            f"description of a model, or is damaged ({_describe_error(failure)}). Check the path, or fit the "
            "model again."
        ) from failure
    if kind != FILE_KIND or form != FORMAT:
        raise DataError(
            f"expected a {FILE_KIND} of format {FORMAT} in {source}; got {str(kind)[:60]!r} of format "
            f"{str(form)[:20]}. Pass a file of `boostopt fit` or MarginBoostClassifier.save, and use the version that "
            "wrote it."
        )
    try:
        return _model_from_json(insert_arrays(description, arrays), parameters)
    except MALFORMED_ERRORS as failure:
        raise DataError(
            f"expected a whole model in {source}; part of it cannot be read ({_describe_error(failure)}). Fit it again."
        ) from failure


def _describe_error(failure: BaseException) -> str:
    """Return the message of an error without its final full stop."""
    return reason_of(failure if isinstance(failure, ValueError) else f"{type(failure).__name__}: {failure}", 400)


def _binary_model_to_json(scorer: BinaryModel) -> dict[str, Any]:
    """Return a binary model as names, numbers and arrays."""
    certificate = scorer.certificate
    return {
        "formulation": scorer.formulation,
        "oracle": scorer.oracle,
        "majority": int(scorer.majority),
        "rounds": int(scorer.rounds),
        "reason": scorer.reason,
        "w": scorer.w,
        "spreads": scorer.spreads,
        "hypotheses": [_hypothesis_to_json(hypothesis) for hypothesis in scorer.hypotheses],
        "certificate": None
        if certificate is None
        else {
            "lower": float(certificate.lower),
            "upper": float(certificate.upper),
            "d": DISTRIBUTED_PLACEHOLDER if is_distributed(certificate) else certificate.d,
            **({} if certificate.quantity == SOFT_MARGIN else {"what": certificate.quantity}),
        },
    }


def _hypothesis_to_json(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return a hypothesis as plain numbers."""
    try:
        if not isinstance(hypothesis, Fitted):  # its state has numbers only, without the estimator that predicts
            return to_state(hypothesis)
    except (AttributeError, NotImplementedError):  # a class of the user without a kind or without a state
        pass
    raise OptionError(NOT_SERIALIZABLE.format(subject=f"the hypothesis {str(hypothesis)[:80]!r}"))


def _labels_to_json(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Return labels with their type."""
    values, kind = classes.tolist(), classes.dtype.name
    if all(isinstance(value, str) for value in values):
        return {
            "type": TEXT_DTYPE if classes.dtype.kind == "U" else OBJECT_DTYPE,
            "values": [str(value) for value in values],
        }
    if kind not in LABEL_DTYPES:
        raise OptionError(NOT_SERIALIZABLE.format(subject=f"labels of the type {kind}, {str(values)[:80]},"))
    return {"type": kind, "values": values}


def _parameter_to_json(value: Any) -> Any:
    """Return a parameter as a JSON value; None for an object without one, such as an estimator or a generator."""
    plain_value = _value_to_json(value)
    # A further fit would execute the file at the path of an oracle or of a backend.
    return None if is_python_file_path(plain_value) else plain_value


def _value_to_json(value: Any) -> Any:
    """Return a parameter, or a key or a value of a mapping, as a JSON value; None for an object without one."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        pairs = [
            [_scalar_or_none(_value_to_json(key)), _scalar_or_none(_value_to_json(inner))]
            for key, inner in value.items()
        ]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return {"mapping": pairs}
    name = getattr(value, "name", None)  # the name of a formulation or of a backend
    return name if isinstance(name, str) else None


def _scalar_or_none(value: Any) -> Any:
    """Return a plain value; None for a mapping."""
    return None if isinstance(value, dict) else value


def _require(condition: Any, message: str) -> None:
    """Raise ValueError if a condition is false; an assertion would vanish with python -O."""
    if not condition:
        raise ValueError(message)


def _parse_record(keys: Keys, value: Any, label: str) -> dict[str, Any]:
    """Return the attributes of a record from an object that has all keys of attributes without a default."""
    content = parse_object(value, label)
    required = {field.name for field in fields(keys.record) if field.default is MISSING}
    missing = [key for key, name in keys.attributes.items() if name in required and key not in content]
    _require(not missing, f"{label} lacks {', '.join(missing)}")
    return parse_fields(keys, content)


def _parse_labels(value: Any, label: str) -> npt.NDArray[Any]:
    """Return checked labels, ascending and different."""
    saved = parse_object(value, label)
    values, kind = parse_list(saved.get("values"), f"values of {label}"), parse_text(saved.get("type"), "type")
    _require(len(values) >= 2, "it has fewer than two classes")
    if kind in (TEXT_DTYPE, OBJECT_DTYPE):
        _require(all(isinstance(value, str) for value in values), "the classes are not texts")
        # An array of texts takes the size of the longest text for each entry, four bytes a letter.
        _require(
            4 * len(values) * max(map(len, values)) <= MAX_DESCRIPTION_BYTES, "the names of the classes are too long"
        )
    else:
        _require(kind in LABEL_DTYPES, "the type of the classes is unknown")
        _require(all(isinstance(value, bool | int | float) and math.isfinite(value) for value in values), "infinite")
    classes = np.array(values, dtype={TEXT_DTYPE: np.str_, OBJECT_DTYPE: object}.get(kind, kind))
    _require(classes.tolist() == values, f"the classes are not of the type {kind}")
    _require((classes[1:] > classes[:-1]).all(), "the classes are not in order")
    return classes


def _parse_positive_count(value: Any, label: str) -> int:
    """Return an integer in [1, 2^63)."""
    _require(parse_count(value, label) >= 1, f"{label} must be at least 1")
    return value


def _parse_positive(value: Any, label: str) -> float:
    """Return a positive finite number; an integer stays one."""
    _require(is_finite(value) and value > 0, f"{label} must be a positive number")
    return value


def _parse_majority(value: Any, label: str) -> int:
    """Return 1 or -1."""
    _require(type(value) is int and value in (-1, 1), f"the {label} is neither -1 nor 1")
    return value


def _parse_array(value: Any, label: str) -> Array:
    """Return an array of float64 of one dimension."""
    _require(
        isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1,
        f"{label} is not an array of float64 in a row",
    )
    return value


def _parse_table(value: Any, label: str) -> Array:
    """Return an array of float64 of two dimensions."""
    _require(
        isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 2,
        f"the {label} are not a table of numbers",
    )
    return value


def _parse_parameters(value: Any, label: str) -> dict[str, Any]:
    """Return the saved parameters of a classifier by name."""
    return {name: _parse_parameter(entry, name) for name, entry in parse_object(value, label).items()}


def _parse_parameter(value: Any, name: str) -> Any:
    """Return a saved parameter, unless a further fit would execute or overwrite the file that it names."""
    if name in MACHINE_PARAMETERS:
        return MACHINE_PARAMETERS[name]
    # A further fit would execute the file of a formulation, of an oracle or of a backend.
    _require(not is_python_file_path(value), f"{name} is the path of a Python file")
    if name == "formulation":
        return parse_text(value, name)
    if isinstance(value, dict):
        _require(set(value) == {"mapping"}, f"{name} is no mapping")
        pairs = [parse_list(pair, f"a pair of {name}") for pair in parse_list(value["mapping"], name)]
        _require(
            all(
                len(pair) == 2 and all(isinstance(entry, bool | int | float | str | None) for entry in pair)
                for pair in pairs
            ),
            f"{name} must have pairs of plain values",
        )
        return {key: entry for key, entry in pairs}
    _require(value is None or isinstance(value, bool | int | float | str), f"{name} is no plain value")
    return value


def _parse_hypotheses(value: Any, label: str) -> list[Hypothesis]:
    """Return hypotheses from their states."""
    return [hypothesis_from_state(parse_object(state, f"each of the {label}")) for state in parse_list(value, label)]


def _parse_lower(value: Any, label: str) -> float:
    """Return a lower bound, a finite number."""
    _require(isinstance(value, float) and math.isfinite(value), f"{label} must be a finite number")
    return value


def _parse_upper(value: Any, label: str) -> float:
    """Return an upper bound, which may be inf."""
    _require(isinstance(value, float) and value > -math.inf, f"{label} must be a number or inf")
    return value


def _parse_witness(value: Any, label: str) -> Array | str:
    """Return the distribution that proves an upper bound, or the placeholder for one on a cluster."""
    if isinstance(value, str):
        _require(value == DISTRIBUTED_PLACEHOLDER, "the upper bound has no known proof")
        return value
    return _finite_vector(_parse_array(value, label), len(value))


def _parse_quantity(value: Any, label: str) -> str:
    """Return the name of a bounded quantity."""
    _require(parse_text(value, label) in MEASURES, "the bounds have no known name")
    return value


@dataclass(frozen=True, eq=False, kw_only=True)
class _CertificateRecord:
    """A certificate in a model file."""

    lower: Annotated[float, _parse_lower]
    upper: Annotated[float, _parse_upper]
    d: Annotated[Array | str, _parse_witness] | None
    quantity: Annotated[str, _parse_quantity] = SOFT_MARGIN


CERTIFICATE = Keys(_CertificateRecord, {"lower": "lower", "upper": "upper", "d": "d", "what": "quantity"})
"""Keys of a certificate."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _PartRecord:
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
    _PartRecord,
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
class _ModelRecord:
    """The description in a model file. Earlier versions wrote no attributes that have a default."""

    classes: Annotated[npt.NDArray[Any], _parse_labels]
    features: Annotated[int, _parse_positive_count]
    feature_names: Texts | None
    zero_based: Flag | None = None
    rounds: Count
    nu: Annotated[float, _parse_positive] | None = None
    sigmoids: Annotated[Array, _parse_table] | None = None
    parameters: Annotated[Mapping[str, Any], _parse_parameters]
    parts: Annotated[list[Any], parse_list]


MODEL = Keys(
    _ModelRecord,
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


def _model_from_json(description: Any, parameters: Sequence[str]) -> ModelFile:
    """Return the checked contents of a description."""
    model = _ModelRecord(**_parse_record(MODEL, description, "the description"))
    n_labels = len(model.classes)
    _require(len(model.parts) == (1 if n_labels == 2 else n_labels), "it does not have one part for each class")
    _require(set(model.parameters) <= set(parameters), "it has parameters that are unknown")
    parts = tuple(_binary_model_from_json(part, model.features) for part in model.parts)
    attributes: dict[str, Any] = {
        "classes_": model.classes,
        "n_features_in_": model.features,
        "n_iter_": model.rounds,
    }
    attributes |= {} if model.zero_based is None else {"zero_based_": model.zero_based}
    attributes |= {} if model.nu is None else {"nu_": model.nu}
    if model.sigmoids is not None:
        attributes["sigmoids_"] = _finite_vector(model.sigmoids.ravel(), 2 * len(parts)).reshape(-1, 2)
    if model.feature_names is not None:
        _require(len(model.feature_names) == model.features, "it does not have one name for each feature")
        attributes["feature_names_in_"] = np.array(model.feature_names, dtype=object)
    return ModelFile(model.parameters, attributes, parts)


def _binary_model_from_json(saved: Any, features: int) -> BinaryModel:
    """Return a checked binary model."""
    part = _PartRecord(**_parse_record(PART, saved, "each of the parts"))
    w = _finite_vector(part.w, len(part.hypotheses))
    _require(np.abs(w).sum() > 0 and np.isfinite(np.abs(w).sum()), "the sum of the weights is 0 or not finite")
    for hypothesis in part.hypotheses:
        _require(
            _n_features(hypothesis) in (features, None), f"a hypothesis does not have {features} features: {hypothesis}"
        )
    spreads = None if part.spreads is None else _finite_vector(part.spreads, features)
    _require(spreads is None or (spreads >= 0.0).all(), "a spread of votes is negative")
    return BinaryModel(
        formulation=part.formulation,
        oracle=part.oracle,
        reason=part.reason,
        hypotheses=part.hypotheses,
        w=w,
        majority=part.majority,
        rounds=part.rounds,
        certificate=None if part.certificate is None else _certificate_from_json(part.certificate, part.oracle),
        spreads=spreads,
    )


def _n_features(hypothesis: Hypothesis) -> int | None:
    """Return the number of features that a hypothesis takes; None if it is unknown."""
    if isinstance(hypothesis, RBFHypothesis):
        return hypothesis.network.centres.shape[1]
    if isinstance(hypothesis, Stump | Feature | KernelColumn):
        return hypothesis.features
    _require(not isinstance(hypothesis, Fitted), f"a hypothesis cannot predict: {hypothesis}")
    return None


def _certificate_from_json(saved: Mapping[str, Any], oracle: str) -> ClassCertificate:
    """Return a certificate as it was recorded; a new proof needs the training examples."""
    record = _CertificateRecord(**_parse_record(CERTIFICATE, saved, "the certificate"))
    _require(record.lower <= record.upper, "the bounds are not an interval")
    _require(record.d is not None or record.upper == math.inf, "the upper bound has no proof")
    witness = raise_rows_missing if isinstance(record.d, str) else record.d
    return ClassCertificate(record.lower, record.upper, witness, oracle, recorded=True, quantity=record.quantity)


def _finite_vector(array: Array, count: int) -> Float[Array, " n"]:
    """Return an array of `count` finite numbers."""
    _require(array.shape == (count,) and np.isfinite(array).all(), f"an array does not have {count} finite numbers")
    return array
