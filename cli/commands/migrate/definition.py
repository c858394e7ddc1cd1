"""Changes a definition: the version that new writes are stored in, the versions in its status, and the operator's mark.

Each change is a JSON patch that tests the values read before, so that no concurrent change is overwritten.
"""

from typing import Any, Final

from ....api.crd import ALLOW_DATA_LOSS
from ....kube.errors import ConflictError, InvalidError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CRDS
from ....kube.storage_versions import Definition, load_definition, read_definition
from ....policies.edit import to_json_pointer

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
        operations.append(_set(to_json_pointer(("metadata", "annotations", ALLOW_DATA_LOSS)), "true"))
    changed = read_definition(await _patched(cluster, old, operations))
    return await withdraw(cluster, changed) if back else changed


async def withdraw(cluster: Cluster, changed: Definition) -> Definition:
    """Takes the acknowledgement back; returns `changed` itself where there is none. Raises: ApiError."""
    if changed.annotations.get(ALLOW_DATA_LOSS) != "true":
        return changed
    return read_definition(await cluster.merge_patch(CRDS, changed.name, {"metadata": {"annotations": {ALLOW_DATA_LOSS: "false"}}}))


async def set_stored_versions(cluster: Cluster, read: Definition, version: str) -> None:
    """Has the status name one version alone. Raises: ConflictError when the definition was changed since it was read; ApiError."""
    if read.stored == (version,):
        return
    operations = [_same("/metadata/resourceVersion", read.resource_version), _set("/status/storedVersions", [version])]
    await _patched(cluster, read, operations, "status")


async def observe(cluster: Cluster, read: Definition) -> None:
    """Mark the migration as complete for the later operator's migrator. Raises: ApiError."""
    if read.annotations.get(OBSERVED) != str(read.generation):
        await cluster.merge_patch(CRDS, read.name, {"metadata": {"annotations": {OBSERVED: str(read.generation)}}})


async def _patched(cluster: Cluster, read: Definition, operations: list[Node], subresource: str = "") -> Node:
    try:
        return await cluster.json_patch(CRDS, read.name, operations, subresource=subresource)
    except InvalidError as error:
        now = await load_definition(cluster, read.name)  # no reason is given when a test of the patch fails
        if now is not None and now.resource_version != read.resource_version:
            raise ConflictError(409, "Conflict", f"{read.name} was changed concurrently") from error
        raise


def _same(path: str, value: Any) -> Node:
    return {"op": "test", "path": path, "value": value}


def _set(path: str, value: Any) -> Node:
    return {"op": "add", "path": path, "value": value}  # of a member that is there it replaces the value
