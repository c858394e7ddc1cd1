"""The wiring of a checkpoint's pod for the GPU memory service: names, look-ups in the pod template, and the example of its rules."""

from __future__ import annotations

import re
from typing import Final

from ..review import Fields
from ..rule import Check

CLAIM: Final = "intrapod-shared-gpu"
VOLUME: Final = "gms-intrapod-control"
SOCKETS: Final = "/gms-intrapod-control"
SOCKET_ENV: Final = "GMS_SOCKET_DIR"
SERVER: Final = "gms-server"
BY_AUTHOR: Final = "this field only describes the pod and changes nothing in it"

_CLIENT: Final = {
    "resources": "    resources: {claims: [{name: intrapod-shared-gpu}]}",
    "volumeMounts": "    volumeMounts: [{name: gms-intrapod-control, mountPath: /gms-intrapod-control}]",
    "env": "    env: [{name: GMS_SOCKET_DIR, value: /gms-intrapod-control}]",
}
# a checkpoint whose pod is wired, line by line
_WIRED: Final = {
    "facts": "# facts: {allowGmsSnapshot: true}",
    "spec": "spec:",
    "gpuMemoryService": "  gpuMemoryService: {enabled: true}",
    "job": "  job:\n    podTemplateSpec:\n      spec:",
    "resourceClaims": "        resourceClaims: [{name: intrapod-shared-gpu, resourceClaimTemplateName: gpus}]",
    "volumes": "        volumes: [{name: gms-intrapod-control, emptyDir: {}}]",
    "initContainers": "        initContainers:\n          - name: gms-server",
    "initContainers.restartPolicy": "            restartPolicy: Always",
    **{f"initContainers.{field}": f"        {line}" for field, line in _CLIENT.items()},
    "containers": "        containers:",
    "containers.name": "          - name: main",
    **{f"containers.{field}": f"        {line}" for field, line in _CLIENT.items()},
}
_EXAMPLE: Final = re.compile(
    r"^( *(?:bad |ok  )?)wired(?: without (?P<absent>\S+)| with (?P<field>\S+): (?P<value>.+?))?(?P<mark>  # expect)?$", re.MULTILINE
)


def fill_examples(check: Check) -> Check:
    """Write out the examples in a rule's docstring.

    The line `wired` is replaced by a checkpoint whose pod is wired, `wired without FIELD` for one that lacks a field, and
    `wired with FIELD: VALUE` for another value. A mark at the end moves to the line of `gpuMemoryService`.
    """
    check.__doc__ = _EXAMPLE.sub(_written, check.__doc__ or "")
    return check


def _written(example: re.Match[str]) -> str:
    absent, field, value, mark = example.group("absent", "field", "value", "mark")
    lines = {name: line for name, line in _WIRED.items() if not absent or not f"{name}.".startswith(f"{absent}.")}
    if field:
        lines[field] = f"{lines[field].partition(': ')[0]}: {value}"
    lines["gpuMemoryService"] += mark or ""
    return "\n".join(example[1] + line for line in "\n".join(lines.values()).split("\n"))


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
