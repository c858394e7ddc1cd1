"""Checks the processes: their Deployments and configuration, why pods don't start, and which pods the Service selects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ....admission.userrules.policy import Requirement
from ....api.paths import lookup
from ....certs.state import TargetKind
from ....kube.errors import ForbiddenError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CORE_EVENTS, NETWORK_POLICIES, PODS, Resource
from ...installation.parts import COMPONENT, InstalledObjects, Installer, Key, find_component, find_pod_spec
from . import repairs
from .finding import DoctorFinding, error, info, warning
from .observe import GUARD, ClusterView

_HARM: Final = {
    "server": "no webhook responds",
    "provisioner": "certificates are neither renewed nor published",
    "reconciler": "graphs are validated and converted, but nothing runs them",
}
_IMAGE: Final = frozenset({"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"})
_RESTRICTED: Final = "violates PodSecurity"
# fields of a pod's specification by which PodSecurity judges it
_JUDGED: Final = ("hostNetwork", "hostPID", "hostIPC", "securityContext")
_READ_ELSEWHERE: Final = ("Service", *GUARD, *map(str, TargetKind))
_MAX_MESSAGE_CHARACTERS: Final = 300  # characters of others' messages


class NamespaceState:
    """Pods, Events of failures, and network policies of the installation's namespace."""

    def __init__(self) -> None:
        self.pods: list[Node] = []
        self.events: list[Node] = []
        self.policies: list[Node] = []
        self.forbidden: dict[str, str] = {}

    async def read(self, cluster: Cluster, namespace: str) -> NamespaceState:
        """Reads all of it; what may not be read is recorded."""
        reads: tuple[tuple[str, Resource, str], ...] = (
            ("pods", PODS, ""),
            ("events", CORE_EVENTS, "type=Warning"),
            ("policies", NETWORK_POLICIES, ""),
        )
        for name, resource, fields in reads:
            try:
                setattr(self, name, (await cluster.list(resource, namespace, fields=fields)).items)
            except ForbiddenError as failed:
                self.forbidden[f"{resource.plural} of {namespace}"] = failed.message
        return self

    def of(self, deployment: Node) -> list[Node]:
        """The pods that a Deployment selects and that aren't being deleted."""
        chosen = lookup(deployment, ("spec", "selector", "matchLabels"))
        return [each for each in self.pods if _selects(chosen, each) and not each["metadata"].get("deletionTimestamp")]


def check_workloads(parts: InstalledObjects, running: NamespaceState) -> Iterator[DoctorFinding]:
    """Every Deployment and its configuration are there, and pods run."""
    deployments = {key: find_component(wanted) for key, wanted in parts.of_kind("Deployment")}
    for key, part in deployments.items():
        if not parts.is_missing(key):
            yield from _deployment(parts, running, key, part)
        else:
            text = f"is not there: {_HARM.get(part, 'a process is missing')}"
            yield error("workloads", f"Deployment {key[2]}", text, parts.restore("Deployment", key[2]))
    if deployments and "reconciler" not in deployments.values():
        text = "has no reconciler: graphs are validated and converted, and another operator must run them"
        yield info("workloads", f"namespace {parts.namespace}", text)
    for key, _ in parts.of_kind("ConfigMap"):
        if parts.is_missing(key) and any(_mounts(each, key[2]) for _, each in parts.of_kind("Deployment")):
            # what a user's own overlay says isn't known any more
            repair = parts.restore("ConfigMap", key[2]) if parts.installer is Installer.HELM else ""
            text = "is not there, and no new pod starts" + ("" if repair else ": apply your overlay again")
            yield error("workloads", f"ConfigMap {key[2]}", text, repair)


def _deployment(parts: InstalledObjects, running: NamespaceState, key: Key, part: str) -> Iterator[DoctorFinding]:
    live = parts.live.get(key)
    if live is None:
        return
    what, where = f"Deployment {key[2]}", parts.namespace
    if (lookup(live, ("spec", "replicas"))) == 0:
        wanted = lookup(parts.wanted[key], ("spec", "replicas"))
        count = wanted if isinstance(wanted, int) and wanted else 1
        text = f"spec.replicas must be at least 1, and is 0: {_HARM.get(part, 'a process is missing')}"
        yield error("workloads", what, text, f"kubectl -n {where} scale deployment {key[2]} --replicas={count}")
        return
    available = int((live.get("status") or {}).get("availableReplicas") or 0)
    level = warning if available else error
    harm = "the next rollout doesn't end" if available else _HARM.get(part, "a process is missing")
    reasons = list(_reasons(parts, running, key, live))
    for text, repair in reasons:
        yield level("workloads", what, f"{text}: {harm}", repair)
    if not available and not reasons:
        yield error("workloads", what, f"has no available pod: {harm}", repairs.show_status(where, part))


