"""Facts that planners of operator 1.5 and newer read of a component in the status of its graph."""

import re
from collections.abc import Iterable
from typing import Final

from ...api.line import Line
from ...conversion.lens.protocol import Fields
from ...policies.command_line import find_model, find_value, split_words
from ...policies.components import read_pod, read_power_limit
from ...policies.patterns import parse_whole_number
from .errors import RenderError
from .framework import main_of
from .graph import count_nodes
from .merge import object_items
from .multinode.gpus import count_claimed, count_gpus_per_node, count_pod_claims
from .names import LEADER, WORKER, WORKERS
from .settings import ClaimDependencies
from .template import find_shared_template, select_role

FACTS: Final = ("gpusPerEngine", "gpusPerReplica", "gpuPowerLimitWatts", "runtimeComponentName", "servedModelName")
_REFERENCE: Final = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|(\w+))")  # as Kubernetes and shells write a variable
_ENDPOINT: Final = re.compile(r"(?:dyn://)?[^./]+[./]([^./]+)[./][^./]+")


def read_planner_facts(component: Fields, line: Line, claims: ClaimDependencies, env: Iterable[Fields] = ()) -> Fields:
    """Returns the facts that can be determined; `env` has the graph's variables. Empty where definitions would drop them."""
    if line < Line.V1_5:
        return {}
    out = _count_gpus(component, claims)
    if line < Line.V1_6 or component.get("type") not in WORKERS:
        return out
    limit = parse_whole_number(read_power_limit(component) or "") or 0
    words, known = split_words(main_of({"podTemplate": find_shared_template(component)})), _read_env(component, env)
    model, called = _fill(find_model(words), known), _ENDPOINT.fullmatch(_fill(find_value(words, "--endpoint"), known))
    facts = {"runtimeComponentName": called[1] if called else "", "servedModelName": model}
    return out | ({"gpuPowerLimitWatts": limit} if limit > 0 else {}) | {name: value for name, value in facts.items() if value}


def _count_gpus(component: Fields, claims: ClaimDependencies) -> Fields:
    """The GPUs of an engine, which are those of its main containers, and of all pods of a replica; nothing if claims can't be counted."""
    alone = [(component, count_nodes(component))]
    pods = (
        [(select_role(component, LEADER), 1), (select_role(component, WORKER), count_nodes(component) - 1)]
        if component.get("roles")
        else alone
    )
    engine = replica = 0
    try:
        for variant, times in pods:
            pod = read_pod(variant)
            engine += times * (_count_pod([main_of(variant)], pod) + count_claimed(variant, (), claims))
            replica += times * (_count_pod(object_items(pod.get("containers")), pod) + count_pod_claims(variant, (), claims))
    except RenderError:
        return {}
    return {"gpusPerEngine": engine, "gpusPerReplica": replica}


def _count_pod(containers: list[Fields], pod: Fields) -> int:
    """The GPUs that a scheduler reserves: those of containers and sidecars, or of an init container and the sidecars before it."""
    beside = most = 0
    for container in object_items(pod.get("initContainers")):
        count = count_gpus_per_node(container)
        most = max(most, beside + count)
        beside += count if container.get("restartPolicy") == "Always" else 0
    return max(most, beside + sum(map(count_gpus_per_node, containers)))


def _read_env(component: Fields, env: Iterable[Fields]) -> dict[str, str]:
    own = object_items(main_of({"podTemplate": find_shared_template(component)}).get("env"))
    return {str(variable.get("name")): str(variable.get("value") or "") for variable in (*env, *own)}


def _fill(value: str, known: dict[str, str]) -> str:
    """A value with its variables filled in; empty if only the pod knows one."""
    filled = _REFERENCE.sub(lambda name: known.get(name[1] or name[2] or name[3]) or "$", value)
    return "" if "$" in filled else filled
