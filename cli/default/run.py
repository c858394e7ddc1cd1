"""Takes the objects of one text through the defaults. Which files are read, what is printed and the exit code are the command's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.check.stored import LONGEST, NotStoredError, stored
from dynamo_webhooks.cli.default.edits import named, with_patch
from dynamo_webhooks.cli.default.texts import NewText, with_objects
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.policies.review import CREATE, CURRENT, UPDATE

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.cli.check.old import Old
    from dynamo_webhooks.cli.default.edits import NamedEdit
    from dynamo_webhooks.policies.edit import PatchOperation
    from dynamo_webhooks.policies.facts import Facts
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields


class Asked(NamedTuple):
    """What a run was asked for; the same for every object."""

    facts: Facts
    profile: str = CURRENT
    operation: str = "auto"
    old: Old | None = None


class Changed(NamedTuple):
    """One object, and what the defaults do to it; `object` is what was written with the edits, and nothing else."""

    found: Found
    object: Fields
    edits: list[NamedEdit]
    patch: list[PatchOperation]
    idle: list[Finding]
    failure: str = ""  # why the defaults could not be asked


class Outcome(NamedTuple):
    """One text after the defaults, its objects in the order in which they stand."""

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
        return with_objects(self.source.name, self.source.text, wanted) if self.changes else NewText(self.source.text, [])

    @property
    def failed(self) -> bool:
        """Whether something could not be read or asked: such a text is never written anew."""
        return bool(self.unreadable) or any(one.failure for one in self.objects)


def default_text(name: str, text: str, asked: Asked) -> Outcome:
    """What the defaults change in every object of a text."""
    outcome = Outcome(Source(name, text), [], [])
    documents: list[Document] = []
    for one in read(outcome.source):
        if isinstance(one, InputError):
            outcome.unreadable.append(one)
        else:
            documents.append(one)
    outcome.objects.extend(default_object(found, asked) for found in objects(documents))
    return outcome


def default_object(found: Found, asked: Asked) -> Changed:
    """What the defaults change in one object, which stays as it is."""
    settings = Settings(asked.facts, asked.profile)
    try:
        obj = stored(found, settings.line)
    except NotStoredError as error:
        return _failed(found, str(error))
    old = None
    if asked.old is not None and (asked.operation == "update" or found.identity in asked.old):
        before = asked.old.of(found, settings.line)
        if isinstance(before, InputError):
            return _failed(found, before.text)
        old = before
    operation = UPDATE if old is not None else CREATE
    try:
        done = Admission(found.identity.kind, found.version, operation, obj, old, user="", settings=settings).defaults()
    except ConversionError as error:
        return _failed(found, shortened(f"{render(error.path)}: {error.reason}", LONGEST))
    edits = sorted(named(done), key=lambda edit: (found.document.position(edit.path).line, edit.rule, render(edit.path)))
    operations = done.patch()
    return Changed(found, with_patch(found.data, done, operations), edits, operations, done.idle())


def _failed(found: Found, why: str) -> Changed:
    return Changed(found, found.data, [], [], [], why)
