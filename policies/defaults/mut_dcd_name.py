"""DYND03: the name of a standalone component."""

from collections.abc import Iterator

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import DCD_V1BETA1, default


@default("DYND03", where={DCD_V1BETA1: ""}, on=(CREATE,))
def mut_dcd_name(at: At) -> Iterator[Edit]:
    """A standalone component is named as its object is.

    Why
        The name inside the spec becomes part of labels and service names; it differs from the object's only where somebody wants it to.
        An object with `generateName` has no name yet, so there is nothing to copy.

    Before
        ```yaml
        metadata: {name: router}
        spec: {name: ""}
        ```

    After
        ```yaml
        metadata: {name: router}
        spec: {name: router}
        ```
    """
    name = at.get("metadata.name")
    if name and not at.get("spec.name"):
        yield at.set("spec.name", name)
