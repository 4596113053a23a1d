"""`verify`: recompute the bounds of a certificate file from the data, and accept or reject its claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from boostopt._utils.validation import check_array, check_flag, check_path
from boostopt.boosting_certificates.feature_name_metadata import feature_names
from boostopt.errors import OptionError, ProblemError, reason_of
from boostopt.programs.formulation import normalize_reference
from boostopt.verification.class_certificate_files import verify_class_certificate
from boostopt.verification.class_statements import NO_EXACT_PROOF
from boostopt.verification.conic_files.conic_verdict import is_conic_certificate, verify_conic_certificate
from boostopt.verification.described_files.described_class_verdict import (
    is_described_class_certificate,
    verify_described_class_certificate,
)
from boostopt.verification.described_files.described_verdict import (
    is_described_certificate,
    verify_described_certificate,
)
from boostopt.verification.histogram_certificate_verdict import SUBJECT as HISTOGRAM_SUBJECT
from boostopt.verification.histogram_certificate_verdict import verify_histogram_certificate
from boostopt.verification.linear_files.linear_verdict import is_linear_certificate, verify_linear_certificate
from boostopt.verification.problem_certificate_verdict import is_problem_certificate, verify_problem_certificate
from boostopt.verification.trusted_kernel.certificate_schema import CertificateDocument, read_document, read_json_object
from boostopt.verification.trusted_kernel.checker import ProvedBounds, check_shape, recompute_bounds
from boostopt.verification.trusted_kernel.json_parsing import Rejected, reject
from boostopt.verification.trusted_kernel.number_types import FloatBalls
from boostopt.verification.trusted_kernel.stated_limits import StatedLimits, split_limits
from boostopt.verification.verification_result import (
    BOTH_BOUNDS,
    NO_FURTHER_CLAIM,
    Verification,
    as_margin_matrix,
    check_claims,
    claimed_bounds_text,
    make_verification,
)


def verify(
    path: str | PathLike[str],
    data: Any = None,
    *,
    c: Any = None,
    d0: Any = None,
    U: Any = None,
    formulation: Any = None,
    exact: bool = False,
) -> Verification:
    """Recompute every bound of a certificate file from the data, and say whether it holds.

    `verify` does not trust the file and executes nothing in it. The bounds of a program are computed by
    `boostopt.verification.trusted_kernel.checker`, with the other modules of the same package and `parsing`,
    `expressions`, `differentiation`, `convexity`, `intervals`, `compilation` and `conjugate_maximizers` of
    `boostopt.functions.formulas`. The bounds of a histogram run are computed by
    `boostopt.verification.trusted_kernel.data_passes`. These modules import NumPy, and nothing of a solver or of a run.
    You also trust the formulation, which defines F and G, and for a class its oracle. The file of a CVXPY problem holds
    the problem with its data: `boostopt.verification.problem_kernel` proves its bounds in exact arithmetic, without
    CVXPY. That of the exact optimum of a linear program holds the program, and `boostopt.verification.linear_kernel`
    proves it in fractions of Python alone; that of a quadratic or conic program is proved by
    `boostopt.verification.conic_kernel`.

    Parameters
    ----------
    path
        The file.
    data
        The margin matrix, shape (N, t): an array, a scipy sparse matrix or a `MarginMatrix`; or a program over it, with
        the same F, G, multiplicities and reference distribution as the file. For the certificate of a class, pass its
        oracle, which gets one query. For a histogram run, pass an oracle with binned rows; the file of a soft
        margin is always proved in whole numbers. The file of a CVXPY problem needs none; pass the problem to check that
        the file states this one, or the path of the file of its problem if it was saved elsewhere. The same holds for
        a linear or conic program: pass a `ConicProgram`, or an MPS or another file of `load_problem`.
    c, d0
        The multiplicities and the reference distribution, shape (N,), that the file must state. By default those of
        the program or of the oracle; for a margin matrix 1 for each example, and d0 proportional to c.
    U
        The margins of the hypotheses with weight, for the certificate of a class, if the oracle cannot compute them.
        With limits on the weights, the rows of the limits stand below those of the examples. They must be minus the
        coefficients that hypotheses with these margins have in the limits of the oracle, in some group with costs.
    formulation
        Your own formulation, or the path of its file. The formulations of boostopt are found by their names.
    exact
        Whether to compute in exact rationals (linear and quadratic programs) or in ball arithmetic (entropies, norms,
        formulas), which needs python-flint. The interval is then proved. That of a CVXPY problem always is.

    Returns
    -------
    The verdict. A file that cannot be read is also rejected.

    Raises
    ------
    ProblemError
        The data are missing or not a matrix of finite numbers, or c or d0 is not a vector of numbers; or the problem is
        no CVXPY problem, or the program not of the kind of the file.
    DataError
        A file of a program is not as its format states.
    OptionError
        python-flint is needed but not installed; or you asked for an exact proof of a class, or of a certificate that
        holds by the bounded recomputation but that exact arithmetic does not decide.
    """
    exact = check_flag("exact", exact)
    return CertificateFile.load(path).verify(data, c=c, d0=d0, U=U, formulation=formulation, exact=exact)


@dataclass(frozen=True)
class CertificateFile:
    """A certificate file whose text is read once.

    Attributes
    ----------
    path
        The file.
    top
        The object that the text states; empty if it states none.
    fault
        The reason in words if the text states no object, otherwise "".
    """

    path: Path
    top: Mapping[str, Any]
    fault: str = ""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CertificateFile:
        """Read the text of a file."""
        source = check_path("path", path)
        try:
            return cls(source, read_json_object(source))
        except Rejected as rejected:
            return cls(source, {}, str(rejected))

    def verify(
        self,
        data: Any = None,
        *,
        c: Any = None,
        d0: Any = None,
        U: Any = None,
        formulation: Any = None,
        exact: bool = False,
    ) -> Verification:
        """Return the verdict; see `verify`."""
        if self.fault:
            return Verification(False, self.fault)
        if is_problem_certificate(self.top):
            return verify_problem_certificate(self.top, data, self.path.parent)
        if is_linear_certificate(self.top):
            return verify_linear_certificate(self.top, data, self.path.parent)
        if is_conic_certificate(self.top):
            return verify_conic_certificate(self.top, data, self.path.parent)
        if data is None:
            raise ProblemError(
                "expected the margin matrix, the program or the oracle that the certificate is of; got none. Pass "
                "verify(path, U): only the files of CVXPY problems, and of linear and conic programs, hold their data."
            )
        if is_described_certificate(self.top):
            return verify_described_certificate(self.top, data, _expected_vectors(c, d0), formulation)
        if is_described_class_certificate(self.top):
            if exact:
                raise OptionError(NO_EXACT_PROOF)
            return verify_described_class_certificate(self.top, data, U, _expected_vectors(c, d0), formulation)
        try:
            if self.top.get("subject") == HISTOGRAM_SUBJECT:
                return verify_histogram_certificate(self.top, data, _expected_vectors(c, d0), formulation)
            content, limits = split_limits(self.top)
            document = read_document(self.path, content)
        except Rejected as rejected:
            return Verification(False, str(rejected))
        try:
            with np.errstate(all="ignore"):
                return _verify_document(document, data, c, d0, U, formulation, exact, limits)
        except Rejected as rejected:
            return make_verification(document, False, str(rejected), None, exact)
        except MemoryError:
            return make_verification(document, False, "verification needs more memory than there is", None, exact)

    @property
    def subject(self) -> str:
        """The subject of the file, "program", "class" or "problem"; "" if it cannot be read."""
        if any(is_kind(self.top) for is_kind in (is_problem_certificate, is_linear_certificate, is_conic_certificate)):
            return "problem"
        if is_described_certificate(self.top):
            return "program"
        if is_described_class_certificate(self.top):
            return "class"
        try:
            if self.top.get("subject") == HISTOGRAM_SUBJECT:
                return "class"
            return read_document(self.path, split_limits(self.top)[0]).subject
        except Rejected:
            return ""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that the file states, in their order; () if it states none.

        The verdict does not depend on these names. They only help to find the columns of a table.
        """
        return feature_names(self.top.get("made"))


