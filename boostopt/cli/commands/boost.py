"""`boostopt boost`: one run of column generation."""

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
from boostopt.boosting.api import boost
from boostopt.boosting.registry import resolve_formulation
from boostopt.boosting.run.run import Run
from boostopt.certificates.file_writers import feature_fields
from boostopt.cli.application import command, output
from boostopt.cli.cluster_data import check_binned, check_memory_alone, connected
from boostopt.cli.option_groups import BoostParameters, ClassOptions, FileOptions, RunOptions
from boostopt.cli.option_parsing import total_count
from boostopt.cli.option_types import Cluster, Data, FormulationName, Picture, Seed
from boostopt.cli.run_output import (
    ARRAYS,
    CERTIFICATE,
    check_ending,
    check_outputs,
    check_picture,
    check_results,
    gap_in_words,
    headline,
    interrupted,
    on_cluster,
    reached,
    run_record,
    save_picture,
    weighted,
)
from boostopt.oracles import Oracle

HEAVIEST = 5
"""Number of hypotheses that the table shows."""


@command("boost")
def boost_command(
    formulation: FormulationName,
    data: Data,
    *,
    files: FileOptions,
    parameters: BoostParameters,
    hypotheses: ClassOptions,
    random_state: Seed = 0,
    how: RunOptions,
    cluster: Cluster = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="File that stores the run at intervals, and from which it continues if the file exists."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Save the run into this file, for Run.load.")] = None,
    certificate: Annotated[
        str | None, typer.Option(help="Save the certificate over the class into this file, for `boostopt verify`.")
    ] = None,
    picture: Picture = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every round.")] = False,
) -> int:
    """Boost: grow a program hypothesis by hypothesis until its soft margin is near the best of the whole class.

    Exit status 0: the gap over the class is at most epsilon. If no bound of the class is known, a stopping rule holds;
    algorithms without a stopping rule made all their rounds. 1: the run ended before. 130: one Ctrl-C; the command
    finished the round, and printed and saved the run.

    Example: boostopt boost erlpboost --data breast_cancer --nu 0.1 --epsilon 0.1
    """
    with stdout_to_stderr():
        check_outputs(data, out, certificate, picture, checkpoint)
        check_ending("--out", out, ARRAYS)
        check_ending("--certificate", certificate, CERTIFICATE)
        check_picture(picture, "bounds")
        page = resolve_formulation(formulation)
        if cluster is not None:
            check_binned(hypotheses.oracle, hypotheses.options, "--oracle")
            check_memory_alone(picture=picture, zero_based=files.zero_based)
    with ExitStack() as open_until_saved:
        with stdout_to_stderr():
            its = _examples(files, hypotheses, data, random_state, cluster)
            examples = open_until_saved.enter_context(its)
            oracle, d0 = examples.oracle, examples.d0
            values = parameters.read(page, examples.total, oracle.N)
            goal = how.problem(page, oracle, d0, values).objective
            check_results(page.name, goal, certificate, picture)
            options = how.record(checkpoint)
            try:
                run = boost(page, oracle, d0=d0, backend=how.backend, update=how.update, options=options, **values)
            except KeyboardInterrupt:
                if checkpoint is not None and Path(checkpoint).exists():
                    typer.echo(f"{checkpoint} has the run as it was stored last: the same command goes on.", err=True)
                raise
        try:
            saved = _saved(run, examples, out, certificate, picture)
        finally:
            # A file that cannot be written is an error, but the results must not be lost.
            _print(run, examples.features, json)
    for path in saved:
        typer.echo(f"saved: {path}", err=True)
    if interrupted(run):
        typer.echo(f"interrupted{_stored(out, checkpoint)}", err=True)
        return 130
    return 0 if reached(run) else 1


@dataclass(frozen=True, eq=False)
class _Examples:
    """The data of a run: the oracle, the reference distribution, the sum of c, and the names of the features."""

    oracle: Oracle
    d0: Any
    total: float
    features: tuple[str, ...]


@contextmanager
def _examples(
    files: FileOptions, hypotheses: ClassOptions, data: str, random_state: int, cluster: str | None
) -> Generator[_Examples]:
    """Read the examples, into memory or on the workers of a cluster."""
    if cluster is None:
        dataset = files.load(data)
        oracle, d0 = hypotheses.over(dataset, random_state)
        yield _Examples(oracle, d0, total_count(dataset, oracle.N), dataset.features)
        return
    with connected(cluster):
        table = files.on_cluster(data)
        oracle = table.oracle(hypotheses.options, hypotheses.reflexive)
        yield _Examples(oracle, None, oracle.total, table.features)


def _saved(run: Run, examples: _Examples, out: str | None, certificate: str | None, picture: str | None) -> list[str]:
    """Write the requested files and return their names."""
    if out is not None:
        run.save(out)
    if certificate is not None:
        run.save_certificate(certificate, examples.oracle, feature_fields(examples.features))
    if picture is not None:
        from boostopt.pictures import bounds

        save_picture(bounds(run), picture)
    return [path for path in (out, certificate, picture) if path is not None]


def _stored(out: str | None, checkpoint: str | None) -> str:
    """Say where an interrupted run is stored."""
    if checkpoint is not None:
        return f": {checkpoint} has the run, the same command goes on"
    return f": {out} has the run" if out is not None else ""


def _print(run: Run, names: tuple[str, ...], json: bool) -> None:
    """Print the results."""
    if not json:
        output().print(_table(run, names))
        return
    heaviest = [{"weight": weight, "hypothesis": words} for weight, words in weighted(run, names)]
    typer.echo(to_json_text({**run_record(run), "weights": heaviest, "trace": run.trace.to_dict()}))


def _table(run: Run, names: tuple[str, ...]) -> RenderableType:
    """Return the results as tables for people."""
    table = Table(title=Text(headline(run), "bold"), title_justify="default", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    record = run_record(run)
    table.add_row("hypotheses", Text(record["oracle"]))
    table.add_row("stopped", Text(record["reason"]))
    if run.problem.has_class_bound:
        own = run.class_certificate
        table.add_row(f"best {own.what} of the class", Text(format_interval(own.lower, own.upper)))
    table.add_row("gap", gap_in_words(run))
    if not on_cluster(run):
        certificate = run.certificate
        words = "infeasible" if certificate.infeasible else format_interval(certificate.lower, certificate.upper)
        table.add_row("optimum over them", Text(words))
    most = record["most_rounds"]
    table.add_row("rounds", f"{record['rounds']}" + (f" (theory allows {most:,.0f})" if most < float("inf") else ""))
    table.add_row("collected", f"{record['hypotheses']}, {record['active']} with a weight")
    table.add_row("seconds", f"{record['seconds']:.2f}")
    heaviest = weighted(run, names)
    total = sum(abs(weight) for weight, _ in heaviest) or 1.0
    lines = [f"{weight / total:+.3f}  {escape_unprintable(words)}" for weight, words in heaviest[:HEAVIEST]]
    table.add_row("largest weights", Text("\n".join(lines)))
    return table
