"""The first hour of docs/sessions.md: few commands from an install to a green pipeline, and the chart rendered by a real helm."""

import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.cli.conftest import Command
from tests.cluster.assets.build import HELM
from tests.cluster.assets.wanted import wanted

ROOT: Final = Path(__file__).parents[3]
EXAMPLES: Final = ROOT / "tools" / "manual" / "files"
PAGE: Final = (ROOT / "docs" / "sessions.md").read_text().partition("## 6. The first hour")[2]
FENCED: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES: Final = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_it_takes_at_most_ten_commands_and_ends_green() -> None:
    lines = [line for _, text in FENCED.findall(PAGE) for line in text.splitlines()]
    commands = [line for line in lines if line.startswith("$ ") and line != "$ echo $?"]
    assert commands[0].startswith("$ pip install ")
    assert len(commands) <= 10
    [green] = [text for kind, text in FENCED.findall(PAGE) if kind == "console" and "--env-file" in text]
    assert "6 objects checked by line 1.2" in green
    assert green.splitlines()[-2:] == ["$ echo $?", "0"]


@pytest.mark.cluster  # needs helm, which is built as the programs of those tests are
def test_the_last_command_of_the_page_holds_with_a_real_helm(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helm = wanted(HELM)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES / "hour", tmp_path, dirs_exist_ok=True)
    for name, text in FILES.findall(PAGE):
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PATH", f"{helm}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    said = [line for _, text in FENCED.findall(PAGE) for line in text.splitlines()]
    at = next(index for index, line in enumerate(said) if line.startswith("$ dynamo-webhooks check --helm "))
    ran = command(*said[at].removeprefix("$ dynamo-webhooks ").split())
    assert (ran.code, ran.err.splitlines()[-1]) == (0, said[at + 1]), ran
