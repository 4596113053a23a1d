"""Messages of the library for the command line: options of a command replace arguments of Python."""

from __future__ import annotations

import re
from collections.abc import Collection

ARGUMENT = re.compile(
    r"\b(?:(label|positive|weights|drop|missing_values|zero_based)=\.\.\.(?=(\s+[A-Z]|$)?)|(exact|zero_based)=True\b)"
)
"""A pattern of an argument of Python that is an option of commands; three dots may end a sentence."""

ADVISED_PARAMETERS = ("nu", "eta", "epsilon", "tol")
"""Parameters without an underscore in the name that messages advise to change."""


def with_option_names(text: str, options: Collection[str] = ()) -> str:
    """Return a message with options in place of arguments: `label=...` becomes `--label`.

    Parameters
    ----------
    text
        The message.
    options
        The parameters of the command. A name with an underscore is a parameter anywhere in the message. A name without
        one may be an English word. It is a parameter in `name must` at the beginning of the message, in `name=value`,
        and after a verb of advice, such as `Raise nu`.
    """
    text = ARGUMENT.sub(_argument_option, text)
    names = "|".join(map(re.escape, options))
    if not names:
        return text
    text = re.sub(rf"(?<![\w.-])({names})=(?:True\b|(['\"])([\w:-]+)\2)", _setting_option, text)
    advised_number = rf"\b([Pp]ass|or) ({names})=([\d.e-]*\d)"
    text = re.sub(advised_number, lambda match: f"{match[1]} {_flag(match[2])} {match[3]}", text)
    text = re.sub(rf"(?<![\w.-])({names})=None\b", lambda match: f"no {_flag(match[1])}", text)
    text = re.sub(rf"^({names})(?= must )", lambda match: _flag(match[1]), text)
    parameters = "|".join(name for name in options if name in ADVISED_PARAMETERS)
    if parameters:
        verbs = r"(?:[Rr]aise|[Ll]ower|[Pp]ass|[Ll]eave out|or)"
        text = re.sub(rf"\b({verbs}) ({parameters})(?![\w=-])", lambda match: f"{match[1]} {_flag(match[2])}", text)
    long_names = "|".join(name for name in options if "_" in name)
    return re.sub(rf"(?<![\w.'\"/=-])({long_names})(?![\w'\"/=-])(?!\.\w)", _name_option, text) if long_names else text


def _argument_option(match: re.Match[str]) -> str:
    """Return the option for a match of `ARGUMENT`, with a full stop if the three dots ended a sentence."""
    return _flag(match[1] or match[3]) + ("." if match[2] is not None else "")


def _setting_option(match: re.Match[str]) -> str:
    """Return the option for `name=value`, with the value unless the value is True."""
    return f"{_flag(match[1])} {match[3]}" if match[3] else _flag(match[1])


def _name_option(match: re.Match[str]) -> str:
    """Return the option for a name."""
    return _flag(match[1])


def _flag(name: str) -> str:
    """Return the option of a parameter."""
    return f"--{name.replace('_', '-')}"
