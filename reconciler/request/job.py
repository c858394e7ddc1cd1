"""The profiling Job of a request. Overlays of its author are merged in overrides.py."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.controllers import Infrastructure
from ...conversion.lens.protocol import Fields
from ..render.discovery import RBAC_GROUP, account_labels, binding
from ..render.merge import merge_env
from ..render.objects import make_child
from .legacy import legacy_of
from .names import COPIER, JOB_NAME, MANAGED, OPERATOR, PROFILER, SPEC_KEY, account_of, job_of, labels_of, output_of
from .overrides import overlay_job

# what profiling on real graphs needs in the request's namespace
_ONLINE: Final = (
    ("nvidia.com", "dynamographdeployments", ("get", "list", "watch", "create", "delete")),
    ("", "pods", ("get", "list")),
    ("", "pods/log", ("get",)),
)


def render_rights(request: Fields, account: str) -> list[Fields]:
    """The request's own account, and a Role for the account that its Job names: to write its result, and to read itself.

    Only the own account gets what an online search needs: an account that an author names has what others have given to it.
    """
    metadata = request["metadata"]
    name, namespace, own = str(metadata["name"]), str(metadata["namespace"]), account_of(str(metadata["name"]))
    marks = account_labels(own)
    rules: list[Fields] = [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [output_of(request)], "verbs": ["get", "patch"]},
        {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeploymentrequests"], "resourceNames": [name], "verbs": ["get"]},
    ]
    mine = account == own
    if mine and (request.get("spec") or {}).get("searchStrategy") == "thorough":
        rules += [{"apiGroups": [group], "resources": [plural], "verbs": [*verbs]} for group, plural, verbs in _ONLINE]
    bound = binding("Role", own, account, namespace)
    return [
        *([make_child("v1", "ServiceAccount", own, namespace, labels=marks, owner=request)] if mine else []),
        make_child(f"{RBAC_GROUP}/v1", "Role", own, namespace, labels=marks, owner=request, rules=rules),
        make_child(f"{RBAC_GROUP}/v1", "RoleBinding", own, namespace, labels=marks, owner=request, **bound),
    ]


OUTPUT: Final = "profiling-output"
DATA: Final = "/data"
ARGUMENT: Final = 32 * 1024  # bytes of JSON that are passed as an argument; more are a file
_SPEC_PATH: Final = "/etc/dynamo-request"
_CACHE: Final = "/opt/model-cache"
_TOKEN: Final = {"secretKeyRef": {"name": "hf-token-secret", "key": "HF_TOKEN", "optional": True}}
_COPY: Final = ("/opt/dynamo-webhooks/bin/python", "-m", "dynamo_webhooks.reconciler.request.copier")
# members in the order of the schema, as the Go operator writes them
_NAMES: Final = (
    *("model", "backend", "image", "modelCache", "pvcName", "pvcModelPath", "pvcMountPath"),
    *("hardware", "gpuSku", "vramMb", "totalGpus", "numGpusPerNode", "interconnect", "rdma"),
    *("workload", "isl", "osl", "concurrency", "requestRate", "sla", "ttft", "itl", "e2eLatency", "optimizationType"),
    *("overrides", "profilingJob", "dgd", "features", "planner", "mocker", "searchStrategy", "autoApply"),
)
_ORDER: Final = {name: place for place, name in enumerate(_NAMES)}


class JobSettings(NamedTuple):
    """What the operator's configuration says of profiling Jobs."""

    copier_image: str = ""  # of output-copier; empty where nobody knows
    deadline: float = 86_400.0  # seconds that a Job may take; an overlay has the last word
    infrastructure: Infrastructure = Infrastructure()


