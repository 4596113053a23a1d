"""Hold how much of what boostopt exports has a type that every checker reads alike: `pyright --verifytypes`.

Left are classes whose base has no types there (scikit-learn's, matplotlib's, typer's) with what mentions them, what one
pair of a loss and a penalty sets on itself, and the files that `boostopt new` copies, written as users write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEAST = 0.995


def main() -> None:
    folder = Path(sys.executable).parent
    words = [str(folder / "pyright"), "--verifytypes", "boostopt", "--ignoreexternal", "--outputjson"]
    with tempfile.TemporaryDirectory() as scratch:  # away from pyproject.toml, as a user's checker is
        # pyright takes the packages of the first `python` in PATH here, whatever --pythonpath says
        path = os.pathsep.join((str(folder), os.environ["PATH"]))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path}
        done = subprocess.run(words, cwd=scratch, env=environment, capture_output=True, text=True)
    report = json.loads(done.stdout)["typeCompleteness"]
    counts, score = report["exportedSymbolCounts"], report["completenessScore"]
    print(f"types: {score:.2%} of {sum(counts.values())} names; {counts}")
    if score < LEAST:
        diagnostics = [(symbol["name"], symbol.get("diagnostics", ())) for symbol in report["symbols"]]
        gaps = [f"{name}: {one['message']}" for name, all_ in diagnostics for one in all_ if one["severity"] == "error"]
        sys.exit("\n".join([f"{score:.2%} is less than {LEAST:.1%}. Annotate what is new among these:", *gaps]))


if __name__ == "__main__":
    main()
