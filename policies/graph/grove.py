"""What Grove requires of names and update strategies."""

from typing import Final

from ...api.paths import Key
from ..at import At
from ..domain import GROVE_STRATEGIES, GROVE_UPDATE_STRATEGY, explain_off_grove, list_components
from ..grove_names import NAME_LIMIT, budget, byte_length, certainly_fit, set_length, set_name
from ..rule import GRAPH, GRAPH_ANNOTATIONS, Hits, Stage, rule
from ..words import format_words

_SHOWN: Final = 253  # characters of a graph's name in each message: no valid one has more


@rule("DYN107", where=GRAPH, when="components", stage=Stage.NAMES, needs=("grove",))
def grove_name_length(at: At) -> Hits:
    """Graph and service together have names too long for Grove.

    Why
        Grove makes one name of the graph, the service and, where a replica spans several pods, its role: 45 bytes is all there is room for.
        A service with a scaling group (`forceScalingGroup` asks for one) is named twice.
        A graph's name is shortened to as little as 8 bytes to make room, a service's name never is.

    Fix
        Give the {service} a shorter name. With a graph name of 8 bytes or more a {service} may have 37 bytes on a single node, 18 there
        with a scaling group of its own, 16 on several nodes, and 15 with an inter-pod GPU memory service.

    Example
        metadata: {name: disaggregated}
        spec:
          components:
    bad     - {name: prefill-and-decode, type: worker, multinode: {nodeCount: 2}}  # expect
    bad     - {name: prefill-worker-of-the-very-large-model, type: worker}  # expect
    ok      - {name: prefill-worker-a, type: worker, multinode: {nodeCount: 2}}
    ok      - {name: prefill-worker-of-the-very-large-one, type: worker}
    """
    if certainly_fit(at.value["components"]):
        return
    budgets = [(index, name, budget(name, component)) for index, name, component in list_components(at.value)]
    graph, widest = at.review.metadata.get("name") or "", max((wanted for _, _, wanted in budgets), default=0)
    prefix = set_length(graph, widest)
    too_long = [(index, name, wanted) for index, name, wanted in budgets if prefix + wanted > NAME_LIMIT]
    if not too_long or explain_off_grove(at):
        return
    size = byte_length(graph)
    # only a shortened name is reported as such
    shown = f'graph "{graph[:_SHOWN]}" ({size} bytes' + (f', shortened to "{set_name(graph, widest)}")' if prefix < size else ")")
    for index, name, wanted in too_long:
        length = prefix + wanted
        text = f"must fit Grove's {NAME_LIMIT} bytes together with the graph's name, needs {length}: {shown}"
        surplus = -(-(length - NAME_LIMIT) // (1 if wanted == byte_length(name) else 2))
        whole = format_words('{text} and {service} "{name}" ({own} bytes)', text=text, name=name, own=byte_length(name))
        fix = format_words("shorten the {service}'s name by {surplus} bytes", surplus=surplus)
        yield at.invalid(("components", index), name, whole, fix=fix)


@rule("DYN114", where=GRAPH_ANNOTATIONS, when=GROVE_UPDATE_STRATEGY, stage=Stage.METADATA, since="1.4")
def grove_update_strategy_enum(at: At) -> Hits:
    """The annotation for Grove's update strategy names no strategy.

    Why
        Grove either replaces pods itself or waits until you delete them. It refuses any other value.

    Fix
        Write `RollingRecreate` or `OnDelete`, or remove the annotation.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/grove-update-strategy: Recreate  # expect
    ok  metadata: {annotations: {nvidia.com/grove-update-strategy: OnDelete}}
    """
    value = at.value[GROVE_UPDATE_STRATEGY]
    if value not in GROVE_STRATEGIES:
        yield at.not_supported((Key(GROVE_UPDATE_STRATEGY),), value, GROVE_STRATEGIES)
