"""Clients of the GPU memory service in a checkpoint."""

from ..at import At
from ..domain import LABEL_WANTED, interpod_gms, is_label, read_gms
from ..rule import COMPONENT, Difference, Hits, Stage, rule
from ..words import format_words
from .checkpoint import OFF

_CLIENTS = ("experimental", "checkpoint", "job", "gmsClientContainers")


@rule("DYN406", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, differs=Difference((), OFF))
def checkpoint_gms_client_name(at: At) -> Hits:
    """A client of the GPU memory service in a checkpoint's job has a name that no container can have.

    Why
        The entries are names of containers, which are DNS labels. One that is none can't be found in the job's pod. It is looked at while
        the checkpoint is switched off too, as the schema does.

    Fix
        Write the name of a container of the job: lower-case letters, digits and inner dashes, at most 63.

    Example
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental:
    bad         gpuMemoryService: {}
    bad         checkpoint:
    bad           enabled: false
    bad           job:
    bad             gmsClientContainers:
    bad               - saver
    bad               - Loader  # expect
    ok        experimental: {gpuMemoryService: {}, checkpoint: {enabled: false, job: {gmsClientContainers: [saver, loader]}}}
    """
    for index, name in enumerate(at.get(_CLIENTS) or ()):
        if not is_label(name or ""):
            text = f'{LABEL_WANTED}, got "{name or ""}"'
            yield at.invalid((*_CLIENTS, index), name, text)


@rule("DYN405", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, differs=Difference((), OFF))
def checkpoint_gms_clients_intrapod_only(at: At) -> Hits:
    """A checkpoint's job names clients of a GPU memory service that runs in pods of its own.

    Why
        A job has one pod, and its clients reach the service through a volume of that pod. A service in another pod is out of their reach.

    Fix
        Set the service's mode to {intraPod}, or remove `gmsClientContainers`.

    Example
        spec:
    bad   backendFramework: vllm
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
              experimental:
    bad         gpuMemoryService: {mode: InterPod}
    bad         checkpoint:
    bad           enabled: false
    bad           job:
    bad             gmsClientContainers: [saver]  # expect
    ok          gpuMemoryService: {mode: IntraPod}
    ok          checkpoint: {enabled: false, job: {gmsClientContainers: [saver]}}
    """
    if at.get(_CLIENTS) and interpod_gms(at.value):
        text = format_words('must be empty unless {gpuMemoryService}.mode is "{intraPod}", got mode "{interPod}"')
        yield at.forbidden(_CLIENTS, text)


@rule("DYN404", where=COMPONENT, when="experimental", stage=Stage.CHECKPOINT, differs=Difference((), OFF))
def checkpoint_gms_clients_need_gms(at: At) -> Hits:
    """A checkpoint's job names clients of a GPU memory service that the component doesn't have.

    Why
        The named containers are wired to the service's sockets. Without the service they would wait for them. It is looked at while the
        checkpoint is switched off too, so that switching it on brings no surprises.

    Fix
        Enable `{gpuMemoryService}`, or remove `gmsClientContainers`.

    Example
        spec:
          components:
            - name: worker
              type: worker
    bad       experimental:
    bad         checkpoint:
    bad           enabled: false
    bad           job:
    bad             gmsClientContainers: [saver]  # expect
    ok        podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    ok        experimental: {gpuMemoryService: {}, checkpoint: {enabled: false, job: {gmsClientContainers: [saver]}}}
    """
    if at.get(_CLIENTS) and read_gms(at.value) is None:
        yield at.forbidden(_CLIENTS, format_words("must be empty without {gpuMemoryService}"))
