"""Rules for provider overrides: where and when one may be set, and to what."""

from collections.abc import Iterator
from typing import Any

from ...api.paths import Path
from ...api.wording import article
from ..annotations import WORKLOAD_PROVIDER
from ..at import At, Findings
from ..finding import Finding
from ..grove import GROVE, explain_off_grove, provider
from ..provider_override import (
    API_VERSION,
    WHEN,
    Override,
    changes_provider,
    list_grove_overrides,
    list_overrides,
    topology_steps,
    writes_topology,
)
from ..review import UPDATE
from ..rule import GRAPH, Stage, rule
from ..words import quote_once


@rule("DYN172", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_api_version(at: At) -> Findings:
    """An override has another API version than Grove's.

    Why
        The override becomes part of a Grove object, which the operator writes in only one version.

    Fix
        Write grove.io/v1alpha1 as the API version.

    Example
         spec:
           providerOverride:
        -    apiVersion: grove.io/v1  # expect
        +    apiVersion: grove.io/v1alpha1
             target: PodCliqueSet
             value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
           components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}]
    """
    for override in list_grove_overrides(at):
        version = override.block.get("apiVersion")
        if version != API_VERSION and not changes_provider(override, "apiVersion"):
            yield at.not_supported((*override.path, "apiVersion"), version or "", (API_VERSION,))


_FIELDS = ("apiVersion", "target")


@rule("DYN717", where=GRAPH, when=WHEN, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def provider_override_immutable(at: At) -> Findings:
    """An override changes its API version or its target after creation.

    Why
        Both identify the Grove object. The value may change, and an override may be removed. An empty target gets the default with the
        next update.

    Fix
        Restore the old API version and target, or remove the override and add another in a second update.

    Example
        +metadata: {annotations: {nvidia.com/workload-provider: grove}}
        +spec:
        +  providerOverride:
        +    apiVersion: grove.io/v1alpha1
        +    target: PodCliqueSet
        +    value: {spec: {template: {topologyConstraint: {packDomain: zone}}}}
        +--- # becomes
        +metadata: {annotations: {nvidia.com/workload-provider: grove}}
        +spec:
        +  providerOverride:
        +    apiVersion: grove.io/v1alpha1
        +    target: PodCliqueSet
        +    value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}

         metadata: {annotations: {nvidia.com/workload-provider: grove}}
        -spec: {providerOverride: {apiVersion: grove.io/v1alpha1, target: PodCliqueSet, value: {}}}
        +spec: {providerOverride: {apiVersion: grove.io/v1alpha1, value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}}}
         --- # becomes
         metadata: {annotations: {nvidia.com/workload-provider: grove}}
         spec:
           providerOverride:
             apiVersion: grove.io/v1alpha1
        -    target: PodCliqueTemplateSpec  # expect
        +    target: PodCliqueSet
             value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
    """
    for override in list_overrides(at.value, at.old):
        for field in _FIELDS:
            if changes_provider(override, field):
                was, now = (override.before or {})[field], override.block.get(field) or ""
                text = f'must stay "{quote_once(was)}" after creation, got "{quote_once(now)}"'
                yield at.immutable((*override.path, field), text, value=now)


@rule("DYN171", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_requires_grove(at: At) -> Findings:
    """A graph has overrides for Grove, but Grove does not run it.

    Why
        Overrides are parts of Grove's objects. For a graph of an operator before 1.5 it is recorded where it runs only when it is adopted.

    Fix
        Remove `providerOverride`, or run the graph on Grove. The reconciler adopts running graphs of older operators within a pass; without
        one, the operator's account adds the annotation `nvidia.com/workload-provider`, with the value `grove` if a PodCliqueSet runs it.

    Example
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         spec:
           providerOverride:  # expect
             apiVersion: grove.io/v1alpha1
             target: PodCliqueSet
             value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
           components: [{name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}}]
    """
    overrides = list(list_overrides(at.value))
    if not overrides or (chosen := provider(at)) == GROVE:
        return
    seen, fix = explain_off_grove(at), ""
    if chosen is None:
        who = at.review.facts.operatorPrincipal
        account = f'"{who}"' if isinstance(who, str) and who else "the operator"
        seen = f"the annotation {WORKLOAD_PROVIDER} is missing, which the reconciler adds to graphs that run"
        fix = f'run the reconciler, or add {WORKLOAD_PROVIDER}: "grove" as {account}'
    for override in overrides:
        yield at.forbidden(override.path, f"must be unset unless Grove runs the graph: {seen}", fix=fix)


@rule("DYN173", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_target(at: At) -> Findings:
    """An override names the wrong type of Grove object, or its position has none.

    Why
        The layout determines which Grove object a graph, a component or a role becomes, so an override of another type would have no
        effect. A component becomes a scaling group if a replica has several pods, otherwise one clique. The leader and worker roles of a
        component on several nodes are cliques.

    Fix
        Leave the target out to use the default, or write the type that belongs to this position. Remove the override of a role that the
        component doesn't have.

    Example
         {worker with an image}
               providerOverride:
                 apiVersion: grove.io/v1alpha1
        -        target: PodCliqueSet  # expect
        +        target: PodCliqueTemplateSpec
                 value: {topologyConstraint: {packDomain: rack}}

        -{worker with an image}
        -      multinode: {nodeCount: 2}
        -      roles:
        -        - name: leader
        -          providerOverride:
        -            apiVersion: grove.io/v1alpha1
        -            target: PodCliqueScalingGroupConfig  # expect
        -            value: {topologyConstraint: {packDomain: rack}}
        -        - {name: worker}
    """
    for override in list_grove_overrides(at):
        target, wanted = override.block.get("target"), override.target
        if changes_provider(override, "target"):
            continue
        if not wanted:
            yield at.forbidden(override.path, "must be unset: only a component on several nodes, with no pods for its weights, has roles")
        elif not target:
            yield at.required((*override.path, "target"), f'must be "{wanted}" at this place, got nothing')
        elif target != wanted:
            yield at.invalid((*override.path, "target"), target, f'must be "{wanted}" at this place, got "{quote_once(target)}"')


@rule("DYN175", where=GRAPH, when=WHEN, stage=Stage.TOPOLOGY, needs=("grove",), since="1.5")
def provider_override_topology_conflict(at: At) -> Findings:
    """A graph has topology constraints both in its own fields and in overrides for Grove.

    Why
        Both are written into the same field of Grove's objects, so one of them would be lost.

    Fix
        Use `topologyConstraint` of the graph and its {services}, or overrides, but not both.

    Example
         spec:
           topologyConstraint: {clusterTopologyName: default, packDomain: zone}
           {worker component}
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        -      {override of a clique}
        -        value: {topologyConstraint: {packDomain: rack}}  # expect
        +      topologyConstraint: {packDomain: rack}
    """
    plain = at.value.get("topologyConstraint") is not None
    if not plain and all(component.get("topologyConstraint") is None for _, _, component in at.components):
        return
    for override in list_grove_overrides(at):
        if writes_topology(override):
            yield at.forbidden((*override.path, "value"), "must not be set beside a topologyConstraint of the graph or of a component")


@rule("DYN174", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_value(at: At) -> Findings:
    """An override contains anything but a topology constraint, or nothing.

    Why
        The operator writes all other fields of Grove's objects; two writers of one field would undo each other's changes.

    Fix
        Write only `topologyConstraint`; in the graph's own override, below `spec.template`.

    Example
        -{worker with an image}
        -      {override of a clique}
        -        value:
        -          topologyConstraint: {packDomain: rack}
        -          spec: {replicas: 3}  # expect

         {worker with an image}
               {override of a clique}
        -        value: {}  # expect
        +        value: {topologyConstraint: {packDomain: rack}}

        -{worker with an image}
        -      {override of a clique}
        -        value:
        -          topologyConstraint:
        -            packDomain: [rack]  # expect
    """
    for override in list_grove_overrides(at):
        if override.target:
            yield from _beside(at, override)


def _beside(at: At, override: Override) -> Iterator[Finding]:
    """Findings of the fields on the path to the topology constraint, and of those beside it."""
    value: Any = override.block.get("value")
    path: Path = (*override.path, "value")
    for step in topology_steps(override):
        if not isinstance(value, dict):
            yield _no_object(at, path, value)
            return
        for name in value:
            if name != step:
                yield at.forbidden((*path, name), "must be left out: the operator writes it; an override may hold only topologyConstraint")
        value, path = value.get(step), (*path, step)
        if value is None:
            yield at.required(path, "must be set, because nothing else can be overridden, got nothing")
            return
    if not isinstance(value, dict):
        yield _no_object(at, path, value)
    elif not isinstance(domain := value.get("packDomain"), (str, type(None))):
        yield at.invalid((*path, "packDomain"), None, f"must be the name of a topology domain, got {article(domain)}")


def _no_object(at: At, path: Path, value: object) -> Finding:
    return at.invalid(path, None, f"must be an object, got {article(value)}")
