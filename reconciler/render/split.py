"""The objects of a graph's components, with the graph's values that they inherit."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.policies.provider_override import FIELD, ROLES
from dynamo_webhooks.reconciler.render.deployment_config import apply_deployment_config
from dynamo_webhooks.reconciler.render.graph import NEW, OLD, converted
from dynamo_webhooks.reconciler.render.kv_transfer import apply_kv_transfer
from dynamo_webhooks.reconciler.render.merge import filled, items, merged_env, texts
from dynamo_webhooks.reconciler.render.names import (
    API_VERSION,
    COMPONENT,
    COMPONENT_CLASS,
    COMPONENT_REMAINDER,
    DECODE,
    DISCOVERY_BACKEND,
    DISCOVERY_MODE,
    ENABLE_METRICS,
    EPP,
    GRAPH_NAME,
    ISTIO_INJECT,
    NAMESPACE,
    ORIGIN_VERSION,
    PLANNER,
    PREFILL,
    RESTART_AT,
    TOPOLOGY_LABEL,
    TYPES,
    VLLM_EXECUTOR,
    WORKER,
    WORKER_HASH,
    component_name,
)
from dynamo_webhooks.reconciler.render.objects import child
from dynamo_webhooks.reconciler.render.planner import ACCOUNT
from dynamo_webhooks.reconciler.render.template import main_in

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member

# a graph's annotations for its pods; a component's override them
PROPAGATED: Final = (ENABLE_METRICS, DISCOVERY_BACKEND, DISCOVERY_MODE, ORIGIN_VERSION, VLLM_EXECUTOR)
_OF_GROVE: Final = ("minAvailable", FIELD)
# values of a v1alpha1 service that a component lacks and children need
_ALPHA_ONLY: Final = ("annotations", "labels", "ingress", "dynamoNamespace", "subComponentType")


def component_object(graph: Graph, member: Member, worker_hash: str, framework: str, *, restart: str = "") -> Fields:
    """The object of one component. Only workers have a generation.

    Raises: RenderError if the component's configuration is invalid.
    """
    spec: Fields = _without_grove(copy.deepcopy(member.fields))
    if member.type not in TYPES:
        spec.pop("type", None)  # its schema refuses others; pods are marked with what the object remembers
    if member.type != EPP:
        spec.pop("eppConfig", None)  # its schema refuses it for others, and v1alpha1's admits it
    if framework:
        spec["backendFramework"] = framework
    generation = worker_hash if member.is_worker else ""
    template = spec.setdefault("podTemplate", {}) or {}
    spec["podTemplate"] = template
    metadata: Fields = template.get("metadata") or {}
    written = texts(metadata.get("labels"))
    marks = _worker_marks(graph, member, generation)
    metadata["labels"] = filled({**written, **marks}, texts(graph.spec.get("labels")))
    metadata["annotations"] = _annotations(graph, member, texts(metadata.get("annotations")), restart)
    template["metadata"] = {name: value for name, value in metadata.items() if value}
    give_env(graph, template)
    if member.type == PLANNER:
        template["spec"] = {**(template.get("spec") or {}), "serviceAccountName": ACCOUNT}
    label_key = apply_kv_transfer(graph, member, template)
    apply_deployment_config(member, spec)
    if not template["metadata"]:
        del template["metadata"]
    if not template:
        del spec["podTemplate"]
    labels = {**written, COMPONENT: member.name, NAMESPACE: member.dynamo_namespace, GRAPH_NAME: graph.name, **marks}
    out = child(
        API_VERSION,
        "DynamoComponentDeployment",
        component_name(graph.name, member.name, generation),
        graph.namespace,
        labels=labels,
        annotations={TOPOLOGY_LABEL: label_key} if label_key else {},
        owner=graph.object,
    )
    out["spec"] = spec
    return _remembering(out, member)


def _without_grove(spec: Fields) -> Fields:
    """Drop, in place, what only Grove acts on: components' schema lacks it, or admission refuses it."""
    for name in _OF_GROVE:
        spec.pop(name, None)
    for role in ROLES:
        (spec.get("multinode") or {}).pop(role, None)
    features = spec.get("experimental") or {}
    if features.pop("grove", None) is not None and not features:
        del spec["experimental"]
    return spec


def _worker_marks(graph: Graph, member: Member, generation: str) -> dict[str, str]:
    if not member.is_worker:
        return {}
    marks = {WORKER_HASH: generation} if generation else {}
    return {**marks, COMPONENT_CLASS: WORKER} if graph.picker else marks


def _annotations(graph: Graph, member: Member, written: dict[str, str], restart: str) -> dict[str, str]:
    injected = {ISTIO_INJECT: "false"} if member.type == EPP else {}
    out = filled(propagated(graph, {**injected, **written}), texts(graph.spec.get("annotations")))
    return {**out, RESTART_AT: restart} if restart else out


def propagated(graph: Graph, written: dict[str, str]) -> dict[str, str]:
    """A pod template's annotations, with the graph's for missing ones."""
    return filled(written, {key: graph.annotations[key] for key in PROPAGATED if key in graph.annotations})


def give_env(graph: Graph, template: Fields) -> None:
    """Add the graph's variables to the main container, which is created if missing, without overriding."""
    shared = items(graph.spec.get("env"))
    if not shared:
        return
    main = main_in(template)
    main["env"] = merged_env(shared, items(main.get("env")))


def _remembering(out: Fields, member: Member) -> Fields:
    """The object with v1alpha1's other values in its annotation, as conversion writes it."""
    # an empty ingress means none
    said = {key: member.alpha[key] for key in _ALPHA_ONLY if member.alpha.get(key) is not None}
    if member.type and member.type not in TYPES:
        said["componentType"] = member.type
    if member.type in (PREFILL, DECODE):
        said.pop("subComponentType", None)  # these types imply it
    if not said:
        return out
    old = converted(out, OLD)
    new = converted({**old, "spec": {**old["spec"], **said}}, NEW)
    kept = (new["metadata"].get("annotations") or {}).get(COMPONENT_REMAINDER)
    if kept:
        out["metadata"]["annotations"] = {**out["metadata"].get("annotations", {}), COMPONENT_REMAINDER: kept}
    return out
