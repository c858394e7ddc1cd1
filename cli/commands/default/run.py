"""Applies defaults to the objects of one text. The command reads and prints files and sets the exit code."""

from typing import NamedTuple

from ....api.paths import format_path
from ....policies.edit import PatchOperation
from ....policies.finding import Finding
from ....policies.review import Fields
from ...objects.forms import FormError, Server, decode_manifest, default
from ...objects.manifest import Manifest, find_manifests
from ...objects.stored import Old
from ...objects.text_edits import NewText, replace_objects
from ...yaml.load import Document, InputError, Source, read_text
from .edits import NamedEdit, name_edits, with_patch


class Asked(NamedTuple):
    """What a run was asked for; the same for every object."""

    server: Server
    operation: str = "auto"
    old: Old | None = None


class Changed(NamedTuple):
    """One object and its defaulting; `object` is as written, with only the edits applied."""

    found: Manifest
    object: Fields
    edits: list[NamedEdit]
    patch: list[PatchOperation]
    idle: list[Finding]
    failure: str = ""  # why the defaults could not be asked


class Outcome(NamedTuple):
    """One text after defaulting, with its objects in order."""

    source: Source
    objects: list[Changed]
    unreadable: list[InputError]

    @property
    def changes(self) -> bool:
        """Whether some object would change."""
        return any(one.edits for one in self.objects)

    def new_text(self) -> NewText:
        """The text with the edits in it; the same text where there are none. Raises: NotWrittenError."""
        wanted = [one.object if one.edits else None for one in self.objects]
        return replace_objects(self.source.name, self.source.text, wanted) if self.changes else NewText(self.source.text, [])

    @property
    def failed(self) -> bool:
        """Whether something could not be read or asked: such a text is never written anew."""
        return bool(self.unreadable) or any(one.failure for one in self.objects)


def default_text(name: str, text: str, asked: Asked) -> Outcome:
    """What the defaults change in every object of a text."""
    outcome = Outcome(Source(name, text), [], [])
    documents: list[Document] = []
    for one in read_text(outcome.source):
        if isinstance(one, InputError):
            outcome.unreadable.append(one)
        else:
            documents.append(one)
    outcome.objects.extend(default_object(found, asked) for found in find_manifests(documents))
    return outcome


def default_object(found: Manifest, asked: Asked) -> Changed:
    """What the defaults change in one object, which stays as it is."""
    try:
        obj = decode_manifest(found, asked.server.line)
        old = None
        if asked.old is not None and (asked.operation == "update" or found.identity in asked.old):
            old = asked.old.of(found, asked.server.line)
        if isinstance(old, InputError):
            return _failed(found, old.text)
        done = default(obj, asked.server, old)
    except FormError as error:
        return _failed(found, str(error))
    edits = sorted(name_edits(done), key=lambda edit: (found.document.position(edit.path).line, edit.rule, format_path(edit.path)))
    operations = done.patch()
    return Changed(found, with_patch(found.data, done, operations), edits, operations, done.idle())


def _failed(found: Manifest, why: str) -> Changed:
    return Changed(found, found.data, [], [], [], why)
