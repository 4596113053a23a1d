"""Classes that are told apart: the second of two from the first, or each of several from the rest."""

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
from boostopt.estimators.training.training_data import WeightedExamples
from boostopt.estimators.training.validation_set import ValidationSet


def fit_classes(
    plan: FitSettings, examples: WeightedExamples, before: Sequence[Run | None], held: ValidationSet | None = None
) -> tuple[Run, ...]:
    """Return the run of two classes, or of each class against the rest, on from an earlier one where there is one."""
    classes = examples.classes
    files = checkpoint_paths(plan.checkpoint, len(before))
    if len(before) == 1:
        return (plan.fit_binary(examples, 1, before[0], files[0], classes[1], held),)
    if plan.time_limit is not None:
        together: Any = effective_n_jobs(plan.n_jobs)
        plan = replace(plan, time_limit=float(plan.time_limit) / math.ceil(len(before) / together))
    tasks = (delayed(plan.fit_binary)(examples, k, before[k], files[k], classes[k], held) for k in range(len(before)))
    runs: Any = Parallel(n_jobs=plan.n_jobs)(tasks)
    return tuple(runs)


def checkpoint_paths(checkpoint: Any, runs: int) -> list[Any]:
    """Return the checkpoint of each run: of several they are numbered."""
    return [checkpoint if checkpoint is None or runs == 1 else Path(f"{checkpoint}.{k}") for k in range(runs)]


def positive_class_index(classes: npt.NDArray[Any], label: Any) -> int:
    """Return the number of the class with a label that is told apart from the rest; of two the second by default.

    Raises
    ------
    OptionError
        There are more than two classes and no label, or there is no such label.
    """
    labels: list[Any] = classes.tolist()
    if label is None and len(labels) == 2:
        return 1
    if label not in labels or (len(labels) == 2 and label != labels[1]):
        told = labels if len(labels) > 2 else labels[1:]
        raise OptionError(f"label must be one of the classes {told}; got {short_repr(label)}. Pass label=.")
    return labels.index(label)
