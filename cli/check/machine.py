"""The reports for programs, of stable bytes: one JSON document, or one JSON object a line. Fields are only ever added."""

from __future__ import annotations

from typing import Any, Final

import orjson

from cli.check import record
from cli.check.objects import Identity
from cli.check.result import Result

FORMAT: Final = 1


def document(result: Result, code: int) -> str:
    """One JSON document with everything."""
    whole = {
        "format": FORMAT,
        "findings": _findings(result),
        "notEvaluated": _notes(result),
        "unreadable": _unreadable(result),
        "summary": _summary(result, code),
    }
    return _encoded(whole, orjson.OPT_INDENT_2) + "\n"


def lines(result: Result, code: int) -> str:
    """One JSON object a line, each with its `type`; the summary comes last."""
    rows = [
        *({"type": "finding", **row} for row in _findings(result)),
        *({"type": "notEvaluated", **row} for row in _notes(result)),
        *({"type": "unreadable", **row} for row in _unreadable(result)),
        {"type": "summary", **_summary(result, code)},
    ]
    return "".join(_encoded(row, 0) + "\n" for row in rows)


def _encoded(value: object, option: int) -> str:
    """Encodes what may hold a file name that is no Unicode text; such bytes are escaped."""
    try:
        return orjson.dumps(value, option=option).decode()
    except TypeError:
        return orjson.dumps(_escaped(value), option=option).decode()


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def _findings(result: Result) -> list[dict[str, Any]]:
    return [
        {
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
        }
        for finding in result.findings
    ]


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


def _unreadable(result: Result) -> list[dict[str, Any]]:
    return [{"file": error.name, "line": error.line, "column": error.column, "message": error.text} for error in result.unreadable]


def _object(identity: Identity | None) -> dict[str, str] | None:
    return None if identity is None else {"kind": identity.kind, "namespace": identity.namespace, "name": identity.name}


def _summary(result: Result, code: int) -> dict[str, int]:
    return {
        "objects": len(result.checked),
        "errors": result.count(record.ERROR),
        "warnings": result.count(record.WARNING),
        "faults": result.count(record.FAULT),
        "notEvaluated": len(result.not_evaluated),
        "suppressed": len(result.suppressed),
        "unreadable": len(result.unreadable),
        "exit": code,
    }
