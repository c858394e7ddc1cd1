"""Contents of a request's annotations: what v1alpha1 asks for that v1beta1 has no field for, and this project's own notes."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...conversion.kinds import KINDS
from ...conversion.lens.protocol import Fields
from ...conversion.remainder import read_remainder
from ..common.resources import RETRY
from ..render.merge import as_map, string_map
from .names import PROGRESS

_KEY: Final = "disagg.yaml"
# the profiler's word -> that of v1beta1
_HARDWARE: Final = {"gpu_model": "gpuSku", "gpuModel": "gpuSku", "num_gpus_per_node": "numGpusPerNode", "gpu_vram_mib": "vramMb"}


class AlphaFields(NamedTuple):
    """Empty where the object was written in v1beta1."""

    config_map: str = ""
    config_key: str = _KEY
    output_claim: str = ""
    name: str = ""  # of the graph
    namespace: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    hardware: Mapping[str, Any] = {}


def read_alpha_fields(request: Fields) -> AlphaFields:
    """Reads v1alpha1's fields, which each line keeps in annotations of its own; passes over what can't be read. Linear in their size."""
    spec = read_remainder(KINDS["DynamoGraphDeploymentRequest"], request["metadata"].get("annotations") or {}, rightward=False)[0].spec
    profiling, overrides = as_map(spec.get("profilingConfig")), as_map(spec.get("deploymentOverrides"))
    source = as_map(profiling.get("configMapRef"))
    return AlphaFields(
        config_map=_text(source.get("name")),
        config_key=_text(source.get("key")) or _KEY,
        output_claim=_text(profiling.get("outputPVC")),
        name=_text(overrides.get("name")),
        namespace=_text(overrides.get("namespace")),
        labels=string_map(as_map(overrides.get("labels"))),
        annotations=string_map(as_map(overrides.get("annotations"))),
        hardware=_hardware(as_map(as_map(profiling.get("config")).get("hardware"))),
    )


def graph_name(request: Fields) -> str:
    """The name of a request's graph: the one that its author has chosen, or one made of the request's."""
    template = ((request.get("spec") or {}).get("overrides") or {}).get("dgd")
    chosen = _text(as_map(as_map(template).get("metadata")).get("name"))
    return chosen or read_alpha_fields(request).name or f"{request['metadata']['name']}-dgd"


def read_requested_hardware(request: Fields) -> Fields:
    """The GPUs that an object's author describes, in either version."""
    given = (request.get("spec") or {}).get("hardware") or {}
    return {**read_alpha_fields(request).hardware, **{name: value for name, value in given.items() if value is not None}}


def _hardware(config: Fields) -> Fields:
    """The members that v1beta1 has; a model of GPU that is no SKU is left to discovery."""
    hardware = {_HARDWARE.get(name, name): value for name, value in config.items()}
    numbers = {name: hardware[name] for name in ("vramMb", "totalGpus", "numGpusPerNode") if type(hardware.get(name)) in (int, float)}
    sku = hardware.get("gpuSku")
    return {**({"gpuSku": sku} if isinstance(sku, str) and sku == sku.lower() and sku else {}), **numbers}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class RequestProgress(NamedTuple):
    """The notes on a request; empty texts are not noted yet."""

    spec: str = ""  # digest of the spec that counts, without autoApply
    retry: str = ""  # the last value of the retry annotation that was acted on
    graph: str = ""  # uid of the graph that was made
    jobs: int = 0  # how many profiling Jobs were made for the spec
    warned: str = ""  # digest of a later spec that was warned of

    def text(self) -> str:
        """Returns the notes as the annotation has them."""
        return json.dumps({name: value for name, value in self._asdict().items() if value}, separators=(",", ":"), sort_keys=True)


def read_progress(request: Fields) -> RequestProgress:
    """The notes on a request; text that this project didn't write counts as none."""
    notes = read_map(request, PROGRESS)
    known = {name: notes[name] for name in RequestProgress._fields if type(notes.get(name)) is type(getattr(RequestProgress(), name))}
    return RequestProgress(**known)


def read_retry(request: Fields) -> str:
    """The value of the annotation that asks for another attempt."""
    return str((request["metadata"].get("annotations") or {}).get(RETRY) or "")


def digest_spec(spec: Any) -> str:
    """A digest of everything in a spec that profiling depends on. Linear in its size."""
    return digest({name: value for name, value in (spec or {}).items() if name != "autoApply"})


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits; one text for all that is nested too deeply to be written, as stored statuses may be."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return "too-deep"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_map(request: Fields, name: str) -> Fields:
    """The JSON map in an annotation; text that is none counts as an empty one."""
    text = (request["metadata"].get("annotations") or {}).get(name)
    try:
        fields = json.loads(text) if isinstance(text, str) and len(text) <= 4096 else {}
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
