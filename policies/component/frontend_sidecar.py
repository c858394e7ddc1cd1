"""The frontend sidecar."""

from ..at import At
from ..domain import quote_once
from ..engines import list_templates
from ..rule import COMPONENT, Hits, Stage, rule


@rule("DYN219", where=COMPONENT, when="frontendSidecar", stage=Stage.COMPONENT, since="1.4")
def frontend_sidecar_unknown(at: At) -> Hits:
    """The name of the frontend sidecar is no container of the component's pod.

    Why
        The named container is started as the frontend of the worker beside it. Without it the worker has none.

    Fix
        Name a container in `podTemplate.spec.containers`, or remove `frontendSidecar`.

    Example
        spec:
          components:
            - name: worker
              type: worker
    bad       frontendSidecar: front  # expect
    ok        frontendSidecar: frontend
              podTemplate:
                spec:
                  containers:
                    - {name: main, image: "example/vllm:1.5.0"}
                    - {name: frontend, image: "example/frontend:1.5.0"}

    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       frontendSidecar: ""  # expect
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    name, containers = at.value["frontendSidecar"], at.get("podTemplate.spec.containers") or ()
    templates = list_templates(at.value)
    for index, template in templates:
        if all((each or {}).get("name") != name for each in (template.get("spec") or {}).get("containers") or ()):
            text = f'must have the frontend sidecar "{quote_once(name)}" in the template of each role, got none'
            yield at.invalid(("roles", index, "podTemplate", "spec", "containers"), None, text)
    if templates:
        return
    if not any(container and container.get("name") == name for container in containers) or not name:
        known = ", ".join(f'"{quote_once(container["name"])}"' for container in containers[:_SHOWN] if container and container.get("name"))
        text = f'must name a container of podTemplate.spec.containers ({known or "there is none"}), got "{quote_once(name)}"'
        yield at.invalid("frontendSidecar", name, text)


_SHOWN = 10  # names in the sentence
