"""Delays vLLM's worker nodes until their leader listens: an init container, and the ConfigMap with its script."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ..framework import VLLM, command_line
from ..merge import object_items, put_named
from ..names import GRAPH_NAME
from ..objects import make_child
from .vllm import MASTER_PORT

if TYPE_CHECKING:
    from ....conversion.lens.protocol import Fields
    from ..graph import Graph
    from ..pod.plan import PodPlan

CONTAINER: Final = "wait-for-leader-mp"
VOLUME: Final = "wait-leader-script"
SCRIPT: Final = "wait-for-leader.py"
_FOLDER: Final = "/scripts"
_REFERENCE: Final = re.compile(r"\$\((\w+)\)", re.ASCII)


def config_maps(graph: Graph) -> list[Fields]:
    """The ConfigMap for a graph with a multinode component of any framework."""
    if all(one.nodes == 1 for one in graph.members):
        return []
    name, marks, data = _name(graph.name), {GRAPH_NAME: graph.name}, {SCRIPT: _script()}
    return [make_child("v1", "ConfigMap", name, graph.namespace, labels=marks, owner=graph.object, data=data)]


def make_wait(spec: Fields, main: Fields, plan: PodPlan) -> None:
    """Add the init container to a pod, in place, if it is a worker node with multiprocessing."""
    role = plan.role
    if role is None or role.leader or plan.framework != VLLM or "--distributed-executor-backend mp" not in command_line(main):
        return
    host = _REFERENCE.sub(r"${\1}", role.host)
    line = f'export LEADER_HOST="{host}" LEADER_PORT="{MASTER_PORT}" && exec python3 {_FOLDER}/{SCRIPT}'
    container = {
        "name": CONTAINER,
        **({"image": main["image"]} if main.get("image") else {}),
        "command": ["sh", "-c", line],
        "volumeMounts": [{"name": VOLUME, "mountPath": _FOLDER, "readOnly": True}],
    }
    spec["initContainers"] = [*object_items(spec.get("initContainers")), container]
    put_named(spec, "volumes", {"name": VOLUME, "configMap": {"name": _name(plan.parent)}})


def _name(parent: str) -> str:
    return f"{parent}-wait-leader-script"


@cache
def _script() -> str:
    return files("dynamo_webhooks.reconciler.render.multinode").joinpath("wait_for_leader.py").read_text(encoding="utf-8")
