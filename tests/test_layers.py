"""The structure: imports point downwards only, and importing the package loads nothing heavy."""

from __future__ import annotations

import ast
import itertools
import os
import shutil
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path

import pytest

import boostopt

ROOT = Path(boostopt.__file__).parent

# From the bottom to the top: floors of rooms. Rooms of one floor do not import each other.
LEVELS = (
    {"errors"},
    {"_utils", "typesetting"},
    {"rows", "functions"},
    {"certificates", "oracles", "problem_certificates"},
    {"data"},
    {"programs"},
    {"backends", "objectives", "instances"},
    {"solving", "authoring"},
    {"boosting", "checks", "comparison"},
    {"estimators", "verification", "exporting"},
    {"ensembles"},
    {"pictures"},
    {"reporting"},
    {"cli"},
    {"__init__", "__main__"},
)
LEVEL = {module: k for k, level in enumerate(LEVELS) for module in level}

# Within the room of functions: floors of its packages.
FUNCTIONS = (
    {"numerics"},
    {"formulas"},
    {"minorants", "statements", "convex_function"},
    {"edge_functions", "regularizers"},
)

# `program.solve(...)` is `boostopt.solve(program, ...)`.
ALIASES = {("programs", "solving")}


def top(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()


@cache
def imports(path: Path) -> set[str]:
    """The modules of boostopt that a file imports, at the top, inside a function, or on first use as its stub says."""
    found: set[str] = set()
    package = ".".join(("boostopt", *path.parent.relative_to(ROOT).parts))
    files = [file for file in (path, path.with_suffix(".pyi")) if file.is_file()]
    for node in itertools.chain.from_iterable(ast.walk(ast.parse(file.read_text())) for file in files):
        if isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            if module.split(".")[0] == "boostopt":
                inner = {alias.name: f"{module}.{alias.name}" for alias in node.names}
                found |= {inner[name] if is_module(inner[name]) or module == "boostopt" else module for name in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "boostopt"}
    return found


def sources() -> list[Path]:
    apart = {"formulations", "templates"}
    return [path for path in sorted(ROOT.rglob("*.py")) if not apart & set(path.relative_to(ROOT).parts)]


def test_every_module_has_a_level() -> None:
    names = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in sources()}
    assert names == set(LEVEL)


def test_imports_point_downwards() -> None:
    for path in sources():
        here = path.relative_to(ROOT).parts[0].removesuffix(".py")
        upwards = {
            module
            for module in imports(path)
            if here not in (top(module), "__init__", "__main__")
            and (here, top(module)) not in ALIASES
            and LEVEL[top(module)] >= LEVEL[here]
        }
        assert not upwards, f"{path.relative_to(ROOT)} imports {upwards}"


def test_imports_within_functions_point_downwards() -> None:
    level = {package: k for k, packages in enumerate(FUNCTIONS) for package in packages}
    for path in (ROOT / "functions").rglob("*.py"):
        here = path.relative_to(ROOT / "functions").parts[0].removesuffix(".py")
        packages = {module.split(".")[2] for module in imports(path) if module.startswith("boostopt.functions.")}
        upwards = {package for package in packages - {here} if level[package] >= level[here]}
        assert not upwards, f"{path.relative_to(ROOT)} imports {upwards}"


def test_modules_import_each_other_in_no_circle() -> None:
    modules = {".".join(("boostopt", *path.relative_to(ROOT).with_suffix("").parts)): path for path in sources()}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    graph = {
        name: {
            module
            for module in imports(path)
            if module in modules and module != name and (top(name), top(module)) not in ALIASES
        }
        for name, path in modules.items()
    }
    tuple(TopologicalSorter(graph).static_order())


