"""Changes of a definition: in which version new writes are stored, which versions its status names, and the operator's mark.

Each is a JSON patch that tests what was read before: nobody's change is overwritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.crd_manifest import ALLOW_DATA_LOSS
from dynamo_webhooks.kube.errors import ConflictError, InvalidError
from dynamo_webhooks.kube.resources import CRDS
from dynamo_webhooks.kube.storage_versions import definition, load_definition
from dynamo_webhooks.policies.edit import pointer

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.kube.storage_versions import Definition

OBSERVED: Final = "crd-migration.nvidia.com/observed-generation"  # the later operator's migrator rests where it equals the generation


async def store_in(cluster: Cluster, old: Definition, version: str) -> Definition:
    """Stores new writes in a served version, and touches nothing else of the definition.

    The policy that guards our definitions refuses the way back to an earlier version, unless an annotation acknowledges it in the same
    request; it is taken back at once. Raises: ConflictError when the definition was changed meanwhile; ApiError.
    """
    operations = [_same("/metadata/resourceVersion", old.resource_version)]
    for index, name in enumerate(old.versions):
        path = f"/spec/versions/{index}"
        operations += [_same(f"{path}/name", name), _same(f"{path}/storage", name == old.storage)]
        if (name == version) is not (name == old.storage):
            operations.append({"op": "replace", "path": f"{path}/storage", "value": name == version})
    back = version < old.storage
    if back:
        operations += [] if old.annotations else [_set("/metadata/annotations", {})]
        operations.append(_set(pointer(("metadata", "annotations", ALLOW_DATA_LOSS)), "true"))
    changed = definition(await _patched(cluster, old, operations))
    return await withdrawn(cluster, changed) if back else changed


async def withdrawn(cluster: Cluster, changed: Definition) -> Definition:
    """Takes the acknowledgement back; returns `changed` itself where there is none. Raises: ApiError."""
    if changed.annotations.get(ALLOW_DATA_LOSS) != "true":
        return changed
    return definition(await cluster.merge_patch(CRDS, changed.name, {"metadata": {"annotations": {ALLOW_DATA_LOSS: "false"}}}))


async def name_stored(cluster: Cluster, read: Definition, version: str) -> None:
    """Has the status name one version alone. Raises: ConflictError when the definition was changed since it was read; ApiError."""
    if read.stored == (version,):
        return
    operations = [_same("/metadata/resourceVersion", read.resource_version), _set("/status/storedVersions", [version])]
    await _patched(cluster, read, operations, "status")


async def observe(cluster: Cluster, read: Definition) -> None:
    """Tells the later operator's migrator that nothing is left to do. Raises: ApiError."""
    if read.annotations.get(OBSERVED) != str(read.generation):
        await cluster.merge_patch(CRDS, read.name, {"metadata": {"annotations": {OBSERVED: str(read.generation)}}})


async def _patched(cluster: Cluster, read: Definition, operations: list[Node], subresource: str = "") -> Node:
    try:
        return await cluster.json_patch(CRDS, read.name, operations, subresource=subresource)
    except InvalidError as error:
        now = await load_definition(cluster, read.name)  # no reason is given when a test of the patch fails
        if now is not None and now.resource_version != read.resource_version:
            raise ConflictError(409, "Conflict", f"{read.name} was changed by somebody else") from error
        raise


def _same(path: str, value: Any) -> Node:
    return {"op": "test", "path": path, "value": value}


def _set(path: str, value: Any) -> Node:
    return {"op": "add", "path": path, "value": value}  # of a member that is there it replaces the value