def config_text(request: Fields, hardware: Fields) -> str:
    """The spec for the profiler as JSON, escaped as Go does: it may be shown in a page. Linear in its size."""
    spec = {**(request.get("spec") or {}), **({"hardware": hardware} if hardware else {})}
    for name in ("modelCache", "hardware", "workload", "sla"):
        if isinstance(spec.get(name), dict):
            spec[name] = _ordered(spec[name])
    text = json.dumps(_ordered(spec), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _ordered(fields: Fields) -> Fields:
    kept = {name: value for name, value in fields.items() if value is not None}
    return dict(sorted(kept.items(), key=lambda one: (_ORDER.get(one[0], len(_ORDER)), one[0])))


def render_job(request: Fields, hardware: Fields, settings: JobSettings) -> Fields:
    """The Job, with the overlay of the request's author."""
    metadata = request["metadata"]
    name, namespace = str(metadata["name"]), str(metadata["namespace"])
    labels = {"app": "dynamo-profiler", JOB_NAME: name, MANAGED: OPERATOR}
    config = config_text(request, hardware)
    file = len(config.encode()) > ARGUMENT
    pod: Fields = {
        "serviceAccountName": account_of(name),
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "imagePullSecrets": [{"name": "nvcr-imagepullsecret"}],
        "initContainers": [_copier(request, settings)],
        "containers": [_profiler(request, f"{_SPEC_PATH}/{SPEC_KEY}" if file else config, settings)],
        "volumes": [_output(request)],
    }
    _add_volumes(request, pod, file=file)
    deadline = max(1, int(settings.deadline))
    spec: Fields = {"backoffLimit": 0, "activeDeadlineSeconds": deadline, "template": {"metadata": {}, "spec": pod}}
    overlay_job(spec, ((request.get("spec") or {}).get("overrides") or {}).get("profilingJob"))
    return make_child("batch/v1", "Job", job_of(request), namespace, labels=labels, owner=request, spec=spec)


def render_output(request: Fields, hardware: Fields) -> Fields:
    """The ConfigMap for the result, made before the Job so that the Job's rights can name it; it holds a long spec, too."""
    namespace = str(request["metadata"]["namespace"])
    config = config_text(request, hardware)
    content = {"data": {SPEC_KEY: config}} if len(config.encode()) > ARGUMENT else {}
    return make_child("v1", "ConfigMap", output_of(request), namespace, labels=labels_of(request), owner=request, **content)


def _profiler(request: Fields, config: str, settings: JobSettings) -> Fields:
    metadata, infrastructure = request["metadata"], settings.infrastructure
    told = {
        "DGDR_NAME": metadata["name"],
        "DGDR_NAMESPACE": metadata["namespace"],
        "DGDR_UID": metadata.get("uid") or "",
        "ETCD_ENDPOINTS": infrastructure.etcd_address,
        "MODEL_EXPRESS_URL": infrastructure.model_express_url,
        "NATS_SERVER": infrastructure.nats_address,
        "PROMETHEUS_ENDPOINT": infrastructure.prometheus_endpoint,
    }
    env: list[Fields] = [{"name": name, "value": value} for name, value in told.items() if value]
    return {
        "name": PROFILER,
        "image": str((request.get("spec") or {}).get("image") or ""),
        "command": ["python", "-m", "dynamo.profiler"],
        "args": ["--config", config, "--output-dir", DATA],
        "env": merge_env(env, [{"name": "HUGGING_FACE_HUB_TOKEN", "valueFrom": _TOKEN}]),
        "workingDir": "/workspace",
        "volumeMounts": [{"name": OUTPUT, "mountPath": DATA}],
    }


def _copier(request: Fields, settings: JobSettings) -> Fields:
    """A sidecar, so that it outlives the profiler for as long as it takes to write the result, and no longer."""
    return {
        "name": COPIER,
        "image": settings.copier_image,
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


def _output(request: Fields) -> Fields:
    claim = legacy_of(request).output_claim
    return {"name": OUTPUT, **({"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}})}


def _add_volumes(request: Fields, pod: Fields, *, file: bool) -> None:
    """The author's base configuration, the model's weights, and a spec that is too long for an argument."""
    legacy, cache = legacy_of(request), (request.get("spec") or {}).get("modelCache") or {}
    found: list[tuple[str, Fields, str]] = []
    if legacy.config_map:
        items = [{"key": legacy.config_key, "path": "disagg.yaml"}]
        found.append(("profiling-config", {"configMap": {"name": legacy.config_map, "items": items}}, "/config"))
    if cache.get("pvcName"):
        claim = {"persistentVolumeClaim": {"claimName": cache["pvcName"], "readOnly": True}}
        found.append(("model-cache", claim, cache.get("pvcMountPath") or _CACHE))
    if file:
        items = [{"key": SPEC_KEY, "path": SPEC_KEY}]
        found.append(("request-spec", {"configMap": {"name": output_of(request), "items": items}}, _SPEC_PATH))
    mounts: list[Any] = pod["containers"][0]["volumeMounts"]
    for name, source, path in found:
        pod["volumes"].append({"name": name, **source})
        mounts.append({"name": name, "mountPath": path, "readOnly": True})


def settings_of(found: OperatorConfiguration) -> JobSettings:
    """What the configuration says; the copier's image may be empty."""
    return JobSettings(found.requests.copier_image, found.requests.deadline, found.infrastructure)
