"""Parsers of the texts of options: counts and shares, settings, names, gaps, class weights."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from boostopt.backends.accuracy_profiles import PROFILES
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.cli.option_types import DEFAULT_TOL, parse_tolerance
from boostopt.comparison.benchmark import GAPS
from boostopt.data.datasets import Dataset
from boostopt.errors import OptionError, unknown_name
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation, list_formulations
from boostopt.programs.parameters import COUNT, min_fraction_for_count, scaling_advice

FLAG_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Words for the values 1 and 0 of a flag."""


def total_multiplicity(dataset: Dataset, N: int) -> float:
    """Return the sum of the multiplicities c, which are 1 for each of N examples if the data have no c."""
    return float(N) if dataset.c is None else float(dataset.c.sum(dtype=float))


OPTION_EXAMPLES = {
    "nu": "--nu 0.1 (a fraction of the examples) or --nu 50 (a number of them)",
    "eta": "--eta 100",
    "epsilon": "--epsilon 0.01",
}
"""Examples of options for the parameters that have one."""


def validate_required_parameters(
    formulation: Formulation[Any], values: Mapping[str, Any], derived_names: Container[str] = ()
) -> None:
    """Raise OptionError for a parameter that a formulation needs, but neither the user nor boosting sets.

    Parameters
    ----------
    formulation
        The formulation.
    values
        The parameters that the user sets; None for a value that is missing.
    derived_names
        The parameters that boosting sets.
    """
    for name, parameter in formulation.parameters.items():
        if parameter.required and values.get(name) is None and name not in derived_names:
            advice = OPTION_EXAMPLES.get(name, f"--set {name}=NUMBER")
            raise OptionError(
                f"{formulation.name} needs {name}, {parameter.meaning}, in {parameter.domain.text}; got none. "
                + (
                    "Bind it in Python: no option takes one value an example."
                    if parameter.domain.kind == "per example"
                    else f"Pass {advice}."
                )
            )


def parse_nu(text: str, total: float, N: int, formulation: Formulation[Any]) -> float:
    """Read nu: with a decimal point it is a fraction in (0, 1] of the examples, otherwise a number of examples.

    Parameters
    ----------
    text
        The number as typed.
    total, N
        The sum of c, and the number of examples.
    formulation
        The formulation.

    Raises
    ------
    OptionError
        The text is not a number, or a fraction of the sum of c is outside (0, 1] or less than one example.
    """
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"--nu must be a number; got {text!r}.") from None
    if "." not in text and value.is_integer():
        return value
    if not 0.0 < value <= 1.0:
        raise OptionError(
            f"--nu with a decimal point is a fraction of the examples in (0, 1]; got {text}. "
            "Omit the point to give a number of examples; use --set nu=... for a number that is not whole."
        )
    parameter = formulation.parameters.get("nu")
    if parameter is not None and parameter.domain is COUNT and total > 0 and value * total < 1:
        advice = scaling_advice(total, N) or f" The smallest fraction is {min_fraction_for_count(total):.4g}."
        raise OptionError(
            f"--nu with a decimal point is a fraction of the sum of c (one for each example by default), {total:.10g}; "
            f"{text} of it is {value * total:.10g}, and nu must be at least 1.{advice}"
        )
    return value * total


def parse_setting(text: str, formulation: Formulation[Any]) -> tuple[str, float]:
    """Return the name and the value of a text name=value; c and d0 are no parameters, because the data contain them."""
    name, _, value = text.partition("=")
    if name.strip() not in formulation.parameters:
        raise unknown_name(f"parameter of {formulation.name}", name.strip(), formulation.parameters)
    try:
        word = value.strip().lower()
        return name.strip(), FLAG_WORDS[word] if word in FLAG_WORDS else float(value)
    except ValueError:
        raise OptionError(f"--set takes name=value with a number, true or false; got {text!r}.") from None


def parse_setting_lists(settings: list[str], formulation: Formulation[Any]) -> dict[str, list[float]]:
    """Return the values by name, from texts name=value or name=value,value; each name may occur once."""
    values_by_name = dict[str, list[float]]()
    for text in settings:
        name, _, values = text.partition("=")
        if name.strip() in values_by_name:
            raise OptionError(f"--set names a parameter twice: {', '.join(settings)}. Name it once.")
        parts = [parse_setting(f"{name}={value}", formulation)[1] for value in values.split(",")]
        values_by_name[name.strip()] = parts
    return values_by_name


