"""`boostopt new`: write a file to start from, which runs and passes its own test."""

from __future__ import annotations

import ast
import keyword
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from boostopt._utils.files import write_atomically
from boostopt.backends import AUTO, list_backends
from boostopt.boosting.registry import PAGES
from boostopt.cli.application import CommandGroup, app, command, wrap_shell_commands
from boostopt.cli.oracle_options import TREE_CLASS
from boostopt.errors import DataError, OptionError, unknown_name
from boostopt.estimators.training.hypothesis_classes import HYPOTHESIS_CLASSES
from boostopt.oracles.hypothesis_state import hypothesis_kinds
from boostopt.programs.catalogue import list_formulations

NAME_PLACEHOLDER, CLASS_PLACEHOLDER = "new_name", "NewName"
"""The placeholders in a template for the name and for the name of the class."""

REGULARIZER_FORMS = {
    "formula": "a sum over the examples from a text",
    "cvxpy": "an expression that CVXPY can state",
    "class": "closed forms: values, slopes, maximizers",
}
"""The ways to state a regularizer, with a description."""

EXAMPLE_COMMANDS = {
    "regularizer": "boostopt boost {file} --data breast_cancer --nu 0.1 --eta 100 --epsilon 0.1",
    "loss": "boostopt boost {file} --data breast_cancer --set l1=2 --epsilon 0.1",
    "formulation": "boostopt boost {file} --data breast_cancer --nu 0.1 --set mu=0.1 --epsilon 0.1",
    "oracle": "boostopt boost lpboost --oracle {file} --data breast_cancer --nu 0.3 --epsilon 0.1",
    "backend": "boostopt compare lpboost --backends {file},interior --data breast_cancer --nu 0.1",
}
"""A command for each kind of file, which runs with the unedited file."""

Name = Annotated[str, typer.Argument(help="Its name: a name in Python, such as my_entropy.")]
Folder = Annotated[str, typer.Option("--to", help="Folder that the file is written into.")]

new: typer.Typer = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Write a file to start from: it runs, passes its own test, and is yours to edit.",
)
app.add_typer(new, name="new")


@command("regularizer", new)
def new_regularizer(
    name: Name,
    form: Annotated[
        str, typer.Option("--as", help=f"The way to state it: {', '.join(REGULARIZER_FORMS)}.")
    ] = "formula",
    folder: Folder = ".",
) -> None:
    """Write NAME.py, a function F of the example weights, as a formulation that every command takes.

    --as formula: from a text; cvxpy: from an expression that CVXPY can state; class: from closed forms.

    Example: boostopt new regularizer my_entropy --as class
    """
    if form not in REGULARIZER_FORMS:
        raise unknown_name("way to state a regularizer", form, REGULARIZER_FORMS)
    _write_template("regularizer", f"regularizer_{form}", name, folder)


@command("loss", new)
def new_loss(name: Name, folder: Folder = ".") -> None:
    """Write NAME.py, a loss of the margins with a price of the hypothesis weights, as a formulation.

    Example: boostopt new loss my_loss
    """
    _write_template("loss", "loss", name, folder)


@command("formulation", new)
def new_formulation(name: Name, folder: Folder = ".") -> None:
    """Write NAME.py, a formulation with its parameters, F and G, and its primal and dual problem.

    Example: boostopt new formulation my_boost
    """
    _write_template("formulation", "formulation", name, folder)


@command("oracle", new)
def new_oracle(name: Name, folder: Folder = ".") -> None:
    """Write NAME.py, a class of hypotheses with the search for the hypothesis with the largest edge.

    Example: boostopt new oracle my_stumps
    """
    _write_template("oracle", "oracle", name, folder)


@command("backend", new)
def new_backend(name: Name, folder: Folder = ".") -> None:
    """Write NAME.py, a solver with the programs that it supports.

    Example: boostopt new backend my_solver
    """
    _write_template("backend", "backend", name, folder)


def _write_template(kind: str, template: str, name: str, folder: str) -> None:
    """Write a template under a name, and print the next steps."""
    text = (files("boostopt.cli.templates") / f"{template}.py").read_text(encoding="utf-8")
    class_name = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    path = Path(folder) / f"{name}.py"
    _check_name(name, class_name, text)
    _validate_target(path)
    _validate_no_module(name)
    write_atomically(
        path,
        lambda file: file.write(text.replace(NAME_PLACEHOLDER, name).replace(CLASS_PLACEHOLDER, class_name).encode()),
    )
    typer.echo(f"written: {path}")
    for line in (
        f"boostopt check {path}",
        f"pytest {path}",
        *wrap_shell_commands(EXAMPLE_COMMANDS[kind].format(file=path)).split("\n"),
    ):
        typer.echo(f"  {line}")


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
        *PAGES,
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
    """Raise DataError if the folder does not exist, or the file already exists."""
    if not path.parent.is_dir():
        raise DataError(f"expected a folder to write {path.name} into; there is no folder {path.parent}. Make it.")
    if path.exists():
        raise DataError(f"expected a new file; {path} exists and is left as it is. Choose another name or folder.")


def _validate_no_module(name: str) -> None:
    """Raise OptionError for the name of a module, because a file of that name would hide it."""
    spec = find_spec(name)
    if spec is not None and spec.origin is not None:
        raise OptionError(
            f"expected a name that no module has; {name}.py would hide the module {name} of Python. Choose another."
        )
