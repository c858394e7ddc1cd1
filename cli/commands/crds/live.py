"""The definitions to print, compared with those of a cluster: nothing is printed that would take a field or a version away."""

import argparse
import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ....api.crd import find_lost_fields
from ....api.kinds import BY_ALIAS, BY_NAME
from ....api.line import INSTALLED, Line, of_definition
from ....kube.errors import ApiError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CRDS
from ...console.exits import OK, REFUSED, UNREACHABLE
from ...installation.connection import connect_cluster

Making = Callable[[Line], list[dict[str, Any]]]
MANAGER: Final = "dynamo-webhooks-crds"  # how this command calls itself to an API server
_LISTED: Final = 20  # of what a definition would take away


class Compared(NamedTuple):
    """The definitions, or an exit code and sentences that say why there are none."""

    crds: list[dict[str, Any]]
    code: int = OK
    told: tuple[str, ...] = ()


def compare_definitions(make: Making, arguments: argparse.Namespace) -> Compared:
    """The definitions of a line, or of the one that the cluster has. Raises: UsageError for a kubeconfig that can't be used."""
    try:
        live = asyncio.run(_live(arguments.kubeconfig, arguments.context))
    except ApiError as error:
        return Compared([], UNREACHABLE, (f"the cluster can't be asked: {error.message}",))
    named = any(value is not None for value in (arguments.url, arguments.service, arguments.namespace))
    return against(live, make, arguments.line, named=named)


def against(live: Mapping[str, Node | None], make: Making, line: Line | None, *, named: bool = False) -> Compared:
    """The definitions, unless they would take away what live ones have; `named`: flags name the conversion's server."""
    known = of_definition(live.get(BY_ALIAS["DGD"].name))
    crds = make(line or known or INSTALLED)
    told = []
    for crd in crds:
        name = crd["metadata"]["name"]
        if lost := find_lost_fields(live.get(crd["spec"]["names"]["kind"]), crd):
            more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
            told.append(f"{name}: the cluster's definition has {', '.join(lost[:_LISTED])}{more}")
    if not told:
        return Compared([_beside(live.get(crd["spec"]["names"]["kind"]), crd, named=named) for crd in crds])
    way = (
        f"use --line {known}"
        if known is not None and line is not None and line < known
        else "print the definitions with a release that knows these fields"
    )
    return Compared([], REFUSED, (*told, f"applied over these, objects would lose those fields at their next write: {way}"))


def _beside(live: Node | None, crd: Node, *, named: bool) -> Node:
    """A definition that can be applied over any live one: the API server refuses a url beside a Service.

    Without flags the url stays: someone named a server outside of the cluster. With them, the other of both is null.
    """
    there, here = _client(live), _client(crd)
    if here is None or there is None or not (other := {"url", "service"} & there.keys() - here.keys()):
        return crd
    made = copy.deepcopy(crd)
    client = _client(made) or {}
    if named:
        client.update(dict.fromkeys(other))
    else:
        del client["service"]
        client["url"] = there["url"]
    return made


def _client(crd: Node | None) -> Node | None:
    webhook = (((crd or {}).get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    return webhook.get("clientConfig")


async def _live(kubeconfig: str, context: str) -> dict[str, Node | None]:
    async with connect_cluster(MANAGER, kubeconfig, context) as cluster:
        return await live_definitions(cluster)


async def live_definitions(cluster: Cluster) -> dict[str, Node | None]:
    """The definitions by kind; one call each. Raises: ApiError."""
    return {name: await cluster.get(CRDS, kind.crd_name) for name, kind in BY_NAME.items()}
