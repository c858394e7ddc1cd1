"""What the objects of the kinds with two versions are looked at for, each list of them read once: sizes, remains, versions in storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.cli.doctor import remains, sizes, storage
from dynamo_webhooks.cli.doctor.emptied import listed, stored
from dynamo_webhooks.conversion import kinds

if TYPE_CHECKING:
    from dynamo_webhooks.cli.doctor.finding import Finding
    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster


async def contents(cluster: Cluster, sight: Sight, *, everything: bool) -> list[Finding]:
    """The findings of all kinds; `everything` reads each object for its version in storage instead of some of each kind.

    Objects are listed in the version in which new ones are stored, one kind after another, of which one is held at a time.
    """
    found: list[Finding] = []
    samples: list[storage.Sample] = []
    for kind in KINDS:
        if kind.name not in kinds.KINDS:
            continue
        resource = stored(sight, kind)
        objects = await listed(cluster, resource, "", found)
        for obj in objects:
            found += sizes.judged(obj, kind.name, resource.version)
        found += remains.judged(sight, kind, resource.version, objects)
        samples.append(storage.sample(kind, resource.version, objects, everything=everything))
    return [*found, *await storage.versions(cluster, sight, samples)]
