"""The profiling Job, its rights, and whether a request can have one."""

import json
from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.operator.configuration import OperatorConfiguration
from dynamo_webhooks.api.operator.controllers import Requests
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.reconciler.request.annotations import AlphaFields, graph_name, read_alpha_fields, read_requested_hardware
from dynamo_webhooks.reconciler.request.hardware import GpuInventory, Machine
from dynamo_webhooks.reconciler.request.job import format_config, render_job, render_output, render_rights
from dynamo_webhooks.reconciler.request.validation import explain_invalid
from tests.reconciler.request.asked import HARDWARE, asked
from tests.rows import run_each

SETTINGS = OperatorConfiguration(requests=Requests(copier_image="copier:1"))


def _pod(request: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = render_job(request, HARDWARE, SETTINGS)["spec"]["template"]["spec"]
    return pod


def _with(**pod: Any) -> dict[str, Any]:
    return asked(overrides={"profilingJob": {"template": {"spec": pod}}})


def test_the_copier_is_a_sidecar_that_nobody_can_replace() -> None:
    pod = _pod(_with(initContainers=[{"name": "output-copier", "image": "evil"}, {"name": "i", "image": "i"}]))
    assert [(container["name"], container["image"]) for container in pod["initContainers"]] == [("i", "i"), ("output-copier", "copier:1")]
    assert pod["initContainers"][1]["restartPolicy"] == "Always"
    assert pod["initContainers"][1]["securityContext"]["allowPrivilegeEscalation"] is False


def test_without_a_token_for_all_only_the_copier_has_one() -> None:
    mount = {"name": "output-copier-kube-api-access", "mountPath": "/steal"}
    pod = _pod(_with(automountServiceAccountToken=False, containers=[{"name": "x", "volumeMounts": [mount]}]))
    [copier] = [container for container in pod["initContainers"] if container["name"] == "output-copier"]
    assert [mount["mountPath"] for mount in copier["volumeMounts"]] == ["/data", "/var/run/secrets/kubernetes.io/serviceaccount"]
    assert [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]] == ["/data"]


def test_an_overlay_of_nulls_and_wrong_types_changes_nothing() -> None:
    odd: dict[str, Any] = {"containers": [None, 7], "volumes": None, "tolerations": None, "securityContext": 3, "imagePullSecrets": [None]}
    assert _pod(_with(**odd)) == _pod(asked(overrides={"profilingJob": {"template": {"spec": {}}}})) | {
        "containers": [_pod(_with(**odd))["containers"][0]]
    }


def test_the_job_has_a_deadline_that_the_author_may_change() -> None:
    assert render_job(asked(), HARDWARE, SETTINGS)["spec"]["activeDeadlineSeconds"] == 86_400
    request = asked(overrides={"profilingJob": {"activeDeadlineSeconds": 60}})
    assert render_job(request, HARDWARE, SETTINGS)["spec"]["activeDeadlineSeconds"] == 60


def test_a_long_spec_is_a_file() -> None:
    request = asked(features={"planner": {"x": "y" * 40_000}})
    [argument] = [argument for argument in _pod(request)["containers"][0]["args"] if "dynamo-request" in argument]
    assert argument == "/etc/dynamo-request/spec.json"
    assert json.loads(render_output(request, HARDWARE)["data"]["spec.json"])["features"]["planner"]["x"] == "y" * 40_000
    assert "data" not in render_output(asked(), HARDWARE)


def test_json_has_the_order_of_the_schema_and_the_escapes_of_go() -> None:
    text = format_config(asked(model="a<b>&c\u2028é", autoApply=False), HARDWARE)
    assert text.startswith('{"model":"a\\u003cb\\u003e\\u0026c\\u2028é","backend":"vllm","image":"planner:1","hardware":{"gpuSku"')
    assert text.endswith('"searchStrategy":"rapid","autoApply":false}')


def test_the_account_may_write_one_map_and_read_one_request() -> None:
    account, role, bound = render_rights(asked(), "dgdr-profiling-job-req")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["dgdr-output-req"], "verbs": ["get", "patch"]},
        {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeploymentrequests"], "resourceNames": ["req"], "verbs": ["get"]},
    ]
    assert bound["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": "demo"}]
    assert all(obj["metadata"]["ownerReferences"][0]["uid"] == "u-1" for obj in (account, role, bound))


