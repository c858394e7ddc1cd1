"""The tests know nothing of the machine that they run on, and each ends by itself."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import LEADING
from tools.manual.console import terminal

ROOT: Final = Path(__file__).resolve().parents[1]
ENDLESS: Final = {
    "asleep": "import time\ndef test(): time.sleep(600)",
    "in a loop of events": "import asyncio\nasync def test(): await asyncio.sleep(600)",
    "waiting for a process": "import subprocess\ndef test(): subprocess.run(['sleep', '600'])",
}


def test_nothing_in_the_environment_leads_to_a_cluster() -> None:
    assert not set(LEADING) & set(os.environ)


def test_lines_of_pages_run_without_the_environment_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LEADING:
        monkeypatch.setenv(name, "of-this-machine")
    with terminal() as one:
        assert "of-this-machine" not in one.run("env | grep POD; env | grep KUBE || true") + one.run("dynamo-webhooks config")
    assert os.environ["KUBECONFIG"] == "of-this-machine"


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_test_that_waits_for_ever_fails(text: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests import conftest\nfrom tests.conftest import *\nconftest.LONGEST = 1\n")
    (tmp_path / "test_it.py").write_text(text)
    words = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, timeout=120, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "has not ended within 1 s" in done.stdout
