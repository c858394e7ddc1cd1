"""Which optional APIs a cluster serves and lets us use, asked again and again. An error is "unknown", never "absent"."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.kinds import GROUP
from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.resources import CLAIM_TEMPLATES, ENDPOINT_SLICES, JOBS, LEASES, QUEUES, Resource, of_kind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from dynamo_webhooks.kube.protocol import Cluster

LOG: Final = logging.getLogger("kube.capability")


class Presence(Enum):
    """What is known of a capability."""

    UNKNOWN = "unknown"  # nobody could say yet
    ABSENT = "absent"  # not served
    FORBIDDEN = "forbidden"  # served, but we may not use it
    USABLE = "usable"

    @property
    def served(self) -> bool | None:
        """Whether the cluster has it, whoever may use it; None when unknown."""
        return None if self is Presence.UNKNOWN else self is not Presence.ABSENT


@dataclass(frozen=True, slots=True)
class Capability:
    """Something optional: the API groups it needs, and what we must be allowed to do with it."""

    name: str
    groups: Mapping[str, str]  # group -> a version that must be served, empty for any
    needs: tuple[tuple[str, Resource], ...] = ()  # (verb, resource), all of which must be allowed


GROVE: Final = Capability("grove", {"grove.io": ""}, (("patch", Resource("grove.io", "v1alpha1", "podcliquesets", "PodCliqueSet")),))
POOLS: Final = Capability(
    "inference-pools",
    {"inference.networking.k8s.io": ""},
    (("patch", Resource("inference.networking.k8s.io", "v1", "inferencepools", "InferencePool")),),
)
_PATCH_SETS: Final = ("patch", Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"))
LWS: Final = Capability("lws", {"leaderworkerset.x-k8s.io": "", "scheduling.volcano.sh": ""}, (_PATCH_SETS,))
# without Volcano, too: whoever switches `lws` on has these made, and they must be watched
LEADER_WORKER_SETS: Final = Capability("leader-worker-sets", {"leaderworkerset.x-k8s.io": ""}, (_PATCH_SETS,))
DRA: Final = Capability("dra", {"resource.k8s.io": "v1"}, (("patch", CLAIM_TEMPLATES),))
ISTIO: Final = Capability(
    "istio", {"networking.istio.io": ""}, (("patch", Resource("networking.istio.io", "v1", "virtualservices", "VirtualService")),)
)
KAI: Final = Capability("kai", {"scheduling.run.ai": ""}, (("get", QUEUES),))
MODELS: Final = Capability(
    "models",
    {GROUP: ""},
    (
        ("watch", of_kind("DynamoModel", "v1alpha1")),
        ("patch", of_kind("DynamoModel", "v1alpha1")),
        ("watch", ENDPOINT_SLICES),
    ),
)
CHECKPOINTS: Final = Capability(
    "checkpoints",
    {GROUP: ""},
    (
        ("create", of_kind("DynamoCheckpoint", "v1alpha1")),
        ("patch", of_kind("DynamoCheckpoint", "v1alpha1")),
        ("watch", JOBS),
        ("create", JOBS),
        ("get", LEASES),
    ),
)
REQUESTS: Final = Capability(
    "requests",
    {GROUP: ""},
    (
        ("patch", of_kind("DynamoGraphDeploymentRequest", "v1beta1")),
        ("create", of_kind("DynamoGraphDeployment", "v1beta1")),
        ("create", JOBS),
        ("watch", JOBS),
    ),
)
ALL: Final = (GROVE, POOLS, LWS, LEADER_WORKER_SETS, DRA, ISTIO, KAI, MODELS, CHECKPOINTS, REQUESTS)


class Detector:
    """What is known of some capabilities; an answer stays until another one comes."""

    def __init__(
        self,
        cluster: Cluster,
        capabilities: Sequence[Capability] = ALL,
        *,
        ask_permission: bool = True,
        namespace: str = "",
        interval: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Without `ask_permission`, what is served counts as usable, which is enough for those who only judge objects.

        Permissions are asked for `namespace`, empty for all of them. `interval` is seconds between two detections.
        """
        self.known: dict[str, Presence] = {each.name: Presence.UNKNOWN for each in capabilities}
        self.denied: dict[str, str] = {}  # capability that is served -> the first permission for it that we lack
        self.reason = ""  # why the last detection failed; empty when it didn't
        self._cluster, self._capabilities, self._namespace = cluster, capabilities, namespace
        self._ask_permission, self._interval = ask_permission, interval
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._subscribers: list[Callable[[Mapping[str, Presence]], None]] = []
        self._asked: float | None = None

    def subscribe(self, subscriber: Callable[[Mapping[str, Presence]], None]) -> None:
        """Calls `subscriber` whenever something changed."""
        self._subscribers.append(subscriber)

    def stale_seconds(self) -> float | None:
        """Seconds since all of it was last known to be so; None when it never was."""
        return None if self._asked is None else self._clock() - self._asked

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
            self.reason, self._asked = "", self._clock()
        if self.known != before:
            for subscriber in self._subscribers:
                subscriber(dict(self.known))
        return not self.reason

    async def run(self) -> None:
        """Detects for ever."""
        while True:
            await self.detect()
            await self._sleep(self._interval * (0.9 + 0.2 * self._chance()))

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
