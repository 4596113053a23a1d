"""Build sdist and wheel into dist/, check what an index would show of them, and install both as users do.

Each goes by pipx and by uv into a place that has nothing, and solves a program there, away from the repository. Other
packages have the versions of constraints.txt.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "dist"
BESIDE = Path(sys.executable).parent
"""The folder of the tools build, twine, pipx and uv."""

SOLVED = (
    "compare",
    "lpboost",
    "--data",
    "breast_cancer",
    "--nu",
    "0.1",
    "--columns",
    "10",
    "--backends",
    "interior,highs",
)


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    """Run a tool that stands beside Python, or a path, and return what it printed; what fails ends all of it."""
    words = [str(BESIDE / command[0]), *command[1:]]  # a path that is absolute stays as it is
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def by_pipx(built: Path, place: Path) -> Path:
    """Install by pipx and return the command."""
    places = {"PIPX_HOME": str(place / "home"), "PIPX_BIN_DIR": str(place / "bin"), "PIPX_MAN_DIR": str(place / "man")}
    run(
        "pipx", "install", "--quiet", "--python", sys.executable, "--pip-args",
        f"--constraint {ROOT / 'constraints.txt'}", str(built), cwd=place, **places,
    )  # fmt: skip
    return place / "bin" / "boostopt"


def by_uv(built: Path, place: Path) -> Path:
    """Install by uv and return the command."""
    places = {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin")}
    run(
        "uv", "tool", "install", "--quiet", "--python", sys.executable, "--constraints", str(ROOT / "constraints.txt"),
        str(built), cwd=place, **places,
    )  # fmt: skip
    return place / "bin" / "boostopt"


def main() -> None:
    for old in BUILT.glob("boostopt-*"):
        old.unlink()
    run("python", "-m", "build", "--outdir", str(BUILT), ".", PIP_DISABLE_PIP_VERSION_CHECK="1")
    (wheel,), (source,) = BUILT.glob("boostopt-*.whl"), BUILT.glob("boostopt-*.tar.gz")
    run("twine", "check", "--strict", str(wheel), str(source))
    version = wheel.name.split("-")[1]
    assert source.name == f"boostopt-{version}.tar.gz", source.name
    for built in (wheel, source):
        for install in (by_pipx, by_uv):
            with tempfile.TemporaryDirectory() as scratch:
                place = Path(scratch)
                command = str(install(built, place))
                output = run(command, "--version", cwd=place)
                assert output == f"boostopt {version}\n", output
                run(command, *SOLVED, cwd=place)
            print(f"{built.name} {install.__name__.replace('_', ' ')}: installed, solves")


if __name__ == "__main__":
    main()
