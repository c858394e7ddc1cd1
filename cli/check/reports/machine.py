"""The reports for programs, of stable bytes: one JSON document, or one JSON object a line. Fields are only ever added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.objects import Identity
from dynamo_webhooks.cli.check.record import Reported
from dynamo_webhooks.cli.check.result import Result
from dynamo_webhooks.cli.escaping import encoded

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.answer import Answer
    from dynamo_webhooks.cli.yaml.errors import InputError

FORMAT: Final = 1


def document(result: Result, code: int) -> str:
    """One JSON document with everything."""
    whole = {
        "format": FORMAT,
        "findings": [_finding(finding) for finding in result.findings],
        "notEvaluated": _notes(result),
        "unreadable": _unreadable(result.unreadable),
        "suppressed": _suppressed(result),
        "answers": [_answer(answer) for answer in result.answers],
        "unreachable": result.unreachable,
        "passedOver": _unreadable(result.passed),
        "summary": _summary(result, code),
    }
    return encoded(whole, orjson.OPT_INDENT_2) + "\n"


def lines(result: Result, code: int) -> str:
    """One JSON object a line, each with its `type`; the summary comes last."""
    rows = [
        *({"type": "finding", **_finding(finding)} for finding in result.findings),
        *({"type": "notEvaluated", **row} for row in _notes(result)),
        *({"type": "unreadable", **row} for row in _unreadable(result.unreadable)),
        *({"type": "suppressed", **row} for row in _suppressed(result)),
        *({"type": "answer", **_answer(answer)} for answer in result.answers),
        *({"type": "unreachable", "message": sentence} for sentence in result.unreachable),
        *({"type": "passedOver", **row} for row in _unreadable(result.passed)),
        {"type": "summary", **_summary(result, code)},
    ]
    return "".join(encoded(row, 0) + "\n" for row in rows)


def _finding(finding: Reported) -> dict[str, Any]:
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
        "object": _object(finding.identity),
        "message": finding.message,
        "fix": finding.fix,
        **({"also": [one._asdict() for one in finding.also]} if finding.also else {}),
    }


def _suppressed(result: Result) -> list[dict[str, Any]]:
    return [{**_finding(one.finding), "by": one.by, "reason": one.reason} for one in result.suppressed]


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "file": answer.source.name,
        "line": answer.line,
        "object": _object(answer.identity),
        "operation": answer.operation,
        "status": answer.status,
        "reason": answer.reason,
        "message": answer.message,
        "stage": answer.stage,
        "accepted": answer.accepted,
        "warnings": list(answer.warnings),
        "printed": answer.told,
    }


def _notes(result: Result) -> list[dict[str, Any]]:
    return [
        {
            "file": note.source.name,
            "line": note.line,
            "rule": note.rule,
            "code": note.code,
            "object": _object(note.identity),
            "reason": note.reason,
            "flag": note.flag,
        }
        for note in result.not_evaluated
    ]


def _unreadable(errors: list[InputError]) -> list[dict[str, Any]]:
    return [{"file": error.name, "line": error.line, "column": error.column, "message": error.text} for error in errors]


def _object(identity: Identity | None) -> dict[str, str] | None:
    return None if identity is None else {"kind": identity.kind, "namespace": identity.namespace, "name": identity.name}


def _summary(result: Result, code: int) -> dict[str, Any]:
    return {
        "objects": len(result.checked),
        "others": result.others,
        "errors": result.count(record.ERROR),
        "warnings": result.count(record.WARNING),
        "faults": result.count(record.FAULT),
        "notEvaluated": len(result.not_evaluated),
        "suppressed": len(result.suppressed),
        "unreadable": len(result.unreadable),
        "exit": code,
        **({"operatorLine": result.line.line, "operatorLineFrom": result.line.told} if result.line is not None else {}),
    }
