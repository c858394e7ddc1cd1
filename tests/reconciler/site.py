"""A cluster in memory with a reconciler on it, and what a real one does by itself: pods become ready, orphans are collected."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CORE_EVENTS, DEPLOYMENTS, LEASES, PODS, Resource
from dynamo_webhooks.reconciler.common.resources import ADAPTERS, APPLIED_HASH, COMPONENTS, GRAPHS, MANAGER
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.engine.pace import MAX_STATUS_DELAY_SECONDS
from dynamo_webhooks.reconciler.reconciler import Reconciler
from tests.kube.memory import MemoryCluster
from tests.kube.storage import Storage
from tests.kube.timing import Timing, settle
from tests.reconciler.rendering import component, graph, vllm

NAMESPACE: Final = "demo"
ROUNDS: Final = 4000  # of letting everything run, before it is said that the cluster never comes to rest
SERVED: Final = {
    "nvidia.com": frozenset({"v1beta1", "v1alpha1"}),
    "apps": frozenset({"v1"}),
    "resource.k8s.io": frozenset({"v1"}),
    "rbac.authorization.k8s.io": frozenset({"v1"}),
}
GROVE_API: Final = {"grove.io": frozenset({"v1alpha1"})}
LWS_API: Final = {"leaderworkerset.x-k8s.io": frozenset({"v1"}), "scheduling.volcano.sh": frozenset({"v1beta1"})}
CONFIGURATION: Final = """
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
operator: {namespace: dynamo-system, serviceAccount: dynamo-webhooks-reconciler, version: 1.3.0}
rbac: {plannerClusterRoleName: plan, eppClusterRoleName: pick, dgdrProfilingClusterRoleName: profile}
leaderElection: {enabled: true, id: dynamo-webhooks-reconciler}
mpi: {sshSecretName: ssh, sshSecretNamespace: dynamo-system}
"""


@cache
def settings(more: str = "", version: str = "") -> OperatorConfiguration:
    """The settings of a small configuration; `more` are further lines of it, `version` another one of the operator."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text(CONFIGURATION + more)
        config = load_configuration(str(file), {}).configuration
    return replace(config, operator=replace(config.operator, version=version)) if version else config