def test_only_an_online_search_may_touch_graphs_and_never_by_an_account_that_the_author_names() -> None:
    thorough = asked(searchStrategy="thorough")
    online = render_rights(thorough, "dgdr-profiling-job-req")[1]["rules"][2:]
    assert {(resource, verb) for rule in online for resource in rule["resources"] for verb in rule["verbs"]} == {
        *(("dynamographdeployments", verb) for verb in ("get", "list", "watch", "create", "delete")),
        *(("pods", verb) for verb in ("get", "list")),
        ("pods/log", "get"),
    }
    role, bound = render_rights(thorough, "mine")
    assert len(role["rules"]) == 2
    assert bound["subjects"][0]["name"] == "mine"


def _of(product: str) -> GpuInventory:
    return GpuInventory((Machine(product, 8, 1),))


def _kept(name: str, data: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A request with an annotation that keeps what v1alpha1 said."""
    return asked(annotations={f"nvidia.com/dgdr-{name}": json.dumps(data)}, **spec)


@run_each(
    ("request_", "gpus", "why"),
    [
        (asked(), GpuInventory(), ""),
        (asked(hardware=None), _of("NVIDIA-H200"), ""),
        (asked(hardware=None), GpuInventory(), "GPU hardware info required but auto-discovery failed. Verify DCGM"),
        (asked(hardware=None), GpuInventory(why="nodes can't be read: no"), "explicitly. (nodes can't be read: no)"),
        (asked(hardware=None), _of("NVIDIA-B300"), "gpuSku: must be given, since no SKU is known for NVIDIA-B300"),
        (asked(backend="auto", searchStrategy="thorough"), GpuInventory(), 'spec.searchStrategy "thorough" is incompatible'),
        (asked(modelCache={"pvcName": "p"}), GpuInventory(), "model cache PVC p not found in namespace demo"),
        (asked("n" * 56), GpuInventory(), "metadata.name: must have at most 55 characters, got 56"),
        (_kept("deployment-overrides", {"namespace": "other"}), GpuInventory(), "spec.deploymentOverrides.namespace: must be demo"),
        (asked(features={"planner": {"x": "y" * 300_000}}), GpuInventory(), "spec: must be at most 262144 bytes"),
        (_kept("profiling-config", {"hardware": {"numGpusPerNode": 4, "gpuSku": "l4", "vramMb": 1}}, hardware=None), GpuInventory(), ""),
    ],
)
def test_what_a_request_needs(request_: dict[str, Any], gpus: GpuInventory, why: str) -> None:
    reason = explain_invalid(request_, gpus, claim=False)
    assert why in reason
    assert bool(reason) == bool(why)


SAID_HARDWARE: Final = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8}
PROFILING: Final = {
    "profilerImage": "p:1.5.0",
    "outputPVC": "out",
    "configMapRef": {"name": "map", "key": "k"},
    "config": {"hardware": SAID_HARDWARE},
}
OVERRIDES: Final = {"name": "mine", "namespace": "other", "labels": {"a": "b"}, "annotations": {"c": "d"}}


def _request(uid: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "r", "namespace": "ns", **({"uid": uid} if uid else {})}
    whole = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "p:1.5.0"}, **spec}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentRequest", "metadata": metadata, "spec": whole}


@run_each("uid", ["", "u"])
@run_each("line", Line)
def test_what_v1alpha1_says_is_read_from_what_either_line_converts(line: Line, uid: str) -> None:
    wanted = target("nvidia.com/v1beta1", line)
    request = dict(convert_object(_request(uid, profilingConfig=PROFILING, deploymentOverrides=OVERRIDES), wanted).object)
    assert read_alpha_fields(request) == AlphaFields("map", "k", "out", "mine", "other", {"a": "b"}, {"c": "d"}, SAID_HARDWARE)
    assert (graph_name(request), read_requested_hardware(request)) == ("mine", SAID_HARDWARE)
    assert read_alpha_fields(dict(convert_object(_request(uid), wanted).object)) == AlphaFields()


@run_each("text", ["{", "[]", '{"spec": {"profilingConfig": 1}}', '{"spec": {"deploymentOverrides": {"name": {}}}}'])
def test_an_annotation_that_cannot_be_read_says_nothing(text: str) -> None:
    annotations = {"nvidia.com/dgdr-spec": text, "nvidia.com/dgdr-config-map-ref": text}
    assert read_alpha_fields({"metadata": {"name": "r", "annotations": annotations}}) == AlphaFields()
