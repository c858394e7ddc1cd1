"""actionlint reads the workflows: syntax, expressions, types of inputs, and what scripts may do with text of strangers."""

import subprocess
from pathlib import Path

import pytest

from tests.cluster.assets.build import ACTIONLINT
from tests.cluster.assets.wanted import wanted
from tests.release.test_workflows import FOLDER


def _found(*files: Path) -> str:
    """What it finds; it looks for no shellcheck, which not every machine has."""
    command = [str(wanted(ACTIONLINT) / "actionlint"), "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout


def test_it_finds_nothing() -> None:
    assert _found(*sorted(FOLDER.glob("*.yml"))) == ""


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("${{ github.repository }}", "${{ github.repo }}", 'property "repo" is not defined'),
        ("needs: build", "needs: built", 'needs job "built" which does not exist'),
        ("run: make release", "run: make release ${{ github.event.head_commit.message }}", "potentially untrusted"),
        ("contents: write", "content: write", 'unknown permission scope "content"'),
    ],
)
def test_it_finds_a_planted_mistake(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = (FOLDER / "release.yml").read_text()
    assert before in text
    (tmp_path / "release.yml").write_text(text.replace(before, after, 1))
    assert message in _found(tmp_path / "release.yml")
