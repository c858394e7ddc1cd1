"""Reads the state of a graph's DisaggregatedSet from the LeaderWorkerSets that its controller made. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ...api.line import Line
from ...kube.protocol import Node
from ..common.conditions import explain_unprocessed
from ..common.resources import DISAGGREGATED_SET
from ..common.workers import read_runtime_figures
from ..render.disaggregated_set import REVISION, ROLE, SET_NAME, list_roles
from ..render.graph import Graph, read_replicas
from ..render.names import COMPONENT, RESTART_AT, WORKER_HASH
from ..render.template import read_pod_templates

_COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas")


class SetStatus(NamedTuple):
    """The parts of a graph's status that come from its set."""

    revision: str = ""  # that the set asks for; empty while nothing of it is there
    generation: str = ""  # of the workers that it asks for
    waiting_reasons: Mapping[str, str] = {}  # `SET/ROLE` -> why it is not ready
    figures: Mapping[str, Node] = {}  # component -> entry of the status
    marks: Mapping[str, str] = {}  # component -> restart id that its pods are to carry


def read_set_status(graph: Graph, live_set: Node | None, below: Sequence[Node], line: Line) -> SetStatus:
    """The state of a graph's set, if there is one, and the LeaderWorkerSets below it."""
    if live_set is None:
        return SetStatus()
    roles: dict[str, Node] = {role["name"]: role["spec"] for role in live_set["spec"]["roles"]}
    by_role = {name: [lws for lws in below if _label(lws, ROLE) == name] for name in roles}
    revision, members = _find_revision(roles, below), list_roles(graph, line)
    set_name, waits, figures = live_set["metadata"]["name"], {}, {}
    for name, spec in roles.items():
        if why := _explain_not_ready(spec, by_role[name], revision):
            waits[f"{set_name}/{name}"] = why
        if by_role[name] and name in members:
            figures[members[name].name] = _figures(by_role[name], revision, line)
    waits |= {f"{set_name}/{name}": "role not created yet" for name in members if name not in roles}
    return SetStatus(revision, _read_generation(live_set), waits, figures, dict(_marks(live_set)))


def read_revisions(children: Sequence[Node]) -> dict[str, str]:
    """The Services of roles among a graph's children, with the revision that each selects."""
    services = (child for child in children if child["kind"] == "Service")
    selectors = {service["metadata"]["name"]: (service.get("spec") or {}).get("selector") or {} for service in services}
    return {name: str(selector.get(REVISION)) for name, selector in selectors.items() if SET_NAME in selector}


def find_set(children: Sequence[Node]) -> Node | None:
    """The set among a graph's children, if it has one."""
    return next((child for child in children if child["kind"] == DISAGGREGATED_SET), None)


def _find_revision(roles: Mapping[str, Node], below: Sequence[Node]) -> str:
    """The revision that the set asks for: each of its LeaderWorkerSets makes the pods that the set says. The fullest, then the newest.

    Its name is a digest over Go's encoding of defaulted templates, which only the set's controller can make.
    """
    revisions: dict[str, list[Node]] = {}
    for lws in below:
        if not lws["metadata"].get("deletionTimestamp"):
            revisions.setdefault(_label(lws, REVISION), []).append(lws)
    fitting = {name: of for name, of in revisions.items() if all(_fits(lws, roles.get(_label(lws, ROLE))) for lws in of)}
    return max(fitting, key=lambda name: (len(fitting[name]), max(_created(lws) for lws in fitting[name])), default="")


def _fits(lws: Node, role: Node | None) -> bool:
    """Whether a LeaderWorkerSet makes the pods of a role; its controller adds labels to theirs."""
    if role is None:
        return False
    ours, theirs = role["leaderWorkerTemplate"], lws["spec"]["leaderWorkerTemplate"]
    return ours.get("size") == theirs.get("size") and all(
        _pod(ours, name).get("spec") == _pod(theirs, name).get("spec")
        and all(_read_marked(ours, name, key).items() <= _read_marked(theirs, name, key).items() for key in ("labels", "annotations"))
        for name in ("leaderTemplate", "workerTemplate")
    )


def _pod(template: Node, name: str) -> Node:
    return template.get(name) or {}


def _read_marked(template: Node, name: str, key: str) -> Node:
    return (_pod(template, name).get("metadata") or {}).get(key) or {}


def _explain_not_ready(role: Node, sets: Sequence[Node], revision: str) -> str:
    """Explain why a role is not ready; empty if it is."""
    new = [lws for lws in sets if revision and _label(lws, REVISION) == revision]
    if len(new) != 1:
        return "LeaderWorkerSet not created yet" if not new else f"{len(new)} LeaderWorkerSets of revision {revision}"
    wanted, [lws] = read_replicas(role), new
    status = lws.get("status") or {}
    if read_replicas(lws["spec"]) != wanted:
        return f"not scaled yet: desired={wanted}, spec.replicas={read_replicas(lws['spec'])}"
    if (observed := status.get("observedGeneration")) is not None and (why := explain_unprocessed(lws, observed)):
        return why
    for name in _COUNTS:
        if (count := int(status.get(name) or 0)) != wanted:
            return f"desired={wanted}, {name}={count}"
    old = [lws for lws in sets if lws not in new and (read_replicas(lws["spec"]) or (lws.get("status") or {}).get("replicas"))]
    return f"performing rolling update: {old[0]['metadata']['name']} still has replicas" if old else ""


def _figures(sets: Sequence[Node], revision: str, line: Line) -> Node:
    """The figures of all revisions together; only the newest counts as updated."""
    status = [lws.get("status") or {} for lws in sets]
    new = [lws for lws in sets if _label(lws, REVISION) == revision]
    counts = {name: sum(int(state.get(name) or 0) for state in status) for name in _COUNTS}
    counts["updatedReplicas"] = sum(int((lws.get("status") or {}).get("updatedReplicas") or 0) for lws in new)
    names = sorted(lws["metadata"]["name"] for lws in sets)
    templates = [template for lws in new or sets for template in read_pod_templates(lws).values()]
    return {"componentKind": "LeaderWorkerSet", "componentNames": names, **counts, **read_runtime_figures(line, templates, {})}


def _read_generation(live_set: Node) -> str:
    labels = ((template.get("metadata") or {}).get("labels") or {} for template in read_pod_templates(live_set).values())
    return str(next((template_labels[WORKER_HASH] for template_labels in labels if template_labels.get(WORKER_HASH)), ""))


def _marks(live_set: Node) -> Iterator[tuple[str, str]]:
    for template in read_pod_templates(live_set).values():
        metadata = template.get("metadata") or {}
        if mark := (metadata.get("annotations") or {}).get(RESTART_AT):
            yield (metadata.get("labels") or {}).get(COMPONENT, ""), mark


def _label(obj: Node, name: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(name) or "")


def _created(obj: Node) -> str:
    return str(obj["metadata"].get("creationTimestamp") or "")
