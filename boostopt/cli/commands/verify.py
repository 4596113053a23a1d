"""`boostopt verify`: verify a certificate file with the data."""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from boostopt._utils.files import Keys, lack_of
from boostopt._utils.formatting import format_count, format_interval
from boostopt._utils.json_values import to_json_text
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.cli.application import command, console
from boostopt.cli.option_groups import FileOptions, HypothesisClassOptions, StumpOptions
from boostopt.cli.option_parsing import parse_class_weight
from boostopt.cli.option_types import DATA_HELP, DEFAULT_HYPOTHESES, ClassWeight
from boostopt.cli.oracle_options import TREE_CLASS
from boostopt.data.datasets import Dataset
from boostopt.errors import DataError, OptionError, format_names_truncated
from boostopt.oracles import Oracle
from boostopt.programs.formulation import Formulation
from boostopt.programs.formulation_catalogue import default_formulation_name, get_formulation
from boostopt.programs.parameters import typical_value
from boostopt.verification import Verification
from boostopt.verification.problem_certificate_verdict import PROBLEM_FILES, is_problem_certificate
from boostopt.verification.verify import CertificateFile

TINY_NU = 1e-12
"""A share nu of less than one example, with which a fit scales weights below 1."""

VERIFICATION = Keys(
    Verification,
    {
        "accepted": "accepted",
        "reason": "reason",
        "formulation": "formulation",
        "parameters": "parameters",
        "outcome": "outcome",
        "lower": "lower",
        "upper": "upper",
        "fractions": "fractions",
        "claimed": "claimed",
        "verdict": "verdict",
        "what": "quantity",
    },
)
"""Keys of the verdict as JSON."""


@dataclass(frozen=True, kw_only=True)
class ProofOptions:
    """The options of the proof that is in the file."""

    classifier: Annotated[
        bool,
        typer.Option(
            "--classifier",
            help="The file is the proof of a fit: equal examples are merged if the formulation allows it, and the "
            "class contains the constants.",
        ),
    ] = False
    class_weight: ClassWeight = None
    formulation_file: Annotated[
        str | None, typer.Option("--formulation", help="File of a formulation of your own.")
    ] = None
    exact: Annotated[bool, typer.Option("--exact", help="Prove it in exact arithmetic.")] = False

    def validate(self) -> None:
        """Raise OptionError for class weights without `--classifier`."""
        if self.class_weight is not None and not self.classifier:
            raise OptionError("--class-weight is for the proof of a fit: pass --classifier too, or leave it out.")


