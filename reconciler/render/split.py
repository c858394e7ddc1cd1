"""The objects of a graph's components, with the graph's values that they inherit."""

import copy
import json
from typing import Any, Final

from ...api.paths import Path
from ...api.quantity import is_quantity
from ...conversion.lens.protocol import Fields
from ...policies.provider_override import FIELD
from . import names
from .errors import RenderError
from .framework import main_of, path_of_main
from .graph import NEW, OLD, Graph, Member, check_templates, convert_for_render
from .kv_transfer import apply_kv_transfer
from .merge import as_map, merge_env, object_items, string_map
from .objects import make_child
from .template import find_engine, list_own_templates, main_in

# a graph's annotations for its pods; a component's override them
_PROPAGATED: Final = (names.ENABLE_METRICS, names.DISCOVERY_BACKEND, names.DISCOVERY_MODE, names.ORIGIN_VERSION, names.VLLM_EXECUTOR)
# values of a v1alpha1 service that a component lacks and children need
_ALPHA_ONLY: Final = ("annotations", "labels", "ingress", "dynamoNamespace", "subComponentType")

_VARIABLE: Final = "DYN_DEPLOYMENT_CONFIG"  # older tools' sizes of components as JSON; not used on Grove
_AMOUNTS: Final = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}


def make_component(graph: Graph, member: Member, worker_hash: str, framework: str, *, restart: str = "") -> Fields:
    """The object of one component. Only workers have a generation. Raises: RenderError if the component's configuration is invalid."""
    check_templates(graph, member)
    spec: Fields = _without_grove(copy.deepcopy(member.fields))
    if member.type not in names.TYPES:
        spec.pop("type", None)  # its schema refuses others; pods are marked with what the object remembers
    if member.type != names.EPP:
        spec.pop("eppConfig", None)  # its schema refuses it for others, and v1alpha1's admits it
    if framework:
        spec["backendFramework"] = framework
    generation = worker_hash if member.is_worker else ""
    marks = {names.WORKER_HASH: generation} if generation else {}
    if member.is_worker and graph.picker:
        marks[names.COMPONENT_CLASS] = names.WORKER
    templates = list_own_templates(spec)
    written = string_map(((spec.get("podTemplate") or {}).get("metadata") or {}).get("labels"))
    label_key, *_ = [_complete(template, graph, member, marks, restart) for template in templates]
    _apply_deployment_config(member, spec)
    if spec.get("podTemplate") == {}:
        del spec["podTemplate"]
    labels = {**written, names.COMPONENT: member.name, names.NAMESPACE: member.dynamo_namespace, names.GRAPH_NAME: graph.name, **marks}
    name, place = names.component_name(graph.name, member.name, generation), {names.TOPOLOGY_LABEL: label_key} if label_key else {}
    kind = "DynamoComponentDeployment"
    out = make_child(names.API_VERSION, kind, name, labels=labels, annotations=place, owner=graph.object, spec=spec)
    return _remember_alpha(out, member)


def _complete(template: Fields, graph: Graph, member: Member, marks: dict[str, str], restart: str) -> str:
    """Give a pod template, in place, what its graph says of all pods; returns the key of the label of their place."""
    metadata: Fields = template.get("metadata") or {}
    metadata["labels"] = {**string_map(graph.spec.get("labels")), **string_map(metadata.get("labels")), **marks}
    injected = {names.ISTIO_INJECT: "false"} if member.type == names.EPP else {}
    written = propagate_annotations(graph, {**injected, **string_map(metadata.get("annotations"))})
    restarted = {names.RESTART_AT: restart} if restart else {}
    metadata["annotations"] = {**string_map(graph.spec.get("annotations")), **written, **restarted}
    template["metadata"] = {name: value for name, value in metadata.items() if value}
    give_env(graph, member, template)
    if graph.spec.get("priorityClassName"):
        template["spec"] = {"priorityClassName": graph.spec["priorityClassName"], **(template.get("spec") or {})}
    if member.type == names.PLANNER:
        template["spec"] = {**(template.get("spec") or {}), "serviceAccountName": names.PLANNER_ACCOUNT}
    label_key = apply_kv_transfer(graph, member, template)
    if not template["metadata"]:
        del template["metadata"]
    return label_key


