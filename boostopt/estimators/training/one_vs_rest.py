"""The binary problems of a classifier: the second of two classes against the first, or each class against the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from boostopt.boosting.run.run import Run
from boostopt.errors import OptionError, short_repr
from boostopt.estimators.training.binary_fit import FitSettings
from boostopt.estimators.training.training_data import OracleCache, WeightedExamples
from boostopt.estimators.training.validation_set import ValidationSet


def fit_classes(
    settings: FitSettings,
    examples: WeightedExamples,
    previous_runs: Sequence[Run | None],
    validation_set: ValidationSet | None = None,
    cache: OracleCache | None = None,
) -> tuple[Run, ...]:
    """Return the run of two classes, or a run for each class against the rest; each continues an earlier run.

    The cache has the oracles of fits to the same examples with other values of nu, if it is not None.
    """
    classes = examples.classes
    files = checkpoint_paths(settings.checkpoint, len(previous_runs))
    if len(previous_runs) == 1:
        return (settings.fit_binary(examples, 1, previous_runs[0], files[0], classes[1], validation_set, cache),)
    n_processes = process_count(settings)
    if settings.time_limit is not None:
        settings = replace(settings, time_limit=settings.time_limit / math.ceil(len(previous_runs) / n_processes))
    cache = cache if n_processes == 1 else None  # another process would get a copy
    tasks = (
        delayed(settings.fit_binary)(examples, k, previous_runs[k], files[k], classes[k], validation_set, cache)
        for k in range(len(previous_runs))
    )
    runs: Any = Parallel(n_jobs=settings.n_jobs)(tasks)
    return tuple(runs)


def process_count(settings: FitSettings) -> int:
    """Return the number of processes for the runs of more than two classes."""
    n_jobs: Any = settings.n_jobs  # for None, the context of joblib sets the number
    n_processes: Any = effective_n_jobs(n_jobs)
    return n_processes


def loop_thread_count(settings: FitSettings) -> int | None:
    """Return the largest number of threads of compiled loops in this process; None for the default."""
    return None if settings.n_jobs is None else process_count(settings)


def checkpoint_paths(checkpoint: Any, runs: int) -> list[Any]:
    """Return the checkpoint file of each run; the files of several runs are numbered."""
    return [checkpoint if checkpoint is None or runs == 1 else Path(f"{checkpoint}.{k}") for k in range(runs)]


def positive_class_index(classes: npt.NDArray[Any], label: Any) -> int:
    """Return the index of the positive class for a label; with two classes, the second by default.

    Raises
    ------
    OptionError
        There are more than two classes and no label, or there is no such label.
    """
    labels: list[Any] = classes.tolist()
    if label is None and len(labels) == 2:
        return 1
    if label not in labels or (len(labels) == 2 and label != labels[1]):
        positive_labels = labels if len(labels) > 2 else labels[1:]
        raise OptionError(f"label must be one of the classes {positive_labels}; got {short_repr(label)}. Pass label=.")
    return labels.index(label)
