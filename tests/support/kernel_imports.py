"""The imports of the checkers of files, which may load little else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Set
from pathlib import Path


def check_imports(kernel: Path, names: Set[str], permitted_modules: Set[str]) -> None:
    """Assert that a kernel consists of some modules, which import each other, the standard library and others alone.

    Parameters
    ----------
    kernel
        The folder of the kernel, in `boostopt/verification`.
    names
        The names of the modules.
    permitted_modules
        The other modules that may be imported.
    """
    assert {path.stem for path in kernel.glob("*.py")} - {"__init__"} == names
    permitted = {f"boostopt.verification.{kernel.name}.{name}" for name in names} | permitted_modules
    for name in names:
        for node in ast.walk(ast.parse((kernel / f"{name}.py").read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert all(m in permitted or m.split(".")[0] in sys.stdlib_module_names for m in modules), (name, modules)
            assert not (isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "eval", "exec"))
