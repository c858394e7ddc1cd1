"""DYN219: a frontend sidecar that is no container."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT_V1BETA1, Hits, rule


@rule("DYN219", where=COMPONENT_V1BETA1, when="frontendSidecar", stage=Stage.COMPONENT, since="1.5")
def frontend_sidecar_unknown(at: At) -> Hits:
    """The name of the frontend sidecar is no container of the component's pod.

    Why
        The named container is started as the frontend of the worker beside it. Without it the worker has none.

    Fix
        Name a container in `podTemplate.spec.containers`, or remove `frontendSidecar`.

    Bad
        ```yaml
        spec:
          components:
            - name: worker
              type: worker
              frontendSidecar: front  # expect
              podTemplate:
                spec:
                  containers:
                    - {name: main, image: "example/vllm:1.5.0"}
                    - {name: frontend, image: "example/frontend:1.5.0"}
        ```
        ```yaml
        spec:
          components:
            - name: worker
              type: worker
              frontendSidecar: ""  # expect
              podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
        ```

    Good
        ```yaml
        spec:
          components:
            - name: worker
              type: worker
              frontendSidecar: frontend
              podTemplate:
                spec:
                  containers:
                    - {name: main, image: "example/vllm:1.5.0"}
                    - {name: frontend, image: "example/frontend:1.5.0"}
        ```
    """
    name, containers = at.value["frontendSidecar"], at.get("podTemplate.spec.containers") or ()
    if not any(container and container.get("name") == name for container in containers) or not name:
        known = ", ".join(f'"{said(container["name"])}"' for container in containers[:_SHOWN] if container and container.get("name"))
        text = f'must name a container of podTemplate.spec.containers ({known or "there is none"}), got "{said(name)}"'
        yield at.invalid("frontendSidecar", name, text)


_SHOWN = 10  # names in the sentence