def parse_class_weight(text: str | None, labels: npt.NDArray[Any] | None) -> Any:
    """Return class weights in the form that the classifier takes."""
    if text is None or text.strip() == "balanced":
        return None if text is None else "balanced"
    classes: dict[str, Any] = {str(label): label for label in np.unique(np.asarray(labels)).tolist()}
    weights: dict[Any, float] = {}
    for pair in split_names(text) or []:
        name, _, value = (part.strip() for part in pair.rpartition("="))
        try:
            number = float(value) if name else None
        except ValueError:
            number = None
        if number is None:
            raise OptionError(f"--class-weight takes balanced, or class=number separated by commas; got {text!r}.")
        if name not in classes:
            raise unknown_name("class", name, classes)
        weights[classes[name]] = number
    if not weights:
        raise OptionError(f"--class-weight takes balanced, or class=number separated by commas; got {text!r}.")
    return weights


def split_names(text: str | None) -> list[str] | None:
    """Split a text at commas; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def get_formulation_option(name: str) -> Formulation[Any]:
    """Return a formulation by its name or the path of its file.

    Raises
    ------
    OptionError
        The name is unknown, or names a booster, which has no program to solve.
    """
    typed = name.strip().lower()
    if typed in BOOSTERS_BY_NAME and typed not in list_formulations():
        raise OptionError(
            f"expected a formulation, which states a program; got {name!r}, a booster, which states none. Run it by "
            f"`boostopt boost {typed}` or `boostopt fit --formulation {typed}`."
        )
    return get_formulation(name)


def parse_profiles(profiles: str | None, tol: float | str) -> list[float | str]:
    """Return target gaps or names of profiles: those of `--profiles`, all four gaps, or the value of `--tol`."""
    if profiles is None:
        return [tol]
    if tol != DEFAULT_TOL:
        raise OptionError("--tol and --profiles exclude each other; choose one.")
    if profiles.strip() == "all":
        return [*GAPS]
    try:
        return [parse_tolerance(word) for word in split_names(profiles) or []]
    except typer.BadParameter:
        raise OptionError(
            f"--profiles takes gaps, or names of {', '.join(PROFILES)}, separated by commas, or all; got {profiles!r}."
        ) from None


def parse_solver_options(texts: list[str] | None) -> dict[str, dict[str, Any]]:
    """Return options by backend and name, from texts such as cvxpy:scs.max_iters=500."""
    options: dict[str, dict[str, Any]] = {}
    for name, value in parse_options(texts, "--option").items():
        backend, point, option = name.partition(".")
        if not (backend and point and option):
            raise OptionError(f"--option takes backend.name=value, such as cvxpy:scs.max_iters=500; got {name!r}.")
        options.setdefault(backend, {})[option] = value
    return options


def _split_at_commas(text: str) -> list[str]:
    """Split a text at commas; a missing part is "", and a text of nothing but commas gives no parts."""
    words = [word.strip() for word in text.split(",")]
    return words if any(words) else []


def parse_nu_values(text: str, total: float, N: int, formulation: Formulation[Any]) -> list[float]:
    """Return several values of nu, each read like a single one."""
    return [parse_nu(word, total, N, formulation) for word in _split_at_commas(text)]


def parse_numbers(text: str, flag: str) -> list[float]:
    """Return numbers separated by commas."""
    try:
        return [float(word) for word in _split_at_commas(text)]
    except ValueError:
        raise OptionError(f"{flag} takes numbers separated by commas; got {text!r}.") from None


def parse_options(texts: list[str] | None, flag: str) -> dict[str, Any]:
    """Return options by name: whole numbers, numbers, flags or words."""
    options: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise OptionError(f"{flag} takes name=value; got {text!r}.")
        if name in options:
            raise OptionError(f"{flag} names {name} twice: {', '.join(texts or [])}. Name it once.")
        options[name] = _parse_value(value)
    return options


def _parse_value(text: str) -> Any:
    """Return a whole number, a number, a flag, or the word itself."""
    if text.lower() in FLAG_WORDS:
        return bool(FLAG_WORDS[text.lower()])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_classifier_nu(text: str) -> float | int | str:
    """Read the nu of a classifier: a share with a decimal point, a number of examples, "margin" or "auto"."""
    if text.strip() in ("margin", "auto"):
        return text.strip()
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"--nu must be a number, margin or auto; got {text!r}.") from None
    return int(value) if "." not in text and value.is_integer() else value
