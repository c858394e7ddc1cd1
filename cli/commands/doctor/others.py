"""Finds other operators: Deployments and Leases of those that run graphs too, and webhook configurations for Dynamo's kinds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ....api.kinds import GROUP, KINDS
from ....kube.errors import ForbiddenError
from ....kube.protocol import Cluster, Node
from ....kube.resources import DEPLOYMENTS, LEASES, MUTATING, PODS, SERVICES, VALIDATING
from ...installation.parts import COMPONENT, InstalledObjects
from .certificates import describe_late_lease
from .finding import DoctorFinding, error, format_name, info, warning
from .observe import ClusterView, list_all

_LEASE: Final = "dynamo.nvidia.com"  # of the Go operator, in whatever namespace its chart names
_FLAG: Final = "--operator-version"  # which no other controller has
_UNKNOWN: Final = "can't be listed, so other operators are unknown"
_PART_OF: Final = ("app.kubernetes.io/part-of", "dynamo-operator")


async def find_other_operators(cluster: Cluster, view: ClusterView, parts: InstalledObjects) -> list[DoctorFinding]:
    """Findings about other operators. Two of them that run the same graphs overwrite each other's workloads."""
    findings: list[DoctorFinding] = []
    deployments = await list_all(cluster, DEPLOYMENTS, findings, _UNKNOWN)
    operators = [each for each in deployments if _is_operator(each) and not _is_ours(each, parts)]
    for each in operators:
        findings += _operator(view, each)
    named = {format_name(each) for each in operators}
    findings += await _leases(cluster, view, deployments, named)
    for resource in (MUTATING, VALIDATING):
        try:
            for each in (await cluster.list(resource)).items:
                findings += await _webhooks(cluster, view, resource.kind, each)
                if resource is VALIDATING and _authorises_pods(each):
                    findings.append(_exempt(each, parts))
        except ForbiddenError as failed:
            findings.append(warning("permission", resource.plural, f"can't be listed, so webhooks of others are unknown: {failed.message}"))
    return findings


