"""The documentation of a rule: its title, and sections below headings, the last ones with examples.

Below `Example`, the lines marked `bad` and those without a mark are the mistake; the lines marked `ok` and those without are the same
object without it. An empty line stands between examples.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

SECTIONS: Final = ("Why", "Fix", "Example")
DEFAULT_SECTIONS: Final = ("Why", "Before", "After")
HEADINGS: Final = frozenset({*SECTIONS, *DEFAULT_SECTIONS})
BAD: Final = "bad "  # each mark stands in the four columns of the indentation
GOOD: Final = "ok  "
_EXPECTED: Final = re.compile(r" *# expect\b.*")


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
    if not all(read_examples(documentation, side) for side in (BAD, GOOD)):
        sections = " and ".join(one for one in headings if one not in ("Why", "Fix"))
        raise RuleError(f"rule {name}: {sections} must hold YAML, and not only lines of one mark")
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


def _split_blocks(section: str) -> tuple[str, ...]:
    return tuple(_dedent(block) for block in section.strip("\n").split("\n\n") if block.strip())


def read_examples(documentation: str, side: str) -> tuple[str, ...]:
    """The examples of one side without their indentation; for a default the objects before it are `BAD`, those after it `GOOD`.

    Only the bad side marks where findings are expected.
    """
    sections = split_sections(documentation)
    if "Example" not in sections:
        return _split_blocks(sections.get("Before" if side == BAD else "After", ""))
    lines = ["    " + line[len(side) :] if line.startswith(side) else line for line in sections["Example"].split("\n")]
    text = "\n".join(line for line in lines if not line.startswith((BAD, GOOD)))
    return _split_blocks(text if side == BAD else _EXPECTED.sub("", text))


def join_lines(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _dedent(block: str) -> str:
    lines = block.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines) + "\n"
