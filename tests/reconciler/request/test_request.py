"""Passes over DynamoGraphDeploymentRequests: from a request to a graph, through whatever goes wrong."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.kube.errors import ConflictError, ForbiddenError, InvalidError, UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CONFIG_MAPS, JOBS, NODES, PODS, ROLES, SERVICE_ACCOUNTS, Resource
from dynamo_webhooks.kube.times import format_time
from dynamo_webhooks.reconciler.common.resources import FINALIZER, GRAPHS, REQUESTS, RETRY
from dynamo_webhooks.reconciler.request.controller import RequestController
from dynamo_webhooks.reconciler.request.names import HARDWARE, SPEC
from dynamo_webhooks.reconciler.request.shared import Scraper
from tests.reconciler.request.asked import GRAPH, asked
from tests.reconciler.site import NAMESPACE, Site, draft, settings
from tests.rows import run_each

OUTPUT = "dgdr-output-req"
JOB = "profile-req"
FOREIGN = {"apiVersion": GRAPHS.api_version, "kind": "DynamoGraphDeployment", "metadata": {"name": "req-dgd"}, "spec": {"components": []}}
CONFIGURATION = "requests: {copierImage: 'copier:1'}\n"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n",
        "labels": {"nvidia.com/gpu.product": "NVIDIA-H200", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "143771"},
    },
}


class FakeExporters(Scraper):
    """Answers as exporters of metrics."""

    text = ""

    async def read(self, url: str) -> str:  # noqa: ARG002 - all answer alike
        """The metrics."""
        return self.text

    async def close(self) -> None:
        """Nothing is open."""


class Scene(Site):
    """A site with requests and a profiler."""

    def __init__(self, config: OperatorConfiguration) -> None:
        super().__init__(config)
        self.callers = {"controllers": [RequestController(FakeExporters)]}

    async def ask(self, **spec: Any) -> None:
        """Creates the request as a user does."""
        self.storage.now = self.timing.now()
        await self.create(REQUESTS, asked(**spec), 1)

    async def request(self) -> Node:
        """The request as it is stored."""
        return await self.get(REQUESTS, "req")

    async def phase(self) -> str:
        """Where it is."""
        return str((await self.request()).get("status", {}).get("phase"))

    async def told(self, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition of the request; empty where it has none."""
        conditions = [entry for entry in (await self.request()).get("status", {}).get("conditions", ()) if entry["type"] == kind]
        return (conditions[0]["status"], conditions[0]["reason"], conditions[0]["message"]) if conditions else ("", "", "")

    async def edit_request(self, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        """Changes the request as a user does."""
        await self.patch(REQUESTS, "req", {"metadata": {"annotations": annotations or {}}, "spec": spec}, 4)

    async def write(self, **data: str) -> None:
        """Writes what the profiler says."""
        keys = {name.replace("__", "."): text for name, text in data.items()}
        await self.kubelet.merge_patch(CONFIG_MAPS, OUTPUT, {"data": keys}, NAMESPACE)

    async def end(self, kind: str = "Complete", message: str = "") -> None:
        """Ends the Job."""
        status = {"conditions": [{"type": kind, "status": "True", "message": message}]}
        await self.report(JOBS, JOB, status, 2)

    async def find(self, text: str = GRAPH) -> None:
        """Has the profiler end well."""
        await self.write(profiler_status="success", final_config__yaml=text)
        await self.end()
        await self.later(3)

    def writes_of(self, plural: str) -> int:
        """Writes of the reconciler to a resource so far."""
        return sum(written == plural for _, written, _ in self.cluster.writes)


@contextlib.asynccontextmanager
async def scene(more: str = "") -> AsyncIterator[Scene]:
    async with Scene(settings(CONFIGURATION + more)).running(seconds=2) as site:
        yield site


@contextlib.asynccontextmanager
async def asking(**spec: Any) -> AsyncIterator[Scene]:
    """The same with a request, which is profiled."""
    async with scene() as site:
        await site.ask(**spec)
        yield site


@contextlib.asynccontextmanager
async def found(text: str = GRAPH, **spec: Any) -> AsyncIterator[Scene]:
    """The same when the profiler has found something."""
    async with asking(**spec) as site:
        await site.find(text)
        yield site


async def test_from_a_request_to_a_graph_that_serves() -> None:
    async with asking() as site:
        assert await site.phase() == "Profiling"
        assert (await site.all(JOBS)).keys() == {JOB}
        assert (await site.all(SERVICE_ACCOUNTS)).keys() == {"dgdr-profiling-job-req"}
        await site.write(phase="SweepingDecode", message="half")
        await site.later(11)
        assert await site.told("Profiling") == ("False", "SweepingDecode", "half")
        await site.find()
        assert await site.told("SpecGenerated") == ("True", "SpecGenerated", "DynamoGraphDeployment spec generated successfully")
        graph = await site.graph("req-dgd")
        assert [component["name"] for component in graph["spec"]["components"]] == ["Frontend"]
        await site.later(3)
        assert await site.phase() == "Deployed"
        assert await site.told("Succeeded") == ("True", "Deployed", "Deployment is healthy")
        status = (await site.request())["status"]
        assert status["deploymentInfo"] == {"replicas": 1, "availableReplicas": 1}
        assert status["profilingResults"]["selectedConfig"]["spec"] == graph["spec"]
        assert SPEC not in (await site.request())["metadata"]["annotations"]
        mine = [reason for name, reason, _ in await site.events() if name == "req"]
        assert mine == ["Initialized", "ProfilingJobCreated", "SpecGenerated", "DeploymentCreated", "DeploymentReady"]
        assert await site.writes_within(300) == []


async def test_gpus_are_found_and_the_spec_stays_as_it_was_written() -> None:
    async with scene() as site:
        await site.user.create(NODES, NODE)
        await site.ask(hardware={"totalGpus": 4})
        await site.later(2)
        assert await site.phase() == "Profiling"
        request = await site.request()
        assert request["spec"]["hardware"] == {"totalGpus": 4}
        assert '"gpuSku":"h200_sxm"' in request["metadata"]["annotations"][HARDWARE]
        [job] = (await site.all(JOBS)).values()
        config = job["spec"]["template"]["spec"]["containers"][0]["args"][1]
        assert '"hardware":{"gpuSku":"h200_sxm","vramMb":143771,"totalGpus":4,"numGpusPerNode":8,"rdma":false}' in config


@run_each("odd", [{"hardware": 7}, {"modelCache": "x"}, {"overrides": {"profilingJob": []}}, {"sla": {"ttft": {}}}])
async def test_a_request_of_wrong_types_is_refused_and_others_go_on(odd: dict[str, Any]) -> None:
    async with scene() as site:
        wrong = asked("wrong", **odd)
        await site.user.create(REQUESTS, wrong, NAMESPACE)
        await site.ask()
        assert await site.phase() == "Profiling"
        obj = await site.get(REQUESTS, "wrong")
        assert obj["status"]["phase"] == "Failed"
        [condition] = [condition for condition in obj["status"]["conditions"] if condition["type"] == "Validation"]
        assert condition["message"].startswith(f"spec.{next(iter(odd))}")


async def test_the_copier_runs_the_image_of_this_process_unless_another_is_named() -> None:
    own = dataclasses.replace(settings().operator, pod_name="own", namespace="dynamo-system")
    async with Scene(dataclasses.replace(settings(), operator=own)).running() as site:
        await site.ask()
        assert (await site.told("Profiling"))[1] == "CopierImageUnknown"
        spec = {"containers": [{"name": "proxy", "image": "proxy:1"}, {"name": "reconciler", "image": "ours:1"}]}
        await site.user.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own"}, "spec": spec}, "dynamo-system")
        await site.later(62)
        [job] = (await site.all(JOBS)).values()
        assert [container["image"] for container in job["spec"]["template"]["spec"]["initContainers"]] == ["ours:1"]


async def test_many_that_are_profiled_cost_one_write_each_for_their_progress() -> None:
    async with scene() as site:
        names = [f"r{number}" for number in range(30)]
        for name in names:
            await site.create(REQUESTS, asked(name), 12)
        assert len(await site.all(JOBS)) == len(names)
        assert await site.writes_within(300) == []
        before = len(site.cluster.writes)
        for name in names:
            await site.patch(CONFIG_MAPS, f"dgdr-output-{name}", {"data": {"phase": "SweepingDecode"}}, 20)
        wrote = [write for write in site.cluster.writes[before:] if write[1] not in ("leases", "events")]
        assert sorted(wrote) == sorted(("merge_patch", REQUESTS.plural, name) for name in names)


async def test_a_right_that_is_missing_is_named_and_ends_nothing() -> None:
    async with scene("controllers: {requests: on}\n") as site:
        site.cluster.denied.add(("create", "jobs"))
        await site.ask()
        assert await site.phase() == "Pending"
        assert "cannot create jobs" in (await site.told("Reconciled"))[2]
        site.cluster.denied.clear()
        await site.later(61)
        assert await site.phase() == "Profiling"
        assert await site.told("Reconciled") == ("", "", "")


@run_each("error", [UnavailableError(500, "", "etcd"), ConflictError(409, "Conflict", "changed")])
async def test_whatever_passes_ends_nothing(error: Exception) -> None:
    async with scene() as site:
        failing = {"left": 4}

        def fault(verb: str, resource: Any, _: str, __: str) -> Exception | None:
            writing = verb in ("create", "merge_patch", "apply") and resource.plural not in ("leases", "events")
            if writing and failing["left"] > 0:
                failing["left"] -= 1
                return error
            return None

        site.cluster.fail(fault)
        await site.ask()
        await site.later(120)
        assert await site.phase() == "Profiling"
        failing["left"] = 4
        await site.find()
        await site.later(120)
        assert await site.phase() == "Deployed"


@run_each("number", range(1, 14))
async def test_killed_at_any_write_there_is_one_job_and_one_graph(number: int) -> None:
    site = Scene(settings(CONFIGURATION))
    site.kill_at(number)
    async with site.running(seconds=2):
        await site.ask()
        await site.later(30)
        [job] = (await site.all(JOBS)).values()
        await site.find()
        await site.later(30)
        assert await site.phase() == "Deployed"
        assert [obj["metadata"]["uid"] for obj in (await site.all(JOBS)).values()] == [job["metadata"]["uid"]]
        assert (await site.all(GRAPHS)).keys() == {"req-dgd"}


async def test_a_job_that_fails_is_told_with_how_its_failed_pods_ended_and_evicted_pods_are_no_failure() -> None:
    async with asking() as site:
        [job] = (await site.all(JOBS)).values()
        [rule] = job["spec"]["podFailurePolicy"]["rules"]
        assert rule == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
        for name, phase in (("p", "Failed"), ("q", "Running")):
            first, main = ({"exitCode": 2, "reason": "OOMKilled"}, {"exitCode": 3, "reason": "Error", "message": "no GPU"})
            status = {"phase": phase, "containerStatuses": [{"name": "main", "state": {"terminated": main}}]}
            status |= {"initContainerStatuses": [{"name": "first", "state": {"terminated": first}}]}
            await site.add_pod(name, {"job-name": JOB}, status)
        low = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory"}
        await site.add_pod("r", {"job-name": JOB}, low)
        await site.end("Failed", "too many")
        ends = (
            "Pod: p, Container: first, ExitCode: 2, Reason: OOMKilled; Pod: p, Container: main, ExitCode: 3, Reason: Error, Message: no GPU"
        )
        evicted = "Pod: r, Reason: Evicted, Message: The node was low on resource: memory"
        assert (await site.told("Profiling"))[2] == f"profiling job failed: too many. Details: {ends}; {evicted}"


async def test_a_job_that_has_ended_is_not_said_to_be_in_progress() -> None:
    async with asking() as site:
        ended = format_time(site.timing.clocks().wall())
        await site.report(JOBS, JOB, {"conditions": [{"type": "Complete", "status": "True"}], "completionTime": ended}, 5)
        awaited = ("False", "AwaitingResult", "The profiling Job has ended, its result is awaited")
        assert (await site.phase(), await site.told("Profiling")) == ("Profiling", awaited)
        assert await site.writes_within(20) == []
        await site.write(profiler_status="success", final_config__yaml=GRAPH)
        await site.later(11)
        assert await site.phase() == "Deployed"


async def test_a_graph_of_somebody_else_is_left_alone() -> None:
    async with scene() as site:
        before = await site.user.create(GRAPHS, FOREIGN, NAMESPACE)
        await site.ask()
        await site.find()
        assert (await site.told("DeploymentReady"))[1] == "NameTaken"
        after = await site.graph("req-dgd")
        assert (after["spec"], after["metadata"].get("labels")) == (before["spec"], None)
        await site.user.delete(GRAPHS, "req-dgd", NAMESPACE)
        await site.edit_request({RETRY: "1"})
        assert await site.phase() == "Deployed"
        assert site.writes_of("jobs") == 1  # the result was used again


async def test_a_deleted_graph_is_not_made_again_unless_somebody_asks() -> None:
    async with found() as site:
        await site.delete(GRAPHS, "req-dgd", 3)
        assert (await site.phase(), (await site.told("DeploymentReady"))[1]) == ("Failed", "DeploymentDeleted")
        await site.edit_request({RETRY: "now"})
        assert await site.phase() == "Deployed"


@run_each(
    ("text", "why"),
    [
        ("{{{", "document 1 is no YAML"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "no DynamoGraphDeployment found"),
        (GRAPH.replace("components:", "components: 7\n  x:"), "the generated graph would be refused: spec.components"),
        (GRAPH.replace("replicas: 1", "replicas: -1"), "the generated graph would be refused"),
    ],
)
async def test_a_result_that_cant_be_used_ends_one_request_and_no_other(text: str, why: str) -> None:
    async with found(text) as site:
        assert await site.phase() == "Failed"
        assert why in (await site.told("SpecGenerated"))[2]
        assert (await site.told("Profiling"))[0] == "True"
        assert (await site.told("Succeeded"))[2].startswith("Spec generation failed: ")
        assert not await site.all(GRAPHS)
        await site.edit_request(model="other")
        assert await site.phase() == "Profiling"


@run_each("text", [GRAPH, "{{{"])
async def test_a_default_of_a_newer_definition_is_no_edit(text: str) -> None:
    async with found(text) as site:
        phase = await site.phase()
        site.storage.records[REQUESTS.group, REQUESTS.plural, NAMESPACE, "req"].obj["spec"]["newField"] = "default"
        await site.edit_request({"touched": "1"})
        assert (await site.request())["spec"]["newField"] == "default"
        assert await site.phase() == phase
        assert await site.told("SpecChanged") == ("", "", "")
        assert site.writes_of("jobs") == 1


async def test_an_edit_while_profiling_has_no_effect_and_can_be_taken_back() -> None:
    async with asking() as site:
        await site.edit_request(model="other")
        assert (await site.told("SpecChanged"))[:2] == ("True", "SpecChangeRejected")
        await site.later(30)
        assert (await site.reasons()).count("SpecChangeRejected") == 1
        await site.edit_request(model="Qwen/Qwen3-0.6B")
        assert await site.told("SpecChanged") == ("", "", "")
        await site.find()
        assert await site.phase() == "Deployed"


async def test_a_result_that_is_changed_after_it_was_read_is_judged_again() -> None:
    async with found(autoApply=False) as site:
        assert await site.phase() == "Ready"
        await site.write(final_config__yaml=GRAPH.replace("replicas: 1", "replicas: -1"))
        await site.edit_request(autoApply=True)
        assert (await site.phase(), (await site.told("SpecGenerated"))[1]) == ("Failed", "GenerationFailed")
        assert not await site.all(GRAPHS)


async def test_a_graph_is_left_to_a_person_until_autoapply_is_switched_on() -> None:
    async with found(autoApply=False) as site:
        assert await site.phase() == "Ready"
        assert "Frontend" in (await site.request())["metadata"]["annotations"][SPEC]
        await site.later(100)
        assert not await site.all(GRAPHS)
        await site.edit_request(autoApply=True)
        assert await site.phase() == "Deployed"
        assert await site.told("SpecChanged") == ("", "", "")


async def test_a_job_that_somebody_deletes_is_made_once_more() -> None:
    async with asking() as site:
        for _ in range(2):
            await site.delete(JOBS, JOB, 12)
        assert (await site.phase(), (await site.told("Profiling"))[1]) == ("Failed", "InitializingFailed")
        assert site.writes_of("jobs") == 2


async def test_a_pod_that_waits_says_why() -> None:
    async with asking() as site:
        waiting = {"name": "profiler", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "secret not found"}}}
        await site.add_pod("p", {"job-name": JOB}, {"phase": "Pending", "containerStatuses": [waiting]})
        await site.later(80)
        assert "container profiler: CreateContainerConfigError: secret not found" in (await site.told("Profiling"))[2]


