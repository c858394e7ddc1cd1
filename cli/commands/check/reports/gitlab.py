"""The report in GitLab's Code Quality format, which a merge request shows beside its changes: one JSON array of issues.

GitLab compares the fingerprints of two branches, so one of a suppressed finding still counts among equal ones.
"""

import hashlib
from typing import Any, Final

import orjson

from .....api.wording import escape_unprintable_lines
from ....console.escaping import encode_json
from ....validation.levels import ERROR, FAULT, WARNING
from ..baseline import name_findings
from ..result import CheckResult
from .shared import find_report_root, make_relative

SEVERITIES: Final = {FAULT: "blocker", ERROR: "critical", WARNING: "minor"}
UNREADABLE: Final = "unreadable"  # the check of an input that can't be read


def document(result: CheckResult, folder: str = "") -> str:
    """The whole report; `folder` is the repository's, which paths are relative to."""
    folder = folder or find_report_root()
    issues = []
    for error in result.unreadable:
        if error.name:
            path = make_relative(error.name, folder)
            digest = hashlib.sha256(f"{UNREADABLE}:{path}:{error.text}".encode("utf-8", "surrogatepass")).hexdigest()
            issues.append(_issue(UNREADABLE, error.text, digest[:32], FAULT, path, max(error.line, 1)))
    for name, finding, by in name_findings(result):
        if by is None:
            text = (f"{finding.identity}: " if finding.identity else "") + (
                f"{finding.about.removesuffix('.')}. Fix: {finding.fix}" if finding.fix else finding.about
            )
            issues.append(
                _issue(finding.rule, text, name, finding.level, make_relative(finding.source.name, folder), finding.position.line)
            )
    return encode_json(issues, orjson.OPT_APPEND_NEWLINE)


def _issue(check: str, text: str, fingerprint: str, level: str, path: str, line: int) -> dict[str, Any]:
    return {
        "check_name": check,
        "description": escape_unprintable_lines(text),
        "fingerprint": fingerprint,
        "severity": SEVERITIES[level],
        "location": {"path": escape_unprintable_lines(path), "lines": {"begin": line}},
    }
