"""The pages of the papers' experiments, made from the units that are kept in `docs/evidence`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def write_evidence_pages(folder: Path) -> None:
    """Write the pages and their pictures beside the units."""
    from benchmarks.evidence.all import EXPERIMENTS
    from benchmarks.evidence.pages import of_kept

    for name, text in of_kept(folder, folder, EXPERIMENTS).items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
