"""Which calls a provisioner makes in a whole life, held against what its account may: no call without a grant, no grant without a call.

The table of grants is that of the manifests (tests/cluster/install/grants.py). There a real API server is asked; here it is the calls.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.state import Phase
from dynamo_webhooks.kube.lease import Timings as LeaseTimings
from dynamo_webhooks.kube.protocol import Event, Listing, Trim
from dynamo_webhooks.kube.resources import CONFIG_MAPS, CORE_EVENTS, CRDS, SECRETS, Resource
from tests.certs.site import CALLED, NAMESPACE, Site, definition
from tests.cluster.install.grants import GRANTS, SERVING
from tests.kube.memory import MemoryCluster

VERBS: Final = {
    "get": ("get",),
    "create": ("create",),
    "replace": ("update",),
    "json_patch": ("patch",),
    "merge_patch": ("patch",),
    "apply": ("create", "patch"),
    "delete": ("delete",),
}
Call = tuple[str, str, str]  # resource, name or empty, verb
# granted for `kubectl` in the account's name; no call of this life needs them
SPARE: Final[frozenset[Call]] = frozenset(
    {
        ("leases", f"{SERVING}-provisioner", "patch"),
        ("secrets", SERVING, "patch"),
        ("configmaps", f"{SERVING}-trust", "patch"),
        ("endpointslices", "", "get"),
    }
)


def granted() -> dict[tuple[str, str], set[str]]:
    """The verbs by resource and name; the empty name means all objects."""
    return {(each.resource, each.name): set(each.verbs) for each in GRANTS if each.account == "provisioner"}


def allowed(resource: str, name: str, verb: str) -> bool:
    table = granted()
    named = verb != "create" and verb in table.get((resource, name), ())  # the name of a new object is not known to RBAC
    return named or verb in table.get((resource, ""), ())


class Watched(MemoryCluster):
    """An API server that records requests; of lists and watches, the name in their field selector."""

    def __init__(self, site: Site) -> None:
        super().__init__("dynamo-webhooks-provisioner", storage=site.storage)
        self.calls: set[Call] = set()
        self.fail(self._record)

    def _record(self, verb: str, resource: Resource | None, _namespace: str, name: str) -> None:
        if resource is not None and verb not in ("list", "watch"):
            self.calls.update((resource.plural, name, each) for each in VERBS[verb])

    def _select(self, verb: str, resource: Resource, fields: str) -> None:
        self.calls.add((resource.plural, fields.removeprefix("metadata.name="), verb))

    async def list(
        self, resource: Resource, namespace: str = "", *, fields: str = "", labels: str = "", limit: int = 500, trim: Trim | None = None
    ) -> Listing:
        self._select("list", resource, fields)
        return await super().list(resource, namespace, fields=fields, labels=labels, limit=limit, trim=trim)

    def watch(
        self, resource: Resource, namespace: str = "", *, version: str, fields: str = "", labels: str = "", seconds: int = 300
    ) -> AsyncGenerator[Event]:
        self._select("watch", resource, fields)
        return super().watch(resource, namespace, version=version, fields=fields, labels=labels, seconds=seconds)


async def life() -> set[Call]:
    """Everything that a provisioner calls for: installing, rotating, repairing, handing over."""
    site = Site()
    cluster = Watched(site)
    quick = LeaseTimings(duration=3, deadline=2, retry=1)
    site.start(site.provisioner("one", cluster, quick))
    await site.advance(10)  # before there is anything to write to
    await site.install("10.0.0.1", "10.0.0.2")
    await site.until(Phase.STABLE)
    await site.admin.merge_patch(SECRETS, CALLED.authority, {"metadata": {"annotations": {names.REQUESTED: "now"}}}, NAMESPACE)
    await site.until(Phase.DRAIN)
    await site.until(Phase.STABLE)
    await site.admin.delete(SECRETS, CALLED.serving, NAMESPACE)
    await site.advance(30)
    for resource, name in ((SECRETS, CALLED.serving), (SECRETS, CALLED.authority), (CONFIG_MAPS, CALLED.trust)):
        await site.admin.merge_patch(resource, name, {"immutable": True}, NAMESPACE)
    await site.admin.merge_patch(SECRETS, CALLED.authority, {"metadata": {"annotations": {names.REQUESTED: "again"}}}, NAMESPACE)
    await site.until(Phase.DRAIN)
    await site.until(Phase.STABLE)
    await site.admin.delete(CRDS, "dynamographdeployments.nvidia.com")
    await site.advance(30)
    await site.admin.create(CRDS, definition("DynamoGraphDeployment"))
    await site.advance(30)
    await site.stop()
    return cluster.calls


async def test_it_calls_what_it_may_and_may_what_it_calls() -> None:
    calls = await life()
    assert {call for call in calls if not allowed(*call)} == set()
    everything = {(resource, name, verb) for (resource, name), verbs in granted().items() for verb in verbs}
    used = calls | {(resource, "", verb) for resource, _, verb in calls}
    assert everything - used == SPARE
    assert any(resource == CORE_EVENTS.plural for resource, _, _ in calls)
