"""The keys of a project file: one table, from which its schema is made and by which it is judged."""

from typing import Final, NamedTuple

from ...api.line import Line
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
OUTPUTS: Final = "outputs"
URL: Final = "URL"
KUBERNETES: Final = "kubernetes"


class ProjectKey(NamedTuple):
    """One key of the file; `flag` is the one that wins over it."""

    name: str
    shape: str
    means: str
    flag: str


KEYS: Final = (
    ProjectKey("paths", PATHS, "Files and folders that commands read when they are given no paths.", "PATH"),
    ProjectKey("exclude", GLOBS, "Globs of files and folders to leave out, relative to this file.", "--exclude"),
    ProjectKey("line", LINE, f"The operator release whose fields and rules apply: {', '.join(LINES)}.", "--line"),
    ProjectKey("facts", PATH, "A file of facts about the cluster, as `dynamo-webhooks facts` writes it.", "--facts"),
    ProjectKey("rules-from", INSIDE, "Files and folders with your own rules: policies in CEL, in the folder of this file.", ""),
    ProjectKey(
        "kubernetes",
        KUBERNETES,
        'The oldest Kubernetes of your clusters, such as "1.32": newer functions are errors in your policies.',
        "--kubernetes",
    ),
    ProjectKey("rules", RULES, "Severity of single rules, each with a reason.", "--select, --ignore"),
    ProjectKey("baseline", PATH, "A file of known findings, which do not count.", "--baseline"),
    ProjectKey("site", URL, "Address of this documentation's site; reports, editors and `explain` then name the page of each rule.", ""),
    ProjectKey("outputs", OUTPUTS, "Reports to write: a format, and its file or - for standard output.", "-o"),
)
BY_NAME: Final = {key.name: key for key in KEYS}
