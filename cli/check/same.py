"""Mistakes that are told twice: by a rule and by the schema, which make one finding, and objects that stand in two places of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.cli.check.record import (
    CEL_RULE,
    DECODE,
    DUPLICATE,
    ERROR,
    POLICIES,
    SCHEMA_RULE,
    WARNING,
    Also,
    Reported,
    own,
)
from dynamo_webhooks.policies.review import DELETE

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.objects import Identity
    from dynamo_webhooks.cli.check.result import Checked

_SCHEMA: Final = (SCHEMA_RULE.name, CEL_RULE.name)
_RENDERED: Final = ("kustomize:", "helm:", "cluster:")  # sources that are no files; each holds what one place applies
_NAME: Final = ".name"  # a rule that reads names as keys of a map speaks of the whole item


def one_each(findings: Sequence[Reported]) -> list[Reported]:
    """The findings with one for each value: what the schema refuses there, too, goes with the rule that refuses it."""
    merged: list[Reported | None] = list(findings)
    first: dict[tuple[object, ...], int] = {}
    for index, one in sorted(enumerate(findings), key=lambda pair: pair[1].rule in _SCHEMA):
        if one.level != ERROR or not (one.stage == POLICIES or one.rule in _SCHEMA):
            continue
        place = (one.source.name, one.identity)
        at = first.get((*place, one.path, one.position)) if one.rule in _SCHEMA else None
        if at is None and one.rule in _SCHEMA and one.path.endswith(_NAME):
            at = first.get((*place, one.path.removesuffix(_NAME), _got(one)))
        main = merged[at] if at is not None else None
        if at is not None and main is not None:
            merged[at] = main._replace(also=(*main.also, Also(one.rule, one.code, one.stage, one.path, one.message)))
            merged[index] = None
            continue
        first.setdefault((*place, one.path, one.position), index)
        first.setdefault((*place, one.path, _got(one)), index)
    return [one for one in merged if one is not None]


def _got(finding: Reported) -> str:
    """The value that a message quotes at its end."""
    return finding.message.rpartition(", got ")[2]


def duplicates(checked: Sequence[Checked]) -> Iterator[Reported]:
    """A finding for each object that stands somewhere before: with its namespace, or in the same folder or text."""
    seen: dict[tuple[object, ...], Checked] = {}
    for one in checked:
        if one.name is None or one.operation == DELETE:
            continue
        places = _places(one.source.name, one.identity)
        before = next((seen[place] for place in places if place in seen), None)
        if before is not None:
            where = f"{before.source.name}:{before.line}"
            text = f"must name one object, and {where} has the same kind and name; of both, the one applied last stays"
            yield own(DUPLICATE, WARNING, DECODE, one.source, one.name, one.identity, "metadata.name", text)
        for place in places:
            seen.setdefault(place, one)


def _places(name: str, identity: Identity) -> list[tuple[object, ...]]:
    """Where an object would meet another one of its name."""
    if name.startswith(_RENDERED):
        return [(name, identity)]
    folder = name.rpartition("/")[0]
    return [("folder", folder, identity), *([("namespace", identity)] if identity.namespace else [])]
