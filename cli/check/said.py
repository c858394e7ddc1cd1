"""Schema errors as an API server prints them: its causes with the values that it quotes, and the one message made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import GROUP
from dynamo_webhooks.api.paths import MISSING, lookup
from dynamo_webhooks.api.walk.errors import NOWHERE, Reason
from dynamo_webhooks.api.walk.validate import HINT
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.fields import node_at

if TYPE_CHECKING:
    from dynamo_webhooks.api.schema import Node
    from dynamo_webhooks.api.walk.errors import FieldError
    from dynamo_webhooks.policies.review import Fields

Told: TypeAlias = tuple[tuple[str, str], ...]

QUOTED: Final = 200  # characters of a value; those that facets look at are names, modes and sizes
_LEAD: Final = re.compile(r"(Invalid value|Unsupported value|Duplicate value|Too many)(: )?")
_NAMES: Final = ("metadata.name", "metadata.generateName")
_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_SEEN: Final = re.compile(r'must be of type \w+: "(\w+)"$')


def causes(errors: Iterable[FieldError], obj: Fields, schema: Node) -> Told:
    """The (field, message) of each error, as in `details.causes`."""
    return tuple((error.field, _message(error, obj, schema)) for error in errors)


def summed_up(kind: str, name: str, told: Sequence[tuple[str, str]]) -> str:
    """The message of the Status: every cause once, in brackets where there are several."""
    texts = [*dict.fromkeys(f"{field}: {message}" for field, message in told)]
    whole = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{kind}.{GROUP} "{name}" is invalid: {whole}'


def _message(error: FieldError, obj: Fields, schema: Node) -> str:
    """The message with the value behind its first words; our own sentences leave it out, because it may be a secret."""
    lead = _LEAD.match(error.message)
    if lead is None or (quoted := _quoted(error, obj, schema)) is None:
        return error.message
    rest = _SUBDOMAIN if error.field in _NAMES and "RFC 1123 subdomain" in error.message else error.message[lead.end() :]
    return f"{lead[1]}: {quoted}{f': {rest}' if rest else ''}"


def _quoted(error: FieldError, obj: Fields, schema: Node) -> str | None:
    """What the server quotes: the type where that is wrong or a CEL rule is broken, else the value itself, if it is a scalar."""
    if error.field == NOWHERE:
        return "null" if HINT in error.message else '""'
    if seen := _SEEN.search(error.message):
        return f'"{seen[1]}"'
    value: Any = lookup(obj, error.path)
    if value is MISSING:
        return None
    if error.rule:
        return f'"{_type(value)}"'
    if error.reason is Reason.TOO_MANY:
        return str(len(value))
    if error.reason is Reason.DUPLICATE and isinstance(value, dict):
        # of an item that its keys tell apart, the keys alone
        names = (node_at(schema, error.path[:-1]) or {}).get("x-kubernetes-list-map-keys") or value
        value = {name: value[name] for name in names if name in value}
    elif isinstance(value, (dict, list)):
        return None
    return shortened(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True), QUOTED)


def _type(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")