async def test_an_unknown_word_of_the_profiler_stops_nothing() -> None:
    async with asking() as site:
        await site.write(phase="Bogus", message="hello")
        await site.later(12)
        assert (await site.told("Profiling"))[2] == "the profiler says 'Bogus', which is no known phase: hello"
        await site.find()
        assert await site.phase() == "Deployed"


async def test_an_override_is_merged_once_and_what_of_it_has_no_effect_is_an_event() -> None:
    async with scene() as site:
        header = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment"}
        components = [{"name": "Frontend", "replicas": 2}, {"name": "Worker", "replicas": 1}]
        await site.ask(overrides={"dgd": {**header, "spec": {"components": components}}}, autoApply=False)
        await site.find()
        assert await site.phase() == "Ready"
        [message] = [text for _, reason, text in await site.events() if reason == "OverrideIgnored"]
        assert message.startswith("spec.overrides.dgd.spec.components[Worker]: is dropped, since the graph has no such component")
        edited = {"dgd": {**header, "spec": {"components": [{"name": "Frontend", "replicas": 3}]}}}
        await site.edit_request(overrides=edited, autoApply=True)
        assert (await site.told("SpecChanged"))[1] == "SpecChangeRejected"
        components = (await site.graph("req-dgd"))["spec"]["components"]
        assert [(component["name"], component["replicas"]) for component in components] == [("Frontend", 2)]


