"""Messages of the library in the words of a command: its options in place of arguments of Python."""

from __future__ import annotations

import re
from collections.abc import Collection

ARGUMENT = re.compile(
    r"\b(?:(label|positive|weights|drop|missing_values|zero_based)=\.\.\.(?=(\s+[A-Z]|$)?)|(exact|zero_based)=True\b)"
)
"""An argument of Python in a message, which a command has as an option; three dots may end a sentence."""

LIMITS = ("nu", "eta", "epsilon", "tol")
"""Parameters without an underscore in the name that messages advise to change."""


def with_option_names(text: str, options: Collection[str] = ()) -> str:
    """Return a message with names as options: `label=...` becomes `--label`, and likewise `max_rounds must be`.

    Parameters
    ----------
    text
        The message.
    options
        The parameters of the command. An underscore identifies one anywhere in the message; another name may be a
        word, and is an option where the message begins with what it must be, where it is set, or after advice.
    """
    text = ARGUMENT.sub(_argument, text)
    names = "|".join(map(re.escape, options))
    if not names:
        return text
    text = re.sub(rf"(?<![\w.-])({names})=(?:True\b|(['\"])([\w:-]+)\2)", _setting, text)
    text = re.sub(rf"(?<![\w.-])({names})=None\b", lambda match: f"no {_flag(match[1])}", text)
    text = re.sub(rf"^({names})(?= must )", lambda match: _flag(match[1]), text)
    advised = "|".join(name for name in options if name in LIMITS)
    if advised:
        verbs = r"(?:[Rr]aise|[Ll]ower|[Pp]ass|[Ll]eave out|or)"
        text = re.sub(rf"\b({verbs}) ({advised})(?![\w=-])", lambda match: f"{match[1]} {_flag(match[2])}", text)
    long = "|".join(name for name in options if "_" in name)
    return re.sub(rf"(?<![\w.'\"/=-])({long})(?![\w'\"/=-])(?!\.\w)", _named, text) if long else text


def _argument(match: re.Match[str]) -> str:
    """Return an argument as an option, with the full stop that the three dots stood for."""
    return _flag(match[1] or match[3]) + ("." if match[2] is not None else "")


def _setting(match: re.Match[str]) -> str:
    return f"{_flag(match[1])} {match[3]}" if match[3] else _flag(match[1])


def _named(match: re.Match[str]) -> str:
    return _flag(match[1])


def _flag(name: str) -> str:
    """Return the option of a parameter."""
    return f"--{name.replace('_', '-')}"