def outside(path: Path) -> set[str]:
    """The packages that a file imports, at the top or inside a function."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.split(".")[0] for name in names}


@pytest.mark.thorough
def test_dask_is_imported_where_rows_on_clusters_are_alone() -> None:
    found = {str(path.relative_to(ROOT)) for path in sources() if outside(path) & {"dask", "distributed"}}
    assert found == {"cli/cluster_tables.py", "rows/dask_blocks.py", "rows/dask_rows.py"}


def test_pages_use_only_what_is_exported_to_authors_and_other_pages() -> None:
    pages = {f"boostopt.formulations.{page.stem}" for page in (ROOT / "formulations").glob("*.py")}
    for page in (ROOT / "formulations").glob("*.py"):
        assert imports(page) <= {"boostopt.authoring", *pages}, page


@pytest.mark.parametrize("path", sorted((ROOT / "cli" / "templates").glob("*.py")), ids=lambda path: path.stem)
def test_templates_use_only_what_users_are_told_of(path: Path) -> None:
    public = {"boostopt.authoring", "boostopt.oracles", *(f"boostopt.{name}" for name in boostopt.__all__)}
    assert imports(path) <= public


SETS = {"standard.py"}
"""Files that are lists of programs: the names of formulations are their data."""

OF_OTHERS = {"ensembles/model_certification/linear_models.py": {"log_loss"}}
"""Names of formulations that mean something of another library's: a loss of scikit-learn's SGDClassifier."""


@pytest.mark.thorough
def test_nothing_in_the_package_names_a_formulation() -> None:
    pages = {page.stem for page in (ROOT / "formulations").glob("*.py")} - {"__init__"}
    for path in sources():
        if path.name in SETS:
            continue
        tree = ast.parse(path.read_text())
        docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, DOCUMENTED)}
        names = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} - docstrings
        others = OF_OTHERS.get(path.relative_to(ROOT).as_posix(), set())
        assert names & pages <= others, path


DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in done.stdout.split()}


HEAVY = {"cvxpy", "sklearn", "scipy", "clarabel", "scs", "highspy", "osqp", "rich", "typer", "dask", "distributed"}


def test_importing_boostopt_loads_neither_solvers_nor_the_modelling_layer() -> None:
    assert not loaded_after("import boostopt; dir(boostopt)") & HEAVY


@pytest.mark.thorough
def test_binding_and_certifying_load_no_solver() -> None:
    loaded = loaded_after(
        "import boostopt\n"
        "program = boostopt.get_formulation('erlpboost').bind([[1.0], [-1.0]], nu=1)\n"
        "program.certify(d=[0.5, 0.5])"
    )
    assert not loaded & {"cvxpy", "sklearn", "clarabel", "scs", "highspy", "rich", "typer"}


@pytest.mark.thorough
def test_modules_that_users_are_told_of_load_on_first_use() -> None:
    assert not loaded_after("import boostopt; boostopt.__version__") & HEAVY
    said = loaded_after(
        "import boostopt; boostopt.authoring.CappedSimplexIndicator; boostopt.instances; boostopt.authoring.COUNT"
    )
    assert "boostopt" in said and "cvxpy" not in said
    assert boostopt.authoring is sys.modules["boostopt.authoring"]
    assert {"authoring", "instances"} <= set(dir(boostopt))


def test_every_public_name_loads() -> None:
    for name in boostopt.__all__:
        assert getattr(boostopt, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        boostopt.nonsense  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.thorough
def test_a_checkout_without_links_has_its_formulations(tmp_path: Path) -> None:
    shutil.copytree(ROOT, tmp_path / "boostopt", ignore=shutil.ignore_patterns("formulations", "__pycache__"))
    shutil.copytree(ROOT / "formulations", tmp_path / "formulations")
    (tmp_path / "boostopt" / "formulations").write_text("../formulations")
    done = subprocess.run(
        [sys.executable, "-c", "import boostopt; print(boostopt.__file__, boostopt.get_formulation('lpboost'))"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(tmp_path / "boostopt" / "__init__.py"), "<formulation", "lpboost>"]


def test_a_public_function_comes_before_a_submodule_of_its_name() -> None:
    code = (
        "import boostopt.pictures.bounds, boostopt.exporting.export, boostopt.verification.verify\n"
        "from boostopt import exporting, pictures, verification\n"
        "assert callable(pictures.bounds) and callable(exporting.export) and callable(verification.verify)"
    )
    assert "boostopt" in loaded_after(code)


@pytest.mark.parametrize("stub", sorted(ROOT.rglob("*.pyi")), ids=lambda stub: str(stub.relative_to(ROOT)))
def test_every_name_of_a_stub_loads(stub: Path) -> None:
    name = ".".join(("boostopt", *stub.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    module = import_module(name)
    tree = ast.parse(stub.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(module.__all__)
    assert {*names, "__doc__"} <= set(dir(module))
    assert all(getattr(module, each) is not None for each in names)
