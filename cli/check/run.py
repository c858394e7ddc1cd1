"""Reads all sources, takes every object through the pipeline and gathers the result. Flags and printing live in the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.check.choice import Choice
from cli.check.objects import Found, objects
from cli.check.old import Old
from cli.check.pipeline import Outcome, Settings, check_object
from cli.check.record import NotEvaluated, Reported
from cli.check.result import Checked, Result, Suppressed, assemble
from cli.check.sources import documents
from cli.check.suppress import suppress
from cli.yaml.load import InputError, Source
from policies.review import CREATE, DELETE, UPDATE, Fields

if TYPE_CHECKING:
    from cli.check.answer import Answer

AUTO = "auto"
_OPERATIONS = {"create": CREATE, "update": UPDATE, "delete": DELETE}


class Run:
    """Gathers what all sources give."""

    def __init__(self, settings: Settings, choice: Choice, operation: str, old: Old | None, *, answering: bool = False) -> None:
        """`operation` is auto, create, update or delete; `answering` also asks what a server would answer to each write."""
        self.settings = settings
        self.choice = choice
        self.operation = operation
        self.old = old
        self.answering = answering
        self._findings: list[Reported] = []
        self._notes: list[NotEvaluated] = []
        self._unreadable: list[InputError] = []
        self._checked: list[Checked] = []
        self._suppressed: list[Suppressed] = []
        self._answers: list[Answer] = []

    def take(self, file: str | Source | InputError, stdin_name: str) -> None:
        """Checks all objects of one file; what can't be read is remembered, and the rest is checked all the same."""
        findings: list[Reported] = []
        source: Source | None = None
        for document in documents(file, stdin_name):
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
        return assemble(self._findings, self._notes, self._unreadable, self._checked, self._suppressed, self._answers)

    def _object(self, found: Found) -> list[Reported]:
        operation, old = self._operation(found)
        if isinstance(old, InputError):
            self._unreadable.append(old)
            return []
        self._checked.append(Checked(found.document.source, found.document.position(()).line, found.identity, operation))
        if self.answering:
            from cli.check.answer import answered

            self._answers.append(answered(found, operation, old, self.settings))
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
