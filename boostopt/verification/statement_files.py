"""Statements of certificates in files of their own, which the certificates name by relative path and digest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostopt._utils.files import write_atomically
from boostopt.errors import ProblemError
from boostopt.verification.trusted_kernel.certificate_schema import MAX_TEXT_BYTES
from boostopt.verification.trusted_kernel.json_parsing import (
    Rejected,
    parse_json,
    parse_object_with_keys,
    parse_text,
    read_bytes,
    reject,
)

PLACE_KEYS = {"file", "sha256"}
"""The names that stand for a statement in a file of its own: its relative path, and its digest."""


@dataclass(frozen=True)
class StatementFormat:
    """A format of files that hold a statement alone.

    Attributes
    ----------
    kind
        The kind of these files.
    name
        The name of the statement, in these files and in certificates.
    """

    kind: str
    name: str

    def is_beside(self, top: Mapping[str, Any]) -> bool:
        """Return whether the statement of a certificate is in a file of its own."""
        place = top.get(self.name)
        return isinstance(place, dict) and set(place) == PLACE_KEYS

    def text_of(self, statement: Mapping[str, Any]) -> bytes:
        """Return the text of the file of a statement: one text for each statement."""
        content = {"kind": self.kind, "format": 1, self.name: statement}
        return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()

    def digest_of(self, statement: Mapping[str, Any]) -> str:
        """Return the digest of the file of a statement."""
        return hashlib.sha256(self.text_of(statement)).hexdigest()

    def path_beside(self, place: Mapping[str, Any], folder: Path | None) -> Path:
        """Return the path of the file of a statement: within the folder of the certificate, and nowhere else.

        Raises
        ------
        Rejected
            The path leaves the folder, or there is no folder.
        """
        name = parse_text(place["file"], f"the file of the {self.name}")
        path = Path(name)
        if folder is None:
            reject(f"the {self.name} is in the file {name!r}; pass its path as data=")
        if path.is_absolute() or not path.name or ".." in path.parts or "\\" in name:
            reject(
                f"the file of the {self.name} must lie in the folder of the certificate; it is {name!r}. Pass its path "
                "as data="
            )
        return folder / path

    def read(self, path: Path, place: Mapping[str, Any]) -> Any:
        """Return the statement in a file.

        Raises
        ------
        Rejected
            The file is absent, of another kind, or has another digest than the certificate states.
        """
        expected = parse_text(place["sha256"], f"the digest of the file of the {self.name}")
        try:
            content = read_bytes(path, MAX_TEXT_BYTES)
        except Rejected as rejected:
            reject(
                f"the {self.name} of the certificate is in another file: {rejected}. Put it there, or pass its path as "
                "data="
            )
        digest = hashlib.sha256(content).hexdigest()
        if digest != expected:
            reject(
                f"the file of the {self.name} must have the digest {expected[:12]}...; {path.name[-100:]} has "
                f"{digest[:12]}... It was changed, or belongs to another certificate: pass the path of the file that "
                "was saved as data="
            )
        keys = {"kind", "format", self.name}
        item = parse_object_with_keys(parse_json(content), keys, f"the file of the {self.name}")
        if item["kind"] != self.kind or item["format"] != 1 or type(item["format"]) is not int:
            reject(f"the file of the {self.name} must be a {self.kind} of format 1; it is none")
        return item[self.name]

    def write(self, path: Path, statement: Mapping[str, Any]) -> None:
        """Write the file of a statement, unless it is there already.

        Raises
        ------
        ProblemError
            The file has other content, to which other certificates may refer.
        DataError
            The file cannot be written.
        """
        text = self.text_of(statement)
        if path.exists():
            try:
                content = read_bytes(path, len(text))
            except Rejected:
                content = b""
            if content != text:
                raise ProblemError(
                    f"data must be a new file, or the file of this {self.name}; got {str(path)!r} with other content. "
                    "Pass another name: certificates may refer to this file."
                )
            return
        write_atomically(path, lambda file: file.write(text))


def place_beside(certificate: Path, statement: Path) -> str:
    """Return the path of the file of a statement relative to the folder of its certificate.

    Raises
    ------
    ProblemError
        It does not lie in this folder or below, or is the certificate itself.
    """
    folder, path = certificate.absolute().parent, statement.absolute()
    has_name = "\0" not in f"{statement}{certificate}"  # a path that no file has is refused where it is opened
    is_certificate = has_name and os.path.realpath(statement) == os.path.realpath(certificate)
    if not path.is_relative_to(folder) or is_certificate or ".." in path.relative_to(folder).parts:
        raise ProblemError(
            f"data must be a file in the folder of the certificate or below it, so that both travel together; got "
            f"{str(statement)!r} for the certificate {str(certificate)!r}. Pass a path beside it."
        )
    return path.relative_to(folder).as_posix()
