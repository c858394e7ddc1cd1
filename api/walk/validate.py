"""All validation phases in the API server's order, what one phase hides of the next, and the phase of the CEL rules."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, TypeAlias

from ..kinds import BY_NAME
from ..models.constraints import ALL, VALIDATIONS
from ..paths import MISSING, Key, Path
from ..schema import MARKS, Node, resolve
from .bearing import RULES, is_relevant
from .correlate import Correlation, list_errors
from .errors import FieldError, Reason, field_error, nowhere
from .metadata import embedded_errors, metadata_errors
from .structure import structure_errors

Check: TypeAlias = "Callable[[Any], bool]"

_EXACT: Final[dict[str, type]] = {"string": str, "boolean": bool}
_ENDLESS: Final = float("inf")
_SMALL: Final = range(-(2**63), 2**63)
_SIZES: Final = ("minProperties", "maxProperties", "minItems", "maxItems")
# keywords of the schema phase that a plain node may have; one with any other is asked of the phases
_PLAIN: Final = frozenset({"type", "properties", "additionalProperties", "items", "required", *_SIZES})
_PLAIN_SCALAR: Final = {"integer": frozenset({"type", "minimum", "maximum"}), "string": frozenset({"type", "enum"})}
# keywords that are no business of the schema phase
_FOREIGN: Final = frozenset({"$ref", "default", "description", "nullable", "title", *MARKS})
_known: dict[int, tuple[Node, Check]] = {}  # by id of the node, which is kept alive beside its check


def _accepts(value: Any, node: Node) -> bool:
    """Whether the value has no errors under the node in any of the phases: the quick way to ask `_is_sound`.

    Plain nodes (objects, lists, scalars without patterns, lengths or combinations) are compiled into closures, each when it is first met,
    with the type of their list and their CEL rules; of others, and of what isn't plainly valid, the phases themselves are asked.
    """
    return _check(node)(value)


def _check(node: Node) -> Check:
    known = _known.get(id(node))
    if known is None:
        known = _known[id(node)] = (node, _compiled(resolve(node)))
    return known[1]


def _compiled(node: Node) -> Check:
    form = node.get("type", "")
    # formats of numbers bind typed decoders alone
    foreign = {"format", *_FOREIGN} if form == "integer" else _FOREIGN
    keywords = _PLAIN_SCALAR.get(form, _PLAIN)
    if not all(key in keywords or key in foreign or key.startswith("x-kubernetes-") for key in node):
        return _check_fully(node)
    if form == "object":
        check = _object(node)
    elif form == "array":
        check = _list(node)
    else:
        check = _scalar(node, form)
    return _ruled(check, node)


def _check_fully(node: Node) -> Check:
    return lambda value: _is_sound(value, node)


def _scalar(node: Node, form: str) -> Check:
    if node.get("x-kubernetes-int-or-string"):
        return lambda value: type(value) is str or (type(value) is int and value in _SMALL) or _is_sound(value, node)
    if form == "integer":
        wanted = range(max(_SMALL.start, node.get("minimum", _SMALL.start)), min(_SMALL.stop, node.get("maximum", _SMALL.stop) + 1))
        return lambda value: (type(value) is int and value in wanted) or _is_sound(value, node)
    if "enum" in node:
        allowed = frozenset(choice for choice in node["enum"] if type(choice) is str)
        return lambda value: (type(value) is str and value in allowed) or _is_sound(value, node)
    exact = _EXACT.get(form)
    return _check_fully(node) if exact is None else lambda value: type(value) is exact or _is_sound(value, node)


def _object(node: Node) -> Check:
    properties: dict[str, Node] = node.get("properties") or {}
    required: list[str] = node.get("required") or []
    extra = node.get("additionalProperties")
    others = _check(extra) if isinstance(extra, dict) else None
    fields: dict[str, Check] = {}
    least, most = node.get("minProperties", 0), node.get("maxProperties", _ENDLESS)

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return _is_sound(value, node)
        if not least <= len(value) <= most:
            return False
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():
            field_check = fields.get(name)
            if field_check is None:
                if name in properties:
                    field_check = fields[name] = _check(properties[name])
                elif (field_check := others) is None:
                    continue
            if not field_check(item):
                return False
        return True

    return check


def _list(node: Node) -> Check:
    items = node.get("items")
    item_check = _check(items) if items is not None else None
    least, most = node.get("minItems", 0), node.get("maxItems", _ENDLESS)
    keys = _keys(node)

    def check(value: Any) -> bool:
        if type(value) is not list:
            return _is_sound(value, node)
        if not (least <= len(value) <= most and (item_check is None or all(map(item_check, value)))):
            return False
        return keys is None or _differ(value, keys) or _is_sound(value, node)

    return check


def _keys(node: Node) -> tuple[str, ...] | None:
    """The key fields of a list's items: none for a set, whose items are their own keys; None for other lists."""
    form = node.get("x-kubernetes-list-type")
    return () if form == "set" else tuple(node.get("x-kubernetes-list-map-keys") or ()) if form == "map" else None


