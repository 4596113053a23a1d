"""The programs of several formulations and data sets, and the pairs that give no program, with the reasons.

The data sets have names or paths, or are all files of a folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from boostopt.cli.option_groups import BindingOptions, ParameterOptions
from boostopt.cli.option_parsing import get_formulation_option, split_names
from boostopt.data.datasets import Dataset
from boostopt.data.labelled_tables import DEFAULT_LABEL
from boostopt.data.source_forms import has_columns, has_indices
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of, unknown_name
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import get_formulation, list_formulations
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

ALL_FORMULATIONS = "all"
"""The name that stands for all formulations that need no parameters other than those that have an option."""

MAX_NAMED_FOLDERS = 6
"""Number of subfolders that a message names."""


def named_formulations(
    names: str, parameters: ParameterOptions
) -> tuple[list[Formulation[Any]], list[tuple[str, str]]]:
    """Return the formulations that a text names, and the omitted formulations with the reason.

    Parameters
    ----------
    names
        Names separated by commas, or "all". For "all", formulations that need further parameters are omitted.
    parameters
        The parameters of all formulations.

    Raises
    ------
    OptionError
        A name is unknown or occurs twice, or no formulation has one of the parameters.
    """
    requested = split_unless_file(names)
    if requested == [ALL_FORMULATIONS]:
        formulations, skipped = _all_formulations(parameters)
    else:
        formulations, skipped = [get_formulation_option(name) for name in requested], []
    if not formulations or len(set(requested)) < len(requested):
        raise OptionError(f"expected formulations, each once, separated by commas, or all; got {names!r}.")
    accepted = {name for formulation in formulations for name in formulation.parameters}
    for name in [
        *(n for n, value in parameters.named_parameters.items() if value is not None),
        *map(_setting_name, parameters.set or ()),
    ]:
        if name not in accepted:
            raise unknown_name("parameter of the formulations", name, accepted)
    return formulations, skipped


def programs_of_folder(
    folder: Path,
    formulations: list[Formulation[Any]],
    options: BindingOptions,
    excluded_paths: Iterable[str | None] = (),
) -> tuple[dict[str, Program], list[tuple[str, str]]]:
    """Bind every formulation to every file of a folder, except `excluded_paths`, which contain results.

    Returns
    -------
    Programs by label; and, with the reason, each file that cannot be read and each formulation that does not fit a
    file.

    Raises
    ------
    DataError
        The folder cannot be read, or gives no program.
    """
    results = {os.path.realpath(path) for path in excluded_paths if path is not None}
    files, skipped = _list_folder(folder)
    programs: dict[str, Program] = {}
    for path in files:
        if os.path.realpath(path) in results:
            continue
        try:
            dataset, U = _load_with_margins(str(path), options)
        except (BoostoptError, MemoryError) as failure:
            skipped.append((path.name, str(failure) or "it does not fit into memory."))
            continue
        bound, unbound = _bind_all(path.name, dataset, U, formulations, options)
        programs |= bound
        skipped += unbound
    if not programs:
        raise DataError(
            f"expected data files in {folder}; there is no program in it. "
            f"{_join_reasons(skipped) or 'It has no files.'}"
        )
    return programs, skipped


def split_unless_file(text: str) -> list[str]:
    """Split a text at commas, unless it is the name of a file."""
    return [text] if os.path.exists(text) else split_names(text) or []


def programs_of_data(
    data: list[str], formulations: list[Formulation[Any]], options: BindingOptions
) -> tuple[dict[str, Program], list[tuple[str, str]]]:
    """Bind every formulation to every data set by name or path.

    Returns
    -------
    Programs by label; and, with the reason, each formulation that does not fit a data set.

    Raises
    ------
    OptionError
        A data set is named twice.
    DataError
        A data set cannot be read, or there is no program.
    """
    if not data or len(set(data)) < len(data):
        raise OptionError(f"expected data sets, each once, separated by commas; got {','.join(data)!r}.")
    programs: dict[str, Program] = {}
    skipped: list[tuple[str, str]] = []
    for name in data:
        bound, unbound = _bind_all(name, *_load_with_margins(name, options), formulations, options)
        programs |= bound
        skipped += unbound
    if not programs:
        raise DataError(f"expected formulations that fit the data; there is no program. {_join_reasons(skipped)}")
    return programs, skipped


def _bind_all(
    label: str, dataset: Dataset, U: MarginMatrix, formulations: list[Formulation[Any]], options: BindingOptions
) -> tuple[dict[str, Program], list[tuple[str, str]]]:
    """Return the programs of a data set by label, and the omitted formulations with the reason."""
    programs: dict[str, Program] = {}
    skipped: list[tuple[str, str]] = []
    for formulation in formulations:
        try:
            program = _matching_parameters(formulation, options.parameters).bind(formulation, dataset, U)
        except BoostoptError as failure:
            skipped.append((f"{formulation.name} on {label}", str(failure)))
        else:
            programs[f"{label}: {program.headline}"] = program
    return programs, skipped


def _join_reasons(skipped: Iterable[tuple[str, str]]) -> str:
    """Return the reasons for which programs are left out, as sentences."""
    return " ".join(f"{label}: {reason_of(reason)}." for label, reason in skipped)


def _list_folder(folder: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Return the visible files of a folder, and its other visible entries with the reason for omitting them."""
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        files, folders = [path for path in paths if path.is_file()], [path for path in paths if path.is_dir()]
    except OSError as failure:
        raise DataError(
            f"expected a folder of data files; {folder} cannot be listed: {reason_of(failure)}. Check the path."
        ) from None
    skipped: list[tuple[str, str]] = []
    if folders:
        more = f" and {len(folders) - MAX_NAMED_FOLDERS} more" if len(folders) > MAX_NAMED_FOLDERS else ""
        folder_names = ", ".join(path.name for path in folders[:MAX_NAMED_FOLDERS]) + more
        skipped.append((folder_names, "Folders in a folder are not read; run the command with --all once for each."))
    for path in paths:
        if path not in files and path not in folders:
            link = path.is_symlink()
            skipped.append((path.name, f"It is {'a link to nothing' if link else 'no file, but a pipe or a device'}."))
    return files, skipped