async def test_a_merged_graph_that_admission_refuses_is_not_made() -> None:
    async with scene() as site:
        spec = {"components": [{"name": "Frontend", "replicas": -1}]}
        await site.ask(overrides={"dgd": {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "spec": spec}})
        await site.find()
        assert await site.phase() == "Failed"
        assert "the generated graph would be refused: spec.components[0].replicas" in (await site.told("SpecGenerated"))[2]
        assert not await site.all(GRAPHS)


async def test_config_maps_of_a_result_are_the_graphs_and_others_are_left_alone() -> None:
    async with scene() as site:
        await site.user.create(CONFIG_MAPS, draft(CONFIG_MAPS, "taken", data={"x": "theirs"}), NAMESPACE)
        await site.ask()
        await site.find(_maps("taken", "free") + GRAPH)
        maps = await site.all(CONFIG_MAPS)
        assert maps["taken"]["data"] == {"x": "theirs"}
        assert maps["free"]["metadata"]["ownerReferences"][0]["uid"] == (await site.graph("req-dgd"))["metadata"]["uid"]
        assert "ConfigMapCreationFailed" in await site.reasons()


def _maps(*names: str) -> str:
    return "".join(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{x: ours}}\n---\n" for name in names)


async def test_config_maps_of_a_result_are_there_before_its_graph_and_go_where_none_is_made() -> None:
    async with scene() as site:
        denial = {"text": 'cannot create resource "dynamographdeployments"'}
        allow = site.cluster.fail(
            lambda verb, what, *_: ForbiddenError(403, "Forbidden", denial["text"]) if (verb, what) == ("create", GRAPHS) else None
        )
        await site.ask()
        await site.find(_maps("free") + GRAPH)
        assert "ownerReferences" not in (await site.all(CONFIG_MAPS))["free"]["metadata"]
        denial["text"] = 'admission webhook "x" denied the request: no'
        await site.later(70)
        assert await site.phase() == "Failed"
        assert "free" not in await site.all(CONFIG_MAPS)
        allow()
        await site.user.create(GRAPHS, FOREIGN, NAMESPACE)
        await site.edit_request({RETRY: "1"})
        assert (await site.told("DeploymentReady"))[1] == "NameTaken"
        assert "free" not in await site.all(CONFIG_MAPS)