def _is_operator(deployment: Node) -> bool:
    """Whether a Deployment runs graphs: the Go operator, or another reconciler like ours."""
    template = (deployment.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if labels.get(_PART_OF[0]) == _PART_OF[1]:
        return bool(labels.get(COMPONENT) == "reconciler")
    words = [
        str(word)
        for container in (template.get("spec") or {}).get("containers") or ()
        for word in (*(container.get("command") or ()), *(container.get("args") or ()))
    ]
    return any(word.partition("=")[0] == _FLAG for word in words)


def _is_ours(deployment: Node, parts: InstalledObjects) -> bool:
    metadata = deployment["metadata"]
    return ("Deployment", metadata.get("namespace"), metadata["name"]) in parts.wanted or (
        not parts.wanted and metadata.get("namespace") == parts.namespace
    )


def _operator(view: ClusterView, deployment: Node) -> Iterator[DoctorFinding]:
    metadata, what = deployment["metadata"], f"Deployment {format_name(deployment)}"
    if (deployment.get("spec") or {}).get("replicas") == 0:
        return
    if metadata.get("namespace") in view.claims:
        yield info("operators", what, "runs the graphs of its own namespace, which it has claimed")
        return
    if _has_claimed(view):
        yield info("operators", what, f"leaves alone the graphs of namespace {view.namespace}, which this installation has claimed")
        return
    yield error("operators", what, _BOTH, _stopped(deployment))


def _has_claimed(view: ClusterView) -> bool:
    """Whether this installation is for its namespace alone, and others leave that alone."""
    return bool(view.about.restricted) and view.namespace in view.claims


_BOTH: Final = "runs graphs too: one operator alone may, because two overwrite each other's workloads; the repair stops that one"


def _stopped(deployment: Node) -> str:
    metadata = deployment["metadata"]
    return f"kubectl -n {metadata.get('namespace', '')} scale deployment {metadata['name']} --replicas=0"


async def _leases(cluster: Cluster, view: ClusterView, deployments: list[Node], named: set[str]) -> list[DoctorFinding]:
    """Leases of leaders that others hold and renew, each with the Deployment of the holder."""
    findings: list[DoctorFinding] = []
    election = view.about.election
    for name in dict.fromkeys((_LEASE, *((election[1],) if election else ()))):
        for lease in await list_all(cluster, LEASES, findings, _UNKNOWN, f"metadata.name={name}"):
            if (lease["metadata"].get("namespace"), name) != election and _is_held(lease, view.now):
                findings += await _holder(cluster, view, lease, deployments, named)
    return findings


def _is_held(lease: Node, now: datetime) -> bool:
    return bool((lease.get("spec") or {}).get("holderIdentity")) and describe_late_lease(lease, now) is None


async def _holder(cluster: Cluster, view: ClusterView, lease: Node, deployments: list[Node], named: set[str]) -> list[DoctorFinding]:
    """Finds out who holds the Lease; silent where the Deployment has a finding of its own, or one of both has claimed its namespace."""
    identity, what = str(lease["spec"]["holderIdentity"]), f"Lease {format_name(lease)}"
    if lease["metadata"].get("namespace") in view.claims or _has_claimed(view):
        return []
    for pod in await _pods(cluster, identity.rpartition("_")[0] or identity):
        if (owner := _deployment_of(pod, deployments)) is not None:
            text = f"is held by {identity} and renewed. Deployment {format_name(owner)} {_BOTH}"
            return [] if format_name(owner) in named else [error("operators", what, text, _stopped(owner))]
    if any(identity.startswith(f"{full.partition('/')[2]}-") for full in named):
        return []
    text = (
        f"is held by {identity} and renewed: an operator outside of this cluster's Deployments runs graphs too; stop it, or remove this one"
    )
    return [error("operators", what, text)]


async def _pods(cluster: Cluster, name: str) -> list[Node]:
    """The pods of a name, in all namespaces; none where they may not be listed."""
    try:
        return (await cluster.list(PODS, fields=f"metadata.name={name}")).items
    except ForbiddenError:
        return []


def _deployment_of(pod: Node, deployments: list[Node]) -> Node | None:
    namespace = str(pod["metadata"].get("namespace"))
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("kind") != "ReplicaSet":
            continue
        # a ReplicaSet is called after its Deployment, with a hash
        name = str(owner["name"]).rpartition("-")[0]
        for each in deployments:
            if (each["metadata"].get("namespace"), each["metadata"]["name"]) == (namespace, name):
                return each
    return None


async def _webhooks(cluster: Cluster, view: ClusterView, kind: str, configuration: Node) -> list[DoctorFinding]:
    """Entries of others for Dynamo's kinds: each delays writes, and one whose Service is gone refuses them all."""
    name = configuration["metadata"]["name"]
    if (kind, name) in {(str(target), own) for target, own in view.about.targets}:
        return []
    what = f"{kind} {name}"
    entries = [each for each in configuration.get("webhooks") or () if _matches(each)]
    for entry in entries:
        service = (entry.get("clientConfig") or {}).get("service") or {}
        if not service or await cluster.get(SERVICES, str(service.get("name")), str(service.get("namespace"))) is not None:
            continue
        text = f"{entry['name']} must lead to a Service, and {service.get('namespace')}/{service.get('name')} is not there"
        if entry.get("failurePolicy") == "Ignore":
            return [warning("operators", what, f"{text}: each write waits for it", f"kubectl delete {kind.lower()} {name}")]
        return [error("operators", what, f"{text}: every write that it matches is refused", f"kubectl delete {kind.lower()} {name}")]
    text = f"belongs to another installation, and validates or changes the same objects: {', '.join(each['name'] for each in entries)}"
    return [info("operators", what, text)] if entries else []


def _authorises_pods(configuration: Node) -> bool:
    """Whether a configuration is that of Grove's authorizer, which is asked about changes of pods."""
    for entry in configuration.get("webhooks") or ():
        service = (entry.get("clientConfig") or {}).get("service") or {}
        names = (configuration["metadata"]["name"], str(entry.get("name")), str(service.get("name")), str(service.get("namespace")))
        rules = entry.get("rules") or ()
        if any("grove" in name for name in names) and any("pods" in (rule.get("resources") or ()) for rule in rules):
            return True
    return False


def _exempt(configuration: Node, parts: InstalledObjects) -> DoctorFinding:
    """Which account Grove's configuration must exempt, so that pods get labels and are replaced."""
    templates = [deployment["spec"]["template"] for _, deployment in parts.of_kind("Deployment")]
    name = next(
        (
            template["spec"].get("serviceAccountName")
            for template in templates
            if template["metadata"]["labels"].get(COMPONENT) == "reconciler"
        ),
        "",
    )
    account = f"system:serviceaccount:{parts.namespace}:{name or 'dynamo-webhooks-reconciler'}"
    text = f"refuses changes of Grove's pods by accounts that Grove's configuration doesn't exempt: add {account}"
    return info("authorizer", f"{VALIDATING.kind} {configuration['metadata']['name']}", text)


def _matches(entry: Node) -> bool:
    """Whether an entry names one of our kinds; those for everything are policies of the cluster."""
    plurals = {kind.plural for kind in KINDS}
    return any(GROUP in (rule.get("apiGroups") or ()) and {*(rule.get("resources") or ())} & plurals for rule in entry.get("rules") or ())
