"""Fields of a request, and changes of one that has started."""

import re

from ...api.line import Line
from ...api.paths import Key, Path
from ...api.schema import load_schema
from ..at import At
from ..domain import is_line_1_4
from ..image_tag import explain_missing_version
from ..review import UPDATE, Fields
from ..rule import DGDR, REQUEST, Hits, Stage, differs, rule
from ..sameness import same_meaning

_FIELDS = ("gpuSku", "vramMb", "numGpusPerNode")
_WHY = "it is off, and an operator restricted to a namespace can't see nodes"


@differs(("Q-32", "G-18", "Q-30"), "the profiler needs all three fields; 1.2 requires any one, only on creation")
@rule("DYN503", where={DGDR: ""}, needs=("operatorScope", "gpuDiscovery"), stage=Stage.REQUEST)
def dgdr_hardware_required(at: At) -> Hits:
    """A request doesn't describe its GPUs, and the operator can't discover them.

    Why
        An operator that is restricted to a namespace can't read nodes. With GPU discovery disabled, it knows the GPUs only from the
        request, and the profiler needs three values: the GPU model, its memory, and the number for each node.

    Fix
        Set `hardware.gpuSku`, `hardware.vramMb` and `hardware.numGpusPerNode`, or ask the cluster's administrator to enable GPU discovery.

    Example
        # facts: {operatorScope: namespace, gpuDiscovery: false}
    bad spec:  # expect
    bad   backend: vllm
    ok  spec: {hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8}}

    bad # facts: {operatorScope: namespace, gpuDiscovery: false}
    bad spec:
    bad   hardware: {gpuSku: h200_sxm}  # expect
    ok  spec: {backend: vllm}
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


@differs(("G-16",), "the profiler fails hours later, in a job's log", lacking=True)
@rule("DYN504", where=REQUEST, when=("hardware", "sla", "workload"), stage=Stage.REQUEST)
def dgdr_number_positive(at: At) -> Hits:
    """A size, time or count of a request is zero or negative.

    Why
        The profiler calculates with these numbers, and fails after the job has started if one is zero or negative.

    Fix
        Write a positive number, or leave the field out.

    Example
    bad spec:
    bad   workload:
    bad     isl: 0  # expect
    bad     osl: 500
    bad   sla:
    bad     ttft: -1.5  # expect
    ok  spec: {workload: {isl: 3000, osl: 500}, sla: {ttft: 50.0, itl: 10}}
    """
    for block, fields in _NUMBERS:
        values = at.value.get(block)
        if not values:
            continue
        for field in fields:
            number = values.get(field)
            if number is not None and number <= 0:
                yield at.invalid((block, field), number, f"must be greater than 0, got {number}")


_KIND = "DynamoGraphDeployment"
_GROUP = "nvidia.com"


@differs(("G-17",), "an override of another kind, such as a Pod, fails later", lacking=True)
@rule("DYN505", where=REQUEST, when="overrides", stage=Stage.REQUEST)
def dgdr_override_kind(at: At) -> Hits:
    """The object in `overrides.dgd` isn't a graph.

    Why
        It is merged over the graph that the search found, so it must be a graph, too.

    Fix
        Set `kind: DynamoGraphDeployment` and an `apiVersion` of the group nvidia.com.

    Example
    bad spec:
    bad   overrides:
    bad     dgd:
    bad       apiVersion: nvidia.com/v1alpha1
    bad       kind: Pod  # expect

    bad spec:
    bad   overrides:
    bad     dgd:
    bad       apiVersion: example.com/v1  # expect
    bad       kind: DynamoGraphDeployment
    ok  spec: {overrides: {dgd: {apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, spec: {backendFramework: vllm}}}}
    """
    graph = at.get("overrides.dgd")
    # free-form: any JSON, undecoded
    if not isinstance(graph, dict):
        return
    kind, version = _text(graph.get("kind")), _text(graph.get("apiVersion"))
    if kind != _KIND:
        yield at.invalid("overrides.dgd.kind", kind, f'must be {_KIND}, got "{kind}"')
    group, _, rest = version.partition("/")
    if group != _GROUP or not rest:
        yield at.invalid("overrides.dgd.apiVersion", version, f'must be a version of the group {_GROUP}, got "{version}"')


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


@rule("DYN506", where=REQUEST, when="image", stage=Stage.REQUEST, ratchets=False, since="1.5")
def dgdr_runtime_version_required(at: At) -> Hits:
    """A request's image tag doesn't contain the version of the Dynamo runtime.

    Why
        The generated graph uses this image, and a graph needs the version of its runtime.

    Fix
        Use an image whose tag is a version of three numbers, such as `1.5.0`, or set `runtimeVersionOverride`.

    Example
    bad spec:  # expect
    bad   image: "example/planner:latest"
    ok  spec: {image: "example/planner:1.5.0"}

    bad spec: {image: "example/planner:latest", autoApply: false}
    bad --- # becomes
    bad spec:  # expect
    bad   image: "example/planner:latest"
    ok  spec: {image: "example/planner:latest", runtimeVersionOverride: 1.5.0}
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


