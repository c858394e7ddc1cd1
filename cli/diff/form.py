"""The form in which objects are compared: as a cluster would hold them, in one version, without what the server alone writes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.admission.pipeline import Admission, Settings, prepared
from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.cli.check.stored import NotStoredError, stored
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.conversion.remainder import ASIDE, reserved
from dynamo_webhooks.policies.review import CREATE, CURRENT, UPDATE, line_of

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.policies.facts import Facts
    from dynamo_webhooks.policies.review import Fields

# of metadata: what the API server or kubectl writes, and nobody means
_SERVERS: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid", "deletionGracePeriodSeconds")
_CLIENTS: Final = ("kubectl.kubernetes.io/last-applied-configuration",)


class FormError(Exception):
    """An object that can't be compared; the text names the field and what is wrong."""


class Asked(NamedTuple):
    """What a run was asked for; the same for every object."""

    facts: Facts
    profile: str = CURRENT
    user: str = ""
    to: str = ""  # the version to compare in; empty: that of the new object

    @property
    def line(self) -> Line:
        """The line of the operator that holds the objects."""
        return line_of(self.facts, self.profile)


def complete(found: Found, asked: Asked, old: Fields | None) -> Fields:
    """The object in its own version with all defaults; with an old one as the result of an update. Raises: FormError.

    What is filled in on creations alone is filled in on both sides: whoever applies a file that leaves it out does not take it away.
    """
    kind, version = found.identity.kind, found.version
    try:
        obj = stored(found, asked.line)
    except NotStoredError as error:
        raise FormError(str(error)) from None
    try:
        for before in (None,) if old is None else (old, None):
            operation = CREATE if before is None else UPDATE
            settings = Settings(asked.facts, asked.profile)
            obj = Admission(kind, version, operation, obj, before, user=asked.user, settings=settings).defaults().object
    except ConversionError as error:
        raise FormError(f"{render(error.path)}: {error.reason}") from None
    # once through the other version, whose schema has defaults of its own: a stored object has those of both
    other = other_version(kind, version)
    obj = _filled(obj, kind, version, asked.line)
    return in_version(in_version(obj, kind, other, asked.line), kind, version, asked.line) if other else obj


def in_version(obj: Fields, kind: str, version: str, line: Line) -> Fields:
    """The object in a version of its kind, or itself where it has that version already. Raises: FormError."""
    if obj["apiVersion"] == api_version(version) or kind not in KINDS:
        return obj
    try:
        return _filled(convert_object(obj, target(api_version(version), line), whole=True).object, kind, version, line)
    except ConversionError as error:
        raise FormError(f"{render(error.path)}: {error.reason}") from None


def bare(obj: Fields, kind: str) -> Fields:
    """The object without what is no author's: the server's own metadata, conversion's annotations, empty maps of names."""
    ours = reserved(KINDS[kind]) if kind in KINDS else ()
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        key: value for key, value in annotations.items() if key not in ours and not key.startswith(ASIDE) and key not in _CLIENTS
    }
    metadata = {name: value for name, value in metadata.items() if value not in ({}, None)}
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "status")} | {"metadata": metadata}


def other_version(kind: str, version: str) -> str:
    """The version of a kind that a given one isn't; empty where there is none."""
    return BY_NAME[kind].other(version) if kind in KINDS else ""


def _filled(obj: Fields, kind: str, version: str, line: Line) -> Fields:
    """What the API server adds to an object that a webhook or a conversion made."""
    complete = copy.deepcopy(obj)
    prepared(complete, kind, version, line)
    return complete
