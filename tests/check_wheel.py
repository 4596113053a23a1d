"""Build sdist and wheel, install the wheel away from the repository, and open every formulation from there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPEN_ALL = """
import boostopt, sys
assert boostopt.__file__.startswith(sys.argv[1]), boostopt.__file__
names = boostopt.list_formulations()
assert names == sys.argv[2].split(','), names
for name in names:
    boostopt.get_formulation(name).smallest().solve(tol=1e-4, time_limit=5.0).raise_if_failed()
comparison = boostopt.compare(boostopt.get_formulation(names[-1]).smallest(), ['interior'], tol=1e-4)
assert 'bounded' in boostopt.reporting.to_html(comparison)
print('wheel:', ', '.join(names))
"""


def run(*command: str, cwd: Path = ROOT, **environment: str) -> None:
    subprocess.run(command, cwd=cwd, check=True, env={**os.environ, **environment})


def main() -> None:
    pages = sorted(page.stem for page in (ROOT / "formulations").glob("*.py") if page.stem != "__init__")
    with tempfile.TemporaryDirectory() as scratch:
        built, site = Path(scratch, "dist"), Path(scratch, "site")
        run(sys.executable, "-m", "build", "--outdir", str(built), ".", PIP_DISABLE_PIP_VERSION_CHECK="1")
        (wheel,) = built.glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert "boostopt/py.typed" in names
        assert all(f"boostopt/formulations/{page}.py" in names for page in pages), names
        files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "boostopt").rglob("*.*") if path.is_file()}
        parts = {file for file in files if "/formulations/" not in file and "__pycache__" not in file}
        assert parts <= set(names), parts - set(names)
        assert not any(name.startswith(("tests/", "formulations/")) for name in names), names
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel))
        run(sys.executable, "-c", OPEN_ALL, str(site), ",".join(pages), cwd=Path(scratch), PYTHONPATH=str(site))


if __name__ == "__main__":
    main()
