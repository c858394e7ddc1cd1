"""A cluster in memory with a reconciler on it, and what a real one does by itself: pods become ready, orphans are collected."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.cli.installation.configuration import load_configuration
from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CORE_EVENTS, DEPLOYMENTS, LEASES, Resource
from dynamo_webhooks.reconciler.common.resources import ADAPTERS, APPLIED_HASH, COMPONENTS, GRAPHS, MANAGER
from dynamo_webhooks.reconciler.engine.pacing import HELD
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
CONFIGURATION: Final = """
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
operator: {namespace: dynamo-system, serviceAccount: dynamo-webhooks-reconciler, version: 1.3.0}
rbac: {plannerClusterRoleName: plan, eppClusterRoleName: pick, dgdrProfilingClusterRoleName: profile}
leaderElection: {enabled: true, id: dynamo-webhooks-reconciler}
mpi: {sshSecretName: ssh, sshSecretNamespace: dynamo-system}
"""


@cache
def settings(more: str = "") -> OperatorConfiguration:
    """The settings of a small configuration; `more` are further lines of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text(CONFIGURATION + more)
        return load_configuration(str(file), {}).configuration


class Site:
    """One cluster; reconcilers come and go."""

    def __init__(self, found: OperatorConfiguration | None = None) -> None:
        self.storage, self.timing = Storage(), Timing()
        self.settings = found or settings()
        self.cluster = MemoryCluster(MANAGER, storage=self.storage, served=SERVED)
        self.user = MemoryCluster("kubectl", storage=self.storage, served=SERVED)
        self.kubelet = MemoryCluster("kube-controller-manager", storage=self.storage, served=SERVED)
        self.reconciler: Reconciler | None = None
        self.held: dict[str, int] = {}  # Deployment -> how many of its pods may become ready
        self.newcomers: int | None = None  # the same for each that `settled` doesn't name; None for all of them
        self.settled: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.lives = 0
        self._killed = False

    # processes

    def start(self) -> Reconciler:
        """Starts a reconciler, another one each time."""
        self.lives += 1
        timing = self.timing
        clocks = timing.clocks()
        return self.run(Reconciler(self.cluster, self.settings, f"pod-{self.lives}", clocks=clocks))

    def run(self, reconciler: Reconciler) -> Reconciler:
        """Runs one that was made elsewhere."""
        self.reconciler = reconciler
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
        """Lets time pass in small steps, and then everything come to rest."""
        for _ in range(int(seconds * 2)):
            await self.timing.advance(0.5)
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
        """Deletes what belongs to objects that are gone."""
        records = [*self.storage.records.values()]
        uids = {record.obj["metadata"]["uid"] for record in records}
        for (group, plural, namespace, name), record in [*self.storage.records.items()]:
            owners = record.obj["metadata"].get("ownerReferences") or []
            if owners and not any(owner.get("uid") in uids for owner in owners):
                version = record.obj["apiVersion"].rpartition("/")[2]
                await self.kubelet.delete(Resource(group, version, plural, record.obj["kind"]), name, namespace)

    # objects

    async def make(self, obj: Node) -> Node:
        """Creates an object of ours as a user does."""
        return await self.user.create(GRAPHS if obj["kind"] == "DynamoGraphDeployment" else COMPONENTS, obj, NAMESPACE)

    async def graph(self, name: str = "g") -> Node:
        """A graph as it is stored."""
        found = await self.user.get(GRAPHS, name, NAMESPACE)
        assert found is not None
        return found

    async def edit(self, graph_name: str, index: int, **fields: Any) -> None:
        """Changes a component of a graph as a user does."""
        obj = await self.graph(graph_name)
        obj["spec"]["components"][index] |= fields
        await self.user.replace(GRAPHS, obj)

    async def all(self, resource: Resource) -> dict[str, Node]:
        """All objects of a resource by name."""
        return {one["metadata"]["name"]: one for one in (await self.user.list(resource)).items}

    async def events(self) -> list[tuple[str, str, str]]:
        """(object, reason, message) of all Events, oldest first."""
        found = [record.obj for key, record in self.storage.records.items() if key[1] == CORE_EVENTS.plural]
        return [(one["involvedObject"]["name"], one["reason"], one["message"]) for one in found]

    async def reasons(self) -> list[str]:
        """The reasons of all Events."""
        return [reason for _, reason, _ in await self.events()]

    async def condition(self, name: str = "g", kind: str = "Ready") -> Node:
        """A condition of a graph, empty when it has none of the type."""
        status = (await self.graph(name)).get("status") or {}
        return next((one for one in status.get("conditions") or () if one["type"] == kind), {})

    async def workers(self, name: str = "g") -> dict[str, int]:
        """Replicas that each generation of workers of a graph asks for."""
        found = (await self.all(COMPONENTS)).values()
        mine = [one for one in found if one["metadata"]["labels"].get("nvidia.com/dynamo-graph-deployment-name") == name]
        mark = "nvidia.com/dynamo-worker-hash"
        return {one["metadata"]["name"]: one["spec"].get("replicas", 1) for one in mine if mark in one["metadata"]["labels"]}

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
        if self.reconciler is None or self._task is None:
            return False
        queue = self.reconciler.queue
        due = [later.due - queue._clock() for later in queue._later.values()]
        return bool(self.reconciler.waiting) or min(due, default=HELD + 1) <= HELD

    def _idle(self) -> bool:
        return self.reconciler is None or self._task is None or (not self.reconciler.waiting and self.reconciler.queue.idle)

    async def _run(self) -> None:
        for _ in range(ROUNDS):
            await settle()
            if self._idle() or self._task is None or self._task.done() or (self.reconciler and self.reconciler.waiting):
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
        return {name: _plain(one) for name, one in value.items() if name not in dropped}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def clique_of(made: Node, template: Node) -> Node:
    """The PodClique that Grove makes of a template in a set."""
    set_name = made["metadata"]["name"]
    owner = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": set_name, "uid": made["metadata"]["uid"], "controller": True}
    metadata = {"name": f"{set_name}-0-{template['name']}", "labels": template["labels"], "ownerReferences": [owner]}
    return {"apiVersion": made["apiVersion"], "kind": "PodClique", "metadata": metadata, "spec": template["spec"]}


def disagg(name: str = "g", replicas: int = 2) -> Node:
    """A frontend and two sorts of workers."""
    return graph(
        component("Frontend", "frontend", {"image": "img:1"}, replicas=1),
        vllm("decode", "decode", replicas=replicas),
        vllm("prefill", "prefill", replicas=replicas),
        name=name,
    )


@contextlib.asynccontextmanager
async def running(found: OperatorConfiguration | None = None) -> AsyncIterator[Site]:
    """A site with a reconciler that is ready."""
    site = Site(found)
    site.start()
    try:
        yield site
    finally:
        await site.stop()
