"""The profiling Job of a request, with the overlay of its author: only listed fields are taken, and the copier can't be changed."""

import copy
import json
from dataclasses import replace
from typing import Any, Final

from ...api.operator.configuration import OperatorConfiguration
from ...conversion.lens.protocol import Fields
from ...policies.request.pods import TAKEN_OF_CONTAINER, TAKEN_OF_POD, TAKEN_OF_SECURITY
from ..common.resources import REQUEST_NAME
from ..render.accounts import RBAC_GROUP, make_account_labels, make_binding
from ..render.merge import as_map, merge_env, object_items, string_map
from ..render.objects import make_child
from .annotations import read_alpha_fields
from .names import COPIER, JOB_NAME, MANAGED, NAMESPACE, OPERATOR, PROFILER, SPEC_KEY, account_of, job_of, labels_of, output_of

# what profiling on real graphs needs in the request's namespace
_ONLINE: Final = (
    ("nvidia.com", "dynamographdeployments", ("get", "list", "watch", "create", "delete")),
    ("", "pods", ("get", "list")),
    ("", "pods/log", ("get",)),
)
OUTPUT: Final = "profiling-output"
DATA: Final = "/data"
MAX_ARGUMENT_BYTES: Final = 32 * 1024  # bytes of JSON that are passed as an argument; more are a file
_SPEC_PATH: Final = "/etc/dynamo-request"
_CACHE: Final = "/opt/model-cache"
_HUB_TOKEN: Final = {"secretKeyRef": {"name": "hf-token-secret", "key": "HF_TOKEN", "optional": True}}
_COPY: Final = ("/opt/dynamo-webhooks/bin/python", "-m", "dynamo_webhooks.reconciler.request.copier")
# members in the order of the schema, as the Go operator writes them
_NAMES: Final = (
    *("model", "backend", "image", "modelCache", "pvcName", "pvcModelPath", "pvcMountPath"),
    *("hardware", "gpuSku", "vramMb", "totalGpus", "numGpusPerNode", "interconnect", "rdma"),
    *("workload", "isl", "osl", "concurrency", "requestRate", "sla", "ttft", "itl", "e2eLatency", "optimizationType"),
    *("overrides", "profilingJob", "dgd", "features", "planner", "mocker", "searchStrategy", "autoApply"),
)
_ORDER: Final = {name: place for place, name in enumerate(_NAMES)}
# a pod that is evicted or preempted is made again, and is no failure of the Job
_EVICTED: Final = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
_JOB: Final = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "completions", "parallelism", "suspend")
_OWN: Final = frozenset({"app", "dgdr", REQUEST_NAME, NAMESPACE, MANAGED})
ACCESS: Final = "output-copier-kube-api-access"
_ACCESS_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_API_TOKEN: Final = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3600, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]
}


def render_rights(request: Fields, account: str) -> list[Fields]:
    """The request's own account, and a Role for the account that its Job names: to write its result, and to read itself.

    Only the own account gets what an online search needs: an account that an author names has what others have given to it.
    """
    metadata = request["metadata"]
    name, namespace, own = str(metadata["name"]), str(metadata["namespace"]), account_of(str(metadata["name"]))
    marks = make_account_labels(own)
    rules: list[Fields] = [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [output_of(request)], "verbs": ["get", "patch"]},
        {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeploymentrequests"], "resourceNames": [name], "verbs": ["get"]},
    ]
    mine = account == own
    if mine and (request.get("spec") or {}).get("searchStrategy") == "thorough":
        rules += [{"apiGroups": [group], "resources": [plural], "verbs": [*verbs]} for group, plural, verbs in _ONLINE]
    bound = make_binding("Role", own, account, namespace)
    return [
        *([make_child("v1", "ServiceAccount", own, namespace, labels=marks, owner=request)] if mine else []),
        make_child(f"{RBAC_GROUP}/v1", "Role", own, namespace, labels=marks, owner=request, rules=rules),
        make_child(f"{RBAC_GROUP}/v1", "RoleBinding", own, namespace, labels=marks, owner=request, **bound),
    ]


