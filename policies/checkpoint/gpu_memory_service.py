"""The wiring of a checkpoint's pod for the GPU memory service."""

from typing import Final

from ..at import At, Findings
from ..components import MAIN, is_enabled
from ..review import Fields
from ..rule import CHECKPOINT, Stage, differs, rule

_CLAIM: Final = "intrapod-shared-gpu"
_VOLUME: Final = "gms-intrapod-control"
_SOCKETS: Final = "/gms-intrapod-control"
_SOCKET_ENV: Final = "GMS_SOCKET_DIR"
_SERVER: Final = "gms-server"
_BY_AUTHOR: Final = "this field only describes the pod and changes nothing in it"
_INTRA_POD: Final = "intraPod"


def _find_pod(spec: Fields) -> Fields:
    """The pod spec of the checkpoint's job, empty when absent."""
    template = (spec.get("job") or {}).get("podTemplateSpec") or {}
    return template.get("spec") or {}


def _index_by_name(entries: list[Fields] | None) -> dict[str, Fields]:
    """Entries of a list by their names, the first of each name."""
    by_name: dict[str, Fields] = {}
    for entry in entries or ():
        if entry:
            by_name.setdefault(entry.get("name") or "", entry)
    return by_name


def _list_regular(spec: Fields) -> dict[str, Fields]:
    return _index_by_name(_find_pod(spec).get("containers"))


def _read_target(spec: Fields) -> str:
    """The name of the container to save."""
    return (spec.get("job") or {}).get("targetContainerName") or MAIN


def find_server(spec: Fields) -> Fields | None:
    """The memory server; only init containers count."""
    return _index_by_name(_find_pod(spec).get("initContainers")).get(_SERVER)


def _list_extra(spec: Fields) -> list[str]:
    """The names of the extra clients, each once; null is an empty name, as for typed readers."""
    names = (spec.get("gpuMemoryService") or {}).get("extraClientContainers") or ()
    return list(dict.fromkeys(name or "" for name in names))


def _list_clients(spec: Fields) -> list[tuple[str, Fields]]:
    """The existing containers that must reach the server, itself included, each once."""
    regular = _list_regular(spec)
    wanted = dict.fromkeys((_read_target(spec), *_list_extra(spec)))
    clients = [(name, regular[name]) for name in wanted if name in regular]
    serving = find_server(spec)
    return [*clients, (_SERVER, serving)] if serving is not None else clients


def _report(at: At, lack: str) -> Findings:
    """Find what the pod template lacks, for a memory service that is on."""
    if is_enabled(at.value["gpuMemoryService"]):
        yield at.invalid("gpuMemoryService", None, f"must be prepared in the pod template: {lack}; {_BY_AUTHOR}")