def _reasons(parts: InstalledObjects, running: NamespaceState, key: Key, live: Node) -> Iterator[tuple[str, str]]:
    """Yields the reasons why pods of a Deployment don't run, each with the repair."""
    conditions = (live.get("status") or {}).get("conditions") or ()
    refused = [str(each.get("message")) for each in conditions if each.get("type") == "ReplicaFailure" and each.get("status") == "True"]
    if not refused and not running.of(live):
        refused = [
            str(each.get("message"))
            for each in running.events
            if each.get("reason") == "FailedCreate" and str((each.get("involvedObject") or {}).get("name")).startswith(f"{key[2]}-")
        ][-1:]
    for message in refused[:1]:
        if _RESTRICTED in message:
            yield f"pods are refused by pod security: {_shortened(message)}", _as_restricted(key, live, parts.wanted[key])
        else:
            yield f"pods are refused: {_shortened(message)}", ""
    for pod in running.of(live):
        yield from _of_pod(parts, key, live, pod)


def _of_pod(parts: InstalledObjects, key: Key, live: Node, pod: Node) -> Iterator[tuple[str, str]]:
    status = pod.get("status") or {}
    for each in status.get("conditions") or ():
        if (each.get("type"), each.get("status"), each.get("reason")) == ("PodScheduled", "False", "Unschedulable"):
            yield f"no node takes Pod {pod['metadata']['name']}: {_shortened(str(each.get('message')))}", ""
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason in _IMAGE:
            text = f"image {container.get('image')} can't be pulled ({reason}): {_shortened(str(waiting.get('message')))}"
            yield text, _other_image(parts, key, live, str(container.get("name")))
        elif reason in ("CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError"):
            last = lookup(container, ("lastState", "terminated", "message"))
            message = _shortened(str(waiting.get("message"))) + (f"; it said: {_shortened(last)}" if isinstance(last, str) else "")
            yield f"Pod {pod['metadata']['name']} waits ({reason}): {message}", f"kubectl -n {key[1]} logs deployment/{key[2]} --previous"


def _other_image(parts: InstalledObjects, key: Key, live: Node, container: str) -> str:
    """Sets the image that the installation names, else the one of a Deployment of it that has available pods."""
    now = _image(live)
    running = [
        _image(each)
        for (kind, *_), each in parts.live.items()
        if kind == "Deployment" and each is not None and (each.get("status") or {}).get("availableReplicas")
    ]
    for image in (_image(parts.wanted[key]), *running):
        if image and image != now:
            return f"kubectl -n {key[1]} set image deployment/{key[2]} {container}={image}"
    return ""


def _as_restricted(key: Key, live: Node, wanted: Node) -> str:
    """Writes the manifests' values of the fields by which PodSecurity judges; empty where they are the same."""
    path, containers = "/spec/template/spec", {each["name"]: each for each in _containers(wanted)}
    changes = list(_differences(path, find_pod_spec(live), find_pod_spec(wanted)))
    for index, each in enumerate(_containers(live)):
        changes += _differences(f"{path}/containers/{index}", each, containers.get(each["name"], each))
    return repairs.patch_all("Deployment", key[2], changes, namespace=key[1]) if changes else ""


def _differences(path: str, live: Node, wanted: Node) -> Iterator[Node]:
    for name in _JUDGED:
        if live.get(name) == wanted.get(name):
            continue
        if name in wanted:
            yield {"op": "add", "path": f"{path}/{name}", "value": wanted[name]}
        else:
            yield {"op": "remove", "path": f"{path}/{name}"}


