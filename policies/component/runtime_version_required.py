"""DYN213: an image whose tag doesn't tell the version of the runtime in it."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.image_tag import version_required
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule


@rule("DYN213", where=SERVICES, when="extraPodSpec", stage=Stage.COMPONENT, since="1.5")
def runtime_version_required(at: At) -> Hits:
    """A component's image doesn't say which version of the Dynamo runtime it holds.

    Why
        The operator starts each runtime as its version wants to be started, and learns the version from the image's tag. From a tag such as
        `latest`, or a digest alone, it can't.

    Fix
        Use an image whose tag is a version of three numbers, such as `1.5.0` or `v1.5.0-rc.1`, or set `runtimeVersionOverride`.

    Bad
        ```yaml
        spec:
          services:
            worker:  # expect
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:latest"}}
        ```
        An update is refused when it changes the image to such a one.
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        --- # becomes
        spec:
          services:
            worker:  # expect
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5"}}
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:v1.5.0-rc.1"}}
            other:
              componentType: worker
              runtimeVersionOverride: 1.5.0
              extraPodSpec: {mainContainer: {image: "example/vllm:latest"}}
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:latest"}}
        --- # becomes
        spec:
          services:
            worker:
              componentType: worker
              replicas: 2
              extraPodSpec: {mainContainer: {image: "example/vllm:latest"}}
        ```
    """
    if at.review.old is None or at.old is not None:
        yield from version_required(at, at.get("extraPodSpec.mainContainer.image"))
