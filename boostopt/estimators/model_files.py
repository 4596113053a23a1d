"""Classifiers in files: one npz of plain arrays with a description in JSON; nothing is pickled, nothing is executed.

A model file holds what is predicted with: classes, features with their names, every hypothesis as plain numbers, the
weights to the last bit, and of the fit its parameters, reasons and certificates as they were recorded. It holds no
run: no margins of the training examples and no trace. What is read is checked, name by name, for being what it should.
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
from boostopt.boosting.histogram_newton.histogram_run import LazyWitness
from boostopt.boosting.run.run_file import DECODING_ERRORS, META, ArrayExtractor, insert_arrays
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of
from boostopt.estimators.binary_model import BinaryModel
from boostopt.objectives.class_certificate import ClassCertificate
from boostopt.objectives.soft_margin import MEASURES, SOFT_MARGIN
from boostopt.oracles import Feature, Fitted, Hypothesis, KernelColumn, RBFHypothesis, Stump
from boostopt.oracles.distributed.detached import raise_rows_missing
from boostopt.oracles.hypothesis_state import hypothesis_from_state, to_state

FILE_KIND, FORMAT = "boostopt classifier", 1

MAX_DESCRIPTION_BYTES = 1 << 26
"""Bytes that the description in a model file, and the texts of its classes, may take: read, it may be thirty times."""

LABEL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
"""Types of labels that are numbers; others are texts."""

TEXT_DTYPE, OBJECT_DTYPE = "text", "object"
"""Types of labels that are texts, as an array of texts or of objects."""

MALFORMED_ERRORS = (BoostoptError, *DECODING_ERRORS)
"""Errors at a file that is no whole model."""

MACHINE_PARAMETERS: Mapping[str, Any] = {
    "checkpoint": None,
    "verbose": False,
    "n_jobs": None,
    "time_limit": None,
    "warm_start": False,
}
"""Parameters of the machine on which a classifier was fitted, and what they are after it is loaded."""

NOT_SERIALIZABLE = (
    "a model file holds plain numbers only; {what} cannot be written in this form. Use one of boostopt's own bases, "
    '"stump", "binned", "feature", "kernel" or "rbf". Or pickle the classifier for your own use, but never load a '
    "pickle from others."
)

DISTRIBUTED_PLACEHOLDER = "with the rows"
"""What stands for a distribution that proves an upper end and is where its rows are, on a cluster."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The contents of a model file.

    Attributes
    ----------
    parameters
        Those of the classifier by their names.
    attributes
        What a fit sets, by name.
    scorers
        What tells the classes apart.
    """

    parameters: Mapping[str, Any]
    attributes: Mapping[str, Any]
    scorers: tuple[BinaryModel, ...]


def save(model: Any, scorers: Sequence[BinaryModel], path: str | PathLike[str]) -> None:
    """Write a fitted classifier.

    Raises
    ------
    OptionError
        It has hypotheses or labels that are more than plain numbers and texts, or too many of them: what `load` would
        refuse is not written.
    DataError
        The file cannot be written.
    """
    names = getattr(model, "feature_names_in_", None)
    writer = ArrayExtractor()
    about = {
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
        # A page is known by its name, for the path of one would be run by a further fit.
        "parameters": {
            **{name: _parameter_to_json(value) for name, value in model.get_params(deep=False).items()},
            "formulation": scorers[0].formulation,
        },
        "parts": writer.extract([_binary_model_to_json(scorer) for scorer in scorers]),
    }
    text = _encode_json(about)
    if len(text) > MAX_DESCRIPTION_BYTES:
        raise OptionError(
            f"expected a model whose description has at most {MAX_DESCRIPTION_BYTES:,} bytes; got {len(text):,}. Fit fewer "
            "hypotheses, or pickle the classifier for your own use."
        )
    writer.arrays[META] = np.frombuffer(text, dtype=np.uint8)
    try:
        _model_from_json(insert_arrays(json.loads(text), writer.arrays), list(model.get_params(deep=False)))
    except MALFORMED_ERRORS as failure:
        raise OptionError(NOT_SERIALIZABLE.format(what=f"this model ({_describe_error(failure)})")) from failure
    write_atomically(check_path("path", path), lambda file: write_npz(file, writer.arrays))


def _encode_json(about: Mapping[str, Any]) -> bytes:
    """Return a description as JSON."""
    try:
        return json.dumps(about).encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise OptionError(NOT_SERIALIZABLE.format(what=f"a hypothesis ({reason_of(failure)})")) from failure


def load(path: str | PathLike[str], parameters: Sequence[str]) -> ModelFile:
    """Return what a model file holds.

    Parameters
    ----------
    path
        The file.
    parameters
        Names of the parameters that the classifier takes.

    Raises
    ------
    DataError
        The file is not there, is no model file, was made by another version, or is damaged.
    """
    source = check_path("path", path, DataError)
    if not os.path.isfile(source):  # False also of what is no path: too long, or with a letter that none has
        raise DataError(f"expected a model file; {lack_of(source)}")
    try:
        arrays = read_npz(source)
        text = arrays[META]
        _require(
            text.nbytes <= MAX_DESCRIPTION_BYTES,
            f"its description has {text.nbytes:,} bytes, the limit is {MAX_DESCRIPTION_BYTES:,}",
        )
        about = json.loads(text.tobytes().decode())
        kind, form = about["kind"], about["format"]
    except MALFORMED_ERRORS as failure:
        raise DataError(
            f"expected a model file, as `boostopt fit` and MarginBoostClassifier.save write it; {source} has no "
            f"description of a model, or is damaged ({_describe_error(failure)}). Check the path, or fit the model again."
        ) from failure
    if kind != FILE_KIND or form != FORMAT:
        raise DataError(
            f"expected a {FILE_KIND} of format {FORMAT} in {source}; got {str(kind)[:60]!r} of format {str(form)[:20]}. "
            "Pass a file of `boostopt fit` or MarginBoostClassifier.save, and use the version that wrote it."
        )
    try:
        return _model_from_json(insert_arrays(about, arrays), parameters)
    except MALFORMED_ERRORS as failure:
        raise DataError(
            f"expected a whole model in {source}; part of it cannot be read ({_describe_error(failure)}). Fit it again."
        ) from failure


def _describe_error(failure: BaseException) -> str:
    """Return what went wrong, without the last full stop."""
    return reason_of(failure if isinstance(failure, ValueError) else f"{type(failure).__name__}: {failure}", 400)


def _binary_model_to_json(scorer: BinaryModel) -> dict[str, Any]:
    """Return what tells a class from the rest as names, numbers and arrays."""
    certificate = scorer.certificate
    elsewhere = (
        certificate is not None and isinstance(certificate.witness, LazyWitness) and certificate.witness.unavailable
    )
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
            "d": DISTRIBUTED_PLACEHOLDER if elsewhere else certificate.d,
            **({} if certificate.what == SOFT_MARGIN else {"what": certificate.what}),
        },
    }


def _hypothesis_to_json(hypothesis: Hypothesis) -> dict[str, Any]:
    """Return a hypothesis as plain numbers."""
    try:
        if not isinstance(hypothesis, Fitted):  # of which the numbers alone are kept, and nothing that predicts
            return to_state(hypothesis)
    except (AttributeError, NotImplementedError):  # a class of the user's without a kind, or without a state
        pass
    raise OptionError(NOT_SERIALIZABLE.format(what=f"the hypothesis {str(hypothesis)[:80]!r}"))


def _labels_to_json(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Return labels with their type."""
    values, kind = classes.tolist(), classes.dtype.name
    if all(isinstance(value, str) for value in values):
        return {
            "type": TEXT_DTYPE if classes.dtype.kind == "U" else OBJECT_DTYPE,
            "values": [str(value) for value in values],
        }
    if kind not in LABEL_DTYPES:
        raise OptionError(NOT_SERIALIZABLE.format(what=f"labels of the type {kind}, {str(values)[:80]},"))
    return {"type": kind, "values": values}


