"""Restarts and their order."""

from typing import Final

from ..at import At, Findings
from ..components import list_components
from ..finding import Mend
from ..review import UPDATE
from ..rule import GRAPH_OBJECT, RESTART, Stage, rule
from ..words import format_words, quote_all


@rule("DYN131", where=RESTART, stage=Stage.RESTART)
def restart_id_required(at: At) -> Findings:
    """A restart has no id.

    Why
        The graph restarts when the id changes. Without an id, it would never restart.

    Fix
        Write any string that differs from the last one, such as a date.

    Example
         spec:
           restart:
        -    id: ""  # expect
        +    id: "2025-11-21"
    """
    if not at.value.get("id"):
        yield at.required("id", "must be a string that changes with every restart, got nothing")


_ROLLING = ("Pending", "InProgress")


@rule("DYN709", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.LOCK, ratchets=False)
def restart_locked_during_rollout(at: At) -> Findings:
    """A restart is requested during a rolling update.

    Why
        Both replace pods in their own order; together they could stop too many pods. The stored status decides, not the status in the
        update.

    Fix
        Wait until `status.rollingUpdate.phase` is Completed or Failed, then set the new restart id.

    Example
         spec: {restart: {id: monday}}
        -status: {rollingUpdate: {phase: InProgress}}
        +status: {rollingUpdate: {phase: Completed}}
         --- # becomes
         spec:
           restart:
             id: tuesday  # expect
    """
    phase = at.was("status.rollingUpdate.phase")
    if phase not in _ROLLING:
        return
    now, before = at.get("spec.restart.id") or "", at.was("spec.restart.id") or ""
    if now != before:
        seen, wanted = (f'"{value}"' if value else "unset" for value in (now, before))
        text = f'must stay {wanted} during a rolling update (status.rollingUpdate.phase is "{phase}"), got {seen}'
        yield at.forbidden("spec.restart.id", text)


_MAX_NAMED_SERVICES: Final = 10  # that are missing, in the message


@rule("DYN134", where=RESTART, when="strategy", stage=Stage.RESTART)
def restart_order_count(at: At) -> Findings:
    """The restart order doesn't name all components.

    Why
        A sequential restart ends after the last name. Components that aren't named would not restart.

    Fix
        Name every {service} of the graph once, or leave `order` out for alphabetical order.

    Example
         spec:
           components: [{name: frontend}, {name: worker}]
           restart:
             id: second
             strategy:
        -      order: [frontend]  # expect
        +      order: [frontend, worker]
    """
    strategy = at.value["strategy"]
    order = strategy.get("order")
    if not order or strategy.get("type") == "Parallel":
        return
    names = {name for _, name, _ in list_components(at.review.spec)}
    named = {name or "" for name in order}
    if len(named) != len(names):
        missing = sorted(names - named)
        left_out = quote_all(missing[:_MAX_NAMED_SERVICES]) + (
            f" and {len(missing) - _MAX_NAMED_SERVICES} more" if len(missing) > _MAX_NAMED_SERVICES else ""
        )
        text = format_words("must name all {count} {services}, got {named} different names", count=len(names), named=len(named))
        yield at.invalid(
            "strategy.order", None, format_words("{text}; missing: {left_out}", text=text, left_out=left_out) if missing else text
        )


@rule("DYN132", where=RESTART, removes=True, when="strategy", stage=Stage.RESTART)
def restart_order_parallel(at: At) -> Findings:
    """A parallel restart has an order.

    Why
        With the strategy `Parallel`, all components restart at the same time, so an order has no meaning.

    Fix
        Remove `order`, or choose the type `Sequential`.

    Example
         spec:
           restart:
             id: second
             strategy:
               type: Parallel
        -      order: [frontend]  # expect
    """
    strategy = at.value["strategy"]
    order = strategy.get("order")
    if strategy.get("type") == "Parallel" and order:
        yield at.forbidden("strategy.order", f'must be empty while the type is "Parallel", got {len(order)} names')


@rule("DYN133", where=RESTART, removes=True, when="strategy", stage=Stage.RESTART)
def restart_order_unique(at: At) -> Findings:
    """The restart order names a component twice.

    Why
        Each component restarts once. If it is named twice, its position is ambiguous.

    Fix
        Remove one of the two entries.

    Example
         spec:
           components: [{name: frontend}, {name: worker}]
           restart:
             id: second
             strategy:
               order:
        -        - frontend
                 - worker
                 - frontend  # expect
    """
    strategy = at.value["strategy"]
    if strategy.get("type") == "Parallel":
        return
    seen: set[str] = set()
    for index, entry in enumerate(strategy.get("order") or ()):
        name = entry or ""  # a null entry reads as an empty name
        if name in seen:
            yield at.duplicate(
                ("strategy", "order", index), name, format_words('must name each {service} once, got "{name}" again', name=name)
            )
        seen.add(name)


@rule("DYN135", where=RESTART, when="strategy", stage=Stage.RESTART)
def restart_order_unknown(at: At) -> Findings:
    """The restart order names a component that isn't in this graph.

    Why
        A sequential restart waits for one component after the other, and would wait for this one forever.

    Fix
        Write the {service}'s name as in `spec.{services}`; case matters.

    Example
         spec:
           components: [{name: frontend}, {name: worker}]
           restart:
             id: second
             strategy:
               order:
                 - frontend
        -        - Worker  # expect
        +        - worker
    """
    strategy = at.value["strategy"]
    order, names = strategy.get("order") or (), {name for _, name, _ in list_components(at.review.spec)}
    if strategy.get("type") == "Parallel":
        return
    first: dict[str, int] = {}
    for index, entry in enumerate(order):
        first.setdefault(entry or "", index)  # a null entry reads as an empty name
    unknown = {name: index for name, index in first.items() if name not in names}
    spellings = {name.lower(): name for name in sorted(names)} if unknown else {}
    for name, index in unknown.items():
        close = spellings.get(name.lower())
        text = format_words('must be a {service} of this graph, got "{name}"', name=name)
        yield at.not_found(
            ("strategy", "order", index), name, text, fix=f'write "{close}"' if close else "", mend=Mend(close) if close else None
        )
