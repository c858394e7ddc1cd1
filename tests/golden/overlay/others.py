"""Rules of checkpoints, requests and models, and defaults, that the Go operator 1.2 has in another form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.policies.at import At, Hits
from dynamo_webhooks.policies.checkpoint import ckpt
from dynamo_webhooks.policies.defaults import mut
from dynamo_webhooks.policies.domain import ORIGIN_VERSION, is_enabled
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.model import model
from dynamo_webhooks.policies.request import dgdr
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import COMPONENT, default
from tests.golden.overlay.declare import VARIANTS, same, variant

_DETECTOR: Final = "eppConfig.config.saturationDetector"
_REPOSITORY: Final = "nvcr.io/nvidia/ai-dynamo/dynamo-planner"

same("dgdr-sla-optimization-type", "dgdr-thorough-needs-backend", on=(CREATE,))
same("dgdr-spec-locked")  # specs are compared as they are written, see engine.py


@variant("ckpt-server-container")
def ckpt_server_container(at: At) -> Hits:
    """Any init container of that name will do."""
    if is_enabled(at.value["gpuMemoryService"]) and ckpt.find_server(at.value) is None:
        yield from ckpt.ckpt_server_container.check(at)


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
        yield from dgdr.dgdr_hardware_required.check(at)


@variant("mut-dgd-origin-version", on=(CREATE,))
def mut_dgd_origin_version(at: At) -> Iterator[Edit]:
    """Stamped on creation only, and not where the key is there with a null."""
    if ORIGIN_VERSION not in at.review.annotations:
        yield from mut.mut_dgd_origin_version.check(at)


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
