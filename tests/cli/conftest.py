"""A folder to write inputs into, and the command run in this process."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dynamo_webhooks.cli.commands.lsp.answers import CheckContext
from dynamo_webhooks.cli.console.program import PROGRAM
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.policies.catalogue import set_user_rules


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its result as data."""
        return json.loads(self.out)


Command = Callable[..., Ran]
Files = Callable[..., Path]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs the command with the given words."""

    def run(*words: str | Path) -> Ran:
        capsys.readouterr()
        set_user_rules(())  # as a process begins
        monkeypatch.setattr(sys, "argv", [PROGRAM, *map(str, words)])
        code = main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Writes files into a fresh folder, which becomes the current one; returns the folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):  # they change what reports call files
        monkeypatch.delenv(name, raising=False)

    def write(**contents: str | bytes) -> Path:
        for name, content in contents.items():
            file = tmp_path / (name.replace("__", "/") + ("" if name.startswith("raw") else ".yaml"))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return write


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs, empty."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_program(folder: Path, name: str, script: str) -> None:
    """Writes a script of the shell as a program."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[CheckContext]:
    """Starts no language server; lists how each that was asked for would judge texts."""
    contexts: list[CheckContext] = []

    class Started:
        def start_io(self) -> None:
            """It would read standard input."""

    def made(how: CheckContext) -> Started:
        contexts.append(how)
        return Started()

    monkeypatch.setattr("dynamo_webhooks.cli.commands.lsp.server.make_server", made)
    return contexts


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, ...]]]:
    """Makes the command find a cluster; returns what it was asked to connect to."""
    import dynamo_webhooks.kube.client

    calls: list[tuple[str, ...]] = []

    def use(made: Cluster) -> list[tuple[str, ...]]:
        async def connect(*words: str, server: str = "", patience: float = 0.0) -> Cluster:
            calls.append(words)
            return made

        monkeypatch.setattr(dynamo_webhooks.kube.client, "connect", connect)
        monkeypatch.setattr("dynamo_webhooks.cli.objects.cluster_snapshot.find_context_namespace", lambda *_: "default")
        return calls

    return use