async def test_a_config_map_that_is_refused_is_told_and_keeps_no_graph_away() -> None:
    async with scene() as site:
        refused = InvalidError(422, "Invalid", "metadata.name: Invalid value")
        site.refuse(refused, "create", CONFIG_MAPS, "Free_")
        await site.ask()
        await site.find(_maps("Free_", "free") + GRAPH)
        assert await site.phase() == "Deployed"
        assert "free" in await site.all(CONFIG_MAPS)
        assert "ConfigMapCreationFailed" in await site.reasons()


@run_each("phase", ["Pending", "Profiling", "Deployed"])
async def test_a_deleted_request_takes_everything_but_its_graph_with_it(phase: str) -> None:
    async with scene("controllers: {requests: on}\n") as site:
        if phase == "Pending":
            site.cluster.denied.add(("create", "jobs"))
        await site.create(REQUESTS, asked() | {"metadata": {**asked()["metadata"], "finalizers": [FINALIZER]}}, 3)
        if phase == "Deployed":
            await site.find()
        assert await site.phase() == phase
        await site.delete(REQUESTS, "req", 3)
        assert await site.user.get(REQUESTS, "req", NAMESPACE) is None
        left = [await site.all(resource) for resource in (JOBS, CONFIG_MAPS, ROLES)]
        assert [[name for name in each if "req" in name and "req-dgd" not in name] for each in left] == [[], [], []]
        assert (await site.all(GRAPHS)).keys() == ({"req-dgd"} if phase == "Deployed" else set())


