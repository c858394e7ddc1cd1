"""The author's overlay of a profiling Job: only what is listed here is taken, and the copier of results is nobody's to change."""

from __future__ import annotations

import copy
from typing import Any, Final

from ...conversion.lens.protocol import Fields
from ..common.marks import REQUEST_NAME
from ..render.merge import as_map, merge_env, object_items, string_map
from .names import COPIER, MANAGED, NAMESPACE

_JOB: Final = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "completions", "parallelism", "suspend")
_OWN: Final = frozenset({"app", "dgdr", REQUEST_NAME, NAMESPACE, MANAGED})
_POD: Final = (
    "tolerations",
    "nodeSelector",
    "affinity",
    "priorityClassName",
    "schedulingGroup",
    "serviceAccountName",
    "runtimeClassName",
    "dnsPolicy",
    "dnsConfig",
    "terminationGracePeriodSeconds",
    "topologySpreadConstraints",
    "automountServiceAccountToken",
)
_SECURITY: Final = (
    "runAsNonRoot",
    "runAsUser",
    "runAsGroup",
    "fsGroup",
    "supplementalGroups",
    "sysctls",
    "fsGroupChangePolicy",
    "seccompProfile",
    "appArmorProfile",
    "seLinuxOptions",
    "windowsOptions",
)
ACCESS: Final = "output-copier-kube-api-access"
_ACCESS_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN: Final = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3600, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]
}


def overlay_job(spec: Fields, asked: Any) -> None:
    """Changes the spec of a Job as its author asks. Linear in the overlay, but for lists by name, which are as short as a pod's."""
    if not isinstance(asked, dict):
        return
    asked = copy.deepcopy(asked)
    _take(spec, asked, _JOB)
    template = as_map(asked.get("template"))
    head, pod = as_map(template.get("metadata")), as_map(template.get("spec"))
    labels = {name: value for name, value in string_map(as_map(head.get("labels"))).items() if name not in _OWN}
    found = {"labels": labels, "annotations": string_map(as_map(head.get("annotations")))}
    spec["template"]["metadata"] |= {name: value for name, value in found.items() if value}
    _overlay_pod(spec["template"]["spec"], pod)


def _overlay_pod(pod: Fields, asked: Fields) -> None:
    _take(pod, asked, _POD)
    pod["imagePullSecrets"] = _by_name(pod["imagePullSecrets"], object_items(asked.get("imagePullSecrets")))
    pod["volumes"] = _by_name(pod["volumes"], object_items(asked.get("volumes")))
    more = [one for one in object_items(asked.get("initContainers")) if one.get("name") != COPIER]
    pod["initContainers"] = [*more, *pod["initContainers"]]
    _take(pod["securityContext"], as_map(asked.get("securityContext")), _SECURITY)
    containers = object_items(asked.get("containers"))
    if containers:
        _overlay_container(pod["containers"][0], containers[0])
    if pod.get("automountServiceAccountToken") is False:
        _grant_alone(pod)


def _overlay_container(profiler: Fields, asked: Fields) -> None:
    _take(profiler, asked, ("image", "resources", "securityContext"))
    profiler["env"] = merge_env(profiler["env"], object_items(asked.get("env")))
    profiler["volumeMounts"] = _by_name(profiler["volumeMounts"], object_items(asked.get("volumeMounts")))
    if more := object_items(asked.get("envFrom")):
        profiler["envFrom"] = more


def _grant_alone(pod: Fields) -> None:
    """Gives the token to the copier and to nobody else."""
    pod["volumes"] = [*(one for one in pod["volumes"] if one.get("name") != ACCESS), {"name": ACCESS, "projected": _TOKEN}]
    for one in [*pod["containers"], *pod["initContainers"]]:
        mounts = [mount for mount in object_items(one.get("volumeMounts")) if mount.get("name") != ACCESS]
        if one["name"] == COPIER:
            mounts.append({"name": ACCESS, "mountPath": _ACCESS_PATH, "readOnly": True})
        if mounts or "volumeMounts" in one:
            one["volumeMounts"] = mounts


def _take(holder: Fields, asked: Fields, names: tuple[str, ...]) -> None:
    holder |= {name: asked[name] for name in names if asked.get(name) not in (None, "", [], {})}


def _by_name(ours: list[Fields], theirs: list[Fields]) -> list[Fields]:
    """One list of both: an entry of theirs replaces ours of its name in place."""
    by_name = {str(one.get("name")): one for one in ours} | {str(one.get("name")): one for one in theirs}
    return [*by_name.values()]
