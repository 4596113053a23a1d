"""The application to which all commands belong: help, streams, and messages about bad input."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import is_dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from boostopt._utils.formatting import escape_unprintable
from boostopt._utils.user_modules import locate_exception_in_user_file
from boostopt.cli.option_names import with_option_names
from boostopt.errors import BoostoptError, format_names, reason_of

PIPE_WIDTH = 160
"""Characters in a line of a table if the output is not a terminal and COLUMNS is not set."""

EXAMPLE_WIDTH = 76
"""Characters in a line of an example, which is indented by two and may end in a continuation sign."""

WORD_PATTERN = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
OPTION_OR_WORD = re.compile(rf"--?[a-z-]+ (?!-){WORD_PATTERN}|{WORD_PATTERN}")
"""A pattern of a word of a command, with quoted text as one word, or of an option with its value."""

APP_HELP = """Boosting algorithms as convex programs: solve them by any solver, certify every answer.

Results go to the standard output, progress and errors to the standard error. Exit status 0: some interval reached the
target gap, every check passed; 1: no interval did, some check failed; 2: bad input; 130: interrupted.

The help of each command ends with an example: boostopt compare --help.
"""

KEEP_LINE_BREAKS = "\b\n"
"""The mark at the beginning of a help paragraph in which Click keeps the line breaks."""


class CommandGroup(TyperGroup):
    """A group of commands: the list shows the first sentence of each, and the help of each ends with an example."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, sorted."""
        return sorted(super().list_commands(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, with its short help and its example."""
        command: Any = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.short_help = " ".join(command.help.partition("\n\n")[0].split())
            text, mark, example = command.help.partition("\n\nExample: ")
            command.help = f"{text}\n\n{KEEP_LINE_BREAKS}{wrap_shell_commands(f'Example: {example}')}" if mark else text
        return command


def wrap_shell_commands(commands: str) -> str:
    """Wrap commands for a shell: each command begins a line, and a long command continues on the next line."""
    lines = [""]
    for word in OPTION_OR_WORD.findall(commands):
        if lines[-1].endswith(";"):
            lines.append(word)
        elif lines[-1] and len(lines[-1]) + len(word) >= EXAMPLE_WIDTH:
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


app: typer.Typer = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=APP_HELP,
    rich_markup_mode=None,
)


def _print_version(is_requested: bool) -> bool:
    """Print the version and exit, if requested; the return value becomes the option's value."""
    if is_requested:
        typer.echo(f"boostopt {import_module('boostopt').__version__}")
        raise typer.Exit
    return is_requested


@app.callback()
def options_of_all_commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Accept the options before the command."""


def print_error(text: str) -> None:
    """Write text on the standard error, escaped, because names from the data must not control the terminal."""
    typer.echo("\n".join(map(escape_unprintable, text.split("\n"))), err=True)


def report_write_error(failure: OSError) -> None:
    """Report that the standard output cannot be written."""
    print_error(f"error: the output cannot be written: {reason_of(failure)}.")


def warn_about_unread_arrays(source: str, names: Iterable[str]) -> None:
    """Warn about the arrays of a file that the command does not read, because one of them may be misspelt."""
    listing = format_names(names)
    if listing:
        print_error(f"warning: {source} holds arrays that are not read: {listing}.")


def console() -> Console:
    """Return the standard output as a console; an output that is no terminal is wide, so that tables stay whole."""
    has_width = "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty())
    return Console(highlight=False, width=None if has_width else PIPE_WIDTH)


def command(name: str, group: typer.Typer = app) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Return a decorator that makes a function a command.

    The return value of the function is the exit status, 0 for None. Bad input gives a message. A parameter that is a
    record becomes one option for each field, with the name of the field; a field may be a record too.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        options = _options_of(function)
        names = [option.name for option in options]

        @functools.wraps(function)
        def run(**values: Any) -> None:
            with report_errors(names):
                raise typer.Exit(_call_with_records(function, values) or 0)

        # Typer reads this signature.
        vars(run)["__signature__"] = inspect.Signature(
            [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
        )
        run.__annotations__ = {option.name: option.annotation for option in options}
        group.command(name)(run)
        return function

    return register


def _parameters_of(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, type[Any] | None]]:
    """Yield the parameters of a function, or the fields of a record, each with its type if that is a record."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind: Any = parameter.annotation
        yield parameter, kind if isinstance(kind, type) and is_dataclass(kind) else None


def _options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function, with the fields of a record in place of the record."""
    options: list[inspect.Parameter] = []
    for parameter, record in _parameters_of(function):
        options += [parameter] if record is None else _options_of(record)
    return options


def _call_with_records(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return the result of a function for the values of its options, and remove these from `values`."""
    arguments: dict[str, Any] = {}
    for parameter, record in _parameters_of(function):
        arguments[parameter.name] = values.pop(parameter.name) if record is None else _call_with_records(record, values)
    return function(**arguments)


@contextlib.contextmanager
def _plain_warnings(options: Collection[str]) -> Generator[None]:
    """Print warnings without their location in the code, with the options of a command in place of arguments."""

    def print_warning(message: Warning | str, *location: Any) -> None:
        details = getattr(message, "details", "")  # a fit's warning is short, and its details have the numbers
        print_error(f"warning: {with_option_names(details or str(message), options)}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = print_warning
        yield


@contextlib.contextmanager
def report_errors(options: Collection[str] = ()) -> Generator[None]:
    """Turn bad input into a message on the standard error and exit status 2, and show warnings as text."""
    try:
        with _plain_warnings(options):
            yield
    except BoostoptError as error:
        print_error(f"error: {with_option_names(str(error), options)}")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        print_error("interrupted")
        raise typer.Exit(130) from None
    except (BrokenPipeError, typer.Exit):
        raise
    except OSError as error:
        report_write_error(error)
        raise typer.Exit(2) from None
    except MemoryError as error:
        reason = reason_of(str(error) or "no memory is left")
        print_error(f"error: this needs more memory than there is: {reason}. Pass fewer examples, features or columns.")
        raise typer.Exit(2) from None
    except Exception as failure:
        location = locate_exception_in_user_file(failure)
        if not location:
            raise
        description = reason_of(f"{type(failure).__name__}: {failure}".rstrip(": "))
        print_error(f"error: {location} raised {description}. Correct the file: see `boostopt check`.")
        raise typer.Exit(2) from None
