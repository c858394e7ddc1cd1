"""DYN112: more than one endpoint picker in a graph."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Difference, Hits, rule
from dynamo_webhooks.policies.words import words


@rule(
    "DYN112",
    where=GRAPH,
    when="services.*.componentType=epp",
    stage=Stage.EPP,
    current_only=Difference(("G-13", "Q-17"), "v1beta1 allows one endpoint picker; two would use the same pool"),
)
def epp_single_per_graph(at: At) -> Hits:
    """A graph has two endpoint pickers.

    Why
        The graph's workers form one inference pool, and a pool has one endpoint picker. With two it is left to chance which one routes.

    Fix
        Keep one {service} of type `epp`, or make two graphs.

    Bad
        ```yaml
        spec:
          services:
            picker-a: {componentType: epp, eppConfig: {configMapRef: {name: c, key: k}}}
            picker-b: {componentType: epp, eppConfig: {configMapRef: {name: c, key: k}}}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            picker: {componentType: epp, eppConfig: {configMapRef: {name: c, key: k}}}
            worker: {componentType: worker}
        ```
    """
    pickers = [name for name, service in at.value["services"].items() if service and service.get("componentType") == "epp"]
    if len(pickers) > 1:
        text = words('must be "epp" for one {service} only, got it for {count}', count=len(pickers))
        for name in sorted(pickers)[1:]:
            yield at.duplicate(("services", Key(name), "componentType"), "epp", text)