@rule("DYN429", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_extra_client_container(at: At) -> Findings:
    """An extra client of a checkpoint's GPU memory service isn't in the pod template.

    Why
        A client that isn't in the pod can't use the service. With the GPU memory service, the operator doesn't change a checkpoint's pod
        template, so you must configure this yourself.

    Fix
        Add a regular container of that name to the pod template, or remove the name from `extraClientContainers`.

    Example
        -wired with gpuMemoryService: {enabled: true, extraClientContainers: [saver]}  # expect
        +wired with gpuMemoryService: {enabled: true, extraClientContainers: [saver]}
        +          - name: saver
        +            image: example/saver:1
        +            resources: {claims: [{name: intrapod-shared-gpu}]}
        +            volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]
        +            env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]
    """
    there = _list_regular(at.value)
    for name in _list_extra(at.value):
        if name not in there:
            yield from _report(at, f'extraClientContainers names "{name}", but no regular container is named so')


@rule("DYN421", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_gms_mode(at: At) -> Findings:
    """The GPU memory service of a checkpoint has another mode than intraPod.

    Why
        A snapshot contains a single pod; weights in other pods would be missing.

    Fix
        Set the mode to intraPod, or leave it out.

    Example
        -wired with gpuMemoryService: {enabled: true, mode: interPod}  # expect
        +wired with gpuMemoryService: {enabled: true, mode: intraPod}
    """
    gms = at.value["gpuMemoryService"]
    mode = gms.get("mode")
    if is_enabled(gms) and mode not in (None, "", _INTRA_POD):
        reason = "interPod is not implemented for checkpoints" if mode == "interPod" else "there is no such mode"
        yield at.invalid("gpuMemoryService", mode, f'must have the mode {_INTRA_POD}, got "{mode}": {reason}; {_BY_AUTHOR}')


@rule("DYN423", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_pod_claim(at: At) -> Findings:
    """The pod of a checkpoint with a GPU memory service has no claim for the shared GPUs.

    Why
        Engine and memory server reach the same GPUs through one claim of the pod. With the GPU memory service, the operator doesn't change
        a checkpoint's pod template, so you must configure this yourself.

    Fix
        Add an entry named intrapod-shared-gpu to `resourceClaims` of the pod, with the claim template of your GPUs.

    Example
        -wired without resourceClaims  # expect
        +wired
    """
    if _CLAIM not in _index_by_name(_find_pod(at.value).get("resourceClaims")):
        yield from _report(at, f'resourceClaims has no entry named "{_CLAIM}"')


@differs("the job hangs: a server in a non-restartable init container never ends")
@rule("DYN428", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_server_container(at: At) -> Findings:
    """The pod of a checkpoint with a GPU memory service doesn't run the server as a restartable init container.

    Why
        The server must start before the engine and keep running beside it, as an init container with restartPolicy Always does. With the
        GPU memory service, the operator doesn't change a checkpoint's pod template, so you must configure this yourself.

    Fix
        Add an init container named gms-server with `restartPolicy: Always`.

    Example
        -wired without initContainers  # expect

        -wired without initContainers.restartPolicy  # expect
        +wired
    """
    server = find_server(at.value)
    if server is None:
        yield from _report(at, f'no init container named "{_SERVER}"')
    elif server.get("restartPolicy") != "Always":
        seen = f'"{server["restartPolicy"]}"' if server.get("restartPolicy") else "none"
        yield from _report(at, f'init container "{_SERVER}" must have the restartPolicy "Always", got {seen}')


@rule("DYN424", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_shared_volume(at: At) -> Findings:
    """The pod of a checkpoint with a GPU memory service has no volume for the server's sockets.

    Why
        Engine and memory server communicate through sockets in a volume that both mount. With the GPU memory service, the operator doesn't
        change a checkpoint's pod template, so you must configure this yourself.

    Fix
        Add an emptyDir volume named gms-intrapod-control to the pod.

    Example
        -wired without volumes  # expect
        +wired
    """
    if _VOLUME not in _index_by_name(_find_pod(at.value).get("volumes")):
        yield from _report(at, f'volumes has no entry named "{_VOLUME}"')


@rule("DYN422", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_target_container(at: At) -> Findings:
    """The container to save isn't in the pod template of a checkpoint with a GPU memory service.

    Why
        The job saves the state of this container. With the GPU memory service, the operator doesn't change a checkpoint's pod template, so
        you must configure this yourself.

    Fix
        Set `spec.job.targetContainerName` (default: main) to the name of a regular container.

    Example
        -wired with containers.name: other  # expect
        +wired
    """
    if (name := _read_target(at.value)) not in _list_regular(at.value):
        yield from _report(at, f'no container named "{name}" (spec.job.targetContainerName)')


@rule("DYN425", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_claim(at: At) -> Findings:
    """A container of a checkpoint with a GPU memory service doesn't claim the shared GPUs.

    Why
        Only containers that name the pod's claim can use its GPUs. With the GPU memory service, the operator doesn't change a checkpoint's
        pod template, so you must configure this yourself.

    Fix
        Add `claims: [{name: intrapod-shared-gpu}]` to the container's `resources`.

    Example
        -wired without containers.resources  # expect

        -wired without initContainers.resources  # expect
        +wired
    """
    for name, container in _list_clients(at.value):
        if _CLAIM not in _index_by_name((container.get("resources") or {}).get("claims")):
            yield from _report(at, f'container "{name}": resources.claims has no entry named "{_CLAIM}"')


@rule("DYN427", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_env(at: At) -> Findings:
    """A container of a checkpoint with a GPU memory service lacks the environment variable for the server's sockets.

    Why
        Engine and server look for their sockets in the directory that GMS_SOCKET_DIR names. With the GPU memory service, the operator
        doesn't change a checkpoint's pod template, so you must configure this yourself.

    Fix
        Set the environment variable GMS_SOCKET_DIR to /gms-intrapod-control in the container.

    Example
        -wired without containers.env  # expect

        -wired without initContainers.env  # expect
        +wired
    """
    for name, container in _list_clients(at.value):
        # one matching entry among duplicates is enough
        if not any(entry and entry.get("name") == _SOCKET_ENV and entry.get("value") == _SOCKETS for entry in container.get("env") or ()):
            yield from _report(at, f'container "{name}": env has no {_SOCKET_ENV} with the value {_SOCKETS}')


@rule("DYN426", where=CHECKPOINT, when="gpuMemoryService", stage=Stage.CHECKPOINT)
def ckpt_client_mount(at: At) -> Findings:
    """A container of a checkpoint with a GPU memory service doesn't mount the server's sockets.

    Why
        Without the mount, the container can't reach the memory server. With the GPU memory service, the operator doesn't change a
        checkpoint's pod template, so you must configure this yourself.

    Fix
        Mount the volume gms-intrapod-control at /gms-intrapod-control in the container.

    Example
        -wired without containers.volumeMounts  # expect

        -wired without initContainers.volumeMounts  # expect
        +wired
    """
    for name, container in _list_clients(at.value):
        mounts = [mount for mount in container.get("volumeMounts") or () if mount and mount.get("name") == _VOLUME]
        if not any(mount.get("mountPath") == _SOCKETS for mount in mounts):
            yield from _report(at, f'container "{name}": volumeMounts has no "{_VOLUME}" at {_SOCKETS}')
