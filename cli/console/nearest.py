"""Finds the known word nearest to a misspelt one."""

from collections.abc import Iterable
from typing import Final

MIN_OFFERED_RATIO: Final = 0.72  # how similar a word must be to be offered; at 0.6, difflib's own measure, --frobnicate became --rate
MIN_SURE_RATIO: Final = 0.8  # how similar a word must be to be taken for another without asking


def find_nearest(word: str, known: Iterable[str], least: float = MIN_OFFERED_RATIO) -> str | None:
    """The most similar known word, None when nothing is similar; `least` is the ratio of difflib. Case and leading dashes are left out."""
    import difflib

    by_lower = {candidate.lower().lstrip("-"): candidate for candidate in known}
    matches = difflib.get_close_matches(word.lower()[:200].lstrip("-"), by_lower, n=1, cutoff=least)
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: `; did you mean X?`, or nothing."""
    suggestion = find_nearest(word, known)
    return f"; did you mean {suggestion}?" if suggestion else ""
