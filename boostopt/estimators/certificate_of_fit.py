"""The certificate file of a fitted estimator."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from boostopt.boosting.run.run import DifferentExamples, Run
from boostopt.errors import OptionError
from boostopt.oracles.base import HypothesisClass


def save_certificate_of_fit(
    run: Run, path: str | PathLike[str], hypotheses: HypothesisClass, provenance: Mapping[str, Any]
) -> None:
    """Save the certificate of a run over a class of the same examples.

    Raises
    ------
    OptionError
        The examples differ from those of the fit.
    """
    try:
        run.save_certificate(path, hypotheses, provenance)
    except DifferentExamples as failure:
        raise OptionError(
            f"save_certificate needs the rows, labels and weights of the fit; got others, {hypotheses} over "
            f"{hypotheses.N} different examples. Pass X, y and sample_weight as to fit, with its parameters."
        ) from failure
