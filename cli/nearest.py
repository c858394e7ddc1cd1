"""Finds the known word that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SURE: Final = 0.8  # how similar a word must be to be taken for another without asking


def nearest(word: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The most similar known word, None when nothing is similar; `least` is the ratio of difflib, case left out."""
    import difflib

    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(word.lower()[:200], by_lower, n=1, cutoff=least)
    return by_lower[found[0]] if found else None


def hint(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: `; did you mean X?`, or nothing."""
    found = nearest(word, known)
    return f"; did you mean {found}?" if found else ""
