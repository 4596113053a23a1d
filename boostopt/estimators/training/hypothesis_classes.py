"""The hypothesis classes of a classifier: by name, from an unfitted classifier, or from a user's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from boostopt import oracles
from boostopt._utils.array_types import Array, ExampleVector, Int8
from boostopt._utils.user_modules import is_python_file_path, load_single_class
from boostopt.errors import OptionError, short_repr, unknown_name
from boostopt.oracles import Oracle
from boostopt.oracles.base import check_oracle_factory
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.learners.estimator_oracles import EstimatorOracle

HYPOTHESIS_CLASSES: Mapping[str, str] = {
    "stump": "DecisionStumps",
    "binned": "BinnedStumps",
    "tree2": "DepthTwoTrees",
    "feature": "RawFeatures",
    "kernel": "KernelColumns",
    "rbf": "RBFNetworks",
}
"""The names of hypothesis classes, and the oracles of each in `boostopt.oracles`."""

CLASSIFIER_OWNED_OPTIONS: Mapping[str, str] = {
    "estimator": "Pass the estimator as base.",
    "X": "Pass X to fit.",
    "y": "Pass y to fit.",
    "c": "Pass sample_weight to fit.",
    "reflexive": "Set reflexive itself.",
    "random_state": "Set random_state itself.",
}
"""Arguments of oracles that are not options of a base, because the classifier sets them, with the parameters to use."""


def make_oracle(
    base: Any,
    options: Mapping[str, Any] | None,
    reflexive: bool,
    seed: int | None,
    X: Any,
    y: Any,
    c: Any,
) -> Oracle:
    """Return the oracle of a base.

    Parameters
    ----------
    base
        A name from `HYPOTHESIS_CLASSES`, the path of a Python file that defines one class of oracles, an unfitted
        classifier, or a function of (X, y, c) that returns an oracle.
    options
        Further arguments of the oracle by name; a function takes none.
    reflexive
        Whether negations belong to the class. If base is a function, the function decides this.
    seed
        The seed of random choices; None for the oracle's default seed.
    X, y, c
        The examples: features, labels -1 and 1, multiplicities.

    Raises
    ------
    OptionError
        There is no such base or option, or the function does not return an oracle.
    """
    return _make(base, options, reflexive, seed, X, y, c)


def make_distributed_class(
    base: Any, options: Mapping[str, Any] | None, reflexive: bool, seed: int | None, X: Any, y: Any, c: Any
) -> BinnedClass:
    """Return the class of a base over rows on a cluster, with the arguments of `make_oracle`."""
    return _make(base, options, reflexive, seed, X, y, c)


def _make(
    base: Any, options: Mapping[str, Any] | None, reflexive: bool, seed: int | None, X: Any, y: Any, c: Any
) -> Any:
    """Return the oracle of a base, or its class for rows on a cluster."""
    arguments = dict(options or {})
    if is_python_file_path(base):
        oracle_class = load_single_class(base, Oracle, "an oracle")
        parameters = inspect.signature(oracle_class).parameters
        if inspect.Parameter.VAR_KEYWORD not in {parameter.kind for parameter in parameters.values()}:
            for name in arguments:
                _validate_option_name(name, oracle_class, parameters.keys() - {"X", "y", "c"})
        base, arguments = partial(oracle_class, **arguments), {}
    if callable(base) and not hasattr(base, "fit"):
        return _oracle_from_factory(base, arguments, X, y, c)
    kind = _oracle_class(base)
    names = oracle_option_names(kind)
    for name in arguments:
        if name in CLASSIFIER_OWNED_OPTIONS:
            raise OptionError(
                f"{name} is a parameter of the classifier; got it in base_options. {CLASSIFIER_OWNED_OPTIONS[name]}"
            )
        _validate_option_name(name, kind, names)
    if seed is not None and "random_state" in inspect.signature(kind).parameters:
        arguments["random_state"] = seed
    examples = (X, y) if isinstance(base, str) else (base, X, y)
    return kind(*examples, c=c, reflexive=reflexive, **arguments)


def _validate_option_name(name: str, kind: type[Any], names: Collection[str]) -> None:
    """Raise OptionError if a type of oracle has no option of this name."""
    if name not in names:
        raise unknown_name(f"option of {kind.__name__}", name, names)


def oracle_option_names(kind: type[Any]) -> list[str]:
    """Return the names of the options of an oracle, with each field of its settings record as an option."""
    names = list(inspect.signature(kind).parameters)
    if kind is oracles.RBFNetworks:
        names[names.index("settings") :] = [field.name for field in fields(oracles.RBFSettings)]
    return [name for name in names if name not in CLASSIFIER_OWNED_OPTIONS]


def _oracle_class(base: Any) -> type[Any]:
    """Return the type of oracle for a name or for a classifier."""
    if isinstance(base, str):
        if base not in HYPOTHESIS_CLASSES:
            raise unknown_name("base", base, HYPOTHESIS_CLASSES)
        return getattr(oracles, HYPOTHESIS_CLASSES[base])
    if isinstance(base, type) or not (hasattr(base, "fit") and hasattr(base, "get_params")):
        raise OptionError(
            f"base must be one of {', '.join(HYPOTHESIS_CLASSES)}, an unfitted classifier, such as "
            "DecisionTreeClassifier(max_depth=2), or a function of (X, y, c) that returns an oracle; got "
            f"{short_repr(base)}. Pass one of them."
        )
    from sklearn.utils.validation import has_fit_parameter

    return oracles.Estimators if has_fit_parameter(base, "sample_weight") else oracles.Resampled


def _oracle_from_factory(
    factory: Callable[..., Any],
    options: Mapping[str, Any],
    X: Any,
    y: Int8[Array, " N"],
    c: ExampleVector,
) -> Oracle:
    """Return the oracle that a user's function returns."""
    if options:
        raise OptionError(
            f"base_options must be empty if base is a function; got {', '.join(options)}. Bind them to the function "
            "with functools.partial."
        )
    check_oracle_factory(factory, X, y, c, "base, a class of oracles or a function that makes one,")
    oracle: Any = factory(X, y, c)
    examples = oracle.oracle if isinstance(oracle, oracles.LimitedClass) else oracle
    if isinstance(examples, Oracle) and (examples.class_labels is not None or examples.target_scale is not None):
        raise OptionError(
            "base must return an oracle for the classes -1 and 1, since the classifier separates each class from the "
            f"rest; got {short_repr(oracle)}. Pass it to boost, whose run predicts labels or numbers, or use another "
            "base."
        )
    if not isinstance(examples, Oracle) or examples.N != len(y):
        raise OptionError(
            f"base must return an oracle over the {len(y)} examples that it is given; got {short_repr(oracle)}. "
            "Make one from X, y and c: boostopt.oracles has several."
        )
    return oracle


def validate_serializable(oracle: Oracle) -> None:
    """Raise OptionError if a run that continues from a checkpoint could not predict."""
    if isinstance(oracle, EstimatorOracle):
        raise OptionError(
            f"checkpoint needs hypotheses that can be stored without pickle; got {oracle}, whose hypotheses are "
            "estimators of another library. Leave out checkpoint, or use another base."
        )
