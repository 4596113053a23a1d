"""The ways to ask a solver, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A way to ask a solver, by name: one solve of one form, ended by the solver's own estimate.

    Attributes
    ----------
    name
        Its name.
    accuracy
        The accuracy that every tolerance of the solver is set to; None leaves the solver as it is shipped.
    """

    name: str
    accuracy: float | None


CERTIFIED = "certified"
"""The profile of no name: attempts, in several forms and accuracies, until the certificate is narrow enough."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (Profile("default", None), Profile("low", 1e-3), Profile("mid", 1e-6), Profile("high", 1e-9))
}
"""The ways to ask a solver that no certificate ends."""


def asked_by_name(profile: str | None) -> bool:
    """Whether a solve was asked by a profile's name; None, as in files of before there were any, is a certified one."""
    return profile not in (None, CERTIFIED)
