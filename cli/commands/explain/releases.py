"""Releases of the operator in sentences."""

from collections.abc import Sequence

from ....api.line import Line


def list_releases(lines: Sequence[str]) -> str:
    """Releases of the operator as people write them: `1.2 to 1.5` for neighbours."""
    every = [str(line) for line in Line]
    first, last = every.index(lines[0]), every.index(lines[-1])
    return f"{lines[0]} to {lines[-1]}" if len(lines) == last - first + 1 > 1 else ", ".join(lines)
