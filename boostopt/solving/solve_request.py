"""The request of a solve: a certified gap or a profile by name, and options that the solver defines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from boostopt._utils.validation import check_instance, check_tolerance, invalid_value_error
from boostopt.backends.accuracy_profiles import CERTIFIED_MODE, PROFILES, Profile
from boostopt.backends.base import Attempt
from boostopt.errors import OptionError, reason_of, short_repr, unknown_name

DEFAULT_TOL = 1e-8
"""Target gap by default."""


@runtime_checkable
class NamedSolver(Protocol):
    """A solver of programs or of problems, with the names of its options."""

    @property
    def name(self) -> str: ...

    @property
    def option_names(self) -> Collection[str] | None: ...


def resolve_profile(tol: object) -> Profile | None:
    """Return the profile of a name; None for a tolerance, which the certificate must reach, and for "certified"."""
    if isinstance(tol, Profile):
        return tol
    if not isinstance(tol, str) or tol == CERTIFIED_MODE:
        return None
    if tol not in PROFILES:
        raise unknown_name("profile", tol, [*PROFILES, CERTIFIED_MODE])
    return PROFILES[tol]


def resolve_tolerance(tol: object, profile: Profile | None) -> float:
    """Return the target gap of an answer: the tolerance itself, or the accuracy of the profile.

    Raises
    ------
    OptionError
        The gap is not in (0, 1).
    """
    if isinstance(tol, str | Profile):
        return DEFAULT_TOL if profile is None or profile.accuracy is None else profile.accuracy
    return check_tolerance("tol", tol)


def check_solver_options(backend: NamedSolver | None, options: object, profile: Profile | None) -> dict[str, Any]:
    """Check the options of the user for a backend (None for "auto") by name if possible, and return them."""
    if backend is None and (options or profile is not None):
        request = f"the profile {profile.name!r}" if profile is not None else "options"
        raise OptionError(f'backend="auto" takes no profile and no options of a solver; got {request}. Name a backend.')
    if backend is None or options is None:
        return {}
    words = "options by their names, or None", 'Pass a mapping such as {"max_iter": 50}.'
    named: Any = check_instance("options", options, Mapping, *words)
    names = backend.option_names
    for name in named:
        if not isinstance(name, str):
            raise invalid_value_error("options", words[0], options, words[1])
        if names is not None and name not in names:
            raise unknown_name(f"option of {backend.name}", name, names)
    return dict(named)


def raise_if_options_rejected(
    options: Mapping[str, Any], tried: Sequence[NamedSolver], attempts: Sequence[Attempt]
) -> None:
    """Raise OptionError if the solver rejects the options of the user; the message quotes the solver."""
    errors = [attempt.error or "" for attempt in attempts]
    if options and errors and all(errors) and any(name in errors[0] for name in options):
        raise rejected_options_error(tried[0].name, options, errors[0])


def rejected_options_error(backend: str, options: Mapping[str, Any], error: str) -> OptionError:
    """Return the error for options that a solver rejects; the message quotes the solver."""
    named = ", ".join(f"{name}={short_repr(value)}" for name, value in options.items())
    return OptionError(
        f"options must be options of {backend} with valid values; got {named}: {reason_of(error)}. Correct them, or "
        "leave them out."
    )
