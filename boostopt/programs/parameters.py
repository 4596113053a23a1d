"""The parameters of a formulation: their domains, and the checks of the values that a user passes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from boostopt._utils.array_types import ExampleVector
from boostopt._utils.immutable_arrays import as_immutable
from boostopt._utils.validation import (
    check_callable,
    check_choice,
    check_flag,
    check_instance,
    check_number,
    check_numbers,
    check_real_array,
    check_string,
    invalid_value_error,
)
from boostopt.errors import ProblemError, short_repr
from boostopt.functions.numerics.capped_softmax import CAP_SUM_TOL
from boostopt.programs.program import Examples


@dataclasses.dataclass(frozen=True)
class Domain:
    """The set of values that a parameter may take.

    Attributes
    ----------
    check_string
        The set in words, as messages show it.
    contains
        A function of a value and the examples that says whether the value lies in the set.
    kind
        "number" for a float, "flag" for a bool, "per example" for a float64 array of shape (N,).
    typical_value
        A value that lies in the set for any examples. It is used to try out a formulation.
    bounds
        The interval from which the checks draw values; None for values of a usual size that the set contains.
    """

    text: str
    contains: Callable[[Any, Examples], bool]
    kind: Literal["number", "flag", "per example"] = "number"
    typical_value: float = 1.0
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_string("text", self.text, "the values in words")
        check_callable("contains", self.contains, "a function of a value and the examples")
        check_choice("kind of parameter", self.kind, VALUE_KINDS)
        check_number("typical_value", self.typical_value, "a number", lambda value: not math.isnan(value))
        if self.bounds is not None:
            expected, advice = "two finite numbers, the lower one first, around typical", "Call interval(lower, upper)."
            bounds = check_numbers(
                "bounds", check_instance("bounds", self.bounds, tuple, expected, advice), expected, advice=advice
            )
            if len(bounds) != 2 or not bounds[0] <= self.typical_value <= bounds[1] or bounds[0] == bounds[1]:
                raise invalid_value_error("bounds", expected, self.bounds, advice)


def interval(lower: float, upper: float) -> Domain:
    """Return the domain of the numbers from `lower` to `upper`: parameter("the order", interval(1.1, 8.0)).

    The checks draw values from it: evenly, or evenly by their logarithms if both bounds are positive and far apart.

    Parameters
    ----------
    lower, upper
        The bounds, which belong to the domain; lower < upper.

    Raises
    ------
    OptionError
        The bounds are not finite numbers, or lower >= upper.
    """
    low = check_number("lower", lower)
    high = check_number("upper", upper, f"a finite number above lower = {low:g}", lambda value: low < value < math.inf)
    typical = math.sqrt(low * high) if low > 0.0 else 0.5 * (low + high)
    text = f"[{low:.10g}, {high:.10g}]"
    return Domain(text, lambda value, examples: low <= value <= high, typical_value=typical, bounds=(low, high))


OF_EXAMPLES = "per example"
"""The kind of a parameter with one value per example."""

VALUE_KINDS = ("number", "flag", OF_EXAMPLES)
"""Kinds of a parameter: see `Domain.kind`."""


SMALLEST, LARGEST = 1e-100, 1e100
"""Bounds of the accepted positive numbers: their products and quotients neither overflow nor vanish."""

POSITIVE = Domain(f"[{SMALLEST:g}, {LARGEST:g}]", lambda value, examples: SMALLEST <= value <= LARGEST)
REAL = Domain(f"[{-LARGEST:g}, {LARGEST:g}]", lambda value, examples: -LARGEST <= value <= LARGEST)
EDGE = Domain("[-1, 1]", lambda value, examples: -1.0 <= value <= 1.0, typical_value=0.0)
FRACTION = Domain("(0, 1)", lambda value, examples: 0.0 < value < 1.0, typical_value=0.5)
POSITIVE_OR_INFINITE = Domain(
    f"[{SMALLEST:g}, {LARGEST:g}] or inf", lambda value, examples: value == math.inf or SMALLEST <= value <= LARGEST
)
EXPONENT = Domain("[1.01, 100] or inf", lambda value, examples: value == math.inf or 1.01 <= value <= 100.0)
FLAG = Domain("{False, True}", lambda value, examples: isinstance(value, bool), "flag")
PER_EXAMPLE = Domain(
    f"[{-LARGEST:g}, {LARGEST:g}], one for each example",
    lambda values, examples: bool((np.abs(values) <= LARGEST).all()),
    "per example",
)
COUNT = Domain("[1, sum of c]", lambda value, examples: 1.0 <= value <= examples.total * (1 + CAP_SUM_TOL))

CANONICAL: float = math.nan
"""The default of a parameter whose value follows from the other parameters and the examples: see
`Formulation.fill_parameters`."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a formulation, as its record declares it.

    Attributes
    ----------
    name
        The paper's symbol, spelled out.
    meaning
        Its meaning in words.
    domain
        The values that it may take.
    default
        The value if none is passed: a number, `CANONICAL` (nan) for a value that follows from the other parameters and
        the examples, or `dataclasses.MISSING` if you must pass a value.
    """

    name: str
    meaning: str
    domain: Domain
    default: Any

    @property
    def required(self) -> bool:
        """True if the parameter has no default, so that you must pass a value."""
        return self.default is dataclasses.MISSING


def parameter(meaning: str, domain: Domain, default: Any = dataclasses.MISSING) -> Any:
    """Declare a field of a parameter record; with the default `CANONICAL`, `fill_parameters` sets its value.

    Raises
    ------
    OptionError
        The meaning is not a text, or the domain is not a `Domain`.
    """
    check_string("meaning", meaning, "a text that says what the parameter does")
    words = (
        "a Domain",
        "Use one of boostopt.authoring: POSITIVE, COUNT, FRACTION, ..., or make one: interval(lower, upper).",
    )
    check_instance("domain", domain, Domain, *words)
    return dataclasses.field(default=default, metadata={"meaning": meaning, "domain": domain})


def min_fraction_for_count(total: float) -> float:
    """Return the smallest fraction of a total >= 1 that is a count, at least 1, rounded up to four digits."""
    scale = 10.0 ** (3 - math.floor(math.log10(1.0 / total)))
    return float(f"{math.ceil(scale / total * (1 - 1e-12)) / scale:.4g}")


def scaling_advice(total: float, N: int) -> str:
    """Return the advice for a count of N examples whose weights have a smaller sum; "" for other weights."""
    if total >= N * (1 - CAP_SUM_TOL):
        return ""
    return (
        f" The weights of {N} examples sum to {total:.10g}, and nu counts an example as often as its weight says. "
        "Scale the weights so that their sum is the number of examples."
    )


def _count_advice(domain: Domain, value: float, examples: Examples) -> str:
    """Return advice for a count that was meant as a fraction, or for weights that do not count the examples."""
    if domain is not COUNT:
        return ""
    advice = scaling_advice(examples.total, examples.N)
    if advice or not 0 < value < 1:
        return advice
    count = value * examples.total
    if count >= 1:
        return f" If {value:.10g} is a fraction, pass {count:.10g}."
    return (
        f" If {value:.10g} is a fraction of the sum of c, it means {count:.10g} examples, which is fewer than one; "
        f"the smallest fraction is {min_fraction_for_count(examples.total):.4g}."
    )


def typical_value(domain: Domain, N: int) -> Any:
    """Return a typical value of a domain."""
    return np.zeros(N) if domain.kind == "per example" else domain.typical_value


def check_value(parameter: Parameter, value: Any, N: int) -> Any:
    """Convert a value to the type of its domain."""
    name, kind = parameter.name, parameter.domain.kind
    if kind == "per example":
        return check_per_example_array(name, value, N)
    if kind == "flag":
        return check_flag(name, value, f"It is {parameter.meaning}. Pass one of the two.", ProblemError)
    return check_number(name, value, "a real number", lambda x: True, f"Pass {parameter.meaning}.", ProblemError)


def check_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any], examples: Examples) -> None:
    """Raise ProblemError for a value outside its domain."""
    for name, value in values.items():
        parameter = parameters[name]
        if not parameter.domain.contains(value, examples):
            got = f"{value:.10g}" if parameter.domain.kind == "number" else f"{short_repr(value)}"
            raise ProblemError(
                f"{name} must lie in {parameter.domain.text}{_format_total(parameter.domain, examples)}; "
                f"got {got}. It is {parameter.meaning}. Pass a value in this domain."
                f"{_count_advice(parameter.domain, value, examples)}"
            )


def _format_total(domain: Domain, examples: Examples) -> str:
    """Format the bounds of a domain that depends on the examples."""
    return f" = [1, {examples.total:.10g}]" if domain is COUNT else ""


def check_per_example_array(
    name: str, values: npt.ArrayLike, N: int, item: str = "example", advice: str = "Pass an array of them."
) -> ExampleVector:
    """Return an array of one finite number for each example, or for each `item`."""
    expected = f"one number for each {item}, shape ({N},)"
    array = check_real_array(name, values, expected, advice, lambda shape: shape == (N,))
    if not np.isfinite(array).all():
        n = int(np.argmin(np.isfinite(array)))
        raise ProblemError(f"{name} must be finite; got {array[n]} at {n}. Correct it, or leave out this {item}.")
    return as_immutable(array)
