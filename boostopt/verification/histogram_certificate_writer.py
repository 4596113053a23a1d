"""The writer of certificates of histogram runs, which verifies each file before it is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from boostopt._utils.validation import check_path
from boostopt.boosting.boosting_problem import exact_objective_of_problem
from boostopt.boosting.histogram_newton.histogram_run import HistogramRun
from boostopt.boosting.objectives.exact_objective import ExactSoftMargin
from boostopt.errors import ProblemError, require_not_none
from boostopt.oracles.binned_class import BinnedClass
from boostopt.oracles.hypothesis_serialization import to_state
from boostopt.verification.certificate_writer import class_description, document_text, write_certificate_file
from boostopt.verification.formulation_consistency import functions_as_json
from boostopt.verification.histogram_certificate_verdict import SUBJECT, verify_histogram_certificate
from boostopt.verification.trusted_kernel.certificate_schema import FILE_KIND, FORMAT
from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json


def save_histogram_certificate(
    run: HistogramRun, oracle: BinnedClass, path: str | PathLike[str], metadata: Mapping[str, Any]
) -> None:
    """Save the certificate of a histogram run, after verifying both bounds.

    Parameters
    ----------
    run, oracle
        The run, and the oracle over its examples.
    path
        The file.
    metadata
        Information for readers of the file, which is not verified.

    Raises
    ------
    OptionError
        The oracle has other examples or another class.
    ProblemError
        The weights do not prove the bounds of the run.
    DataError
        The file cannot be written.
    """
    target = check_path("path", path)
    certificate, stored_run, rows = (
        run.verify_class(oracle),
        run.stored_run,
        require_not_none(oracle.binned_rows, "rows"),
    )
    formulation = stored_run.problem.formulation
    snapshot, objective = (
        stored_run.snapshot,
        require_not_none(exact_objective_of_problem(stored_run.problem, oracle.total), "an exact objective"),
    )
    proof, integer_weights = (
        require_not_none(snapshot.bounds.upper_witness, "an upper bound"),
        require_not_none(snapshot.bounds.integer_weights, "weights"),
    )
    # Another processor may compute a loss that differs by at most this tolerance.
    tolerance = float(2 * objective.unit * objective.platform_tolerance)
    parameters = {
        name: value for name, value in vars(stored_run.problem.template.parameters).items() if np.ndim(value) == 0
    }
    document = {
        "kind": FILE_KIND,
        "format": FORMAT,
        "subject": SUBJECT,
        "formulation": {
            "name": formulation.name,
            "parameters": parameters,
            **functions_as_json(formulation, stored_run.problem.template.parameters, stored_run.problem.examples),
        },
        "nu": float(objective.nu) if isinstance(objective, ExactSoftMargin) else None,
        "data": {
            "N": oracle.N,
            "examples": int(oracle.total),
            "oracle": class_description(oracle),
            "digest": rows.digest(),
            "hypotheses": [
                {"split": list(split), "is": to_state(hypothesis)}
                for split, hypothesis in zip(snapshot.pool, stored_run.hypotheses, strict=True)
            ],
        },
        "w": integer_weights.tolist(),
        "d": {
            "w": proof.hypothesis_weights.tolist(),
            "origin": proof.grid.origin,
            "shift": proof.grid.log2_bin_width,
            "table": proof.integer_weights.tolist(),
        },
        # One float outward: the decimal digits of a float may lie on either side of it.
        "claim": {
            "lower": math.nextafter(certificate.lower - tolerance, -math.inf),
            "upper": math.nextafter(certificate.upper + tolerance, math.inf),
            "what": certificate.quantity,
        },
        "made": dict(metadata),
    }
    try:
        verify_histogram_certificate(parse_json(document_text({**document, "arrays": {}})), oracle, {}, formulation)
    except Rejected as rejected:
        raise ProblemError(
            f"expected a run whose weights prove its bounds; {rejected}. Please report this bug."
        ) from rejected
    write_certificate_file(target, document, {})
