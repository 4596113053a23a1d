"""An experiment of a paper: units of work, and the part of a page that is made from their results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from boostopt._utils.json_values import plain
from boostopt.errors import DataError

SHARED = Path(__file__).parents[3] / "shared"
"""The folder beside the repository where data of the papers may be."""

Parameters = Mapping[str, Any]
Result = dict[str, Any]


class Results:
    """Results of an experiment's units, by their parameters.

    Parameters
    ----------
    lines
        Of each finished unit: its parameters, its result, what it took and what made it.
    """

    def __init__(self, lines: Iterable[Mapping[str, Any]] = ()) -> None:
        self._lines = {key(line["parameters"]): dict(line) for line in lines}

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[tuple[Parameters, Result]]:
        """Yield parameters and results, in the order of the parameters."""
        for name in sorted(self._lines):
            yield self._lines[name]["parameters"], self._lines[name]["result"]

    def __contains__(self, parameters: Parameters) -> bool:
        return key(parameters) in self._lines

    def __getitem__(self, parameters: Parameters) -> Result:
        return self._lines[key(parameters)]["result"]

    def select(self, **selection: Any) -> list[tuple[Parameters, Result]]:
        """Return parameters and results of the units whose parameters have these values."""
        return [(p, result) for p, result in self if all(k in p and p[k] == v for k, v in plain(selection).items())]

    def add(self, line: Mapping[str, Any]) -> None:
        """Take a finished unit in, in place of an earlier one of the same parameters."""
        self._lines[key(line["parameters"])] = dict(line)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the stored results, in the order of the parameters."""
        return [self._lines[name] for name in sorted(self._lines)]

    @property
    def seconds(self) -> float:
        """Seconds of a core that all units took."""
        return sum(line["cpu"] for line in self._lines.values())


@dataclass(frozen=True)
class Decision:
    """The decision whether a claim holds, from results.

    Attributes
    ----------
    holds
        Whether it does; of a claim about several sets, on each of them. None where the results leave it open.
    ours, printed_figure
        Our figure, and the printed one; "" where print has words alone.
    by_set
        Whether it holds on each set, for a claim that is decided set by set; sets that are open are left out.
    chance
        The share of the sets on which it would hold by chance: on more it holds in part.
    """

    holds: bool | None
    ours: str
    printed_figure: str = ""
    by_set: Mapping[str, bool] = field(default_factory=dict[str, bool])
    chance: float = 0.0

    @property
    def is_partial(self) -> bool:
        """True if the claim holds on some sets, and on others not or not as far as is known."""
        return not self.holds and sum(self.by_set.values()) > self.chance * len(self.by_set)


