"""Reads all sources, takes every object through the pipeline and gathers the result. Flags and printing live in the command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.check.choice import Choice
from dynamo_webhooks.cli.check.objects import Found, every
from dynamo_webhooks.cli.check.old import Olds, Past
from dynamo_webhooks.cli.check.pipeline import LONGEST, Outcome, Settings, check_object
from dynamo_webhooks.cli.check.record import CONVERSION, FAULT, STAYS_AFTER_MOVE, WARNING, NotEvaluated, Reported, own
from dynamo_webhooks.cli.check.result import COMMENT, PROJECT, Checked, Result, Suppressed, assemble
from dynamo_webhooks.cli.check.sources import documents
from dynamo_webhooks.cli.check.suppress import Heard, reason_for, suppress
from dynamo_webhooks.cli.files import STDIN, load_text
from dynamo_webhooks.cli.yaml.errors import ForeignInputError
from dynamo_webhooks.cli.yaml.load import InputError, Source
from dynamo_webhooks.policies.review import CREATE, DELETE, UPDATE, Fields

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.answer import Answer
    from dynamo_webhooks.cli.check.placeholders import Open
    from dynamo_webhooks.cli.yaml.fill import Fill
    from dynamo_webhooks.cli.yaml.load import Position

Item: TypeAlias = str | Source | InputError  # a file by its name, a text that is no file, or why one can't be read
AUTO = "auto"
MANY = 500  # files that take longer to check without orjson than its import takes
FEW = 4  # files that are not worth a look at how many processes would pay
_MARKS = ("$", "<", "{{")  # without them a text holds no placeholder
_OPERATIONS = {AUTO: CREATE, "create": CREATE, "update": UPDATE, "delete": DELETE}


class Gathered:
    """What files gave, in the order in which they were checked."""

    def __init__(self, unreadable: Iterable[InputError] = ()) -> None:
        """Begins with nothing but what can't be read."""
        self.findings: list[Reported] = []
        self.notes: list[NotEvaluated] = []
        self.unreadable: list[InputError] = [*unreadable]
        self.passed: list[InputError] = []
        self.checked: list[Checked] = []
        self.suppressed: list[Suppressed] = []
        self.answers: list[Answer] = []
        self.others = 0

    def add(self, other: Gathered) -> None:
        """Adds what the files behind these gave."""
        for name, found in vars(other).items():
            setattr(self, name, getattr(self, name) + found)

    def result(self) -> Result:
        """Everything, sorted."""
        return assemble(
            self.findings, self.notes, self.unreadable, self.checked, self.suppressed, self.answers, passed=self.passed, others=self.others
        )


