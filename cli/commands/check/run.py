"""Reads all sources, takes every object through the pipeline and gathers the result. Flags and printing live in the command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ....api.paths import format_path, lookup
from ....api.wording import count_of, escape_unprintable, shorten
from ....policies.checks import STAYS_AFTER_MOVE
from ....policies.review import CREATE, DELETE, UPDATE, Fields
from ...console.output import write_stderr
from ...console.progress import Progress
from ...files.budget import limit_cpu
from ...files.documents import read_documents
from ...files.read import STDIN
from ...objects.manifest import Identity, Manifest, set_namespace, unfold_all
from ...objects.stored import StoredObject, StoredObjects
from ...validation.finding import MAX_TEXT_CHARACTERS, LocatedFinding, NotEvaluated, ValidationOutcome, report_own
from ...validation.levels import CONVERSION, FAULT, WARNING
from ...validation.pipeline import ValidationSettings, check_object
from ...yaml.errors import ForeignInputError
from ...yaml.load import InputError, Source
from .result import (
    COMMENT,
    PROJECT,
    CheckedObject,
    CheckResult,
    SuppressedFinding,
    find_duplicates,
    join_results,
    make_empty_result,
    sort_result,
)
from .selection import RuleSelection
from .suppress import RuleCoverage, find_reason, suppress

Item: TypeAlias = str | Source | InputError  # a file by its name, a text that is no file, or why one can't be read
AUTO = "auto"
_NAME = ("metadata", "name")
MIN_FILES_FOR_ORJSON = 500  # fewer take less time to check without orjson than its import takes
_OPERATIONS = {AUTO: CREATE, "create": CREATE, "update": UPDATE, "delete": DELETE}


class CheckRun:
    """Checks files one after the other, and gathers what all of them give."""

    def __init__(
        self,
        settings: ValidationSettings,
        selection: RuleSelection,
        operation: str,
        old: StoredObjects | None,
        *,
        answering: bool = False,
        lenient: bool = False,
    ) -> None:
        """`answering` also asks what a server would answer to each write.

        `lenient` passes over what can't be read in files that name our group nowhere.
        """
        self.settings, self.selection = settings, selection
        self.operation = operation
        self.old = old
        self.answering = answering
        self.lenient = lenient
        self._result = make_empty_result()  # in the order in which files are checked
        self._others = 0

    def check_files(self, files: Sequence[Item], stdin_name: str, *, tell: bool = False) -> CheckResult:
        """Check all files; `tell` names each on stderr. Many files are checked in several processes where none needs what others found."""
        if self.settings.judged and len(files) >= MIN_FILES_FOR_ORJSON:
            import orjson  # noqa: F401 - where it is loaded, conversion compares by it

        def take_all(start: int, share: Sequence[Item]) -> tuple[CheckResult, int]:
            self._result, self._others = make_empty_result(), 0
            for number, file in enumerate(share, 1):
                if tell:
                    write_stderr(f"reading {escape_unprintable(file if isinstance(file, str) else file.name)}")
                self.check_file(file, stdin_name)
                done[start], findings[start] = number, len(self._result.findings)
                progress.tick()
            return self._result, self._others

        alone = self.old is None and self.settings.user_rules is None and not tell
        shared = alone and len(files) >= 2 * MIN_FILES_FOR_ORJSON
        # by the place of a share's first file; other processes add to them
        done, findings = (_zeros(len(files), shared=shared) for _ in range(2))
        with Progress(lambda: f"{sum(done)} of {count_of(len(files), 'file')} checked, {count_of(sum(findings), 'finding')}") as progress:
            if not shared:
                take_all(0, files)
                return self.result()
            from .processes import run_in_processes

            shares = run_in_processes(take_all, files, MIN_FILES_FOR_ORJSON, progress.tick)
        self._result, self._others = join_results([part for part, _ in shares]), sum(others for _, others in shares)
        return self.result()

    def check_file(self, file: Item, stdin_name: str) -> None:
        """Checks all objects of one file; what can't be read is remembered, and the rest is checked all the same."""
        name = stdin_name if file == STDIN and stdin_name else file if isinstance(file, str) else file.name
        try:
            with limit_cpu(name):
                self._check_file(file, stdin_name)
        except InputError as error:
            self._result.unreadable.append(error)

    def _check_file(self, file: Item, stdin_name: str) -> None:
        findings: list[LocatedFinding] = []
        source: Source | None = None
        result = self._result
        number = 0
        noted, checked = len(result.not_evaluated), len(result.checked)
        for document in read_documents(file, stdin_name, lenient=self.lenient):
            if isinstance(document, InputError):
                (result.passed if isinstance(document, ForeignInputError) else result.unreadable).append(document)
                continue
            source = document.source
            for written in unfold_all([document]):
                if not isinstance(written, Manifest):
                    self._others += 1
                    continue
                manifest = set_namespace(written, self.settings.namespace)
                located = self._object(manifest, written.identity)  # an edit knows which object of the file it is for
                findings += [each._replace(edit=each.edit and each.edit._replace(number=number)) for each in located]
                number += 1
        if source is not None:
            notes, operations = tuple(result.not_evaluated[noted:]), frozenset(obj.operation for obj in result.checked[checked:])
            kept, suppressed = suppress(source, findings, RuleCoverage(notes, operations, self.settings.line, self.settings.schema))
            result.suppressed.extend(
                suppression for suppression in suppressed if self.selection.includes(suppression.finding.rule, suppression.finding.code)
            )
            self._add_findings(kept)

    def result(self) -> CheckResult:
        """Everything, sorted; asked for once, when all files are done."""
        for finding in find_duplicates(sort_result(self._result).checked):
            reason = find_reason(finding)
            if not reason:
                self._add_findings([finding])
            elif self.selection.includes(finding.rule, finding.code):
                self._result.suppressed.append(SuppressedFinding(finding, COMMENT, reason))
        return sort_result(self._result._replace(others=self._others))

    def _add_findings(self, findings: list[LocatedFinding]) -> None:
        """Keep findings that flags and project select, at the project's level; internal errors are always kept."""
        selection = self.selection
        for finding in findings:
            if finding.level == FAULT or selection.includes(finding.rule, finding.code):
                self._result.findings.append(selection.apply_severity(finding))
            elif selection.is_requested(finding.rule, finding.code):
                self._result.suppressed.append(SuppressedFinding(finding, PROJECT, selection.explain_off(finding.rule)))

    def _object(self, manifest: Manifest, written: Identity) -> list[LocatedFinding]:
        past = self._find_stored(manifest, written)
        if isinstance(past, InputError):
            self._result.unreadable.append(past)
            return []
        operation = UPDATE if past.object is not None else _OPERATIONS[self.operation]
        source, line = manifest.document.source, manifest.document.position(()).line
        name = manifest.document.value_position(_NAME) if isinstance(lookup(manifest.data, _NAME), str) else None
        self._result.checked.append(CheckedObject(source, line, manifest.identity, operation, name))
        if past.applied is not None:
            manifest.document.data = past.applied
        settings = self.settings._replace(server_side=past.server_side, in_cluster=past.in_cluster)
        if self.answering:
            from ...validation.server_response import simulate_server

            self._result.answers.append(simulate_server(manifest, operation, past.object, settings))
        outcome = _checked(manifest, operation, past.object, settings)
        unsure = [NotEvaluated("updates", "", source, line, manifest.identity, past.reason, "")] if past.reason else []
        self._result.not_evaluated.extend(
            note for note in (*unsure, *outcome.not_evaluated) if self.selection.includes(note.rule, note.code)
        )
        staying = _staying(manifest, past.original) if past.original is not None else []
        return outcome.findings + staying

    def _find_stored(self, manifest: Manifest, written: Identity) -> StoredObject | InputError:
        """The stored object, if the operation needs it: `auto` is an update if there is an old object.

        Files with stored objects may leave the namespace out, too.
        """
        if self.old is None or not manifest.known or self.operation not in (AUTO, "update"):
            return StoredObject()
        past = self.old.find_stored(manifest, self.settings.line)
        if manifest.identity == written or self.old.has_namespaces or (isinstance(past, StoredObject) and past.object is not None):
            return past
        return self.old.find_stored(manifest._replace(identity=written), self.settings.line)


def _zeros(count: int, *, shared: bool) -> memoryview[int]:
    """Numbers that forked processes share, if they are to."""
    size = 4 * max(1, count)
    if shared:
        import mmap

        return memoryview(mmap.mmap(-1, size)).cast("I")
    return memoryview(bytearray(size)).cast("I")


def _checked(manifest: Manifest, operation: str, old: Fields | None, settings: ValidationSettings) -> ValidationOutcome:
    """Returns the findings and notes of an object, with or without placeholders: none are in a text without their marks."""
    if any(map(manifest.document.source.holds, ("$", "<", "{{"))):
        from .placeholders import check_unfilled

        return check_unfilled(manifest, operation, old, settings)
    return check_object(manifest, operation, old, settings)


def _staying(manifest: Manifest, old: Fields) -> list[LocatedFinding]:
    """Findings about fields of the old manifest that stay when its version changes."""
    from .version_change import list_retained

    document, made = manifest.document, []
    for path, text in list_retained(old, manifest.data):
        texts = [shorten(words, MAX_TEXT_CHARACTERS) for words in (format_path(path), text)]
        made.append(report_own(STAYS_AFTER_MOVE, WARNING, CONVERSION, document.source, document.position(path), manifest.identity, *texts))
    return made
