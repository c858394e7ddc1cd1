"""All validation phases in the API server's order, and what one phase hides of the next."""

from __future__ import annotations

from typing import Any, Final

from ..kinds import BY_NAME
from ..schema import Node
from .accept import Acceptance
from .correlate import Correlation
from .errors import FieldError, Reason, nowhere
from .lists import list_errors
from .metadata import embedded_errors, metadata_errors
from .rules import has_rules, rule_errors
from .structure import structure_errors

# After an error of one of these types the API server evaluates no CEL rule: the value may not be what the rule expects.
BLOCKING: Final = frozenset({Reason.NOT_SUPPORTED, Reason.REQUIRED, Reason.TOO_LONG, Reason.TOO_MANY, Reason.TYPE_INVALID})
HINT: Final = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
_MOST_REPLICAS: Final = 2**31 - 1


def validate(obj: dict[str, Any], schema: Node, old: dict[str, Any] | None = None) -> list[FieldError]:
    """Returns every cause for which the API server would refuse the object, in the order in which it finds them.

    The object must be pruned, defaulted and without nulls (`api.walk.admit` does all that). With `old`, errors of the schema and broken
    rules in unchanged parts are forgiven, and repeated list items where the old object had some anywhere, but nothing in metadata.
    """
    sound = _accepts(obj, schema)
    structure = iter(()) if sound else structure_errors(obj, schema)
    if old is not None:
        structure = Correlation(obj, old, schema).without_unchanged(structure)
    errors = [*metadata_errors(obj), *structure, *_scale_errors(obj), *embedded_errors(obj, schema)]
    if not sound and (old is None or not any(True for _ in list_errors(old, schema))):
        errors += list_errors(obj, schema)
    if has_rules(schema):
        if any(error.reason in BLOCKING for error in errors):
            errors.append(nowhere(HINT))
        elif not sound or old is not None:  # a rule may compare with the old object
            errors += rule_errors(obj, schema, old)
    return errors


def _is_sound(value: Any, node: Node) -> bool:
    """Whether no phase finds anything below a place of a new object; the slow way."""
    return not any(True for phase in (structure_errors, list_errors, rule_errors) for _ in phase(value, node))


_accepts: Final = Acceptance(_is_sound).of


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
    elif replicas > _MOST_REPLICAS:
        wrong = f"should be less than or equal to {_MOST_REPLICAS}"
    else:
        return []
    return [FieldError(("spec", "replicas"), ".spec.replicas", Reason.INVALID, f"Invalid value: {wrong}")]