@cache
def _digest(names: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update((SHARED / name).read_bytes())
    return digest.hexdigest()[:12]


def count_cases(holds: Iterable[bool | None], noun: str = "seeds", always: bool = False) -> Decision | None:
    """Return whether a claim holds with more than half of the draws, or in all cases; None where there are none.

    Parameters
    ----------
    holds
        Of each draw or case, whether it holds there; None where the results leave it open.
    noun
        The counted things, in the plural.
    always
        Whether one exception refutes it: a theorem, or what is said of fixed cases. The rule of more than half is for
        random draws, and for what print says of most cases.
    """
    outcomes = list(holds)
    if not outcomes:
        return None
    n, n_true, n_open = len(outcomes), outcomes.count(True), outcomes.count(None)
    holds_surely, may_hold = (
        (n_true == n, n_true + n_open == n) if always else (2 * n_true > n, 2 * (n_true + n_open) > n)
    )
    is_open = f", {n_open} open" if n_open else ""
    return Decision(None if holds_surely != may_hold else holds_surely, f"{n_true} of {n - n_open} {noun}{is_open}")


def count_by_set(
    outcomes: Mapping[str, Sequence[bool | None]], noun: str = "seeds", always: bool = False
) -> Decision | None:
    """Return whether a claim holds on each set, with the counts of every set; None where no set has a case.

    Parameters
    ----------
    outcomes
        Of each set, whether the claim holds in each of its draws or cases; sets without any are left out. None is a
        case that the results leave open.
    noun, always
        As of `count_cases`, which decides each set.
    """
    decisions = {name: count_cases(holds, "", always) for name, holds in outcomes.items()}
    decided = {name: decision for name, decision in decisions.items() if decision is not None}
    if not decided:
        return None
    by_set = {name: decision.holds for name, decision in decided.items() if decision.holds is not None}
    counts = [f"{name} {decision.ours.replace(' ,', ' and')}".rstrip() for name, decision in decided.items()]
    holds = False if False in by_set.values() else None if len(by_set) < len(decided) else True
    return Decision(holds, f"{', '.join(counts)} {noun}", by_set=by_set)


def count_orders(differences: Mapping[str, tuple[float, float]], printed_figure: str = "") -> Decision | None:
    """Return whether two means have the printed order on each set; None where there is no set.

    By chance they have it on half of the sets.

    Parameters
    ----------
    differences
        Of each set, our mean of the first less that of the second, and the printed difference. Sets whose printed
        means are equal are left out.
    printed_figure
        As of a `Decision`.
    """
    by_set = {name: ours * difference > 0 for name, (ours, difference) in differences.items() if difference}
    if not by_set:
        return None
    n_below = sum(ours < 0 for ours, _ in differences.values())
    words = f"below on {n_below} of {len(differences)} sets, as in print on {sum(by_set.values())} of {len(by_set)}"
    return Decision(all(by_set.values()), words, printed_figure, by_set, chance=0.5)


BY_CHANCE = 0.05
"""The share of means that miss a printed one by more than two standard errors where nothing is different."""


ROUNDING = 1e-12
"""The rounding of a probability."""


def count_agreements(holds: Iterable[bool | None], noun: str, chance: float = BY_CHANCE) -> Decision | None:
    """Return whether so many figures miss print as chance explains; None where there are none.

    It does not where as many misses have a probability of at most one in twenty; so a single mean must not miss. Open
    figures leave it open where it depends on them.

    Parameters
    ----------
    holds
        Of each figure, whether it agrees with print; None where the results leave it open.
    noun
        The figures, in the plural.
    chance
        The probability that a figure misses where nothing is different, in (0, 1).
    """
    outcomes = list(holds)
    if not outcomes:
        return None
    from scipy.stats import binom

    n, n_open, n_agree = len(outcomes), outcomes.count(None), outcomes.count(True)
    # The probability of a single miss is the chance itself, but for its rounding.
    holds_at_worst, holds_at_best = (
        float(binom.sf(n - agree - 1, n, chance)) > BY_CHANCE + ROUNDING for agree in (n_agree, n_agree + n_open)
    )
    is_open = f", {n_open} open" if n_open else ""
    return Decision(
        holds_at_worst if holds_at_worst == holds_at_best else None, f"{n_agree} of {n - n_open} {noun}{is_open}"
    )


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that an experiment decides.

    Attributes
    ----------
    sentence
        The key of what print says, in the list of sentences.
    says
        What is tested, a sentence.
    decide
        Returns the decision from the results of the experiment, None while units that it takes are missing.
    is_weaker
        Whether less is tested than print says: such a line stands apart, and beside one for all that print says.
    """

    sentence: str
    says: str
    decide: Callable[[Results], Decision | None]
    is_weaker: bool = False


Ask = Callable[[Results], Iterable[bool]]
"""Returns of each draw or case in some results whether a statement holds there."""


def counted_claim(
    sentence: str, says: str, ask: Ask, noun: str = "seeds", always: bool = False, is_weaker: bool = False
) -> Claim:
    """Return a claim that is counted: see `count_cases`."""
    return Claim(sentence, says, lambda results: count_cases(ask(results), noun, always), is_weaker)


def claim_by_set(
    sentence: str,
    says: str,
    names: Sequence[str],
    ask: Callable[[Results, str], Sequence[bool | None]],
    noun: str = "seeds",
    always: bool = False,
) -> Claim:
    """Return a claim that is decided on each of some sets: see `count_by_set`.

    Parameters
    ----------
    sentence, says
        As of a `Claim`.
    names
        Names of the sets.
    ask
        Returns of each draw or case on a set whether the claim holds there, None where it is open.
    noun, always
        As of `count_cases`.
    """
    return Claim(sentence, says, lambda results: count_by_set({n: ask(results, n) for n in names}, noun, always))


def claim_by_reading(
    sentence: str,
    says: str,
    names: Sequence[str],
    readings: Mapping[str, str],
    ask: Callable[[Results, str, str], Sequence[bool | None]],
    noun: str = "seeds",
    always: bool = False,
) -> Claim:
    """Return a claim that is decided on each of some sets in each reading of what print leaves open.

    Parameters
    ----------
    sentence, says, names, noun, always
        As of `claim_by_set`.
    readings
        The readings, each with its words.
    ask
        Returns of each draw or case on a set, in a reading, whether the claim holds there; None where it is open.
    """

    def decide(results: Results) -> Decision | None:
        outcomes = {
            f"{name} ({words})": ask(results, name, reading) for name in names for reading, words in readings.items()
        }
        return count_by_set(outcomes, noun, always)

    return Claim(sentence, says, decide)


def ask_each_unit(holds: Callable[[Result], bool], **selection: Any) -> Ask:
    """Return what asks every unit whose parameters have these values."""
    return lambda results: [holds(result) for _, result in results.select(**selection)]


def denied(ask: Ask) -> Ask:
    """Return what asks for the contrary."""
    return lambda results: [not holds for holds in ask(results)]


def of_last(decide: Callable[[Result], Decision]) -> Callable[[Results], Decision | None]:
    """Return what decides from the last unit, and nothing where there is none."""

    def decided(results: Results) -> Decision | None:
        all_results = [result for _, result in results]
        return decide(all_results[-1]) if all_results else None

    return decided


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes
    ----------
    name
        A word: that of its file, and on the command line.
    title, source
        What it is, and which figure or table of which paper.
    page
        The name of the page that it is a part of.
    units
        Returns the parameters of each unit, at reduced size or in full, of what is finished: a unit that needs the
        results of others appears when these are there. Parameters are plain: numbers, texts, truth values, and lists.
    work
        Does a unit in a process of its own and returns what JSON can hold; a function of a module, called with the
        parameters.
    write_page
        Returns the part of the page, Markdown without its heading, from the results; pictures are written into the
        folder, named after the experiment.
    data
        Files that it reads, below the shared folder; where one is missing the experiment is left out, and that is said.
    claims
        The statements of the paper that it decides.
    """

    name: str
    title: str
    source: str
    page: str
    units: Callable[[bool, Results], Iterable[Parameters]]
    work: Callable[..., Mapping[str, Any]]
    write_page: Callable[[Results, Path], str]
    data: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The files that are not there."""
        return [name for name in self.data if not (SHARED / name).exists()]

    @property
    def digest(self) -> str:
        """A digest of the files that it reads."""
        return _digest(self.data)


def key(parameters: Parameters) -> str:
    """Return parameters as a text that is the same for equal ones."""
    return json.dumps(plain(parameters), sort_keys=True)


@cache
def printed_numbers(name: str) -> Any:
    """Return a file of printed numbers, read once: nothing in it is to be changed.

    Raises
    ------
    DataError
        It is not there.
    """
    path = Path(__file__).parent / "printed" / f"{name}.json"
    if not path.exists():
        raise DataError(f"expected the printed numbers in {path}; there is no such file.")
    return json.loads(path.read_text(encoding="utf-8"))


def round_digits(values: Iterable[float], digits: int = 6) -> list[float]:
    """Return numbers with so many significant digits: curves are stored, not to the last bit."""
    return [float(f"{float(value):.{digits}g}") for value in values]
