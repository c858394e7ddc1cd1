"""DYN716: a scaling group of Grove that comes or goes later."""

from collections.abc import Iterator

from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import forces_scaling_group
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE, Fields
from dynamo_webhooks.policies.rule import DCD_V1BETA1, DGD_V1BETA1, Hits, rule

_SWITCH = ("experimental", "grove", "forceScalingGroup")


@rule(
    "DYN716",
    where={DGD_V1BETA1: "spec", DCD_V1BETA1: "spec"},
    on=(UPDATE,),
    stage=Stage.IMMUTABLE,
    ratchets=False,
    since="1.5",
)
def force_scaling_group_immutable(at: At) -> Hits:
    """A component gets a scaling group of its own after creation, or loses it.

    Why
        Pods in a scaling group are other child objects than those of a single clique, which can't turn into each other.

    Fix
        Put the old `forceScalingGroup` back, or create another graph with the new one.

    Bad
        ```yaml
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        --- # becomes
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
              experimental:
                grove:
                  forceScalingGroup: true  # expect
        ```
        Taking the block away is a change too.
        ```yaml
        spec: {components: [{name: worker, type: worker, experimental: {grove: {forceScalingGroup: true}}}]}
        --- # becomes
        spec:
          components:
            - name: worker  # expect
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        ```

    Good
        ```yaml
        spec: {components: [{name: worker, type: worker, experimental: {grove: {forceScalingGroup: true}}}]}
        --- # becomes
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
              experimental: {grove: {forceScalingGroup: true}}
        ```
    """
    if at.review.old is None:
        return
    before = {name: forces_scaling_group(component) for name, component, _ in _components(at.old or {}, at.review.kind)}
    for name, component, path in _components(at.value, at.review.kind):
        now, was = forces_scaling_group(component), before.get(name)
        if was is not None and now is not was:
            text = f"must stay {_word(was)} after creation, got {_word(now)}"
            yield at.immutable((*path, *_SWITCH), text, value=now)


def _components(spec: Fields, kind: str) -> Iterator[tuple[str, Fields, Path]]:
    """Each component with its name and place; the only one of a standalone component has no name."""
    if kind == DCD_V1BETA1:
        yield "", spec, ()
        return
    for index, component in enumerate(spec.get("components") or ()):
        if component:
            yield component.get("name") or "", component, ("components", index)


def _word(switch: bool) -> str:
    return "true" if switch else "false"
