"""What earlier operators left in objects: annotations that later ones drop, and managed fields of versions that are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.api.line import Line, of_definition
from dynamo_webhooks.api.wording import many
from dynamo_webhooks.cli.doctor import repairs
from dynamo_webhooks.cli.doctor.finding import Finding, error, warning
from dynamo_webhooks.conversion import kinds, remainder
from dynamo_webhooks.conversion.kind import LEFT
from dynamo_webhooks.kube.storage_versions import definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dynamo_webhooks.api.kinds import Kind
    from dynamo_webhooks.cli.doctor.sight import Sight

Node = dict[str, Any]
SHOWN: Final = 3  # objects that are named for one matter


def judged(sight: Sight, kind: Kind, version: str, objects: Sequence[Node]) -> Iterator[Finding]:
    """One finding for each matter, with the number of objects. Linear in the objects' annotations and managed fields."""
    yield from _managed(sight, kind, version, objects)
    if of_definition(sight.crds[BY_NAME["DynamoGraphDeployment"].plural]) is Line.V1_5:
        yield from _annotations(kind, version, objects)


def told(objects: Sequence[Node]) -> str:
    """How many objects there are, and the first of them."""
    names = [f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in objects[:SHOWN]]
    more = ", ..." if len(objects) > SHOWN else ""
    return f"{many(len(objects), 'object')} ({', '.join(names)}{more})"


def _managed(sight: Sight, kind: Kind, version: str, objects: Sequence[Node]) -> Iterator[Finding]:
    known = definition(sight.crds[kind.plural] or {})
    if not known.versions:
        return
    holders: dict[str, list[Node]] = {}
    for obj in objects:
        for name in {*_written_in(obj)}:
            if name not in known.served:
                holders.setdefault(name, []).append(obj)
    for name, held in sorted(holders.items()):
        ours = name != version and name in [each.name for each in kind.versions]
        repair = f"{repairs.migrate(kind, version)} --retire {name}" if ours else ""
        if name in known.versions:
            text = f"metadata.managedFields of {told(held)} name {name}, which is not served: every apply of them fails once it is removed"
            yield warning("managed-fields", kind.plural, text, repair)
        else:
            text = f"metadata.managedFields of {told(held)} must name a version that exists, and name {name}: every apply of them fails"
            yield error("managed-fields", kind.plural, text, repair)


def _written_in(obj: Node) -> Iterable[str]:
    """The versions of our group that managed fields name."""
    for entry in obj["metadata"].get("managedFields") or ():
        group, _, name = str(entry.get("apiVersion") or "").partition("/")
        if group == GROUP:
            yield name


def _annotations(kind: Kind, version: str, objects: Sequence[Node]) -> Iterator[Finding]:
    """What the Go operator of line 1.5 does not read; it removes it at the next conversion."""
    declared = kinds.KINDS[kind.name]
    older = set(declared.legacy.keys) if declared.legacy else set()
    legacy, kept = [], []
    for obj in objects:
        annotations = obj["metadata"].get("annotations") or {}
        if older & annotations.keys():
            legacy.append(obj)
        elif declared.spec_key in annotations and remainder.read(declared, annotations, version == LEFT)[0].kept:
            kept.append(obj)
    rewrite = f"dynamo-webhooks migrate --rewrite --kind {kind.name}"
    if legacy:
        text = f"{told(legacy)} have annotations of operators 1.0 and 1.1, which the Go operator of line 1.5 removes unread"
        yield warning("remainders", kind.plural, text, rewrite)
    if kept:
        text = f"{told(kept)} have values in the annotation {declared.spec_key} that a Go operator drops when it writes them in its version"
        yield warning("remainders", kind.plural, text, rewrite)
