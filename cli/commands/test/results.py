"""Compares `default` and `convert` cases with their expected results, in a file beside the case or at its end."""

import json
from typing import Final, NamedTuple

from ....api.line import Line
from ....api.paths import format_path
from ....api.schema import whole_schema
from ....api.wording import shorten
from ....conversion.kinds import KINDS
from ....policies.review import Fields
from ...console.exits import UsageError
from ...files.read import load_text
from ...objects.forms import FormError, convert, decode_manifest
from ...objects.manifest import Manifest
from ...objects.stored import load_stored
from ...objects.text_edits import replace_objects
from ...rewrite.emit import emit_json, emit_yaml
from ...rewrite.rewrite import NotWrittenError
from ...yaml.load import InputError
from ..convert.served import leave_out_marks
from ..default.run import DefaultsRequest, default_object
from ..diff.compare import ADDED, ORDER, REMOVED, FieldChange, compare_objects, other_version
from ..diff.secrets import mask_secrets
from .files import CONVERT, load_case_objects
from .verdict import CaseRequest, CaseVerdict

MAX_LINE_CHARACTERS: Final = 300


class _Expected(NamedTuple):
    objects: list[Manifest]
    file: str
    text: str
    behind: bool  # in the case's own file, behind the object


def judge(question: CaseRequest) -> CaseVerdict:
    """Runs one case."""
    case = question.case
    try:
        manifests = load_case_objects(case.file, question.text)
        expected = _expected(question, manifests)
        results, notes = _results(question, manifests[:1] if expected.behind else manifests, expected)
    except (InputError, UsageError) as error:
        return CaseVerdict(case, str(error).removeprefix("--old "))
    lines = [line for wanted, result in zip(expected.objects, results, strict=False) for line in _difference(wanted, result)]
    failure = ""
    if not expected.objects:
        failure = f"has no expected result: write {case.expected_path}, or let --update write it"
    elif len(expected.objects) != len(results):
        failure = f"gives {len(results)} objects, and {len(expected.objects)} are expected in {expected.file}"
    elif lines:
        failure = f"the result is not the one in {expected.file}"
    update = _update(expected, results) if failure else ()
    return CaseVerdict(case, failure, tuple(shorten(line, MAX_LINE_CHARACTERS) for line in lines), notes, update)


def _expected(question: CaseRequest, manifests: list[Manifest]) -> _Expected:
    """Raises: InputError, UsageError."""
    case = question.case
    if case.expected is not None:
        text = load_text(case.expected)
        return _Expected(load_case_objects(case.expected, text), case.expected, text, behind=False)
    if case.sort != CONVERT and len(manifests) == 2 and manifests[0].identity == manifests[1].identity:
        return _Expected(manifests[1:], case.file, question.text, behind=True)
    return _Expected([], case.expected_path, "", behind=False)


def _results(question: CaseRequest, manifests: list[Manifest], expected: _Expected) -> tuple[list[Fields], tuple[str, ...]]:
    """The outcomes of the objects, and the defaults that couldn't be evaluated. Raises: UsageError."""
    server = question.server
    if question.case.sort == CONVERT:
        wanted = [manifest.version for manifest in expected.objects]
        wanted += [other_version(manifest.identity.kind, manifest.version) for manifest in manifests[len(wanted) :]]
        return [_converted(manifest, version, server.line) for manifest, version in zip(manifests, wanted, strict=False)], ()
    old = load_stored([question.case.old]) if question.case.old else None
    options = DefaultsRequest(server, "auto", old)
    done = [default_object(manifest, options) for manifest in manifests]
    for result in done:
        if result.failure:
            raise UsageError(f"{result.manifest.identity}: {result.failure}")
    idle = ((finding, f"the fact {finding.fact} is not known" if finding.fact else finding.text) for each in done for finding in each.idle)
    notes = dict.fromkeys(f"{finding.rule.name} is not evaluated: {reason}" for finding, reason in idle)
    return [defaulted.object for defaulted in done], tuple(notes)


def _converted(manifest: Manifest, version: str, line: Line) -> Fields:
    try:
        decode_manifest(manifest, line)
        if manifest.identity.kind not in KINDS:
            raise UsageError(f"{manifest.identity}: has one version, so there is nothing to convert")
        return leave_out_marks(convert(manifest.data, version, line))  # as the command `convert` writes it
    except FormError as error:
        raise UsageError(f"{manifest.identity}: {error}") from None


def _difference(expected: Manifest, result: Fields) -> list[str]:
    kind, version = expected.identity.kind, expected.version
    schema = whole_schema(kind, version) if expected.known else None
    wanted = leave_out_marks(expected.data) if kind in KINDS else expected.data
    return [_line(change) for change in compare_objects(wanted, result, schema)]


def _line(change: FieldChange) -> str:
    field = format_path(change.path)
    values = (mask_secrets(value, change.path, secret=change.secret) for value in (change.before, change.after))
    before, after = (json.dumps(value, ensure_ascii=False, default=str) for value in values)
    if change.what == REMOVED:
        return f"- {field}: {before}"
    if change.what == ADDED:
        return f"+ {field}: {after}"
    what = "the order " if change.what == ORDER else ""
    return f"~ {field}: expected {what}{before}, found {after}"


def _update(expected: _Expected, results: list[Fields]) -> tuple[tuple[str, str], ...]:
    """The file of expected results with the actual ones; the rest of it is kept. Empty if that can't be written."""
    try:
        if expected.behind or len(expected.objects) == len(results):
            wanted = [None, *results] if expected.behind else results
            return ((expected.file, replace_objects(expected.file, expected.text, wanted).text),)
    except NotWrittenError:
        return ()
    if expected.file.endswith(".json"):
        return ((expected.file, emit_json(results[0] if len(results) == 1 else {"apiVersion": "v1", "kind": "List", "items": results})),)
    return ((expected.file, "---\n".join(emit_yaml(result) for result in results)),)
