"""Finds managed fields of a version to be removed. They are harmless until the definition drops it; then every apply fails."""

from typing import Any, Final, NamedTuple

from ....api.kinds import BY_NAME, api_version
from ....kube.protocol import Node
from ....kube.resources import resource_of_kind
from .listing import Outage, list_pages
from .offline import name_of
from .options import PAGE, Hands

_EXAMPLES: Final = 5  # names of objects of a manager
_MANAGERS: Final = 1000  # managers counted separately; clients choose their names
_LONGEST: Final = 128  # characters of a manager's name, which an API server bounds


class _Manager(NamedTuple):
    kind: str
    manager: str
    operation: str
    part: str


async def count_by_manager(hands: Hands, version: str) -> dict[str, Any]:
    """All managers of a version, with their objects counted. Costs one list of metadata a kind. Raises: ApiError, Stopped."""
    counts: dict[_Manager, int] = {}
    examples: dict[_Manager, list[str]] = {}
    objects, outage = 0, Outage(hands)
    for kind in hands.options.kinds:
        resource = resource_of_kind(kind, BY_NAME[kind].other(version))
        async for page in list_pages(hands, outage, resource, limit=PAGE, brief=True):
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
