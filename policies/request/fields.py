"""Fields of a request."""

from ..at import At, Findings
from ..image_tag import explain_missing_version
from ..review import Fields
from ..rule import DGDR, REQUEST, Stage, differs, rule

_FIELDS = ("gpuSku", "vramMb", "numGpusPerNode")
_WHY = "it is off, and an operator restricted to a namespace can't see nodes"


@differs("the profiler needs all three fields; 1.2 requires any one, only on creation")
@rule("DYN503", where={DGDR: ""}, needs=("operatorScope", "gpuDiscovery"), stage=Stage.REQUEST)
def dgdr_hardware_required(at: At) -> Findings:
    """A request doesn't describe its GPUs, and the operator can't discover them.

    Why
        An operator that is restricted to a namespace can't read nodes. With GPU discovery disabled, it knows the GPUs only from the
        request, and the profiler needs three values: the GPU model, its memory, and the number for each node.

    Fix
        Set `hardware.gpuSku`, `hardware.vramMb` and `hardware.numGpusPerNode`, or ask the cluster's administrator to enable GPU discovery.

    Example
         # facts: {operatorScope: namespace, gpuDiscovery: false}
        -spec:  # expect
        -  backend: vllm
        +spec: {hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8}}

        -# facts: {operatorScope: namespace, gpuDiscovery: false}
         spec:
        -  hardware: {gpuSku: h200_sxm}  # expect
        +  backend: vllm
    """
    missing = _missing(at)
    if missing and _undiscovered(at):
        text = f"must give {', '.join(missing)}, or GPU discovery must be switched on: {_WHY}"
        yield at.required("spec.hardware", text)


def _missing(at: At) -> list[str]:
    """The fields that are absent or empty text; numbers that make no sense are the business of another rule."""
    hardware = at.get("spec.hardware") or {}
    return [field for field in _FIELDS if hardware.get(field) in (None, "")]


def _undiscovered(at: At) -> bool:
    """Whether the GPUs can't be discovered; one fact that enables discovery is enough, so the other may be unknown."""
    facts = at.review.facts
    if facts.operatorScope == "cluster" or facts.gpuDiscovery is True:
        return False
    return at.fact("operatorScope") == "namespace" and at.fact("gpuDiscovery") is False


_NUMBERS = (
    ("hardware", ("numGpusPerNode", "totalGpus", "vramMb")),
    ("sla", ("e2eLatency", "itl", "ttft")),
    ("workload", ("concurrency", "isl", "osl", "requestRate")),
)


@differs("the profiler fails hours later, in a job's log", lacking=True)
@rule("DYN504", where=REQUEST, when=("hardware", "sla", "workload"), stage=Stage.REQUEST)
def dgdr_number_positive(at: At) -> Findings:
    """A size, time or count of a request is zero or negative.

    Why
        The profiler calculates with these numbers, and fails after the job has started if one is zero or negative.

    Fix
        Write a positive number, or leave the field out.

    Example
         spec:
           workload:
        -    isl: 0  # expect
        +    isl: 3000
             osl: 500
           sla:
        -    ttft: -1.5  # expect
        +    ttft: 50.0
        +    itl: 10
    """
    for block, fields in _NUMBERS:
        values = at.value.get(block)
        if not values:
            continue
        for field in fields:
            number = values.get(field)
            if number is not None and number <= 0:
                yield at.invalid((block, field), number, f"must be greater than 0, got {number}")


@rule("DYN506", where=REQUEST, when="image", stage=Stage.REQUEST, ratchets=False, since="1.5")
def dgdr_runtime_version_required(at: At) -> Findings:
    """A request's image tag doesn't contain the version of the Dynamo runtime.

    Why
        The generated graph uses this image, and a graph needs the version of its runtime.

    Fix
        Use an image whose tag is a version of three numbers, such as `1.5.0`, or set `runtimeVersionOverride`.

    Example
         spec:  # expect
        -  image: "example/planner:latest"
        +  image: "example/planner:1.5.0"

        -spec: {image: "example/planner:latest", autoApply: false}
        ---- # becomes
         spec:  # expect
           image: "example/planner:latest"
        +  runtimeVersionOverride: 1.5.0
    """
    if (
        at.old is None
        or _image(at.old) != _image(at.value)
        or (at.old.get("autoApply") is False and at.value.get("autoApply") is not False)
    ):
        yield from explain_missing_version(at, [at.value["image"]])


def _image(spec: Fields) -> tuple[str, str]:
    return spec.get("image") or "", spec.get("runtimeVersionOverride") or ""


_TYPES = ("latency", "throughput")


@differs("updates are checked, too")
@rule("DYN502", where=REQUEST, when="sla", stage=Stage.REQUEST)
def dgdr_sla_optimization_type(at: At) -> Findings:
    """The optimisation type of a request is unknown.

    Why
        The profiler supports two optimisation types, and doesn't start with any other.

    Fix
        Write latency or throughput in lower case, or leave the field out and give `ttft` and `itl` instead.

    Example
         spec:
           sla:
        -    optimizationType: Latency  # expect
        +    optimizationType: latency
    """
    kind = at.get("sla.optimizationType")
    if kind is not None and kind not in _TYPES:
        yield at.not_supported("sla.optimizationType", kind, _TYPES)


_BACKENDS = ("sglang", "trtllm", "vllm")


@differs("updates are checked, too")
@rule("DYN501", where=REQUEST, when="searchStrategy=thorough", stage=Stage.REQUEST)
def dgdr_thorough_needs_backend(at: At) -> Findings:
    """A request for a thorough search names no backend.

    Why
        A thorough search deploys and measures real engines, which takes hours for one backend. It doesn't compare backends.

    Fix
        Name the backend, or use the search strategy rapid, which simulates and can choose the backend.

    Example
         spec:
           searchStrategy: thorough  # expect
        -  backend: auto
        +  backend: vllm

         spec: {searchStrategy: rapid, backend: auto}
        ---- # becomes
        -spec:
        -  searchStrategy: thorough  # expect
        -  backend: auto
    """
    if at.value.get("backend") == "auto":
        wanted = ", ".join(f'"{backend}"' for backend in _BACKENDS)
        text = f'must not be "thorough" while backend is "auto": name one of {wanted}, or search rapid'
        yield at.invalid("searchStrategy", "thorough", text)


@rule("DYN915", where=REQUEST, when="hardware", stage=Stage.ADVICE, ratchets=False, since="1.6")
def dgdr_gpu_deprecated(at: At) -> Findings:
    """A request uses a deprecated name of a GPU.

    Why
        The GB200 has no SXM variant. The name still works, but a later operator may refuse it.

    Fix
        Write `gb200`.

    Example
         spec:
           model: m
           image: example/planner:1.6.0
           hardware:
        -    gpuSku: gb200_sxm  # expect
        +    gpuSku: gb200
    """
    if at.get("hardware.gpuSku") == "gb200_sxm":
        yield at.warning("hardware.gpuSku", 'is deprecated, and means "gb200"')
