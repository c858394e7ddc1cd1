"""Why graphs don't run, by cause and orchestrator: the sentence is in the graph's condition and in an Event within seconds.

Kubernetes' own controllers, the scheduler's rules and the controller of LeaderWorkerSets are real; Grove's operator is played, and so is
what kubelets and the scheduler write into the status of pods. The table of docs/reconciler.md is `CAUSES`.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

from tests.cluster.assets.build import LWS
from tests.cluster.assets.wanted import wanted
from tests.cluster.harness import controllers
from tests.cluster.neighbours.neighbourhood import change_configuration, leader_worker_sets
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE
from tests.cluster.reconciler.grove import Grove, definitions
from tests.cluster.reconciling import ACCOUNT, EVENTS, GRAPHS, NAMESPACE, PODS, Reconciled, installed
from tests.cluster.rendering import charted, of_kind
from tests.cluster.rights import GROUP
from tests.reconciler.rendering import component, graph, vllm

Node: TypeAlias = dict[str, Any]
Set: TypeAlias = Callable[[Reconciled, str], None]
PAGE: Final = Path(__file__).parents[3] / "docs" / "reconciler.md"
MAX_TOLD_SECONDS: Final = 15
ORCHESTRATORS: Final[dict[str, Node]] = {
    "Deployment": {},
    "LeaderWorkerSet": {"multinode": {"nodeCount": 2}},
    "Grove": {},
}
_WORKLOADS: Final = {"deployments", "leaderworkersets", "podcliquesets"}
_WAITS: Final = {"phase": "Pending"}
_ELSEWHERE: Final = "webhooks.example.com/refused"


class Cause(NamedTuple):
    """Why pods of a graph don't run."""

    name: str
    said: str  # in the condition
    before: Set | None = None  # the graph is made
    status: Node | None = None  # of every pod, as a kubelet or the scheduler writes it
    component: Node | None = None  # fields of the worker


def _quota(**hard: str) -> Set:
    def apply(site: Reconciled, namespace: str) -> None:
        named = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
        site.plane.apply(_object("v1", "ResourceQuota", namespace, spec={"hard": named}))

    return apply


def _object(version: str, kind: str, namespace: str, name: str = "few", **more: Any) -> Node:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


def _restrict(site: Reconciled, namespace: str) -> None:
    site.patch("/api/v1/namespaces", "", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})


def _refuse(site: Reconciled, namespace: str) -> None:
    """Registers a webhook of somebody else that nobody answers for."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    entry = {
        "name": "pods.example.com",
        "rules": [rule],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "namespaceSelector": {"matchLabels": {_ELSEWHERE: "true"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    version, kind = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
    site.plane.apply({"apiVersion": version, "kind": kind, "metadata": {"name": "others"}, "webhooks": [entry]})
    site.patch("/api/v1/namespaces", "", namespace, {"metadata": {"labels": {_ELSEWHERE: "true"}}})


def _take_name(site: Reconciled, namespace: str) -> None:
    site.plane.apply(_object("v1", "Service", namespace, "g-frontend", spec={"ports": [{"port": 1}]}))


def _waiting(reason: str, message: str) -> Node:
    state = {
        "name": "main",
        "ready": False,
        "restartCount": 1,
        "image": "",
        "imageID": "",
        "state": {"waiting": {"reason": reason, "message": message}},
    }
    return {**_WAITS, "containerStatuses": [state]}


def _unplaced(message: str) -> Node:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {**_WAITS, "conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}


def _withhold(objects: list[Node]) -> Node:
    """Takes the right to create workloads from the reconciler's cluster role; gives a role of it, to be bound in namespaces."""
    [role] = [obj for obj in of_kind(objects, "ClusterRole") if obj["metadata"]["name"] == ACCOUNT]
    rules = [rule for rule in role["rules"] if _WORKLOADS & {*rule["resources"]}]
    granted = [{**rule, "verbs": ["create"]} for rule in rules]
    for rule in rules:
        rule["verbs"] = [verb for verb in rule["verbs"] if verb != "create"]
    return {**role, "metadata": {"name": "workloads"}, "rules": granted}


def _grant(namespace: str) -> Node:
    """Lets the reconciler create workloads in a namespace."""
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}]
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "workloads"}
    return _object(f"{GROUP}/v1", "RoleBinding", namespace, "workloads", roleRef=role, subjects=subjects)