@differs(("Q-30",), "updates are checked, too")
@rule("DYN502", where=REQUEST, when="sla", stage=Stage.REQUEST)
def dgdr_sla_optimization_type(at: At) -> Hits:
    """The optimisation type of a request is unknown.

    Why
        The profiler supports two optimisation types, and doesn't start with any other.

    Fix
        Write latency or throughput in lower case, or leave the field out and give `ttft` and `itl` instead.

    Example
    bad spec:
    bad   sla:
    bad     optimizationType: Latency  # expect
    ok  spec: {sla: {optimizationType: latency}}
    """
    kind = at.get("sla.optimizationType")
    if kind is not None and kind not in _TYPES:
        yield at.not_supported("sla.optimizationType", kind, _TYPES)


_BACKENDS = ("sglang", "trtllm", "vllm")


@differs(("Q-30",), "updates are checked, too")
@rule("DYN501", where=REQUEST, when="searchStrategy=thorough", stage=Stage.REQUEST)
def dgdr_thorough_needs_backend(at: At) -> Hits:
    """A request for a thorough search names no backend.

    Why
        A thorough search deploys and measures real engines, which takes hours for one backend. It doesn't compare backends.

    Fix
        Name the backend, or use the search strategy rapid, which simulates and can choose the backend.

    Example
    bad spec:
    bad   searchStrategy: thorough  # expect
    bad   backend: auto
    ok  spec: {searchStrategy: thorough, backend: vllm}

        spec: {searchStrategy: rapid, backend: auto}
    bad --- # becomes
    bad spec:
    bad   searchStrategy: thorough  # expect
    bad   backend: auto
    """
    if at.value.get("backend") == "auto":
        wanted = ", ".join(f'"{backend}"' for backend in _BACKENDS)
        text = f'must not be "thorough" while backend is "auto": name one of {wanted}, or search rapid'
        yield at.invalid("searchStrategy", "thorough", text)


@rule("DYN915", where=REQUEST, when="hardware", stage=Stage.ADVICE, ratchets=False, since="1.6")
def dgdr_gpu_deprecated(at: At) -> Hits:
    """A request uses a deprecated name of a GPU.

    Why
        The GB200 has no SXM variant. The name still works, but a later operator may refuse it.

    Fix
        Write `gb200`.

    Example
    bad spec:
    bad   model: m
    bad   image: example/planner:1.6.0
    bad   hardware:
    bad     gpuSku: gb200_sxm  # expect
    ok  spec: {model: m, image: "example/planner:1.6.0", hardware: {gpuSku: gb200}}
    """
    if at.get("hardware.gpuSku") == "gb200_sxm":
        yield at.warning("hardware.gpuSku", 'is deprecated, and means "gb200"')


_LOCKED = ("Profiling", "Deploying", "Deployed")
_READY = "Ready"  # locked since line 1.5
_OVERRIDE = "runtimeVersionOverride"


