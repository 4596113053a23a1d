"""`boostopt boost`: run column generation once, and print, save and draw the run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from boostopt._utils.formatting import escape_unprintable, format_interval
from boostopt._utils.json_values import to_json_text
from boostopt.backends.isolation.standard_output import stdout_to_stderr
from boostopt.boosting.boost_function import boost
from boostopt.boosting.boost_options import BoostRequest
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.histogram_newton.method_selection import backend_prevents_histogram_newton
from boostopt.boosting.run.run import Run
from boostopt.boosting_certificates.feature_name_metadata import feature_metadata
from boostopt.cli.application import command, console
from boostopt.cli.cluster_data import cluster_connection, reject_distributed, validate_binned
from boostopt.cli.option_groups import BoostParameters, FileOptions, RunOptions, SeededClassOptions
from boostopt.cli.option_parsing import total_multiplicity
from boostopt.cli.option_types import Cluster, Data, FormulationName, Picture
from boostopt.cli.run_output import (
    JSON_FORMAT,
    NPZ_FORMAT,
    describe_weights,
    gap_text,
    is_distributed,
    is_successful,
    run_headline,
    run_to_json,
    save_picture,
    validate_output_paths,
    validate_picture_path,
    validate_requested_results,
    validate_suffix,
    was_interrupted,
)
from boostopt.oracles.base import HypothesisClass

MAX_SHOWN_WEIGHTS = 5
"""Number of hypotheses that the table shows."""


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """The files that a run is written into, and the format in which it is printed."""

    checkpoint: Annotated[
        str | None,
        typer.Option(help="File that stores the run at intervals, and from which it continues if the file exists."),
    ] = None
    out: Annotated[str | None, typer.Option(help="Save the run into this file, for Run.load.")] = None
    certificate: Annotated[
        str | None, typer.Option(help="Save the certificate over the class into this file, for `boostopt verify`.")
    ] = None
    picture: Picture = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every round.")] = False

    def validate(self, data: str) -> None:
        """Raise an error, before any work, for a path that cannot be written or has the wrong ending."""
        validate_output_paths(data, self.out, self.certificate, self.picture, self.checkpoint)
        validate_suffix("--out", self.out, NPZ_FORMAT)
        validate_suffix("--certificate", self.certificate, JSON_FORMAT)
        validate_picture_path(self.picture, "bounds")

    def write_results(self, run: Run, examples: _RunInput) -> list[str]:
        """Write the results of a run into the files, and return the names of these."""
        if self.out is not None:
            run.save(self.out)
        if self.certificate is not None:
            run.save_certificate(self.certificate, examples.oracle, feature_metadata(examples.features))
        if self.picture is not None:
            from boostopt.pictures import bounds

            save_picture(bounds(run), self.picture)
        return [path for path in (self.out, self.certificate, self.picture) if path is not None]

    @property
    def resume_hint(self) -> str:
        """The end of a sentence that names the file of an interrupted run."""
        if self.checkpoint is not None:
            return f": {self.checkpoint} has the run, the same command continues"
        return f": {self.out} has the run" if self.out is not None else ""


@command("boost")
def boost_command(
    formulation: FormulationName,
    data: Data,
    *,
    files: FileOptions,
    parameters: BoostParameters,
    hypotheses: SeededClassOptions,
    run_options: RunOptions,
    cluster: Cluster = None,
    output: RunOutput,
) -> int:
    """Boost: grow a program hypothesis by hypothesis until its soft margin is near the best of the whole class.

    Exit status 0: the gap over the class is at most epsilon. If there is no bound over the class, a stopping rule
    holds; algorithms without a stopping rule made all their rounds. 1: the run stopped before. 130: one Ctrl-C; the
    command finished the round, and printed and saved the run.

    Example: boostopt boost erlpboost --data breast_cancer --nu 0.1 --epsilon 0.1
    """
    with stdout_to_stderr():
        output.validate(data)
        program_formulation = resolve_formulation(formulation)
        if cluster is not None:
            validate_binned(hypotheses.oracle, hypotheses.options, "--oracle")
            reject_distributed(picture=output.picture, zero_based=files.zero_based)
    with ExitStack() as resources:  # a cluster stays connected until the run is saved
        with stdout_to_stderr():
            examples = resources.enter_context(_load_examples(files, hypotheses, data, cluster))
            oracle, d0 = examples.oracle, examples.d0
            values = parameters.parse_parameters(program_formulation, examples.total, oracle.N)
            problem = run_options.problem(program_formulation, oracle, d0, values)
            validate_requested_results(problem.template, problem.objective, output.certificate, output.picture)
            options = run_options.to_boost_options(output.checkpoint)
            if run_options.update is None and d0 is None:
                settings = {name: value for name, value in values.items() if value is not None}
                epsilon = settings.pop("epsilon", None)
                request = BoostRequest(program_formulation, oracle, epsilon, settings, options)
                _print_effect_of_backend(request, run_options.backend)
            try:
                run = boost(
                    program_formulation,
                    oracle,
                    d0=d0,
                    backend=run_options.backend,
                    update=run_options.update,
                    options=options,
                    **values,
                )
            except KeyboardInterrupt:
                if (checkpoint := output.checkpoint) is not None and Path(checkpoint).exists():
                    typer.echo(f"{checkpoint} has the run as it was stored last: the same command continues.", err=True)
                raise
        try:
            paths = output.write_results(run, examples)
        finally:
            # If a file cannot be written, the command fails, but it prints the results first.
            _print_run(run, examples.features, output.json)
    for path in paths:
        typer.echo(f"saved: {path}", err=True)
    if was_interrupted(run):
        typer.echo(f"interrupted{output.resume_hint}", err=True)
        return 130
    return 0 if is_successful(run) else 1


@dataclass(frozen=True, eq=False)
class _RunInput:
    """The data of a run.

    Attributes
    ----------
    oracle
        The examples and the hypothesis class.
    d0
        The reference distribution; None for the default.
    total
        The sum of the multiplicities c.
    features
        The names of the features; () if the data have none.
    """

    oracle: HypothesisClass
    d0: Any
    total: float
    features: tuple[str, ...]


@contextmanager
def _load_examples(
    files: FileOptions, hypotheses: SeededClassOptions, data: str, cluster: str | None
) -> Generator[_RunInput]:
    """Load the examples into memory, or into the workers of a cluster that stays connected in the context."""
    if cluster is None:
        dataset = files.load_dataset(data)
        oracle, d0 = hypotheses.make_seeded_oracle(dataset)
        yield _RunInput(oracle, d0, total_multiplicity(dataset, oracle.N), dataset.features)
        return
    with cluster_connection(cluster):
        table = files.on_cluster(data)
        oracle = table.oracle(hypotheses.options, hypotheses.reflexive)
        yield _RunInput(oracle, None, oracle.total, table.features)


def _print_effect_of_backend(request: BoostRequest, backend: str) -> None:
    """Say that a named backend solves the program of each round, where passes over the data are the default."""
    if backend_prevents_histogram_newton(request, backend):
        typer.echo(
            f"--backend {backend}: this solver solves the program of each round. Without --backend, the run makes "
            "passes over the data instead, which takes less time for many examples.",
            err=True,
        )


def _print_run(run: Run, names: tuple[str, ...], json: bool) -> None:
    """Print the output."""
    if not json:
        console().print(_run_table(run, names))
        return
    weights = [{"weight": weight, "hypothesis": text} for weight, text in describe_weights(run, names)]
    typer.echo(to_json_text({**run_to_json(run), "weights": weights, "trace": run.trace.to_dict()}))


def _run_table(run: Run, names: tuple[str, ...]) -> RenderableType:
    """Return the results as tables for people."""
    table = Table(title=Text(run_headline(run), "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    record = run_to_json(run)
    table.add_row("hypotheses", Text(record["oracle"]))
    table.add_row("stopped", Text(record["reason"]))
    if run.problem.has_class_bound:
        bounds = run.class_certificate
        table.add_row(f"best {bounds.quantity} of the class", Text(format_interval(bounds.lower, bounds.upper)))
    table.add_row("gap", gap_text(run))
    if not is_distributed(run):
        certificate = run.certificate
        interval = format_interval(certificate.lower, certificate.upper)
        table.add_row("optimum over the collected", Text("infeasible" if certificate.infeasible else interval))
    bound = record["most_rounds"]
    table.add_row("rounds", f"{record['rounds']}" + (f" (theory allows {bound:,.0f})" if bound < float("inf") else ""))
    table.add_row("collected", f"{record['hypotheses']}, {record['active']} with a weight")
    table.add_row("seconds", f"{record['seconds']:.2f}")
    weights = describe_weights(run, names)
    total = sum(abs(weight) for weight, _ in weights) or 1.0
    lines = [f"{weight / total:+z.3f}  {escape_unprintable(text)}" for weight, text in weights[:MAX_SHOWN_WEIGHTS]]
    table.add_row("largest weights", Text("\n".join(lines)))
    return table
