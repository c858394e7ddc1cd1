"""The CEL phase: compiles each rule that schemas carry once a process, and evaluates it at every place where it stands."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from ..models.constraints import ALL, VALIDATIONS
from ..paths import MISSING, Key, Path
from ..schema import Node, resolve
from .bearing import RULES, is_relevant
from .correlate import Correlation
from .errors import FieldError, Reason, field_error

_IDS: Final = {constraint.rule: constraint.id for constraint in ALL}


class Rule:
    """One rule: its id and its text. `broken` returns None if it holds, nothing if it doesn't, and else why it can't be evaluated."""

    def __init__(self, text: str) -> None:
        self.id = _IDS[text]
        self.text = text
        self.transition = "oldSelf" in text
        self.broken = _compiled(text)


def _compiled(text: str) -> Callable[[Any, object, bool], str | None]:
    """The rule as a function of the value and the one that was there before, which a rule may call optional."""
    from ...cel import NONE, EvaluationError, Optional, compile_text

    program = compile_text(text, ("self", "oldSelf"))
    evaluate = program.evaluate
    fields = [name for name, other in program.true_without("self") if other is None]
    texts = [(name, other) for name, other in program.true_without("self") if other is not None]

    def broken(value: Any, old: object, optional: bool) -> str | None:
        if type(value) is dict:
            for name in fields:
                if name not in value:
                    return None
            for name, other in texts:
                if value[name] != other and type(value[name]) is str:
                    return None
        if optional:
            old = NONE if old is MISSING else Optional(old)
        try:
            return None if evaluate({"self": value, "oldSelf": old}) is True else ""
        except EvaluationError as error:
            return str(error)

    return broken


@cache
def rule_of(text: str) -> Rule:
    """Returns the rule of a text. Raises KeyError for one without an id in `api.models`."""
    return Rule(text)


def rule_errors(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None = None) -> Iterator[FieldError]:
    """Yields the broken rules, those of an object before those of its fields.

    With the old object, rules broken in unchanged parts are forgiven, but neither a rule on the old value nor one that can't be evaluated.
    """
    if old is None:
        return _check((), obj, resolve(schema), MISSING, None)
    return _check((), obj, resolve(schema), old, Correlation(obj, old, schema))


def has_rules(node: Node) -> bool:
    """Whether a schema contains a rule; the API server mentions unchecked rules only if there are any."""
    return is_relevant(node, RULES)


def _check(path: Path, value: Any, node: Node, old: object, correlation: Correlation | None) -> Iterator[FieldError]:
    """Evaluates the rules of one place and of all below it; places without rules below are not entered."""
    if value is None:
        return

    def below(step: str | int, item: Any) -> object:
        return MISSING if correlation is None else correlation.old_child(old, node, step, item)

    for entry in node.get(VALIDATIONS) or ():
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
    rule = rule_of(entry["rule"])
    optional = bool(entry.get("optionalOldSelf"))
    if rule.transition and old is MISSING and not optional:
        return
    why = rule.broken(value, old, optional)
    if why is None or (not why and correlation and not rule.transition and correlation.is_within_unchanged(path)):
        return
    wrong = f"rule evaluation error: {why}" if why else str(entry.get("message") or f"failed rule: {rule.text}")
    yield field_error(path, Reason.INVALID, f"Invalid value: {wrong}", rule=rule.id)
