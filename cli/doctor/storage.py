"""In which version objects really are stored, as far as it can be told without a write, and which one each API server stores.

`status.storedVersions` is a note that any client may write. What is told here of objects is counted by an API server: a read takes a
conversion by the webhook exactly if the object is stored in the other version. An apply with `dryRun` gives the same resourceVersion
whatever is stored, so that it proves nothing.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import BETA, BY_NAME, GROUP
from dynamo_webhooks.cli.doctor import repairs
from dynamo_webhooks.cli.doctor.emptied import stored
from dynamo_webhooks.cli.doctor.finding import Finding, info, warning
from dynamo_webhooks.conversion import kinds
from dynamo_webhooks.kube.errors import ApiError, ForbiddenError
from dynamo_webhooks.kube.resources import of_kind
from dynamo_webhooks.kube.storage_versions import definition, load_api_servers, seen_hash, seen_hashes, storage_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dynamo_webhooks.api.kinds import Kind
    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster
    from dynamo_webhooks.kube.storage_versions import Opener, Seen

Node = dict[str, Any]
CONVERSIONS: Final = "apiserver_crd_conversion_webhook_duration_seconds_count"
FEW: Final = 20  # objects of a kind that are read, unless all are
_VERSIONS: Final = re.compile(r'crd_name="([^"]+)",from_version="([^"]+)",.*to_version="([^"]+)"')
Counts = dict[tuple[str, str, str], float]  # by definition, version before and after


class Sample(NamedTuple):
    """Objects of one kind that are read in both versions."""

    kind: Kind
    version: str  # in which new objects are stored
    names: tuple[tuple[str, str], ...]  # namespace and name
    total: int  # objects of the kind


class Evidence(NamedTuple):
    """How many of some objects are stored in the other version: at least and at most, because others' reads are counted too."""

    read: int
    least: int
    most: int


def sample(kind: Kind, version: str, objects: Sequence[Node], *, everything: bool) -> Sample:
    """Some objects, spread evenly over the list, or all of them."""
    step = 1 if everything else max(1, -(-len(objects) // FEW))
    names = tuple((each["metadata"].get("namespace", ""), each["metadata"]["name"]) for each in objects[::step])
    return Sample(kind, version, names, len(objects))


async def versions(cluster: Cluster, sight: Sight, samples: Sequence[Sample]) -> list[Finding]:
    """What storedVersions of each kind says, and what is really so. Costs two reads an object of the samples, and two of all metrics."""
    found: list[Finding] = []
    evidence: Mapping[str, Evidence] = {}
    why = ""
    if any(each.names for each in samples):
        try:
            evidence = await _evidence(cluster, samples)
        except ForbiddenError as failed:
            found.append(warning("permission", "metrics of the API server", f"can't be read: {failed.message}"))
        except ApiError as failed:
            why = failed.message
    for each in samples:
        found += _judged(sight, each, evidence.get(each.kind.plural), why)
    return found


def _judged(sight: Sight, of: Sample, seen: Evidence | None, why: str) -> Iterator[Finding]:
    named = definition(sight.crds[of.kind.plural] or {}).stored
    other = of.kind.other(of.version)
    what, repair = f"CustomResourceDefinition {of.kind.crd_name}", repairs.migrate(of.kind, of.version)
    if len(named) > 1:
        text = f"objects may be stored in {' and '.join(named)}, new ones in {of.version}; {_told(of, seen, other, why)}"
        yield info("stored-versions", what, text, repair)
    elif seen and seen.least:
        text = f"status.storedVersions must name {other}, and doesn't: {_told(of, seen, other, why)}"
        yield warning("stored-versions", what, text, repair)


def _told(of: Sample, seen: Evidence | None, other: str, why: str) -> str:
    if not of.total:
        return "there is none"
    if seen is None:
        return "which ones can't be told without writing them" + (f": {why}" if why else "")
    if not seen.most:
        return f"all {seen.read} of {of.total} that were read are stored in {of.version}"
    count = str(seen.least) if seen.least == seen.most else f"between {seen.least} and {seen.most}"
    return f"{count} of the {seen.read} that were read, of {of.total}, {'is' if count == '1' else 'are'} stored in {other}"


async def servers(cluster: Cluster, opener: Opener, sight: Sight) -> list[Finding]:
    """Each API server that can be reached stores what the definitions say. Costs one request to each, at most `MOST_SERVERS`."""
    try:
        addresses = await load_api_servers(cluster)
    except ForbiddenError as failed:
        return [warning("permission", "EndpointSlices of default/kubernetes", f"can't be listed: {failed.message}")]
    seen = [one for one in await asyncio.gather(*(seen_hash(opener, each, GROUP, BETA) for each in addresses)) if not one.wrong]
    # from outside of the cluster there is one address for all of them
    seen = seen or [one for one in await seen_hashes(opener, (), GROUP, BETA) if not one.wrong]
    return [each for name in kinds.KINDS for each in _of_servers(sight, BY_NAME[name], seen)]


def _of_servers(sight: Sight, kind: Kind, seen: Sequence[Seen]) -> Iterator[Finding]:
    version = stored(sight, kind).version
    wanted = storage_hash(GROUP, version, kind.name)
    found = [(one.server or "one of those behind the usual address", one.hashes.get(kind.plural)) for one in seen]
    if late := dict.fromkeys(server for server, said in found if said and said != wanted):
        text = f"API server {' and '.join(late)} must store objects in {version} as the definition says, and stores them in another version"
        yield warning("stored-versions", f"CustomResourceDefinition {kind.crd_name}", text, repairs.migrate(kind, version))


async def _evidence(cluster: Cluster, samples: Sequence[Sample]) -> dict[str, Evidence]:
    """By plural; without those kinds of which another API server has answered, since each counts for itself. Raises: ApiError."""
    before = _counts(await cluster.metrics(CONVERSIONS))
    read = {each.kind.plural: await _read(cluster, each) for each in samples}
    after = _counts(await cluster.metrics(CONVERSIONS))
    found = {}
    for each in samples:
        other, name, count = each.kind.other(each.version), each.kind.crd_name, read[each.kind.plural]
        old, current = (int(after.get(way, 0) - before.get(way, 0)) for way in ((name, other, each.version), (name, each.version, other)))
        if old >= 0 and current >= 0 and old + current >= count:
            found[each.kind.plural] = Evidence(count, max(0, count - current), min(count, old))
    return found


async def _read(cluster: Cluster, of: Sample) -> int:
    """Reads each object in both versions, one after another, so that one connection and one API server suffice; how many were there."""
    count = 0
    for namespace, name in of.names:
        read = [await cluster.get(of_kind(of.kind.name, each.name), name, namespace) for each in of.kind.versions]
        count += all(read)
    return count


def _counts(series: Mapping[str, float]) -> Counts:
    found: Counts = {}
    for labels, value in series.items():
        if match := _VERSIONS.search(labels):
            key = (match[1], match[2], match[3])
            found[key] = found.get(key, 0) + value
    return found
