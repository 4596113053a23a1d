"""The types of the options of the commands: Python types, names, parsers and help texts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from boostopt.backends.accuracy_profiles import CERTIFIED_MODE, PROFILES

DEFAULT_COLUMNS = 100
DEFAULT_HYPOTHESES = "boosted"
DEFAULT_TIME_LIMIT = 60.0
DEFAULT_TOL = 1e-8
DEFAULT_REPEATS = 3


def parse_float(text: Any) -> float:
    """Return the number that a text of the command line states."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number; got {text!r}.") from None


def parse_tolerance(text: Any) -> float | str:
    """Return a target gap, or the name of a profile, from a text of the command line."""
    word = str(text).strip()
    if word in (*PROFILES, CERTIFIED_MODE):
        return word
    try:
        return float(word)
    except ValueError:
        profiles = ", ".join((*PROFILES, CERTIFIED_MODE))
        raise typer.BadParameter(f"expected a number, or the name of a profile: {profiles}; got {text!r}.") from None


def parse_int(text: Any) -> int:
    """Return the whole number that a text of the command line states."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"expected a whole number; got {text!r}.") from None


def parse_positive_int(text: Any) -> int:
    """Return a number of columns, at least 1, from a text of the command line."""
    columns = parse_int(text)
    if columns < 1:
        raise typer.BadParameter(f"expected a whole number of at least 1; got {columns}.")
    return columns


# The errors of Typer do not show the invalid value; these parsers do.
NUMBER: dict[str, Any] = {"parser": parse_float, "metavar": "<float>"}
WHOLE_NUMBER: dict[str, Any] = {"parser": parse_int, "metavar": "<int>"}
AT_LEAST_ONE: dict[str, Any] = {"parser": parse_positive_int, "metavar": "<int>"}

DATA_HELP = (
    "breast_cancer, digits, iris, wine, or a file: svmlight (.gz, .bz2, .xz too), .csv, .tsv, .npz with X and y or U, "
    ".parquet, a folder of these or a pattern in quotes."
)
BACKEND_HELP = "The solver of the programs, by name or as the file of a backend; auto chooses."

FormulationName = Annotated[str, typer.Argument(help="Name (see `boostopt list`) or path of a formulation file.")]
Data = Annotated[str, typer.Option(help=DATA_HELP)]
Label = Annotated[str, typer.Option(help="Column of a CSV or parquet file that holds the class.")]
Positive = Annotated[str | None, typer.Option(help="Class that counts as 1 against all others.")]
Weights = Annotated[
    str | None, typer.Option(help="Column of a CSV or parquet file that holds the examples' weights c.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of a CSV or parquet file that are not features: id,date. Repeat it for names with commas."
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether the index of the first feature in svmlight text is 0 or 1; 0 only if it occurs, if left out.",
    ),
]
MissingValues = Annotated[
    str | None,
    typer.Option(
        help="Spellings of a missing label, separated by commas; '' for none but a blank. If left out: NA, N/A, null, "
        "None, nan, ? and the like, in any case."
    ),
]
Nu = Annotated[
    str | None,
    typer.Option(help="0.1 is a fraction of the examples, 50 a number of them; 1 is one example, 1.0 all of them."),
]
Eta = Annotated[
    float | None, typer.Option(**NUMBER, help="Inverse strength of the entropy; the default follows from epsilon.")
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        **NUMBER,
        help="Accuracy of the soft margin that eta is chosen for; a program with its own eta, or without any, does not "
        "depend on it.",
    ),
]
Set = Annotated[list[str] | None, typer.Option(help="A further parameter of the formulation, as name=value.")]
SetValues = Annotated[
    list[str] | None,
    typer.Option(help="A further parameter of the formulation, as name=value, or as name=1,2,4 to go along it."),
]
SetOrFolder = Annotated[
    list[str] | None,
    typer.Option(
        help="A further parameter of the formulation, as name=value. Without a formulation: the folder that the "
        "standard set of programs is written to."
    ),
]
Columns = Annotated[int, typer.Option(**AT_LEAST_ONE, help="Number of decision stumps as hypotheses.")]
Hypotheses = Annotated[
    str,
    typer.Option(help="boosted: AdaBoost chooses the stumps; random: stumps with their negations, drawn at random."),
]
RandomState = Annotated[int, typer.Option(**WHOLE_NUMBER, help="Seed of the stumps.")]
Tol = Annotated[float, typer.Option(**NUMBER, help="Target gap, over max(1, |lower|, |upper|).")]
Oracle = Annotated[
    str | None,
    typer.Option(
        help="Class of hypotheses: stump (the default), binned (that on a cluster), tree2 (all trees of depth two), "
        "feature, kernel, rbf, tree or the file of an oracle; not for data with U."
    ),
]
OracleOptions = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of that class, as name=value: kernel=rbf, gamma=0.5, max_depth=2, ..."),
]
Reflexive = Annotated[
    bool | None, typer.Option("--reflexive/--no-reflexive", help="Whether negations belong to the class.")
]
Accuracy = Annotated[
    float | None,
    typer.Option("--epsilon", **NUMBER, help="Accuracy of the soft margin at which boosting stops; 0.01 if left out."),
]
Update = Annotated[
    str | None,
    typer.Option(
        help="How weights change: total, newton, step, line_search, pairwise, blended_pairwise, program or mlpboost; "
        "the formulation sets the default."
    ),
]
Solver = Annotated[str, typer.Option("--backend", help=BACKEND_HELP)]
ColumnsPerRound = Annotated[
    int, typer.Option("--columns-per-round", **AT_LEAST_ONE, help="Hypotheses added per round.")
]
MaxRounds = Annotated[int | None, typer.Option(**WHOLE_NUMBER, help="Largest number of rounds.")]
TimeLimit = Annotated[float | None, typer.Option(**NUMBER, help="Time limit of a run, in seconds.")]
Seed = Annotated[int, typer.Option("--random-state", **WHOLE_NUMBER, help="Seed of random hypotheses: rbf, tree.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Boost on the workers of the Dask scheduler at this address, host:port, or on local workers, one process "
        "per core. The data must be parquet files, and the hypotheses binned."
    ),
]
PredictingCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Predict rows of parquet files on the workers of the Dask scheduler at this address, host:port, or on "
        "local ones.",
    ),
]
ClassWeight = Annotated[
    str | None, typer.Option(help="balanced, or numbers by class that multiply the weights: no=1,yes=5.")
]
Picture = Annotated[str | None, typer.Option(help="Draw it into this file: .png, .svg or .pdf.")]
PrintsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PrintsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]


NuOfFit = Annotated[
    str,
    typer.Option(
        "--nu",
        help="0.1 is a share of the weight of the examples, 50 a number of them; 1 is one example, 1.0 all of them; "
        "margin chooses the smallest share at which a soft margin above 0 is proved, auto by cross-validation.",
    ),
]
