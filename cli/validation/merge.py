"""Merges findings of one mistake, which a rule and the schema both report."""

from collections.abc import Sequence
from typing import Final

from ...policies.checks import CEL_RULE, SCHEMA_RULE
from .finding import Also, LocatedFinding
from .levels import ERROR, POLICIES

_SCHEMA: Final = (SCHEMA_RULE.name, CEL_RULE.name)
_TWINS: Final = {"component names must be unique": "service-name-collision"}  # a rule of the schema for a list -> ours for an item
_NAME: Final = ".name"  # a rule that reads names as keys of a map speaks of the whole item


def merge_duplicates(findings: Sequence[LocatedFinding]) -> list[LocatedFinding]:
    """The findings with one for each value: what the schema refuses there, too, goes with the rule that refuses it."""
    merged: list[LocatedFinding | None] = list(findings)
    first: dict[tuple[object, ...], int] = {}
    for index, one in sorted(enumerate(findings), key=lambda pair: pair[1].rule in _SCHEMA):
        if one.level != ERROR or not (one.stage == POLICIES or one.rule in _SCHEMA):
            continue
        place = (one.source.name, one.identity)
        at = first.get((*place, one.path, one.position)) if one.rule in _SCHEMA else None
        if at is None and one.rule in _SCHEMA and one.path.endswith(_NAME):
            at = first.get((*place, one.path.removesuffix(_NAME), _got(one)))
        if at is None and one.rule == CEL_RULE.name:
            at = next((first.get((*place, one.path, twin)) for begin, twin in _TWINS.items() if one.message.startswith(begin)), None)
        main = merged[at] if at is not None else None
        if at is not None and main is not None:
            also = (*main.also, Also(one.rule, one.code, one.stage, one.path, one.message))
            merged[at] = main._replace(also=also, since=min(main.since, one.since))
            merged[index] = None
            continue
        first.setdefault((*place, one.path, one.position), index)
        first.setdefault((*place, one.path, _got(one)), index)
        first.setdefault((*place, one.path.rpartition("[")[0], one.rule), index)
    return [one for one in merged if one is not None]


def _got(finding: LocatedFinding) -> str:
    """The value that a message quotes at its end."""
    return finding.message.rpartition(", got ")[2]
