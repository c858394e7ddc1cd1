"""DYN110: services whose names differ only in case."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import GRAPH, Difference, Hits, rule
from dynamo_webhooks.policies.words import words


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@rule(
    "DYN110",
    where=GRAPH,
    when="services",
    stage=Stage.NAMES,
    on=(CREATE,),
    current_only=Difference(("G-08",), "two services would overwrite each other's child objects"),
)
def service_name_collision(at: At) -> Hits:
    """Two services have names that differ only in case.

    Why
        Names of child objects are written in lower case, so both services would own the same Deployment and overwrite each other for ever.

    Fix
        Rename one of them.

    Bad
        ```yaml
        spec:
          services:
            Worker: {componentType: worker}
            worker: {componentType: worker}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker-a: {componentType: worker}
            worker-b: {componentType: worker}
        ```
    """
    names = at.value["services"]
    if len(set(map(str.lower, names))) == len(names):
        return
    first: dict[str, str] = {}
    for name in sorted(names):
        other = first.setdefault(name.lower(), name)
        if other != name:
            text = words('must differ from {service} "{other}" in more than case, got "{name}"', other=other, name=name)
            yield at.duplicate(("services", Key(name)), name, text)
