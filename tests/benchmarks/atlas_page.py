"""The page of the atlas, made from the solves that are stored."""

from __future__ import annotations

from pathlib import Path


def stored(keep: Path, store: Path) -> None:
    """Store finished solves compressed."""


def written(page: Path, store: Path) -> None:
    """Write the page."""
