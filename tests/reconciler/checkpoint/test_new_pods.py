"""New pods of cold components: the reconciler offers them a snapshot, and the webhook of pods restores them or leaves them as they are."""

import base64
import copy
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.admission import pipeline
from dynamo_webhooks.admission.new_pods import MAX_OFFER_CHARACTERS, MAX_TOTAL_CHARACTERS, OFFER, PATH, NewPods, read_offers
from dynamo_webhooks.admission.new_pods import MAX_OFFERS as MAX_OFFERS_A_NAMESPACE
from dynamo_webhooks.api.operator.features import Pvc
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.kube.errors import ConflictError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import DEPLOYMENTS, PODS
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.checkpoint.restore_condition import FAILURE_KEY, FailedPod
from dynamo_webhooks.reconciler.checkpoint.restoring import MAX_OFFERS, RestoreChoice, decide_offers, write_choices
from dynamo_webhooks.reconciler.common.resources import CHECKPOINTS, COMPONENTS
from dynamo_webhooks.reconciler.render.checkpoint.restore import Restore, format_offer, list_targets, restore_pod
from dynamo_webhooks.reconciler.render.checkpoint.storage import Storage
from dynamo_webhooks.reconciler.render.component import render_component
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.observed import ObservedState
from dynamo_webhooks.reconciler.render.settings import CheckpointSettings, Settings
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.reconciler.checkpoint.objects import DONE, HASH, checkpoint
from tests.reconciler.checkpoint.test_checkpoint import Scene
from tests.reconciler.checkpoint.test_snapshots import NAME, RESTORING, TARGET, _ready, _told, _worker, scene, warm
from tests.reconciler.pod.test_pods import OWNER as CONTROLLER
from tests.reconciler.render.single_fields import COMPONENT, leaves, pair_alone, text_of
from tests.reconciler.rendering import stored
from tests.reconciler.site import NAMESPACE
from tests.rows import run_each

OWNER: Final = ("DynamoComponentDeployment", "g-worker")
OFFERED: Final = format_offer(Restore(HASH, "1", Storage("snaps", "/c"), "p"), ["main"], "img:1", OWNER)
ASKED: Final = CheckpointSettings(pvc=Pvc(pvc_name="snaps", base_path="/c"), seccomp_profile="p")
RESTORE: Final = partial(restore_pod, settings=ASKED)
RESTORE_ON_SITE: Final = partial(restore_pod, settings=CheckpointSettings(pvc=Pvc(pvc_name="snaps", base_path="/c")))
KNOWN: Final = NewPods({"n": {"g-worker": OFFERED}}, RESTORE)


def _pod(image: str = "img:1", **labels: str) -> Node:
    main = {"name": "main", "image": image, "args": ["serve"], "readinessProbe": {"httpGet": {"port": 1}, "initialDelaySeconds": 5}}
    return {"metadata": {"labels": {"nvidia.com/selector": "g-worker", **labels}}, "spec": {"containers": [main]}}


def _review(pod: Any, known: NewPods = KNOWN, operation: str = "CREATE", namespace: Any = "n") -> Node:
    request = {"uid": "u", "operation": operation, "namespace": namespace, "object": pod}
    body = orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    response: Node = orjson.loads(answer(ROUTES[PATH], body, pipeline.Settings(new_pods=known)).body)["response"]
    return response


def _patched(pod: Node, known: NewPods = KNOWN, namespace: str = "n") -> Node:
    """The pod after the webhook."""
    made, response = copy.deepcopy(pod), _review(pod, known, namespace=namespace)
    assert response["allowed"] is True
    for step in orjson.loads(base64.b64decode(response.get("patch", "W10="))):
        part, name = step["path"].split("/")[1:]
        made[part][name] = step["value"]
        assert step["op"] == "add"
    return made


def test_a_new_pod_of_an_offer_is_restored() -> None:
    made = _patched(_pod())
    [main] = made["spec"]["containers"]
    assert (main["command"], "args" in main) == (["sleep", "infinity"], False)
    assert main["startupProbe"] == {"httpGet": {"port": 1}, "periodSeconds": 1, "failureThreshold": 2**31 - 1, "successThreshold": 1}
    assert {volume["name"] for volume in made["spec"]["volumes"]} == {"checkpoint-storage", "snapshot-control", "podinfo"}
    assert made["metadata"]["labels"][TARGET] == "true"
    assert made["metadata"]["annotations"]["nvidia.com/snapshot-artifact-version"] == "1"
    assert _patched(made) == made


