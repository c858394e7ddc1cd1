"""The containers and volumes of a checkpoint job, and its kind as such."""

from ..at import At
from ..domain import is_enabled
from ..finding import Finding, Level
from ..rule import CHECKPOINT, Difference, Hits, Stage, rule
from ._wiring import (
    BY_AUTHOR,
    CLAIM,
    SERVER,
    SOCKET_ENV,
    SOCKETS,
    VOLUME,
    claims_gpus,
    clients,
    extra_names,
    index_by_name,
    knows_sockets,
    mounts_sockets,
    pod,
    server,
    target,
    target_name,
)

_INTRA_POD = "intraPod"


@rule("DYN429", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_extra_client_container(at: At) -> Hits:
    """An extra client of a checkpoint's GPU memory service isn't in the pod template.

    Why
        A client that isn't there would be taken for one that works. The GPU memory service of a checkpoint only describes the
        pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Put a regular container of that name into the pod template, or take the name out of `extraClientContainers`.

    Example
    bad wired with gpuMemoryService: {enabled: true, extraClientContainers: [saver]}  # expect
    ok  # facts: {allowGmsSnapshot: true}
    ok  spec:
    ok    gpuMemoryService: {enabled: true, extraClientContainers: [saver]}
    ok    job:
    ok      podTemplateSpec:
    ok        spec:
    ok          resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]
    ok          volumes: [{name: gms-intrapod-control, emptyDir: {}}]
    ok          initContainers:
    ok            - name: gms-server
    ok              restartPolicy: Always
    ok              resources: {claims: [{name: intrapod-shared-gpu}]}
    ok              volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
    ok              env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
    ok          containers:
    ok            - name: main
    ok              resources: {claims: [{name: intrapod-shared-gpu}]}
    ok              volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
    ok              env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
    ok            - name: saver
    ok              resources: {claims: [{name: intrapod-shared-gpu}]}
    ok              volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
    ok              env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
    """
    if not is_enabled(at.value["gpuMemoryService"]):
        return
    there = index_by_name(pod(at.value).get("containers"))
    for name in extra_names(at.value):
        if name not in there:
            text = f'must be prepared in the pod template: extraClientContainers names "{name}", but no regular container is named so'
            yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN421", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_gms_mode(at: At) -> Hits:
    """A checkpoint's GPU memory service runs in another mode than intraPod.

    Why
        Snapshots are taken of one pod with everything in it; weights in other pods would be missing from it.

    Fix
        Set the mode to intraPod, or leave it out.

    Example
    bad wired with gpuMemoryService: {enabled: true, mode: interPod}  # expect
    ok  wired with gpuMemoryService: {enabled: true, mode: intraPod}
    """
    gms = at.value["gpuMemoryService"]
    mode = gms.get("mode")
    if is_enabled(gms) and mode not in (None, "", _INTRA_POD):
        reason = "interPod is not implemented for checkpoints" if mode == "interPod" else "there is no such mode"
        yield at.invalid("gpuMemoryService", mode, f'must have the mode {_INTRA_POD}, got "{mode}": {reason}; {BY_AUTHOR}')


@rule("DYN423", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_pod_claim(at: At) -> Hits:
    """The pod of a checkpoint with a GPU memory service has no claim for the shared GPUs.

    Why
        Engine and memory server reach the same GPUs through one claim of the pod. The GPU memory service of a checkpoint only
        describes the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Add an entry named intrapod-shared-gpu to `resourceClaims` of the pod, with the claim template of your GPUs.

    Example
    bad wired without resourceClaims  # expect
    ok  wired
    """
    if is_enabled(at.value["gpuMemoryService"]) and CLAIM not in index_by_name(pod(at.value).get("resourceClaims")):
        text = f'must be prepared in the pod template: resourceClaims has no entry named "{CLAIM}"'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule(
    "DYN428",
    where=CHECKPOINT,
    when="gpuMemoryService",
    stage=Stage.CHECKPOINT,
    differs=Difference(("G-26",), "the job hangs: a server in a non-restartable init container never ends"),
)
def ckpt_server_container(at: At) -> Hits:
    """The pod of a checkpoint with a GPU memory service doesn't run the server as a restartable init container.

    Why
        The server must be up before the engine starts and stay up beside it, which is what an init container with restartPolicy
        Always does. The GPU memory service of a checkpoint only describes the pod; the operator changes nothing in the pod
        template, so its author wires it.

    Fix
        Add an init container named gms-server with `restartPolicy: Always`.

    Example
    bad wired without initContainers  # expect

    bad wired without initContainers.restartPolicy  # expect
    ok  wired
    """
    if not is_enabled(at.value["gpuMemoryService"]):
        return
    found = server(at.value)
    if found is None:
        yield _absent(at)
    elif found.get("restartPolicy") != "Always":
        seen = f'"{found["restartPolicy"]}"' if found.get("restartPolicy") else "none"
        text = f'must be prepared in the pod template: init container "{SERVER}" must have the restartPolicy "Always", got {seen}'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


def _absent(at: At) -> Finding:
    text = f'must be prepared in the pod template: no init container named "{SERVER}"'
    return at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN424", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_shared_volume(at: At) -> Hits:
    """The pod of a checkpoint with a GPU memory service has no volume for the server's sockets.

    Why
        Engine and memory server speak through sockets in a volume that both mount. The GPU memory service of a checkpoint only
        describes the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Add an emptyDir volume named gms-intrapod-control to the pod.

    Example
    bad wired without volumes  # expect
    ok  wired
    """
    if is_enabled(at.value["gpuMemoryService"]) and VOLUME not in index_by_name(pod(at.value).get("volumes")):
        text = f'must be prepared in the pod template: volumes has no entry named "{VOLUME}"'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN422", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_target_container(at: At) -> Hits:
    """The container to be saved isn't in the pod template of a checkpoint with a GPU memory service.

    Why
        The job saves the state of this container; without it there is nothing to save. The GPU memory service of a checkpoint
        only describes the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Name the container in `spec.job.targetContainerName` (absent: main) and put it among the regular containers.

    Example
    bad wired with containers.name: other  # expect
    ok  wired
    """
    if is_enabled(at.value["gpuMemoryService"]) and target(at.value) is None:
        text = f'must be prepared in the pod template: no container named "{target_name(at.value)}" (spec.job.targetContainerName)'
        yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN425", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_claim(at: At) -> Hits:
    """A container of a checkpoint with a GPU memory service doesn't claim the shared GPUs.

    Why
        The claim of the pod reaches only those containers that name it. The GPU memory service of a checkpoint only describes
        the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Add `claims: [{name: intrapod-shared-gpu}]` to the container's `resources`.

    Example
    bad wired without containers.resources  # expect

    bad wired without initContainers.resources  # expect
    ok  wired
    """
    if not is_enabled(at.value["gpuMemoryService"]):
        return
    for name, container in clients(at.value):
        if not claims_gpus(container):
            text = f'must be prepared in the pod template: container "{name}": resources.claims has no entry named "{CLAIM}"'
            yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN427", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_env(at: At) -> Hits:
    """A container of a checkpoint with a GPU memory service isn't told where the server's sockets are.

    Why
        Engine and server look for their sockets in the folder that GMS_SOCKET_DIR names. The GPU memory service of a checkpoint
        only describes the pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Set the environment variable GMS_SOCKET_DIR to /gms-intrapod-control in the container.

    Example
    bad wired without containers.env  # expect

    bad wired without initContainers.env  # expect
    ok  wired
    """
    if not is_enabled(at.value["gpuMemoryService"]):
        return
    for name, container in clients(at.value):
        if not knows_sockets(container):
            text = f'must be prepared in the pod template: container "{name}": env has no {SOCKET_ENV} with the value {SOCKETS}'
            yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN426", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_mount(at: At) -> Hits:
    """A container of a checkpoint with a GPU memory service doesn't mount the server's sockets.

    Why
        Without the mount the container can't reach the memory server. The GPU memory service of a checkpoint only describes the
        pod; the operator changes nothing in the pod template, so its author wires it.

    Fix
        Mount the volume gms-intrapod-control at /gms-intrapod-control in the container.

    Example
    bad wired without containers.volumeMounts  # expect

    bad wired without initContainers.volumeMounts  # expect
    ok  wired
    """
    if not is_enabled(at.value["gpuMemoryService"]):
        return
    for name, container in clients(at.value):
        if not mounts_sockets(container):
            text = f'must be prepared in the pod template: container "{name}": volumeMounts has no "{VOLUME}" at {SOCKETS}'
            yield at.invalid("gpuMemoryService", None, f"{text}; {BY_AUTHOR}")


@rule("DYN914", where=CHECKPOINT, level=Level.WARNING, stage=Stage.ADVICE, ratchets=False, since="1.5")
def ckpt_kind_gone(at: At) -> Hits:
    """A DynamoCheckpoint is written, a kind that the Go operator lacks from line 1.5 on.

    Why
        That operator has neither a definition nor a controller for it. Where the definition was kept, a deletion waits for ever for a
        controller that removes the finalizer.

    Fix
        Delete DynamoCheckpoints before the upgrade to line 1.5. There `checkpointRef` names a PodSnapshot.

    Example
    ok  # kind: DynamoGraphDeployment/v1beta1
        spec:  # expect
    bad   identity: {model: m, backendFramework: vllm}
    ok    components:
    ok      - name: worker
    ok        type: worker
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    ok        experimental: {checkpoint: {enabled: true, checkpointRef: snapshot}}
    """
    yield at.warning("", "is of a kind that is gone from line 1.5 on: delete it before the upgrade")