class Site:
    """One cluster; reconcilers come and go."""

    def __init__(self, config: OperatorConfiguration | None = None) -> None:
        self.storage, self.timing = Storage(), Timing()
        self.settings = config or settings()
        self.callers: dict[str, Any] = {}  # what a reconciler calls beside the cluster
        self.cluster = MemoryCluster(MANAGER, storage=self.storage, served=SERVED)
        self.user = MemoryCluster("kubectl", storage=self.storage, served=SERVED)
        self.kubelet = MemoryCluster("kube-controller-manager", storage=self.storage, served=SERVED)
        self._reconciler: Reconciler | None = None
        self.held: dict[str, int] = {}  # Deployment -> how many of its pods may become ready
        self.newcomers: int | None = None  # the same for each that `settled` doesn't name; None for all of them
        self.settled: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.lives = 0
        self._killed = False

    # processes

    @property
    def reconciler(self) -> Reconciler:
        """The process that was started last."""
        assert self._reconciler is not None
        return self._reconciler

    @property
    def cache(self) -> Cache:
        """What that process has listed."""
        assert self.reconciler.cache is not None
        return self.reconciler.cache

    def serve(self, groups: Mapping[str, frozenset[str]]) -> Self:
        """Has the cluster serve further groups."""
        for each in (self.cluster, self.user, self.kubelet):
            each.served |= groups
        return self

    @contextlib.asynccontextmanager
    async def running(self, *objects: Node, seconds: float = 0.0) -> AsyncIterator[Self]:
        """Runs a reconciler, makes objects as a user does, and lets all come to rest, after so many seconds."""
        self.start()
        try:
            if objects:
                await self.make(*objects)
            if seconds:
                await self.later(seconds)
            yield self
        finally:
            await self.stop()

    def start(self) -> Reconciler:
        """Starts a reconciler, another one each time."""
        self.lives += 1
        clocks = self.timing.clocks()
        return self.run(Reconciler(self.cluster, self.settings, f"pod-{self.lives}", clocks=clocks, **self.callers))

    def run(self, reconciler: Reconciler) -> Reconciler:
        """Runs one that was made elsewhere."""
        self._reconciler = reconciler
        self._task = asyncio.ensure_future(reconciler.run())
        return reconciler

    async def stop(self) -> None:
        """Ends it, in order."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def kill_at(self, number: int) -> None:
        """Kills the process when it is about to make its so-manieth write; another one begins as soon as that is noticed."""

        def fault(verb: str, resource: Resource | None, _namespace: str, _name: str) -> Exception | None:
            writes = verb in {"create", "replace", "json_patch", "merge_patch", "apply", "delete"} and resource is not None
            if writes and len(self.cluster.writes) == number and self._task is not None and self.lives == 1:
                self._task.cancel()
                self._killed = True
            return UnavailableError(0, "", "killed") if self._killed else None

        self.cluster.fail(fault)

    async def _revive(self) -> None:
        if self._killed:
            await self.stop()
            self._killed = False
            await self.user.delete(LEASES, self.settings.leader_election.lease, self.settings.leader_namespace)  # as if it had run out
            self.start()

    # what happens by itself in a cluster

    async def rest(self) -> None:
        """Lets everything run until nothing changes any more, with time passing only as far as processes need it to begin."""
        for _ in range(ROUNDS):
            before = self.storage.version
            await self._run()
            await self._revive()
            await self.pods()
            await self.collect()
            if self._soon():
                await self.timing.advance(0.25)
            elif self.storage.version == before and self._idle():
                return
        raise AssertionError("the cluster never comes to rest")

    async def later(self, seconds: float) -> None:
        """Lets time pass, and then everything come to rest."""
        await self.timing.advance(seconds)
        await self.rest()

    async def pods(self) -> None:
        """Makes pods ready, as many as each Deployment asks for and `held` permits."""
        for deployment in (await self.user.list(DEPLOYMENTS)).items:
            name, wanted = deployment["metadata"]["name"], deployment["spec"].get("replicas", 1)
            most = wanted if self.newcomers is None or name in self.settled else self.newcomers
            ready = min(wanted, self.held.get(name, most))
            status = {
                "observedGeneration": deployment["metadata"]["generation"],
                "replicas": wanted,
                "updatedReplicas": wanted,
                "readyReplicas": ready,
                "availableReplicas": ready,
                "conditions": [{"type": "Available", "status": "True" if ready == wanted else "False"}],
            }
            if deployment.get("status") != status:
                await self.kubelet.merge_patch(DEPLOYMENTS, name, {"status": status}, NAMESPACE, subresource="status")

    async def collect(self) -> None:
        """Deletes what belongs to objects that are gone, or to others than those of its namespace and those of none."""
        living = {(namespace, record.obj["metadata"]["uid"]) for (_, _, namespace, _), record in self.storage.records.items()}
        for (group, plural, namespace, name), record in [*self.storage.records.items()]:
            owners = record.obj["metadata"].get("ownerReferences") or []
            if owners and living.isdisjoint((place, owner.get("uid")) for owner in owners for place in (namespace, "")):
                version = record.obj["apiVersion"].rpartition("/")[2]
                await self.kubelet.delete(Resource(group, version, plural, record.obj["kind"]), name, namespace)

    # objects

    async def make(self, *objects: Node) -> None:
        """Creates graphs and components as a user does, and lets all come to rest."""
        for obj in objects:
            await self.user.create(GRAPHS if obj["kind"] == "DynamoGraphDeployment" else COMPONENTS, obj, NAMESPACE)
        await self.rest()

    async def get(self, resource: Resource, name: str, namespace: str = NAMESPACE) -> Node:
        """An object as it is stored."""
        obj = await self.user.get(resource, name, namespace)
        assert obj is not None
        return obj

    async def graph(self, name: str = "g") -> Node:
        """A graph as it is stored."""
        return await self.get(GRAPHS, name)

    @contextlib.asynccontextmanager
    async def editing(self, name: str = "g", *, rest: bool = True, seconds: float = 0) -> AsyncIterator[Node]:
        """A graph that a user changes; all comes to rest afterwards."""
        obj = await self.graph(name)
        yield obj
        await self.user.replace(GRAPHS, obj)
        if rest:
            await self.later(seconds)

    async def edit(self, graph_name: str, index: int, *, rest: bool = True, seconds: float = 0, **fields: Any) -> None:
        """Changes a component of a graph as a user does, and lets all come to rest."""
        async with self.editing(graph_name, rest=rest, seconds=seconds) as obj:
            obj["spec"]["components"][index] |= fields

    async def add_pod(self, name: str, labels: Mapping[str, str], status: Node | None = None, **more: Any) -> None:
        """Makes a pod as a controller does, with the status that its kubelet writes."""
        metadata = {"name": name, "labels": labels, **more.pop("metadata", {})}
        await self.kubelet.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}, **more}, NAMESPACE)
        if status is not None:
            await self.kubelet.merge_patch(PODS, name, {"status": status}, NAMESPACE, subresource="status")

    async def create(self, resource: Resource, obj: Node, seconds: float = 0) -> None:
        """Creates an object as a user does, and lets all come to rest after so many seconds."""
        await self.user.create(resource, obj, NAMESPACE)
        await self.later(seconds)

    async def patch(self, resource: Resource, name: str, change: Node, seconds: float = 0) -> None:
        """Merges a change into an object as a user does, and lets all come to rest."""
        await self.user.merge_patch(resource, name, change, NAMESPACE)
        await self.later(seconds)

    async def report(self, resource: Resource, name: str, status: Node, seconds: float = 0) -> None:
        """Writes a status as a controller does, and lets all come to rest."""
        await self.kubelet.merge_patch(resource, name, {"status": status}, NAMESPACE, subresource="status")
        await self.later(seconds)

    async def delete(self, resource: Resource, name: str, seconds: float = 0) -> None:
        """Deletes an object as a user does, and lets all come to rest."""
        await self.user.delete(resource, name, NAMESPACE)
        await self.later(seconds)

    def refuse(self, error: Exception, verb: str, resource: Resource, name: str = "") -> Callable[[], None]:
        """Has calls of the reconciler fail, of one object or of all; returns what mends that."""
        call = (verb, resource)
        return self.cluster.fail(lambda by, what, _, called: error if (by, what) == call and name in ("", called) else None)

    def written(self, since: int = 0) -> list[tuple[str, str, str]]:
        """What the reconciler has written since so many writes, but for its Leases."""
        return [write for write in self.cluster.writes[since:] if write[1] != LEASES.plural]

    async def writes_within(self, seconds: float) -> list[tuple[str, str, str]]:
        """What the reconciler writes while time passes, but for its Leases."""
        before = len(self.cluster.writes)
        await self.later(seconds)
        return self.written(before)

    async def all(self, resource: Resource) -> dict[str, Node]:
        """All objects of a resource by name."""
        return {obj["metadata"]["name"]: obj for obj in (await self.user.list(resource)).items}

    async def events(self) -> list[tuple[str, str, str]]:
        """(object, reason, message) of all Events, oldest first."""
        events = [record.obj for key, record in self.storage.records.items() if key[1] == CORE_EVENTS.plural]
        return [(event["involvedObject"]["name"], event["reason"], event["message"]) for event in events]

    async def reasons(self) -> list[str]:
        """The reasons of all Events."""
        return [reason for _, reason, _ in await self.events()]

    async def condition(self, name: str = "g", kind: str = "Ready") -> Node:
        """A condition of a graph, empty when it has none of the type."""
        status = (await self.graph(name)).get("status") or {}
        return next((condition for condition in status.get("conditions") or () if condition["type"] == kind), {})

    async def workers(self, name: str = "g") -> dict[str, int]:
        """Replicas that each generation of workers of a graph asks for."""
        live = (await self.all(COMPONENTS)).values()
        mine = [obj for obj in live if obj["metadata"]["labels"].get("nvidia.com/dynamo-graph-deployment-name") == name]
        mark = "nvidia.com/dynamo-worker-hash"
        return {obj["metadata"]["name"]: obj["spec"].get("replicas", 1) for obj in mine if mark in obj["metadata"]["labels"]}

    async def adapters(self) -> dict[str, Node]:
        """All scaling adapters."""
        return await self.all(ADAPTERS)

    def shape(self) -> dict[str, Any]:
        """Everything that is stored, without what differs between two runs of the same."""
        kept = {}
        for (_, plural, _, name), record in self.storage.records.items():
            if plural in ("events", "leases"):
                continue
            kept[f"{plural}/{name}"] = _plain(record.obj)
        return kept

    def _soon(self) -> bool:
        """Whether something happens as soon as a moment passes."""
        if self._reconciler is None or self._task is None:
            return False
        queue = self.reconciler.queue
        due = [later.due - queue._clock() for later in queue._later.values()]
        return bool(self.reconciler.waiting) or min(due, default=MAX_STATUS_DELAY_SECONDS + 1) <= MAX_STATUS_DELAY_SECONDS

    def _idle(self) -> bool:
        return self._reconciler is None or self._task is None or (not self.reconciler.waiting and self.reconciler.queue.idle)

    async def _run(self) -> None:
        for _ in range(ROUNDS):
            await settle()
            if self._idle() or self._task is None or self._task.done() or (self._reconciler and self.reconciler.waiting):
                return


def _plain(value: Any) -> Any:
    dropped = {
        "uid",
        "resourceVersion",
        "managedFields",
        "generation",
        "observedGeneration",
        "lastTransitionTime",
        "startTime",
        "endTime",
        APPLIED_HASH,
    }
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if name not in dropped}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def draft(resource: Resource, name: str, metadata: Node | None = None, **rest: Any) -> Node:
    """An object to create; `metadata` is the rest of its metadata."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **(metadata or {})}, **rest}


def disagg(name: str = "g", replicas: int = 2) -> Node:
    """A frontend and two sorts of workers."""
    return graph(
        component("Frontend", "frontend", {"image": "img:1"}, replicas=1),
        vllm("decode", "decode", replicas=replicas),
        vllm("prefill", "prefill", replicas=replicas),
        name=name,
    )


def running(
    *objects: Node,
    more: str = "",
    version: str = "",
    served: Mapping[str, frozenset[str]] | None = None,
    denied: Iterable[tuple[str, str]] = (),
    newcomers: int | None = None,
) -> contextlib.AbstractAsyncContextManager[Site]:
    """A site with a reconciler that is ready, and graphs and components at rest."""
    site = Site(settings(more, version)).serve(served or {})
    site.cluster.denied |= {*denied}
    site.newcomers = newcomers
    return site.running(*objects)
