"""Changes a definition, by JSON patches that test the values read before, and waits until every API server has taken it over."""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

from ....api.crd import ALLOW_DATA_LOSS
from ....kube.errors import ApiError, ConflictError, ForbiddenError, InvalidError, UnavailableError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CRDS
from ....kube.storage_versions import (
    Definition,
    StorageHashes,
    compute_storage_hash,
    load_api_servers,
    load_definition,
    read_definition,
    read_storage_hash,
    read_storage_hashes,
)
from ....policies.edit import to_json_pointer
from .context import MigrationContext
from .report import MigrationReport

OBSERVED: Final = "crd-migration.nvidia.com/observed-generation"  # the later operator's migrator rests where it equals the generation
POLL_SECONDS: Final = 1.0  # between two looks at API servers
_REPORT_AFTER_SECONDS: Final = 5.0  # of waiting for them


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


async def set_stored_versions(cluster: Cluster, definition: Definition, version: str) -> None:
    """Has the status name one version alone. Raises: ConflictError when the definition was changed since it was read; ApiError."""
    if definition.stored == (version,):
        return
    operations = [_same("/metadata/resourceVersion", definition.resource_version), _set("/status/storedVersions", [version])]
    await _patched(cluster, definition, operations, "status")


async def observe(cluster: Cluster, definition: Definition) -> None:
    """Mark the migration as complete for the later operator's migrator. Raises: ApiError."""
    if definition.annotations.get(OBSERVED) != str(definition.generation):
        await cluster.merge_patch(CRDS, definition.name, {"metadata": {"annotations": {OBSERVED: str(definition.generation)}}})


async def _patched(cluster: Cluster, definition: Definition, operations: list[Node], subresource: str = "") -> Node:
    try:
        return await cluster.json_patch(CRDS, definition.name, operations, subresource=subresource)
    except InvalidError as error:
        now = await load_definition(cluster, definition.name)  # no reason is given when a test of the patch fails
        if now is not None and now.resource_version != definition.resource_version:
            raise ConflictError(409, "Conflict", f"{definition.name} was changed concurrently") from error
        raise


def _same(path: str, value: Any) -> Node:
    return {"op": "test", "path": path, "value": value}


def _set(path: str, value: Any) -> Node:
    return {"op": "add", "path": path, "value": value}  # of a member that is there it replaces the value


async def wait_for_agreement(context: MigrationContext, definitions: Sequence[Definition], report: MigrationReport) -> float:
    """The moment (monotonic) at which all servers were seen to store all kinds in the version.

    Once one API server has answered at its own address, every one must: one that hangs may still write as before. It is waited for until it
    answers or leaves the list. Where none answers so, as from outside of a cluster, the usual address is asked again and again.
    Raises: UnavailableError when they do not within the run's patience; Stopped.
    """
    began, reported, near = monotonic(), False, bool(context.options.servers)
    while True:
        servers = [*context.options.servers] or await _servers(context, report)
        group, to = definitions[0].group, context.options.to
        answers = [*await asyncio.gather(*(read_storage_hash(context.opener, each, group, to) for each in servers))]
        near = near or any(not answer.wrong for answer in answers)
        if not near:
            _warn(report, answers)
        pending = _pending(definitions, to, answers if near else await read_storage_hashes(context.opener, (), group, to))
        now = monotonic()
        if not pending:
            return now
        if now - began > context.options.patience:
            raise UnavailableError(0, "", f"API servers must store new writes in {context.options.to}, and do not: {pending}")
        if now - began > _REPORT_AFTER_SECONDS and not reported:
            reported = True
            context.say(f"waiting for API servers: {pending}")
        await context.sleep(POLL_SECONDS)


def _pending(definitions: Sequence[Definition], to: str, answers: Sequence[StorageHashes]) -> str:
    """Which server is not there yet; empty when all are."""
    for answer in answers:
        behind = [each.plural for each in definitions if answer.hashes.get(each.plural) != compute_storage_hash(each.group, to, each.kind)]
        if answer.wrong or behind:
            return answer.wrong or f"{answer.server or 'the usual address'} has not taken over the definition of {' and '.join(behind)}"
    return "" if answers else "none is listed"


def _warn(report: MigrationReport, answers: Sequence[StorageHashes]) -> None:
    for answer in answers:
        if not any(answer.server in each for each in report.warnings):
            text = f"the API server {answer.server} can't be queried directly, and is queried through the usual address: {answer.wrong}"
            report.warnings.append(text)


async def _servers(context: MigrationContext, report: MigrationReport) -> list[str]:
    try:
        return await load_api_servers(context.cluster)
    except ForbiddenError as error:
        text = f"API servers can't be listed, and are queried through the usual address: {error.message}"
        if text not in report.warnings:
            report.warnings.append(text)
    except ApiError as error:
        context.say(f"API servers can't be listed now: {error.message}")
    return []
