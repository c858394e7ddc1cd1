"""The containers of a component's pod."""

from ..at import At, Findings
from ..components import LPX
from ..engines import list_sidecars, list_templates
from ..review import is_line_1_6
from ..rule import COMPONENT, Stage, rule
from ..words import VersionText, quote_once


@rule("DYN219", where=COMPONENT, when="frontendSidecar", stage=Stage.COMPONENT, since="1.4")
def frontend_sidecar_unknown(at: At) -> Findings:
    """`frontendSidecar` names a container that the component's pod doesn't have.

    Why
        The named container is started as the frontend of the worker in the same pod. Without it, the worker has no frontend.

    Fix
        Name a container in `podTemplate.spec.containers`, or remove `frontendSidecar`.

    Example
         {worker}
        -      frontendSidecar: front  # expect
        +      frontendSidecar: frontend
               {containers of a pod}
                     - {name: main, image: "example/vllm:1.5.0"}
                     - {name: frontend, image: "example/frontend:1.5.0"}

        -{worker}
        -      frontendSidecar: ""  # expect
        -      podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    name, containers = at.value["frontendSidecar"], at.get("podTemplate.spec.containers") or ()
    templates = list_templates(at.value)
    for index, template in templates if name else ():
        if all((each or {}).get("name") != name for each in (template.get("spec") or {}).get("containers") or ()):
            text = f'must have the frontend sidecar "{quote_once(name)}" in the template of each role, got none'
            yield at.invalid(("roles", index, "podTemplate", "spec", "containers"), None, text)
    if templates and name:
        return
    if not any(container and container.get("name") == name for container in containers) or not name:
        known = ", ".join(
            f'"{quote_once(container["name"])}"' for container in containers[:_MAX_NAMES] if container and container.get("name")
        )
        text = f'must name a container of podTemplate.spec.containers ({known or "there is none"}), got "{quote_once(name)}"'
        yield at.invalid("frontendSidecar", name, text)


_MAX_NAMES = 10  # in the sentence
_IMAGE = "must name the image of the main container, got nothing"


@rule("DYN212", where=COMPONENT, stage=Stage.COMPONENT, since="1.5")
def image_required(at: At) -> Findings:
    """A component's main container has no image.

    Why
        The operator has no default image. The API server would refuse the pods later, where the error is hard to find.

    Fix
        Set {extraPodSpec.mainContainer.image}.

    Example
        -{worker with a pod}
        -          containers:
        -            - {name: main, image: ""}  # expect

         spec:
           components:
        -    - {name: worker, type: worker}  # expect
        +    - {name: worker, type: worker, podTemplate: {spec: {containers: [{name: main, image: example/vllm:1.5.0}]}}}
    """
    if at.value.get("type") == LPX or list_templates(at.value):
        return  # each role has a template of its own
    if not (is_line_1_6(at.review) and list_sidecars(at.value)):  # runtime-sidecar-image requires it of every update
        yield from require_main_image(at)


def require_main_image(at: At) -> Findings:
    """Requires a main container with an image."""
    main, place = at.main
    if not main:
        text = 'must have a container "main" with an image, got none'
        yield at.required(place[:-1], VersionText(_IMAGE, text))
    elif not main.get("image"):
        yield at.required((*place, "image"), _IMAGE)
