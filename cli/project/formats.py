"""The formats of reports that a flag or a project file asks for."""

from typing import Final, NamedTuple

FORMATS: Final = ("text", "json", "jsonl", "sarif", "github", "junit", "gitlab", "markdown", "html")


class ReportRequest(NamedTuple):
    """One report that was asked for; no file means stdout."""

    form: str
    file: str = ""
