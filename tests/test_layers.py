"""The structure: imports point downwards only, and importing the package loads nothing heavy."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from draw_rooms import PICTURE, draw
from package_rooms import (
    FLOORS,
    ROOT,
    UPWARD_IMPORTS,
    import_statements,
    imports,
    is_permitted_upwards,
    room_of,
    room_of_module,
    sources,
)

import boostopt

LEVEL = {room: k for k, floor in enumerate(FLOORS) for room in floor}

FOLDERS = ("boostopt", "formulations", "tests", "docs", "notebooks", "benchmarks", "tools")

MAX_MODULES = 13

OTHER_WORDS = {"auto", "python", "new", "README"}  # on the page of the house

# Within the room of functions: floors of its packages.
FUNCTIONS = (
    {"numerics"},
    {"formulas"},
    {"regularizer_statements", "convex_function"},
    {"edge_functions", "regularizers"},
)


def test_every_module_has_a_level() -> None:
    names = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in sources()}
    assert names == set(LEVEL)


def test_a_room_has_at_most_thirteen_modules() -> None:
    files = Counter(path.parent for path in sources() if path.stem != "__init__")
    crowded = {str(room.relative_to(ROOT)): count for room, count in files.items() if count > MAX_MODULES}
    assert not crowded, f"split the rooms {crowded}"


@pytest.mark.thorough
def test_import_statements_are_those_of_the_syntax_trees() -> None:
    for path in (*sources(), *(ROOT / "formulations").glob("*.py"), *ROOT.rglob("*.pyi")):
        text = path.read_text()
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert sorted(map(ast.dump, import_statements(text))) == sorted(map(ast.dump, nodes)), path


def test_imports_point_downwards() -> None:
    for path in sources():
        room = room_of(path)
        upwards = {
            module
            for module in imports(path)
            if room not in (room_of_module(module), "__init__", "__main__")
            and not is_permitted_upwards(path, module)
            and LEVEL[room_of_module(module)] >= LEVEL[room]
        }
        assert not upwards, f"{path.relative_to(ROOT)} imports {upwards}"


def test_upward_imports_are_loaded_when_a_method_is_called() -> None:
    for file, room in UPWARD_IMPORTS.items():
        path = ROOT / file
        rooms = {room_of_module(module) for module in imports(path)}
        assert room in rooms, f"{file} imports nothing of {room}: remove the line"
        first = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
        assert not [node.module for node in first if node.module and room_of_module(node.module) == room]


def test_imports_within_functions_point_downwards() -> None:
    level = {package: k for k, packages in enumerate(FUNCTIONS) for package in packages}
    for path in (ROOT / "functions").rglob("*.py"):
        package_of_file = path.relative_to(ROOT / "functions").parts[0].removesuffix(".py")
        packages = {module.split(".")[2] for module in imports(path) if module.startswith("boostopt.functions.")}
        upwards = {package for package in packages - {package_of_file} if level[package] >= level[package_of_file]}
        assert not upwards, f"{path.relative_to(ROOT)} imports {upwards}"


def test_objectives_import_no_other_part_of_boosting() -> None:
    package = "boostopt.boosting"
    modules = {module for path in (ROOT / "boosting" / "objectives").glob("*.py") for module in imports(path)}
    imported_modules = {module for module in modules if module.startswith(f"{package}.")}
    assert imported_modules and all(module.startswith(f"{package}.objectives") for module in imported_modules)


def test_modules_import_each_other_in_no_circle() -> None:
    modules = {".".join(("boostopt", *path.relative_to(ROOT).with_suffix("").parts)): path for path in sources()}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    graph = {
        name: {
            module
            for module in imports(path)
            if module in modules and module != name and not is_permitted_upwards(path, module)
        }
        for name, path in modules.items()
    }
    tuple(TopologicalSorter(graph).static_order())


def test_the_picture_of_the_rooms_is_drawn_from_the_imports() -> None:
    assert PICTURE.read_text() == draw(), "the rooms have changed: run `python tools/draw_rooms.py`"


def outside(path: Path) -> set[str]:
    """The packages that a file imports, at the top or inside a function."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.split(".")[0] for name in names}


@pytest.mark.thorough
def test_dask_is_imported_where_rows_on_clusters_are_alone() -> None:
    importers = {str(path.relative_to(ROOT)) for path in sources() if outside(path) & {"dask", "distributed"}}
    assert importers == {"cli/cluster_tables.py", "rows/dask_blocks.py", "rows/dask_rows.py"}


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
        permitted = OF_OTHERS.get(path.relative_to(ROOT).as_posix(), set())
        assert names & pages <= permitted, path


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
    modules = loaded_after(
        "import boostopt; boostopt.authoring.CappedSimplexIndicator; boostopt.instances; boostopt.authoring.COUNT"
    )
    assert "boostopt" in modules and "cvxpy" not in modules
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


@pytest.mark.thorough
def test_a_public_function_comes_before_a_submodule_of_its_name() -> None:
    code = (
        "import boostopt.pictures.soft_margin_bounds, boostopt.exporting.export, boostopt.verification.verify\n"
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
    assert all(getattr(module, exported_name) is not None for exported_name in names)


DEFINED = re.compile(r"\b(?:def|class) (\w+)|^ *(\w+)(?: *=|: )|\b(\w+)=", re.MULTILINE)


def test_the_page_of_the_house_names_only_what_exists() -> None:
    root = ROOT.parent
    paths = [path for folder in FOLDERS for path in (root / folder).rglob("*")]
    defined_words = {word for path in paths for word in re.findall(r"\w+", str(path.relative_to(root)))} | OTHER_WORDS
    for path in (*sources(), *(root / "benchmarks" / "evidence").glob("*.py")):
        defined_words.update(name for names in DEFINED.findall(path.read_text()) for name in names)
    spans = re.findall(r"`([^`\n]+)`", (root / "docs" / "house.md").read_text())
    words = [word for span in spans if "<" not in span for word in re.findall(r"\w+", span)]
    assert len(words) > 100
    assert [word for word in words if word not in defined_words] == []
