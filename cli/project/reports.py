"""The formats of reports, and the files that `outputs` may name: new ones with a suffix of the format, and its earlier reports."""

# ruff: noqa: PTH123 - pathlib takes longer to import than a small file takes to check

import argparse
import re
from typing import Final, NamedTuple

from ..console.exits import UsageError

SUFFIXES: Final = {
    "text": (".txt", ".log"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "sarif": (".sarif", ".json"),
    "github": (".txt", ".log"),
    "junit": (".xml",),
    "gitlab": (".json",),
    "markdown": (".md",),
    "html": (".html",),
}
FORMATS: Final = tuple(SUFFIXES)
_LOOKED_AT: Final = 4_096  # bytes at the beginning of a file
_PLACE: Final = rb"[^\n]+:\d+(?::\d+ (?:\x1b\[[\d;]*m)?(?:error|warning|fault)\b| (?:create|update|delete) )"
_BEGINNINGS: Final = {
    "text": rb"(?:%b|not evaluated:\n|an API server would answer:\n)" % _PLACE,
    "json": rb'\{\n  "format": \d+,\n  "findings": \[',
    "jsonl": rb'\{"type":"(?:finding|notEvaluated|unreadable|suppressed|answer|unreachable|passedOver|summary)",',
    "sarif": rb'\{"\$schema":"[^"]+","version":"[\d.]+","runs":\[\{"tool":\{"driver":\{"name":"dynamo-webhooks",',
    "github": rb"::(?:error|warning|notice) [^\n]*title=",
    "junit": rb'<\?xml [^\n]+\n<testsuites name="dynamo-webhooks check" ',
    "gitlab": rb'\[(?:\]\s*\Z|\{"check_name":"[\w-]+","description":")',
    "markdown": rb"## dynamo-webhooks check\n",
    "html": rb"<!doctype html>\n<html[^\0]+<title>dynamo-webhooks check</title>",
}


class ReportRequest(NamedTuple):
    """One report that was asked for; no file means stdout."""

    form: str
    file: str = ""


def spare(arguments: argparse.Namespace, asked: list[ReportRequest]) -> None:
    """Raises: UsageError where a report that the project file asks for would take the place of anything but an earlier report."""
    if "outputs" not in arguments.laid:
        return
    for one in asked:
        if one.file and not _is_earlier(one):
            text = f"must be a new file or an earlier report, and {one.file} is another file; remove it, or name a new file"
            raise UsageError(f"{arguments.project.origins['outputs']}: outputs.{one.form}: {text}")


def _is_earlier(one: ReportRequest) -> bool:
    """Whether a file holds an earlier report of the format, or nothing."""
    try:
        with open(one.file, "rb") as file:
            beginning = file.read(_LOOKED_AT)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not beginning or re.match(_BEGINNINGS[one.form], beginning) is not None
