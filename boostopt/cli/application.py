"""The application that all commands share, its streams, and its handling of bad input."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from boostopt._utils.formatting import escape_unprintable
from boostopt._utils.user_files import locate_exception_in_user_file
from boostopt.cli.option_names import with_option_names
from boostopt.errors import BoostoptError, format_names, reason_of

PIPE_WIDTH = 160
"""The width of a table if the output is not a terminal and COLUMNS is not set."""

EXAMPLE_WIDTH = 76
"""The width of a line of an example, which is indented by two and may end in a continuation sign."""

WORD_PATTERN = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
OPTION_OR_WORD = re.compile(rf"--?[a-z-]+ (?!-){WORD_PATTERN}|{WORD_PATTERN}")
"""A word of a command, with quoted text as one word, or an option with its value."""

APP_HELP = """Boosting algorithms as convex programs: solve them by any solver, certify every answer.

Results go to the standard output, progress and errors to the standard error. Exit status 0: some interval is as
narrow as asked, every check passed; 1: none is, some check failed; 2: bad input; 130: interrupted.

The help of each command ends with an example: boostopt compare --help.
"""

KEEP_LINE_BREAKS = "\b\n"
"""The mark at the beginning of a help paragraph whose line breaks are kept."""


class CommandGroup(TyperGroup):
    """The commands: the list shows the whole first sentence of each, and the help of each has an example to copy."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name."""
        command: Any = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.short_help = " ".join(command.help.partition("\n\n")[0].split())
            text, mark, example = command.help.partition("\n\nExample: ")
            command.help = f"{text}\n\n{KEEP_LINE_BREAKS}{wrap_shell_commands(f'Example: {example}')}" if mark else text
        return command


def wrap_shell_commands(commands: str) -> str:
    """Fold commands into lines for a shell: each begins a line, and a long one continues on the next line."""
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


def _print_version(asked: bool) -> bool:
    """Print the version and exit, if requested; the return value becomes the option's value."""
    if asked:
        typer.echo(f"boostopt {import_module('boostopt').__version__}")
        raise typer.Exit
    return asked


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
    """Warn about the arrays of a file that nothing reads, because one of them may be misspelt."""
    named = format_names(names)
    if named:
        print_error(f"warning: {source} holds arrays that are not read: {named}.")


def console() -> Console:
    """The standard output. Unless COLUMNS is set, it is wide if it is no terminal, so that a file gets whole tables."""
    told = "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty())
    return Console(highlight=False, width=None if told else PIPE_WIDTH)


def command(name: str, group: typer.Typer = app) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Make a function a command: its return value is the exit status, 0 for None, and bad input gives a message.

    A parameter that is a record becomes one option for each of its fields, with the field's name.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        parameters = inspect.signature(function, eval_str=True).parameters
        records: dict[str, Any] = {own: p.annotation for own, p in parameters.items() if is_dataclass(p.annotation)}
        options: list[inspect.Parameter] = []
        for own, parameter in parameters.items():
            options += _record_options(records[own]) if own in records else [parameter]

        names = [option.name for option in options]

        @functools.wraps(function)
        def run(**values: Any) -> None:
            for own, record in records.items():
                values[own] = record(**{field.name: values.pop(field.name) for field in fields(record)})
            with report_errors(names):
                raise typer.Exit(function(**values) or 0)

        # typer reads this signature.
        vars(run)["__signature__"] = inspect.Signature(
            [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
        )
        run.__annotations__ = {option.name: option.annotation for option in options}
        group.command(name)(run)
        return function

    return register


def _record_options(record: type[Any]) -> list[inspect.Parameter]:
    """Return the fields of a record as parameters."""
    return list(inspect.signature(record, eval_str=True).parameters.values())


@contextlib.contextmanager
def _plain_warnings(options: Collection[str]) -> Generator[None]:
    """Show warnings without their place in the code, in the words of a command with such options."""

    def said(message: Warning | str, *place: Any) -> None:
        print_error(f"warning: {with_option_names(str(message), options)}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = said
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
        reason = reason_of(str(error) or "there is no more")
        print_error(f"error: this needs more memory than there is: {reason}. Pass fewer examples, features or columns.")
        raise typer.Exit(2) from None
    except Exception as failure:
        own = locate_exception_in_user_file(failure)
        if not own:
            raise
        words = reason_of(f"{type(failure).__name__}: {failure}".rstrip(": "))
        print_error(f"error: {own} raised {words}. Correct the file; `boostopt check` on it tells more.")
        raise typer.Exit(2) from None
