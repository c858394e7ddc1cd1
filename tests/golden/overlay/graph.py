"""Rules of graphs that the Go operator 1.2 has in another form, and what only v1alpha1 can say."""

from __future__ import annotations

from collections.abc import Callable

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At, Hits
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.domain import DISCOVERY_MODE, EXECUTORS, ORIGIN_VERSION, VLLM_EXECUTOR, list_components
from dynamo_webhooks.policies.graph import scaling_adapter
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.semver import is_semver
from dynamo_webhooks.policies.v1alpha1.service import service_null as service_null_here
from tests.golden.overlay.declare import same, variant

same("failover-intrapod-discovery-mode")  # an empty mode is none there, see engine.py


@variant("dgd-annotation-discovery-mode", when=())
def dgd_annotation_discovery_mode(at: At) -> Hits:
    """A null reads as an empty text, as in the next two."""
    if DISCOVERY_MODE in at.value and at.value[DISCOVERY_MODE] not in ("pod", "container"):
        yield at.not_supported((Key(DISCOVERY_MODE),), at.value[DISCOVERY_MODE] or "", ("pod", "container"))


@variant("dgd-annotation-origin-version", when=())
def dgd_annotation_origin_version(at: At) -> Hits:
    if ORIGIN_VERSION in at.value and not is_semver(value := at.value[ORIGIN_VERSION] or ""):
        yield at.invalid((Key(ORIGIN_VERSION),), value, f'must be a semantic version such as 1.2.0, got "{value}"')


@variant("dgd-annotation-vllm-executor", when=())
def dgd_annotation_vllm_executor(at: At) -> Hits:
    if VLLM_EXECUTOR in at.value and (at.value[VLLM_EXECUTOR] or "").lower() not in EXECUTORS:
        yield at.not_supported((Key(VLLM_EXECUTOR),), at.value[VLLM_EXECUTOR] or "", EXECUTORS)


@variant("service-annotation-vllm-executor")
def service_annotation_vllm_executor(at: At) -> Hits:
    """A null reads as an empty text."""
    annotations = at.value["annotations"]
    if VLLM_EXECUTOR in annotations and (annotations[VLLM_EXECUTOR] or "").lower() not in EXECUTORS:
        yield at.not_supported(("annotations", Key(VLLM_EXECUTOR)), annotations[VLLM_EXECUTOR] or "", EXECUTORS)


@variant("service-null")
def service_null(at: At) -> Hits:
    """A null service on either side of the request ends in a fault, which refuses it."""
    yield from service_null_here.check(at)
    old = (at.review.old or {}).get("spec") or {}
    for name, service in (old.get("services") or {}).items():
        if service is None:
            yield at.invalid(("services", Key(name)), None, "must be an object, got null in the stored graph")


@variant("scaling-adapter-owns-replicas")
def scaling_adapter_owns_replicas(at: At) -> Hits:
    """Only the adapter of the new object counts."""
    if at.value.get("scalingAdapter") is not None:
        yield from scaling_adapter.scaling_adapter_owns_replicas.check(at)


@variant("topology-service-constraint-required")
def topology_service_constraint_required(at: At) -> Hits:
    """Every component needs a constraint."""
    if at.value["topologyConstraint"].get("packDomain"):
        return
    for index, _, component in list_components(at.value):
        if component.get("topologyConstraint") is None:
            text = "must be set while the graph's constraint has no packDomain, got nothing"
            yield at.required(("components", index, "topologyConstraint"), text)


def _only_new(name: str) -> Callable[[At], Hits]:
    """The check of a rule where the object's generation is 1, which is how a create is recognised."""
    rule = find_rule(name)
    assert rule is not None

    def check(at: At) -> Hits:
        if at.review.metadata.get("generation") == 1:
            yield from rule.check(at)

    return check


for _name in ("cluster-not-found", "cluster-unreadable", "domain-broader", "domain-unknown"):
    variant(f"topology-{_name}", on=(CREATE, UPDATE))(_only_new(f"topology-{_name}"))
