"""The options of the commands, and the meaning of their words."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Annotated, Any

import typer

from boostopt.comparison.benchmarking import PROFILES
from boostopt.data.datasets import Dataset
from boostopt.errors import OptionError, unknown_name
from boostopt.programs.formulation import Formulation
from boostopt.programs.parameters import COUNT, smallest_fraction
from boostopt.programs.program import Program

DEFAULT_COLUMNS = 100
DEFAULT_TIME_LIMIT = 60.0
DEFAULT_TOL = 1e-8
DEFAULT_REPEATS = 3
FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Words that set a flag."""


def number(text: Any) -> float:
    """Read a number of the command line."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number; got {text!r}.") from None


def whole_number(text: Any) -> int:
    """Read a whole number of the command line."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"expected a whole number; got {text!r}.") from None


def count(text: Any) -> int:
    """Read a number of columns of the command line."""
    columns = whole_number(text)
    if columns < 1:
        raise typer.BadParameter(f"expected a whole number of at least 1; got {columns}.")
    return columns


# What typer itself says of a value that is none does not say what came.
NUMBER: dict[str, Any] = {"parser": number, "metavar": "<float>"}
WHOLE_NUMBER: dict[str, Any] = {"parser": whole_number, "metavar": "<int>"}
AT_LEAST_ONE: dict[str, Any] = {"parser": count, "metavar": "<int>"}

DATA_HELP = (
    "breast_cancer, digits, iris, wine, or a file: svmlight (.gz, .bz2, .xz too), .csv, .tsv, .npz with X and y or U."
)
BACKEND_HELP = "What solves the programs; auto chooses."

FormulationName = Annotated[str, typer.Argument(help="Name (see `boostopt list`) or path of a page.")]
Data = Annotated[str, typer.Option(help=DATA_HELP)]
Label = Annotated[str, typer.Option(help="Column of a CSV file that holds the class.")]
Positive = Annotated[str | None, typer.Option(help="Class that counts as 1 against all others.")]
Weights = Annotated[str | None, typer.Option(help="Column of a CSV file that holds the examples' weights c.")]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns of a CSV file that are no features: id,date; may be repeated, for names with commas."),
]
Nu = Annotated[
    str | None,
    typer.Option(help="0.1 is a fraction of the examples, 50 a number of them; 1 is one example, 1.0 all of them."),
]
Eta = Annotated[
    float | None, typer.Option(**NUMBER, help="Inverse strength of the entropy; canonical for epsilon if left out.")
]
Epsilon = Annotated[float | None, typer.Option(**NUMBER, help="Accuracy of the soft margin that eta is chosen for.")]
Set = Annotated[list[str] | None, typer.Option(help="A further parameter of the formulation, as name=value.")]
Columns = Annotated[
    int, typer.Option(**AT_LEAST_ONE, help="Decision stumps drawn (with their negations) as hypotheses.")
]
RandomState = Annotated[int, typer.Option(**WHOLE_NUMBER, help="Seed of that draw.")]
Tol = Annotated[float, typer.Option(**NUMBER, help="Gap wanted, over max(1, |lower|, |upper|).")]


def read_program(
    page: Formulation[Any],
    dataset: Dataset,
    nu: str | None,
    eta: float | None,
    epsilon: float | None,
    settings: list[str] | None,
    columns: int,
    random_state: int,
) -> Program:
    """Draw the columns and bind the formulation."""
    U = dataset.margin_matrix(columns, random_state)
    parameters = read_parameters(page, total_count(dataset, U.shape[0]), nu, eta, epsilon, settings)
    check_required(page, parameters)
    return page.bind(U, c=dataset.c, d0=dataset.d0, **parameters)


def total_count(dataset: Dataset, N: int) -> float:
    """Return the sum of c, which is 1 for each of N examples where the data have none."""
    return float(N) if dataset.c is None else float(dataset.c.sum(dtype=float))


def read_parameters(
    page: Formulation[Any],
    total: float,
    nu: str | None,
    eta: float | None,
    epsilon: float | None,
    settings: list[str] | None,
) -> dict[str, Any]:
    """Return the parameters of a formulation, each given once."""
    settings_read = [read_setting(text, page) for text in settings or []]
    further = dict(settings_read)
    if len(further) < len(settings_read):
        raise OptionError(f"--set names a parameter twice: {', '.join(settings or [])}.")
    parameters: dict[str, Any] = {
        "nu": None if nu is None else _read_count(nu, total, page),
        "eta": eta,
        "epsilon": epsilon,
    }
    for name in further:
        if parameters.get(name) is not None:
            raise OptionError(f"{name} is given twice, by --{name} and by --set; choose one.")
    return parameters | further


HOW_TO_PASS = {
    "nu": "--nu 0.1 (a fraction of the examples) or --nu 50 (a number of them)",
    "eta": "--eta 100",
    "epsilon": "--epsilon 0.01",
}
"""How the parameters are passed that have an option of their own."""


