"""Names in backticks exist: files, folders, functions, constants, make targets and commands that READMEs, CONTRIBUTING and docs name."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Final

from dynamo_webhooks.cli.console.program import COMMANDS

ROOT: Final = Path(__file__).parents[1]
TRACKED: Final = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()
FOLDERS: Final = {str(parent) for name in TRACKED for parent in PurePosixPath(name).parents}
# the changelog names what has gone, recorded files are others', and pages of rules and metrics are made of these
EXEMPT: Final = (
    *("CHANGELOG.md", "tests/golden/recorded/", "tests/cel/conformance/"),
    *("tests/cli/check/reports/schemas/", "docs/rules/", "docs/metrics.md"),
)
# what users have, or what is made: not in the tree
ELSEWHERE: Final = re.compile(r".*[A-Z]{3}/|\.vscode/|build/|deploy/|user/|playground/$|languages\.toml|licences\.txt")
_FENCED: Final = re.compile(r"^(`{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_PATH: Final = re.compile(r"(?:\.\./)*[\w-]+(?:/[\w.-]+)*/?|[\w-]+\.(?:py|md|yaml|json|txt|toml|lock|sh)|\.[\w-]+/[\w.-]+")
_NAME: Final = re.compile(r"_?[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z]+(?:_[A-Z]+)+")


def _pages() -> Iterator[tuple[str, str]]:
    """Each page with its text, and each package of a room with its docstring."""
    for name in TRACKED:
        if name.startswith(EXEMPT) or (ROOT / name).is_symlink() or not (ROOT / name).exists():
            continue
        if name.endswith(".md"):
            yield name, _FENCED.sub("", (ROOT / name).read_text())
        elif name.endswith("__init__.py"):
            yield name, ast.get_docstring(ast.parse((ROOT / name).read_text())) or ""


def _names() -> Iterator[tuple[str, str]]:
    for page, text in _pages():
        yield from ((page, name) for name in re.findall(r"`([^`\n]+)`", text) if not ELSEWHERE.match(name))


NAMES: Final = sorted(set(_names()))


def _exists(page: str, path: str) -> bool:
    """Whether a path leads somewhere from the top, from its page or from the manifests; `.py` may be left out."""
    tried = [normpath(f"{start}/{path}") for start in (".", PurePosixPath(page).parent, "manifests")]
    return any(each in FOLDERS or each in TRACKED or f"{each}.py" in TRACKED for each in tried)


def test_every_path_leads_somewhere() -> None:
    names = {PurePosixPath(name).name for name in TRACKED}
    paths = [(page, name) for page, name in NAMES if _PATH.fullmatch(name) and ("/" in name or "." in name)]
    assert len(paths) > 150
    assert [each for each in paths if not (_exists(*each) or ("/" not in each[1] and each[1] in names))] == []


def test_every_name_of_code_is_one() -> None:
    texts = [(ROOT / name).read_text() for name in TRACKED if name.endswith((".py", ".yaml")) and name != "tests/test_names.py"]
    words = {word for text in texts for word in re.findall(r"\w+", text)} | {PurePosixPath(name).stem for name in TRACKED}
    named = [each for each in NAMES if _NAME.fullmatch(each[1])]
    assert len(named) > 30
    assert [each for each in named if each[1] not in words] == []


def test_every_target_and_command_is_there() -> None:
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if re.match(r"[a-z0-9-]+:", line)}
    made = [(page, word) for page, name in NAMES if name.startswith("make ") for word in re.findall(r"(?<= )[a-z0-9-]+(?= |$)", name)]
    called = [(page, match[1]) for page, name in NAMES if (match := re.match(r"(?:dynamo-webhooks|kubectl dynamo) ([a-z]+)", name))]
    assert len(made) > 30
    assert [each for each in made if each[1] not in targets] == []
    assert len(called) > 50
    assert [each for each in called if each[1] not in COMMANDS] == []


def test_the_page_of_explain_shows_the_rule_that_it_names() -> None:
    """A message that changes would explain another rule, without a word."""
    page = (ROOT / "docs" / "commands" / "explain.md").read_text()
    shown = re.findall(r"rule `([a-z0-9-]+)`:\n\n`{3,}console\n\$ .*\n# (\S+) \(", page)
    assert len(shown) == 2
    assert [each for each in shown if each[0] != each[1]] == []
