"""Graphs as DisaggregatedSets, since operator 1.7: rendering, and their life beside a controller that is played here."""

import copy
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, DISAGGREGATED_SETS, SERVICES
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, GRAPHS, LEADER_WORKER_SETS
from dynamo_webhooks.reconciler.render.names import WORKLOAD_PROVIDER
from tests.reconciler.rendering import component, graph, rendered, vllm
from tests.reconciler.site import NAMESPACE, Site, draft, settings
from tests.rows import run_each

API: Final = {"leaderworkerset.x-k8s.io": frozenset({"v1"}), "disaggregatedset.x-k8s.io": frozenset({"v1"})}
LWS: Final = LEADER_WORKER_SETS
ASKED: Final = {WORKLOAD_PROVIDER: "disaggregatedset"}
OF_VERSION: Final[dict[str, Any]] = {"runtimeVersionOverride": "1.7.0"}  # the version of an image whose tag is none
COUNTS: Final = ("replicas", "readyReplicas", "updatedReplicas")
ROLE, REVISION = "disaggregatedset.x-k8s.io/role", "disaggregatedset.x-k8s.io/revision"


def _worker(name: str, kind: str, nodes: int, replicas: int, **more: Any) -> Node:
    return vllm(name, kind, replicas=replicas, multinode={"nodeCount": nodes}, **OF_VERSION, **more)


def _graph(*workers: Node, name: str = "g") -> Node:
    """E32, or a graph of other workers."""
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1, **OF_VERSION)
    workers = workers or (_worker("prefill", "prefill", 2, 2), _worker("decode", "decode", 4, 3))
    return graph(frontend, *workers, name=name, annotations=ASKED)


def _render(obj: Node, **more: Any) -> tuple[dict[str, list[Node]], list[str]]:
    done = rendered(obj, operator_version="1.7.0", **{"disaggregated": True, **more})
    kinds: dict[str, list[Node]] = {}
    for child in done.children:
        kinds.setdefault(child["kind"], []).append(child)
    return kinds, [str(problem) for problem in done.problems]


