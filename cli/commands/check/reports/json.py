"""The reports for programs, of stable bytes: one JSON document, or one JSON object a line. Fields are only ever added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from ....console.escaping import encode_json
from ....validation.finding import LocatedFinding, NotEvaluated
from ....validation.levels import ERROR, FAULT, WARNING
from ..result import CheckResult

if TYPE_CHECKING:
    from ....validation.server_response import ServerResponse

FORMAT: Final = 1
_TYPES: Final = {"findings": "finding", "answers": "answer"}  # of rows, where that is not the name of their list


def document(result: CheckResult, code: int) -> str:
    """One JSON document with everything."""
    return encode_json({"format": FORMAT, **_everything(result, code)}, orjson.OPT_INDENT_2) + "\n"


def lines(result: CheckResult, code: int) -> str:
    """One JSON object a line, each with its `type`; the summary comes last."""
    rows = ((name, row) for name, held in _everything(result, code).items() for row in (held if isinstance(held, list) else [held]))
    typed = ({"type": _TYPES.get(name, name), **(row if isinstance(row, dict) else {"message": row})} for name, row in rows)
    return "".join(encode_json(row, 0) + "\n" for row in typed)


def _everything(result: CheckResult, code: int) -> dict[str, Any]:
    return {
        "findings": [describe_finding(finding) for finding in result.findings],
        "notEvaluated": [_note(note) for note in result.not_evaluated],
        "unreadable": [error.as_data() for error in result.unreadable],
        "suppressed": [
            {**describe_finding(suppression.finding), "by": suppression.by, "reason": suppression.reason}
            for suppression in result.suppressed
        ],
        "answers": [_answer(answer) for answer in result.answers],
        "unreachable": result.unreachable,
        "passedOver": [error.as_data() for error in result.passed],
        "summary": _summary(result, code),
    }


def describe_finding(finding: LocatedFinding) -> dict[str, Any]:
    """A finding as data."""
    return {
        "file": finding.source.name,
        "line": finding.position.line,
        "column": finding.position.column,
        "endColumn": finding.position.end_column,
        "path": finding.path,
        "rule": finding.rule,
        "code": finding.code,
        "level": finding.level,
        "stage": finding.stage,
        "object": finding.identity and finding.identity._asdict(),
        "message": finding.message,
        "fix": finding.fix,
        **({"since": finding.since} if finding.since else {}),
        **({"also": [other._asdict() for other in finding.also]} if finding.also else {}),
    }


def _answer(answer: ServerResponse) -> dict[str, Any]:
    return {
        "file": answer.source.name,
        "line": answer.line,
        "object": answer.identity._asdict(),
        "operation": answer.operation,
        "status": answer.status,
        "reason": answer.reason,
        "message": answer.message,
        "stage": answer.stage,
        "accepted": answer.accepted,
        "warnings": list(answer.warnings),
        "printed": answer.kubectl_text,
    }


def _note(note: NotEvaluated) -> dict[str, Any]:
    return {
        "file": note.source.name,
        "line": note.line,
        "rule": note.rule,
        "code": note.code,
        "object": note.identity._asdict(),
        "reason": note.reason,
        "flag": note.flag,
    }


def _summary(result: CheckResult, code: int) -> dict[str, Any]:
    lines = [{"line": line.line, "from": line.origin} for line in result.lines]
    line = {"operatorLine": lines[0]["line"], "operatorLineFrom": lines[0]["from"]} if len(lines) == 1 else {}
    return {
        "objects": len(result.checked),
        "others": result.others,
        "errors": result.count(ERROR),
        "warnings": result.count(WARNING),
        "faults": result.count(FAULT),
        "notEvaluated": len(result.not_evaluated),
        "suppressed": len(result.suppressed),
        "unreadable": len(result.unreadable),
        "exit": code,
        **({"operatorLines": lines} if len(lines) > 1 else line),
    }
