"""Rules of graphs, checkpoints, requests and models, and defaults, that the Go operator 1.2 has in another form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.annotations import DISCOVERY_MODE, EXECUTORS, ORIGIN_VERSION, VLLM_EXECUTOR
from dynamo_webhooks.policies.at import At, Hits
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.checkpoint.gpu_memory_service import ckpt_server_container as ckpt_server_container_here
from dynamo_webhooks.policies.checkpoint.gpu_memory_service import find_server
from dynamo_webhooks.policies.components import is_enabled, list_components
from dynamo_webhooks.policies.defaults import graph as defaults
from dynamo_webhooks.policies.finding import Edit
from dynamo_webhooks.policies.graph import replicas
from dynamo_webhooks.policies.model import model
from dynamo_webhooks.policies.request import fields
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import COMPONENT, default
from dynamo_webhooks.policies.semver import is_semver
from dynamo_webhooks.policies.v1alpha1.services import service_null as service_null_here
from tests.golden.overlay.declare import VARIANTS, same, variant


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
        yield from replicas.scaling_adapter_owns_replicas.check(at)


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


_DETECTOR: Final = "eppConfig.config.saturationDetector"
_REPOSITORY: Final = "nvcr.io/nvidia/ai-dynamo/dynamo-planner"

same("dgdr-sla-optimization-type", "dgdr-thorough-needs-backend", on=(CREATE,))


@variant("ckpt-server-container")
def ckpt_server_container(at: At) -> Hits:
    """Any init container of that name will do."""
    if is_enabled(at.value["gpuMemoryService"]) and find_server(at.value) is None:
        yield from ckpt_server_container_here.check(at)


@variant("model-base-name-required")
def model_base_name_required(at: At) -> Hits:
    """Only the empty text is refused, as in the next one."""
    if not at.get("spec.baseModelName"):
        yield at.required("spec.baseModelName", "must name the base model, got nothing")


@variant("model-name-required")
def model_name_required(at: At) -> Hits:
    if not at.get("spec.modelName"):
        yield at.required("spec.modelName", "must name the model, got nothing")


@variant("model-lora-uri-scheme")
def model_lora_uri_scheme(at: At) -> Hits:
    """Only the scheme is looked at."""
    uri = at.get("source.uri")
    if uri and not uri.startswith(("s3://", "hf://")):
        yield from model.model_lora_uri_scheme.check(at)


@variant("dgdr-hardware-required", on=(CREATE,))
def dgdr_hardware_required(at: At) -> Hits:
    """Any single field is enough, whatever its value."""
    hardware = at.get("spec.hardware") or {}
    if all(hardware.get(field) in (None, "") for field in ("gpuSku", "vramMb", "numGpusPerNode")):
        yield from fields.dgdr_hardware_required.check(at)


@variant("mut-dgd-origin-version", on=(CREATE,))
def mut_dgd_origin_version(at: At) -> Iterator[Edit]:
    """Stamped on creation only, and not where the key is there with a null."""
    if ORIGIN_VERSION not in at.review.annotations:
        yield from defaults.mut_dgd_origin_version.check(at)


@variant("mut-dgd-replicas")
def mut_dgd_replicas(at: At) -> Iterator[Edit]:
    """Absent replicas are 1, whatever the stored object says."""
    if at.value.get("replicas") is None:
        yield at.set("replicas", 1)


@variant("mut-dgdr-image")
def mut_dgdr_image(at: At) -> Iterator[Edit]:
    """The version goes into the tag as it is."""
    version = at.fact("operatorVersion")
    if not at.get("spec.image") and version not in ("", "unknown"):
        yield at.set("spec.image", f"{_REPOSITORY}:{version}")


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
