"""The lines of source around a finding, with carets under it: wide characters, tabs and long lines come out aligned."""

from __future__ import annotations

from typing import Final
from unicodedata import category, east_asian_width

from dynamo_webhooks.cli.yaml.load import Position

_TAB: Final = 4
_WIDTH: Final = 120  # columns of source shown of a long line
_LEAD: Final = 40  # of them before the finding


def frame(lines: list[str], position: Position) -> list[str]:
    """The line before the finding if it says something, its own line and the carets, each with its number in a margin."""
    index = position.line - 1
    if not 0 <= index < len(lines):
        return []
    line = lines[index]
    start = min(position.column - 1, len(line))
    end = max(min(position.end_column - 1, len(line)), start)
    cut = max(0, start - _LEAD) if len(line) > _WIDTH else 0
    before = _shown(line[cut:start])
    marked = _shown(line[start : min(end, cut + _WIDTH)])
    rest = _shown(line[max(end, start) : max(cut + _WIDTH, start)])
    out = [f"{number:>7} | {_clipped(lines[number - 1])}" for number in (index,) if number and lines[number - 1].strip()]
    out.append(f"{index + 1:>7} | {before}{marked}{rest}".rstrip())
    out.append(f"{'':>7} | {' ' * _columns(before)}{'^' * max(_columns(marked), 1)}")
    return out


def _clipped(line: str) -> str:
    return _shown(line[:_WIDTH]).rstrip()


def _shown(text: str) -> str:
    """What a terminal prints without moving its cursor oddly: tabs as blanks, control characters as dots."""
    if text.isprintable():
        return text
    return "".join(" " * _TAB if c == "\t" else c if c.isprintable() or category(c) in ("Mn", "Me", "Zs") else "." for c in text)


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in ("W", "F") else 1 for c in text)
