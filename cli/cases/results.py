"""Holds `default` and `convert` cases to their expected results, which stand in a file beside the case or behind it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import api_version
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.schema import whole_schema
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.cases.files import CONVERT
from dynamo_webhooks.cli.cases.given import given
from dynamo_webhooks.cli.cases.verdict import Verdict
from dynamo_webhooks.cli.check.old import load_old
from dynamo_webhooks.cli.check.stored import NotStoredError, stored
from dynamo_webhooks.cli.default.run import Asked, default_object
from dynamo_webhooks.cli.default.texts import with_objects
from dynamo_webhooks.cli.diff.compare import ADDED, ORDER, REMOVED, compare
from dynamo_webhooks.cli.diff.form import other_version
from dynamo_webhooks.cli.diff.secrets import masked
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.files import load_text
from dynamo_webhooks.cli.rewrite.fresh import json_text, yaml_text
from dynamo_webhooks.cli.rewrite.rewritten import NotWrittenError
from dynamo_webhooks.cli.yaml.load import InputError
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.review import line_of

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.cases.verdict import Question
    from dynamo_webhooks.cli.check.objects import Found
    from dynamo_webhooks.cli.diff.compare import Change
    from dynamo_webhooks.policies.finding import Finding
    from dynamo_webhooks.policies.review import Fields

LONGEST: Final = 300  # characters of one line


class _Expected(NamedTuple):
    objects: list[Found]
    file: str
    text: str
    behind: bool  # in the case's own file, behind the object


def judge(question: Question) -> Verdict:
    """Runs one case."""
    case = question.case
    try:
        found = given(case.file, question.text)
        expected = _expected(question, found)
        results, notes = _results(question, found[:1] if expected.behind else found, expected)
    except (InputError, UsageError) as error:
        return Verdict(case, str(error).removeprefix("--old "))
    lines = [line for one, result in zip(expected.objects, results, strict=False) for line in _difference(one, result)]
    failure = ""
    if not expected.objects:
        failure = f"has no expected result: write {case.place_of_expected}, or let --update write it"
    elif len(expected.objects) != len(results):
        failure = f"gives {len(results)} objects, and {len(expected.objects)} are expected in {expected.file}"
    elif lines:
        failure = f"the result is not the one in {expected.file}"
    update = _update(expected, results) if failure else ()
    return Verdict(case, failure, tuple(shortened(line, LONGEST) for line in lines), notes, update)


def _expected(question: Question, found: list[Found]) -> _Expected:
    """Raises: InputError, UsageError."""
    case = question.case
    if case.expected is not None:
        text = load_text(case.expected)
        return _Expected(given(case.expected, text), case.expected, text, behind=False)
    if case.sort != CONVERT and len(found) == 2 and found[0].identity == found[1].identity:
        return _Expected(found[1:], case.file, question.text, behind=True)
    return _Expected([], case.place_of_expected, "", behind=False)


def _results(question: Question, found: list[Found], expected: _Expected) -> tuple[list[Fields], tuple[str, ...]]:
    """What becomes of the objects, and the defaults that could not be asked. Raises: UsageError."""
    if question.case.sort == CONVERT:
        wanted = [one.version for one in expected.objects]
        wanted += [other_version(one.identity.kind, one.version) for one in found[len(wanted) :]]
        line = line_of(question.facts, question.asked.profile)
        return [_converted(one, version, line) for one, version in zip(found, wanted, strict=False)], ()
    old = load_old([question.case.old]) if question.case.old else None
    asked = Asked(question.facts, question.asked.profile, "auto", old)
    done = [default_object(one, asked) for one in found]
    for one in done:
        if one.failure:
            raise UsageError(f"{one.found.identity}: {one.failure}")
    notes = (f"{one.rule.name} is not evaluated: {_reason(one)}" for each in done for one in each.idle)
    return [one.object for one in done], tuple(dict.fromkeys(notes))


def _reason(finding: Finding) -> str:
    return f"the fact {finding.fact} is not known" if finding.fact else finding.text


def _converted(found: Found, version: str, line: Line) -> Fields:
    try:
        stored(found, line)
        if found.identity.kind not in KINDS:
            raise UsageError(f"{found.identity}: has one version, so there is nothing to convert")
        return convert_object(found.data, target(api_version(version), line), whole=True).object
    except NotStoredError as error:
        raise UsageError(f"{found.identity}: {error}") from None
    except ConversionError as error:
        raise UsageError(f"{found.identity}: {render(error.path)}: {error.reason}") from None


def _difference(expected: Found, result: Fields) -> list[str]:
    kind, version = expected.identity.kind, expected.version
    schema = whole_schema(kind, version) if expected.known else None
    return [_line(change) for change in compare(expected.data, result, schema)]


def _line(change: Change) -> str:
    field = render(change.path)
    before, after = (_shown(masked(value, change.path, secret=change.secret)) for value in (change.before, change.after))
    if change.what == REMOVED:
        return f"- {field}: {before}"
    if change.what == ADDED:
        return f"+ {field}: {after}"
    what = "the order " if change.what == ORDER else ""
    return f"~ {field}: expected {what}{before}, found {after}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _update(expected: _Expected, results: list[Fields]) -> tuple[tuple[str, str], ...]:
    """The file of the expected results with what is found; what else stands in it stays. Nothing where that can't be written."""
    same = len(expected.objects) == len(results)
    try:
        if expected.behind or same:
            wanted = [None, *results] if expected.behind else results
            return ((expected.file, with_objects(expected.file, expected.text, wanted).text),)
    except NotWrittenError:
        return ()
    if expected.file.endswith(".json"):
        return ((expected.file, json_text(results[0] if len(results) == 1 else {"apiVersion": "v1", "kind": "List", "items": results})),)
    return ((expected.file, "---\n".join(yaml_text(result) for result in results)),)
