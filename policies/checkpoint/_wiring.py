"""The wiring of a checkpoint's pod for the GPU memory service: names, and look-ups in the pod template."""

from __future__ import annotations

from typing import Final

from ..review import Fields

CLAIM: Final = "intrapod-shared-gpu"
VOLUME: Final = "gms-intrapod-control"
SOCKETS: Final = "/gms-intrapod-control"
SOCKET_ENV: Final = "GMS_SOCKET_DIR"
SERVER: Final = "gms-server"
BY_AUTHOR: Final = "this field only describes the pod and changes nothing in it"


def pod(spec: Fields) -> Fields:
    """The pod spec of the checkpoint's job, empty when absent."""
    template = (spec.get("job") or {}).get("podTemplateSpec") or {}
    return template.get("spec") or {}


def index_by_name(entries: list[Fields] | None) -> dict[str, Fields]:
    """Entries of a list by their names, the first of each name."""
    found: dict[str, Fields] = {}
    for entry in entries or ():
        if entry:
            found.setdefault(entry.get("name") or "", entry)
    return found


def target_name(spec: Fields) -> str:
    """The name of the container to save."""
    return (spec.get("job") or {}).get("targetContainerName") or "main"


def target(spec: Fields) -> Fields | None:
    """The container to save; only regular ones count."""
    return index_by_name(pod(spec).get("containers")).get(target_name(spec))


def server(spec: Fields) -> Fields | None:
    """The memory server; only init containers count."""
    return index_by_name(pod(spec).get("initContainers")).get(SERVER)


def extra_names(spec: Fields) -> list[str]:
    """The names of the extra clients, each once; null is an empty name, as for typed readers."""
    names = (spec.get("gpuMemoryService") or {}).get("extraClientContainers") or ()
    return list(dict.fromkeys(name or "" for name in names))


def clients(spec: Fields) -> list[tuple[str, Fields]]:
    """The existing containers that must reach the server, itself included, each once."""
    regular = index_by_name(pod(spec).get("containers"))
    wanted = dict.fromkeys((target_name(spec), *extra_names(spec)))
    found = [(name, regular[name]) for name in wanted if name in regular]
    serving = server(spec)
    return [*found, (SERVER, serving)] if serving is not None else found


def claims_gpus(container: Fields) -> bool:
    """Whether a container uses the pod's claim."""
    return CLAIM in index_by_name((container.get("resources") or {}).get("claims"))


def mounts_sockets(container: Fields) -> bool:
    """Whether a container mounts the socket volume at its path; one matching mount is enough."""
    return any(mount and mount.get("name") == VOLUME and mount.get("mountPath") == SOCKETS for mount in container.get("volumeMounts") or ())


def knows_sockets(container: Fields) -> bool:
    """Whether a container has the socket folder in its environment; one matching entry among duplicates is enough."""
    return any(entry and entry.get("name") == SOCKET_ENV and entry.get("value") == SOCKETS for entry in container.get("env") or ())
