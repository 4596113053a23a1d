"""The command line."""

from __future__ import annotations

from boostopt.cli import boost, certify, check, compare, export, fit, listing, path, predict, report, verify
from boostopt.cli.application import app

__all__ = [
    "app",
    "boost",
    "certify",
    "check",
    "compare",
    "export",
    "fit",
    "listing",
    "main",
    "path",
    "predict",
    "report",
    "verify",
]


def main() -> None:
    """Run the command line."""
    app()
