"""Whether a request can be profiled, from its fields and the cluster's contents, and all objects made for its profiling. Pure."""

from collections.abc import Iterable
from typing import Final

from ...api.line import decide_line
from ...api.operator.configuration import OperatorConfiguration
from ...conversion.lens.protocol import Fields
from ...conversion.objects import convert_object, target
from ..render.children import RenderedChildren
from ..render.errors import RenderError
from .annotations import read_alpha_fields, read_requested_hardware
from .graph_override import explain_unfit, override_of
from .hardware import NEEDED, GpuInventory, fill_hardware, list_unknown_products, read_node_labels
from .job import format_config, render_job, render_output, render_rights
from .names import job_of

MAX_NAME_CHARACTERS: Final = 63  # of a Job: its controller writes the name into a label of its pods
MAX_SPEC_BYTES: Final = 256 * 1024  # for the profiler: it shares a ConfigMap with the result
_NOT_FOUND: Final = (
    "GPU hardware info required but auto-discovery failed. Verify DCGM exporter is reachable from the operator's namespace, "
    "or set spec.hardware.{gpuSku,vramMb,numGpusPerNode} explicitly."
)


def read_claim_name(request: Fields) -> str:
    """The claim that holds the model's weights; empty for none."""
    return str(((request.get("spec") or {}).get("modelCache") or {}).get("pvcName") or "")


def explain_invalid(request: Fields, gpus: GpuInventory, *, claim: bool) -> str:
    """The first reason why a request can't be profiled; empty when it can. `claim`: whether the claim of its model cache is there."""
    spec, name = request.get("spec") or {}, str(request["metadata"]["name"])
    namespace = str(request["metadata"]["namespace"])
    if spec.get("searchStrategy") == "thorough" and spec.get("backend") == "auto":
        return (
            'spec.searchStrategy "thorough" is incompatible with spec.backend "auto": '
            "set spec.backend to a specific backend (sglang, trtllm, or vllm)"
        )
    if (excess := len(job_of(request)) - MAX_NAME_CHARACTERS) > 0:
        longest = len(name) - excess
        return f"metadata.name: must have at most {longest} characters, got {len(name)}; create the request with a shorter name"
    elsewhere = read_alpha_fields(request).namespace
    if elsewhere not in ("", namespace):
        return f"spec.deploymentOverrides.namespace: must be {namespace}, the request's own, got {elsewhere[:63]}; leave it out"
    if (wanted := read_claim_name(request)) and not claim:
        return f"model cache PVC {wanted} not found in namespace {namespace}"
    if (override := override_of(request)) is not None and (unfit := explain_unfit(override)):
        return f"spec.overrides.dgd.{unfit}"
    if wrong := _without_gpus(request, gpus):
        return wrong
    size = len(format_config(request, read_requested_hardware(request)).encode())
    return (
        f"spec: must be at most {MAX_SPEC_BYTES} bytes of JSON, got {size}; shorten overrides or features" if size > MAX_SPEC_BYTES else ""
    )


def explain_obstacle(request: Fields, hardware: Fields) -> str:
    """Explains why a valid request can have no Job; empty when it can."""
    if not hardware.get("totalGpus"):
        return "auto-discovery failed: no node of this SKU was found; set spec.hardware.totalGpus"
    if not (request.get("spec") or {}).get("image"):
        return "spec.image is required but not set; ensure the defaulting webhook ran or set spec.image explicitly"
    return ""


def _without_gpus(request: Fields, gpus: GpuInventory) -> str:
    requested = read_requested_hardware(request)
    known = fill_hardware(requested, gpus)
    if all(known.get(name) for name in NEEDED):
        return ""
    if products := list_unknown_products(requested, gpus):
        return f"spec.hardware.gpuSku: must be given, since no SKU is known for {', '.join(products)}; set it and vramMb, numGpusPerNode"
    return f"{_NOT_FOUND} ({gpus.why})" if gpus.why else _NOT_FOUND


def children(request: Fields, nodes: Iterable[Fields], claims: frozenset[str], settings: OperatorConfiguration) -> RenderedChildren:
    """Account, rights, ConfigMap and Job of a request of either version; none for one that can't be profiled, and why. `claims`: names."""
    request = convert_object(request, target("nvidia.com/v1beta1", decide_line(settings.operator.version))).object
    gpus = GpuInventory(read_node_labels(nodes))
    hardware = fill_hardware(read_requested_hardware(request), gpus)
    claim = read_claim_name(request)
    if wrong := explain_invalid(request, gpus, claim=not claim or claim in claims) or explain_obstacle(request, hardware):
        field, separator, reason = wrong.partition(": ")
        named = separator and field.startswith(("spec.", "metadata.")) and " " not in field
        return RenderedChildren([], [RenderError(tuple(field.split(".")), reason) if named else RenderError(("spec",), wrong)])
    made = render_job(request, hardware, settings)
    account = str(made["spec"]["template"]["spec"]["serviceAccountName"])
    return RenderedChildren([*render_rights(request, account), render_output(request, hardware), made], [])
