"""Checks the objects of the kinds with two versions, each list of them read once: their sizes, and versions that managed fields name."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ....api.kinds import BY_NAME, GROUP, KINDS, Kind
from ....api.paths import format_path
from ....api.wording import count_of, shorten
from ....conversion import kinds
from ....conversion.bounds import MOST
from ....conversion.lens.protocol import ConversionError
from ....conversion.weight import weigh
from ....kube.errors import ApiError, ForbiddenError, NotFoundError
from ....kube.protocol import Cluster
from ....kube.resources import Resource
from ....kube.storage_versions import read_definition
from . import repairs
from .finding import Finding, error, info, warning
from .observe import Sight
from .storage import stored_resource

Node = dict[str, Any]
_LONGEST: Final = 700  # characters of a path, which may hold names
_SHOWN: Final = 3  # objects that are named for one matter


async def contents(cluster: Cluster, sight: Sight) -> list[Finding]:
    """Lists objects in the version in which new ones are stored, one kind after another, of which one is held at a time."""
    found: list[Finding] = []
    for kind in KINDS:
        if kind.name in kinds.KINDS:
            resource = stored_resource(sight, kind)
            objects = await _list_all(cluster, resource, found)
            for obj in objects:
                found += find_long_objects(obj, kind.name, resource.version)
            found += find_managed_fields(sight, kind, resource.version, objects)
    return found


async def _list_all(cluster: Cluster, resource: Resource, found: list[Finding]) -> list[Node]:
    """The objects of every namespace; adds to `found` why they can't be listed."""
    try:
        return (await cluster.list(resource)).items
    except NotFoundError:
        return []  # the kind is not served
    except ForbiddenError as failed:
        found.append(warning("permission", f"{resource.plural} of every namespace", f"can't be listed: {failed.message}"))
    except ApiError as failed:
        found.append(error("contents", f"{resource.plural} of every namespace", f"can't be listed: {failed.message}"))
    return []


def find_long_objects(obj: Node, kind: str, version: str) -> list[Finding]:
    """An object that the other version shows in part is a warning, one on its way there is for information."""
    metadata = obj["metadata"]
    what = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
    try:
        weight = weigh(kinds.KINDS[kind], obj, version, obj)
    except ConversionError as failed:
        return [warning("sizes", what, f"can't be converted: {shorten(format_path(failed.path), _LONGEST)} {failed.reason}")]
    if weight is None:
        return []
    level = warning if weight.bytes > MOST else info
    edit = f"kubectl edit -n {metadata.get('namespace', '')} {BY_NAME[kind].plural}.{version}.{GROUP}/{metadata['name']}"
    return [level("sizes", what, f"{shorten(format_path(weight.path), _LONGEST)}: {weight.text}", edit)]


def find_managed_fields(sight: Sight, kind: Kind, version: str, objects: Sequence[Node]) -> Iterator[Finding]:
    """Versions in managed fields that are not served, each with the number of objects. Linear in the managed fields."""
    known = read_definition(sight.crds[kind.plural] or {})
    holders: dict[str, list[Node]] = {}
    for obj in objects if known.versions else ():
        written = (str(entry.get("apiVersion") or "").partition("/") for entry in obj["metadata"].get("managedFields") or ())
        for name in {version for group, _, version in written if group == GROUP}.difference(known.served):
            holders.setdefault(name, []).append(obj)
    for name, held in sorted(holders.items()):
        ours = name != version and name in [each.name for each in kind.versions]
        repair = f"{repairs.migrate(kind, version)} --retire {name}" if ours else ""
        names = ", ".join(f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in held[:_SHOWN])
        text = f"metadata.managedFields of {count_of(len(held), 'object')} ({names}{', ...' if len(held) > _SHOWN else ''})"
        if name in known.versions:
            text += f" name {name}, which is not served: every apply of them fails once it is removed"
            yield warning("managed-fields", kind.plural, text, repair)
        else:
            text += f" must name a version that exists, and name {name}: every apply of them fails"
            yield error("managed-fields", kind.plural, text, repair)
