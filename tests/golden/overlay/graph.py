"""Rules of graphs, checkpoints, requests and models, and defaults, that the Go operator 1.2 has in another form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dynamo_webhooks.policies.at import At, Findings
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.checkpoint.gpu_memory_service import ckpt_server_container as ckpt_server_container_here
from dynamo_webhooks.policies.checkpoint.gpu_memory_service import find_server
from dynamo_webhooks.policies.components import is_enabled, list_components
from dynamo_webhooks.policies.graph import replicas
from dynamo_webhooks.policies.model import model
from dynamo_webhooks.policies.request import fields
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import COMPONENT, default
from tests.golden.overlay.declare import VARIANTS, same, variant


@variant("scaling-adapter-owns-replicas")
def scaling_adapter_owns_replicas(at: At) -> Findings:
    """Only the adapter of the new object counts."""
    if at.value.get("scalingAdapter") is not None:
        yield from replicas.scaling_adapter_owns_replicas.check(at)


@variant("topology-service-constraint-required")
def topology_service_constraint_required(at: At) -> Findings:
    """Every component needs a constraint."""
    if at.value["topologyConstraint"].get("packDomain"):
        return
    for index, _, component in list_components(at.value):
        if component.get("topologyConstraint") is None:
            text = "must be set while the graph's constraint has no packDomain, got nothing"
            yield at.required(("components", index, "topologyConstraint"), text)


def _only_new(name: str) -> Callable[[At], Findings]:
    """The check of a rule where the object's generation is 1, which is how a create is recognised."""
    rule = find_rule(name)
    assert rule is not None

    def check(at: At) -> Findings:
        if at.review.metadata.get("generation") == 1:
            yield from rule.check(at)

    return check


for _name in ("cluster-not-found", "cluster-unreadable"):
    variant(f"topology-{_name}", on=(CREATE, UPDATE))(_only_new(f"topology-{_name}"))


_DETECTOR: Final = "eppConfig.config.saturationDetector"

same("dgdr-thorough-needs-backend", on=(CREATE,))


@variant("ckpt-server-container")
def ckpt_server_container(at: At) -> Findings:
    """Any init container of that name will do."""
    if is_enabled(at.value["gpuMemoryService"]) and find_server(at.value) is None:
        yield from ckpt_server_container_here.check(at)


@variant("model-lora-uri-scheme")
def model_lora_uri_scheme(at: At) -> Findings:
    """Only the scheme is looked at."""
    uri = at.get("source.uri")
    if uri and not uri.startswith(("s3://", "hf://")):
        yield from model.model_lora_uri_scheme.check(at)


@variant("dgdr-hardware-required", on=(CREATE,))
def dgdr_hardware_required(at: At) -> Findings:
    """Any single field is enough, whatever its value."""
    hardware = at.get("spec.hardware") or {}
    if all(hardware.get(field) in (None, "") for field in ("gpuSku", "vramMb", "numGpusPerNode")):
        yield from fields.dgdr_hardware_required.check(at)


def mut_saturation_threshold(at: At) -> Iterator[Any]:
    """A saturation detector without a staleness threshold gets a zero one.

    Why
        The Go operator writes the type's zero value back.

    Before
        spec: {name: picker, type: epp, eppConfig: {config: {saturationDetector: {queueDepthThreshold: 5}}}}

    After
        spec: {name: picker, type: epp, eppConfig: {config: {saturationDetector: {queueDepthThreshold: 5, metricsStalenessThreshold: 0s}}}}
    """
    detector = at.get(_DETECTOR)
    if detector is not None and detector.get("metricsStalenessThreshold") is None:
        yield at.set(f"{_DETECTOR}.metricsStalenessThreshold", "0s")


VARIANTS["mut-saturation-threshold"] = default("DYND05", where=COMPONENT, when="eppConfig")(mut_saturation_threshold)
