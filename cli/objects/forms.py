"""The forms of an object: decoded, with defaults, in another version, as a cluster holds it, or why it is refused. No argument changes."""

import copy
from collections.abc import Iterator
from typing import NamedTuple

from ...admission.judging import ObjectDefaults
from ...admission.pipeline import Admission, Settings, decode_and_shape
from ...api.kinds import BY_NAME, api_version
from ...api.line import Line
from ...api.paths import Path, format_path
from ...api.schema import load_schema
from ...api.walk.default import default as set_defaults
from ...api.walk.default import drop_nulls
from ...api.walk.errors import FieldError
from ...api.wording import shorten
from ...conversion.kinds import KINDS
from ...conversion.lens.protocol import ConversionError
from ...conversion.objects import convert_object, target
from ...policies.facts import UNKNOWN, Facts
from ...policies.review import CREATE, UPDATE, Fields
from ...policies.rule import Level
from ..legacy.recognise import recognise
from .manifest import Manifest, explain_unknown_kind

MAX_MESSAGE_CHARACTERS = 2_000


class FormError(Exception):
    """An object that has no such form; the text is a sentence that names the field."""

    def __init__(self, reason: str, path: Path = (), errors: tuple[FieldError, ...] = ()) -> None:
        """`errors` are all values of a wrong type, where these are the reason."""
        super().__init__(shorten(f"{format_path(path)}: {reason}" if path else reason, MAX_MESSAGE_CHARACTERS))
        self.reason, self.path, self.errors = reason, path, errors


class SimulatedServer(NamedTuple):
    """The server that a run simulates."""

    facts: Facts = Facts()
    user: str = ""

    @property
    def settings(self) -> Settings:
        """The settings of its webhooks."""
        return Settings(self.facts)

    @property
    def line(self) -> Line:
        """The line of the operator."""
        return self.settings.line


def decode(obj: Fields, line: Line) -> Fields:
    """The object as webhooks get it: with the schema's defaults, without unknown fields and nulls. Raises: FormError for wrong types."""
    decoded = copy.deepcopy(obj)
    if errors := decode_and_shape(decoded, *_kind_and_version(obj), line):
        raise FormError(errors[0].message, errors[0].path, errors)
    return decoded


def decode_manifest(manifest: Manifest, line: Line) -> Fields:
    """Decode a file's object, without the status, which has a subresource. Raises: FormError, also for unknown kinds."""
    older = recognise(manifest.data)
    if older is not None:
        raise FormError(f"is {older} of an older form of the API; dynamo-webhooks convert writes the current one")
    if not manifest.known:
        raise FormError(explain_unknown_kind(manifest))
    decoded = decode(manifest.data, line)
    decoded.pop("status", None)
    return decoded


def apply_schema_defaults(obj: Fields, line: Line) -> Fields:
    """The object with the schema's defaults alone; unknown fields stay, because people must see them."""
    kind, version = _kind_and_version(obj)
    schema = load_schema(kind, version, line)
    filled = copy.deepcopy(obj)
    set_defaults(filled, schema)
    drop_nulls(filled, schema)
    return filled


def default(decoded: Fields, server: SimulatedServer, old: Fields | None = None) -> ObjectDefaults:
    """The mutating webhook's defaults; with `old` as the update of that object. Raises: FormError."""
    kind, version = _kind_and_version(decoded)
    operation = CREATE if old is None else UPDATE
    try:
        return Admission(kind, version, operation, decoded, old, user=server.user, settings=server.settings).defaults()
    except ConversionError as error:
        raise FormError(error.reason, error.path) from None


def convert(obj: Fields, version: str, line: Line) -> Fields:
    """The object in a version, and nothing else. Raises: FormError."""
    try:
        return convert_object(obj, target(api_version(version), line), whole=True).object
    except ConversionError as error:
        raise FormError(error.reason, error.path) from None


def read_in_version(obj: Fields, version: str, line: Line) -> Fields:
    """The object as the server returns it in a version; itself where it has that version or its kind has only one. Raises: FormError."""
    kind, written = _kind_and_version(obj)
    return obj if written == version or kind not in KINDS else decode(convert(obj, version, line), line)


def complete(manifest: Manifest, server: SimulatedServer, old: Fields | None) -> Fields:
    """The object in its own version with all defaults; with `old` as the result of an update. Raises: FormError."""
    obj = decode_manifest(manifest, server.line)
    # defaults of creations on updates too: an apply of a file that omits them does not remove them
    for before in (None,) if old is None else (old, None):
        obj = default(obj, server, before).object
    obj = decode(obj, server.line)
    # once through the other version, whose schema has defaults of its own: a stored object has those of both
    kind, version = _kind_and_version(obj)
    other = BY_NAME[kind].other(version) if kind in KINDS else version
    return read_in_version(read_in_version(obj, other, server.line), version, server.line)


def create(obj: Fields, facts: Facts, namespace: str) -> Fields:
    """The object as a cluster holds it after its creation, in `namespace` (or `default`) where it names none. Raises: FormError."""
    created = decode(obj, facts.line)
    metadata = created.get("metadata") or {}
    created["metadata"] = metadata if metadata.get("namespace") else {**metadata, "namespace": namespace or "default"}
    kind, version = _kind_and_version(created)
    # in a leased namespace another operator's webhooks set the same defaults
    settings = Settings(facts._replace(excludedNamespaces=UNKNOWN))
    write = Admission(kind, version, CREATE, created, user="", settings=settings)
    try:
        write.mutate()
        stored = BY_NAME[kind].stored(facts.line)
        # rendering itself converts as on line 1.2
        in_place = facts.line < Line.V1_5 or version == stored
        return write.object if in_place else convert_object(write.object, target(api_version(stored), facts.line)).object
    except ConversionError:  # rendering reports it, with the field
        return write.object


def _kind_and_version(obj: Fields) -> tuple[str, str]:
    return str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2]


class Refusal(NamedTuple):
    """One reason, and the code of the rule that gives it; empty for the schema and conversion."""

    text: str
    code: str = ""


def list_refusals(obj: Fields, version: str, settings: Settings) -> Iterator[Refusal]:
    """Yields why an object of a version would be refused on creation, by the schema first, then by rules. The object stays as it is."""
    write = Admission(str(obj.get("kind")), version, CREATE, copy.deepcopy(obj), user="", settings=settings)
    if errors := (write.decode_metadata() or write.decode()):
        yield from (Refusal(f"{format_path(error.path)}: {error.message}") for error in errors)
        return
    write.shape()
    try:
        write.mutate()
        yield from (Refusal(f"{format_path(error.path)}: {error.message}") for error in write.conform())
        for finding in write.judge():
            if finding.level is Level.ERROR:
                yield Refusal(f"{format_path(finding.path)}: {finding.text}", finding.rule.code)
    except ConversionError as error:
        yield Refusal(f"{format_path(error.path)}: {error.reason}")
