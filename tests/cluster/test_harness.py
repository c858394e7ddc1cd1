"""The harness keeps its own promises: processes die with the tests, and programs are built of one release or not at all."""

import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dynamo_webhooks.cli.commands.check import outputs
from tests.cluster.assets import build as assets_build
from tests.cluster.assets import modules
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


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What exists under the final name is complete, always."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\necho 'out of luck' >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{go.parent}:{os.environ['PATH']}")
    with pytest.raises(assets_build.AssetsMissingError, match="out of luck"):
        assets_build.build()
    assert [path.name for path in assets_build.directory_of().parent.iterdir()] == ["building.lock"]
    assert assets_build.find() is None


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
    assert f"in the words of Kubernetes {assets_build.USUAL}" in inspect.getsource(outputs)


def test_a_version_that_is_not_pinned_is_named_with_what_pins_it() -> None:
    with pytest.raises(assets_build.AssetsMissingError, match=r"no Kubernetes 1\.29 is pinned, only 1\.30, .*modules 1\.29\.N writes"):
        assets_build.directory_of(assets_build.plane_of("1.29"))


def test_a_release_is_pinned_as_its_own_module_has_it() -> None:
    upstream = "module k8s.io/kubernetes\n\ngo 1.24.0\n\ngodebug default=go1.24\n\nrequire k8s.io/api v0.0.0\n\n"
    upstream += "replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tother.io/x => other.io/y v1.0.0\n)\n"
    assert modules.text("1.33.5", upstream).split("\n\n") == [
        "module dynamo-webhooks.test/kubernetes",
        "go 1.24.0",
        "godebug default=go1.24",
        "require k8s.io/kubernetes v1.33.5",
        "require k8s.io/component-base v0.33.5",
        "replace (\n\tk8s.io/api => k8s.io/api v0.33.5\n)\n",
    ]
