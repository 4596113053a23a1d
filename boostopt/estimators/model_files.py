"""Model files of classifiers: npz archives of plain arrays with a JSON description; nothing is pickled or executed.

A model file contains all that predictions need: classes, features with their names, every hypothesis as plain numbers,
and the weights to the last bit. It also contains the parameters of the fit, the reasons of its stop, and the recorded
certificates. It contains no run: no margins of the training examples and no trace. `load` checks the type and the range
of every field.
"""

from __future__ import annotations

import hashlib
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

from boostopt._utils.files import lack_of, read_npz, write_atomically, write_npz
from boostopt._utils.formatting import format_count
from boostopt._utils.user_modules import is_python_file_path
from boostopt._utils.validation import check_path
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.objectives.soft_margin import SOFT_MARGIN
from boostopt.boosting.run.run_file import DECODING_ERRORS, META, ArrayExtractor, insert_arrays
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of, short_repr
from boostopt.estimators.binary_model import BinaryModel, is_distributed
from boostopt.estimators.model_file_schema import (
    CERTIFICATE,
    DISTRIBUTED_PLACEHOLDER,
    LABEL_DTYPES,
    MASS_TOL,
    MAX_DESCRIPTION_BYTES,
    MODEL,
    OBJECT_DTYPE,
    OBJECT_PARAMETERS,
    PART,
    TEXT_DTYPE,
    CertificateRecord,
    ModelRecord,
    PartRecord,
    finite_vector,
    parse_record,
    require,
)
from boostopt.oracles import DepthTwoTree, Feature, Fitted, Hypothesis, KernelColumn, RBFHypothesis, Stump
from boostopt.oracles.distributed.oracle_without_rows import raise_rows_missing
from boostopt.oracles.hypothesis_serialization import to_state

FILE_KIND, FORMAT = "boostopt classifier", 1

MALFORMED_ERRORS = (BoostoptError, *DECODING_ERRORS)
"""Errors raised by an invalid or truncated model file."""

