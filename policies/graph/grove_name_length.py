"""DYN107: names that grow too long for Grove."""

from typing import Final

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove, services
from dynamo_webhooks.policies.grove_names import NAME_LIMIT, budget, byte_length, certainly_fit, set_length, set_name
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule
from dynamo_webhooks.policies.words import words

_SHOWN: Final = 253  # characters of a graph's name in each message: no valid one has more


@rule("DYN107", where=GRAPH, when="services", stage=Stage.NAMES, needs=("grove",))
def grove_name_length(at: At) -> Hits:
    """Graph and service together have names too long for Grove.

    Why
        Grove makes one name of the graph, the service and, where a replica spans several pods, its role: 45 bytes is all there is room for.
        A service with a scaling group (`forceScalingGroup` asks for one) is named twice.
        A graph's name is shortened to as little as 8 bytes to make room, a service's name never is.

    Fix
        Give the {service} a shorter name. With a graph name of 8 bytes or more a {service} may have 37 bytes on a single node, 18 there
        with a scaling group of its own, 16 on several nodes, and 15 with an inter-pod GPU memory service.

    Bad
        ```yaml
        metadata: {name: disaggregated}
        spec:
          services:
            prefill-worker-of-the-very-large-model: {componentType: worker}  # expect
            prefill-and-decode: {componentType: worker, multinode: {nodeCount: 2}}  # expect
        ```

    Good
        ```yaml
        metadata: {name: disaggregated}
        spec:
          services:
            prefill-worker-of-the-very-large-one: {componentType: worker}
            prefill-worker-a: {componentType: worker, multinode: {nodeCount: 2}}
        ```
    """
    if certainly_fit(at.value["services"], at.review.forced):
        return
    budgets = {name: budget(name, service, forced=name in at.review.forced) for name, service in services(at.review).items()}
    graph, widest = at.review.metadata.get("name") or "", max(budgets.values(), default=0)
    prefix = set_length(graph, widest)
    too_long = {name: prefix + wanted for name, wanted in budgets.items() if prefix + wanted > NAME_LIMIT}
    if not too_long or off_grove(at):
        return
    size = byte_length(graph)
    # only a name that was shortened is said to be
    shown = f'graph "{graph[:_SHOWN]}" ({size} bytes' + (f', shortened to "{set_name(graph, widest)}")' if prefix < size else ")")
    for name, length in too_long.items():
        text = f"must fit Grove's {NAME_LIMIT} bytes together with the graph's name, needs {length}: {shown}"
        surplus = -(-(length - NAME_LIMIT) // (1 if budgets[name] == byte_length(name) else 2))
        whole = words('{text} and {service} "{name}" ({own} bytes)', text=text, name=name, own=byte_length(name))
        fix = words("shorten the {service}'s name by {surplus} bytes", surplus=surplus)
        yield at.invalid(("services", Key(name)), name, whole, fix=fix)
