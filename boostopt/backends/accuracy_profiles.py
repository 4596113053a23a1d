"""Profiles: named settings for a single solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A named setting for one solve of one form that the solver ends by its own estimate.

    Attributes
    ----------
    name
        Its name.
    accuracy
        The value of every tolerance of the solver; None keeps the solver's defaults.
    """

    name: str
    accuracy: float | None


CERTIFIED_MODE = "certified"
"""The default, which is no `Profile`: attempts in several forms and accuracies until the certificate is narrow."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (Profile("default", None), Profile("low", 1e-3), Profile("mid", 1e-6), Profile("high", 1e-9))
}
"""The profiles, by name: solves that no certificate ends."""


def accuracy_profile(accuracy: float) -> Profile:
    """Return the profile of a single solve at an accuracy that has no name of its own."""
    return Profile(f"accuracy {accuracy:g}", accuracy)


def is_named_profile(profile: str | None) -> bool:
    """Return whether a solve used a named profile. None, as in files older than profiles, means a certified solve."""
    return profile not in (None, CERTIFIED_MODE)
