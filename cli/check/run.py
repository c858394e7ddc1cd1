"""Reads all sources, takes every object through the pipeline and gathers the result. Flags and printing live in the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.check.choice import Choice
from cli.check.objects import Found, objects
from cli.check.old import Olds, Past
from cli.check.pipeline import Outcome, Settings, check_object
from cli.check.record import NotEvaluated, Reported
from cli.check.result import Checked, Result, Suppressed, assemble
from cli.check.sources import documents
from cli.check.suppress import Heard, suppress
from cli.yaml.load import InputError, Source
from policies.review import CREATE, DELETE, UPDATE

if TYPE_CHECKING:
    from cli.check.answer import Answer

AUTO = "auto"
_OPERATIONS = {AUTO: CREATE, "create": CREATE, "update": UPDATE, "delete": DELETE}


class Run:
    """Gathers what all sources give."""

    def __init__(self, settings: Settings, choice: Choice, operation: str, old: Olds | None, *, answering: bool = False) -> None:
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
        noted, checked = len(self._notes), len(self._checked)
        for document in documents(file, stdin_name):
            if isinstance(document, InputError):
                self._unreadable.append(document)
                continue
            source = document.source
            for found in objects([document]):
                findings += self._object(found)
        if source is not None:
            notes, operations = tuple(self._notes[noted:]), frozenset(one.operation for one in self._checked[checked:])
            kept, suppressed = suppress(source, findings, Heard(notes, operations, self.settings.profile, self.settings.schema))
            self._suppressed += [one for one in suppressed if self.choice.takes(one.finding.rule, one.finding.code)]
            self._findings += [one for one in kept if self.choice.takes(one.rule, one.code) or one.level == "fault"]

    def result(self) -> Result:
        """Everything, sorted."""
        return assemble(self._findings, self._notes, self._unreadable, self._checked, self._suppressed, self._answers)

    def _object(self, found: Found) -> list[Reported]:
        past = self._past(found)
        if isinstance(past, InputError):
            self._unreadable.append(past)
            return []
        operation = UPDATE if past.object is not None else _OPERATIONS[self.operation]
        source, line = found.document.source, found.document.position(()).line
        self._checked.append(Checked(source, line, found.identity, operation))
        if self.answering:
            from cli.check.answer import answered

            self._answers.append(answered(found, operation, past.object, self.settings))
        outcome: Outcome = check_object(found, operation, past.object, self.settings)
        unsure = [NotEvaluated("updates", "", source, line, found.identity, past.why, "")] if past.why else []
        self._notes += [note for note in (*unsure, *outcome.not_evaluated) if self.choice.takes(note.rule, note.code)]
        return outcome.findings

    def _past(self, found: Found) -> Past | InputError:
        """What was stored before, where the operation asks for that: `auto` is an update where there is an old object."""
        if self.old is None or not found.known or self.operation not in (AUTO, "update"):
            return Past()
        return self.old.past(found)