def subject(path: str | PathLike[str]) -> str:
    """Return the subject of a certificate file, "program", "class" or "problem"; "" if the file cannot be read."""
    return CertificateFile.load(path).subject


def _verify_document(
    document: CertificateDocument,
    data: Any,
    c: Any,
    d0: Any,
    U: Any,
    formulation: Any,
    exact: bool,
    limits: StatedLimits | None,
) -> Verification:
    """Return the verdict on the document of a file."""
    from boostopt.verification.formulation_consistency import check_formulation_consistency

    expected = _expected_vectors(c, d0)
    if document.subject == "class":
        if exact:
            raise OptionError(NO_EXACT_PROOF)
        _require_vectors(document, expected)
        return verify_class_certificate(document, data, U, formulation, limits)
    program = data if hasattr(data, "examples") and hasattr(data, "margins") else None
    margins = as_margin_matrix(data if program is None else program.margins)
    check_shape(document, margins)
    default_c = np.ones(document.N) if program is None else program.examples.c
    c = default_c if expected["c"] is None else expected["c"]
    d0 = (c / c.sum() if program is None else program.examples.d0) if expected["d0"] is None else expected["d0"]
    _require_vectors(document, {"c": c, "d0": d0})
    check_formulation_consistency(document, formulation, program)
    bounds = _prove_bounds(document, margins) if exact else recompute_bounds(document, margins, FloatBalls())
    check_claims(document, bounds)
    method = f"proved in exact arithmetic{_computed_numbers_text(document)}" if exact else "recomputed from the data"
    if document.outcome == "infeasible":
        return make_verification(document, True, f"the proof of infeasibility was {method}", bounds, exact)
    claimed_bounds = claimed_bounds_text(document)
    verb = "were" if claimed_bounds == BOTH_BOUNDS else "was"
    suffix = "" if claimed_bounds == BOTH_BOUNDS else NO_FURTHER_CLAIM
    return make_verification(document, True, f"{claimed_bounds} of the interval {verb} {method}{suffix}", bounds, exact)


