"""An object from a file as the cluster would hold it: read into its type, with the schema's defaults and ours. Rules are `check`'s."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.admission.pipeline import Admission, Settings, prepared
from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.policies.review import CREATE

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.policies.facts import Facts


class Admitted(NamedTuple):
    """The object, or the places and reasons why it can't be read into its type."""

    object: Fields
    errors: list[tuple[Path, str]]


def admitted(data: Fields, facts: Facts, namespace: str) -> Admitted:
    """The object with what the API server and the webhooks fill in on creation.

    An object without a namespace gets the given one, or `default`. The argument is not changed.
    """
    obj = copy.deepcopy(data)
    kind, version = str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2]
    if wrong := prepared(obj, kind, version, facts.line):
        return Admitted(obj, [(error.path, error.message) for error in wrong])
    metadata = obj.get("metadata") or {}
    obj["metadata"] = metadata if metadata.get("namespace") else {**metadata, "namespace": namespace or "default"}
    # in a leased namespace another operator's webhooks fill in the same
    settings = Settings(facts._replace(excludedNamespaces=UNKNOWN))
    write = Admission(kind, version, CREATE, obj, user="", settings=settings)
    with suppress(ConversionError):  # rendering says so, with the field
        write.mutate()
        return Admitted(_stored(write.object, kind, version, facts.line), [])
    return Admitted(write.object, [])


def _stored(obj: Fields, kind: str, version: str, line: Line) -> Fields:
    """The object as a server of line 1.5 converts it to the stored version; rendering itself converts as on line 1.2."""
    stored = BY_NAME[kind].stored(line)
    if line < Line.V1_5 or version == stored:
        return obj
    made: Fields = convert_object(obj, target(api_version(stored), line)).object
    return made
