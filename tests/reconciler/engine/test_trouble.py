"""What goes wrong around the loop: others' hands on our children, others' objects, permissions, kinds, the API server, bad objects."""

import copy
from typing import Any

import pytest

from dynamo_webhooks.kube.errors import ForbiddenError, InvalidError, NotFoundError, NotServedError, UnavailableError, error_of_status
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, ROLES, SERVICES, Resource
from dynamo_webhooks.reconciler.common.problems import MAX_LEVELS, NameTakenError, cut_nested, explain_cut
from dynamo_webhooks.reconciler.common.resources import ADAPTERS, CHECKPOINTS, COMPONENTS, GRAPHS, MODELS, REQUESTS
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.engine.write import Writer
from tests.reconciler.rendering import component, graph, vllm
from tests.reconciler.site import NAMESPACE, Site, disagg, draft, running
from tests.rows import run_each


async def _scale(site: Site, replicas: int) -> None:
    """A user's hand on a Deployment of ours."""
    await site.user.merge_patch(DEPLOYMENTS, "g-frontend", {"spec": {"replicas": replicas}}, NAMESPACE)


async def _replicas(site: Site) -> int:
    return int((await site.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"])


async def test_a_hand_on_a_child_is_undone_and_said_but_not_for_ever() -> None:
    async with running(disagg()) as site:
        for _ in range(3):
            await _scale(site, 5)
            await site.rest()
            assert await _replicas(site) == 1
        assert (
            "g-frontend",
            "DriftRepaired",
            "Deployment g-frontend was changed by kubectl, and is again as rendered",
        ) in await site.events()
        await _scale(site, 5)
        await site.rest()
        assert await _replicas(site) == 5
        assert len([write for write in await site.writes_within(200) if write[1] == "deployments"]) < 6  # looked at, not fought over
        conditions = (await site.all(COMPONENTS))["g-frontend"]["status"]["conditions"]
        assert "is changed again and again by kubectl" in conditions[0]["message"]
        assert (await site.graph())["status"]["state"] == "failed"
        assert "is changed again and again by kubectl" in (await site.condition())["message"]
        await site.later(700)
        assert await _replicas(site) == 1


async def test_what_others_add_to_a_child_stays_and_a_forgotten_history_is_listed_anew() -> None:
    async with running(disagg()) as site:
        patch: Any = {"metadata": {"annotations": {"example.com/theirs": "yes"}}}
        await site.user.merge_patch(DEPLOYMENTS, "g-frontend", patch, NAMESPACE)
        await site.edit("g", 0, rest=False, replicas=3)
        await site.cluster.forget()
        await site.later(10)
        deployment = (await site.all(DEPLOYMENTS))["g-frontend"]
        assert deployment["spec"]["replicas"] == 3
        assert deployment["metadata"]["annotations"]["example.com/theirs"] == "yes"


@run_each("marks", [{}, {"annotations": {"webhooks.nvidia.com/applied-hash": "0123456789abcdef"}}])
async def test_somebody_elses_object_of_the_same_name_is_left_alone_and_named(marks: Node) -> None:
    async with running() as site:
        await site.user.create(SERVICES, draft(SERVICES, "g-frontend", marks, spec={"selector": {"a": "b"}}), NAMESPACE)
        await site.make(disagg())
        assert (await site.all(SERVICES))["g-frontend"]["spec"] == {"selector": {"a": "b"}}
        assert "Service g-frontend was created by another client, and is left alone" in (await site.condition())["message"]
        assert len(await site.all(DEPLOYMENTS)) == 3  # all else is there
        await site.delete(SERVICES, "g-frontend", 61)
        assert (await site.condition())["status"] == "True"


async def test_what_anybody_made_for_an_earlier_graph_of_the_same_name_is_replaced() -> None:
    """The garbage collector would delete it, too."""
    async with running() as site:
        owner = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "earlier", "controller": True}
        name = "g-k8s-service-discovery-role"
        before = await site.user.create(ROLES, draft(ROLES, name, {"ownerReferences": [owner]}, rules=[]), NAMESPACE)
        await site.make(disagg())
        assert (await site.all(ROLES))[name]["metadata"]["uid"] != before["metadata"]["uid"]
        assert (await site.condition())["status"] == "True"


async def test_what_the_garbage_collector_missed_of_an_earlier_component_is_replaced() -> None:
    async with running() as site:
        await site.make(disagg())
        before = await site.all(DEPLOYMENTS)
        earlier = [{**before["g-frontend"]["metadata"]["ownerReferences"][0], "uid": "earlier"}]
        await site.kubelet.merge_patch(DEPLOYMENTS, "g-frontend", {"metadata": {"ownerReferences": earlier}}, NAMESPACE)
        for _ in range(40):
            await site.timing.advance(0.25)
        after = await site.all(DEPLOYMENTS)
        assert {name for name, obj in after.items() if obj["metadata"]["uid"] != before[name]["metadata"]["uid"]} == {"g-frontend"}
        assert after["g-frontend"]["metadata"]["ownerReferences"] == before["g-frontend"]["metadata"]["ownerReferences"]
        await site.rest()
        assert (await site.condition())["status"] == "True"


async def test_a_namesake_of_another_group_is_no_earlier_owner_and_an_older_view_replaces_nothing() -> None:
    async with running() as site:
        await site.make(disagg())
        owner = (await site.all(COMPONENTS))["g-frontend"]
        theirs = {"apiVersion": "example.com/v1", "kind": owner["kind"], "name": "g-frontend", "uid": "theirs", "controller": True}
        made = await site.user.create(SERVICES, draft(SERVICES, "other", {"ownerReferences": [theirs]}), NAMESPACE)
        writer = Writer(site.cluster, Cache(site.cluster, lambda _: None), lambda _: True)
        assert not await writer.drop_left_behind(made, owner)
        assert "other" in await site.all(SERVICES)
        child, stale = (await site.all(DEPLOYMENTS))["g-frontend"], copy.deepcopy(owner)
        stale["metadata"]["uid"] = "earlier"
        with pytest.raises(NameTakenError, match="belongs to DynamoComponentDeployment g-frontend"):
            await writer.put(draft(DEPLOYMENTS, "g-frontend", {"namespace": NAMESPACE}), stale)
        assert (await site.all(DEPLOYMENTS))["g-frontend"] == child


@run_each(("verb", "plural"), [("create", "roles"), ("patch", "deployments"), ("patch", "services")])
async def test_a_missing_permission_is_named_and_its_grant_is_noticed(verb: str, plural: str) -> None:
    async with running() as site:
        site.cluster.denied.add((verb, plural))
        await site.make(disagg())
        message = (await site.condition())["message"]
        assert "lacks a permission" in message
        assert f"cannot {verb} {plural}" in message
        assert (await site.graph())["status"]["state"] == "failed"
        assert ("g", "FailedToReconcileTheResources") in [(name, reason) for name, reason, _ in await site.events()]
        site.cluster.denied.clear()
        await site.later(61)
        assert (await site.condition())["status"] == "True"


async def test_a_kind_that_is_not_served_is_named_and_the_rest_is_made() -> None:
    async with running() as site:
        error = NotServedError(404, "NotFound", "the server could not find the requested resource")
        site.cluster.fail(lambda _, resource, *__: error if resource == SERVICES else None)
        await site.make(disagg())
        assert "the cluster does not serve this kind" in (await site.condition())["message"]
        assert len(await site.all(DEPLOYMENTS)) == 3


async def test_an_object_that_was_deleted_meanwhile_is_not_taken_for_a_kind_that_is_not_served(caplog: pytest.LogCaptureFixture) -> None:
    async with running(disagg()) as site:
        error = NotFoundError(404, "NotFound", 'dynamographdeployments.nvidia.com "g" not found')
        mend = site.refuse(error, "merge_patch", GRAPHS)
        caplog.clear()
        await site.edit("g", 0, rest=False, replicas=3)
        await site.timing.advance(1)
        assert "was deleted meanwhile" in caplog.text
        assert "does not serve" not in caplog.text
        mend()
        await site.rest()


async def test_an_object_that_admission_would_refuse_is_told_why_and_others_run() -> None:
    async with running() as site:
        bad = graph(vllm("w", "worker", replicas=-1), vllm("w", "worker"), name="bad")
        odd = disagg("odd")
        odd["spec"]["components"][0]["podTemplate"] = "none"
        await site.make(bad, odd, disagg())
        condition = await site.condition("bad")
        assert (condition["status"], condition["reason"]) == ("False", "refused_by_validation")
        assert "spec.components" in condition["message"] or "spec.services" in condition["message"]
        assert (await site.graph("bad"))["status"]["state"] == "failed"
        assert any(name == "bad" and reason == "ValidationFailed" for name, reason, _ in await site.events())
        assert (await site.condition())["status"] == "True"
        assert "podTemplate" in (await site.condition("odd"))["message"]
        assert not any(name.startswith(("bad", "odd")) for name in await site.all(COMPONENTS))


async def test_what_runs_keeps_the_mistakes_that_it_has_and_gets_no_others() -> None:
    """As in an update: a rule that is new, or a webhook that was not there, stops nothing that runs."""
    async with running(disagg()) as site:
        await site.stop()
        async with site.editing(rest=False) as obj:
            obj["spec"]["components"][1]["podTemplate"]["spec"]["tolerations"] = [{"operator": "In"}]
        site.start()
        await site.rest()
        assert (await site.condition())["reason"] != "refused_by_validation"
        await site.edit("g", 0, replicas=3)
        assert (await site.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"] == 3
        async with site.editing() as obj:
            obj["spec"]["components"][2]["podTemplate"]["spec"]["tolerations"] = [{"operator": "In"}]
        condition = await site.condition()
        assert condition["reason"] == "refused_by_validation"
        assert "components[2]" in condition["message"]
        assert "components[1]" not in condition["message"]


async def test_what_can_not_be_rendered_prunes_nothing() -> None:
    async with running(disagg()) as site:
        before = set(await site.all(DEPLOYMENTS))
        main = {"image": "img:1", "command": ["python3", "-m", "dynamo.vllm"]}
        worse = component("decode", "decode", main, replicas=2, compilationCache={"pvcName": "c"})
        async with site.editing() as obj:
            obj["spec"]["components"] = [worse, component("prefill", "prefill", {**main, "command": ["python3", "-m", "dynamo.sglang"]})]
        assert (await site.graph())["status"]["state"] == "failed"
        assert before <= set(await site.all(DEPLOYMENTS))


async def test_an_api_server_that_was_away_is_caught_up_with() -> None:
    async with running(disagg()) as site:
        back = site.cluster.fail(lambda *_: UnavailableError(503, "", "away"))
        await site.cluster.break_watches()
        await site.edit("g", 0, rest=False, replicas=3)
        await site.make(disagg("h"))
        for _ in range(100):
            await site.timing.advance(0.5)
        assert "h-frontend" not in await site.all(COMPONENTS)
        back()
        await site.later(60)
        assert (await site.all(DEPLOYMENTS))["g-frontend"]["spec"]["replicas"] == 3
        assert (await site.graph("h"))["status"]["state"] == "successful"


async def test_a_child_that_admission_refuses_is_told_in_its_words() -> None:
    async with running() as site:
        error = ForbiddenError(403, "Forbidden", 'admission webhook "policy.example.com" denied the request: no')
        site.refuse(error, "apply", DEPLOYMENTS, "g-frontend")
        await site.make(disagg())
        message = (await site.condition())["message"]
        assert 'Deployment g-frontend: admission webhook "policy.example.com" denied the request: no' in message
        assert "permission" not in message


async def test_an_annotation_that_makes_a_running_graph_refusable_is_told_and_what_runs_stays() -> None:
    async with running(disagg()) as site:
        await site.patch(GRAPHS, "g", {"metadata": {"annotations": {"nvidia.com/dynamo-kube-discovery-mode": "both"}}})
        assert (await site.condition())["reason"] == "refused_by_validation"
        assert len(await site.all(DEPLOYMENTS)) == 3
        assert (await site.graph())["status"]["components"]["decode"]["readyReplicas"] == 2
        async with site.editing() as obj:
            obj["metadata"]["annotations"] = {}
        assert (await site.condition())["status"] == "True"


@run_each("code", [500, 413])
@run_each("resource", [SERVICES, COMPONENTS])
async def test_a_call_that_fails_again_and_again_is_told_of(resource: Resource, code: int) -> None:
    words = 'failed calling webhook "policy.example.com"'
    async with running(disagg()) as site:
        mend = site.refuse(error_of_status(code, "", words), "apply", resource, "g-frontend")
        spec = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "img:2"}]}}
        await site.edit("g", 0, rest=False, replicas=3, podTemplate=spec)
        await site.timing.advance(1)
        assert words not in (await site.condition())["message"]  # a few attempts are no news
        await site.later(30)
        assert (await site.graph())["status"]["state"] == "failed"
        assert words in (await site.condition())["message"]
        assert {verb for verb, _, _ in await site.writes_within(300)} == {"apply"}  # told of once
        mend()
        await site.later(130)
        assert (await site.graph())["status"]["state"] == "successful"


