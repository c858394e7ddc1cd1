"""Whole manifests in pairs: what an author says of a graph, a component, a request or an adapter, in v1alpha1 and in v1beta1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import ALPHA, api_version
from tests.laws.dice import Draw
from tests.laws.managers.twins import ALPHA_ONLY, EXCLUSIVE, TOPICS, TRAITS, TYPES, Object, Part, laid_over

GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"
REQUEST: Final = "DynamoGraphDeploymentRequest"
ADAPTER: Final = "DynamoGraphDeploymentScalingAdapter"
NAME: Final = "t"
# Left out of sequences; tests/cluster/webhooks/test_apply.py tries what holds of them. They are said in `mainContainer`, where v1alpha1 has
# flat fields, too: moved from v1beta1 by hand they stand in both places, and dropping one leaves the other (docs/gitops.md).
OPEN: Final = {"main env", "main amounts", "main mount"}


class Facet(NamedTuple):
    """One thing that is said beside the components."""

    alpha: Object
    beta: Object


def _alike(**members: Any) -> Facet:
    return Facet(members, members)


_NAMED: Final = {"config": {"sla": {"ttft": 200, "itl": 20}}}
_TOLERATIONS: Final = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
_JOB: Final = {"template": {"spec": {**_TOLERATIONS, "containers": []}}}
FACETS: Final[dict[str, dict[str, Facet]]] = {
    GRAPH: {
        "framework": _alike(backendFramework="vllm"),
        "env": Facet({"envs": [{"name": "G", "value": "1"}]}, {"env": [{"name": "G", "value": "1"}]}),
        "labels": _alike(labels={"team": "a"}, annotations={"note": "x"}),
        "priority": _alike(priorityClassName="high"),
        "restart": _alike(restart={"id": "1", "strategy": {"order": ["a"]}}),
        "topology": Facet(
            {"topologyConstraint": {"topologyProfile": "p", "packDomain": "zone"}},
            {"topologyConstraint": {"clusterTopologyName": "p", "packDomain": "zone"}},
        ),
        "transfer": _alike(experimental={"kvTransferPolicy": {"labelKey": "zone", "domain": "zone"}}),
        "claims": Facet({"pvcs": [{"name": "cache", "create": False}]}, {}),
    },
    COMPONENT: {"framework": _alike(backendFramework="sglang")},
    REQUEST: {
        "goals": Facet({"profilingConfig": _NAMED}, {"sla": {"ttft": 200, "itl": 20}}),
        "lengths": Facet({"profilingConfig": {"config": {"sla": {"isl": 3000, "osl": 150}}}}, {"workload": {"isl": 3000, "osl": 150}}),
        "mocker": Facet({"useMocker": True}, {"features": {"mocker": {"enabled": True}}}),
        "cache": Facet(
            {"profilingConfig": {"config": {"deployment": {"modelCache": {"pvcName": "c", "modelPathInPvc": "m"}}}}},
            {"modelCache": {"pvcName": "c", "pvcModelPath": "m"}},
        ),
        "tolerations": Facet({"profilingConfig": _TOLERATIONS}, {"overrides": {"profilingJob": _JOB}}),
        "planner": Facet({"profilingConfig": {"config": {"planner": {"x": 1}}}}, {"features": {"planner": {"x": 1}}}),
        "one length": Facet({"profilingConfig": {"config": {"sla": {"isl": 2000}}}}, {"workload": {"isl": 2000}}),
        "applied": _alike(autoApply=True),
        "discovery": Facet({"enableGpuDiscovery": True}, {}),
        "no discovery": Facet({"enableGpuDiscovery": False}, {}),
        "no mocker": Facet({"useMocker": False}, {}),
        "output": Facet({"profilingConfig": {"outputPVC": "o", "configMapRef": {"name": "c"}}}, {}),
        "free": Facet({"profilingConfig": {"config": {"engine": {"x": 1}}}}, {}),
        "workers": Facet({"deploymentOverrides": {"workersImage": "w"}}, {}),
        "overrides": Facet({"deploymentOverrides": {"name": "n", "labels": {"a": "b"}}}, {}),
        "strategy": Facet({}, {"searchStrategy": "rapid"}),
        "thorough": Facet({}, {"searchStrategy": "thorough"}),
        "hardware": Facet({}, {"hardware": {"totalGpus": 8}}),
    },
    ADAPTER: {},
}
# What a kind can't be without.
REQUIRED: Final[dict[str, Facet]] = {
    # autoApply too: v1beta1's schema writes true where nothing is said, v1alpha1 means false, and neither takes back what nobody owns
    REQUEST: Facet(
        {"model": "m", "backend": "vllm", "autoApply": False, "profilingConfig": {"profilerImage": "i"}},
        {"model": "m", "backend": "vllm", "autoApply": False, "image": "i"},
    ),
    ADAPTER: Facet(
        {"replicas": 2, "dgdRef": {"name": "g", "serviceName": "w"}}, {"replicas": 2, "dgdRef": {"name": "g", "componentName": "w"}}
    ),
}
# What somebody changes with kubectl edit: fields of both versions that no facet above says.
_EDITS: Final[dict[str, tuple[Object, ...]]] = {
    GRAPH: ({"annotations": {"edited": "yes"}}, {"labels": {"edited": "yes"}}),
    COMPONENT: ({"globalDynamoNamespace": True},),
    REQUEST: (),
    ADAPTER: (),
}
_CONDITION: Final = {"type": "Ready", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"}


@dataclass(frozen=True, slots=True)
class Subject:
    """What one manager says of an object. A component has one part, the kinds without components none."""

    kind: str
    parts: tuple[Part, ...] = ()
    facets: tuple[str, ...] = ()

    def manifest(self, version: str) -> Object:
        """As a manifest of a version."""
        left = version == ALPHA
        chosen = [REQUIRED[self.kind]] if self.kind in REQUIRED else []
        spec: Object = {}
        for facet in (*chosen, *(FACETS[self.kind][name] for name in self.facets)):
            spec = laid_over(spec, facet.alpha if left else facet.beta)
        if self.kind == GRAPH and self.parts:
            parts: Any = {part.name: part.alpha() for part in self.parts} if left else [part.beta() for part in self.parts]
            spec["services" if left else "components"] = parts
        elif self.kind == COMPONENT:
            spec |= self.parts[0].alpha() if left else {**self.parts[0].beta(), "name": NAME}
        metadata = {"name": NAME, "namespace": "default"}
        return {"apiVersion": api_version(version), "kind": self.kind, "metadata": metadata, "spec": spec}

    def smaller(self, draw: Draw) -> Subject:
        """Without a component, a trait or a facet; the same where there is nothing to take away."""
        choices: list[Subject] = [replace(self, facets=tuple(name for name in self.facets if name != gone)) for gone in self.facets]
        if self.kind == GRAPH and len(self.parts) > 1:
            choices += [replace(self, parts=tuple(part for part in self.parts if part is not gone)) for gone in self.parts]
        for index, part in enumerate(self.parts):
            for gone in part.traits[1:]:
                left = replace(part, traits=tuple(name for name in part.traits if name != gone))
                choices.append(replace(self, parts=(*self.parts[:index], left, *self.parts[index + 1 :])))
        return choices[draw(len(choices))] if choices else self

    def beside(self, draw: Draw) -> Subject | None:
        """What another manager says of the same object, of fields that this one doesn't say; nothing for kinds that are too small."""
        if not self.parts:
            return None
        part = self.parts[draw(len(self.parts))]
        taken = {other for name in part.traits for group in (*TOPICS, {name}) if name in group for other in group}
        free = [name for name in TRAITS if name not in taken | OPEN]
        chosen = tuple(dict.fromkeys(free[draw(len(free))] for _ in range(1 + draw(2))))
        if any(len(group & set(chosen)) > 1 for group in TOPICS):
            chosen = chosen[:1]
        return Subject(self.kind, (Part(part.name, "", chosen),))

    def status(self, version: str, draw: Draw) -> Object:
        """What a controller writes."""
        state = draw(3)
        if self.kind == GRAPH:
            replicas = {"componentKind": "Deployment", "replicas": 1 + state, "updatedReplicas": 1}
            below, names = ("services", {"componentName": "a"}) if version == ALPHA else ("components", {"componentNames": ["a"]})
            return {"state": ("pending", "successful", "failed")[state], below: {"a": {**replicas, **names}}}
        if self.kind == REQUEST:
            name = ("Pending", "Profiling", "Ready", "Deploying", "Failed")[draw(5)]
            return {"state": name} if version == ALPHA else {"phase": name, "profilingJobName": "job"}
        if self.kind == ADAPTER:
            return {"replicas": 1 + state, "selector": "a=b"}
        return {"conditions": [{**_CONDITION, "observedGeneration": state}]}

    def edit(self, draw: Draw) -> Object:
        """A JSON merge patch of a field alike in both versions that this subject doesn't say; empty where there is none."""
        edits = _EDITS[self.kind]
        return {"spec": edits[draw(len(edits))]} if edits else {}


def draw_subject(draw: Draw, kind: str = "") -> Subject:
    """An object of a kind, by default most often a graph."""
    kind = kind or (GRAPH, GRAPH, GRAPH, COMPONENT, REQUEST, ADAPTER)[draw(6)]
    facets = tuple(name for name in FACETS[kind] if draw(3) == 2)
    names = {GRAPH: ("a", "Worker", "z")[: 1 + draw(3)], COMPONENT: (NAME,)}.get(kind, ())
    return Subject(kind, tuple(draw_part(draw, name) for name in names), facets)


def draw_part(draw: Draw, name: str) -> Part:
    """A component with an image and up to eight other traits."""
    chosen = ["image"]
    names = [name for name in TRAITS if name not in OPEN]
    for _ in range(draw(9)):
        trait = names[draw(len(names))]
        taken = {other for group in EXCLUSIVE if trait in group for other in group}
        if trait not in chosen and not taken & set(chosen):
            chosen.append(trait)
    only = list(ALPHA_ONLY)
    return Part(name, TYPES[draw(len(TYPES))], tuple(chosen), (only[draw(len(only))],) if draw(4) == 3 else ())