async def test_a_graph_that_a_webhook_refuses_ends_the_request_and_a_missing_right_does_not() -> None:
    async with scene() as site:
        denial = {"text": 'admission webhook "x" denied the request: no'}
        site.cluster.fail(
            lambda verb, what, *_: ForbiddenError(403, "Forbidden", denial["text"]) if (verb, what) == ("create", GRAPHS) else None
        )
        await site.ask()
        await site.find()
        assert (await site.phase(), (await site.told("DeploymentReady"))[1]) == ("Failed", "DeploymentRejected")
        denial["text"] = 'cannot create resource "dynamographdeployments"'
        await site.edit_request({RETRY: "1"})
        assert await site.phase() == "Deploying"
        assert "the reconciler lacks a permission" in (await site.told("Reconciled"))[2]


@run_each(("resource", "name"), [(JOBS, JOB), (CONFIG_MAPS, OUTPUT)])
async def test_what_others_made_by_the_name_that_a_request_needs_is_left_alone(resource: Resource, name: str) -> None:
    async with scene() as site:
        before = await site.user.create(resource, draft(resource, name, data={"theirs": "1"}), NAMESPACE)
        await site.ask()
        await site.edit_request({RETRY: "1"})
        await site.edit_request(modelCache=None, sla={"ttft": 5})
        await site.edit_request({RETRY: "2"})
        assert (await site.all(resource))[name]["metadata"]["uid"] == before["metadata"]["uid"]
        assert (await site.all(resource))[name].get("data") == before.get("data")
        assert await site.phase() == "Failed"
        assert f"{resource.kind} {name} belongs to another owner, and is left alone" in (await site.told("Profiling"))[2]


@run_each(("resource", "name"), [(JOBS, JOB), (CONFIG_MAPS, OUTPUT)])
async def test_what_the_garbage_collector_missed_of_an_earlier_request_is_replaced(resource: Resource, name: str) -> None:
    async with scene() as site:
        owner = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "name": "req", "uid": "earlier", "controller": True}
        before = await site.user.create(resource, draft(resource, name, {"ownerReferences": [owner]}), NAMESPACE)
        await site.user.create(REQUESTS, asked(), NAMESPACE)
        for _ in range(20):
            await site.timing.advance(0.25)
        assert (await site.all(resource))[name]["metadata"]["uid"] != before["metadata"]["uid"]
        await site.find()
        assert await site.phase() == "Deployed"


@run_each(("resource", "name"), [(JOBS, JOB), (CONFIG_MAPS, OUTPUT)])
async def test_what_a_backup_restored_without_its_owner_is_still_the_requests(resource: Resource, name: str) -> None:
    async with asking() as site:
        await site.user.merge_patch(resource, name, {"metadata": {"ownerReferences": None}}, NAMESPACE)
        await site.find()
        assert await site.phase() == "Deployed"
