"""The value of a provider override."""

from collections.abc import Iterator
from typing import Any

from ...api.paths import Path
from ...api.wording import article
from ..at import At
from ..finding import Finding
from ..provider_override import WHEN, Override, list_grove_overrides, topology_steps
from ..rule import GRAPH, Hits, Stage, rule


@rule("DYN174", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_value(at: At) -> Hits:
    """An override holds something else than a topology constraint, or none.

    Why
        All other fields of Grove's objects are written by the operator; two writers of one field would undo each other.

    Fix
        Write `topologyConstraint` alone, in the graph's own override below `spec.template`.

    Example
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    bad       providerOverride:
    bad         apiVersion: grove.io/v1alpha1
    bad         target: PodCliqueTemplateSpec
    bad         value:
    bad           topologyConstraint: {packDomain: rack}
    bad           spec: {replicas: 3}  # expect

        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
              providerOverride:
                apiVersion: grove.io/v1alpha1
                target: PodCliqueTemplateSpec
    bad         value: {}  # expect
    ok          value: {topologyConstraint: {packDomain: rack}}

    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    bad       providerOverride:
    bad         apiVersion: grove.io/v1alpha1
    bad         target: PodCliqueTemplateSpec
    bad         value:
    bad           topologyConstraint:
    bad             packDomain: [rack]  # expect
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
                yield at.forbidden((*path, name), "must be left out: the operator writes it, and an override says topologyConstraint alone")
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
