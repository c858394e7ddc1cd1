"""DYN506: a request's image whose tag doesn't tell the version of the runtime in it."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.image_tag import version_required
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import Fields
from dynamo_webhooks.policies.rule import REQUEST, Hits, rule


@rule("DYN506", where=REQUEST, when="image", stage=Stage.REQUEST, ratchets=False, since="1.5")
def dgdr_runtime_version_required(at: At) -> Hits:
    """A request's image doesn't say which version of the Dynamo runtime it holds.

    Why
        The graph that is made of the request gets this image, and a graph must tell the version of its runtime.

    Fix
        Use an image whose tag is a version of three numbers, such as `1.5.0`, or set `runtimeVersionOverride`.

    Bad
        ```yaml
        spec:  # expect
          image: "example/planner:latest"
        ```
        What was stored without a version can't be applied automatically later.
        ```yaml
        spec: {image: "example/planner:latest", autoApply: false}
        --- # becomes
        spec:  # expect
          image: "example/planner:latest"
        ```

    Good
        ```yaml
        spec: {image: "example/planner:1.5.0"}
        ```
        ```yaml
        spec: {image: "example/planner:latest", runtimeVersionOverride: 1.5.0}
        ```
    """
    if (
        at.old is None
        or _image(at.old) != _image(at.value)
        or (at.old.get("autoApply") is False and at.value.get("autoApply") is not False)
    ):
        yield from version_required(at, at.value["image"])


def _image(spec: Fields) -> tuple[str, str]:
    return spec.get("image") or "", spec.get("runtimeVersionOverride") or ""
