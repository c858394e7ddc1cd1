"""Kinds by the names that people use for them."""

from ...api.kinds import KINDS
from .exits import UsageError
from .nearest import did_you_mean


def find_kind(word: str) -> str | None:
    """The kind that a word names in any case: itself, its plural, short name or abbreviation; None when it names none."""
    wanted = word.lower().partition("/")[0].partition(".")[0]
    for kind in KINDS:
        if wanted in (kind.name.lower(), kind.plural, kind.short, kind.alias.lower()):
            return kind.name
    return None


def parse_kind(word: str) -> str:
    """The kind that a word names. Raises: UsageError with the nearest kind when it names none."""
    name = find_kind(word)
    if name is None:
        names = [kind.name for kind in KINDS]
        raise UsageError(f"--kind {word}: no such kind{did_you_mean(word, names) or '; known are ' + ', '.join(names)}")
    return name