@run_each(
    ("pod", "namespace"),
    [
        (_pod(), "other"),
        (_pod(image="img:2"), "n"),
        (_pod(**{"nvidia.com/selector": "g-other"}), "n"),
        (_pod(**{"nvidia.com/snapshot-is-checkpoint-source": "true"}), "n"),
        ({**_pod(), "spec": {"containers": [{"name": "side", "image": "img:1"}]}}, "n"),
        ({"metadata": {}, "spec": {"containers": []}}, "n"),
    ],
)
def test_other_pods_are_left_as_they_are(pod: Node, namespace: str) -> None:
    assert "patch" not in _review(pod, namespace=namespace)
    assert _review(pod, namespace=namespace)["allowed"] is True


def test_only_new_pods_are_changed() -> None:
    assert all("patch" not in _review(_pod(), operation=each) for each in ("UPDATE", "DELETE", "CONNECT", "x"))
    assert "patch" not in _review(_pod(), NewPods({"n": {"g-worker": "damaged"}}, RESTORE))


@run_each(
    ("config", "claim", "path", "configured", "seccomp", "restored"),
    [
        (ASKED, "snaps", "/c", True, "p", True),
        (ASKED, "others", "/c", True, "p", False),
        (ASKED, "snaps", "/usr/bin", True, "p", False),
        (ASKED, "others", "/c", False, "p", False),
        (ASKED, "snaps", "/c", True, "profiles/lax.json", False),
        (ASKED, "snaps", "/c", True, "", False),
        (ASKED, "snaps", "/c", True, None, False),
        (CheckpointSettings(seccomp_profile=""), "of-the-agent", "/c", False, "", True),
        (CheckpointSettings(seccomp_profile=""), "of-the-agent", "/c", True, "", False),
        (CheckpointSettings(seccomp_profile=""), "of-the-agent", "/c", False, "p", False),
    ],
)
def test_an_offer_gives_no_pod_more_than_the_configuration_says(
    config: CheckpointSettings, claim: str, path: str, configured: bool, seccomp: Any, restored: bool
) -> None:
    offer = format_offer(Restore(HASH, "1", Storage(claim, path, configured), seccomp), ["main"], "img:1", OWNER)
    response = _review(_pod(), NewPods({"n": {"g-worker": offer}}, partial(restore_pod, settings=config)))
    assert (response["allowed"], "patch" in response) == (True, restored)


@run_each(
    ("old", "new"),
    [
        (f'"{HASH}"', "{}"),
        (f'"{HASH}"', '"' + "h" * 64 + '"'),
        ('"1"', "[]"),
        ('"1"', "7"),
        ('"1"', '"../.."'),
        ('["main"]', "[]"),
        ('["main"]', '["main","main"]'),
        ('["main"]', "{}"),
    ],
)
def test_an_offer_makes_no_pod_that_the_api_server_would_refuse(old: str, new: str) -> None:
    assert OFFERED.count(old) == 1
    response = _review(_pod(), NewPods({"n": {"g-worker": OFFERED.replace(old, new)}}, RESTORE))
    assert (response["allowed"], "patch" in response) == (True, False)


_JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda more: st.lists(more, max_size=3) | st.dictionaries(st.sampled_from(["name", "image", "containers", "labels"]), more, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(_JSON, _JSON, st.sampled_from(["", "{}", OFFERED, '{"restore":[1,2,3,4],"targets":5,"image":""}']), _JSON)
def test_no_pod_is_refused(metadata: Any, spec: Any, offer: str, whole: Any) -> None:
    known = NewPods({"n": {"g-worker": offer}}, RESTORE)
    labelled = {**metadata, "labels": {"nvidia.com/selector": "g-worker"}} if isinstance(metadata, dict) else metadata
    for pod in (whole, {"metadata": labelled, "spec": spec}, {"metadata": labelled, "spec": {"containers": spec}}):
        response = _review(pod, known)
        assert (response["uid"], response["allowed"]) == ("u", True)
    assert _review(_pod(), known, namespace=whole)["allowed"] is True


def _offering(name: str, text: str, phase: str = "Ready") -> Node:
    metadata = {"name": name, "namespace": "n", "annotations": {OFFER + "g-worker": text, "else": "x"}}
    return {"metadata": metadata, "status": {"phase": phase}}


def test_offers_count_where_the_checkpoint_is_ready_and_alone() -> None:
    assert read_offers([_offering("a", "1"), _offering("b", "1")]) == {"n": {"g-worker": "1"}}
    assert read_offers([_offering("a", "1"), _offering("b", "2")]) == {}
    assert read_offers([_offering("a", "1", "Creating"), {"metadata": {"name": "c", "namespace": "n"}}]) == {}


def test_hostile_annotations_are_passed_over_within_bounds() -> None:
    assert read_offers([_offering("a", "x" * MAX_OFFER_CHARACTERS)]) != {}
    assert read_offers([_offering("a", "x" * (MAX_OFFER_CHARACTERS + 1)), _offering("b", "\x00"), _offering("c", "\u00e4")]) == {}
    many = {f"{OFFER}{number}": "x" for number in range(MAX_OFFERS_A_NAMESPACE + 1)}
    flood = [{"metadata": {"namespace": "flood", "annotations": many}, "status": {"phase": "Ready"}}]
    assert read_offers([*flood, _offering("a", OFFERED)]) == {"n": {"g-worker": OFFERED}}
    long = {f"{OFFER}{number}": "x" * MAX_OFFER_CHARACTERS for number in range(MAX_OFFERS_A_NAMESPACE)}
    floods = [{"metadata": {"namespace": f"f{number}", "annotations": long}, "status": {"phase": "Ready"}} for number in range(4)]
    by_namespace = read_offers([*floods, _offering("a", OFFERED)])
    assert by_namespace["n"] == {"g-worker": OFFERED}
    assert sum(len(text) for offers in by_namespace.values() for text in offers.values()) <= MAX_TOTAL_CHARACTERS


def test_an_offer_is_written_once_and_withdrawn_with_those_of_objects_that_are_gone() -> None:
    gone, kept = format_offer(Restore("h", "1", Storage("c", "/c"), ""), ["main"], "", ("DynamoComponentDeployment", "gone")), OFFERED
    obj = {"metadata": {"annotations": {OFFER + "gone": gone, OFFER + "g-worker": kept, OFFER + "odd": "x", "else": "y"}}}

    def exists(_kind: str, name: str) -> bool:
        return name == "g-worker"

    assert decide_offers(obj, {OFFER + "g-worker": kept, OFFER + "new": ""}, exists) == {}
    dead = {OFFER + "gone": None, OFFER + "odd": None}
    assert decide_offers(obj, {OFFER + "g-worker": ""}, exists) == {OFFER + "g-worker": None, **dead}
    assert decide_offers(obj, {OFFER + "new": kept}, exists) == {OFFER + "new": kept, **dead}
    full = {"metadata": {"annotations": {f"{OFFER}{number}": kept for number in range(MAX_OFFERS)}}}
    assert decide_offers(full, {OFFER + "new": kept}, exists) == {}
    assert decide_offers(full, {OFFER + "0": "", OFFER + "new": kept}, exists) == {OFFER + "0": None, OFFER + "new": kept}


async def _offers(site: Scene) -> dict[str, dict[str, str]]:
    return read_offers((await site.all(CHECKPOINTS)).values())


async def test_a_cold_component_is_offered_the_snapshot_that_its_template_would_take() -> None:
    async with scene(warm()) as site:
        assert await _offers(site) == {}
        await _ready(site)
        assert await _told(site) == ("False", "RestoreAvailable")
        worker = await _worker(site)
        known = NewPods(await _offers(site), RESTORE_ON_SITE)
        assert [*known.offers[NAMESPACE]] == [worker["metadata"]["name"]]
        made = _patched(copy.deepcopy(worker["spec"]["template"]), known, NAMESPACE)
        await site.later(200)
        assert await _offers(site) == known.offers
        obj = (await site.graph())["spec"]["components"][1]
        await site.edit("g", 1, podTemplate={**obj["podTemplate"], "metadata": {"annotations": {"note": "1"}}}, seconds=20)
        taken = await _worker(site)
        template, generation = taken["spec"]["template"], "nvidia.com/dynamo-worker-hash"
        old, new = (pod["metadata"]["labels"][generation].encode() for pod in (made, template))
        assert orjson.loads(orjson.dumps(made["spec"]).replace(old, new)) == template["spec"]
        assert taken["metadata"]["name"] not in (await _offers(site)).get(NAMESPACE, {}), "the template has it now"


async def test_without_the_permission_to_offer_a_component_runs_as_before() -> None:
    made = {**checkpoint("ck"), "status": {"phase": "Creating", "jobName": ""}}
    more = RESTORING + "controllers: {checkpoints: off}\n"
    async with scene(warm(checkpointRef="ck"), more, made) as site:
        site.cluster.denied.add(("patch", "dynamocheckpoints"))
        await site.report(CHECKPOINTS, "ck", {"phase": "Ready"}, 5)
        assert await _told(site) == ("False", "RestoreAvailable")
        assert await _offers(site) == {}
        assert (await site.graph())["status"]["state"] == "successful"


async def test_the_first_new_pod_that_fails_is_replaced_and_ends_the_offer() -> None:
    async with scene(warm()) as site:
        await _ready(site)
        worker = await _worker(site)
        made = _patched(copy.deepcopy(worker["spec"]["template"]), NewPods(await _offers(site), RESTORE_ON_SITE), NAMESPACE)
        made["metadata"] |= {"name": "p", "namespace": NAMESPACE, "ownerReferences": [{**CONTROLLER, "uid": worker["metadata"]["uid"]}]}
        made["metadata"]["annotations"]["nvidia.com/snapshot-restore-status.main"] = "failed"
        site.held[worker["metadata"]["name"]] = 1
        await site.edit("g", 1, replicas=3, seconds=2)
        await site.create(PODS, {"apiVersion": "v1", "kind": "Pod", **made}, 65)
        assert [*await site.all(PODS)] == []
        assert "PodReplaced" in await site.reasons()
        assert await _offers(site) == {}
        assert await _told(site) == ("False", "RestoreFailed")
        workers = [obj for name, obj in (await site.all(COMPONENTS)).items() if "worker" in name]
        assert FAILURE_KEY in workers[0]["metadata"]["annotations"]
        assert TARGET not in (await site.all(DEPLOYMENTS))[worker["metadata"]["name"]]["spec"]["template"]["metadata"]["labels"]


async def test_a_pod_that_took_the_name_of_a_failed_one_stays() -> None:
    deleted, events = list[tuple[str, str]](), list[str]()

    async def delete(_resource: object, name: str, _namespace: str, *, uid: str) -> bool:
        deleted.append((name, uid))
        raise ConflictError(409, "Conflict", "another uid")

    async def record_event(_obj: Node, _type: str, reason: str, _message: str) -> None:
        events.append(reason)

    writer = SimpleNamespace(check_may_write=lambda _obj: None)
    context: Any = SimpleNamespace(cluster=SimpleNamespace(delete=delete), writer=writer, record_event=record_event)
    component = {"metadata": {"name": "c", "namespace": NAMESPACE}, "kind": "x"}
    await write_choices(context, component, [RestoreChoice(failed_pods=[FailedPod("w-0", "main", "old")])])
    assert (deleted, events) == ([("w-0", "old")], [])


async def test_a_checkpoint_that_goes_takes_its_offers_with_it() -> None:
    async with scene(warm(), RESTORING, DONE) as site:
        await _ready(site)
        assert await _offers(site) != {}
        await site.delete(CHECKPOINTS, NAME, 5)
        assert await _offers(site) == {}


VERSION: Final = "1.5.0"
CONFIGURED: Final = CheckpointSettings(enabled=True, gate=True, pvc=Pvc(pvc_name="snaps", base_path="/snaps"), seccomp_profile="p")
LINE_1_5: Final = Settings(operator_version=VERSION, lws=True, checkpoints=CONFIGURED)
SNAPSHOT: Final = Restore("0123456789abcdef", "1", Storage("snaps", "/snaps"), "p")


def _template(obj: dict[str, Any], observed: ObservedState) -> dict[str, Any] | None:
    """The pod template of the component's Deployment; None for another workload, and for one that can't be restored."""
    try:
        made = render_component(stored(copy.deepcopy(obj), VERSION, grove=False, lws=True), LINE_1_5, observed)[0]
    except RenderError:
        return None
    template: dict[str, Any] | None = made["spec"]["template"] if made["kind"] == "Deployment" else None
    return template


def test_a_new_pod_is_restored_as_the_template_would_be() -> None:
    schema = resolve(load_schema(COMPONENT, "v1beta1", Facts(operatorVersion=VERSION).line))["properties"]["spec"]
    restored = 0
    for path, _ in leaves(schema):
        _, obj = pair_alone("v1beta1", path, schema)
        cold = _template(obj, ObservedState())
        if cold is None:
            continue
        offer = format_offer(SNAPSHOT, list_targets(obj["spec"]), "", (COMPONENT, "g-worker"))
        pod = restore_pod(copy.deepcopy(cold), offer, CONFIGURED)
        assert pod == _template(obj, ObservedState(restores={"g-worker": SNAPSHOT})), text_of(path)
        restored += pod is not None
    assert restored > 100
