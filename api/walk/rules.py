"""The CEL phase: evaluates the twins of the rules that a schema carries, at every place where it carries them.

Known difference: in an update of a stored object that is itself of a wrong type inside, the API server refuses each rule that touches the
wrong part, while a twin may not notice. No typed reader can decode such an object anyway (`api.decode`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.cel import EvaluationError, twin_of
from dynamo_webhooks.api.paths import MISSING, Key
from dynamo_webhooks.api.schema import Node, resolve
from dynamo_webhooks.api.walk import bearing
from dynamo_webhooks.api.walk.bearing import bears
from dynamo_webhooks.api.walk.correlate import Correlation
from dynamo_webhooks.api.walk.errors import FieldError, Reason, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path

RULES: Final = "x-kubernetes-validations"


def rule_errors(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None = None) -> Iterator[FieldError]:
    """Yields the broken rules, those of an object before those of its fields.

    With the old object, rules broken in unchanged parts are forgiven, but neither a rule on the old value nor one that can't be evaluated.
    Raises UnportedRuleError for a rule without a twin.
    """
    if old is None:
        return _check((), obj, resolve(schema), MISSING, None)
    return _check((), obj, resolve(schema), old, Correlation(obj, old, schema))


def has_rules(node: Node) -> bool:
    """Says whether a schema carries a rule anywhere; the API server hints at unchecked rules only if there are any."""
    return bears(node, bearing.RULES)


def _check(path: Path, value: Any, node: Node, old: object, correlation: Correlation | None) -> Iterator[FieldError]:
    """Evaluates the rules of one place and of all below it; places without rules below are not entered."""
    if value is None:
        return

    def below(step: str | int, item: Any) -> object:
        return MISSING if correlation is None else correlation.old_child(old, node, step, item)

    for entry in node.get(RULES) or ():
        yield from _evaluate(path, value, entry, old, correlation)
    if isinstance(value, dict):
        properties: dict[str, Node] = node.get("properties") or {}
        extra = node.get("additionalProperties")
        for name, item in value.items():
            child = properties.get(name)
            if child is not None and has_rules(child):
                yield from _check((*path, name), item, resolve(child), below(name, item), correlation)
            elif child is None and isinstance(extra, dict) and has_rules(extra):
                yield from _check((*path, Key(name)), item, resolve(extra), below(name, item), correlation)
    elif isinstance(value, list) and "items" in node and has_rules(node["items"]):
        for index, item in enumerate(value):
            yield from _check((*path, index), item, resolve(node["items"]), below(index, item), correlation)


def _evaluate(path: Path, value: Any, entry: dict[str, Any], old: object, correlation: Correlation | None) -> Iterator[FieldError]:
    twin = twin_of(entry["rule"])
    if twin.transition and old is MISSING and not entry.get("optionalOldSelf"):
        return
    try:
        if twin.holds(value, old) or (correlation and not twin.transition and correlation.is_within_unchanged(path)):
            return
        wrong = str(entry.get("message") or f"failed rule: {twin.rule}")
    except EvaluationError as error:
        wrong = f"rule evaluation error: {error}"
    except (AttributeError, TypeError, RecursionError):  # only in a stored object of a wrong type, whose type error was forgiven
        wrong = "rule evaluation error: a value is not of the type that the rule expects"
    yield at(path, Reason.INVALID, f"Invalid value: {wrong}", rule=twin.id)
