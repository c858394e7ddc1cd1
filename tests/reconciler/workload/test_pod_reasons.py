"""Why pods wait is told in the graph's message, at the price of few reads."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.protocol import Listing, Node
from dynamo_webhooks.kube.resources import CORE_EVENTS, DEPLOYMENTS, LEADER_WORKER_SETS, PODS, Resource
from dynamo_webhooks.reconciler.common.conditions import condition_of
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, STATEFUL_SETS
from dynamo_webhooks.reconciler.engine.reads import MAX_READS, MAX_WAIT_STARTS, READ_SECONDS, PodReadLimiter
from dynamo_webhooks.reconciler.workload.pod_states import explain_waiting_pods
from tests.kube.timing import Timing
from tests.reconciler.rendering import vllm
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running
from tests.reconciler.workload.test_orchestrator import GROUPS as SERVED
from tests.rows import run_each

GRAPH = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT = "nvidia.com/dynamo-component"


def _pod(name: str, component: str = "decode", **status: Any) -> Node:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {GRAPH: "g", COMPONENT: component}}, "status": status}


def _held(reason: str, message: str = "", **more: Any) -> Node:
    """The status of a pod whose main container waits."""
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return {"containerStatuses": [{"name": "main", "state": state, **more}]}


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes: 3 Insufficient gpu",
}
RUNS = {"name": "main", "ready": False, "started": False, "state": {"running": {"startedAt": "2030-01-01T00:00:00Z"}}}
READY = {"metadata": {"uid": "g", "generation": 1}, "status": {"observedGeneration": 1}}
CRASHED = {"terminated": {"exitCode": 1, "reason": "Error"}}


@run_each(
    ("status", "text"),
    [
        ({"conditions": [UNSCHEDULABLE]}, "p: Unschedulable: 0/3 nodes: 3 Insufficient gpu"),
        (_held("ImagePullBackOff", 'Back-off pulling image "x"'), 'p: container main: ImagePullBackOff: Back-off pulling image "x"'),
        (_held("CrashLoopBackOff", lastState=CRASHED), "p: container main: CrashLoopBackOff; it ended with exit code 1 (Error)"),
        ({"initContainerStatuses": [{"name": "wait", "state": CRASHED}]}, "p: container wait: it ended with exit code 1 (Error)"),
        (_held("ContainerCreating"), ""),
        ({"initContainerStatuses": [RUNS | {"name": "wait"}]}, ""),
        (
            {"containerStatuses": [RUNS]},
            "p: container main: it has run since 2030-01-01T00:00:00Z, but its startup probe has not succeeded",
        ),
        (
            {"containerStatuses": [RUNS | {"started": True, "lastState": CRASHED}]},
            "p: container main: it has run since 2030-01-01T00:00:00Z, but its readiness probe fails; it ended with exit code 1 (Error)",
        ),
        ({"conditions": [{"type": "Ready", "status": "True"}], **_held("CrashLoopBackOff")}, ""),
        ({}, ""),
    ],
)
def test_a_pod_says_why_it_waits(status: Node, text: str) -> None:
    assert explain_waiting_pods([_pod("p", **status)]) == text


def test_the_oldest_waiting_pod_of_each_component_is_named() -> None:
    pods = [_pod(f"{component}-{number}", component, conditions=[UNSCHEDULABLE]) for number in range(3) for component in "abcde"]
    text = explain_waiting_pods(pods)
    assert [part.split(":")[0] for part in text.split("; ")] == ["a-0", "b-0", "c-0", "and 2 other components"]


def test_a_graph_is_read_once_a_minute_and_few_at_a_time() -> None:
    timing = Timing()
    reads = PodReadLimiter(timing.clock)
    assert sum(reads.may(f"graph-{number}", f"n-{number}") for number in range(100)) == MAX_READS
    timing.seconds = READ_SECONDS - 1
    assert not reads.may("graph-0", "n-0")
    assert reads.may("graph-99", "n-99")
    timing.seconds = READ_SECONDS
    assert reads.may("graph-0", "n-0")
    timing.seconds += 10
    assert reads.may("graph-0", "n-0", 10.0)  # of what waits since then
    assert not reads.may("graph-0", "n-0", 10.0)


def test_graphs_of_one_namespace_leave_half_of_the_reads_to_others() -> None:
    reads = PodReadLimiter(Timing().clock)
    assert sum(reads.may(f"graph-{number}", "busy") for number in range(100)) == MAX_READS // 2
    assert sum(reads.may(f"other-{number}", "other") for number in range(100)) == MAX_READS // 2


def test_a_graph_rolled_within_a_minute_of_its_start_is_looked_at_as_soon() -> None:
    timing = Timing()
    reads = PodReadLimiter(timing.clock)
    early = []
    for number in range(6):
        timing.seconds = number * 10.0
        moment = datetime.fromtimestamp(timing.seconds, UTC)
        early.append(tuple(reads.begin(READY, since, moment)[1] for since in (moment, moment + timedelta(seconds=1))))
    assert early == [(True, True)] * MAX_WAIT_STARTS + [(False, False)] * 2  # another writer sets the moment anew each time
    timing.seconds += READ_SECONDS
    moment = datetime.fromtimestamp(timing.seconds, UTC)
    assert reads.begin(READY, moment, moment) == (moment, True)


def test_few_edits_within_a_minute_are_looked_at_soon_and_further_ones_as_the_wait_before_them() -> None:
    timing = Timing()
    reads, unready = PodReadLimiter(timing.clock), datetime.fromtimestamp(-100, UTC)
    for number in range(6):
        timing.seconds = number * 10.0
        moment, edited = datetime.fromtimestamp(timing.seconds, UTC), {**READY, "metadata": {"uid": "g", "generation": number + 2}}
        assert reads.begin(edited, unready, moment) == ((moment, True) if number < MAX_WAIT_STARTS - 1 else (unready, False))


async def _add(site: Site, pod: Node) -> None:
    metadata = pod["metadata"]
    await site.add_pod(metadata["name"], metadata["labels"], pod["status"], metadata=metadata, spec=pod.get("spec") or {})


async def _reads(site: Site, pods: list[Node]) -> int:
    """Reads of pods while a graph that never becomes ready waits five minutes."""
    count = 0

    def counted(verb: str, resource: Resource | None, _namespace: str, _name: str) -> Exception | None:
        nonlocal count
        count += (verb, resource) == ("list", PODS)
        return None

    for pod in pods:
        await _add(site, pod)
    site.cluster.fail(counted)
    await site.later(300)
    return count


async def test_a_graph_that_is_not_ready_says_why_its_pods_wait() -> None:
    async with running(disagg(), newcomers=0) as site:
        assert "Pods wait" not in (await site.condition())["message"]
        assert 1 <= await _reads(site, [_pod("d", conditions=[UNSCHEDULABLE])]) <= 8  # after 5, 10, 20 and 40 seconds, then each minute
        assert (await site.condition())["message"].endswith(". Pods wait: d: Unschedulable: 0/3 nodes: 3 Insufficient gpu")
        assert await site.writes_within(200) == []
        site.newcomers = None
        await site.rest()
        assert (await site.condition())["message"] == "All resources are ready"
        assert await _reads(site, []) == 0


@run_each("wide", [False, True])
async def test_a_component_of_its_own_says_why_its_pods_wait(wide: bool) -> None:
    site = Site()
    site.newcomers = 0
    if wide:
        site.cluster.served.update(SERVED["lws"])
    async with site.running():
        spec = {**vllm("w"), **({"multinode": {"nodeCount": 2}} if wide else {})}
        await site.make(draft(COMPONENTS, "lone", spec=spec))
        label = {"leaderworkerset.sigs.k8s.io/name": "lone"} if wide else {"nvidia.com/selector": "lone"}
        pod = _pod("p", conditions=[UNSCHEDULABLE])
        await _reads(site, [{**pod, "metadata": {"name": "p", "labels": label}}])
        message = condition_of((await site.all(COMPONENTS))["lone"]["status"], "Available")["message"]
        await site.stop()
        kind = "LeaderWorkerSet" if wide else "Deployment"
        assert message == f"{kind} is not ready. Pods wait: p: Unschedulable: 0/3 nodes: 3 Insufficient gpu"


async def test_pods_are_read_after_5_10_20_and_40_seconds_though_none_were_there_at_first() -> None:
    async with running(disagg(), newcomers=0) as site:
        moments: list[float] = []

        def noted(verb: str, resource: Resource | None, *_: str) -> None:
            if (verb, resource) == ("list", PODS):
                moments.append(site.timing.clock())

        site.cluster.fail(noted)
        for _ in range(3):
            await site.later(60)
        assert [round(moment - moments[0] + 5) for moment in moments] == [5, 10, 20, 40, 80, 140]


@run_each("served", [{}, SERVED["grove"], SERVED["lws"]], ids=["deployments", "grove", "lws"])
async def test_the_reason_is_there_within_seconds(served: dict[str, frozenset[str]]) -> None:
    async with running() as site:
        site.cluster.served.update(served)
        await site.later(40)
        site.newcomers = 0
        obj = disagg()
        if served is SERVED["lws"]:
            obj["spec"]["components"][1]["multinode"] = {"nodeCount": 2}
        await site.make(obj)
        await _add(site, _pod("d", conditions=[UNSCHEDULABLE]))
        await site.later(10)
        assert "d: Unschedulable" in (await site.condition())["message"]


async def test_reasons_are_read_each_minute_though_the_wall_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    site, behind = Site(), [timedelta()]
    wall = site.timing.now
    monkeypatch.setattr(site.timing, "now", lambda: wall() - behind[0])
    site.newcomers = 0
    async with site.running(disagg()):
        await _reads(site, [_pod("d", conditions=[UNSCHEDULABLE])])
        behind[0] = timedelta(hours=1)
        await site.kubelet.delete(PODS, "d", NAMESPACE)
        await _reads(site, [_pod("e", conditions=[UNSCHEDULABLE])])
        assert ". Pods wait: e: Unschedulable" in (await site.condition())["message"]


async def test_pods_that_can_not_be_made_are_told_of() -> None:
    async with running(disagg(), newcomers=0) as site:
        refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: gpus"}
        status = (await site.all(DEPLOYMENTS))["g-frontend"]["status"]
        patch = {"status": {"conditions": [*status["conditions"], refused]}}
        await site.timing.advance(40)
        await site.kubelet.merge_patch(DEPLOYMENTS, "g-frontend", patch, NAMESPACE, subresource="status")
        for _ in range(20):
            await site.timing.advance(5)
        assert (await site.condition())["message"].endswith(". Pods wait: g-frontend: FailedCreate: exceeded quota: gpus")


async def test_of_pods_that_anybody_may_label_only_account_and_status_are_kept_and_few_are_read_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(disagg(), newcomers=0) as site:
        large = _pod("d", conditions=[UNSCHEDULABLE])
        large["metadata"]["annotations"] = {"a": "x" * 200_000}
        large["spec"] = {"serviceAccountName": "mine", "containers": [{"name": "c", "args": ["x" * 200_000]}]}
        pods: list[tuple[int, Node]] = []
        read = site.cluster.list

        async def listed(resource: Resource, *where: str, limit: int = 500, **more: Any) -> Listing:
            listing = await read(resource, *where, limit=limit, **more)
            pods.extend((limit, pod) for pod in listing.items if resource == PODS)
            return listing

        monkeypatch.setattr(site.cluster, "list", listed)
        await _reads(site, [large])
        assert pods
        for limit, pod in pods:
            assert (limit, pod["spec"], len(str(pod)) < 2000) == (100, {"serviceAccountName": "mine"}, True)
        assert ". Pods wait: d: Unschedulable" in (await site.condition())["message"]


async def test_a_roll_whose_new_workers_never_answer_probes_names_one_of_their_pods() -> None:
    async with running(disagg()) as site:
        site.settled, site.newcomers = {*await site.all(DEPLOYMENTS)}, 0
        await site.edit("g", 1, sharedMemorySize="1Gi")
        await _add(site, _pod("new", containerStatuses=[RUNS]))
        await site.later(20)
        assert (await site.condition())["message"] == "Rolling update in progress"  # it may be about to answer
        await site.later(20)
        waiting = "new: container main: it has run since 2030-01-01T00:00:00Z, but its startup probe has not succeeded"
        assert (await site.condition())["message"] == f"Rolling update in progress. Pods wait: {waiting}"
        assert [text for _, reason, text in await site.events() if reason == "PodsWait"] == [waiting]
        assert await site.writes_within(200) == []


async def _messages(site: Site, seconds: int) -> list[str]:
    """What the graph says of its pods, each second."""
    messages = []
    for _ in range(seconds):
        await site.later(1)
        messages.append((await site.condition())["message"].partition(". Pods wait: ")[2])
    return messages


async def test_a_graph_rolled_before_it_was_ever_ready_names_the_new_pod_at_the_first_read() -> None:
    async with running(disagg(), newcomers=0) as site:
        await _add(site, _pod("old", **_held("ErrImagePull")))
        await site.later(200)
        old, new = (f"{name}: container main: ErrImagePull" for name in ("old", "new"))
        assert (await site.condition())["message"].endswith(old)
        await site.edit("g", 1, sharedMemorySize="1Gi")
        await site.delete(PODS, "old")
        await _add(site, _pod("new", **_held("ErrImagePull")))
        messages = await _messages(site, 70)
        assert (messages[0], {*messages[1:5]} <= {old, new}, messages[5:]) == (old, True, [new] * 65)
        await site.edit("g", 0, sharedMemorySize="1Gi")  # which replaces no worker
        assert await _messages(site, 70) == [new] * 70
        assert [text for _, reason, text in await site.events() if reason == "PodsWait"] == [new]
        assert await site.writes_within(200) == []


@run_each("permitted", [True, False])
async def test_pods_of_a_leader_worker_set_that_can_not_be_made_are_told_of(permitted: bool) -> None:
    site = Site().serve(SERVED["lws"])
    site.newcomers = 0
    async with site.running():
        obj = disagg()
        obj["spec"]["components"][1]["multinode"] = {"nodeCount": 2}
        await site.make(obj)
        [name] = await site.all(LEADER_WORKER_SETS)
        metadata = {"name": name, "namespace": NAMESPACE, "labels": {"leaderworkerset.sigs.k8s.io/name": name}}
        leaders = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": 1}}
        uid = (await site.kubelet.create(STATEFUL_SETS, leaders, NAMESPACE))["metadata"]["uid"]
        for number, (moment, text) in enumerate([("10", "exceeded quota: pods"), ("09", "an older one")]):
            event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"e-{number}", "namespace": NAMESPACE}}
            event |= {"involvedObject": {"uid": uid}, "type": "Warning", "lastTimestamp": f"2026-01-01T00:00:{moment}Z"}
            await site.kubelet.create(CORE_EVENTS, {**event, "reason": "FailedCreate", "message": text}, NAMESPACE)
        if not permitted:
            forbidden = ForbiddenError(403, "Forbidden", "events is forbidden")
            site.cluster.fail(lambda verb, resource, *_: forbidden if (verb, resource) == ("list", CORE_EVENTS) else None)
        await site.later(15)
        words = "FailedCreate: exceeded quota: pods" if permitted else f"Events of StatefulSet {name} can't be read: events is forbidden"
        assert (await site.condition())["message"].endswith(f". Pods wait: {name}: {words}")