def _prove_bounds(document: CertificateDocument, rows: Any) -> ProvedBounds:
    """Return the bounds in exact arithmetic.

    Raises
    ------
    Rejected
        The bounded recomputation does not prove the claims.
    OptionError
        The bounded recomputation proves the claims, but exact arithmetic does not decide them or needs a package.
    """
    from boostopt.verification.trusted_kernel.exact_numbers import prove

    try:
        bounds = prove(document, rows)
        if _is_decided(document, bounds):
            return bounds
        reason = "a bound is not finite there"
    except Rejected as undecided:
        reason = reason_of(undecided)
    check_claims(document, recompute_bounds(document, rows, FloatBalls()))
    raise OptionError(
        f"exact=True needs a proof that exact arithmetic decides; it does not decide this one: {reason}. The proof "
        "holds by the bounded recomputation: leave out exact=True."
    )


def _is_decided(document: CertificateDocument, bounds: ProvedBounds) -> bool:
    """Return whether every finite bound that a document claims has a finite proved bound."""
    pairs = ((document.lower, bounds.lower), (document.upper, bounds.upper))
    return document.outcome == "infeasible" or not any(
        math.isfinite(claimed) and not math.isfinite(proved) for claimed, proved in pairs
    )


def _expected_vectors(c: Any, d0: Any) -> dict[str, np.ndarray | None]:
    """Return the multiplicities and the reference distribution of the caller; None for a vector that is not checked."""
    return {
        "c": None if c is None else _as_vector("c", c),
        "d0": None if d0 is None else normalize_reference(_as_vector("d0", d0)),
    }


def _computed_numbers_text(document: CertificateDocument) -> str:
    """Return the numbers of F and G that are no parameters, in words: the formulation computes them in floats."""
    parameter_values = {0.0, 1.0, 2.0, *(value for value in document.parameters.values() if isinstance(value, float))}
    statements: list[Mapping[str, Any]] = [
        document.F,
        document.F.get("base", {}),
        document.F.get("parameters", {}),
        document.G,
        document.G.get("parameters", {}),
    ]
    numbers = {name: value for statement in statements for name, value in statement.items() if isinstance(value, float)}
    computed = [f"{name} = {value!r}" for name, value in numbers.items() if value not in parameter_values]
    computed += [f"the {name} of each example" for name in ("caps", "tilt") if name in document.arrays]
    return f", for {' and '.join(computed)}, computed from the parameters in floats" if computed else ""


def _as_vector(name: str, values: Any) -> np.ndarray:
    """Return multiplicities or reference weights of the caller as floats; ProblemError if they are no vector."""
    vector = check_array(name, values)
    if vector.ndim != 1 or vector.dtype.kind not in "biuf":
        raise ProblemError(
            f"{name} must be a vector of real numbers; got shape {vector.shape} of {vector.dtype}. Pass one number for "
            "each example."
        )
    return vector.astype(np.float64)


def _require_vectors(document: CertificateDocument, expected: Mapping[str, np.ndarray | None]) -> None:
    """Reject a file with other multiplicities or reference weights than those of the caller."""
    for name, values in expected.items():
        # The sizes are compared first, because the file may state more examples than memory can hold.
        if values is None:
            continue
        if len(values) != document.N or not np.array_equal(document.c if name == "c" else document.d0, values):
            vector = "multiplicities c" if name == "c" else "reference weights d0"
            reject(f"the certificate has other {vector} than the data; if the data have weights, pass them as {name}=")
