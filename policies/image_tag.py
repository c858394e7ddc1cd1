"""The version that a container image's tag names, as line 1.5 of the operator reads it to learn which Dynamo runtime is inside."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD: Final = r"[0-9A-Za-z-]+"
_VERSION: Final = re.compile(rf"[vV]?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?")
_LONGEST: Final = 128  # characters of a tag; a registry has none that is longer


def names_version(image: str) -> bool:
    """Whether the image's tag is a semantic version of three numbers; linear in the text. A digest is not looked at."""
    name = image.rpartition("/")[2].partition("@")[0]
    _, colon, tag = name.rpartition(":")
    tag = tag.strip()
    return bool(colon) and len(tag) <= _LONGEST and _VERSION.fullmatch(tag) is not None
