"""The containers that run a component's engine: the main one of its template or its roles' templates, or a sidecar. Decided only here."""

from typing import Final

from ..api.line import Line
from .at import At
from .components import WORKERS, find_main, read_pod
from .frameworks import SGLANG, VLLM
from .review import Fields

ENGINES_SINCE: Final = Line.V1_6  # pod templates of roles, the sidecar "runtime", and frontend sidecars by their own names
RUNTIME: Final = "runtime"
SPREAD_FLAGS: Final = {VLLM: "--data-parallel-hybrid-lb", SGLANG: "--enable-dp-attention"}  # with which each node serves for itself


def list_sidecars(component: Fields) -> list[tuple[int, Fields]]:
    """The init containers named `runtime` with their places: since line 1.6 the one that runs the engine beside the main container."""
    listed = read_pod(component).get("initContainers")
    return (
        [(index, container) for index, container in enumerate(listed) if container and container.get("name") == RUNTIME] if listed else []
    )


def list_roles(component: Fields) -> list[tuple[int, Fields]]:
    """The roles of a component with their places."""
    return [(index, role) for index, role in enumerate(component.get("roles") or ()) if role]


def list_templates(component: Fields) -> list[tuple[int, Fields]]:
    """The pod templates of a component's roles, with the places of the roles: since line 1.6 each role may have its own."""
    if not component.get("roles"):
        return []
    return [(index, template) for index, role in list_roles(component) if (template := role.get("podTemplate")) is not None]


def find_sidecar(line: Line, component: Fields) -> Fields | None:
    """The sidecar that runs a worker's runtime in place of its main container; before line 1.6 it is an ordinary one."""
    if line < ENGINES_SINCE or component.get("type") not in WORKERS:
        return None
    for _, sidecar in list_sidecars(component):
        if sidecar.get("restartPolicy") == "Always":
            return sidecar
    return None


def list_engines(at: At) -> list[Fields]:
    """The containers that run a component's engine: the main one of each pod template, or the sidecar named `runtime`."""
    line = at.review.line
    if line >= ENGINES_SINCE and (templates := list_templates(at.value)):
        return [find_main({"podTemplate": template})[0] for _, template in templates]
    return [find_sidecar(line, at.value) or at.main[0]]
