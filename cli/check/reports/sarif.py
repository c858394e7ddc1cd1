"""The report in SARIF 2.1.0, which code scanning reads: one run, with only those rules that something was found for.

Findings are results; what a comment or a baseline suppressed stands among them with its reason. What the run could not do is a
notification: inputs that can't be read and bugs of ours of its execution, rules without their facts of its configuration. Thirty
thousand findings are a common size, so the document is written without blanks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from dynamo_webhooks.api.wording import printable_lines
from dynamo_webhooks.cli import exits
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.fingerprint import fingerprints
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported
from dynamo_webhooks.cli.check.reports.notes import why
from dynamo_webhooks.cli.check.reports.paths import top, uri
from dynamo_webhooks.cli.check.result import COMMENT, Result, Suppressed
from dynamo_webhooks.cli.escaping import encoded
from dynamo_webhooks.cli.files import STDIN
from dynamo_webhooks.cli.yaml.errors import InputError

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT: Final = "dynamoWebhooks/v1"
# what ends a line for YAML, so that a viewer counts as we do
_LINE_ENDS: Final = ["\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"]
OWN_LEVELS: Final = {rule.name: rule.level for rule in record.OWN_RULES}
_FAILED: Final = (exits.BUG, exits.USAGE, exits.UNREACHABLE, exits.UNREADABLE)

Data = dict[str, Any]


def document(result: Result, code: int, folder: str = "") -> str:
    """The whole log; `folder` is where file names are relative to, by default what `top` says."""
    return encoded(_Log(result, folder or top()).whole(code), orjson.OPT_APPEND_NEWLINE)


class _Log:
    """One log in the making: each file and rule gets its index when it is first named."""

    def __init__(self, result: Result, folder: str) -> None:
        self.result = result
        self.folder = folder
        self.rules: dict[str, int] = {}
        self.codes: dict[str, str] = {}
        self.places: dict[str, Data] = {}

    def whole(self, code: int) -> Data:
        for one in self.result.checked:
            self._place(one.source.name)
        results = self._results()
        invocation = self._invocation(code)
        run = {
            "tool": {"driver": self._driver()},
            "invocations": [invocation],
            "artifacts": [_artifact(name, place) for name, place in self.places.items()],
            "columnKind": "unicodeCodePoints",
            "newlineSequences": _LINE_ENDS,
            "results": results,
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def _driver(self) -> Data:
        from dynamo_webhooks.cli.commands.version import installed

        version = installed()
        return {"name": "dynamo-webhooks", "version": version, "rules": [_rule(name, self.codes[name]) for name in self.rules]}

    def _results(self) -> list[Data]:
        kept = ((finding, None) for finding in self.result.findings)
        hidden = ((one.finding, one) for one in self.result.suppressed)
        both: list[tuple[Reported, Suppressed | None]] = sorted([*kept, *hidden], key=lambda pair: pair[0].order)
        names = fingerprints(finding for finding, _ in both)
        named = zip(both, names, strict=True)
        # a bug of ours is no result, but it counts among its equals, as in a baseline
        return [self._result(finding, by, name) for (finding, by), name in named if finding.level != record.FAULT]

    def _result(self, finding: Reported, by: Suppressed | None, name: str) -> Data:
        text = printable_lines(_ended(finding.about) + (f" Fix: {_ended(finding.fix)}" if finding.fix else ""))
        return {
            "ruleId": finding.rule,
            "ruleIndex": self._index(finding.rule, finding.code),
            "level": finding.level,
            "message": {"text": text},
            "locations": [self._location(finding)],
            "partialFingerprints": {FINGERPRINT: name},
            "suppressions": [] if by is None else [_suppression(by)],
            "properties": {"stage": finding.stage},
        }

    def _location(self, finding: Reported) -> Data:
        line, column, end = finding.position
        location = self._physical(finding.source.name, {"startLine": line, "startColumn": column, "endColumn": max(end, column)})
        logical = []
        if finding.identity is not None:
            about = str(finding.identity)
            logical.append({"fullyQualifiedName": about, "name": finding.identity.name, "kind": "object"})
            if finding.path:
                logical.append({"fullyQualifiedName": f"{about} {finding.path}", "name": finding.path, "kind": "property"})
        return {**location, "logicalLocations": logical}

    def _physical(self, name: str, region: Data | None) -> Data:
        physical: Data = {"artifactLocation": self._place(name)}
        if region is not None:
            physical["region"] = region
        return {"physicalLocation": physical}

    def _place(self, name: str) -> Data:
        place = self.places.get(name)
        if place is None:
            place = self.places[name] = {"uri": uri(name, self.folder), "index": len(self.places)}
        return place

    def _index(self, rule: str, code: str) -> int:
        self.codes.setdefault(rule, code)
        return self.rules.setdefault(rule, len(self.rules))

    def _invocation(self, code: int) -> Data:
        faults = [finding for finding in self.result.findings if finding.level == record.FAULT]
        execution = [
            *(self._unread(error) for error in self.result.unreadable),
            *({"level": "error", "message": {"text": sentence}} for sentence in self.result.unreachable),
            *(self._fault(finding) for finding in faults),
        ]
        return {
            "executionSuccessful": code not in _FAILED,
            "exitCode": code,
            "toolExecutionNotifications": execution,
            "toolConfigurationNotifications": [self._unknown(note) for note in self.result.not_evaluated],
        }

    def _unread(self, error: InputError) -> Data:
        notification: Data = {"level": "error", "message": {"text": printable_lines(error.text)}}
        if error.name:
            region = {"startLine": error.line, "startColumn": max(error.column, 1)} if error.line else None
            notification["locations"] = [self._physical(error.name, region)]
        return notification

    def _fault(self, finding: Reported) -> Data:
        return {
            "level": "error",
            "message": {"text": printable_lines(finding.message)},
            "locations": [self._location(finding)],
            "associatedRule": {"id": finding.rule, "index": self._index(finding.rule, finding.code)},
        }

    def _unknown(self, note: NotEvaluated) -> Data:
        notification: Data = {
            "level": "note",
            "message": {"text": printable_lines(f"{note.rule} was not evaluated for {note.identity}: {why(note)}")},
            "locations": [self._physical(note.source.name, {"startLine": note.line})],
        }
        # the policies as a whole are no rule
        return (
            {**notification, "associatedRule": {"id": note.rule, "index": self._index(note.rule, note.code)}} if note.code else notification
        )


def _artifact(name: str, place: Data) -> Data:
    return {"location": {"uri": place["uri"], **({"description": {"text": "standard input"}} if name == STDIN else {})}}


def _suppression(by: Suppressed) -> Data:
    return {"kind": "inSource" if by.by == COMMENT else "external", "justification": by.reason}


def _rule(name: str, code: str) -> Data:
    from dynamo_webhooks.cli.explain.rule import find, markdown

    page = find(name)
    if page is None:  # a check without a page: its findings say everything
        return {"id": name, "properties": {"code": code}}
    return {
        "id": name,
        "shortDescription": {"text": page["title"]},
        "fullDescription": {"text": page["why"]},
        "help": {"text": _plain([page["why"], page["fix"]]), "markdown": markdown(page, examples=True)},
        "defaultConfiguration": {"level": OWN_LEVELS.get(name, page["level"])},
        "properties": {"code": code},
    }


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def _plain(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)
