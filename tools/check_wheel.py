"""Build sdist and wheel, install the wheel away from the repository, and open every formulation from there.

Then import an editable install from the folder that a clone lies in, where the clone itself has the package's name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPEN_ALL = """
import boostopt, sys
assert boostopt.__file__.startswith(sys.argv[1]), boostopt.__file__
names = boostopt.list_formulations()
assert names == sys.argv[2].split(','), names
for name in names:
    boostopt.get_formulation(name).example_program().solve(tol=1e-4, time_limit=5.0).raise_if_failed()
comparison = boostopt.compare(boostopt.get_formulation(names[-1]).example_program(), ['interior'], tol=1e-4)
assert 'bounded' in boostopt.reporting.to_html(comparison)
print('wheel:', ', '.join(names))
"""

BESIDE = """
import boostopt, boostopt.formulations, sys
assert boostopt.__file__ == sys.argv[1], boostopt.__file__
print('editable:', boostopt.__version__)
"""
IMPORTED = "lazy-loader"
"""All that `import boostopt` needs."""

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "boostopt", "formulations")


def run(*command: str, cwd: Path = ROOT, **environment: str) -> None:
    subprocess.run(command, cwd=cwd, check=True, env={**os.environ, **environment})


def main() -> None:
    pages = sorted(page.stem for page in (ROOT / "formulations").glob("*.py") if page.stem != "__init__")
    with tempfile.TemporaryDirectory() as scratch:
        built, site = Path(scratch, "dist"), Path(scratch, "site")
        run(sys.executable, "-m", "build", "--outdir", str(built), ".", PIP_DISABLE_PIP_VERSION_CHECK="1")
        (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
        with tarfile.open(sdist) as packed:
            assert not any("/notebooks/" in name for name in packed.getnames()), packed.getnames()
        names = zipfile.ZipFile(wheel).namelist()
        assert {"boostopt/py.typed", "boostopt/__init__.pyi"} <= set(names)
        assert all(f"boostopt/formulations/{page}.py" in names for page in pages), names
        files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "boostopt").rglob("*.*") if path.is_file()}
        parts = {file for file in files if "/formulations/" not in file and "__pycache__" not in file}
        assert parts <= set(names), parts - set(names)
        assert not any(name.startswith(("tests/", "formulations/", "notebooks/")) for name in names), names
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel))
        run(sys.executable, "-c", OPEN_ALL, str(site), ",".join(pages), cwd=Path(scratch), PYTHONPATH=str(site))
        check_beside(Path(scratch))


def check_beside(scratch: Path) -> None:
    """Import an editable install of a copy from beside it."""
    clone = scratch / "boostopt"
    clone.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, clone / name, symlinks=True)
        else:
            shutil.copy(source, clone)
    venv.create(scratch / "env", with_pip=True)
    python = str(scratch / "env" / "bin" / "python")
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    run(*install, "--constraint", str(ROOT / "constraints.txt"), IMPORTED)
    run(*install, "--editable", str(clone))
    run(python, "-c", BESIDE, str(clone / "boostopt" / "__init__.py"), cwd=scratch, PYTHONPATH="")


if __name__ == "__main__":
    main()
