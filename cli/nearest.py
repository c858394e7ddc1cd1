"""Finds the known word that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The most similar known word, None when nothing is similar."""
    import difflib

    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(word.lower()[:200], by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def hint(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: `; did you mean X?`, or nothing."""
    found = nearest(word, known)
    return f"; did you mean {found}?" if found else ""
