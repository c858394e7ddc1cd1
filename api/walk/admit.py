"""What the API server makes of a write before any webhook sees it: defaulted, pruned, without nulls, and then valid or not."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..kinds import BY_NAME
from ..line import INSTALLED, Line
from ..paths import Path
from ..schema import load_schema
from .default import default, drop_nulls
from .errors import FieldError
from .object_meta import metadata_type_errors
from .prune import prune
from .tidy import is_tidy
from .validate import validate


class Answer(NamedTuple):
    """The object as it would be stored, what happened to it on the way, and the causes of a refusal; none means accepted."""

    object: dict[str, Any]
    defaulted: tuple[Path, ...]
    pruned: tuple[Path, ...]
    dropped: tuple[Path, ...]
    errors: tuple[FieldError, ...]


class Shaped(NamedTuple):
    """What happened to an object that was read: fields that got the schema's default, unknown ones, nulls; the last two are gone."""

    defaulted: tuple[Path, ...]
    pruned: tuple[Path, ...]
    dropped: tuple[Path, ...]


def shape(obj: dict[str, Any], kind: str, version: str, line: Line) -> Shaped:
    """Makes of an object what a server with the definitions of a line holds when it has read it: defaulted, pruned, without nulls.

    Changes the object.
    """
    schema = load_schema(kind, version, line)
    defaulted = default(obj, schema)
    return Shaped(defaulted, (), ()) if is_tidy(obj, schema) else Shaped(defaulted, prune(obj, schema), drop_nulls(obj, schema))


def with_status_of(obj: dict[str, Any], old: dict[str, Any] | None, kind: str) -> None:
    """Gives an object the stored one's status, or none: it is written through the subresource alone. Changes the object."""
    if "status" in BY_NAME[kind].subresources:
        obj.pop("status", None)
        if old is not None and "status" in old:
            obj["status"] = old["status"]


def admit(obj: dict[str, Any], kind: str, version: str, old: dict[str, Any] | None = None, line: Line = INSTALLED) -> Answer:
    """Answers a create, or with `old` an update, as a server does that has the kind's schema and no webhook.

    Changes the object itself, and the old one too, which a server reads through the same schema: hand in copies if you need them as they
    were. Status is not for writers of the object, so a create loses it and an update keeps the old one.
    Metadata of a wrong JSON type ends it at once: the object is as it was then, and no other cause is looked for.
    Raises KeyError for a kind or version that doesn't exist.
    """
    schema = load_schema(kind, version, line)
    if undecodable := tuple(metadata_type_errors(obj, schema)):
        return Answer(obj, (), (), (), undecodable)
    if old is not None:
        shape(old, kind, version, line)
    done = shape(obj, kind, version, line)
    with_status_of(obj, old, kind)
    return Answer(obj, *done, tuple(validate(obj, schema, old)))
