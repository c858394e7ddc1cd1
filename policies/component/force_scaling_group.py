"""The annotation that puts one component into a scaling group."""

from collections.abc import Iterator

from ...api.paths import Path
from ..at import At, Findings
from ..components import forces_scaling_group
from ..grove import component_off_grove
from ..review import UPDATE, Fields
from ..rule import COMPONENT, DCD, DGD, Stage, rule

_SWITCH = ("experimental", "grove", "forceScalingGroup")


@rule("DYN716", where={DGD: "spec", DCD: "spec"}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def force_scaling_group_immutable(at: At) -> Findings:
    """A component gets its own scaling group after creation, or loses it.

    Why
        Pods in a scaling group are different child objects from those of a single clique, and can't be converted.

    Fix
        Restore the old `forceScalingGroup`, or create another graph with the new one.

    Example
        -{worker with an image}
        ---- # becomes
        -{worker with an image}
        -      experimental:
        -        grove:
        -          forceScalingGroup: true  # expect

         spec: {components: [{name: worker, type: worker, experimental: {grove: {forceScalingGroup: true}}}]}
         --- # becomes
         spec:
           components:
             - name: worker  # expect
               type: worker
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        +      experimental: {grove: {forceScalingGroup: true}}
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
    if kind == DCD:
        yield "", spec, ()
        return
    for index, component in enumerate(spec.get("components") or ()):
        if component:
            yield component.get("name") or "", component, ("components", index)


def _word(switch: bool) -> str:
    return "true" if switch else "false"


@rule("DYN215", where=COMPONENT, when="experimental", stage=Stage.COMPONENT, needs=("grove",), since="1.5")
def force_scaling_group_requires_grove(at: At) -> Findings:
    """A component sets `forceScalingGroup`, but Grove does not run it.

    Why
        Scaling groups are Grove objects. Without Grove, the field has no effect.

    Fix
        Remove `experimental.grove`, or run the graph on Grove.

    Example
        -metadata: {annotations: {nvidia.com/enable-grove: "false"}}
         {worker with an image}
               experimental:
                 grove:
                   forceScalingGroup: true  # expect

        -# kind: DynamoComponentDeployment/v1beta1
        -spec:
        -  podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        -  experimental:
        -    grove:
        -      forceScalingGroup: true  # expect
    """
    if at.get("experimental.grove.forceScalingGroup") is True and (reason := component_off_grove(at)):
        yield at.forbidden("experimental.grove.forceScalingGroup", f"must be unset without Grove, got true: {reason}")
