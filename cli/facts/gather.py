"""Reads all facts that rules need from a cluster, in the form of the facts file. An unknown fact gets a reason, never a guess."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_ALIAS
from ...api.line import of_definition, of_release
from ...api.operator.scope import Namespace
from ...kube.capability import DRA, GROVE, ISTIO, LWS, POOLS, Detector
from ...kube.errors import ApiError, NotFoundError, UnavailableError
from ...kube.protocol import Cluster, Listing, Node
from ...kube.resources import CRDS, LEASES
from ...kube.scope import LEASE_NAME, Claims
from ...policies.facts import Facts
from ...webhooks.cluster.observed_facts import CAPABILITIES, Observed, facts_of, read_topology_domains, topologies_of
from .operators import Operator, operators

MANAGER: Final = "dynamo-webhooks-facts"  # how this command calls itself to an API server
# for claims if no operator's configuration can be read: this project's defaults
_SCOPE: Final = Namespace().claims
_TOLD: Final = (
    "operatorScope",
    "operatorVersion",
    "operatorPrincipal",
    "gpuDiscovery",
    "allowGmsSnapshot",
    "checkpoint",
    "lpx",
    "dgdrDefaultImage",
    "switchedOff",
)
_UNREADABLE: Final = "can't be read"


class Gathered(NamedTuple):
    """Known facts as the facts file writes them, and for each of the others why it isn't known.

    A fact that isn't known is in `reasons` alone: `clusterTopologies: None` says that the API is absent.
    """

    values: dict[str, Any]
    reasons: dict[str, str]


async def gather_facts(cluster: Cluster, namespace: str = "") -> Gathered:
    """Asks for everything once; `namespace` chooses among several installed operators.

    Raises: ApiError when the API server can't be reached.
    """
    wall = await cluster.server_time()  # a claim is judged by the clock of those who can see it
    reasons: dict[str, str] = {}
    operator = await _operator(cluster, namespace, reasons)
    groups = Detector(cluster, (GROVE, POOLS, LWS, DRA, ISTIO), ask_permission=False)
    await groups.detect()
    served = {fact: groups.known[name].served for name, fact in CAPABILITIES.items()}
    reasons |= {fact: f"{_UNREADABLE}: {groups.reason}" for fact, value in served.items() if value is None}
    told = dict(operator.told) if operator is not None else {}
    told |= {} if of_release(told.get("operatorVersion", "")) else await _line(cluster, reasons)
    topologies = await _listed(cluster.list(topologies_of(told)), "clusterTopologies", reasons)
    leases = await _listed(cluster.list(LEASES, fields=f"metadata.name={LEASE_NAME}"), "excludedNamespaces", reasons)
    claims = Claims(operator.scope if operator is not None and operator.scope is not None else _SCOPE)
    for lease in leases or ():
        claims.seen(lease, 0.0, wall)
    seen = Observed(
        {fact: value for fact, value in served.items() if value is not None},
        {each["metadata"]["name"]: read_topology_domains(each) for each in topologies} if topologies is not None else None,
        topologies is None and "clusterTopologies" not in reasons,
        claims.excluded(0.0) if leases is not None else None,
    )
    return _whole(facts_of(told, seen), reasons)


async def _line(cluster: Cluster, reasons: dict[str, str]) -> dict[str, str]:
    """The line by the definitions that the cluster serves, where no operator says the version of a release."""
    name = BY_ALIAS["DGD"].crd_name
    try:
        crd = await cluster.get(CRDS, name)
    except UnavailableError:
        raise
    except ApiError as error:
        reasons["operatorLine"] = f"{_UNREADABLE}: {error.message}"
        return {}
    line = of_definition(crd)
    if line is None:
        reasons["operatorLine"] = f"the cluster has no CustomResourceDefinition {name} with v1beta1"
    return {"operatorLine": str(line)} if line is not None else {}


def _whole(values: Mapping[str, Any], reasons: Mapping[str, str]) -> Gathered:
    """Every fact is known or has a reason, in the order of the facts file; the line is a fact only if no released version implies it."""
    names = [name for name in Facts._fields if name != "operatorLine" or not of_release(values.get("operatorVersion", ""))]
    return Gathered(
        {name: values[name] for name in names if name in values},
        {name: reasons.get(name, "the cluster does not show it") for name in names if name not in values},
    )


async def _listed(asking: Any, fact: str, reasons: dict[str, str]) -> list[Node] | None:
    """The objects; None when there is no such API, or with a reason when they can't be read."""
    try:
        listing: Listing = await asking
    except UnavailableError:
        raise
    except NotFoundError:
        return None
    except ApiError as error:
        reasons[fact] = f"{_UNREADABLE}: {error.message}"
        return None
    return listing.items


async def _operator(cluster: Cluster, namespace: str, reasons: dict[str, str]) -> Operator | None:
    """The operator whose settings apply; None if that is ambiguous."""
    try:
        found = await operators(cluster, namespace)
    except UnavailableError:
        raise
    except ApiError as error:
        reasons |= dict.fromkeys(_TOLD, f"Deployments can't be read: {error.message}")
        return None
    chosen = [each for each in found if not each.restricted] or found
    if len(chosen) == 1:
        reasons |= dict.fromkeys(_TOLD, chosen[0].why) if chosen[0].why else {}
        reasons |= chosen[0].reasons
        return chosen[0]
    where = f" in namespace {namespace}" if namespace else ""
    names = ", ".join(f"{each.namespace}/{each.name}" for each in chosen)
    why = f"several operators are installed, choose by --namespace: {names}" if chosen else f"no operator is installed{where}"
    reasons |= dict.fromkeys(_TOLD, why)
    return None
