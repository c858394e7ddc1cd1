"""The report in GitLab's Code Quality format, which a merge request shows beside its changes: one JSON array of issues.

GitLab compares the fingerprints of two branches, so one of a suppressed finding still counts among equal ones.
"""

import hashlib
from typing import Any, Final

import orjson

from .....api.wording import escape_unprintable_lines
from ....console.escaping import encode_json
from ....validation.finding import LocatedFinding
from ....validation.levels import ERROR, FAULT, WARNING
from ....yaml.errors import InputError
from ..baseline import name_findings
from ..result import Result
from .shared import relative, report_root

SEVERITIES: Final = {FAULT: "blocker", ERROR: "critical", WARNING: "minor"}
UNREADABLE: Final = "unreadable"  # the check of an input that can't be read


def document(result: Result, folder: str = "") -> str:
    """The whole report; `folder` is the repository's, which paths are relative to."""
    folder = folder or report_root()
    issues = [_unread(error, relative(error.name, folder)) for error in result.unreadable if error.name]
    issues += [_issue(finding, name, folder) for name, finding, by in name_findings(result) if by is None]
    return encode_json(issues, orjson.OPT_APPEND_NEWLINE)


def _issue(finding: LocatedFinding, name: str, folder: str) -> dict[str, Any]:
    identity = f"{finding.identity}: " if finding.identity is not None else ""
    text = f"{identity}{finding.about}" + (f". Fix: {finding.fix}" if finding.fix else "")
    return _written(finding.rule, text, name, SEVERITIES[finding.level], relative(finding.source.name, folder), finding.position.line)


def _unread(error: InputError, path: str) -> dict[str, Any]:
    name = hashlib.sha256(f"{UNREADABLE}:{path}:{error.text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return _written(UNREADABLE, error.text, name, SEVERITIES[FAULT], path, max(error.line, 1))


def _written(check: str, text: str, fingerprint: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "check_name": check,
        "description": escape_unprintable_lines(text),
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": escape_unprintable_lines(path), "lines": {"begin": line}},
    }
