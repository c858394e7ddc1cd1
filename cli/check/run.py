"""Reads all sources, takes every object through the pipeline and gathers the result. Flags and printing live in the command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api.kinds import api_version
from cli.check.choice import Choice
from cli.check.objects import Found, Identity, objects
from cli.check.pipeline import Outcome, Settings, check_object, prepared
from cli.check.record import NotEvaluated, Reported
from cli.check.result import Result, assemble
from cli.check.sources import find
from cli.check.suppress import suppress
from cli.exits import UsageError
from cli.files import STDIN, load_text
from cli.yaml.load import Document, InputError, Source, read
from policies.review import CREATE, DELETE, UPDATE, Fields

AUTO = "auto"
_OPERATIONS = {"create": CREATE, "update": UPDATE, "delete": DELETE}


class Old:
    """The stored objects of an update, by identity; each is made ready once."""

    def __init__(self, found: Iterable[Found]) -> None:
        """Raises: UsageError when one object is there twice."""
        self._found: dict[Identity, Found] = {}
        self._ready: dict[Identity, Fields | InputError] = {}
        for one in found:
            if one.identity in self._found:
                raise UsageError(f"--old holds {one.identity} twice")
            self._found[one.identity] = one

    def __contains__(self, identity: Identity) -> bool:
        """Whether there is an old object of that identity, in whichever version."""
        return identity in self._found

    def of(self, new: Found) -> Fields | InputError:
        """The old object as the server would hold it, or why there is none to compare with."""
        ready = self._ready.get(new.identity)
        if ready is None:
            ready = self._ready[new.identity] = self._load(new)
        return ready

    def _load(self, new: Found) -> Fields | InputError:
        old = self._found.get(new.identity)
        line, column, _ = new.document.position(())
        name = new.document.source.name
        if old is None:
            return InputError(f"{new.identity} has no old object in --old", name, line, column)
        data, errors = prepared(old.data, old.identity.kind, old.version)
        if errors:
            line, column, _ = old.document.value_position(errors[0].path)
            text = f"the old object can't be read: {errors[0].field}: {errors[0].message}"
            return InputError(text, old.document.source.name, line, column)
        return data if old.version == new.version else _in_version(data, old, new.version)


def _in_version(data: Fields, old: Found, version: str) -> Fields | InputError:
    """The old object in the new one's version, as the server would hand it to the webhooks."""
    from conversion.lens.protocol import ConversionError
    from conversion.objects import convert_object, target

    try:
        return convert_object(data, target(api_version(version))).object
    except ConversionError as error:
        line, column, _ = old.document.value_position(error.path)
        return InputError(f"the old object can't be converted to {version}: {error.reason}", old.document.source.name, line, column)


def load_old(paths: Sequence[str]) -> Old:
    """Reads the old objects.

    Raises: UsageError when a file can't be read: without it every verdict would be about something else.
    """
    found: list[Found] = []
    for file in find(paths):
        for document in _documents(file, ""):
            if isinstance(document, InputError):
                raise UsageError(f"--old {document}")
            found += [one for one in objects([document]) if one.known]
    return Old(found)


class Run:
    """Gathers what all sources give."""

    def __init__(self, settings: Settings, choice: Choice, operation: str, old: Old | None) -> None:
        """`operation` is auto, create, update or delete."""
        self.settings = settings
        self.choice = choice
        self.operation = operation
        self.old = old
        self._findings: list[Reported] = []
        self._notes: list[NotEvaluated] = []
        self._unreadable: list[InputError] = []
        self._objects = 0
        self._suppressed = 0

    def take(self, file: str | InputError, stdin_name: str) -> None:
        """Checks all objects of one file; what can't be read is remembered, and the rest is checked all the same."""
        findings: list[Reported] = []
        source: Source | None = None
        for document in _documents(file, stdin_name):
            if isinstance(document, InputError):
                self._unreadable.append(document)
                continue
            source = document.source
            for found in objects([document]):
                findings += self._object(found)
        if source is not None:
            kept, suppressed = suppress(source, findings)
            self._suppressed += suppressed
            self._findings += [one for one in kept if self.choice.takes(one.rule, one.code) or one.level == "fault"]

    def result(self) -> Result:
        """Everything, sorted."""
        return assemble(self._findings, self._notes, self._unreadable, self._objects, self._suppressed)

    def _object(self, found: Found) -> list[Reported]:
        operation, old = self._operation(found)
        if isinstance(old, InputError):
            self._unreadable.append(old)
            return []
        self._objects += 1
        outcome: Outcome = check_object(found, operation, old, self.settings)
        self._notes += [note for note in outcome.not_evaluated if self.choice.takes(note.rule, note.code)]
        return outcome.findings

    def _operation(self, found: Found) -> tuple[str, Fields | InputError | None]:
        """The operation on one object: `auto` is an update where there is an old object."""
        name = self.operation
        if name == AUTO:
            name = "update" if self.old is not None and found.identity in self.old else "create"
        if name != "update" or not found.known or self.old is None:
            return _OPERATIONS[name], None
        return UPDATE, self.old.of(found)


def _documents(file: str | InputError, stdin_name: str) -> Iterable[Document | InputError]:
    if isinstance(file, InputError):
        return [file]
    name = stdin_name if file == STDIN and stdin_name else file
    try:
        return read(Source(name, load_text(file, name)))
    except InputError as error:
        return [error]
