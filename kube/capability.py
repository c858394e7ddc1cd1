"""Which optional APIs a cluster serves and lets us use, asked again and again. An error is "unknown", never "absent"."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..api.kinds import GROUP
from . import resources
from .clocks import LOCAL, Clocks
from .errors import ApiError
from .protocol import Cluster
from .resources import Resource, resource_of_kind

LOG: Final = logging.getLogger("kube.capability")


class Presence(Enum):
    """The detected state of a capability."""

    UNKNOWN = "unknown"  # not detected yet
    ABSENT = "absent"  # not served
    FORBIDDEN = "forbidden"  # served, but we may not use it
    USABLE = "usable"

    @property
    def served(self) -> bool | None:
        """Whether the cluster serves it, with or without permission to use it; None when unknown."""
        return None if self is Presence.UNKNOWN else self is not Presence.ABSENT


@dataclass(frozen=True, slots=True)
class Capability:
    """Something optional: the API groups it needs, and what we must be allowed to do with it."""

    name: str
    groups: Mapping[str, str]  # group -> a version that must be served, empty for any
    needs: tuple[tuple[str, Resource], ...] = ()  # (verb, resource), all of which must be allowed


GROVE: Final = Capability("grove", {"grove.io": ""}, (("patch", resources.CLIQUE_SETS),))
POOLS: Final = Capability("inference-pools", {"inference.networking.k8s.io": ""}, (("patch", resources.INFERENCE_POOLS),))
_PATCH_SETS: Final = ("patch", resources.LEADER_WORKER_SETS)
LWS: Final = Capability("lws", {"leaderworkerset.x-k8s.io": "", "scheduling.volcano.sh": ""}, (_PATCH_SETS,))
# without Volcano, too: the switch `lws` creates these, and they must be watched
LEADER_WORKER_SETS: Final = Capability("leader-worker-sets", {"leaderworkerset.x-k8s.io": ""}, (_PATCH_SETS,))
_SET_GROUPS: Final = {"leaderworkerset.x-k8s.io": "", "disaggregatedset.x-k8s.io": "v1"}
DISAGGREGATED_SETS: Final = Capability("disaggregated-sets", _SET_GROUPS, (("patch", resources.DISAGGREGATED_SETS),))
DRA: Final = Capability("dra", {"resource.k8s.io": "v1"}, (("patch", resources.CLAIM_TEMPLATES),))
_VIRTUAL_SERVICES: Final = Resource("networking.istio.io", "v1", "virtualservices", "VirtualService")
ISTIO: Final = Capability("istio", {"networking.istio.io": ""}, (("patch", _VIRTUAL_SERVICES),))
KAI: Final = Capability("kai", {"scheduling.run.ai": ""}, (("get", resources.QUEUES),))
VOLCANO: Final = Capability("volcano", {"scheduling.volcano.sh": ""})
POD_REPLACEMENT: Final = Capability("pod-replacement", {}, (("delete", resources.PODS),))
_MODELS: Final = resource_of_kind("DynamoModel", "v1alpha1")
MODELS: Final = Capability("models", {GROUP: ""}, (("watch", _MODELS), ("patch", _MODELS), ("watch", resources.ENDPOINT_SLICES)))
_CHECKPOINTS: Final = resource_of_kind("DynamoCheckpoint", "v1alpha1")
CHECKPOINTS: Final = Capability(
    "checkpoints",
    {GROUP: ""},
    (("create", _CHECKPOINTS), ("patch", _CHECKPOINTS), ("watch", resources.JOBS), ("create", resources.JOBS), ("get", resources.LEASES)),
)
_REQUESTS: Final = resource_of_kind("DynamoGraphDeploymentRequest", "v1beta1")
_GRAPHS: Final = resource_of_kind("DynamoGraphDeployment", "v1beta1")
REQUESTS: Final = Capability(
    "requests", {GROUP: ""}, (("patch", _REQUESTS), ("create", _GRAPHS), ("create", resources.JOBS), ("watch", resources.JOBS))
)
TOPOLOGY_LABELS: Final = Capability("topology-labels", {}, (("patch", resources.PODS), ("get", resources.NODES)))
ALL: Final = (
    GROVE,
    POOLS,
    LWS,
    LEADER_WORKER_SETS,
    DISAGGREGATED_SETS,
    DRA,
    ISTIO,
    KAI,
    VOLCANO,
    MODELS,
    CHECKPOINTS,
    REQUESTS,
    TOPOLOGY_LABELS,
    POD_REPLACEMENT,
)


class Detector:
    """Detects capabilities; a result stays until the next one."""

    def __init__(
        self,
        cluster: Cluster,
        capabilities: Sequence[Capability] = ALL,
        *,
        ask_permission: bool = True,
        namespace: str = "",
        interval: float = 60.0,
        clocks: Clocks = LOCAL,
    ) -> None:
        """Without `ask_permission`, a served capability counts as usable, which is enough to validate objects.

        Permissions are asked for `namespace`, empty for all of them. `interval` is seconds between two detections.
        """
        self.known: dict[str, Presence] = {each.name: Presence.UNKNOWN for each in capabilities}
        self.denied: dict[str, str] = {}  # capability that is served -> the first permission for it that we lack
        self.reason = ""  # why the last detection failed; empty when it didn't
        self._cluster, self._capabilities, self._namespace = cluster, capabilities, namespace
        self._ask_permission, self._interval = ask_permission, interval
        self._clocks = clocks
        self._subscribers: list[Callable[[Mapping[str, Presence]], None]] = []
        self._detected_at: float | None = None

    def subscribe(self, subscriber: Callable[[Mapping[str, Presence]], None]) -> None:
        """Calls `subscriber` whenever something changed."""
        self._subscribers.append(subscriber)

    def stale_seconds(self) -> float | None:
        """Seconds since all of it was last known to be so; None when it never was."""
        return None if self._detected_at is None else self._clocks.monotonic() - self._detected_at

    async def detect(self) -> bool:
        """Asks once; False when something could not be known, and is as it was before. Doesn't raise."""
        before = dict(self.known)
        try:
            groups = await self._cluster.groups()
            for each in self._capabilities:
                self.known[each.name] = await self._presence(each, groups)
        except ApiError as error:
            if error.message != self.reason:
                LOG.warning("which optional APIs there are can't be asked: %s", error.message)
            self.reason = error.message
        else:
            self.reason, self._detected_at = "", self._clocks.monotonic()
        if self.known != before:
            for subscriber in self._subscribers:
                subscriber(dict(self.known))
        return not self.reason

    async def run(self) -> None:
        """Detects for ever."""
        while True:
            await self.detect()
            await self._clocks.sleep(self._interval * (0.9 + 0.2 * self._clocks.chance()))

    async def _presence(self, capability: Capability, groups: Mapping[str, frozenset[str]]) -> Presence:
        for group, version in capability.groups.items():
            if group not in groups or (version and version not in groups[group]):
                return Presence.ABSENT
        self.denied.pop(capability.name, None)
        if self._ask_permission:
            for verb, resource in capability.needs:
                if not await self._cluster.allowed(verb, resource, self._namespace):
                    self.denied[capability.name] = f"{verb} {resource.plural}"
                    return Presence.FORBIDDEN
        return Presence.USABLE
