"""The children of one component's object."""

from __future__ import annotations

from dataclasses import replace

from ...api.line import INSTALLED
from ...conversion.lens.protocol import Fields
from .checkpoint.restore import Restore
from .deployment import deployment
from .errors import RenderError
from .graph import at_start
from .ingress import ways_in
from .lws import leader_worker_set
from .observed import NOTHING, Observed
from .service import model_services, services
from .settings import Settings
from .workload import Workload, owning_graph, read_workload, uses_old_selectors


def no_orchestrator(settings: Settings, grove_will_not: str) -> str:
    """Why a component can't span several nodes without LeaderWorkerSets, with the reason why Grove doesn't run it."""
    off = settings.switched_off
    if not settings.grove and not off & {"grove", "lws"}:
        return "needs LeaderWorkerSets together with Volcano, or Grove, to span several nodes; the cluster serves neither"
    where = "are switched off in the operator" if "lws" in off else "the cluster does not serve"
    if not settings.grove:
        grove_will_not = "Grove is switched off in the operator" if "grove" in off else "the cluster does not serve Grove"
    return f"needs LeaderWorkerSets together with Volcano to span several nodes, which {where}; {grove_will_not}"


def component_children(obj: Fields, settings: Settings, observed: Observed = NOTHING) -> list[Fields]:
    """All children of one component's object, its workload first; while it waits for its snapshot it has no pods.

    Raises: RenderError if they can't be rendered.
    """
    name = str((obj.get("metadata") or {}).get("name") or "")
    old = name in observed.old_selectors or uses_old_selectors(obj)
    left = name in observed.left
    made = left or bool(owning_graph(obj.get("metadata") or {}))  # by a graph, which writes it as all lines read it
    workload = read_workload(obj, INSTALLED if made else settings.line, old_selectors=old, left=left)
    workload = replace(workload, spec=at_start(workload.spec, waits=name in observed.waits))
    settings = settings._replace(key_per_graph=settings.key_per_graph and bool(workload.graph))
    return [
        *_controllers(workload, settings, observed.restores.get(name)),
        *services(workload, settings),
        *([] if owning_graph(workload.object["metadata"]) else model_services(workload.spec, workload.namespace, workload.object)),
        *ways_in(workload.name, workload.namespace, workload.type, workload.graph, workload.alpha, workload.object, settings),
    ]


def _controllers(workload: Workload, settings: Settings, restore: Restore | None) -> list[Fields]:
    if workload.nodes > 1:
        if not settings.lws:
            raise RenderError(("spec", "multinode"), no_orchestrator(settings, "Grove runs whole graphs only"))
        return [leader_worker_set(workload, settings)]
    return [deployment(workload, settings, restore)]