def test_workers_on_several_nodes_become_roles_of_one_set_and_the_others_stay_components() -> None:
    """E32."""
    kinds, problems = _render(_graph())
    assert problems == []
    assert [child["spec"]["name"] for child in kinds["DynamoComponentDeployment"]] == ["Frontend"]
    assert [child["metadata"]["name"] for child in kinds["Deployment"]] == ["g-frontend"]
    assert "LeaderWorkerSet" not in kinds
    [made] = kinds["DisaggregatedSet"]
    assert made["apiVersion"] == "disaggregatedset.x-k8s.io/v1"
    assert made["metadata"]["labels"] == {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/selector": "g"}
    [owner] = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("DynamoGraphDeployment", True)
    roles = made["spec"]["roles"]
    shapes = [(role["name"], role["spec"]["replicas"], role["spec"]["leaderWorkerTemplate"]["size"]) for role in roles]
    assert shapes == [("prefill", 2, 2), ("decode", 3, 4)]
    for role in roles:
        assert set(role) == {"name", "spec"}
        spec = role["spec"]
        assert (spec["startupPolicy"], spec["rolloutStrategy"]) == ("LeaderCreated", {"type": "RollingUpdate"})
        assert spec["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupOnPodRestart"
        labels = spec["leaderWorkerTemplate"]["leaderTemplate"]["metadata"]["labels"]
        assert labels["nvidia.com/dynamo-component"] == role["name"]
        assert len(labels["nvidia.com/dynamo-worker-hash"]) == 8


@run_each(
    ("name", "kinds", "expected"),
    [
        (
            "llama-70b-disaggregated-serving-eu-west",
            ["prefill", "decode"],
            ("llama-70b-disaggregate-cc64e6cc", ["prefill", "decode"]),
        ),  # E35
        ("llama-70b-disaggregated-serving", ["decode", "decode"], ("llama-70b-disaggregated-serving", ["decode", "decode-b"])),  # E36
    ],
)
def test_names_leave_room_for_those_of_pods(name: str, kinds: list[str], expected: tuple[str, list[str]]) -> None:
    made, problems = _render(_graph(*(_worker(f"{kind}-{'ab'[place]}", kind, 2, 1) for place, kind in enumerate(kinds)), name=name))
    assert problems == []
    [child] = made["DisaggregatedSet"]
    assert (child["metadata"]["name"], [role["name"] for role in child["spec"]["roles"]]) == expected


def test_roles_of_plain_workers_are_named_by_their_components() -> None:
    """E35a, and names that end up alike."""
    names = ["vllm-decode-worker", "decode-worker-b", "Decode-Worker-B"]
    made, _ = _render(_graph(*(_worker(name, "worker", 2, 1) for name in names)))
    [child] = made["DisaggregatedSet"]
    roles = [role["name"] for role in child["spec"]["roles"]]
    assert roles[:2] == ["vllm-d-aee20435", "decode-worker-b"]
    assert len(roles[2]) == 15
    assert roles[2] not in roles[:2]


@run_each(
    ("workers", "settings", "problem"),
    [
        ([_worker("prefill", "prefill", 2, 2), _worker("decode", "decode", 4, 0)], {}, "spec.components[2].replicas: must be more than 0"),
        ([_worker("decode", "decode", 4, 3), vllm("prefill", "prefill", replicas=1)], {}, "must have 2 to 10 workers on several nodes"),
        ([_worker(f"w{number}", "worker", 2, 1) for number in range(11)], {}, "must have 2 to 10 workers on several nodes"),
        (
            [_worker("prefill", "prefill", 2, 2), _worker("decode", "decode", 4, 3, scalingAdapter={})],
            {},
            "spec.components[2].scalingAdapter: must be unset for a role of a DisaggregatedSet",
        ),
        ([], {"disaggregated": False}, "needs DisaggregatedSets of LeaderWorkerSet 0.9 or newer, which the cluster does not serve"),
        (
            [],
            {"disaggregated": False, "switched_off": frozenset({"lws"})},
            "needs DisaggregatedSets of LeaderWorkerSet 0.9 or newer, which are switched off in the operator",
        ),
    ],
)
def test_a_graph_that_cannot_be_a_set_has_none(workers: list[Node], settings: dict[str, Any], problem: str) -> None:
    """E31, E33, E34, E37."""
    kinds, problems = _render(_graph(*workers), **settings)
    assert "DisaggregatedSet" not in kinds
    assert len(problems) == 1, problems
    assert problem in problems[0]


def test_roles_that_are_all_at_zero_wait_together() -> None:
    kinds, problems = _render(_graph(_worker("a", "prefill", 2, 0), _worker("b", "decode", 2, 0)))
    assert problems == []
    assert [role["spec"]["replicas"] for role in kinds["DisaggregatedSet"][0]["spec"]["roles"]] == [0, 0]


@pytest.mark.parametrize("line", ["1.6.0", "1.7.0"])
def test_the_provider_counts_since_line_1_7(line: str) -> None:
    kinds = {child["kind"] for child in rendered(_graph(), operator_version=line, disaggregated=True, lws=True).children}
    assert ("DisaggregatedSet" in kinds, "LeaderWorkerSet" in kinds) == (line == "1.7.0", line != "1.7.0")


# beside a controller


class Sets:
    """Plays the controller of DisaggregatedSets and that of LeaderWorkerSets: a set of each revision and role."""

    def __init__(self, site: Site) -> None:
        self.site = site

    async def make(self, *, ready: bool = True) -> None:
        """Brings every set to its spec, or only as far as that new revisions begin."""
        for made in (await self.site.all(DISAGGREGATED_SETS)).values():
            roles = made["spec"]["roles"]
            shape = [(role["name"], role["spec"]["leaderWorkerTemplate"]) for role in roles]
            revision = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:8]
            for role in roles:
                await self._run(made, role, revision, ready=ready)
            for old in (await self.site.all(LWS)).values():
                if ready and old["metadata"]["labels"][REVISION] != revision:
                    await self.site.kubelet.delete(LWS, old["metadata"]["name"], NAMESPACE)
        await self.site.rest()

    async def _run(self, made: Node, role: Node, revision: str, *, ready: bool) -> None:
        name = f"{made['metadata']['name']}-{revision}-{role['name']}"
        labels = {"disaggregatedset.x-k8s.io/name": made["metadata"]["name"], ROLE: role["name"], REVISION: revision}
        spec = copy.deepcopy(role["spec"])
        for template in ("leaderTemplate", "workerTemplate"):
            metadata = spec["leaderWorkerTemplate"][template]["metadata"]
            metadata["labels"] = {**metadata["labels"], **labels, "app": "a"}
        if name not in await self.site.all(LWS):
            owner = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": made["metadata"]["name"]}
            reference = {**owner, "uid": made["metadata"]["uid"], "controller": True}
            metadata = {"labels": labels, "ownerReferences": [reference]}
            await self.site.kubelet.create(LWS, draft(LWS, name, metadata, spec=spec), NAMESPACE)
        await self.site.kubelet.merge_patch(LWS, name, {"spec": {"replicas": spec["replicas"]}}, NAMESPACE)
        status = dict.fromkeys(COUNTS, spec["replicas"] if ready else 0)
        await self.site.kubelet.merge_patch(LWS, name, {"status": status}, NAMESPACE)


@asynccontextmanager
async def _running() -> AsyncIterator[tuple[Site, Sets]]:
    """E32 on a cluster that has these sets."""
    site = Site(settings(version="1.7.0")).serve(API)
    async with site.running(_graph()):
        yield site, Sets(site)


async def _revisions(site: Site) -> dict[str, str]:
    """The Services of roles, with the revision that each selects."""
    selectors = {name: obj["spec"].get("selector") or {} for name, obj in (await site.all(SERVICES)).items()}
    return {name: selector[REVISION] for name, selector in selectors.items() if REVISION in selector}


async def _change(site: Site, change: Any) -> None:
    async with site.editing() as obj:
        [decode] = [part for part in obj["spec"]["components"] if part["name"] == "decode"]
        change(decode)


async def test_a_graph_runs_as_a_set_rolls_all_roles_at_once_and_scales_without_a_roll() -> None:
    """E32, E42, E43."""
    async with _running() as (site, sets):
        assert {*await site.all(DISAGGREGATED_SETS)} == {"g"}
        assert {*await site.all(DEPLOYMENTS)} == {"g-frontend"}
        assert await _revisions(site) == {}  # of which nobody knows the name yet
        assert "g/prefill: LeaderWorkerSet not created yet" in (await site.condition())["message"]
        await sets.make(ready=False)
        assert "g/decode: desired=3, replicas=0" in (await site.condition())["message"]
        await sets.make()
        eligible = await site.condition(kind="DisaggregatedSetEligible")
        assert (eligible["status"], eligible["reason"]) == ("True", "Selected")
        status = (await site.graph())["status"]
        assert status["state"] == "successful"
        first = await _revisions(site)
        assert len(first) == 2
        decode = status["components"]["decode"]
        assert decode["componentKind"] == "LeaderWorkerSet"
        assert [decode[name] for name in COUNTS] == [3, 3, 3]
        assert len(decode["componentNames"]) == 1
        assert await site.writes_within(200) == []

        templates = [role["spec"]["leaderWorkerTemplate"] for role in (await site.all(DISAGGREGATED_SETS))["g"]["spec"]["roles"]]
        await _change(site, lambda part: part.update(replicas=5))
        roles = (await site.all(DISAGGREGATED_SETS))["g"]["spec"]["roles"]
        assert [(obj["spec"]["replicas"], obj["spec"]["leaderWorkerTemplate"]) for obj in roles] == [(2, templates[0]), (5, templates[1])]
        assert "g/decode: not scaled yet: desired=5, spec.replicas=3" in (await site.condition())["message"]
        await sets.make()
        assert (await site.condition())["status"] == "True"
        assert await _revisions(site) == first

        await _change(site, lambda part: part["podTemplate"]["spec"]["containers"][0].update(image="img:2"))
        assert await _revisions(site) == first
        await sets.make(ready=False)
        rolling = await _revisions(site)
        assert {name: rolling[name] for name in first} == first  # what serves is reached until all roles of the new one are ready
        assert len(rolling) == 4
        assert (await site.graph())["status"]["components"]["decode"]["updatedReplicas"] == 0
        await sets.make()
        assert {*await _revisions(site)} == {*rolling} - {*first}
        assert (await site.condition())["status"] == "True"


async def test_a_graph_that_cannot_be_a_set_says_so_and_its_workloads_stay() -> None:
    """E33, and an API that goes."""
    async with _running() as (site, sets):
        await sets.make()
        await _change(site, lambda part: part.update(replicas=0))
        condition = await site.condition()
        assert (condition["reason"], (await site.graph())["status"]["state"]) == ("disaggregated_set_intent_unsupported", "failed")
        eligible = await site.condition(kind="DisaggregatedSetEligible")
        assert (eligible["status"], eligible["reason"], eligible["message"]) == ("False", "UnsupportedIntent", condition["message"])
        assert "DisaggregatedSetUnsupported" in await site.reasons()
        assert [role["spec"]["replicas"] for role in (await site.all(DISAGGREGATED_SETS))["g"]["spec"]["roles"]] == [2, 3]
        await _change(site, lambda part: part.update(replicas=3))
        assert (await site.condition())["status"] == "True"
        for each in (site.cluster, site.user, site.kubelet):
            each.served = {name: versions for name, versions in each.served.items() if name != "disaggregatedset.x-k8s.io"}
        await site.later(130)
        assert (await site.condition())["reason"] == "selected_workload_provider_unavailable"


async def test_a_graph_whose_provider_was_removed_is_left_as_it_is() -> None:
    """E47, and E31 before there is a set."""
    site = Site(settings(version="1.7.0"))
    sets = Sets(site)
    async with site.running(_graph()):
        assert (await site.condition())["reason"] == "selected_workload_provider_unavailable"
        assert await site.all(COMPONENTS) == {}
        site.serve(API)
        await site.later(130)
        await sets.make()
        assert (await site.condition())["status"] == "True"
        before = await site.all(DISAGGREGATED_SETS)
        await site.patch(GRAPHS, "g", {"metadata": {"annotations": {WORKLOAD_PROVIDER: None}}})
        message = (await site.condition())["message"]
        assert message.startswith(f'metadata.annotations[{WORKLOAD_PROVIDER}]: must be "disaggregatedset"')
        assert await site.all(DISAGGREGATED_SETS) == before


async def test_a_restart_takes_all_roles_together() -> None:
    async with _running() as (site, sets):
        await sets.make()
        restart = {"id": "again", "strategy": {"type": "Sequential", "order": ["decode", "Frontend", "prefill"]}}
        await site.patch(GRAPHS, "g", {"spec": {"restart": restart}})
        roles = (await site.all(DISAGGREGATED_SETS))["g"]["spec"]["roles"]
        marks = [obj["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["metadata"]["annotations"]["nvidia.com/restartAt"] for obj in roles]
        assert marks == ["again", "again"]
        assert (await site.graph())["status"]["restart"]["inProgress"] == ["decode"]
        await sets.make()
        assert (await site.graph())["status"]["restart"] == {"observedID": "again", "phase": "Completed"}