def _differ(value: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether no two items are plainly the same: maps by their keys, if these are texts and numbers, others as texts."""
    seen: set[Any] = set()
    for item in value:
        if not keys:
            if type(item) is not str:
                return False
            seen.add(item)
        elif type(item) is not dict:
            return False
        else:
            parts = tuple(map(item.get, keys))
            for part in parts:
                if type(part) is not str and type(part) is not int:
                    return False
            seen.add(parts)
    return len(seen) == len(value)


def _ruled(check: Check, node: Node) -> Check:
    """The check with the node's CEL rules behind it, those of a new object."""
    entries = [(rule_of(entry["rule"]), bool(entry.get("optionalOldSelf"))) for entry in node.get(VALIDATIONS) or ()]
    rules = [(rule.broken, optional) for rule, optional in entries if optional or not rule.transition]
    if not rules:
        return check

    def ruled(value: Any) -> bool:
        if not check(value):
            return False
        return value is None or all(broken(value, MISSING, optional) is None for broken, optional in rules)

    return ruled


# After an error of one of these types the API server evaluates no CEL rule: the value may not be what the rule expects.
BLOCKING: Final = frozenset({Reason.NOT_SUPPORTED, Reason.REQUIRED, Reason.TOO_LONG, Reason.TOO_MANY, Reason.TYPE_INVALID})
HINT: Final = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
_MAX_REPLICAS: Final = 2**31 - 1


def validate(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None = None) -> list[FieldError]:
    """Returns every cause for which the API server would refuse the object, in the order in which it finds them.

    The object must be pruned, defaulted and without nulls (`api.walk.admit` does all that). With `old`, errors of the schema and broken
    rules in unchanged parts are forgiven, and repeated list items where the old object had some anywhere, but nothing in metadata.
    """
    return list(find_errors(obj, schema, old))


def find_errors(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None = None) -> Iterator[FieldError]:
    """Yields what `validate` returns; who needs the first errors alone doesn't pay for the others."""
    sound, blocked = _accepts(obj, schema), False
    for error in _schema_errors(obj, schema, old, sound=sound):
        blocked = blocked or error.reason in BLOCKING
        yield error
    if has_rules(schema):
        if blocked:
            yield nowhere(HINT)
        elif not sound or old is not None:  # a rule may compare with the old object
            yield from rule_errors(obj, schema, old)


def _schema_errors(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None, *, sound: bool) -> Iterator[FieldError]:
    """Those of all phases before the rules."""
    structure = iter(()) if sound else structure_errors(obj, schema)
    if old is not None:  # the API server ratchets stored objects
        correlation = Correlation(obj, old, schema)
        structure = (error for error in structure if not correlation.is_within_unchanged(error.path))
    yield from metadata_errors(obj)
    yield from structure
    yield from _scale_errors(obj)
    yield from embedded_errors(obj, schema)
    if not sound and (old is None or not any(True for _ in list_errors(old, schema))):
        yield from list_errors(obj, schema)


def _is_sound(value: Any, node: Node) -> bool:
    """Whether no phase finds anything below a place of a new object; the slow way."""
    return not any(True for phase in (structure_errors, list_errors, rule_errors) for _ in phase(value, node))


def _scale_errors(obj: dict[str, Any]) -> list[FieldError]:
    """The scale subresource reads the replicas once more, and names them with the leading dot of its own path."""
    kind = BY_NAME.get(str(obj.get("kind")))
    if kind is None or "scale" not in kind.subresources:
        return []
    spec = obj.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else spec  # a spec that is no object can't be looked into either
    if replicas is None:
        return []
    if not isinstance(spec, dict) or not isinstance(replicas, int) or isinstance(replicas, bool):
        wrong = "must be a whole number"
    elif replicas < 0:
        wrong = "should be a non-negative integer"
    elif replicas > _MAX_REPLICAS:
        wrong = f"should be less than or equal to {_MAX_REPLICAS}"
    else:
        return []
    return [FieldError(("spec", "replicas"), ".spec.replicas", Reason.INVALID, f"Invalid value: {wrong}")]


# the CEL phase: compiles each rule of the schemas once per process, and evaluates it at every place that has it
_IDS: Final = {constraint.rule: constraint.id for constraint in ALL}


class Rule:
    """One rule: its id and its text. `broken` returns None if it holds, nothing if it doesn't, and else why it can't be evaluated."""

    def __init__(self, text: str) -> None:
        self.id = _IDS[text]
        self.text = text
        self.transition = "oldSelf" in text
        self.broken = _breaks(text)


def _breaks(text: str) -> Callable[[Any, object, bool], str | None]:
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


rule_of: Final = cache(Rule)  # by its text; KeyError for one without an id in `api.models`


def rule_errors(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None = None) -> Iterator[FieldError]:
    """Yields the broken rules, those of an object before those of its fields.

    With the old object, rules broken in unchanged parts are forgiven, but neither a rule on the old value nor one that can't be evaluated.
    """
    if old is None:
        return _check_rules((), obj, resolve(schema), MISSING, None)
    return _check_rules((), obj, resolve(schema), old, Correlation(obj, old, schema))


def has_rules(node: Node) -> bool:
    """Whether a schema contains a rule; the API server mentions unchecked rules only if there are any."""
    return is_relevant(node, RULES)


def _check_rules(path: Path, value: Any, node: Node, old: object, correlation: Correlation | None) -> Iterator[FieldError]:
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
                yield from _check_rules((*path, name), item, resolve(child), below(name, item), correlation)
            elif child is None and isinstance(extra, dict) and has_rules(extra):
                yield from _check_rules((*path, Key(name)), item, resolve(extra), below(name, item), correlation)
    elif isinstance(value, list) and "items" in node and has_rules(node["items"]):
        for index, item in enumerate(value):
            yield from _check_rules((*path, index), item, resolve(node["items"]), below(index, item), correlation)


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
