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
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import Array, Float
from boostopt._utils.files import lack_of, read_npz, write_atomically, write_npz
from boostopt._utils.user_files import is_python_file_path
from boostopt._utils.validation import check_path
from boostopt.boosting.run.run_file import DECODING_ERRORS, META, ArrayExtractor, insert_arrays
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of
from boostopt.estimators.binary_model import BinaryModel, is_distributed
from boostopt.objectives.class_certificate import ClassCertificate
from boostopt.objectives.soft_margin import MEASURES, SOFT_MARGIN
from boostopt.oracles import Feature, Fitted, Hypothesis, KernelColumn, RBFHypothesis, Stump
from boostopt.oracles.distributed.detached import raise_rows_missing
from boostopt.oracles.hypothesis_state import hypothesis_from_state, to_state

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
    if isinstance(value, np.generic):
        value = value.item()
    if is_python_file_path(value):  # the path of an oracle file, which a further fit would execute
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        pairs = [
            [_scalar_or_none(_parameter_to_json(key)), _scalar_or_none(_parameter_to_json(inner))]
            for key, inner in value.items()
        ]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return {"mapping": pairs}
    name = getattr(value, "name", None)  # the name of a formulation or of a backend
    return name if isinstance(name, str) else None


def _scalar_or_none(value: Any) -> Any:
    """Return a plain value; None for a mapping."""
    return None if isinstance(value, dict) else value


def _parameter_from_json(name: str, value: Any) -> Any:
    """Return a saved parameter, unless a further fit would execute or overwrite the file that it names."""
    if name in MACHINE_PARAMETERS:
        return MACHINE_PARAMETERS[name]
    if isinstance(value, dict):
        _require(set(value) == {"mapping"}, f"{name} is no mapping")
        value = {key: inner for key, inner in value["mapping"]}
        _require(
            all(isinstance(inner, bool | int | float | str | None) for pair in value.items() for inner in pair), name
        )
        return value
    _require(value is None or isinstance(value, bool | int | float | str), f"{name} is no plain value")
    # A further fit would execute the formulation file at a path.
    _require(
        name != "formulation" or (isinstance(value, str) and not is_python_file_path(value)), "formulation is no name"
    )
    return value


def _require(condition: Any, message: str) -> None:
    """Raise ValueError if a condition is false; an assertion would vanish with python -O."""
    if not condition:
        raise ValueError(message)


def _model_from_json(description: Mapping[str, Any], parameters: Sequence[str]) -> ModelFile:
    """Return the checked contents of a description."""
    n_labels = len(description["classes"]["values"])
    _require(
        len(description["parts"]) == (1 if n_labels == 2 else n_labels), "it does not have one part for each class"
    )
    classes, features, names = (
        _labels_from_json(description["classes"]),
        description["features"],
        description["feature_names"],
    )
    _require(type(features) is int and features >= 1, "the number of features is missing")
    _require(type(description["rounds"]) is int and description["rounds"] >= 0, "the number of rounds is missing")
    saved = description["parameters"]
    _require(isinstance(saved, dict) and set(saved) <= set(parameters), "it has parameters that are unknown")
    parts = tuple(_binary_model_from_json(part, features) for part in description["parts"])
    attributes: dict[str, Any] = {"classes_": classes, "n_features_in_": features, "n_iter_": description["rounds"]}
    nu, sigmoids, zero_based = map(
        description.get, ("nu", "sigmoids", "zero_based")
    )  # earlier versions wrote no such field
    if zero_based is not None:
        _require(type(zero_based) is bool, "the beginning of the indices is neither 0 nor 1")
        attributes["zero_based_"] = zero_based
    if nu is not None:
        _require(type(nu) in (int, float) and nu > 0, "nu is not a positive number")
        attributes["nu_"] = nu
    if sigmoids is not None:
        _require(isinstance(sigmoids, np.ndarray) and sigmoids.ndim == 2, "the sigmoids are not a table of numbers")
        attributes["sigmoids_"] = _vector_from_json(sigmoids.ravel(), 2 * len(parts)).reshape(-1, 2)
    if names is not None:
        _require(
            len(names) == features and all(isinstance(name, str) for name in names),
            "it does not have one name for each feature",
        )
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return ModelFile({name: _parameter_from_json(name, value) for name, value in saved.items()}, attributes, parts)


def _labels_from_json(saved: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return checked labels, ascending and different."""
    values, kind = saved["values"], saved["type"]
    _require(isinstance(values, list) and len(values) >= 2, "it has fewer than two classes")
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


def _binary_model_from_json(saved: Mapping[str, Any], features: int) -> BinaryModel:
    """Return a checked binary model."""
    hypotheses = [hypothesis_from_state(state) for state in saved["hypotheses"]]
    w = _vector_from_json(saved["w"], len(hypotheses))
    _require(np.abs(w).sum() > 0 and np.isfinite(np.abs(w).sum()), "the sum of the weights is 0 or not finite")
    for hypothesis in hypotheses:
        _require(
            _n_features(hypothesis) in (features, None), f"a hypothesis does not have {features} features: {hypothesis}"
        )
    texts = {name: saved[name] for name in ("formulation", "oracle", "reason")}
    _require(all(isinstance(text, str) for text in texts.values()), "some values must be texts and are not")
    _require(saved["majority"] in (-1, 1), "the majority is neither -1 nor 1")
    _require(type(saved["rounds"]) is int, "the number of rounds is not a whole number")
    certificate = (
        None if saved["certificate"] is None else _certificate_from_json(saved["certificate"], texts["oracle"])
    )
    return BinaryModel(
        formulation=texts["formulation"],
        oracle=texts["oracle"],
        reason=texts["reason"],
        hypotheses=hypotheses,
        w=w,
        majority=int(saved["majority"]),
        rounds=saved["rounds"],
        certificate=certificate,
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
    lower, upper, d, quantity = saved["lower"], saved["upper"], saved["d"], saved.get("what", SOFT_MARGIN)
    _require(
        isinstance(lower, float) and isinstance(upper, float) and -math.inf < lower <= upper and lower < math.inf,
        "the bounds are not an interval",
    )
    _require(quantity in MEASURES, "the bounds have no known name")
    if d is None:
        _require(upper == math.inf, "the upper bound has no proof")
        return ClassCertificate(lower, upper, None, oracle, recorded=True, quantity=quantity)
    if isinstance(d, str):
        _require(d == DISTRIBUTED_PLACEHOLDER, "the upper bound has no known proof")
        return ClassCertificate(lower, upper, raise_rows_missing, oracle, recorded=True, quantity=quantity)
    return ClassCertificate(lower, upper, _vector_from_json(d, len(d)), oracle, recorded=True, quantity=quantity)


def _vector_from_json(saved: Any, count: int) -> Float[Array, " n"]:
    """Return a checked array of `count` finite numbers."""
    _require(isinstance(saved, np.ndarray) and saved.dtype == np.float64, "some numbers are not an array of float64")
    _require(saved.shape == (count,) and np.isfinite(saved).all(), f"an array does not have {count} finite numbers")
    return saved
