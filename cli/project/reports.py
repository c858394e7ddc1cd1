"""The reports that a project file may name, and how to know an earlier one."""

# ruff: noqa: PTH123 - pathlib takes longer to import than a small file takes to check

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..console.exits import UsageError

# formats of reports, with the suffixes of their files
SUFFIXES: Final = {
    "text": (".txt", ".log"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "sarif": (".sarif", ".json"),
    "github": (".txt", ".log"),
    "junit": (".xml",),
    "gitlab": (".json",),
    "markdown": (".md",),
}
FORMATS: Final = tuple(SUFFIXES)
_LOCATION: Final = rb"[^\n]+:\d+(?::\d+ (?:\x1b\[[\d;]*m)?(?:error|warning|fault)\b| (?:create|update|delete) )"
_BEGINNINGS: Final = {  # of earlier reports of each format
    "text": rb"(?:%b|not evaluated:\n|an API server would answer:\n)" % _LOCATION,
    "json": rb'\{\n  "format": \d+,\n  "findings": \[',
    "jsonl": rb'\{"type":"(?:finding|notEvaluated|unreadable|suppressed|answer|unreachable|passedOver|summary)",',
    "sarif": rb'\{"\$schema":"[^"]+","version":"[\d.]+","runs":\[\{"tool":\{"driver":\{"name":"dynamo-webhooks",',
    "github": rb"::(?:error|warning|notice) [^\n]*title=",
    "junit": rb'<\?xml [^\n]+\n<testsuites name="dynamo-webhooks check" ',
    "gitlab": rb'\[(?:\]\s*\Z|\{"check_name":"[\w-]+","description":")',
    "markdown": rb"## dynamo-webhooks check\n",
}


class ReportRequest(NamedTuple):
    """One report that was asked for; no file means stdout."""

    form: str
    file: str = ""


def spare_others(requests: Sequence[ReportRequest], origin: str) -> None:
    """Raises: UsageError where a report that the project file asks for would take the place of anything but an earlier report."""
    for request in requests:
        if request.file and not _is_earlier(request):
            text = f"must be a new file or an earlier report, and {request.file} is another file; remove it, or name a new file"
            raise UsageError(f"{origin}: outputs.{request.form}: {text}")


def _is_earlier(request: ReportRequest) -> bool:
    """Whether a file holds an earlier report of the format, or nothing."""
    try:
        with open(request.file, "rb") as file:
            beginning = file.read(4_096)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not beginning or re.match(_BEGINNINGS[request.form], beginning) is not None
