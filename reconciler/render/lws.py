"""The LeaderWorkerSet of a component whose replicas span several nodes."""

from __future__ import annotations

from ...api.quantity import is_quantity, parse
from ...conversion.lens.protocol import Fields
from ...policies.engines import ENGINES_SINCE, list_templates
from .deployment import pod_metadata
from .errors import RenderError
from .framework import main_of, path_of_main
from .graph import replicas_in
from .multinode.device_claims import count_claimed
from .multinode.role import USUAL, Role, check_nodes, lws_roles
from .names import LEADER, MAIN, ROLE, SELECTOR, WORKER, digest
from .objects import make_child
from .pod.assemble import pod_spec
from .pod.plan import plan_of
from .settings import Settings
from .workload import Workload

API_VERSION = "leaderworkerset.x-k8s.io/v1"
_LONGEST = 50  # of a set's name, with an index of one digit: 63, which a label may have, less the index and the hash with their dashes


def leader_worker_set(workload: Workload, settings: Settings) -> Fields:
    """The set of a component on several nodes.

    Raises: RenderError when its pods can't be split into a leader and workers.
    """
    _check(workload, settings)
    name, nodes = set_name(workload.name), workload.nodes
    leader, worker = lws_roles(nodes)
    spec = {
        "replicas": replicas_in(workload.spec),
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": {
            "size": nodes,
            "leaderTemplate": _template(workload, leader, settings),
            "workerTemplate": _template(workload, worker, settings),
        },
    }
    # the labels of all children, but not their annotations, as recorded
    return make_child(API_VERSION, "LeaderWorkerSet", name, workload.namespace, labels=workload.labels, owner=workload.object, spec=spec)


def set_name(component: str) -> str:
    """The name of a component's set; one that is too long for its pods ends with a hash instead.

    A StatefulSet labels its pods with its own name, a dash and ten characters, and the one of a group's workers is named `<set>-<index>`.
    The Go operator makes sets of longer names, too; their workers are never made.
    """
    name = f"{component}-0"
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 9].rstrip('-')}-{digest(name)}"


def _template(workload: Workload, role: Role, settings: Settings) -> Fields:
    workload = workload.of_role(LEADER if role.leader else WORKER)
    metadata = pod_metadata(workload, settings)
    labels = {**metadata["labels"], ROLE: LEADER if role.leader else WORKER}
    del labels[SELECTOR]
    spec = pod_spec(plan_of(workload, role), settings)
    if not any(one.get("name") == MAIN for one in spec["containers"]):
        path = ("spec", "experimental", "failover")
        raise RenderError(path, "must not double the engine within a pod of a LeaderWorkerSet, whose pods need one main container")
    return {"metadata": {**metadata, "labels": dict(sorted(labels.items()))}, "spec": spec}


def _check(workload: Workload, settings: Settings) -> None:
    check_nodes(workload.nodes, ("spec",))
    if settings.line >= ENGINES_SINCE and list_templates(workload.spec):
        return  # whose authors start the nodes
    main = main_of(workload.spec)
    path = path_of_main(workload.spec, ("spec",))
    if not main.get("command") and not main.get("args"):
        raise RenderError(path, "must have a container main with command or args, for nothing else can start on several nodes")
    gpus = ((main.get("resources") or {}).get("limits") or {}).get(USUAL)
    known = count_claimed(workload.spec, ("spec",), settings.claims) if gpus is None else is_quantity(gpus) and parse(gpus)
    if known <= 0:
        raise RenderError((*path, "resources", "limits", USUAL), "must be more than 0 for a component on several nodes")
