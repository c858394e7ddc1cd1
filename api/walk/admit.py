"""The form that the API server gives a write before any webhook sees it: defaulted, pruned and without nulls."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ..kinds import BY_NAME
from ..paths import Path
from ..schema import PRESERVE, Node, resolve
from .default import default, drop_nulls
from .metadata import EMBEDDED
from .prune import METADATA_FIELDS, TEXTS, prune


class Shaped(NamedTuple):
    """Changes to an object that was read: fields that got the schema's default, unknown ones, nulls; the last two are gone."""

    defaulted: tuple[Path, ...]
    pruned: tuple[Path, ...]
    dropped: tuple[Path, ...]


def shape(obj: dict[str, Any], schema: Node, *, nulls: bool = False) -> Shaped:
    """Makes of an object what a server with this schema holds when it has read it: defaulted, pruned, without nulls.

    Changes the object. With `nulls` these stay, as in the result of a server-side apply.
    """
    defaulted = default(obj, schema)
    if is_tidy(obj, schema):
        return Shaped(defaulted, (), ())
    return Shaped(defaulted, prune(obj, schema), () if nulls else drop_nulls(obj, schema))


def with_status_of(obj: dict[str, Any], old: dict[str, Any] | None, kind: str) -> None:
    """Gives an object the stored one's status, or none: it is written through the subresource alone. Changes the object."""
    if "status" in BY_NAME[kind].subresources:
        obj.pop("status", None)
        if old is not None and "status" in old:
            obj["status"] = old["status"]


Check: TypeAlias = "Callable[[Any], bool]"

_known: dict[tuple[int, bool], tuple[Node, Check]] = {}  # by id of the node, which is kept alive beside its check


def is_tidy(obj: dict[str, Any], schema: Node) -> bool:
    """Whether neither `prune` nor `drop_nulls` would change an object; False if only they can decide."""
    return _check(schema, whole=True)(obj)


def _check(node: Node, *, whole: bool = False) -> Check:
    """The check of the maps and lists under a node; a whole object keeps apiVersion, kind and metadata, whatever its schema."""
    known = _known.get((id(node), whole))
    if known is None:
        meant = resolve(node)
        known = _known[id(node), whole] = (node, _compiled(meant, whole=whole or bool(meant.get(EMBEDDED))))
    return known[1]


def _compiled(node: Node, *, whole: bool) -> Check:
    properties: dict[str, Node] = node.get("properties") or {}
    extra, items = node.get("additionalProperties"), node.get("items")
    free = bool(node.get(PRESERVE))
    known = {*properties, "apiVersion", "kind"} if whole else {*properties}
    fields: dict[str, Check] = {"metadata": _is_tidy_metadata} if whole else {}
    others: Check = _check(extra) if isinstance(extra, dict) and extra else _anything if extra or free else _nothing
    each: Check = _check(items) if items is not None else _anything if free else _nothing
    named = others is not _nothing

    def check(value: Any) -> bool:
        if type(value) is list:
            for item in value:  # noqa: SIM110 - all() with a generator takes twice the time
                if (type(item) is dict or type(item) is list) and not each(item):
                    return False
            return True
        for name, item in value.items():
            if type(item) is dict or type(item) is list:
                field_check = fields.get(name)
                if field_check is None:
                    if name in properties:
                        field_check = fields[name] = _check(properties[name])
                    else:  # not cached: authors choose the keys of maps
                        field_check = others
                if not field_check(item):
                    return False
            elif item is None or not (named or name in known):
                return False
        return True

    return check


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False


def _is_tidy_metadata(metadata: Any) -> bool:
    if type(metadata) is not dict or not (metadata.keys() <= METADATA_FIELDS and all(metadata.values())):
        return False
    return not any(type(texts) is dict and None in texts.values() for texts in map(metadata.get, TEXTS))
