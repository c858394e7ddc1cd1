"""DYN907: a component type that means nothing to the operator."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Level, Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule

# `default` has no rules of its own, but is a word of the operator that it accepts
_KNOWN: Final = frozenset(("", "frontend", "worker", "prefill", "decode", "planner", "epp", "default"))


@rule(
    "DYN907",
    where=COMPONENT,
    when="componentType",
    level=Level.WARNING,
    stage=Stage.ADVICE,
    current_only=Difference(("Q-16",), "a misspelled type escapes the rules and defaults of the intended type"),
)
def warn_component_type_unknown(at: At) -> Hits:
    """A component's type is none that the operator knows.

    Why
        The type decides on command, ports, probes and which rules apply. It is compared letter by letter, so `Worker` or `EPP` is a
        custom type to which nothing of that applies.

    Fix
        Write frontend, worker, prefill, decode, planner or epp, or leave the type out if a plain component is meant.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: Worker  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            worker: {componentType: worker}
            other: {componentType: ""}
        ```
    """
    kind = at.value["componentType"]
    if kind not in _KNOWN:
        meant = kind.strip().lower()
        fix = f"write {meant}" if meant in _KNOWN and meant else ""
        yield at.warning("componentType", f'is no type that the operator knows, got "{kind}"', fix=fix, mend=Mend(meant) if fix else None)