@differs(("Q-34",), "1.2 compares text, so empty blocks and another order of keys count as changes")
@rule("DYN711", where={DGDR: ""}, on=(UPDATE,), stage=Stage.LOCK, ratchets=False)
def dgdr_spec_locked(at: At) -> Hits:
    """The spec of a request changes while the request is in progress.

    Why
        Once profiling has begun, jobs and graphs have been created from the spec, and a change would not reach them. The stored status
        decides, not the status in the update. Since operator 1.5, a request that is Ready is locked too; if it isn't applied
        automatically, `autoApply` and `runtimeVersionOverride` may still change.

    Fix
        Restore the old spec, or create another request.

    Example
        spec: {model: one}
    bad status: {phase: Profiling}
    ok  status: {phase: Ready}
        --- # becomes
        spec: {model: two}  # expect

    ok  spec: {model: one}
    ok  status: {phase: Deployed}
    ok  --- # becomes
    ok  spec: {model: one, hardware: {}}
    """
    phase = ((at.old or {}).get("status") or {}).get("phase") or ""
    if phase not in _LOCKED and not (phase == _READY and is_line_1_4(at.review)):
        return
    before, now = at.old.get("spec") or {}, at.get("spec") or {}
    if is_line_1_4(at.review) and before.get("autoApply") is False:
        before, now = (_without(spec, phase) for spec in (before, now))
    if not asks_for_the_same(before, now, at.review.line):
        yield at.forbidden("spec", f'must not change while the request is in progress: its phase is "{phase}"')


_JOB = ("overrides", "profilingJob")


def asks_for_the_same(one: Fields, other: Fields, line: Line) -> bool:
    """Whether two specs ask a line's operator for the same: an empty block is an absent one, but for those of the profiling Job."""
    node = load_schema("DynamoGraphDeploymentRequest", "v1beta1", line)["properties"]["spec"]
    return same_meaning(one, other, node, lambda path: path[:2] != _JOB)


def _without(spec: Fields, phase: str) -> Fields:
    """The spec without what may change while nothing is applied automatically: the override, and when Ready the switch itself."""
    free = {"Profiling": (_OVERRIDE,), _READY: (_OVERRIDE, "autoApply")}.get(phase, ())
    return {name: value for name, value in spec.items() if name not in free}


_LEGACY = re.compile(r"(?:Vllm|TRTLLM|SGLang)(?:Prefill|Decode)?Worker")


@rule("DYN916", where=REQUEST, when="overrides.dgd", stage=Stage.ADVICE, ratchets=False, since="1.5")
def dgdr_legacy_names(at: At) -> Hits:
    """An override of the graph uses component names of earlier profilers.

    Why
        The profiler names the components of its graph otherwise now, so an override of a component with an old name changes nothing.

    Fix
        Use the names of the generated graph, such as `prefill` and `decode`.

    Example
    bad spec:
    bad   model: m
    bad   image: example/planner:1.5.0
    bad   overrides:
    bad     dgd:
    bad       apiVersion: nvidia.com/v1beta1
    bad       kind: DynamoGraphDeployment
    bad       spec:
    bad         components:
    bad           - {name: VllmDecodeWorker, replicas: 2}  # expect
    ok  spec: {model: m, image: "example/planner:1.5.0"}
    """
    spec = at.get("overrides.dgd.spec")
    services, components = ((spec or {}).get(part) for part in ("services", "components")) if isinstance(spec, dict) else (None, None)
    names: list[tuple[Path, object]] = [(("services", Key(name)), name) for name in services] if isinstance(services, dict) else []
    listed = enumerate(components) if isinstance(components, list) else ()
    names += [(("components", index, "name"), one.get("name")) for index, one in listed if isinstance(one, dict)]
    for path, name in names:
        if isinstance(name, str) and _LEGACY.fullmatch(name):
            yield at.warning(
                ("overrides", "dgd", "spec", *path), f'is a name of earlier profilers, "{name}", which no component has any more'
            )
