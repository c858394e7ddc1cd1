"""Pod templates of single roles, which since line 1.6 take the place of the component's."""

from collections.abc import Iterator

from ...api.paths import Key, Path
from ...api.walk.metadata import annotation_errors
from ..annotations import EXECUTORS, POWER_LIMIT, VLLM_EXECUTOR
from ..at import At, Findings
from ..components import LPX, MAIN, read_failover, read_gms
from ..engines import RUNTIME, list_sidecars, list_templates
from ..review import Fields
from ..rule import COMPONENT, Stage, rule
from ..words import quote_once


def template_path(index: int, *steps: str | int) -> Path:
    """The place of something in the template of a role."""
    return ("roles", index, "podTemplate", *steps)


@rule("DYN242", where=COMPONENT, when="roles", stage=Stage.COMPONENT, since="1.6")
def role_template_incomplete(at: At) -> Findings:
    """Only some roles of a component have a pod template.

    Why
        If one role has a pod template, each role's pods are made only from its own template, so the other roles would have none.

    Fix
        Give each role a `podTemplate`, or give none to any role.

    Example
         {worker on two nodes}
                 - {name: leader, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
        -        - {name: worker}  # expect
        +        - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    with_one = {index for index, _ in list_templates(at.value)}
    for index, _ in enumerate(at.value["roles"] if with_one and at.value.get("type") != LPX else ()):
        if index not in with_one:
            yield at.required(("roles", index, "podTemplate"), "must be set beside the template of the other role, got nothing")


@rule("DYN243", where=COMPONENT, when="roles", stage=Stage.COMPONENT, since="1.6")
def role_template_exclusive(at: At) -> Findings:
    """A component has pod templates in its roles, and also its own template, shared GPU memory or failover.

    Why
        Each pod is made from one template, and these features change the component's template.

    Fix
        Keep the templates of the roles, or the component's template with its features.

    Example
         {worker}
               multinode: {nodeCount: 2}
        -      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}  # expect
               roles:
                 - {name: leader, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
                 - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    there = {
        "podTemplate": at.value.get("podTemplate") is not None and at.value.get("type") != LPX,
        "experimental.gpuMemoryService": read_gms(at.value) is not None,
        "experimental.failover": read_failover(at.value) is not None,
    }
    for field in (name for name, given in there.items() if given and list_templates(at.value)):
        yield at.forbidden(field, "must be unset beside the pod templates of roles")


@rule("DYN244", where=COMPONENT, when="roles", stage=Stage.COMPONENT, since="1.6")
def role_template_image(at: At) -> Findings:
    """The pod template of a role has no main container, or a container without an image.

    Why
        The operator has no default image, and finds the engine by the container name `main`. The API server would refuse the pods later.

    Fix
        Name the engine's container `main`, and set `image` of each container.

    Example
         {worker on two nodes}
                 - {name: leader, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
                 - name: worker
                   podTemplate:
                     spec:
        -              containers: [{name: engine, image: "example/vllm:1.6.0"}]  # expect
        +              containers: [{name: main, image: "example/vllm:1.6.0"}]
    """
    for index, template in list_templates(at.value):
        if all(each.get("name") != MAIN for _, each in _containers(template, "containers")):
            yield at.required(template_path(index, "spec", "containers"), 'must have a container "main", got none')
        for part in ("containers", "initContainers"):
            for step, each in _containers(template, part):
                image = str(each.get("image") or "")
                if not (image.strip() if at.value.get("type") == LPX else image):
                    yield at.required(template_path(index, "spec", part, step, "image"), "must be set, got nothing")


def _containers(template: Fields, part: str) -> Iterator[tuple[int, Fields]]:
    """The containers, or init containers, of a template with their places."""
    yield from ((index, each) for index, each in enumerate((template.get("spec") or {}).get(part) or ()) if each)


@rule("DYN245", where=COMPONENT, when="roles", stage=Stage.COMPONENT, since="1.6")
def role_template_executor(at: At) -> Findings:
    """The annotation for vLLM's executor in a role's pod template has an unknown value.

    Why
        The executor determines how the pods of a replica find each other. The operator supports `mp` and `ray`.

    Fix
        Write `mp` or `ray`, or remove the annotation.

    Example
         {worker on two nodes}
                 - name: leader
                   podTemplate:
                     {annotations}
        -                nvidia.com/vllm-distributed-executor-backend: dask  # expect
        +                nvidia.com/vllm-distributed-executor-backend: ray
                     spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}
                 - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    for index, value in _annotated(at.value, VLLM_EXECUTOR):
        if value.lower() not in EXECUTORS:
            text = f'must be one of mp, ray, got "{quote_once(value)}"'
            yield at.invalid(template_path(index, "metadata", "annotations", Key(VLLM_EXECUTOR)), value, text)


@rule("DYN246", where=COMPONENT, when="roles", stage=Stage.COMPONENT, since="1.6")
def role_template_power_limit(at: At) -> Findings:
    """The pod template of a role has a power limit.

    Why
        Power is planned for a component as a whole, and the planner reads only the component's own template.

    Fix
        Remove the annotation `dynamo.nvidia.com/gpu-power-limit`, or use one template for the component.

    Example
         {worker on two nodes}
                 - name: leader
                   podTemplate:
        -            {annotations}
        -                dynamo.nvidia.com/gpu-power-limit: "300"  # expect
                     spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}
                 - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    for index, _ in _annotated(at.value, POWER_LIMIT):
        path = template_path(index, "metadata", "annotations", Key(POWER_LIMIT))
        yield at.forbidden(path, "must be unset: only a component with one pod template has a power limit")


