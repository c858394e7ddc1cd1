"""The version of the runtime that an image holds, and the init container that since line 1.6 runs it beside the main container."""

from ..at import At, Findings
from ..command_line import split_words
from ..components import LPX, WORKERS, explain_workers_only, has_checkpoint, is_multinode, read_failover, read_gms
from ..engines import SPREAD_FLAGS, list_engines, list_sidecars
from ..frameworks import SGLANG
from ..image_tag import explain_missing_version
from ..rule import COMPONENT, GRAPH_COMPONENT, Stage, differs, rule
from .containers import require_main_image


@rule("DYN213", where=GRAPH_COMPONENT, when=("podTemplate", "roles"), stage=Stage.COMPONENT, since="1.5")
def runtime_version_required(at: At) -> Findings:
    """A component's image tag doesn't contain the version of the Dynamo runtime.

    Why
        Runtime versions are started in different ways, and the operator reads the version from the image's tag. A tag such as `latest`, or
        only a digest, doesn't contain it.

    Fix
        Use an image whose tag is a version of three numbers, such as `1.5.0` or `v1.5.0-rc.1`, or set `runtimeVersionOverride`.

    Example
         spec:
           components:
        -    - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}}  # expect
        +    - name: other
        +      type: worker
        +      runtimeVersionOverride: 1.5.0
        +      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}
        +    - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:v1.5.0-rc.1"}]}}}

         spec:
        -  components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}]
        +  components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}}]
         --- # becomes
         spec:
           components:
        -    - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5"}]}}}  # expect
        +    - {name: worker, type: worker, replicas: 2, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:latest"}]}}}
    """
    if at.value.get("type") != LPX and (at.review.old is None or at.old is not None):
        yield from explain_missing_version(at, [engine.get("image") for engine in list_engines(at)])


_PLACE = ("podTemplate", "spec", "initContainers")


@rule("DYN239", where=COMPONENT, when="podTemplate.spec.initContainers", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def runtime_sidecar_of_workers(at: At) -> Findings:
    """A component that isn't a worker has an init container named runtime.

    Why
        The name is reserved for the runtime that the operator starts beside an engine, and only workers have an engine.

    Fix
        Give the init container another name.

    Example
         spec:
           components:
             - name: frontend
               type: frontend
               podTemplate:
                 spec:
                   containers: [{name: main, image: "example/frontend:1.6.0"}]
        -          initContainers:
        -            - {name: runtime, image: "example/runtime:1.6.0", restartPolicy: Always}  # expect
        +          initContainers: [{name: setup, image: "example/setup:1"}]
    """
    for index, _ in list_sidecars(at.value) if at.value.get("type") not in WORKERS else ():
        yield at.forbidden((*_PLACE, index, "name"), f'must not be "runtime" {explain_workers_only(at.value)}')


@rule("DYN240", where=COMPONENT, when="podTemplate.spec.initContainers", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def runtime_sidecar_restarts(at: At) -> Findings:
    """The init container named runtime would end before the main container starts.

    Why
        The runtime must run as long as the engine. An init container does so only with the restart policy `Always`.

    Fix
        Set `restartPolicy: Always`.

    Example
         {worker with a pod}
                   containers: [{name: main, image: "example/vllm:1.6.0"}]
                   initContainers:
        -            - {name: runtime, image: "example/runtime:1.6.0"}  # expect
        +            - {name: runtime, image: "example/runtime:1.6.0", restartPolicy: Always}
    """
    for index, sidecar in list_sidecars(at.value):
        if (policy := sidecar.get("restartPolicy")) != "Always":
            yield at.invalid((*_PLACE, index, "restartPolicy"), policy, 'must be "Always" for the init container "runtime"')


@rule("DYN241", where=COMPONENT, when="podTemplate.spec.initContainers", stage=Stage.COMPONENT, ratchets=False, since="1.6", until="1.7")
def runtime_sidecar_alone(at: At) -> Findings:
    """A component with the runtime sidecar spans several nodes, or has a checkpoint, shared GPU memory or failover.

    Why
        Operator 1.6 runs such an engine only in a single pod, with a cold start and its own GPUs.

    Fix
        Remove the field, or the init container `runtime`.

    Example
         {worker}
        -      multinode: {nodeCount: 2}  # expect
               podTemplate:
                 spec:
                   containers: [{name: main, image: "example/vllm:1.6.0"}]
                   initContainers: [{name: runtime, image: "example/runtime:1.6.0", restartPolicy: Always}]
    """
    if list_sidecars(at.value):
        for field in (*(["multinode"] if at.value.get("multinode") is not None else []), *_list_features(at)):
            yield at.forbidden(field, 'must be unset beside the init container "runtime"')


def _list_features(at: At) -> list[str]:
    there = {
        "experimental.checkpoint.enabled": has_checkpoint(at.value),
        "experimental.gpuMemoryService": read_gms(at.value) is not None,
        "experimental.failover": read_failover(at.value) is not None,
    }
    return [name for name, given in there.items() if given]


@differs("its documentation doesn't say whether operator 1.7 still refuses them, so they are accepted with a warning", lacking=True)
@rule("DYN918", where=COMPONENT, when="podTemplate.spec.initContainers", stage=Stage.ADVICE, ratchets=False, since="1.7")
def warn_runtime_sidecar(at: At) -> Findings:
    """A component with the runtime sidecar has what may not work beside it.

    Why
        Operator 1.6 refuses a checkpoint, shared GPU memory, failover and several nodes beside the sidecar. Operator 1.7 accepts several
        nodes; whether it accepts the others is not documented.
        With `--enable-dp-attention`, the sidecars of other nodes than the first would have to know that they only follow.

    Fix
        Remove the field, or try it before you rely on it.

    Example
         {worker}
        -      experimental: {gpuMemoryService: {mode: IntraPod}}  # expect
               podTemplate:
                 spec:
                   containers: [{name: main, image: "example/vllm:1.7.0", resources: {limits: {nvidia.com/gpu: 1}}}]
                   initContainers: [{name: runtime, image: "example/runtime:1.7.0", restartPolicy: Always}]
    """
    if list_sidecars(at.value):
        follows = is_multinode(at.value) and SPREAD_FLAGS[SGLANG] in split_words(at.main[0])
        for field in (*(["multinode"] if follows else []), *_list_features(at)):
            yield at.warning(field, 'is not known to work beside the init container "runtime"')


@rule("DYN220", where=COMPONENT, when="podTemplate.spec.initContainers", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def runtime_sidecar_image(at: At) -> Findings:
    """The init container named runtime has no image, or there is no main container with one beside it.

    Why
        The operator has no default image for the runtime, and the main container runs the engine beside it.

    Fix
        Set `image` of the init container, and of a container `main`.

    Example
         {worker with a pod}
        -          containers: [{name: engine, image: "example/vllm:1.6.0"}]  # expect
        +          containers: [{name: main, image: "example/vllm:1.6.0"}]
                   initContainers: [{name: runtime, image: "example/runtime:1.6.0", restartPolicy: Always}]
    """
    sidecars = list_sidecars(at.value)
    for index, sidecar in sidecars:
        if not sidecar.get("image"):
            yield at.required((*_PLACE, index, "image"), 'must be set for the init container "runtime", got nothing')
    if sidecars:
        yield from require_main_image(at)