def format_config(request: Fields, hardware: Fields) -> str:
    """The spec for the profiler as JSON, escaped as Go does: it may be shown in a page. Linear in its size."""
    spec = {**(request.get("spec") or {}), **({"hardware": hardware} if hardware else {})}
    for name in ("modelCache", "hardware", "workload", "sla"):
        if isinstance(spec.get(name), dict):
            spec[name] = _sort_fields(spec[name])
    text = json.dumps(_sort_fields(spec), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _sort_fields(fields: Fields) -> Fields:
    kept = {name: value for name, value in fields.items() if value is not None}
    return dict(sorted(kept.items(), key=lambda item: (_ORDER.get(item[0], len(_ORDER)), item[0])))


def render_job(request: Fields, hardware: Fields, settings: OperatorConfiguration) -> Fields:
    """The Job, with the overlay of the request's author."""
    metadata = request["metadata"]
    name, namespace = str(metadata["name"]), str(metadata["namespace"])
    labels = {"app": "dynamo-profiler", JOB_NAME: name, MANAGED: OPERATOR}
    config, claim = format_config(request, hardware), read_alpha_fields(request).output_claim
    file = len(config.encode()) > MAX_ARGUMENT_BYTES
    pod: Fields = {
        "serviceAccountName": account_of(name),
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "imagePullSecrets": [{"name": "nvcr-imagepullsecret"}],
        "initContainers": [_copier(request, settings)],
        "containers": [_profiler(request, f"{_SPEC_PATH}/{SPEC_KEY}" if file else config, settings)],
        "volumes": [{"name": OUTPUT, **({"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}})}],
    }
    _add_volumes(request, pod, file=file)
    deadline = max(1, int(settings.requests.deadline))
    template = {"metadata": {}, "spec": pod}
    spec: Fields = {"backoffLimit": 0, "podFailurePolicy": _EVICTED, "activeDeadlineSeconds": deadline, "template": template}
    overlay_job(spec, ((request.get("spec") or {}).get("overrides") or {}).get("profilingJob"))
    return make_child("batch/v1", "Job", job_of(request), namespace, labels=labels, owner=request, spec=spec)


def render_output(request: Fields, hardware: Fields) -> Fields:
    """The ConfigMap for the result, made before the Job so that the Job's rights can name it; it holds a long spec, too."""
    namespace = str(request["metadata"]["namespace"])
    config = format_config(request, hardware)
    content = {"data": {SPEC_KEY: config}} if len(config.encode()) > MAX_ARGUMENT_BYTES else {}
    return make_child("v1", "ConfigMap", output_of(request), namespace, labels=labels_of(request), owner=request, **content)


def _profiler(request: Fields, config: str, settings: OperatorConfiguration) -> Fields:
    metadata, infrastructure = request["metadata"], settings.infrastructure
    variables = {
        "DGDR_NAME": metadata["name"],
        "DGDR_NAMESPACE": metadata["namespace"],
        "DGDR_UID": metadata.get("uid") or "",
        "ETCD_ENDPOINTS": infrastructure.etcd_address,
        "MODEL_EXPRESS_URL": infrastructure.model_express_url,
        "NATS_SERVER": infrastructure.nats_address,
        "PROMETHEUS_ENDPOINT": infrastructure.prometheus_endpoint,
    }
    env: list[Fields] = [{"name": name, "value": value} for name, value in variables.items() if value]
    return {
        "name": PROFILER,
        "image": str((request.get("spec") or {}).get("image") or ""),
        "command": ["python", "-m", "dynamo.profiler"],
        "args": ["--config", config, "--output-dir", DATA],
        "env": merge_env(env, [{"name": "HUGGING_FACE_HUB_TOKEN", "valueFrom": _HUB_TOKEN}]),
        "workingDir": "/workspace",
        "volumeMounts": [{"name": OUTPUT, "mountPath": DATA}],
    }


def _copier(request: Fields, settings: OperatorConfiguration) -> Fields:
    """A sidecar, so that it outlives the profiler for as long as it takes to write the result, and no longer."""
    return {
        "name": COPIER,
        "image": settings.requests.copier_image,
        "command": [*_COPY],
        "args": [str(request["metadata"]["namespace"]), output_of(request), DATA],
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": OUTPUT, "mountPath": DATA, "readOnly": True}],
    }


def _add_volumes(request: Fields, pod: Fields, *, file: bool) -> None:
    """The author's base configuration, the model's weights, and a spec that is too long for an argument."""
    legacy, cache = read_alpha_fields(request), (request.get("spec") or {}).get("modelCache") or {}
    volumes: list[tuple[str, Fields, str]] = []
    if legacy.config_map:
        items = [{"key": legacy.config_key, "path": "disagg.yaml"}]
        volumes.append(("profiling-config", {"configMap": {"name": legacy.config_map, "items": items}}, "/config"))
    if cache.get("pvcName"):
        claim = {"persistentVolumeClaim": {"claimName": cache["pvcName"], "readOnly": True}}
        volumes.append(("model-cache", claim, cache.get("pvcMountPath") or _CACHE))
    if file:
        items = [{"key": SPEC_KEY, "path": SPEC_KEY}]
        volumes.append(("request-spec", {"configMap": {"name": output_of(request), "items": items}}, _SPEC_PATH))
    mounts: list[Any] = pod["containers"][0]["volumeMounts"]
    for name, source, path in volumes:
        pod["volumes"].append({"name": name, **source})
        mounts.append({"name": name, "mountPath": path, "readOnly": True})


def with_copier(settings: OperatorConfiguration, image: str) -> OperatorConfiguration:
    """The configuration with the image of the copier."""
    return replace(settings, requests=replace(settings.requests, copier_image=image))


def overlay_job(spec: Fields, overlay: Any) -> None:
    """Changes the spec of a Job as its author asks. Linear in the overlay, but for lists by name, which are as short as a pod's."""
    if not isinstance(overlay, dict):
        return
    overlay = copy.deepcopy(overlay)
    _take(spec, overlay, _JOB)
    template = as_map(overlay.get("template"))
    head, pod = as_map(template.get("metadata")), as_map(template.get("spec"))
    labels = {name: value for name, value in string_map(as_map(head.get("labels"))).items() if name not in _OWN}
    metadata = {"labels": labels, "annotations": string_map(as_map(head.get("annotations")))}
    spec["template"]["metadata"] |= {name: value for name, value in metadata.items() if value}
    _overlay_pod(spec["template"]["spec"], pod)


def _overlay_pod(pod: Fields, overlay: Fields) -> None:
    _take(pod, overlay, TAKEN_OF_POD)
    pod["imagePullSecrets"] = _by_name(pod["imagePullSecrets"], object_items(overlay.get("imagePullSecrets")))
    pod["volumes"] = _by_name(pod["volumes"], object_items(overlay.get("volumes")))
    more = [container for container in object_items(overlay.get("initContainers")) if container.get("name") != COPIER]
    pod["initContainers"] = [*more, *pod["initContainers"]]
    _take(pod["securityContext"], as_map(overlay.get("securityContext")), TAKEN_OF_SECURITY)
    containers = object_items(overlay.get("containers"))
    if containers:
        _overlay_container(pod["containers"][0], containers[0])
    if pod.get("automountServiceAccountToken") is False:
        _grant_alone(pod)


def _overlay_container(profiler: Fields, overlay: Fields) -> None:
    _take(profiler, overlay, TAKEN_OF_CONTAINER)
    profiler["env"] = merge_env(profiler["env"], object_items(overlay.get("env")))
    profiler["volumeMounts"] = _by_name(profiler["volumeMounts"], object_items(overlay.get("volumeMounts")))
    if more := object_items(overlay.get("envFrom")):
        profiler["envFrom"] = more


def _grant_alone(pod: Fields) -> None:
    """Gives the token to the copier and to no other container."""
    pod["volumes"] = [*(volume for volume in pod["volumes"] if volume.get("name") != ACCESS), {"name": ACCESS, "projected": _API_TOKEN}]
    for container in [*pod["containers"], *pod["initContainers"]]:
        mounts = [mount for mount in object_items(container.get("volumeMounts")) if mount.get("name") != ACCESS]
        if container["name"] == COPIER:
            mounts.append({"name": ACCESS, "mountPath": _ACCESS_PATH, "readOnly": True})
        if mounts or "volumeMounts" in container:
            container["volumeMounts"] = mounts


def _take(holder: Fields, overlay: Fields, names: tuple[str, ...]) -> None:
    holder |= {name: overlay[name] for name in names if overlay.get(name) not in (None, "", [], {})}


def _by_name(ours: list[Fields], theirs: list[Fields]) -> list[Fields]:
    """One list of both: an entry of theirs replaces ours of its name in place."""
    by_name = {str(entry.get("name")): entry for entry in ours} | {str(entry.get("name")): entry for entry in theirs}
    return [*by_name.values()]