def _without_grove(spec: Fields) -> Fields:
    """Drop, in place, what only Grove acts on: components' schema lacks it, or admission refuses it."""
    for name in ("minAvailable", FIELD):
        spec.pop(name, None)
    for role in spec.get("roles") or ():
        role.pop(FIELD, None)
    features = spec.get("experimental") or {}
    if features.pop("grove", None) is not None and not features:
        del spec["experimental"]
    return spec


def propagate_annotations(graph: Graph, written: dict[str, str]) -> dict[str, str]:
    """A pod template's annotations, with the graph's for missing ones."""
    return {**{key: graph.annotations[key] for key in _PROPAGATED if key in graph.annotations}, **written}


def give_env(graph: Graph, member: Member, template: Fields) -> None:
    """Add the graph's variables to the main container, which is created if missing, and a sidecar `runtime`, without overriding."""
    shared = object_items(graph.spec.get("env"))
    if not shared:
        return
    main, engine = main_in(template), find_engine(template, member.type, graph.line)
    for container in [main] if engine is main else [main, engine]:
        container["env"] = merge_env(shared, object_items(container.get("env")))


def _remember_alpha(out: Fields, member: Member) -> Fields:
    """The object with v1alpha1's other values in its annotation, as conversion writes it."""
    # an empty ingress means none
    values = {key: member.alpha[key] for key in _ALPHA_ONLY if member.alpha.get(key) is not None}
    if member.type and member.type not in names.TYPES:
        values["componentType"] = member.type
    if member.type in (names.PREFILL, names.DECODE):
        values.pop("subComponentType", None)  # these types imply it
    if not values:
        return out
    old = convert_for_render(out, OLD)
    new = convert_for_render({**old, "spec": {**old["spec"], **values}}, NEW)
    kept = (new["metadata"].get("annotations") or {}).get(names.COMPONENT_REMAINDER)
    if kept:
        out["metadata"]["annotations"] = {**out["metadata"].get("annotations", {}), names.COMPONENT_REMAINDER: kept}
    return out


def _apply_deployment_config(member: Member, spec: Fields) -> None:
    """Apply the variable to a component's spec, in place. Raises: RenderError if it is not a JSON object, or an amount is invalid."""
    main = main_of(spec)
    entry = next(
        (variable for variable in object_items(main.get("env")) if variable.get("name") == _VARIABLE and variable.get("value")), None
    )
    if entry is None:
        return
    path = _path(member)
    config = _read(str(entry["value"]), path)
    if member.type == names.FRONTEND:
        called = _frontend(config, member.name)
        if called:
            config[called]["port"] = names.HTTP_PORT
            text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            # the entry may be the graph's, which other components share
            main["env"] = [{**variable, "value": text} if variable is entry else variable for variable in object_items(main.get("env"))]
    arguments = _block(config.get(member.name), "ServiceArgs")
    if isinstance(arguments.get("workers"), int) and spec.get("replicas") is None:
        spec["replicas"] = arguments["workers"]
    amounts = _amounts(_block(arguments, "resources"), path)
    if amounts:
        resources = main.get("resources") or {}
        main["resources"] = {**resources, **{part: {**(resources.get(part) or {}), **amounts} for part in ("limits", "requests")}}


def _path(member: Member) -> Path:
    """The variable's path: in the component's main container, else in the graph."""
    own = [variable.get("name") for variable in object_items(main_of(member.fields).get("env"))]
    return (*path_of_main(member.fields, member.path), "env", own.index(_VARIABLE), "value") if _VARIABLE in own else ("spec", "env")


def _read(text: str, path: Path) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise RenderError(path, f"{_VARIABLE} of the main container must be a JSON object keyed by component")
    return config


def _frontend(config: dict[str, Any], name: str) -> str:
    """The key of a frontend's entry: its name, else `frontend` in any case."""
    named = [key for key in config if key == name] or sorted(key for key in config if key.lower() == names.FRONTEND)
    return next((key for key in named if isinstance(config[key], dict)), "")


def _block(value: Any, name: str) -> Fields:
    return as_map(as_map(value).get(name))


def _amounts(resources: Fields, path: Path) -> dict[str, str]:
    amounts = {_AMOUNTS[name]: resources[name] for name in _AMOUNTS if resources.get(name)}
    amounts |= _block(resources, "custom")
    for name, amount in amounts.items():
        if not is_quantity(amount):
            raise RenderError(path, f"{_VARIABLE} of the main container must hold quantities, got {str(amount)[:40]!r} for {name[:80]}")
    return {name: str(amount) for name, amount in amounts.items()}
