"""The containers that are clients of the GPU memory service."""

from ..at import At
from ..domain import is_enabled
from ..rule import CHECKPOINT, Hits, Stage, rule
from ._wiring import BY_AUTHOR, CLAIM, SOCKET_ENV, SOCKETS, VOLUME, claims_gpus, clients, fill_examples, knows_sockets, mounts_sockets


@rule("DYN425", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
@fill_examples
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
@fill_examples
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
@fill_examples
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
