"""The reference of the public names: one section for each module that defines some, headed by its docstring."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

from markup import escaped, fenced, table, values_in, write_folder

from boostopt.comparison.solve_results import SolveResults
from boostopt.programs.parameters import Domain


@dataclass(frozen=True)
class Page:
    """A page of the reference.

    Attributes
    ----------
    file
        The name of the file.
    title
        The heading.
    module
        The module that users import the names from.
    part
        The package, below `boostopt`, that defines them and has no page for a package within; "" for all names that the
        module's other pages leave.
    about
        The purpose of the names, as Markdown.
    also
        Classes that the public functions return, by the module that defines them.
    """

    file: str
    title: str
    module: str
    part: str
    about: str
    also: tuple[str, ...] = ()


PAGES = (
    Page(
        "boostopt",
        "boostopt",
        "boostopt",
        "",
        "The names that you get with `import boostopt`. Each is loaded on first use.",
        also=(
            "data.answer_files.ExternalAnswer",
            "comparison.failures.Failure",
            "comparison.benchmark_options.BenchmarkOptions",
            "comparison.solve_record.SolveRecord",
            "comparison.provenance.Provenance",
            "backends.user_function_solvers.FunctionSolver",
            "backends.user_function_solvers.ConeSolver",
            "backends.cvxpy_problem_task.ProblemTask",
            "programs.user_cvxpy_problem.ConvexProblem",
            "solving.explanation.Condition",
            "programs.parameters.Parameter",
        ),
    ),
    Page(
        "authoring",
        "boostopt.authoring: formulations",
        "boostopt.authoring",
        "",
        "The names for writing a page of `formulations/`. `Array` and `Float` are for annotations with shapes.",
        also=("programs.boosting_spec.UpdateKind", "programs.boosting_spec.FinalWeights"),
    ),
    Page(
        "regularizers",
        "boostopt.authoring: regularizers",
        "boostopt.authoring",
        "functions",
        "The functions F of the [template](../template.md), and the interface of your own F.",
        also=(
            "functions.convex_function.ConvexFunction",
            "functions.regularizers.base.StationarityConditions",
            "functions.regularizer_statements.Statement",
        ),
    ),
    Page(
        "edges",
        "boostopt.authoring: edge functions",
        "boostopt.authoring",
        "functions.edge_functions",
        "The functions G of the [template](../template.md), and the interface of your own G.",
    ),
    Page(
        "backends",
        "boostopt.authoring: backends",
        "boostopt.authoring",
        "backends",
        "The names that you need to connect your own solver.",
    ),
    Page(
        "boosting",
        "boostopt.boosting",
        "boostopt.boosting",
        "",
        "Column generation: the result of `boost`, its rules and schedules.",
        also=(
            "boosting.stopping_rules.RuleContext",
            "boosting.boosting_problem.Problem",
            "boosting.objectives.soft_margin.SoftMarginObjective",
            "boosting.column_pool.ColumnPool",
            "boosting.column_pool.CheckedColumn",
            "boosting.run.weight_history.History",
            "boosting.run.weight_history.StoredRound",
            "boosting.run.weight_history.Sparse",
            "boosting.run.run_state.State",
            "boosting.run.run_state.OracleBounds",
            "boosting.run.run_data.RunData",
        ),
    ),
    Page(
        "oracles",
        "boostopt.oracles",
        "boostopt.oracles",
        "",
        "The oracles that find hypotheses, and the interface of your own oracle.",
        also=(
            "oracles.base.HypothesisClass",
            "oracles.feature_validation.FeatureMatrix",
            "oracles.kernels.kernel.Kernel",
        ),
    ),
    Page(
        "estimators",
        "boostopt.estimators",
        "boostopt.estimators",
        "",
        "Classifiers and a regressor with the interface of scikit-learn.",
        also=("oracles.rbf.radial_basis_network.RBFNetwork",),
    ),
    Page(
        "ensembles",
        "boostopt.ensembles",
        "boostopt.ensembles",
        "",
        "New weights for fitted ensembles: see [re-weighting](../ensembles.md).",
    ),
    Page(
        "pictures",
        "boostopt.pictures",
        "boostopt.pictures",
        "",
        "Functions that draw pictures: see [pictures](../pictures.md).",
        also=("pictures.decision_regions.HasDecisionFunction", "boosting.dynamics.Cycle"),
    ),
    Page(
        "verification",
        "boostopt.verification",
        "boostopt.verification",
        "",
        "Certificates in files, and their checks: see [verification](../verification.md).",
    ),
    Page(
        "exporting",
        "boostopt.exporting",
        "boostopt.exporting",
        "",
        "Programs in the file formats of other tools: see [exporting](../exporting.md).",
    ),
    Page(
        "reporting",
        "boostopt.reporting",
        "boostopt.reporting",
        "",
        "Comparisons as one page of HTML: see [reports](../reports.md).",
    ),
    Page("checks", "boostopt.checks", "boostopt.checks", "", "Checks of the pieces that you write yourself."),
    Page("instances", "boostopt.instances", "boostopt.instances", "", "Problems with known answers."),
)

ANNOTATIONS = "boostopt._utils.array_types"


def write_reference_pages(folder: Path) -> None:
    """Write the reference of every public name, each on the first page that lists it."""
    shown_ids: set[int] = set()
    contents = fenced("toctree", body="\n" + "\n".join(page.file for page in PAGES))
    pages = {"index": f"# Reference\n\n{contents}\n"}
    for page in PAGES:
        homes = {
            home: {path: value for path, value in objects.items() if id(value) not in shown_ids}
            for home, objects in _by_home(page).items()
        }
        shown_ids |= {id(value) for objects in homes.values() for value in objects.values()}
        pages[page.file] = _page(page, {home: objects for home, objects in homes.items() if objects})
    write_folder(folder, pages)


def _by_home(page: Page) -> dict[str, dict[str, Any]]:
    """Return the names of a page, as users write them, with their objects, by the module that defines them."""
    module = import_module(page.module)
    parts = [candidate.part for candidate in PAGES if candidate.module == page.module and candidate.part]
    objects_by_home: dict[str, dict[str, Any]] = {}
    for node in ast.walk(ast.parse(_imports_of(module))):
        if not isinstance(node, ast.ImportFrom):
            continue
        home = resolve_name("." * node.level + (node.module or ""), str(module.__package__))
        if not home.startswith("boostopt.") or home == ANNOTATIONS:
            continue
        enclosing_parts = (part for part in parts if f"{home}.".startswith(f"boostopt.{part}."))
        if max(enclosing_parts, key=len, default="") != page.part:
            continue
        for name in sorted({alias.name for alias in node.names} & set(module.__all__)):
            value = getattr(module, name)
            # A package re-exports an object that one of its modules defines.
            defining = getattr(value, "__module__", home) if callable(value) else home
            objects_by_home.setdefault(defining, {})[f"{page.module}.{name}"] = value
    for path in page.also:
        home, _, name = f"boostopt.{path}".rpartition(".")
        objects_by_home.setdefault(home, {})[f"{home}.{name}"] = getattr(import_module(home), name)
    return dict(sorted(objects_by_home.items()))


def _imports_of(module: ModuleType) -> str:
    """Return the source that imports the names of a module: its stub if they are loaded on first use, or the module."""
    stub = Path(inspect.getfile(module)).with_suffix(".pyi")
    return stub.read_text() if stub.is_file() else inspect.getsource(module)


def _page(page: Page, homes: dict[str, dict[str, Any]]) -> str:
    parts = [f"# {page.title}", page.about]
    for home, objects in homes.items():
        parts += [f"## {home.removeprefix('boostopt.')}", *_about(home), *_section(home, objects)]
    return "\n\n".join(parts) + "\n"


def _about(home: str) -> Iterator[str]:
    """Yield the docstring of a module as Markdown; an indented paragraph is a display."""
    for paragraph in inspect.cleandoc(sys.modules[home].__doc__ or "").split("\n\n"):
        display = paragraph[:1].isspace()
        yield fenced("code-block", "text", inspect.cleandoc(paragraph)) if display else escaped(paragraph)


def _section(home: str, objects: dict[str, Any]) -> Iterator[str]:
    """Yield the domains as a table, then every other object with its docstring."""
    domains = {path: value for path, value in objects.items() if isinstance(value, Domain)}
    if domains:
        rows = [[f"`{path.rpartition('.')[2]}`", values_in(value)] for path, value in domains.items()]
        yield table(["domain of a parameter", "values"], rows)
    for path, value in objects.items():
        if path not in domains:
            yield fenced("eval-rst", body="\n".join(_directive(home, path, value)))


def _directive(home: str, path: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield f".. {'autoexception' if issubclass(value, Exception) else 'autoclass'}:: {path}"
        yield "   :members:"
        # scikit-learn generates these methods, and its own documentation explains them.
        excluded = [name for name in dir(value) if name.startswith("set_") and name.endswith("_request")]
        if excluded:
            foreign_bases = [base for base in value.__mro__ if not base.__module__.startswith("boostopt.")]
            excluded += sorted({name for base in foreign_bases for name in vars(base) if not name.startswith("_")})
            yield "   :inherited-members:"
            yield f"   :exclude-members: {', '.join(excluded)}"
        elif issubclass(value, SolveResults):  # a base without a page: its members are on the pages of its subclasses
            yield "   :inherited-members:"
    elif inspect.isfunction(value):
        yield f".. autofunction:: {path}"
    else:
        yield f".. py:data:: {path}"
        yield f"   :value: {value!r}"
        yield ""
        yield textwrap.indent(_said_of(home, path.rpartition(".")[2]), "   ")


def _said_of(home: str, name: str) -> str:
    """Return the string below an assignment."""
    body = ast.parse(inspect.getsource(sys.modules[home])).body
    for assignment, docstring in itertools.pairwise(body):
        targets = [assignment.target] if isinstance(assignment, ast.AnnAssign) else getattr(assignment, "targets", [])
        named = any(isinstance(target, ast.Name) and target.id == name for target in targets)
        if named and isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant):
            return inspect.cleandoc(str(docstring.value.value))
    raise ValueError(f"expected a string below {home}.{name}, which is public, that says what it is; found none.")
