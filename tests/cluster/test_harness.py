"""The harness keeps its own promises: processes die with the tests, and programs are built of one release or not at all."""

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dynamo_webhooks.cli.commands.check import options
from tests.cluster.assets import build as assets_build
from tests.cluster.processes import wait_until


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child when its parent is killed")
def test_processes_die_when_the_tests_are_killed(tmp_path: Path) -> None:
    """Even by a signal that nobody can handle."""
    tests = textwrap.dedent(
        """
        import pathlib, sys
        from tests.cluster.processes import Process
        child = Process("child", [sys.executable, "-c", "import time; time.sleep(600)"], pathlib.Path(sys.argv[1]))
        print(child.pid, flush=True)
        sys.stdin.read()
        """
    )
    command = [sys.executable, "-c", tests, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert _runs(child)
        parent.kill()
    wait_until(lambda: not _runs(child), "the child being gone")


def _runs(pid: int) -> bool:
    """Whether a process exists and is not merely waiting to be buried."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_each_version_is_built_of_one_release_and_cached_by_itself() -> None:
    """The staging modules of a release have its number; README and `check --answer` name what is tested."""
    minors = [assets_build.USUAL, assets_build.OLDEST, assets_build.NEWEST]
    assert {file.stem for file in (assets_build.HERE / "kubernetes").glob("1.*.mod")} >= {*assets_build.VERSIONS}
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for minor in minors:
        release = assets_build.release_of(minor)
        file = "go.mod" if minor == assets_build.USUAL else f"{minor}.mod"
        pinned = re.findall(r" => k8s\.io/\S+ (\S+)$", (assets_build.HERE / "kubernetes" / file).read_text(), re.MULTILINE)
        assert len(pinned) > 25
        assert {*pinned} == {release.replace("v1.", "v0.")}
        assert release.removeprefix("v") in readme
    assert len({assets_build.directory_of(assets_build.plane_of(minor)) for minor in minors}) == 3
    assert f"in the words of Kubernetes {assets_build.USUAL}" in inspect.getsource(options)