def _parameter_to_json(value: Any) -> Any:
    """Return a parameter as JSON has it; None where it is more than that, such as an estimator or a generator."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_python_file_path(value):  # of an oracle, which a further fit would run
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        pairs = [
            [_scalar_or_none(_parameter_to_json(key)), _scalar_or_none(_parameter_to_json(inner))]
            for key, inner in value.items()
        ]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return {"mapping": pairs}
    name = getattr(value, "name", None)  # of a formulation, or of a backend
    return name if isinstance(name, str) else None


def _scalar_or_none(value: Any) -> Any:
    """Return a plain value that is no mapping; None for one."""
    return None if isinstance(value, dict) else value


def _parameter_from_json(name: str, value: Any) -> Any:
    """Return a parameter that was saved, unless it says what would be run in a further fit, or where it would write."""
    if name in MACHINE_PARAMETERS:
        return MACHINE_PARAMETERS[name]
    if isinstance(value, dict):
        _require(set(value) == {"mapping"}, f"{name} is no mapping")
        value = {key: number for key, number in value["mapping"]}
        _require(
            all(isinstance(inner, bool | int | float | str | None) for pair in value.items() for inner in pair), name
        )
        return value
    _require(value is None or isinstance(value, bool | int | float | str), f"{name} is no plain value")
    # The path of a page would be run by a further fit.
    _require(
        name != "formulation" or (isinstance(value, str) and not is_python_file_path(value)), "formulation is no name"
    )
    return value


def _require(condition: Any, otherwise: str) -> None:
    """Raise ValueError where something does not hold; an assertion may be switched off."""
    if not condition:
        raise ValueError(otherwise)


def _model_from_json(about: Mapping[str, Any], parameters: Sequence[str]) -> ModelFile:
    """Return what a description says, checked."""
    wanted = len(about["classes"]["values"])
    _require(len(about["parts"]) == (1 if wanted == 2 else wanted), "it does not have one part for each class")
    classes, features, names = _labels_from_json(about["classes"]), about["features"], about["feature_names"]
    _require(type(features) is int and features >= 1, "the number of features is missing")
    _require(type(about["rounds"]) is int and about["rounds"] >= 0, "the number of rounds is missing")
    saved = about["parameters"]
    _require(isinstance(saved, dict) and set(saved) <= set(parameters), "it has parameters that are unknown")
    parts = tuple(_binary_model_from_json(part, features) for part in about["parts"])
    attributes: dict[str, Any] = {"classes_": classes, "n_features_in_": features, "n_iter_": about["rounds"]}
    nu, sigmoids, zero_based = map(about.get, ("nu", "sigmoids", "zero_based"))  # earlier versions have none of them
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
    """Return labels, ascending and different."""
    values, kind = saved["values"], saved["type"]
    _require(isinstance(values, list) and len(values) >= 2, "it has fewer than two classes")
    if kind in (TEXT_DTYPE, OBJECT_DTYPE):
        _require(all(isinstance(value, str) for value in values), "the classes are not texts")
        # An array of texts has room for the longest in each place, four bytes a letter.
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
    """Return what tells a class from the rest, checked."""
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
    """Return how many features a hypothesis takes; None where it does not say."""
    if isinstance(hypothesis, RBFHypothesis):
        return hypothesis.network.centres.shape[1]
    if isinstance(hypothesis, Stump | Feature | KernelColumn):
        return hypothesis.features
    _require(not isinstance(hypothesis, Fitted), f"a hypothesis cannot predict: {hypothesis}")
    return None


def _certificate_from_json(saved: Mapping[str, Any], oracle: str) -> ClassCertificate:
    """Return a certificate as it was recorded; to prove it anew takes the training examples."""
    lower, upper, d, what = saved["lower"], saved["upper"], saved["d"], saved.get("what", SOFT_MARGIN)
    _require(
        isinstance(lower, float) and isinstance(upper, float) and -math.inf < lower <= upper and lower < math.inf,
        "the bounds are not an interval",
    )
    _require(what in MEASURES, "the bounds have no known name")
    if d is None:
        _require(upper == math.inf, "the upper bound has no proof")
        return ClassCertificate(lower, upper, None, oracle, recorded=True, what=what)
    if isinstance(d, str):
        _require(d == DISTRIBUTED_PLACEHOLDER, "the upper bound has no known proof")
        return ClassCertificate(lower, upper, raise_rows_missing, oracle, recorded=True, what=what)
    return ClassCertificate(lower, upper, _vector_from_json(d, len(d)), oracle, recorded=True, what=what)


def _vector_from_json(saved: Any, count: int) -> Float[Array, " n"]:
    """Return so many finite numbers."""
    _require(isinstance(saved, np.ndarray) and saved.dtype == np.float64, "some numbers are not an array of float64")
    _require(saved.shape == (count,) and np.isfinite(saved).all(), f"an array does not have {count} finite numbers")
    return saved