def _load_with_margins(data: str, options: BindingOptions) -> tuple[Dataset, MarginMatrix]:
    """Return a data set, read with the options that apply to its format, and the margin matrix of all programs."""
    files = options.files if has_columns(data) else replace(options.files, label=DEFAULT_LABEL, weights=None, drop=None)
    dataset = (files if has_indices(data) else replace(files, zero_based=None)).load_dataset(data)
    return dataset, MarginMatrix(options.draw.margin_matrix(dataset))


def _matching_parameters(formulation: Formulation[Any], parameters: ParameterOptions) -> ParameterOptions:
    """Return those of the parameters that a formulation has."""
    named = {
        name: value if name in formulation.parameters else None for name, value in parameters.named_parameters.items()
    }
    return ParameterOptions(
        **named, set=[text for text in parameters.set or () if _setting_name(text) in formulation.parameters]
    )


def _all_formulations(parameters: ParameterOptions) -> tuple[list[Formulation[Any]], list[tuple[str, str]]]:
    """Return every formulation that needs no further parameters, and the other ones with the parameters they need."""
    names = {*parameters.named_parameters, *map(_setting_name, parameters.set or ())}
    formulations: list[Formulation[Any]] = []
    skipped: list[tuple[str, str]] = []
    for formulation in map(get_formulation, list_formulations()):
        missing = [name for name, entry in formulation.parameters.items() if entry.required and name not in names]
        if missing:
            settings = " ".join(f"--set {name}=..." for name in missing)
            skipped.append((formulation.name, f"It needs {' and '.join(missing)}: pass {settings} for it."))
        else:
            formulations.append(formulation)
    return formulations, skipped


def _setting_name(setting: str) -> str:
    """Return the name in a text name=value."""
    return setting.partition("=")[0].strip()