def check_required(page: Formulation[Any], given: Mapping[str, Any], set_anew: Container[str] = ()) -> None:
    """Raise OptionError for a parameter that a formulation needs and that is neither given nor set by boosting."""
    for name, known in page.parameters.items():
        if known.required and given.get(name) is None and name not in set_anew:
            how = HOW_TO_PASS.get(name, f"--set {name}=NUMBER")
            raise OptionError(
                f"{page.name} needs {name}, {known.meaning}, in {known.domain.text}; got none. "
                + ("Bind it in Python: no option takes them." if known.domain.kind == "per example" else f"Pass {how}.")
            )


def _read_count(text: str, total: float, page: Formulation[Any]) -> float:
    """Read nu: with a decimal point it is a fraction in (0, 1] of the examples, without one a number of them."""
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"--nu must be a number; got {text!r}.") from None
    if "." not in text and value.is_integer():
        return value
    if not 0.0 < value <= 1.0:
        raise OptionError(
            f"--nu with a decimal point is a fraction of the examples in (0, 1]; got {text}. "
            "Leave the point out to give their number; a number that is not whole is given by --set nu=..."
        )
    known = page.parameters.get("nu")
    if known is not None and known.domain is COUNT and value * total < 1 <= total:
        raise OptionError(
            f"--nu with a decimal point is a fraction of the sum of c (one for each example by default), {total:.10g}; "
            f"{text} of it is {value * total:.10g}, and nu must be at least 1. "
            f"The smallest fraction is {smallest_fraction(total):.4g}."
        )
    return value * total


def read_setting(text: str, page: Formulation[Any]) -> tuple[str, float]:
    """Read name=value, for a parameter of the formulation: c and d0 are not, they come with the data."""
    name, _, value = text.partition("=")
    if name.strip() not in page.parameters:
        raise unknown_name(f"parameter of {page.name}", name.strip(), page.parameters)
    try:
        word = value.strip().lower()
        return name.strip(), FLAGS[word] if word in FLAGS else float(value)
    except ValueError:
        raise OptionError(f"--set takes name=value with a number, true or false; got {text!r}.") from None


def read_names(text: str | None) -> list[str] | None:
    """Return what stands between commas; None for nothing given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def read_gaps(profiles: str | None, tol: float) -> tuple[float, ...]:
    """Return the gaps to reach: those named, all four profiles, or the one of --tol."""
    if profiles is None:
        return (tol,)
    if tol != DEFAULT_TOL:
        raise OptionError("--tol and --profiles exclude each other; choose one.")
    if profiles.strip() == "all":
        return PROFILES
    try:
        return tuple(float(gap) for gap in read_names(profiles) or [])
    except ValueError:
        raise OptionError(f"--profiles takes gaps with commas between, or all; got {profiles!r}.") from None


Oracle = Annotated[
    str | None,
    typer.Option(help="Class of hypotheses: stump (the default), feature, kernel, rbf or tree; not for data with U."),
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
    str | None, typer.Option(help="How weights move: total, step, line_search or program; the formulation's own.")
]
Solver = Annotated[str, typer.Option("--backend", help=BACKEND_HELP)]
ColumnsPerRound = Annotated[
    int, typer.Option("--columns-per-round", **AT_LEAST_ONE, help="Hypotheses that join in a round.")
]
MaxRounds = Annotated[int | None, typer.Option(**WHOLE_NUMBER, help="Rounds after which a run ends all the same.")]
TimeLimit = Annotated[float | None, typer.Option(**NUMBER, help="Seconds after which a run ends all the same.")]
Seed = Annotated[
    int, typer.Option("--random-state", **WHOLE_NUMBER, help="Seed of hypotheses that are drawn: rbf, tree.")
]
Picture = Annotated[str | None, typer.Option(help="Draw it into this file: .png, .svg or .pdf.")]


def _between_commas(text: str) -> list[str]:
    """Return what stands between commas, one that is left out as ""; nothing for commas alone."""
    words = [word.strip() for word in text.split(",")]
    return words if any(words) else []


def read_counts(text: str, total: float, page: Formulation[Any]) -> list[float]:
    """Return several nu, each read as one is."""
    return [_read_count(word, total, page) for word in _between_commas(text)]


def read_numbers(text: str, flag: str) -> list[float]:
    """Return numbers with commas between."""
    try:
        return [float(word) for word in _between_commas(text)]
    except ValueError:
        raise OptionError(f"{flag} takes numbers with commas between; got {text!r}.") from None


def read_options(texts: list[str] | None, flag: str) -> dict[str, Any]:
    """Return options by name: whole numbers, numbers, flags or words."""
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise OptionError(f"{flag} takes name=value; got {text!r}.")
        if name in found:
            raise OptionError(f"{flag} names {name} twice: {', '.join(texts or [])}.")
        found[name] = _read_value(value)
    return found


def _read_value(text: str) -> Any:
    """Return a whole number, a number, a flag, or the word itself."""
    if text.lower() in FLAGS:
        return bool(FLAGS[text.lower()])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


NuOfFit = Annotated[
    str,
    typer.Option(
        "--nu",
        help="0.1 is a share of the weight of the examples, 50 a number of them; 1 is one example, 1.0 all of them.",
    ),
]


def read_share(text: str) -> float | int:
    """Read the nu of a classifier: with a decimal point it is a share, without one a number of examples."""
    try:
        value = float(text)
    except ValueError:
        raise OptionError(f"--nu must be a number; got {text!r}.") from None
    return int(value) if "." not in text and value.is_integer() else value