_FORBIDDEN: Final = Cause("a permission that is missing in one namespace", f'{ACCOUNT}" cannot create resource')
CAUSES: Final = (
    Cause("a quota of pods", "exceeded quota: few", _quota(pods="0")),
    Cause("a quota of GPUs", "exceeded quota: few", _quota(requests_nvidia_com__gpu="0")),
    Cause("the namespace's PodSecurity", 'violates PodSecurity "restricted:', _restrict),
    Cause("an invalid container", "tolerations[0].operator: must be", component={"pod": {"tolerations": [{"key": "a", "operator": "In"}]}}),
    Cause("a missing claim", 'Unschedulable: persistentvolumeclaim "a" not found', status=_unplaced('persistentvolumeclaim "a" not found')),
    Cause(
        "a missing Secret",
        'CreateContainerConfigError: secret "a" not found',
        status=_waiting("CreateContainerConfigError", 'secret "a" not found'),
    ),
    Cause("an image that can't be pulled", "ImagePullBackOff: not found", status=_waiting("ImagePullBackOff", "not found")),
    Cause("a crash loop", "CrashLoopBackOff: back-off", status=_waiting("CrashLoopBackOff", "back-off 10s restarting")),
    Cause("no node with room", "Unschedulable: 0/4 nodes are available", status=_unplaced("0/4 nodes are available")),
    Cause("another's webhook", 'failed calling webhook "pods.example.com"', _refuse),
    Cause("another's object of a child's name", "Service g-frontend", _take_name),
    _FORBIDDEN,
)


def test_the_page_has_the_table() -> None:
    rows = [f"| {cause.name} | `{cause.said}` |" for cause in CAUSES]
    assert "\n".join(("| Why pods don't run | The message has |", "|---|---|", *rows)) in PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    built, home = wanted(LWS), tmp_path_factory.mktemp("causes")
    with contextlib.ExitStack() as stack:
        objects = charted(NAMESPACE, "reconciler.orchestrators=true")
        objects.append(_withhold(objects))
        started = stack.enter_context(installed(planes, home, objects=objects, definitions=definitions()))
        change_configuration(home, orchestrators={"lws": {"enabled": True}})
        started.neighbours.append(stack.enter_context(controllers(started.plane)))
        started.neighbours.append(stack.enter_context(leader_worker_sets(started.plane, built)))
        stack.enter_context(Grove(started.plane))
        started.reconcile()
        yield started


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_the_cause_is_in_the_condition_and_in_an_event(site: Reconciled, orchestrator: str) -> None:
    namespaces = [(case, site.plane.namespace()) for case in CAUSES]
    site.plane.apply(*(_grant(namespace) for cause, namespace in namespaces if cause is not _FORBIDDEN))
    for cause, namespace in namespaces:
        if cause.before is not None:
            cause.before(site, namespace)
    began = time.monotonic()
    for cause, namespace in namespaces:
        worker = vllm("w", **{"replicas": 1, **ORCHESTRATORS[orchestrator], **(cause.component or {})})
        marks = {"nvidia.com/enable-grove": str(orchestrator == "Grove").lower()}
        made = graph(component("Frontend", "frontend", {"image": "img:1"}, replicas=1), worker, annotations=marks)
        site.plane.apply({**made, "metadata": {**made["metadata"], "namespace": namespace}})
    waited: dict[str, float] = {}

    def told() -> bool:
        for cause, namespace in namespaces:
            if cause.status is not None:
                _write_status(site, namespace, cause.status)
            if cause.name not in waited and _is_told(site, namespace, cause.said):
                waited[cause.name] = time.monotonic() - began
        return len(waited) == len(CAUSES)

    try:
        site.until(told, "each cause being told")
    finally:
        print(waited, *(site.condition(namespace) for case, namespace in namespaces if case.name not in waited))
    most = MAX_TOLD_SECONDS + len(CAUSES)  # a second to make each
    assert max(waited.values()) < most, waited


def _write_status(site: Reconciled, namespace: str, status: Node) -> None:
    for pod in site.plane.request("GET", PODS.format(namespace)).body["items"]:
        if not (pod.get("status") or {}).keys() & {"containerStatuses", "conditions"}:
            path = f"{PODS.format(namespace)}/{pod['metadata']['name']}/status"
            site.plane.request("PATCH", path, {"status": status}, kind=MERGE)


def _is_told(site: Reconciled, namespace: str, words: str) -> bool:
    conditions = site.get(GRAPHS, namespace, "g").get("status", {}).get("conditions", [])
    events = site.plane.request("GET", EVENTS.format(namespace)).body["items"]
    messages = [
        obj["message"] for obj in events if (obj["involvedObject"]["kind"], obj["involvedObject"]["name"]) == ("DynamoGraphDeployment", "g")
    ]
    return all(any(words in text for text in texts) for texts in (messages, [condition.get("message", "") for condition in conditions]))
