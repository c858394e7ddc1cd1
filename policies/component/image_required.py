"""DYN212: a component whose container nobody named an image for."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule


@rule("DYN212", where=COMPONENT, stage=Stage.COMPONENT, since="1.5")
def image_required(at: At) -> Hits:
    """A component's main container has no image.

    Why
        The operator puts no image in. The API server would refuse the pods later, where hardly anybody looks.

    Fix
        Set `extraPodSpec.mainContainer.image`.

    Fix in v1beta1
        Set `image` of the container `main` in `podTemplate.spec.containers`.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec:
                mainContainer:
                  image: ""  # expect
        ```
        ```yaml
        spec:
          services:
            worker:  # expect
              componentType: worker
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        ```
    """
    if not at.get("extraPodSpec.mainContainer.image"):
        yield at.required("extraPodSpec.mainContainer.image", "must name the image of the main container, got nothing")
