"""The workflows: least rights, actions that can't change under us, and no text of strangers in a script."""

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.manifests.environment import ROOT
from tools.release.archives import sha256

FOLDER: Final = ROOT / ".github" / "workflows"
NAMES: Final = ("nightly", "release", "test")
BY_VERSION: Final = {"actions/attest-build-provenance"}  # its commits could not be looked up; the file says so
ALLOWED: Final = {
    ("nightly", "nightly"): {"contents": "read"},
    ("test", "test"): {"contents": "read"},
    ("release", "build"): {"contents": "read"},
    ("release", "publish"): {"attestations": "write", "contents": "write", "id-token": "write", "packages": "write"},
}


def _text(name: str) -> str:
    return (FOLDER / f"{name}.yml").read_text()


def _loaded(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(_text(name), Loader=yaml.BaseLoader)  # noqa: S506 - it makes strings alone; `on` is no truth value
    return loaded


def _steps(name: str) -> list[dict[str, Any]]:
    return [step for job in _loaded(name)["jobs"].values() for step in job["steps"]]


def test_these_are_all() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{name}.yml" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_each_job_has_the_rights_that_it_needs_and_an_end(name: str) -> None:
    workflow = _loaded(name)
    assert workflow["permissions"] == {}
    assert {(name, job): about["permissions"] for job, about in workflow["jobs"].items()} == {
        key: ALLOWED[key] for key in ALLOWED if key[0] == name
    }
    assert all(0 < int(job["timeout-minutes"]) <= 350 for job in workflow["jobs"].values())
    assert all("latest" not in job["runs-on"] + str(job.get("container")) for job in workflow["jobs"].values())


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_by_commit(name: str) -> None:
    used = re.findall(r"uses: (\S+?)@(\S+)(.*)", _text(name))
    assert used
    for action, ref, comment in used:
        pinned = re.fullmatch(r"[0-9a-f]{40}", ref) and re.fullmatch(r" # v\d+\.\d+\.\d+", comment)
        assert pinned or action in BY_VERSION, action


@pytest.mark.parametrize("name", NAMES)
def test_no_expression_stands_in_a_script_and_no_token_stays_in_a_checkout(name: str) -> None:
    for step in _steps(name):
        assert "${{" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"


def test_strangers_start_only_what_may_read() -> None:
    assert set(_loaded("test")["on"]) == {"push", "pull_request"}
    assert set(_loaded("nightly")["on"]) == {"schedule", "workflow_dispatch"}
    assert _loaded("release")["on"] == {"push": {"tags": ["v*"]}}


def test_they_run_what_the_project_runs_and_publish_what_was_built_twice() -> None:
    assert _steps("test")[-1] == {"run": '.ci/run "$TIER"'}
    assert _steps("nightly")[-1] == {"run": ".ci/run nightly"}
    *tiers, apart = _loaded("test")["jobs"]["test"]["strategy"]["matrix"]["tier"]
    assert apart == "node"  # which needs more of a machine than others
    assert f"set -- {' '.join(tiers)}\n" in (ROOT / ".ci" / "run").read_text()
    scripts = [step.get("run", "") for step in _steps("release")]
    assert [script for script in scripts if "make release" in script] == [
        "make release",
        "mv dist ../first && make release && diff -r ../first dist",
    ]
    needs = {job: about.get("needs") for job, about in _loaded("release")["jobs"].items()}
    assert needs == {"build": None, "publish": "build"}
    published = [script for script in scripts if script.startswith("gh release create")]
    assert [("--verify-tag" in script, "NOTES.txt" in script) for script in published] == [(True, True)]


def test_wheels_of_both_processors_are_published_with_their_sums(tmp_path: Path) -> None:
    made = {"ubuntu-24.04": "d_x86_64.whl", "ubuntu-24.04-arm": "d_aarch64.whl"}
    assert _loaded("release")["jobs"]["build"]["strategy"]["matrix"]["runner"] == list(made)
    for runner, wheel in made.items():
        files = [tmp_path / runner / name for name in (wheel, "d.pyz")]
        (tmp_path / runner).mkdir()
        for file in files:
            file.write_text(runner)
        (tmp_path / runner / "SHA256SUMS").write_text("".join(f"{sha256(file)}  {file.name}\n" for file in files))
    [script] = [step["run"] for step in _steps("release") if "sha256sum" in step.get("run", "")]
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, check=True)
    assert {file.name for file in (tmp_path / "dist").iterdir()} == {*made.values(), "d.pyz", "SHA256SUMS"}
    assert (tmp_path / "dist" / "d.pyz").read_text() == "ubuntu-24.04"