@command("verify")
def verify_command(
    certificate: Annotated[str, typer.Argument(help="The file that was saved.")],
    data: Annotated[
        str | None,
        typer.Option(
            help=f"{DATA_HELP} The file of a CVXPY problem, or of a linear or conic program, needs none, or the "
            "file of its problem."
        ),
    ] = None,
    *,
    files: FileOptions,
    draw: StumpOptions,
    hypotheses: HypothesisClassOptions,
    proof: ProofOptions,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Recompute every bound of a certificate file from the data: accepted, or rejected with the reason.

    No solver runs, and the command trusts nothing in the file. It checks the certificate of a run against the class of
    its oracle, with one call of the oracle.

    Example: boostopt verify certificate.json --data instance.npz --exact
    """
    file = _load_file(certificate)
    if file.subject == "problem":
        return _print_verification(certificate, _verify_problem(file, data), math.nan, json)
    if data is None:
        raise OptionError("verify needs the data that the certificate is of: pass --data.")
    with stdout_to_stderr():
        proof.validate()
        program_formulation = None if proof.formulation_file is None else get_formulation(proof.formulation_file)
        dataset = files.load_dataset(data).with_features(file.features)
        classifier, exact = proof.classifier, proof.exact
        weights = _class_weight(proof.class_weight, dataset)
        if file.subject == "class":
            arguments = dataset, hypotheses, draw.random_state, weights, program_formulation
            oracle = _oracle_of_certificate(classifier, *arguments)
            total = oracle.total
            verification = file.verify(oracle, formulation=program_formulation, exact=exact)
            if not verification and classifier:
                scaled = _oracle_of_fit(dataset, hypotheses, weights, program_formulation, TINY_NU)
                if scaled.digest != oracle.digest:
                    verification = file.verify(scaled, formulation=program_formulation, exact=exact) or verification
            if not verification and dataset.X is not None and hypotheses.oracle != TREE_CLASS:
                other_oracle = _oracle_of_certificate(not classifier, *arguments)
                retry = file.verify(other_oracle, formulation=program_formulation)
                verification = replace(verification, reason=verification.reason + _classifier_hint(retry, classifier))
        else:
            U = draw.margin_matrix(dataset)
            c = np.ones(U.shape[0]) if dataset.c is None else dataset.c
            total, d0 = float(c.sum()), c / c.sum() if dataset.d0 is None else dataset.d0
            verification = file.verify(U, c=c, d0=d0, formulation=program_formulation, exact=exact)
            if not verification and dataset.X is not None and draw.hypotheses == DEFAULT_HYPOTHESES:
                # Older versions drew random stumps by default.
                random_columns = replace(draw, hypotheses="random").margin_matrix(dataset)
                verification = (
                    file.verify(random_columns, c=c, d0=d0, formulation=program_formulation, exact=exact)
                    or verification
                )
        if not verification:
            verification = replace(
                verification, reason=verification.reason + _missing_features_hint(file.features, dataset)
            )
    return _print_verification(certificate, verification, total, json)


def _load_file(path: str) -> CertificateFile:
    """Return a certificate file.

    Raises
    ------
    DataError
        There is no such file, or it is of another kind.
    """
    if not os.path.isfile(path):
        raise DataError(f"expected a certificate file; {lack_of(path)}")
    if zipfile.is_zipfile(path):
        raise DataError(
            f"expected a certificate file; {path!r} is an npz file: a model, a run, an instance or an "
            "answer. Certificates are written by `boostopt fit --certificate`, `boostopt boost --certificate` and "
            "`boostopt certify --save`."
        )
    return CertificateFile.load(path)


def _verify_problem(file: CertificateFile, data: str | None) -> Verification:
    """Return the verdict on the file of a CVXPY problem, or of a linear or conic program.

    Raises
    ------
    OptionError
        There are data, but the file holds its CVXPY problem.
    """
    if data is not None and is_problem_certificate(file.top) and not PROBLEM_FILES.is_beside(file.top):
        raise OptionError(f"the file of a CVXPY problem holds its data; got --data {data}. Leave it out.")
    return file.verify(data)


def _print_verification(path: str, verification: Verification, total: float, json: bool) -> int:
    """Print a verdict; return the exit status."""
    if json:
        typer.echo(to_json_text(VERIFICATION.to_file(verification)))
    else:
        console().print(_verification_table(path, verification, total))
    return 0 if verification else 1


def _class_weight(text: str | None, dataset: Dataset) -> Any:
    """Return the class weights with the labels -1 and 1 in place of the classes of the file."""
    weights = parse_class_weight(text, np.array(dataset.classes))
    if not isinstance(weights, dict):
        return weights
    return {label: weights[name] for label, name in zip((-1, 1), dataset.classes, strict=True) if name in weights}


def _oracle_of_certificate(
    classifier: bool,
    dataset: Dataset,
    hypotheses: HypothesisClassOptions,
    random_state: int,
    class_weight: Any,
    formulation: Formulation[Any] | None,
) -> Oracle:
    """Return the oracle of `boostopt fit` or of `boostopt boost` over a data set."""
    if classifier:
        return _oracle_of_fit(dataset, hypotheses, class_weight, formulation)
    return hypotheses.make_oracle(dataset, random_state)[0]


def _classifier_hint(retry: Verification, classifier: bool) -> str:
    """Return advice if the certificate was accepted with the opposite value of `--classifier`; "" otherwise."""
    if not retry:
        return ""
    return f". It is the proof of {'a run: leave out' if classifier else 'a fit: pass'} --classifier"


def _missing_features_hint(names: tuple[str, ...], dataset: Dataset) -> str:
    """Return the features of the certificate that the data lack, and advice; "" if none is missing."""
    missing = [name for name in names if name not in dataset.features]
    if not missing or not dataset.features:
        return ""
    extra = [name for name in dataset.features if name not in names]
    extra_text = f", and has {format_names_truncated(extra)}" if extra else ""
    return (
        f". Of the {format_count(len(names), 'feature')} of the certificate, {dataset.name} lacks "
        f"{format_names_truncated(missing)}"
        f"{extra_text}. Pass a table with the columns of the certificate, in any order"
    )


def _oracle_of_fit(
    dataset: Dataset,
    hypotheses: HypothesisClassOptions,
    class_weight: Any,
    formulation: Formulation[Any] | None,
    nu: float = 1.0,
) -> Oracle:
    """Return the oracle of `boostopt fit`; among the parameters, only a tiny nu changes the multiplicities.

    Raises
    ------
    OptionError
        The data are a margin matrix and not examples, or there is no such class or option.
    """
    from boostopt.estimators import MarginBoostClassifier
    from boostopt.estimators.training.binary_fit import CLASSIFIER_PARAMETERS

    if dataset.X is None:
        raise OptionError(f"a classifier is fitted to X and y; {dataset.name} holds U. Leave out --classifier.")
    N, parameters = int(dataset.X.shape[0]), {} if formulation is None else formulation.parameters
    model = MarginBoostClassifier(
        default_formulation_name() if formulation is None else formulation,
        nu=nu,
        parameters={
            name: typical_value(parameter.domain, N)
            for name, parameter in parameters.items()
            if parameter.required and name not in CLASSIFIER_PARAMETERS
        },
        base=hypotheses.oracle or "stump",
        base_options=hypotheses.options or None,
        reflexive=hypotheses.reflexive is not False,
        class_weight=class_weight,
    )
    return model.class_of(dataset.X, dataset.y, dataset.c)


def _verification_table(path: str, verification: Verification, total: float) -> Table:
    """Return the verdict, the bounds in the file and the recomputed bounds as a table; `total` is the sum of c."""
    v = verification
    table = Table(title=Text(path, "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("verdict", Text("accepted" if v else "rejected", style="bold green" if v else "bold red"))
    table.add_row("reason", Text(v.reason))
    if v.formulation:
        parameters = v.parameters or {}
        settings = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        share = f", nu is {parameters['nu'] / total:.4g} of all weight" if v and "nu" in parameters else ""
        table.add_row("formulation", Text(f"{v.formulation}({settings}){share}"))
    if v.outcome == "solved":
        table.add_row("claimed", Text(format_interval(*v.claimed)))
    if v and v.outcome == "solved":
        table.add_row("recomputed", Text(format_interval(v.lower, v.upper)))
    if v.outcome == "infeasible" and v.formulation:
        table.add_row("claimed", Text("there is no optimum: no d keeps the edges within their limits"))
    return table
