"""What a rule does in the Go operator 1.2, declared beside the product's own record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.rule import Rule, Where

VARIANTS: Final[dict[str, Rule]] = {}
_DECLARED: Final = {rule.name: rule for rule in list_declared()}


def variant(
    name: str, *, on: tuple[str, ...] = (), where: Where | None = None, when: tuple[str, ...] | None = None
) -> Callable[[Callable[[At], Iterator[Any]]], Rule]:
    """Declares the rule's function there, and its operations, kinds and waking fields where these differ."""

    def declare(check: Callable[[At], Iterator[Any]]) -> Rule:
        rule = _DECLARED[name]
        own = {
            "on": frozenset(on) or rule.on,
            "where": where or rule.where,
            "when": rule.when if when is None else when,
        }
        made = VARIANTS[name] = Rule(**{**vars(rule), "documentation": rule.documentation, "check": check, **own})
        return made

    return declare


def same(*names: str, on: tuple[str, ...] = (), where: Where | None = None) -> None:
    """Declares that rules ask the same there, for other operations or kinds, or of what this overlay reads otherwise."""
    for name in names:
        variant(name, on=on, where=where)(_DECLARED[name].check)
