"""A graph's DisaggregatedSet, of which each role is a component on several nodes: all roles change together.

A graph becomes one if its workload-provider annotation asks for it, since operator 1.7. Each other component stays an object of its own.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from ...api.line import OLDEST, Line
from ...api.paths import Key
from ...conversion.lens.protocol import Fields
from . import names
from .component import make_leader_worker_spec
from .errors import RenderError
from .graph import Graph, Member, read_replicas, read_restart_id
from .objects import annotate, make_child
from .observed import ObservedState
from .service import make_model_services, make_services
from .settings import Settings
from .split import make_component
from .workload import Workload, read_workload

KIND: Final = "DisaggregatedSet"
GROUP: Final = "disaggregatedset.x-k8s.io"
SET_NAME: Final = f"{GROUP}/name"  # labels of what the set's controller makes
ROLE: Final = f"{GROUP}/role"
REVISION: Final = f"{GROUP}/revision"
MIN_ROLES, MAX_ROLES = 2, 10
MAX_SET_NAME_CHARACTERS: Final = 31  # pods are named `SET-SLICE-REVISION-ROLE-prv`, which is a label, too
MAX_ROLE_NAME_CHARACTERS: Final = 15  # the rest of 63 then
_MANAGED: Final = names.GROUP + "dynamo-managed-service-metadata"


def is_disaggregated(annotations: Mapping[str, Any], line: Line) -> bool:
    """Whether a graph with these annotations becomes a DisaggregatedSet."""
    return line >= Line.V1_7 and annotations.get(names.WORKLOAD_PROVIDER) == names.DISAGGREGATED


def list_roles(graph: Graph, line: Line) -> dict[str, Member]:
    """The components that are roles of the graph's set, by the roles' names; none of a graph that becomes no set."""
    roles: dict[str, Member] = {}
    if is_disaggregated(graph.annotations, line):
        for member in graph.members:
            if member.is_worker and member.nodes > 1:
                roles[_name_role(member, roles)] = member
    return roles


def set_name(graph: Graph) -> str:
    """The name of a graph's set."""
    return names.shorten_name(names.dns_name(graph.name), MAX_SET_NAME_CHARACTERS)


def explain_absence(settings: Settings) -> str:
    """Explain why there can be no sets; empty if there can."""
    if settings.disaggregated:
        return ""
    why = "are switched off in the operator" if "lws" in settings.switched_off else "the cluster does not serve"
    return f'"{names.DISAGGREGATED}" needs {KIND}s of LeaderWorkerSet 0.9 or newer, which {why}'


def find_obstacle(graph: Graph, line: Line) -> RenderError | None:
    """Find the reason why a graph that asks for a set can't be one."""
    roles = list_roles(graph, line).values()
    if not MIN_ROLES <= len(roles) <= MAX_ROLES:
        text = f"must have {MIN_ROLES} to {MAX_ROLES} workers on several nodes for a {KIND}, got {len(roles)}"
        return RenderError(("spec", "components"), text)
    scaled = next((role for role in roles if role.fields.get("scalingAdapter") is not None), None)
    if scaled is not None:
        return RenderError((*scaled.path, "scalingAdapter"), f"must be unset for a role of a {KIND}, which no adapter scales")
    stopped = [role for role in roles if read_replicas(role.fields) == 0]
    if 0 < len(stopped) < len(roles):
        return RenderError((*stopped[0].path, "replicas"), f"must be more than 0, or 0 for all roles of a {KIND}, got 0")
    return None


def set_children(graph: Graph, generation: str, marks: Mapping[str, str], settings: Settings, observed: ObservedState) -> list[Fields]:
    """The graph's set with the Services of its roles, if it asks for one; `marks` are the restart marks of components.

    Raises: RenderError if it can't have a set.
    """
    if not is_disaggregated(graph.annotations, settings.line):
        return []
    if why := explain_absence(settings):
        raise RenderError(("metadata", "annotations", Key(names.WORKLOAD_PROVIDER)), why)
    if (obstacle := find_obstacle(graph, settings.line)) is not None:
        raise obstacle
    members, name = list_roles(graph, settings.line), set_name(graph)
    wanted = read_restart_id(graph)
    together = bool(wanted) and any(marks.get(peer.name) == wanted for peer in members.values())
    roles, reached = [], list[Fields]()
    for role, member in members.items():
        restart = wanted if together else marks.get(member.name, "")
        workload = read_workload(make_component(graph, member, generation, graph.framework, restart=restart), OLDEST)
        try:
            roles.append({"name": role, "spec": _role_spec(workload, settings)})
        except RenderError as error:
            raise RenderError((*member.path, *error.path[1:]), error.reason) from error
        reached += make_model_services(member.fields, graph.object)
        reached += _services(graph, workload, settings, observed, {SET_NAME: name, ROLE: role})
    labels = {names.GRAPH_NAME: graph.name, names.SELECTOR: name}
    return [make_child(f"{GROUP}/v1", KIND, name, labels=labels, owner=graph.object, spec={"roles": roles}), *reached]


def _role_spec(workload: Workload, settings: Settings) -> Fields:
    """The fields that LeaderWorkerSet 0.9 knows: any other would make a new revision of each newer release."""
    spec = make_leader_worker_spec(workload, settings)
    template = {**spec["leaderWorkerTemplate"], "restartPolicy": "RecreateGroupOnPodRestart"}
    return {**spec, "rolloutStrategy": {"type": "RollingUpdate"}, "leaderWorkerTemplate": template}


def _services(graph: Graph, workload: Workload, settings: Settings, observed: ObservedState, selector: dict[str, str]) -> list[Fields]:
    """Make what a role is reached by: pods of one revision, whose name is known once the set's controller has made it."""
    made = make_services(workload, settings, owner=graph.object)
    name = names.dns_name(workload.name)
    own = [service for service in made if (service["kind"], service["metadata"]["name"]) == ("Service", name)]
    revision = observed.kept_revisions.get(name, observed.revision)
    chosen = {**selector, REVISION: revision}
    return [*(_selecting(service, chosen) for service in own if revision), *(service for service in made if service not in own)]


def _selecting(service: Fields, selector: dict[str, str]) -> Fields:
    """A Service with another selector, and a note of the labels and annotations that this project sets."""
    ours = {key: sorted(service["metadata"].get(key) or ()) for key in ("labels", "annotations")}
    chosen = {**service, "spec": {**service["spec"], "selector": selector}}
    return annotate(chosen, {_MANAGED: json.dumps(ours, separators=(",", ":"))})


def _name_role(member: Member, taken: Mapping[str, object]) -> str:
    """`prefill` or `decode` by the component's type, else a name from the component's; a number makes it unique."""
    if member.type in (names.PREFILL, names.DECODE) and member.type not in taken:
        return member.type
    base = names.dns_name(member.name)
    tried = [base, *(f"{base}-{number}" for number in range(2, len(taken) + 2))]
    return next(name for candidate in tried if (name := names.shorten_name(candidate, MAX_ROLE_NAME_CHARACTERS)) not in taken)
