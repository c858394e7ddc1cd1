"""The report in SARIF 2.1.0, which code scanning reads: one run, with only those rules that something was found for.

Findings are results, including those that a comment or baseline suppressed, with the reason. Checks that could not run are notifications:
unreadable inputs and internal errors of its execution, rules without their facts of its configuration. Thirty thousand findings are a
common size, so the document is written without blanks.
"""

from typing import Any, Final

import orjson

from .....api.wording import escape_unprintable_lines, rule_address
from ....console import exits
from ....console.escaping import encode_json
from ....console.program import installed_version
from ....files.read import STDIN
from ....validation.finding import LocatedFinding, NotEvaluated
from ....validation.levels import FAULT
from ....yaml.errors import InputError
from ..fingerprint import fingerprints
from ..result import COMMENT, Result, Suppressed
from .shared import format_reason, report_root, uri

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT: Final = "dynamoWebhooks/v1"
# what ends a line for YAML, so that a viewer counts as we do
_LINE_ENDS: Final = ["\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"]
_FAILED: Final = (exits.BUG, exits.USAGE, exits.UNREACHABLE, exits.UNREADABLE)

Data = dict[str, Any]


def document(result: Result, code: int, folder: str = "") -> str:
    """The whole log; `folder` is where file names are relative to, by default what `top` says."""
    return encode_json(_Log(result, folder or report_root()).whole(code), orjson.OPT_APPEND_NEWLINE)


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
        rules = [_rule(name, self.codes[name], self.result.site) for name in self.rules]
        run = {
            "tool": {"driver": {"name": "dynamo-webhooks", "version": installed_version(), "rules": rules}},
            "invocations": [invocation],
            "artifacts": [
                {"location": {"uri": place["uri"], **({"description": {"text": "standard input"}} if name == STDIN else {})}}
                for name, place in self.places.items()
            ],
            "columnKind": "unicodeCodePoints",
            "newlineSequences": _LINE_ENDS,
            "results": results,
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def _results(self) -> list[Data]:
        both: list[tuple[LocatedFinding, Suppressed | None]] = [(finding, None) for finding in self.result.findings]
        both = sorted([*both, *((one.finding, one) for one in self.result.suppressed)], key=lambda pair: pair[0].order)
        named = zip(both, fingerprints(finding for finding, _ in both), strict=True)
        # an internal error is no result, but counts among equal findings, as in a baseline
        return [self._result(finding, by, name) for (finding, by), name in named if finding.level != FAULT]

    def _result(self, finding: LocatedFinding, by: Suppressed | None, name: str) -> Data:
        text = escape_unprintable_lines(_ended(finding.about) + (f" Fix: {_ended(finding.fix)}" if finding.fix else ""))
        return {
            "ruleId": finding.rule,
            "ruleIndex": self._index(finding.rule, finding.code),
            "level": finding.level,
            "message": {"text": text},
            "locations": [self._location(finding)],
            "partialFingerprints": {FINGERPRINT: name},
            "suppressions": [{"kind": "inSource" if by.by == COMMENT else "external", "justification": by.reason}] if by else [],
            "properties": {"stage": finding.stage},
        }

    def _location(self, finding: LocatedFinding) -> Data:
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
        return {"physicalLocation": {"artifactLocation": self._place(name), **({"region": region} if region is not None else {})}}

    def _place(self, name: str) -> Data:
        if name not in self.places:
            self.places[name] = {"uri": uri(name, self.folder), "index": len(self.places)}
        return self.places[name]

    def _index(self, rule: str, code: str) -> int:
        self.codes.setdefault(rule, code)
        return self.rules.setdefault(rule, len(self.rules))

    def _invocation(self, code: int) -> Data:
        execution = [
            *(self._unread(error) for error in self.result.unreadable),
            *({"level": "error", "message": {"text": sentence}} for sentence in self.result.unreachable),
            *(self._fault(finding) for finding in self.result.findings if finding.level == FAULT),
        ]
        return {
            "executionSuccessful": code not in _FAILED,
            "exitCode": code,
            "toolExecutionNotifications": execution,
            "toolConfigurationNotifications": [self._unknown(note) for note in self.result.not_evaluated],
        }

    def _unread(self, error: InputError) -> Data:
        notification: Data = {"level": "error", "message": {"text": escape_unprintable_lines(error.text)}}
        if error.name:
            region = {"startLine": error.line, "startColumn": max(error.column, 1)} if error.line else None
            notification["locations"] = [self._physical(error.name, region)]
        return notification

    def _fault(self, finding: LocatedFinding) -> Data:
        return {
            "level": "error",
            "message": {"text": escape_unprintable_lines(finding.message)},
            "locations": [self._location(finding)],
            "associatedRule": {"id": finding.rule, "index": self._index(finding.rule, finding.code)},
        }

    def _unknown(self, note: NotEvaluated) -> Data:
        notification: Data = {
            "level": "note",
            "message": {"text": escape_unprintable_lines(f"{note.rule} was not evaluated for {note.identity}: {format_reason(note)}")},
            "locations": [self._physical(note.source.name, {"startLine": note.line})],
        }
        if note.code:  # the policies as a whole are no rule
            notification["associatedRule"] = {"id": note.rule, "index": self._index(note.rule, note.code)}
        return notification


def _rule(name: str, code: str, site: str) -> Data:
    from ...explain.rule import find, markdown

    page = find(name)
    if page is None:  # a check without a page: its findings say everything
        return {"id": name, "properties": {"code": code}}
    return {
        "id": name,
        **({"helpUri": address} if (address := rule_address(site, name)) else {}),
        "shortDescription": {"text": page["title"]},
        "fullDescription": {"text": page["why"]},
        "help": {"text": "\n\n".join(filter(None, (page["why"], page["fix"]))), "markdown": markdown(page, examples=True)},
        "defaultConfiguration": {"level": page["level"]},
        "properties": {"code": code},
    }


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."
