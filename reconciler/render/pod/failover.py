"""Two engines in one pod, one on standby: the main container doubled. A file lock decides which is active."""

import copy
import re
from typing import Any, Final

from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..framework import VLLM
from ..gms import CONTROL_PATH
from ..graph import INTER_POD, experimental
from ..merge import object_items
from ..names import FORWARD_PASS_PORT, MAIN, SYSTEM_PORT
from ..workload import PodPlan
from .container import KINDS, port

LOCK: Final = "failover.lock"
_APART: Final = 100  # between the master ports of the two engines
_DROPPED: Final = frozenset({"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "DYN_HEALTH_CHECK_ENABLED"})
_FLAG: Final = "--master-port"
_IN_TEXT: Final = re.compile(r"(--master-port[ =])([0-9]{1,5})(?![0-9])")


def double_engine(spec: Fields, plan: PodPlan) -> None:
    """Replace the main container by two engines, in place, for intra-pod failover. Raises: RenderError for an unsupported framework."""
    wanted = experimental(plan.component, "failover")
    if wanted is None or wanted.get("mode") == INTER_POD:
        return
    if plan.framework != VLLM:
        path = (*plan.path, "experimental", "failover")
        raise RenderError(path, f'needs vLLM, got "{plan.framework}"' if plan.framework else "needs vLLM, which the command doesn't call")
    containers = object_items(spec.get("containers"))
    main = next(one for one in containers if one.get("name") == MAIN)
    others = [one for one in containers if one is not main]
    nodes = plan.role.nodes if plan.role is not None else 1
    spec["containers"] = [*(_engine(main, number, nodes) for number in range(2)), *others]


def _engine(main: Fields, number: int, nodes: int) -> Fields:
    out = copy.deepcopy(main)
    out["name"] = f"engine-{number}"
    named = f"system-{number}"
    out["ports"] = [port(named, SYSTEM_PORT + number)]
    for kind in KINDS:
        handler = (out.get(kind) or {}).get("httpGet")
        if handler:
            handler["port"] = named
    told = _env(number, nodes)
    # replaces the user's: a repeated name can't be applied
    gone = _DROPPED | {one["name"] for one in told}
    out["env"] = [one for one in object_items(out.get("env")) if one.get("name") not in gone] + told
    if number:
        _move_master_port(out)
    return out


def _env(number: int, nodes: int) -> list[Fields]:
    values = {
        "ENGINE_ID": str(number),
        "CONTAINER_NAME": f"engine-{number}",
        "FAILOVER_LOCK_PATH": f"{CONTROL_PATH}/{LOCK}",
        "DYN_SYSTEM_STARTING_HEALTH_STATUS": "notready",
        "DYN_SYSTEM_PORT": str(SYSTEM_PORT + number),
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_FORWARDPASS_METRIC_PORT": str(FORWARD_PASS_PORT + number),
        "DYN_VLLM_GMS_SHADOW_MODE": "true",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(5600 + number),
        "DYN_VLLM_KV_EVENT_PORT": str(20080 + number),
    }
    if nodes > 1:
        values["NNODES"] = str(nodes)
    return [{"name": name, "value": value} for name, value in values.items()]


def _move_master_port(engine: Fields) -> None:
    """Give the second engine another master port, from the written one or the default."""
    for part in ("args", "command"):
        words, moved = _moved(engine.get(part) or [])
        if moved:
            engine[part] = words
            return
    engine["args"] = [*(engine.get("args") or []), _FLAG, str(29500 + _APART)]


def _moved(words: list[Any]) -> tuple[list[Any], bool]:
    for index, word in enumerate(words):
        text = str(word)
        if text == _FLAG and index + 1 < len(words) and str(words[index + 1]).isdecimal():
            return [*words[: index + 1], str(int(words[index + 1]) + _APART), *words[index + 2 :]], True
        if _IN_TEXT.search(text):
            changed = _IN_TEXT.sub(lambda found: f"{found[1]}{int(found[2]) + _APART}", text, count=1)
            return [*words[:index], changed, *words[index + 1 :]], True
    return words, False
