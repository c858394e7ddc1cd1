"""Checks in which version objects are stored, by what definitions note and by what each API server says."""

import asyncio
from collections.abc import Iterator, Sequence

from ....api.kinds import BETA, BY_NAME, GROUP, Kind
from ....conversion import kinds
from ....kube.errors import ForbiddenError
from ....kube.protocol import Cluster
from ....kube.resources import Resource, resource_of_kind
from ....kube.storage_versions import Opener, Seen, load_api_servers, read_definition, read_storage_hash, read_storage_hashes, storage_hash
from . import repairs
from .finding import Finding, info, warning
from .observe import Sight


def stored_resource(sight: Sight, kind: Kind) -> Resource:
    """A kind in the version in which its objects are stored."""
    return resource_of_kind(kind.name, read_definition(sight.crds[kind.plural] or {}).storage or kind.storage_version)


def versions(sight: Sight) -> Iterator[Finding]:
    """The status of a definition names one version, once `migrate` has proven it."""
    for kind in map(BY_NAME.__getitem__, kinds.KINDS):
        if len(named := read_definition(sight.crds[kind.plural] or {}).stored) > 1:
            version = stored_resource(sight, kind).version
            text = f"objects may be stored in {' and '.join(named)}, new ones in {version}"
            yield info("stored-versions", f"CustomResourceDefinition {kind.crd_name}", text, repairs.migrate(kind, version))


async def servers(cluster: Cluster, opener: Opener, sight: Sight) -> list[Finding]:
    """Each API server that can be reached stores what the definitions say. Costs one request to each, at most `MOST_SERVERS`."""
    try:
        addresses = await load_api_servers(cluster)
    except ForbiddenError as failed:
        return [warning("permission", "EndpointSlices of default/kubernetes", f"can't be listed: {failed.message}")]
    seen = [one for one in await asyncio.gather(*(read_storage_hash(opener, each, GROUP, BETA) for each in addresses)) if not one.wrong]
    # from outside of the cluster there is one address for all of them
    seen = seen or [one for one in await read_storage_hashes(opener, (), GROUP, BETA) if not one.wrong]
    return [each for name in kinds.KINDS for each in _of_servers(sight, BY_NAME[name], seen)]


def _of_servers(sight: Sight, kind: Kind, seen: Sequence[Seen]) -> Iterator[Finding]:
    version = stored_resource(sight, kind).version
    wanted = storage_hash(GROUP, version, kind.name)
    found = [(one.server or "one of those behind the usual address", one.hashes.get(kind.plural)) for one in seen]
    if late := dict.fromkeys(server for server, said in found if said and said != wanted):
        text = f"API server {' and '.join(late)} must store objects in {version} as the definition says, and stores them in another version"
        yield warning("stored-versions", f"CustomResourceDefinition {kind.crd_name}", text, repairs.migrate(kind, version))