NOT_SERIALIZABLE = (
    "a model file holds plain numbers only; {subject} cannot be written in this form. Use one of boostopt's own bases, "
    '"stump", "binned", "tree2", "feature", "kernel" or "rbf". Or pickle the classifier for your own use, but never '
    "load a pickle from others."
)


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
        "nu": _value_to_json(getattr(model, "nu_", None)),
        "sigmoids": writer.extract(getattr(model, "sigmoids_", None)),
        # A formulation file is saved by its name, because a further fit would execute the file at its path.
        "parameters": {
            **{name: _parameter_to_json(name, value) for name, value in model.get_params(deep=False).items()},
            "formulation": scorers[0].formulation,
        },
        "parts": writer.extract([_binary_model_to_json(scorer) for scorer in scorers]),
    }
    description["digest"] = _digest(json.loads(_encode_json(description)), writer.arrays)
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
        require(
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
    if kind != FILE_KIND or form != FORMAT or type(form) is not int:
        raise DataError(
            f"expected a {FILE_KIND} of format {FORMAT} in {source}; got {str(kind)[:60]!r} of format "
            f"{str(form)[:20]}. Pass a file of `boostopt fit` or MarginBoostClassifier.save, and use the version that "
            "wrote it."
        )
    try:
        model = _model_from_json(insert_arrays(description, arrays), parameters)
        digest = description.get("digest", expected := _digest(description, arrays))
        require(digest == expected, "its digest is that of other content: weights or hypotheses were changed")
        return model
    except MALFORMED_ERRORS as failure:
        raise DataError(
            f"expected a whole model in {source}; part of it cannot be read ({_describe_error(failure)}). Fit it again."
        ) from failure


def _digest(description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return SHA-256 of a description without its digest, and of the arrays: no edited file loads by mistake.

    The fields of a file with reordered weights are valid, but its votes are others, and so is the soft margin.
    """
    content = {key: value for key, value in description.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        if name != META:
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


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


def _parameter_to_json(name: str, value: Any) -> Any:
    """Return a parameter as a JSON value; None for an object without one, such as an estimator or a generator."""
    plain_value = _value_to_json(value)
    if name in OBJECT_PARAMETERS and not OBJECT_PARAMETERS[name](plain_value):
        return None
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
        ]
        return {"mapping": pairs}
    name = getattr(value, "name", None)  # the name of a formulation or of a backend
    return name if isinstance(name, str) else None


def _scalar_or_none(value: Any) -> Any:
    """Return a plain value; None for a mapping."""
    return None if isinstance(value, dict) else value


def _model_from_json(description: Any, parameters: Sequence[str]) -> ModelFile:
    """Return the checked contents of a description."""
    content = {key: value for key, value in description.items() if key not in ("kind", "format")}
    model = ModelRecord(**parse_record(MODEL, content, "the description"))
    n_labels = len(model.classes)
    n_parts = 1 if n_labels == 2 else n_labels
    require(len(model.parts) == n_parts, f"parts must be one part for each class, {n_parts}; got {len(model.parts)}")
    unknown = sorted(set(model.parameters) - set(parameters))
    require(not unknown, f"the parameters must be known; got {short_repr(', '.join(unknown))}")
    parts = tuple(_binary_model_from_json(part, model.features) for part in model.parts)
    first = parts[0].formulation  # a class without weights has a formulation of its own
    formulation = model.parameters.get("formulation", first)
    require(formulation == first, f"the formulation must be that of the parts, {first}; got {formulation}")
    rounds = max(part.rounds for part in parts)
    require(model.rounds == rounds, f"rounds must be {rounds}, as in the parts; got {model.rounds}")
    attributes: dict[str, Any] = {
        "classes_": model.classes,
        "n_features_in_": model.features,
        "n_iter_": model.rounds,
    }
    attributes |= {} if model.zero_based is None else {"zero_based_": model.zero_based}
    attributes |= {} if model.nu is None else {"nu_": model.nu}
    if model.sigmoids is not None:
        attributes["sigmoids_"] = finite_vector(model.sigmoids.ravel(), 2 * len(parts), "sigmoids").reshape(-1, 2)
    if model.feature_names is not None:
        n_names = len(model.feature_names)
        require(
            n_names == model.features, f"feature_names must be {format_count(model.features, 'name')}; got {n_names}"
        )
        attributes["feature_names_in_"] = np.array(model.feature_names, dtype=object)
    return ModelFile(model.parameters, attributes, parts)


def _binary_model_from_json(saved: Any, features: int) -> BinaryModel:
    """Return a checked binary model."""
    part = PartRecord(**parse_record(PART, saved, "each of the parts"))
    w = finite_vector(part.w, len(part.hypotheses), "w")
    with np.errstate(over="ignore"):
        total = float(np.abs(w).sum())
    require(0.0 < total < math.inf, f"w must have a positive finite sum of |w|; got {total}")
    for hypothesis in part.hypotheses:
        n_features = _n_features(hypothesis)
        require(
            n_features in (features, None),
            f"each hypothesis must have {format_count(features, 'feature')}; got {hypothesis}",
        )
    spreads = None if part.spreads is None else finite_vector(part.spreads, features, "spreads")
    if spreads is not None:
        require((spreads >= 0.0).all(), f"spreads must not be negative; got {spreads.min(initial=0.0)}")
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
    is_binary = hypothesis.class_labels is None and hypothesis.target_scale is None
    require(is_binary, f"each hypothesis must be one for the classes -1 and 1; got {hypothesis}")
    if isinstance(hypothesis, RBFHypothesis):
        return hypothesis.network.centres.shape[1]
    if isinstance(hypothesis, Stump | Feature | KernelColumn | DepthTwoTree):
        return hypothesis.features
    require(not isinstance(hypothesis, Fitted), f"each hypothesis must predict; got {hypothesis}")
    return None


def _certificate_from_json(saved: Mapping[str, Any], oracle: str) -> ClassCertificate:
    """Return a certificate as it was recorded; a new proof needs the training examples."""
    record = CertificateRecord(**parse_record(CERTIFICATE, saved, "the certificate"))
    lower, upper, d = record.lower, record.upper, record.d
    require(lower <= upper, f"lower must be at most upper; got {lower} and {upper}")
    require((d is None) == (upper == math.inf), f"upper and d must be both there or both absent; got upper = {upper}")
    if record.quantity == SOFT_MARGIN:
        total = float(d.sum()) if isinstance(d, np.ndarray) else 1.0
        # Prices of limits on the weights follow the distribution, and add to the bound.
        largest = 1.0 + MASS_TOL if total <= 1.0 + MASS_TOL else math.inf
        is_possible = -1.0 - MASS_TOL <= lower <= 1.0 + MASS_TOL and (d is None or upper <= largest)
        require(is_possible, f"bounds of a soft margin must lie in [-1, 1]; got [{lower}, {upper}]")
        if isinstance(d, np.ndarray):
            smallest = float(d.min(initial=0.0))
            require(
                smallest >= -MASS_TOL and total >= 1.0 - MASS_TOL,
                f"d must be a distribution; got numbers of at least {smallest:g} with the sum {total:g}",
            )
    witness = raise_rows_missing if isinstance(d, str) else d
    return ClassCertificate(record.lower, record.upper, witness, oracle, recorded=True, quantity=record.quantity)
