"""What a project file may say: one table, from which its schema is made and by which it is judged."""

from __future__ import annotations

from typing import Final, NamedTuple

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.check.record import ERROR, WARNING

OFF: Final = "off"
SEVERITIES: Final = (ERROR, WARNING, OFF)
PROFILES: Final = ("current", "1.2")
LINES: Final = tuple(Line)

# shapes
PATHS: Final = "paths"  # a list of files and folders in the repository
GLOBS: Final = "globs"
PATH: Final = "path"  # one file in the repository
PROFILE: Final = "profile"
LINE: Final = "line"
RULES: Final = "rules"
OUTPUTS: Final = "outputs"


class Setting(NamedTuple):
    """One key of the file; `flag` is the one that wins over it."""

    name: str
    shape: str
    means: str
    flag: str


KEYS: Final = (
    Setting("paths", PATHS, "Files and folders that commands read when they are given no paths.", "PATH"),
    Setting("exclude", GLOBS, "Globs of files and folders to leave out, relative to this file.", "--exclude"),
    Setting("profile", PROFILE, "Whose verdicts: current, or those of the Go operator 1.2.", "--profile"),
    Setting("line", LINE, "The line of the operator whose fields and rules hold: 1.2 or 1.5.", "--line"),
    Setting("facts", PATH, "A file of facts about the cluster, as `dynamo-webhooks facts` writes it.", "--facts"),
    Setting("rules", RULES, "Severity of single rules, each with a reason.", "--select, --ignore"),
    Setting("baseline", PATH, "A file of known findings, which do not count.", "--baseline"),
    Setting("outputs", OUTPUTS, "Reports to write: a format, and its file or - for standard output.", "-o"),
)
BY_NAME: Final = {key.name: key for key in KEYS}
