"""Refusals of programs that a format cannot hold."""

from __future__ import annotations

from boostopt.errors import OptionError


def refusal(format_name: str, contents: str, part: str) -> OptionError:
    """Return the error for a part of a program that a format cannot hold."""
    return OptionError(f"{format_name} holds {contents}; got {part}. Write a path that ends in .npz.")
