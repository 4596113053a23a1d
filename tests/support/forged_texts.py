"""The verdict on the text of a certificate file, which may be no JSON at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from boostopt.verification.trusted_kernel.json_parsing import Rejected, parse_json
from boostopt.verification.verification_result import Verification


def verdict_on_text(raw: bytes, verify: Callable[[Mapping[str, Any]], Verification]) -> tuple[Verification, Any]:
    """Return the verdict of a checker on a text, and the object that the text states; None if it states none."""
    try:
        top = parse_json(raw)
    except Rejected as rejected:
        return Verification(False, str(rejected)), None
    return (verify(top), top) if isinstance(top, dict) else (Verification(False, "no object"), None)
