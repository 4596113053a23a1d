"""Pages of the formulations: one for each, made from its docstring, its record of parameters and its code."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from citations import cited
from markup import escaped, fenced, table, values_in, write_folder

import boostopt
from boostopt import Formulation, Program
from boostopt.authoring import CONES, AbsoluteEdge, BoostingSpec, Examples, MaximumEdge, NormPenalty
from boostopt.boosting.booster_names import resolve_formulation
from boostopt.boosting.boosting_problem import round_parameters
from boostopt.programs.parameters import Parameter
from boostopt.typesetting import PageText, markdown_page, parse_page, typeset_prose

ROOT = Path(__file__).resolve().parents[1]
FORMULATIONS = "boostopt.formulations"

N, EPSILON, NU = 1000, 0.1, 100.0
"""The numbers at which the bounds are quoted."""

EXAMPLES = Examples(np.ones(N), np.full(N, 1 / N))

VALUES = (2.0, 1.0, 0.5, 0.0)
"""The values for a parameter without a default: the first one in its domain is used."""

COUNTED = {1: "one column", 2: "two columns"}

FAMILIES = {
    "The largest soft margin": "The program determines the weights of all hypotheses together. The value is a soft "
    "margin minus the price of the regularizer.",
    "Bounded edges": "The program minimizes the regularizer, and the edges are bounded or fixed. Such a program can be "
    "infeasible. This outcome has a certificate of its own.",
    "A loss with a penalty": "The value is a loss of the margins, with a penalty or a constraint of the weights, and "
    "no soft margin. [Losses and penalties](../losses_and_penalties.md) has all pairs of them.",
    "One update": "An algorithm adds one hypothesis, or mixes two sets of weights. A program of one or two columns "
    "determines the weight.",
}
"""The families, in the order of the page, and what is common to each."""

WHICH = table(
    ["you want", "take"],
    [
        ["the largest soft margin, certified, in few rounds", "[`erlpboost`](erlpboost.md)"],
        ["the same with sparse weights, by a linear program", "[`lpboost`](lpboost.md)"],
        ["the hard margin", "[`lpboost`](lpboost.md) with `nu=1`"],
        [
            "cheap rounds",
            '[`corrective_erlpboost`](corrective_erlpboost.md), or `update="mlpboost"` of '
            "[`boost`](../boosting.md#mlpboost)",
        ],
        ["a target of the soft margin, and an answer whether it can be met", "[`softboost`](softboost.md)"],
        [
            "AdaBoost as a program",
            "[`adaboost`](adaboost.md) for its steps, [`adaboost_cg`](adaboost_cg.md) for its loss over all hypotheses",
        ],
        [
            "logistic regression or a support vector machine over hypotheses",
            "[`logitboost_cg`](logitboost_cg.md), [`cg_boost`](cg_boost.md), or any "
            "[loss with a penalty](../losses_and_penalties.md)",
        ],
        [
            "weights of the examples in a ball of a norm, or at its price",
            "[`norm_ball`](norm_ball.md), [`norm_penalty`](norm_penalty.md)",
        ],
    ],
)
"""The table that leads from a wish to a formulation."""


@dataclasses.dataclass(frozen=True)
class Page:
    """A formulation and what its docstring says."""

    name: str
    formulation: Formulation[Any]
    text: PageText

    @classmethod
    def load(cls, name: str) -> Page:
        formulation = boostopt.get_formulation(name)
        module = sys.modules[type(formulation).__module__]
        return cls(name, formulation, parse_page(module.__doc__ or ""))

    @property
    def parameters(self) -> list[Parameter]:
        return list(self.formulation.parameters.values())


def write_formulation_pages(folder: Path) -> None:
    """Write a page for every formulation that is listed, and one that lists them all."""
    pages = [Page.load(name) for name in boostopt.list_formulations()]
    write_folder(folder, {"index": _overview(pages), **{page.name: _page(page, folder) for page in pages}})


def _overview(pages: list[Page]) -> str:
    contents = fenced("toctree", hidden="", body="\n" + "\n".join(f"{page.name}" for page in pages))
    ordered = sorted(pages, key=lambda page: page.text.title.lower())
    parts = [
        "# Formulations",
        f"The {len(pages)} programs that come with boostopt, each a pair of the [template](../template.md). "
        "The pages are made from the files in `formulations/`, which are the code that runs. The last column of each "
        "table says what a solver must support if every parameter has its default.",
        "## Which one?",
        WHICH,
    ]
    for family, about in FAMILIES.items():
        rows = [_row(page) for page in ordered if family_of(page) == family]
        parts += [f"## {family}", about, table(["program", "name", "what it finds", "needs"], rows)]
    return "\n\n".join([*parts, contents]) + "\n"


def _row(page: Page) -> list[str]:
    """Return the line of a program in the table of its family."""
    cones = [CONES[cone] for cone in _in_order(_bound(page))]
    return [
        f"[{escaped(page.text.title)}]({page.name}.md)",
        f"`{page.name}`",
        typeset_prose(page.text.summary),
        ", ".join(cones),
    ]


def family_of(page: Page) -> str:
    """Return the family of a formulation; what it is follows from its program."""
    program = _bound(page)
    if page.formulation.columns is not None:
        return "One update"
    F = program.regularizer
    if not F.on_simplex or not (F.unsmoothed.is_indicator or isinstance(F, NormPenalty)):
        return "A loss with a penalty"
    largest = isinstance(program.edge_function, MaximumEdge | AbsoluteEdge)
    return "The largest soft margin" if largest else "Bounded edges"


def _page(page: Page, folder: Path) -> str:
    meanings = {parameter.name: parameter.meaning for parameter in page.parameters}
    statement, sources, source_text = markdown_page(page.text, meanings).rstrip().partition("## Sources")
    parts = [
        statement + sources + cited(source_text),
        "## Use",
        use(page),
        "## Parameters",
        _parameters(page),
        "## Solvers",
        _solvers(page),
        "## Boosting",
        _boosting(page),
        "## In CVXPY",
        "\n\n".join(_code(page, folder)),
        "## See also",
        _links(page),
    ]
    return "\n\n".join(parts) + "\n"


def _parameters(page: Page) -> str:
    rows = [
        [f"`{one.name}`", typeset_prose(one.meaning), values_in(one.domain), _default(one)] for one in page.parameters
    ]
    about = [
        f"The margin matrix has {COUNTED[page.formulation.columns]}." if page.formulation.columns else "",
        "The program accepts multiplicities `c`, and a reference distribution `d0`, which is proportional to `c` by "
        "default."
        if page.formulation.uses_reference
        else "The program accepts multiplicities `c`. It has no reference distribution `d0`.",
    ]
    words = " ".join(filter(None, about))
    return f"{table(['parameter', 'meaning', 'domain', 'default'], rows)}\n\n{words}" if rows else f"None. {words}"


def use(page: Page) -> str:
    """Show how the program is bound and solved, and how it is boosted, with numbers for what must be given."""
    columns = "" if page.formulation.columns is None else f"[:, :{page.formulation.columns}]"
    bound = ", ".join([f"U{columns}", *_keywords(_required_values(page.formulation))])
    lines = [
        f'program = boostopt.get_formulation("{page.name}").bind({bound})',
        "print(program.solve().certificate)",
    ]
    booster = resolve_formulation(page.name)
    if booster.columns in (None, 1):
        open_to_users = {
            name: value
            for name, value in _required_values(booster).items()
            if name not in round_parameters(booster, EPSILON)
        }
        keywords = ", ".join([f'"{page.name}"', "DecisionStumps(X, y)", *_keywords(open_to_users), "max_rounds=50"])
        lines += [f"run = boostopt.boost({keywords})", "print(run.certificate)"]
    return "\n".join(["```python", *lines, "```"])


def _keywords(values: dict[str, Any]) -> list[str]:
    """Return values as keywords."""
    texts = {name: "np.zeros(N)" if isinstance(value, np.ndarray) else f"{value:g}" for name, value in values.items()}
    return [f"{name}={value}" for name, value in texts.items()]


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    if isinstance(parameter.default, float) and math.isnan(parameter.default):
        return "computed from the others"
    return f"`{parameter.default}`"


def _solvers(page: Page) -> str:
    """Say what a solver must support, also if a parameter is infinite, and which solvers do."""
    usual = _bound(page)
    lines = [f"A solver must support {_listed([CONES[cone] for cone in _in_order(usual)])}: {_takers(usual)}."]
    for one in page.parameters:
        if one.domain.kind == "number" and one.domain.contains(math.inf, usual.examples) and one.default != math.inf:
            lines.append(_other_cones(page, usual, one.name, math.inf))
        if one.default == math.inf:
            lines.append(_other_cones(page, usual, one.name, VALUES[0]))
    return "\n\n".join(filter(None, lines))


def _other_cones(page: Page, usual: Program, name: str, value: float) -> str:
    variant = _bound(page, **{name: value})
    if variant.cones == usual.cones:
        return ""
    condition = f"`{name} = {value:g}`" if math.isinf(value) else f"a finite `{name}`"
    needs = _listed([CONES[cone] for cone in _in_order(variant)])
    return f"With {condition}, it must support {needs}: {_takers(variant)}."


def _in_order(program: Program) -> list[str]:
    return sorted(program.cones, key=list(CONES).index)


def _takers(program: Program) -> str:
    names = [name for name in boostopt.list_backends() if boostopt.get_backend(name).takes(program)]
    return _listed([f"`{name}`" for name in names]) or "none that is installed"


def _boosting(page: Page) -> str:
    """Say how column generation stops, which weights are final, and what bounds the rounds."""
    formulation = page.formulation
    rules = [f"*{rule}*" for rule in formulation.boosting.rules]
    words = f"Stopping rule{'s' if len(rules) > 1 else ''}: {_listed(rules)}." if rules else "It has no stopping rule."
    return f"{words} Final weights: *{formulation.boosting.final_weights}*. {_rounds(page)}"


def _rounds(page: Page) -> str:
    if page.formulation.boosting.iteration_bound is BoostingSpec().iteration_bound:
        return "No bound on the rounds is known."
    usual = _bound(page)
    values = {name: getattr(usual.parameters, name) for name in page.formulation.parameters}
    setting = ", ".join(f"`{name} = {value:g}`" for name, value in values.items() if not isinstance(value, bool))
    bound = page.formulation.boosting.iteration_bound(usual)
    if math.isinf(bound):
        return (
            f"No bound on the rounds is known at $N = {N}$, {setting}; `iteration_bound` returns it where there is one."
        )
    return f"At most {math.floor(bound):,} hypotheses at $N = {N}$, {setting}; `iteration_bound` returns other bounds."


def _bound(page: Page, **values: float) -> Program:
    """Return the page bound to N examples, every parameter without a default at some value of its domain."""
    U = np.zeros((N, page.formulation.columns or 3))
    return page.formulation.bind(U, **{**_required_values(page.formulation), **values})


def _required_values(formulation: Formulation[Any]) -> dict[str, Any]:
    """Return values of the parameters that must be given, and those at which bounds are quoted."""
    values: dict[str, Any] = {
        name: value for name, value in (("nu", NU), ("epsilon", EPSILON)) if name in formulation.parameters
    }
    for one in formulation.parameters.values():
        if one.required and one.name not in values:
            values[one.name] = (
                np.zeros(N)
                if one.domain.kind == "per example"
                else next(value for value in VALUES if one.domain.contains(value, EXAMPLES))
            )
    return values


def _code(page: Page, folder: Path) -> Iterator[str]:
    """Yield the problems as printed, and the functions of the folder that they are written with."""
    yield "The source states the problems as the papers print them. Labels are the names of the multipliers."
    functions: dict[str, Callable[..., Any]] = {}
    for side in ("primal", "dual"):
        function = getattr(type(page.formulation), side)
        if function is getattr(Formulation, side):
            yield f"boostopt derives the {side} from F and G."
            continue
        functions[function.__qualname__] = function
    for function in list(functions.values()):
        functions |= {helper.__qualname__: helper for helper in _helpers(function)}
    for function in functions.values():
        source = Path(inspect.getsourcefile(function) or "").resolve().relative_to(ROOT)
        yield fenced(
            "literalinclude",
            f"/{source.as_posix()}",
            pyobject=function.__qualname__,
            dedent="",
            caption=source.as_posix(),
        )


def _helpers(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield the functions of the folder that a function calls, and that these call."""
    for name in _names(function.__code__):
        helper = function.__globals__.get(name)
        if inspect.isfunction(helper) and helper.__module__.startswith(FORMULATIONS):
            yield helper
            yield from _helpers(helper)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _links(page: Page) -> str:
    """Link F and G, the pages that this one builds on, and what holds for all."""
    program = _bound(page)
    module = sys.modules[type(page.formulation).__module__]
    used = {getattr(member, "__module__", "") for member in vars(module).values()} - {module.__name__}
    names = sorted(name.rpartition(".")[2] for name in used if name.startswith(f"{FORMULATIONS}."))
    lines = [
        f"F: {_api(type(program.regularizer))}, G: {_api(type(program.edge_function))}",
        *(f"this page uses [{escaped(Page.load(name).text.title)}]({name}.md)" for name in names),
        "[the template](../template.md), [conventions](../conventions.md), [errata](../errata.md)",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _api(cls: type) -> str:
    import boostopt.authoring

    public = cls.__name__ in boostopt.authoring.__all__
    return f"{{py:class}}`~boostopt.authoring.{cls.__name__}`" if public else f"`{cls.__name__}`"


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