async def test_a_status_that_somebody_else_writes_is_mended_within_a_minute_and_not_fought_over() -> None:
    async with running(disagg()) as site:
        theirs: Any = {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "x", "message": ""}], "state": "failed"}}

        async def overwrite() -> None:
            for resource, name in ((GRAPHS, "g"), (COMPONENTS, "g-frontend")):
                await site.user.merge_patch(resource, name, theirs, NAMESPACE, subresource="status")

        await overwrite()
        await site.later(62)
        assert ((await site.condition())["status"], (await site.graph())["status"]["state"]) == ("True", "successful")
        assert {entry["type"] for entry in (await site.all(COMPONENTS))["g-frontend"]["status"]["conditions"]} >= {"Odd", "Available"}
        before = len(site.cluster.writes)
        for _ in range(240):
            await overwrite()
            await site.timing.advance(0.5)
        assert len([write for write in site.cluster.writes[before:] if write[1] not in ("leases", "events")]) < 15


async def test_a_finalizer_that_could_not_be_taken_off_at_once_is_tried_again_at_once() -> None:
    async with running() as site:
        made = disagg()
        made["metadata"]["finalizers"] = ["example.com/other", "nvidia.com/finalizer"]
        await site.make(made)
        shifted = [InvalidError(422, "Invalid", "testing value /metadata/finalizers/0 failed")]
        site.cluster.fail(lambda verb, *_: shifted.pop() if verb == "json_patch" and shifted else None)
        await site.delete(GRAPHS, "g", 3)
        assert shifted == []
        async with site.editing() as left:
            assert left["metadata"]["finalizers"] == ["example.com/other"]
            left["metadata"]["finalizers"] = []
        assert await site.all(DEPLOYMENTS) == {}


