"""kubectl finds its plugin `kubectl-dynamo`, and completes its words through `kubectl_complete-dynamo`; no API server is asked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynamo_webhooks.cli.commands.completion.command import SCRIPTS


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Plugin and completion first on the PATH, as a user installs them."""
    program = tmp_path / "kubectl_complete-dynamo"
    program.write_text(SCRIPTS["kubectl"])
    program.chmod(0o700)
    (tmp_path / "kubectl-dynamo").symlink_to(Path(sys.executable).parent / "kubectl-dynamo")
    return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["che"], "check\n:4\n"),
        (["check", "--op=c"], "--op=create\n:4\n"),
        (["check", "--set-fact", "gro"], "grove=\n:6\n"),
        (["check", ""], ":0\n"),
    ],
)
def test_kubectl_completes_the_words_of_its_plugin(assets: Path, environment: dict[str, str], words: list[str], told: str) -> None:
    command = [str(assets / "kubectl"), "__complete", "dynamo", *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, told), ran.stderr


def test_kubectl_runs_its_plugin(assets: Path, environment: dict[str, str]) -> None:
    ran = subprocess.run([assets / "kubectl", "dynamo", "chek"], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, "did you mean check?" in ran.stderr) == (2, True)
