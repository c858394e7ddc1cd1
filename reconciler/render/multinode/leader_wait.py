"""Delays vLLM's worker nodes until their leader listens: an init container, and the ConfigMap with its script."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.framework import VLLM, command_line
from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.multinode.vllm import MASTER_PORT
from dynamo_webhooks.reconciler.render.names import GRAPH_NAME
from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph
    from dynamo_webhooks.reconciler.render.pod.plan import PodPlan

CONTAINER: Final = "wait-for-leader-mp"
VOLUME: Final = "wait-leader-script"
SCRIPT: Final = "wait-for-leader.py"
_FOLDER: Final = "/scripts"
_REFERENCE: Final = re.compile(r"\$\((\w+)\)", re.ASCII)


def config_maps(graph: Graph) -> list[Fields]:
    """The ConfigMap for a graph with a multinode component of any framework."""
    if all(one.nodes == 1 for one in graph.members):
        return []
    out = child("v1", "ConfigMap", _name(graph.name), graph.namespace, labels={GRAPH_NAME: graph.name}, owner=graph.object)
    return [{**out, "data": {SCRIPT: _script()}}]


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
    spec["initContainers"] = [*items(spec.get("initContainers")), container]
    volume = {"name": VOLUME, "configMap": {"name": _name(plan.parent)}}
    spec["volumes"] = [*(one for one in items(spec.get("volumes")) if one.get("name") != VOLUME), volume]


def _name(parent: str) -> str:
    return f"{parent}-wait-leader-script"


@cache
def _script() -> str:
    return files("dynamo_webhooks.reconciler.render.multinode").joinpath("wait_for_leader.py").read_text(encoding="utf-8")
