"""The documentation of a rule: its title, and sections below headings, the last ones with examples."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SECTIONS: Final = ("Why", "Fix", "Bad", "Good")
DEFAULT_SECTIONS: Final = ("Why", "Before", "After")
HEADINGS: Final = frozenset({*SECTIONS, *DEFAULT_SECTIONS})


class RuleError(ImportError):
    """A rule that is declared wrongly; its module does not import."""


def read_documentation(name: str, check: Callable[..., object], headings: tuple[str, ...]) -> str:
    """The documentation of a rule or default. Raises: RuleError if a heading or an example is missing."""
    first, _, rest = (check.__doc__ or "").partition("\n")
    documentation = f"{first}\n{_dedent(rest)}"  # as Python 3.13 and newer have it anyway
    missing = [heading for heading in headings if f"\n{heading}\n" not in documentation]
    if missing or not documentation.split("\n", 1)[0].strip():
        raise RuleError(
            f"rule {name}: the doc string must have a title and the sections {', '.join(headings)}; missing {', '.join(missing)}"
        )
    if not all(split_blocks(split_sections(documentation)[heading]) for heading in headings[-2:]):
        raise RuleError(f"rule {name}: {headings[-2]} and {headings[-1]} must each hold a YAML example")
    return documentation


@lru_cache(maxsize=16)
def split_sections(documentation: str) -> dict[str, str]:
    """The text below each heading; the title below the empty one."""
    first, *lines = documentation.strip().split("\n")
    found, current = {"": first.strip()}, ""
    for line in lines:
        if line in HEADINGS:
            current = line
            found[current] = ""
        elif current:
            found[current] += line + "\n"
    return found


def split_blocks(section: str) -> tuple[str, ...]:
    """The examples of a section, between which an empty line stands."""
    return tuple(_dedent(block) for block in section.strip("\n").split("\n\n") if block.strip())


def join_lines(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _dedent(block: str) -> str:
    lines = block.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines) + "\n"
