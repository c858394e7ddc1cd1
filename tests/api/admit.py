"""What the API server answers to a write where no webhook is: the object as it would be stored, or why it is refused."""

from typing import Any, NamedTuple

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Path
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.admit import shape, with_status_of
from dynamo_webhooks.api.walk.errors import FieldError
from dynamo_webhooks.api.walk.metadata import metadata_type_errors
from dynamo_webhooks.api.walk.validate import validate


class Answer(NamedTuple):
    """The object as it would be stored, what happened to it on the way, and the causes of a refusal; none means accepted."""

    object: dict[str, Any]
    defaulted: tuple[Path, ...]
    pruned: tuple[Path, ...]
    dropped: tuple[Path, ...]
    errors: tuple[FieldError, ...]


def admit(obj: dict[str, Any], kind: str, version: str, old: dict[str, Any] | None = None, line: Line = Line.V1_2) -> Answer:
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
        shape(old, schema)
    done = shape(obj, schema)
    with_status_of(obj, old, kind)
    return Answer(obj, *done, tuple(validate(obj, schema, old)))
