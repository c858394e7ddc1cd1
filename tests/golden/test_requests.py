"""The recorded passes over DynamoGraphDeploymentRequests: status, Job and graph are those of the Go operator, or listed with a reason."""

import copy
import json
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.render.kinds import OperatorSettings, render_children
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.kube.errors import UnavailableError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import CONFIG_MAPS, JOBS, ROLE_BINDINGS, SERVICE_ACCOUNTS
from dynamo_webhooks.reconciler.common.resources import GRAPHS, GRAPHS_ALPHA, REQUESTS
from dynamo_webhooks.reconciler.component.controller import ComponentController
from dynamo_webhooks.reconciler.graph.controller import GraphController
from dynamo_webhooks.reconciler.render.children import RenderedChildren
from dynamo_webhooks.reconciler.render.object_index import ObjectIndex
from dynamo_webhooks.reconciler.render.settings import Settings
from dynamo_webhooks.reconciler.request import reconcile
from dynamo_webhooks.reconciler.request.controller import RequestController
from dynamo_webhooks.reconciler.request.names import COPIER, EXTRA, JOB_NAME, MANAGED, OPERATOR, OURS, SPEC, account_of
from dynamo_webhooks.reconciler.request.phases import CHANGED, SUCCEEDED
from tests.golden.corpus import cases, compare, compare_render
from tests.golden.differences import check
from tests.golden.playing import limit, store
from tests.reconciler.request.test_request import FakeExporters
from tests.reconciler.site import Site, settings

CASES: Final = {case["id"]: case for kind in ("request-step", "profiling-job") for case in cases("controllers.ndjson.gz", kind)}
PROFILED: Final = [name for name, case in CASES.items() if case["kind"] == "profiling-job"]
_MADE: Final = (CONFIG_MAPS, JOBS, ROLE_BINDINGS, SERVICE_ACCOUNTS, GRAPHS, GRAPHS_ALPHA)
_RIGHTS: Final = ("ServiceAccount", "Role", "RoleBinding")  # ours to choose: compared by what the Job's pods need of them
_FIELDS: Final = ("phase", "dgdName", "profilingJobName", "profilingPhase", "deploymentInfo")
_DEADLINE: Final = 86_400


async def test_recorded_passes() -> None:
    differences = {}
    for name, case in CASES.items():
        with pytest.MonkeyPatch.context() as patch:
            differences[name] = await _passed(as_we_read_products(case), patch)
    check(differences)


