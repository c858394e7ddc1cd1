"""Writes tables of Markdown."""

from collections.abc import Iterable


def format_table(heads: str, rows: Iterable[Iterable[str]]) -> str:
    """A table; `heads` are the names of its columns with bars between them."""
    return "\n".join([f"| {heads} |", f"|{' --- |' * (heads.count('|') + 1)}", *(f"| {' | '.join(row)} |" for row in rows)])
