"""Finds objects that are too long, or nearly, for their kind's other version, and says which field makes them so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_webhooks.api.kinds import BY_NAME, GROUP, KINDS
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.doctor.emptied import listed, stored
from dynamo_webhooks.cli.doctor.finding import Finding, info, warning
from dynamo_webhooks.conversion import kinds
from dynamo_webhooks.conversion.bounds import MOST
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.weight import weighed

if TYPE_CHECKING:
    from dynamo_webhooks.cli.doctor.sight import Sight
    from dynamo_webhooks.kube.protocol import Cluster

_LONGEST = 700  # characters of a path, which may hold names


async def sizes(cluster: Cluster, sight: Sight) -> list[Finding]:
    """Objects that the other version shows in part are warnings, those on their way there are for information.

    They are read in the version in which they are stored, so that no conversion stands between; of all kinds, one is held at a time.
    """
    found: list[Finding] = []
    for kind in KINDS:
        if kind.name in kinds.KINDS:
            resource = stored(sight, kind)
            for obj in await listed(cluster, resource, "", found):
                found += _judged(obj, kind.name, resource.version)
    return found


def _judged(obj: dict[str, Any], kind: str, version: str) -> list[Finding]:
    metadata = obj["metadata"]
    what = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
    try:
        weight = weighed(kinds.KINDS[kind], obj, version, obj)
    except ConversionError as error:
        return [warning("sizes", what, f"can't be converted: {shortened(render(error.path), _LONGEST)} {error.reason}")]
    if weight is None:
        return []
    level = warning if weight.bytes > MOST else info
    edit = f"kubectl edit -n {metadata.get('namespace', '')} {BY_NAME[kind].plural}.{version}.{GROUP}/{metadata['name']}"
    return [level("sizes", what, f"{shortened(render(weight.path), _LONGEST)}: {weight.text}", edit)]
