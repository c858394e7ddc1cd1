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
from ...explain.rule import find, markdown
from ..baseline import name_findings
from ..result import COMMENT, CheckResult, SuppressedFinding
from .shared import find_report_root, format_reason, make_uri

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT: Final = "dynamoWebhooks/v1"
# what ends a line for YAML, so that a viewer counts as we do
_LINE_ENDS: Final = ["\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"]
_FAILED: Final = (exits.BUG, exits.USAGE, exits.UNREACHABLE, exits.UNREADABLE)

Data = dict[str, Any]


def document(result: CheckResult, code: int, folder: str = "") -> str:
    """The whole log; `folder` is where file names are relative to, by default `find_report_root`."""
    return encode_json(_Log(result, folder or find_report_root()).build(code), orjson.OPT_APPEND_NEWLINE)


class _Log:
    """One log in the making: each file and rule gets its index when it is first named."""

    def __init__(self, result: CheckResult, folder: str) -> None:
        self.result = result
        self.folder = folder
        self.rules: dict[str, tuple[int, str]] = {}  # the index and code of each
        self.artifacts: dict[str, Data] = {}

    def build(self, exit_code: int) -> Data:
        for obj in self.result.checked:
            self._artifact(obj.source.name)
        # an internal error is no result, but counts among equal findings, as in a baseline
        results = [self._result(finding, by, name) for name, finding, by in name_findings(self.result) if finding.level != FAULT]
        invocation = self._invocation(exit_code)
        rules = [_rule(name, code, self.result.site) for name, (_, code) in self.rules.items()]
        run = {
            "tool": {"driver": {"name": "dynamo-webhooks", "version": installed_version(), "rules": rules}},
            "invocations": [invocation],
            "artifacts": [
                {"location": {"uri": artifact["uri"], **({"description": {"text": "standard input"}} if name == STDIN else {})}}
                for name, artifact in self.artifacts.items()
            ],
            "columnKind": "unicodeCodePoints",
            "newlineSequences": _LINE_ENDS,
            "results": results,
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def _result(self, finding: LocatedFinding, by: SuppressedFinding | None, name: str) -> Data:
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
        return {"physicalLocation": {"artifactLocation": self._artifact(name), **({"region": region} if region else {})}}

    def _artifact(self, name: str) -> Data:
        if name not in self.artifacts:
            self.artifacts[name] = {"uri": make_uri(name, self.folder), "index": len(self.artifacts)}
        return self.artifacts[name]

    def _index(self, rule: str, code: str) -> int:
        return self.rules.setdefault(rule, (len(self.rules), code))[0]

    def _invocation(self, code: int) -> Data:
        execution: list[Data] = []
        for error in self.result.unreadable:
            region = {"startLine": error.line, "startColumn": max(error.column, 1)} if error.line else None
            execution.append(self._notification("error", error.text, [self._physical(error.name, region)] if error.name else []))
        execution += (self._notification("error", sentence, []) for sentence in self.result.unreachable)
        faults = (finding for finding in self.result.findings if finding.level == FAULT)
        execution += (
            self._notification("error", finding.message, [self._location(finding)], finding.rule, finding.code) for finding in faults
        )
        return {
            "executionSuccessful": code not in _FAILED,
            "exitCode": code,
            "toolExecutionNotifications": execution,
            "toolConfigurationNotifications": [self._unknown(note) for note in self.result.not_evaluated],
        }

    def _unknown(self, note: NotEvaluated) -> Data:
        text = f"{note.rule} was not evaluated for {note.identity}: {format_reason(note)}"
        rule = note.rule if note.code else ""  # the policies as a whole are no rule
        return self._notification("note", text, [self._physical(note.source.name, {"startLine": note.line})], rule, note.code)

    def _notification(self, level: str, text: str, locations: list[Data], rule: str = "", code: str = "") -> Data:
        made: Data = {"level": level, "message": {"text": escape_unprintable_lines(text)}}
        made |= {"locations": locations} if locations else {}
        return made | ({"associatedRule": {"id": rule, "index": self._index(rule, code)}} if rule else {})


def _rule(name: str, code: str, site: str) -> Data:
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