def check_selectors(view: ClusterView, parts: InstalledObjects, running: NamespaceState) -> Iterator[DoctorFinding]:
    """The Service selects the server's pods, calls a port of theirs, and no network policy keeps that port closed."""
    servers = [
        each
        for (kind, *_), each in parts.live.items()
        if kind == "Deployment" and each is not None and _labels(each).get(COMPONENT) == "server"
    ]
    service = view.service
    if service is None or not servers:
        return
    name, labels = view.about.profile.service, _labels(servers[0])
    what, spec = f"Service {view.namespace}/{name}", service.get("spec") or {}
    chosen = spec.get("selector") or {}
    if not chosen or not chosen.items() <= labels.items():
        wanted = _wanted_selector(parts, name, labels)
        text = f"spec.selector must select the server's pods, and selects {json.dumps(chosen)}: no server is behind it"
        yield error("endpoints", what, text, _patched_service(view, "/spec/selector", wanted))
    ports = {each.get("name"): each.get("containerPort") for each in (p for c in _containers(servers[0]) for p in c.get("ports") or ())}
    for index, port in enumerate(spec.get("ports") or ()):
        target = port.get("targetPort", port.get("port"))
        if port.get("port") == repairs.PORT and target not in (*ports, *ports.values()):
            text = f"spec.ports[{index}].targetPort must be a port of the server's container, and is {target}"
            yield error("endpoints", what, text, _patched_service(view, f"/spec/ports/{index}/targetPort", "webhook"))
    yield from _closed(parts, running, labels, ports.get("webhook"))


def _wanted_selector(parts: InstalledObjects, service: str, labels: Mapping[str, str]) -> Node:
    key = parts.find("Service", service)
    selector = lookup(parts.wanted[key], ("spec", "selector")) if key else {}
    usual = {name: value for name, value in labels.items() if name in ("app.kubernetes.io/name", "app.kubernetes.io/instance", COMPONENT)}
    return selector if isinstance(selector, dict) and selector and selector.items() <= labels.items() else usual


def _patched_service(view: ClusterView, path: str, value: object) -> str:
    return repairs.patch("Service", view.about.profile.service, path, value, namespace=view.namespace)


def _closed(parts: InstalledObjects, running: NamespaceState, labels: Mapping[str, str], port: object) -> Iterator[DoctorFinding]:
    """A port is closed where policies for ingress select its pods and none allows it."""
    chosen = [each for each in running.policies if _is_selected(each.get("spec") or {}, labels)]
    ports = [rule.get("ports") or [{}] for each in chosen for rule in each["spec"].get("ingress") or ()]
    if not chosen or any(entry.get("port") in (None, "webhook", port) for each in ports for entry in each):
        return
    names = ", ".join(each["metadata"]["name"] for each in chosen)
    ours = next((key for key, obj in parts.of_kind("NetworkPolicy") if _is_selected(obj["spec"], labels) and parts.is_missing(key)), None)
    text = f"network policies of the namespace must allow port {port} of the server's pods, and don't: API servers can't reach them"
    yield error("network", f"NetworkPolicy {names}", text, parts.restore("NetworkPolicy", ours[2]) if ours else "")


def _is_selected(spec: Node, labels: Mapping[str, str]) -> bool:
    """Whether a policy for ingress selects pods with these labels."""
    chosen = spec.get("podSelector") or {}
    if "Ingress" not in (spec.get("policyTypes") or ("Ingress",)):
        return False
    wanted = (
        Requirement(str(each["key"]), str(each.get("operator")), frozenset(each.get("values") or ()))
        for each in chosen.get("matchExpressions") or ()
    )
    return (chosen.get("matchLabels") or {}).items() <= labels.items() and all(each.holds(labels, whole=True) for each in wanted)


def _selects(chosen: object, obj: Node) -> bool:
    return isinstance(chosen, dict) and bool(chosen) and chosen.items() <= (obj["metadata"].get("labels") or {}).items()


def _containers(deployment: Node) -> list[Node]:
    return list(find_pod_spec(deployment).get("containers") or ())


def _image(deployment: Node) -> str:
    return str(next(iter(_containers(deployment)), {}).get("image") or "")


def _labels(deployment: Node) -> dict[str, str]:
    labels = lookup(deployment, ("spec", "template", "metadata", "labels"))
    return labels if isinstance(labels, dict) else {}


def _mounts(deployment: Node, config_map: str) -> bool:
    return any((each.get("configMap") or {}).get("name") == config_map for each in find_pod_spec(deployment).get("volumes") or ())


def _shortened(text: str) -> str:
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= _MAX_MESSAGE_CHARACTERS else f"{line[:_MAX_MESSAGE_CHARACTERS]}..."


def report_unread(sources: Iterable[Mapping[str, str]]) -> Iterator[DoctorFinding]:
    """Warn of objects that may not be read, except those that other checks read too."""
    for source in sources:
        for what, why in source.items():
            if what.partition(" ")[0] not in _READ_ELSEWHERE:
                yield warning("permission", what, f"can't be read: {why}")
