"""`boostopt new`: write a file to start from, which runs and passes its own test."""

from __future__ import annotations

import ast
import keyword
import os
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from boostopt._utils.files import write_atomically
from boostopt.backends import AUTO, list_backends
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.cli.application import CommandGroup, app, command, wrap_shell_commands
from boostopt.cli.oracle_options import TREE_CLASS
from boostopt.errors import DataError, OptionError, unknown_name
from boostopt.estimators.training.hypothesis_classes import HYPOTHESIS_CLASSES
from boostopt.oracles.hypothesis_serialization import hypothesis_kinds
from boostopt.programs.formulation_catalogue import list_formulations

NAME_PLACEHOLDER, CLASS_PLACEHOLDER = "new_name", "NewName"
"""The placeholders in a template for the name and for the name of the class."""

ENTRY_PATTERN = re.compile(r"# /// boostopt new\n((?:# .*\n)+)# ///\n")
"""A pattern of the first lines of a template: its entry, TOML in comments."""

Name = Annotated[str, typer.Argument(help="Its name: a name in Python, such as my_entropy.")]
Folder = Annotated[str, typer.Option("--to", help="Folder that the file is written into; it is made if there is none.")]

new: typer.Typer = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Write a file to start from: it runs, passes its own test, and is yours to edit.",
)
app.add_typer(new, name="new")


@dataclass(frozen=True, kw_only=True)
class Template:
    """A template with its entry.

    Attributes
    ----------
    text
        The file, without the entry.
    kind
        The command `boostopt new KIND`.
    command
        A command that runs with the unedited file; `{file}` is its path.
    summary, example
        The contents, and a command that writes the file, for the help; "" for a form that is not the default.
    form, form_summary
        The value of `--as` and its description; "" for the only template of its kind.
    """

    text: str
    kind: str
    command: str
    summary: str = ""
    example: str = ""
    form: str = ""
    form_summary: str = ""

    @classmethod
    def from_source(cls, source: str) -> Template:
        """Return the template that a file states.

        Raises
        ------
        ValueError
            The file does not begin with an entry.
        """
        entry = ENTRY_PATTERN.match(source)
        if entry is None:
            raise ValueError(f"expected an entry, # /// boostopt new; got {source[:40]!r}. Write the entry first.")
        return cls(text=source[entry.end() :], **tomllib.loads(re.sub("^# ", "", entry[1], flags=re.MULTILINE)))

    def write(self, name: str, folder: str) -> None:
        """Write the file under a name into a folder, and print the next steps.

        Raises
        ------
        OptionError
            The name is not valid, or has another use.
        DataError
            The folder cannot be made, or the file already exists.
        """
        class_name = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
        path = Path(folder) / f"{name}.py"
        _check_name(name, class_name, self.text)
        _validate_target(path)
        _validate_no_module(name)
        text = self.text.replace(NAME_PLACEHOLDER, name).replace(CLASS_PLACEHOLDER, class_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda file: file.write(text.encode()))
        typer.echo(f"written: {path}")
        for line in (
            f"boostopt check {path}",
            f"pytest {path}",
            *wrap_shell_commands(self.command.format(file=path)).split("\n"),
        ):
            typer.echo(f"  {line}")


def read_templates() -> dict[str, list[Template]]:
    """Return the templates by their kinds, the default form of each kind first."""
    paths = (path for path in files("boostopt.cli.templates").iterdir() if path.name.endswith(".py"))
    sources = {path.name: path.read_text(encoding="utf-8") for path in paths if path.name != "__init__.py"}
    templates: dict[str, list[Template]] = {}
    for name in sorted(sources):
        template = Template.from_source(sources[name])
        templates.setdefault(template.kind, []).append(template)
    return {kind: sorted(forms, key=lambda template: not template.summary) for kind, forms in templates.items()}


def _add_command(kind: str, templates: list[Template]) -> None:
    """Add the command that writes a template of a kind, with an option for the form if there are several."""
    default, forms = templates[0], {template.form: template for template in templates}

    def write_template(name: Name, folder: Folder = ".") -> None:
        default.write(name, folder)

    def write_form(name: Name, form: str = default.form, folder: Folder = ".") -> None:
        if form not in forms:
            raise unknown_name(f"way to state a {kind}", form, forms)
        forms[form].write(name, folder)

    form_help = f"The way to state it: {', '.join(forms)}."
    write_form.__annotations__["form"] = Annotated[str, typer.Option("--as", help=form_help)]
    function = write_form if len(forms) > 1 else write_template
    paragraphs = [f"Write NAME.py, {default.summary}."]
    if len(forms) > 1:
        summaries = "; ".join(f"{form}: {template.form_summary}" for form, template in forms.items())
        paragraphs.append(f"--as {summaries}.")
    function.__doc__ = "\n\n".join([*paragraphs, f"Example: {default.example}"])
    command(kind, new)(function)


for _kind, _templates in read_templates().items():
    _add_command(_kind, _templates)


def _check_name(name: str, class_name: str, text: str) -> None:
    """Raise OptionError for a name that is not valid in Python, or that boostopt or the file itself already uses."""
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name) or keyword.issoftkeyword(name):
        fault = "a keyword of Python" if name.isidentifier() else "none"
        raise OptionError(
            f"expected a name in Python, of letters, digits and _; got {name!r}, which is {fault}. Choose another, "
            "such as my_entropy."
        )
    reserved_names = {
        *list_formulations(),
        *BOOSTERS_BY_NAME,
        *list_backends(),
        AUTO,
        *HYPOTHESIS_CLASSES,
        TREE_CLASS,
        *hypothesis_kinds(),
    }
    if name.casefold() in reserved_names:
        raise OptionError(f"expected a name of your own; boostopt itself has {name.casefold()!r}. Choose another.")
    if {name, class_name} & _used_names(text):
        raise OptionError(f"expected a name that the file has no other use for; got {name!r}. Choose another.")


def _used_names(text: str) -> set[str]:
    """Return the names that a template defines, imports or uses, except the placeholders."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.alias)}
    return names - {NAME_PLACEHOLDER, CLASS_PLACEHOLDER}


def _validate_target(path: Path) -> None:
    """Raise DataError if the file already exists, or no folder can be there."""
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not folder.is_dir():
        raise DataError(f"expected a folder to write {path.name} into; {folder} is a file. Choose another folder.")
    if path.exists():
        raise DataError(f"expected a new file; {path} exists and is left as it is. Choose another name or folder.")


def _validate_no_module(name: str) -> None:
    """Raise OptionError for the name of a module, because a file of that name would hide it."""
    spec = find_spec(name)
    if spec is not None and spec.origin is not None:
        raise OptionError(
            f"expected a name that no module has; {name}.py would hide the module {name} of Python. Choose another."
        )
