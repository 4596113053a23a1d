"""Formulations x data sets, by name or all of a folder, and the pairs that give no program, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from boostopt.cli.option_groups import FileOptions, ParameterOptions, StumpOptions
from boostopt.cli.option_parsing import get_formulation_option, split_names
from boostopt.data.datasets import Dataset, has_columns, has_indices
from boostopt.data.labelled_tables import DEFAULT_LABEL
from boostopt.errors import BoostoptError, DataError, OptionError, reason_of, unknown_name
from boostopt.programs.catalogue import get_formulation, list_formulations
from boostopt.programs.formulation import Formulation
from boostopt.programs.program import Program
from boostopt.rows.margin_matrix import MarginMatrix

ALL_FORMULATIONS = "all"
"""The word for every formulation that needs no parameters other than those with an option of their own."""


MAX_NAMED_FOLDERS = 6
"""Number of inner folders that a message names."""


@dataclass(frozen=True)
class BindingOptions:
    """The way in which data become programs.

    Attributes
    ----------
    files
        How the files are read; `label`, `weights` and `drop` are for CSV files.
    parameters
        The parameters as typed, each for the formulations that have it.
    draw
        The draw of the hypotheses.
    """

    files: FileOptions
    parameters: ParameterOptions
    draw: StumpOptions


def named_formulations(
    names: str, parameters: ParameterOptions
) -> tuple[list[Formulation[Any]], list[tuple[str, str]]]:
    """Return formulations by names separated by commas, or all; for all, also those that need more parameters.

    Raises
    ------
    OptionError
        A name is unknown or occurs twice, or no formulation has a given parameter.
    """
    wanted = split_unless_file(names)
    if wanted == [ALL_FORMULATIONS]:
        pages, skipped = _all_formulations(parameters)
    else:
        pages, skipped = [get_formulation_option(name) for name in wanted], []
    if not pages or len(set(wanted)) < len(wanted):
        raise OptionError(f"expected formulations, each once, separated by commas, or all; got {names!r}.")
    having = {name for page in pages for name in page.parameters}
    for name in [
        *(n for n, value in parameters.named_parameters.items() if value is not None),
        *map(_setting_name, parameters.set or ()),
    ]:
        if name not in having:
            raise unknown_name("parameter of the formulations", name, having)
    return pages, skipped


def programs_of_folder(
    folder: Path, pages: list[Formulation[Any]], options: BindingOptions, excluded_paths: Iterable[str | None] = ()
) -> tuple[dict[str, Program], list[tuple[str, str]]]:
    """Bind every formulation to every file of a folder, except files set apart, which hold results.

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
        bound, unbound = _bind_all(path.name, dataset, U, pages, options)
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
    data: list[str], pages: list[Formulation[Any]], options: BindingOptions
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
        bound, unbound = _bind_all(name, *_load_with_margins(name, options), pages, options)
        programs |= bound
        skipped += unbound
    if not programs:
        raise DataError(f"expected formulations that the data are for; there is no program. {_join_reasons(skipped)}")
    return programs, skipped


def _bind_all(
    label: str, dataset: Dataset, U: MarginMatrix, pages: list[Formulation[Any]], options: BindingOptions
) -> tuple[dict[str, Program], list[tuple[str, str]]]:
    """Return the programs of a data set by label, and the omitted formulations with the reason."""
    programs: dict[str, Program] = {}
    skipped: list[tuple[str, str]] = []
    for page in pages:
        try:
            program = _matching_parameters(page, options.parameters).bind(page, dataset, U)
        except BoostoptError as failure:
            skipped.append((f"{page.name} on {label}", str(failure)))
        else:
            programs[f"{label}: {program.headline}"] = program
    return programs, skipped


def _join_reasons(skipped: Iterable[tuple[str, str]]) -> str:
    """Return why programs are left out, each in its own sentences."""
    return " ".join(f"{what}: {reason_of(reason)}." for what, reason in skipped)


def _list_folder(folder: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Return the files of a folder except hidden ones, and its other entries with the reason why they are not read."""
    try:
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        files, folders = [path for path in inside if path.is_file()], [path for path in inside if path.is_dir()]
    except OSError as failure:
        raise DataError(f"expected a folder of data files; {folder} cannot be listed: {reason_of(failure)}.") from None
    others: list[tuple[str, str]] = []
    if folders:
        more = f" and {len(folders) - MAX_NAMED_FOLDERS} more" if len(folders) > MAX_NAMED_FOLDERS else ""
        named = ", ".join(path.name for path in folders[:MAX_NAMED_FOLDERS]) + more
        others.append((named, "Folders in a folder are not read; run the command with --all once for each."))
    for path in inside:
        if path not in files and path not in folders:
            link = path.is_symlink()
            others.append((path.name, f"It is {'a link to nothing' if link else 'no file, but a pipe or a device'}."))
    return files, others


def _load_with_margins(data: str, options: BindingOptions) -> tuple[Dataset, MarginMatrix]:
    """Load a data set with the options that suit its format, and its margin matrix, which all formulations share."""
    files = options.files if has_columns(data) else replace(options.files, label=DEFAULT_LABEL, weights=None, drop=None)
    dataset = (files if has_indices(data) else replace(files, zero_based=None)).load_dataset(data)
    return dataset, MarginMatrix(options.draw.margin_matrix(dataset))


def _matching_parameters(page: Formulation[Any], parameters: ParameterOptions) -> ParameterOptions:
    """The parameters that a formulation has."""
    named = {name: value if name in page.parameters else None for name, value in parameters.named_parameters.items()}
    return ParameterOptions(
        **named, set=[text for text in parameters.set or () if _setting_name(text) in page.parameters]
    )


def _all_formulations(parameters: ParameterOptions) -> tuple[list[Formulation[Any]], list[tuple[str, str]]]:
    """Every formulation that needs no further parameters, and the needs of the others."""
    there = {*parameters.named_parameters, *map(_setting_name, parameters.set or ())}
    pages: list[Formulation[Any]] = []
    skipped: list[tuple[str, str]] = []
    for page in map(get_formulation, list_formulations()):
        needed = [name for name, known in page.parameters.items() if known.required and name not in there]
        if needed:
            passed = " ".join(f"--set {name}=..." for name in needed)
            skipped.append((page.name, f"It needs {' and '.join(needed)}: pass {passed} for it."))
        else:
            pages.append(page)
    return pages, skipped


def _setting_name(setting: str) -> str:
    """The name that a setting, name=value, sets."""
    return setting.partition("=")[0].strip()