async def _passed(case: Node, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    site = Site(settings(_lines(case)))
    before = await _set_up(site, case)
    passes = case.get("flags", {}).get("passes", 1)
    monkeypatch.setattr(reconcile, "MAX_PHASES", 1)
    limit(monkeypatch, RequestController, passes, _waits if case["kind"] == "profiling-job" else lambda _: True)
    for controller in (GraphController, ComponentController):
        limit(monkeypatch, controller, 0, lambda _: False)
    if message := case.get("flags", {}).get("createError"):
        error = UnavailableError(500, "", message)
        site.cluster.fail(lambda verb, what, *_: error if verb in ("create", "apply") and what in _MADE else None)
    site.callers = {"controllers": [RequestController(FakeExporters)]}
    site.start()
    try:
        await site.later(5 if passes == 1 else 40)
        return _differences(case, await site.get(REQUESTS, case["object"]["metadata"]["name"]), _new(site, before))
    finally:
        await site.stop()


def rendered_of(case: Node) -> RenderedChildren:
    """What is rendered of a recorded request."""
    how = settings(_lines(case))
    return render_children(_beta(case["object"]), ObjectIndex(case.get("others", ())), OperatorSettings(Settings(), lambda: how))


def as_we_read_products(case: Node) -> Node:
    """What is expected where memory of the sort that only boards have says that a GPU is no card."""
    products = {node["metadata"].get("labels", {}).get("nvidia.com/gpu.product", "") for node in case.get("others", ())}
    if not any("HBM3" in product and "MIG" not in product for product in products):
        return case
    expected = json.dumps({name: case[name] for name in ("expect", "outcome")}).replace("h100_pcie", "h100_sxm")
    return {**case, **json.loads(expected)}


def _lines(case: Node) -> str:
    """The configuration of a case, which writes GPUs into the spec as the Go operator does."""
    more = {**(case.get("config") or {}), "controllers": {"requests": "on"}}
    more["requests"] = {"copierImage": "dynamo-webhooks:1", "writeHardware": True}
    return str(yaml.safe_dump(more))


def _waits(obj: Node) -> bool:
    """Whether a request has no Job yet."""
    return (obj.get("status") or {}).get("phase") in (None, "Pending")


async def _set_up(site: Site, case: Node) -> set[Any]:
    for obj in (*case.get("others", ()), case["object"]):
        made = _beta(obj) if obj["kind"] in (GRAPHS.kind, REQUESTS.kind) else obj
        if obj["kind"] == "Job":  # the recorded operator gives its own these labels
            made = {**obj, "metadata": {**obj["metadata"], "labels": {JOB_NAME: "req", MANAGED: OPERATOR}}}
        await store(site, made)
    return {(key, json.dumps(record.obj, sort_keys=True)) for key, record in site.storage.records.items()}


def _beta(obj: Node) -> Node:
    """An object as it is stored; what v1alpha1 leaves to its schema's defaults is there."""
    if obj["apiVersion"].endswith("v1beta1"):
        return obj
    whole = {**obj, "spec": {"autoApply": False, **obj["spec"]}} if obj["kind"] == REQUESTS.kind else obj
    return convert_object(whole, target("nvidia.com/v1beta1", line=Line.V1_2)).object


def _new(site: Site, before: set[Any]) -> list[Node]:
    """What was made or changed beside the request."""
    out = []
    for key, record in site.storage.records.items():
        if (key, json.dumps(record.obj, sort_keys=True)) not in before and key[1] not in ("leases", "events", REQUESTS.plural):
            out.append(record.obj)
    return out


def _differences(case: Node, request: Node, made: list[Node]) -> list[str]:
    """What isn't as recorded."""
    name = case["object"]["metadata"]["name"]
    expected = case["outcome"]
    out = _status_differences(expected.get("status", {}), request.get("status", {}))
    after = expected.get("after", {})
    if compare().normalise(after.get("spec", {})) != compare().normalise(request["spec"]):
        out.append(f"spec: {request['spec']}")
    theirs, ours = (_notes(annotations) for annotations in (after.get("annotations") or {}, request["metadata"].get("annotations") or {}))
    if theirs != ours:
        out.append(f"annotations: {ours}")
    want = [plain(child, case) for child in case["expect"] if child["kind"] not in _RIGHTS]
    have = [plain(child, case) for child in made if child["kind"] not in _RIGHTS and child["metadata"]["name"] != f"dgdr-output-{name}"]
    if any(child["kind"] == "Job" for child in have):
        kinds = {child["kind"] for child in made if child["metadata"]["name"] == account_of(name)}
        out += [] if {"Role", "RoleBinding"} <= kinds else [f"rights: {kinds}"]
    theirs_render = compare_render()
    return [*out, *compare().diff(theirs_render.tidy(have, None), theirs_render.tidy(want, None))]


def _status_differences(expected: Node, actual: Node) -> list[str]:
    out = []
    theirs = {condition["type"]: (condition["status"], condition["reason"]) for condition in expected.get("conditions", ())}
    ours = {condition["type"]: (condition["status"], condition["reason"]) for condition in actual.get("conditions", ())}
    for more in (SUCCEEDED, CHANGED):  # the first is always written here
        if more not in theirs:
            ours.pop(more, None)
    if theirs != ours:
        out.append(f"conditions: {ours}")
    results, have = ({**status.get("profilingResults", {})} for status in (expected, actual))
    results.get("selectedConfig", {}).pop("status", None)
    if compare().normalise(results) != compare().normalise(have):
        out.append(f"results: {have}")
    return out + [f"{name}: {actual.get(name)}" for name in _FIELDS if expected.get(name) != actual.get(name)]


def _notes(annotations: Node) -> Node:
    """Annotations that both operators write, as data."""
    out: dict[str, Any] = {}
    for name, text in annotations.items():
        if name in (SPEC, EXTRA):
            out[name] = [document for document in yaml.safe_load_all(text) if document]
            for obj in out[name]:
                obj.pop("status", None)
        elif not name.startswith((OURS, "nvidia.com/dgdr-")):  # the latter are conversion's
            out[name] = text
    return out


def plain(obj: Node, case: Node) -> Node:
    """An object without what is free: copier and its rights, deadline, policy for evictions, and that the token may be absent."""
    obj = copy.deepcopy(obj)
    metadata = obj["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        metadata.pop(name, None)
    for owner in metadata.get("ownerReferences") or ():
        owner.pop("uid", None)
    for member in ("annotations", "labels"):
        metadata[member] = {name: text for name, text in (metadata.get(member) or {}).items() if not name.startswith(OURS)}
    obj.pop("status", None)
    if obj["kind"] == "Job":
        _plain_job(obj, case)
    return obj


def _plain_job(obj: Node, case: Node) -> None:
    pod, name = obj["spec"]["template"]["spec"], case["object"]["metadata"]["name"]
    if obj["spec"].get("activeDeadlineSeconds") == _DEADLINE:
        del obj["spec"]["activeDeadlineSeconds"]
    obj["spec"].pop("podFailurePolicy", None)
    if pod["serviceAccountName"] == account_of(name):
        pod["serviceAccountName"] = "dgdr-profiling-job"
    [copier] = [entry for member in ("containers", "initContainers") for entry in pod.get(member, ()) if entry["name"] == COPIER]
    assert {"name": "profiling-output", "mountPath": "/data", "readOnly": True} in copier["volumeMounts"]
    for member in ("containers", "initContainers"):
        pod[member] = [container for container in pod.get(member, ()) if container["name"] != COPIER]
    [profiler] = pod["containers"]
    for variable in profiler["env"]:
        variable.get("valueFrom", {}).get("secretKeyRef", {}).pop("optional", None)
        if variable["name"] == "DGDR_UID":
            variable["value"] = "UID"
    profiler["args"][1] = compare().normalise(json.loads(profiler["args"][1]))
