"""Applies defaults to the objects of one text, and names the edits in the author's version: which rule sets which field."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ....admission.judging import ObjectDefaults
from ....api.paths import MISSING, Path, format_path, lookup
from ....api.schema import Node, whole_schema
from ....api.shape import path_of
from ....conversion.difference import apply_differences
from ....conversion.translate import Translation
from ....policies.edit import PatchOperation
from ....policies.finding import Edit, Finding
from ....policies.review import Fields
from ...objects.forms import FormError, SimulatedServer, decode_manifest, default
from ...objects.manifest import Manifest, find_manifests
from ...objects.stored import StoredInFiles
from ...objects.text_edits import NewText, replace_objects
from ...validation.pipeline import describe_unknown_fields
from ...yaml.load import Document, InputError, Source, read_text


class NamedEdit(NamedTuple):
    """One field that a default sets; `before` is None if it was absent or null."""

    rule: str
    code: str
    path: Path
    before: Any
    after: Any


class DefaultsRequest(NamedTuple):
    """Options of a run, the same for every object."""

    server: SimulatedServer
    operation: str = "auto"
    old: StoredInFiles | None = None


class DefaultedObject(NamedTuple):
    """One object and its defaulting; `object` is as written, with only the edits applied."""

    manifest: Manifest
    object: Fields
    edits: list[NamedEdit]
    patch: list[PatchOperation]
    idle: list[Finding]
    failure: str = ""  # why the defaults could not be asked
    unknown: Sequence[str] = ()  # sentences about fields that the server drops


class DefaultedText(NamedTuple):
    """One text after defaulting, with its objects in order."""

    source: Source
    objects: list[DefaultedObject]
    unreadable: list[InputError]

    @property
    def changes(self) -> bool:
        """Whether some object would change."""
        return any(obj.edits for obj in self.objects)

    def new_text(self) -> NewText:
        """The text with the edits in it; the same text where there are none. Raises: NotWrittenError."""
        wanted = [obj.object if obj.edits else None for obj in self.objects]
        return replace_objects(self.source.name, self.source.text, wanted) if self.changes else NewText(self.source.text, [])

    @property
    def failed(self) -> bool:
        """Whether something could not be read or asked: such a text is never written anew."""
        return bool(self.unreadable) or any(obj.failure for obj in self.objects)


def default_text(name: str, text: str, request: DefaultsRequest) -> DefaultedText:
    """Apply the defaults to every object of a text."""
    source = Source(name, text)
    read = list(read_text(source))
    objects = [
        _defaulted(manifest, request) for manifest in find_manifests(document for document in read if isinstance(document, Document))
    ]
    return DefaultedText(source, objects, [error for error in read if isinstance(error, InputError)])


def _defaulted(manifest: Manifest, request: DefaultsRequest) -> DefaultedObject:
    return default_object(manifest, request)._replace(unknown=describe_unknown_fields(manifest, request.server.facts))


def default_object(manifest: Manifest, request: DefaultsRequest) -> DefaultedObject:
    """Compute the defaults of one object, which stays as it is."""
    try:
        obj = decode_manifest(manifest, request.server.line)
        old = None
        if request.old is not None and (request.operation == "update" or manifest.identity in request.old):
            old = request.old.of(manifest, request.server.line)
        if isinstance(old, InputError):
            return DefaultedObject(manifest, manifest.data, [], [], [], old.text)
        done = default(obj, request.server, old)
    except FormError as error:
        return DefaultedObject(manifest, manifest.data, [], [], [], str(error))
    edits = sorted(name_edits(done), key=lambda edit: (manifest.document.position(edit.path).line, edit.rule, format_path(edit.path)))
    operations = done.patch()
    return DefaultedObject(manifest, apply_patch(manifest.data, done, operations), edits, operations, done.list_idle())


def name_edits(done: ObjectDefaults) -> list[NamedEdit]:
    """The edits as the author sees them, in the order in which the defaults made them."""
    result, translation = done.object, None
    if done.view is not None and done.judged is not None:
        translation = Translation(done.view.kind, done.judged.object, done.review.kind.partition("/")[2], result)
    return [named for edit in done.edits for named in _named(edit, done, result, translation)]


def _named(edit: Edit, done: ObjectDefaults, result: Fields, translation: Translation | None) -> Iterator[NamedEdit]:
    place = _author_path(edit, result, translation)
    if place is not None:
        yield _edit(edit, done.review.object, place, edit.value)
        return
    # no field of the author's version corresponds: show the patch of this edit alone
    for operation in done.patch([edit]):
        path = path_of(operation["path"], done.review.object, _schema(done))
        for below, value in _leaves(operation.get("value"), lookup(done.review.object, path)):
            yield _edit(edit, done.review.object, (*path, *below), value)


def _edit(edit: Edit, obj: Fields, path: Path, value: Any) -> NamedEdit:
    before = lookup(obj, path)
    return NamedEdit(edit.rule.name, edit.rule.code, path, None if before is MISSING else before, value)


def _author_path(edit: Edit, result: Fields, translation: Translation | None) -> Path | None:
    """Translate a field to the author's version; None where it isn't one field or holds another value there."""
    if translation is None:
        return edit.path
    place = translation.translate(edit.path)
    return place.path if place.exact and lookup(result, place.path) == edit.value else None


def _leaves(value: Any, before: object) -> Iterator[tuple[Path, Any]]:
    """The fields that an operation sets: a parent that wasn't there before is no change in itself."""
    if isinstance(value, dict) and value and (before is MISSING or before is None):
        for key, below in value.items():
            for path, leaf in _leaves(below, MISSING):
                yield (key, *path), leaf
    else:
        yield (), value


def apply_patch(written: Fields, done: ObjectDefaults, operations: list[PatchOperation]) -> Fields:
    """Apply a patch of the stored object to what the author wrote; parents that only the schema's defaults made come along."""
    entries = []
    for operation in operations:
        path = path_of(operation["path"], done.review.object, _schema(done))
        # the difference distinguishes names from numbers by exact type
        plain = [step if isinstance(step, int) else str(step) for step in path]
        entries.append([plain, *([operation["value"]] if "value" in operation else [])])
    changed: Fields = apply_differences(written, entries)
    return changed


def _schema(done: ObjectDefaults) -> Node:
    kind, _, version = done.review.kind.partition("/")
    return whole_schema(kind, version)
