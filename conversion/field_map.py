"""The map of fields: which member of one version is which of the other, printed from the lenses themselves."""

from collections.abc import Iterator

from .kind import LEFT, RIGHT, Kind
from .kinds import KINDS


def format_field_map(kind: str) -> str:
    """The table of one kind as text in columns."""
    table = [(f"{LEFT}", f"{RIGHT}", ""), *((left or "-", right or "-", rule) for left, right, rule in field_rows(KINDS[kind]))]
    widths = [max(len(row[column]) for row in table) for column in range(2)]
    return "".join(f"{left:<{widths[0]}}  {right:<{widths[1]}}  {rule}".rstrip() + "\n" for left, right, rule in table)


def field_rows(kind: Kind) -> Iterator[tuple[str, str, str]]:
    """The map of one kind: the members of either version with their whole paths, and what happens, for people."""
    for part, struct in (("spec", kind.spec), ("status", kind.status)):
        for row in struct.rows():
            yield _under(part, row.left), _under(part, row.right), row.rule


def _under(part: str, names: str) -> str:
    """`a.b, c` below `spec` is `spec.a.b, spec.c`."""
    return ", ".join(f"{part}.{name}" for name in names.split(", ")) if names else ""
