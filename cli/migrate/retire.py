"""Which managed fields name a version that is to go. While it is in the definition they are harmless; then nobody can apply the object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.cli.migrate.listing import Outage, pages
from dynamo_webhooks.cli.migrate.offline import name_of
from dynamo_webhooks.cli.migrate.options import PAGE
from dynamo_webhooks.kube.resources import of_kind

if TYPE_CHECKING:
    from dynamo_webhooks.cli.migrate.options import Hands
    from dynamo_webhooks.kube.protocol import Node

_EXAMPLES: Final = 5  # names of objects of a manager
_MANAGERS: Final = 1000  # managers that are told apart; a manager is named by whoever writes
_LONGEST: Final = 128  # characters of a manager's name, which an API server bounds


class _Manager(NamedTuple):
    kind: str
    manager: str
    operation: str
    part: str


async def named_by(hands: Hands, version: str) -> dict[str, Any]:
    """All managers of a version, with their objects counted. Costs one list of metadata a kind. Raises: ApiError, Stopped."""
    counts: dict[_Manager, int] = {}
    examples: dict[_Manager, list[str]] = {}
    objects, outage = 0, Outage(hands)
    for kind in hands.options.kinds:
        resource = of_kind(kind, BY_NAME[kind].other(version))
        async for page in pages(hands, outage, resource, limit=PAGE, brief=True):
            for item in page:
                found = {one for one in _managers(kind, item["metadata"], api_version(version)) if one in counts or len(counts) < _MANAGERS}
                objects += bool(found)
                for one in found:
                    counts[one] = counts.get(one, 0) + 1
                    if len(names := examples.setdefault(one, [])) < _EXAMPLES:
                        names.append(name_of(item))
            hands.check()
    rows = [
        {"kind": one.kind, "manager": one.manager, "operation": one.operation, "part": one.part, "objects": counts[one], "examples": names}
        for one, names in sorted(examples.items())
    ]
    return {"version": version, "objects": objects, "managers": rows}


def _managers(kind: str, metadata: Node, version: str) -> set[_Manager]:
    entries = metadata.get("managedFields")
    return {
        _Manager(kind, str(each.get("manager") or "")[:_LONGEST], str(each.get("operation") or ""), str(each.get("subresource") or ""))
        for each in (entries if isinstance(entries, list) else ())
        if isinstance(each, dict) and each.get("apiVersion") == version
    }
