"""Facets of scalars: lengths, patterns, bounds and formats. Types, objects and lists are `api.walk.structure`'s."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from ..scalars import SCALARS
from ..schema import Node
from .errors import Reason

# Number formats bind only typed decoders: the API server stores a 40-bit number in an int32 field.
_TEXT_FORMATS: Final = {"date-time": SCALARS["time"].check, "byte": SCALARS["bytes"].check}


def text_errors(value: str, node: Node) -> Iterator[tuple[Reason, str]]:
    """Yield the first error of a text; lengths count characters, although the server's message speaks of bytes."""
    pattern = node.get("pattern")
    if len(value) > node.get("maxLength", len(value)):
        yield Reason.TOO_LONG, f"may not be more than {node['maxLength']} bytes"
    elif len(value) < node.get("minLength", 0):
        yield Reason.INVALID, f"in body should be at least {node['minLength']} chars long"
    elif pattern is not None and _compiled(pattern).search(value) is None:
        yield Reason.INVALID, f"in body should match '{pattern}'"


def number_errors(value: float, node: Node) -> Iterator[tuple[Reason, str]]:
    """Yield the errors of a number's size."""
    minimum, maximum = node.get("minimum"), node.get("maximum")
    if maximum is not None and (value >= maximum if node.get("exclusiveMaximum") else value > maximum):
        yield Reason.INVALID, f"in body should be less than {'' if node.get('exclusiveMaximum') else 'or equal to '}{maximum}"
    if minimum is not None and (value <= minimum if node.get("exclusiveMinimum") else value < minimum):
        yield Reason.INVALID, f"in body should be greater than {'' if node.get('exclusiveMinimum') else 'or equal to '}{minimum}"


def format_error(value: Any, node: Node) -> str | None:
    """The error of a text's format, if any."""
    check = _TEXT_FORMATS.get(node.get("format", "")) if isinstance(value, str) else None
    return None if check is None or check(value) else f"in body must be of type {node['format']}"


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern of the schema's dialect: `$` is the very end, never a place before a last newline, and classes are ASCII."""
    out: list[str] = []
    escaped = in_class = False
    for char in pattern:
        if char == "$" and not escaped and not in_class:
            out.append(r"\Z")
            continue
        in_class = not escaped and (char == "[" or (in_class and char != "]")) if not escaped else in_class
        escaped = char == "\\" and not escaped
        out.append(char)
    return re.compile("".join(out), re.ASCII)