class Run:
    """Checks files, one after the other or in several processes, and gathers what all of them give."""

    def __init__(
        self,
        settings: Settings,
        choice: Choice,
        operation: str,
        old: Olds | None,
        *,
        answering: bool = False,
        lenient: bool = False,
        fill: Fill | None = None,
    ) -> None:
        """`operation` is auto, create, update or delete; `answering` also asks what a server would answer to each write.

        `lenient` passes over what can't be read in files that name our group nowhere. `fill` has values for placeholders in files.
        """
        self.settings = settings
        self.choice = choice
        self.operation = operation
        self.old = old
        self.answering = answering
        self.lenient = lenient
        self.fill = fill
        self._found = Gathered()

    def through(self, files: Sequence[Item], stdin_name: str, *, tell: Callable[[Item], None] | None = None) -> Iterator[None]:
        """Checks all files, and yields once for each that is done; `tell` hears of each before, and then there is one process."""
        if len(files) < FEW or tell is not None:
            for file in files:
                if tell is not None:
                    tell(file)
                self.take(file, stdin_name)
                yield
            return
        from dynamo_webhooks.cli.check import parallel

        if self.settings.judged and len(files) >= MANY:
            import orjson  # noqa: F401 - where it is loaded, conversion compares by it

        # standard input can be read in this process alone; what the first file needs is then loaded for all
        files = [_standard_input(stdin_name) if file == STDIN else file for file in files]
        self.take(files[0], stdin_name)
        yield
        parts = parallel.slices(files[1:])
        if len(parts) == 1:
            for file in parts[0]:
                self.take(file, stdin_name)
                yield
            return
        before, self._found = self._found, Gathered()
        yield from parallel.through(parts, lambda file: self.take(file, stdin_name), lambda: self._found, before.add, Gathered)
        before.add(self._found)  # what was done over here
        self._found = before

    def take(self, file: Item, stdin_name: str) -> None:
        """Checks all objects of one file; what can't be read is remembered, and the rest is checked all the same."""
        findings: list[Reported] = []
        source: Source | None = None
        open_: list[Open] = []
        found = self._found
        number = 0
        noted, checked = len(found.notes), len(found.checked)
        for document in documents(file, stdin_name, lenient=self.lenient, fill=self.fill):
            if isinstance(document, ForeignInputError):
                found.passed.append(document)
                continue
            if isinstance(document, InputError):
                found.unreadable.append(document)
                continue
            source = document.source
            for one in every([document]):
                if not isinstance(one, Found):
                    found.others += 1
                    continue
                open_ += _open(one)
                findings += [_numbered(finding, number) for finding in self._object(one)]
                number += 1
        if source is not None:
            findings = _told(source, findings, open_)
            notes, operations = tuple(found.notes[noted:]), frozenset(one.operation for one in found.checked[checked:])
            kept, suppressed = suppress(
                source, findings, Heard(notes, operations, self.settings.profile, self.settings.line, self.settings.schema)
            )
            found.suppressed += [one for one in suppressed if self.choice.takes(one.finding.rule, one.finding.code)]
            self._weigh(kept)

    def result(self) -> Result:
        """Everything, sorted; asked for once, when all files are done."""
        result = self._found.result()
        if len(result.checked) < 2:
            return result
        from dynamo_webhooks.cli.check.same import duplicates

        for one in duplicates(result.checked):
            reason = reason_for(one)
            if not reason:
                self._weigh([one])
            elif self.choice.takes(one.rule, one.code):
                self._found.suppressed.append(Suppressed(one, COMMENT, reason))
        return self._found.result()

    def _weigh(self, findings: list[Reported]) -> None:
        """Keeps what flags and project ask for, at the level that the project gives it; a fault of ours is always told."""
        choice = self.choice
        for one in findings:
            if one.level == FAULT or choice.takes(one.rule, one.code):
                self._found.findings.append(choice.weighed(one))
            elif choice.asks(one.rule, one.code):
                self._found.suppressed.append(Suppressed(one, PROJECT, choice.why_off(one.rule)))

    def _object(self, found: Found) -> list[Reported]:
        past = self._past(found)
        if isinstance(past, InputError):
            self._found.unreadable.append(past)
            return []
        operation = UPDATE if past.object is not None else _OPERATIONS[self.operation]
        source, line = found.document.source, found.document.position(()).line
        self._found.checked.append(Checked(source, line, found.identity, operation, _name(found)))
        if past.applied is not None:
            found.document.data = past.applied
        if self.answering:
            from dynamo_webhooks.cli.check.answer import answered

            self._found.answers.append(_masked(answered(found, operation, past.object, self.settings), source))
        outcome: Outcome = check_object(found, operation, past.object, self.settings)
        unsure = [NotEvaluated("updates", "", source, line, found.identity, past.why, "")] if past.why else []
        self._found.notes += [note for note in (*unsure, *outcome.not_evaluated) if self.choice.takes(note.rule, note.code)]
        return outcome.findings + (_staying(found, past.moved) if past.moved is not None else [])

    def _past(self, found: Found) -> Past | InputError:
        """What was stored before, where the operation asks for that: `auto` is an update where there is an old object."""
        if self.old is None or not found.known or self.operation not in (AUTO, "update"):
            return Past()
        return self.old.past(found, self.settings.line)


def _numbered(finding: Reported, number: int) -> Reported:
    """The finding, whose edit knows which object of the file it is for."""
    return finding if finding.edit is None else finding._replace(edit=finding.edit._replace(number=number))


def _name(found: Found) -> Position | None:
    """Where the name of an object stands, which one without a name of its own has not."""
    metadata = found.data.get("metadata")
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str)
    return found.document.value_position(("metadata", "name")) if named else None


def _open(found: Found) -> list[Open]:
    """The placeholders that an object holds; asked before it is checked, which changes it."""
    if not any(map(found.document.source.holds, _MARKS)):
        return []
    from dynamo_webhooks.cli.check.placeholders import held

    return held(found.document.source, found)


def _told(source: Source, findings: list[Reported], open_: list[Open]) -> list[Reported]:
    """The findings of one text, with one for all its placeholders, and without the values that those were given."""
    if any(map(source.holds, _MARKS)):
        from dynamo_webhooks.cli.check.placeholders import merged

        findings = merged(source, findings, open_)
    fill = source.fill
    if fill is None:
        return findings
    return [one._replace(message=fill.masked(one.message, source.text), fix=fill.masked(one.fix, source.text)) for one in findings]


def _masked(answer: Answer, source: Source) -> Answer:
    fill = source.fill
    if fill is None:
        return answer
    causes = tuple((field, fill.masked(message, source.text)) for field, message in answer.causes)
    warnings = tuple(fill.masked(warning, source.text) for warning in answer.warnings)
    return answer._replace(message=fill.masked(answer.message, source.text), warnings=warnings, causes=causes)


def _staying(found: Found, old: Fields) -> list[Reported]:
    """What stays of the old manifest when its version changes."""
    from dynamo_webhooks.cli.check.moved import stays

    document, made = found.document, []
    for path, text in stays(old, found.data):
        told = [shortened(words, LONGEST) for words in (render(path), text)]
        made.append(own(STAYS_AFTER_MOVE, WARNING, CONVERSION, document.source, document.position(path), found.identity, *told))
    return made


def _standard_input(name: str) -> Source | InputError:
    try:
        return Source(name or STDIN, load_text(STDIN, name))
    except InputError as error:
        return error
