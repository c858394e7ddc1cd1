"""What a project file may say: one table, from which its schema is made and by which it is judged; and the reports that it may name."""

# ruff: noqa: PTH123 - pathlib takes longer to import than a small file takes to check

import argparse
import re
from typing import Final, NamedTuple

from ...api.line import Line
from ..console.exits import UsageError
from ..validation.levels import ERROR, WARNING

OFF: Final = "off"
USER: Final = "user/"  # what the names of users' own rules begin with
SEVERITIES: Final = (ERROR, WARNING, OFF)
LINES: Final = tuple(Line)

# shapes
PATHS: Final = "paths"  # a list of files and folders in the repository
INSIDE: Final = "inside"  # a list of files and folders in the folder of the project file
GLOBS: Final = "globs"
PATH: Final = "path"  # one file in the repository
LINE: Final = "line"
RULES: Final = "rules"
CLUSTERS: Final = "clusters"
OVERRIDES: Final = "overrides"
OUTPUTS: Final = "outputs"
URL: Final = "URL"
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
    "html": (".html",),
}
FORMATS: Final = tuple(SUFFIXES)
_PLACE: Final = rb"[^\n]+:\d+(?::\d+ (?:\x1b\[[\d;]*m)?(?:error|warning|fault)\b| (?:create|update|delete) )"
_BEGINNINGS: Final = {  # of earlier reports of each format
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


class Setting(NamedTuple):
    """One key of the file; `flag` is the one that wins over it."""

    name: str
    shape: str
    means: str
    flag: str


KEYS: Final = (
    Setting("extends", PATH, "A file with the same keys in the repository; its values apply to keys that this file doesn't set.", ""),
    Setting("paths", PATHS, "Files and folders that commands read when they are given no paths.", "PATH"),
    Setting("exclude", GLOBS, "Globs of files and folders to leave out, relative to this file.", "--exclude"),
    Setting("line", LINE, f"The operator release whose fields and rules apply: {', '.join(LINES)}.", "--line"),
    Setting("facts", PATH, "A file of facts about the cluster, as `dynamo-webhooks facts` writes it.", "--facts"),
    Setting("clusters", CLUSTERS, "Facts, line and namespace of each cluster, and the files for it.", "--facts-of"),
    Setting("rules-from", INSIDE, "Files and folders with your own rules: policies in CEL, in the folder of this file.", ""),
    Setting("rules", RULES, "Severity of single rules, each with a reason.", "--select, --ignore"),
    Setting("overrides", OVERRIDES, "Severity of single rules in some files; the last that matches decides.", "--select, --ignore"),
    Setting("baseline", PATH, "A file of known findings, which do not count.", "--baseline"),
    Setting("site", URL, "Address of this documentation's site; reports, editors and `explain` then name the page of each rule.", ""),
    Setting("outputs", OUTPUTS, "Reports to write: a format, and its file or - for standard output.", "-o"),
)
CLUSTER_KEYS: Final = {
    "paths": "Files and folders for this cluster; * and ? match a part of a name.",
    "facts": "A file of facts about this cluster.",
    "line": "The operator release in this cluster.",
    "namespace": "Namespace of objects that name none.",
}
OVERRIDE_KEYS: Final = {"paths": "Files and folders; * and ? match a part of a name.", "rules": "Severity of single rules there."}
BY_NAME: Final = {key.name: key for key in KEYS}


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
            beginning = file.read(4_096)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not beginning or re.match(_BEGINNINGS[one.form], beginning) is not None
