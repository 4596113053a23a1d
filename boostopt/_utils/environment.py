"""The environment of a measurement: versions, processor, linear algebra, threads."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from boostopt._utils.formatting import format_count

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables that limit the threads of numerical libraries."""


@cache
def source_version() -> str:
    """Return the version of the package and, after a plus, a digest of its files: developers change them daily."""
    package = import_module("boostopt")
    folder = Path(str(package.__file__)).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return f"{package.__version__}+{digest.hexdigest()[:8]}"


def environment_info() -> dict[str, Any]:
    """Return the processor, usable cores, thread limits of the environment, BLAS and versions."""
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
        "blas": _blas_name(),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def describe_environment(boostopt: str, machine: Mapping[str, Any], requested_threads: int | None = None) -> str:
    """Return the version of the package, the facts of `environment_info` and the threads of a solve, as a sentence."""
    variables = ", ".join(f"{name}={value}" for name, value in machine["threads"].items()) or "not limited"
    threads = variables if requested_threads is None else f"{requested_threads} for a solve"
    return (
        f"boostopt {boostopt}, NumPy {machine['numpy']}, {machine['blas']}, Python {machine['python']}, "
        f"{machine['cpu']}, {format_count(machine['cores'], 'core')}, threads {threads}."
    )


def _cpu_name() -> str:
    """Return the name of the processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _blas_name() -> str:
    """Return the name and version of the BLAS that NumPy was built with."""
    configuration = cast(dict[str, Any], np.show_config(mode="dicts"))
    blas = configuration.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