def _annotated(component: Fields, name: str) -> Iterator[tuple[int, str]]:
    """The roles whose templates have an annotation, by their places, and its value."""
    for index, template in list_templates(component):
        value = ((template.get("metadata") or {}).get("annotations") or {}).get(name)
        if value is not None:
            yield index, str(value)


@rule("DYN247", where=COMPONENT, when="roles", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def role_template_runtime(at: At) -> Findings:
    """The pod template of a role has an init container named runtime.

    Why
        The name is reserved for the runtime that the operator starts beside an engine on one node.

    Fix
        Give the init container another name.

    Example
         {worker on two nodes}
                 - name: leader
                   podTemplate:
                     spec:
                       containers: [{name: main, image: "example/vllm:1.6.0"}]
        -              initContainers:
        -                - {name: runtime, image: "example/runtime:1.6.0", restartPolicy: Always}  # expect
        +              initContainers: [{name: setup, image: "example/setup:1"}]
                 - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    for index, template in list_templates(at.value):
        for step, _ in list_sidecars({"podTemplate": template}):
            path = template_path(index, "spec", "initContainers", step, "name")
            yield at.forbidden(path, f'must not be "{RUNTIME}" in the pod template of a role')


@rule("DYN228", where=COMPONENT, when="roles", stage=Stage.COMPONENT, since="1.6")
def role_template_annotations(at: At) -> Findings:
    """The pod template of a role has annotations that Kubernetes refuses.

    Why
        The API server would refuse the pods later: a key is a name with an optional DNS prefix, and all annotations together may have
        256 KiB.

    Fix
        Correct the key, or shorten the annotations.

    Example
         {worker on two nodes}
                 - name: leader
                   podTemplate:
                     metadata:
                       annotations:  # expect
        -                team name: search
        +                team-name: search
                     spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}
                 - {name: worker, podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}}
    """
    for index, template in list_templates(at.value):
        place = template_path(index, "metadata", "annotations")
        for error in annotation_errors(place, (template.get("metadata") or {}).get("annotations")):
            yield at.invalid(place, None, f"must be annotations that Kubernetes takes: {error.message.partition(':')[2].strip()}")