@run_each("resource", [ADAPTERS, COMPONENTS, GRAPHS, MODELS, CHECKPOINTS, REQUESTS])
async def test_an_object_without_a_spec_which_schemas_admit_is_no_internal_error(
    resource: Resource, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(more="controllers: {models: on, checkpoints: on, requests: on}\n") as site:
        await site.user.create(resource, draft(resource, "g-decode"), NAMESPACE)
        graph_of_it = disagg()
        graph_of_it["spec"]["components"][1]["scalingAdapter"] = {}
        await site.make(graph_of_it)
        await site.later(150)
        assert [record.getMessage() for record in caplog.records if record.exc_info] == []
        assert not any(site.reconciler.meters.panics.values())
        if resource in (ADAPTERS, GRAPHS):
            assert [message for name, _, message in await site.events() if name == "g-decode" and "spec" in message]


def _nested(levels: int, inner: Any = 1) -> Any:
    """Maps and lists in turn, so many within one another."""
    for number in range(levels):
        inner = {"x": inner, "y": [1]} if number % 2 else [inner]
    return inner


@run_each("spec", [*map(_nested, (0, 1, MAX_LEVELS)), None, {}, [], "text", {"a": None, "b": [[], {}]}])
def test_what_is_not_deep_stays(spec: Any) -> None:
    obj: dict[str, Any]
    for obj in ({"spec": spec}, {"metadata": {}}):
        before: dict[str, Any] = copy.deepcopy(obj)
        cut_nested(obj)
        assert (obj, explain_cut(obj)) == (before, "")


@run_each("levels", [MAX_LEVELS + 1, 100_000])
def test_what_is_deeper_loses_its_spec(levels: int) -> None:
    obj: Node = {"kind": "K", "spec": _nested(levels)}
    cut_nested(obj)
    assert obj["spec"] == {}
    assert explain_cut(obj) == "spec: must be nested at most 200 levels deep; flatten the deepest part"
    cut_nested(obj)
    assert explain_cut(obj) != ""
