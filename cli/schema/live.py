"""The definitions to print, compared with those of a cluster: nothing is printed that would take a field or a version away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import BY_ALIAS, BY_NAME
from dynamo_webhooks.api.line import INSTALLED, Line, of_definition
from dynamo_webhooks.api.lowering import taken_away
from dynamo_webhooks.cli.cluster import connected
from dynamo_webhooks.cli.exits import OK, REFUSED, UNREACHABLE
from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.resources import CRDS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from dynamo_webhooks.kube.protocol import Cluster, Node

    Making = Callable[[Line], list[dict[str, Any]]]

MANAGER: Final = "dynamo-webhooks-crds"  # how this command calls itself to an API server
_LISTED: Final = 20  # of what a definition would take away


class Compared(NamedTuple):
    """The definitions, or an exit code and sentences that say why there are none."""

    crds: list[dict[str, Any]]
    code: int = OK
    told: tuple[str, ...] = ()


def compared(make: Making, arguments: argparse.Namespace) -> Compared:
    """The definitions of a line, or of the one that the cluster has. Raises: UsageError for a kubeconfig that can't be used."""
    try:
        live = asyncio.run(_live(arguments.kubeconfig, arguments.context))
    except ApiError as error:
        return Compared([], UNREACHABLE, (f"the cluster can't be asked: {error.message}",))
    return against(live, make, arguments.line)


def against(live: Mapping[str, Node | None], make: Making, line: Line | None) -> Compared:
    """The definitions, unless they would take away what live ones have."""
    known = of_definition(live.get(BY_ALIAS["DGD"].name))
    crds = make(line or known or INSTALLED)
    told = []
    for crd in crds:
        name = crd["metadata"]["name"]
        if lost := taken_away(live.get(crd["spec"]["names"]["kind"]), crd):
            more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
            told.append(f"{name}: the cluster's definition has {', '.join(lost[:_LISTED])}{more}")
    if not told:
        return Compared(crds)
    way = "use --line 1.5" if known is Line.V1_5 else "print the definitions with a release that knows these fields"
    return Compared([], REFUSED, (*told, f"applied over these, objects would lose those fields at their next write: {way}"))


async def _live(kubeconfig: str, context: str) -> dict[str, Node | None]:
    async with connected(MANAGER, kubeconfig, context) as cluster:
        return await live_definitions(cluster)


async def live_definitions(cluster: Cluster) -> dict[str, Node | None]:
    """The definitions by kind; one call each. Raises: ApiError."""
    return {name: await cluster.get(CRDS, kind.crd_name) for name, kind in BY_NAME.items()}
