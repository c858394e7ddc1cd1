"""The hooks for pre-commit and the GitHub action: what they declare, and their commands really run as those tools run them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cli.conftest import Command
from tests.cli.repository import Repository
from tests.cli.samples import BAD, BAD_RULE, GOOD
from tests.manifests.environment import copy_sources

ROOT: Final = Path(__file__).parents[3]
HOOKS: Final[dict[str, dict[str, Any]]] = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
ACTION: Final[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())
ALPHA: Final = GOOD.replace("name: good", "name: alpha")
GROWN: Final = ALPHA.replace("replicas: 2", "replicas: 2\n      multinode: {nodeCount: 2}")
FOREIGN: Final = "name: nothing of ours\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one good object, one file of somebody else, and one good object that an edit would break."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for name, text in {"good.yaml": GOOD, "foreign.yaml": FOREIGN, "alpha.yaml": ALPHA}.items():
        (folder / name).write_text(text)
    Repository(folder).commit()
    return folder


def hook(name: str, folder: Path, *files: str) -> tuple[int, str]:
    """As pre-commit runs it: the entry's words and then the names of files, with the environment of the hook first on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [*shlex.split(HOOKS[name]["entry"]), *files]
    ran = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def hooked(command: Command, name: str, *files: str) -> tuple[int, str]:
    """The same in this process and the current folder."""
    ran = command(*shlex.split(HOOKS[name]["entry"])[1:], *files)
    return ran.code, ran.out + ran.err


def test_hooks_declare_what_pre_commit_asks_for() -> None:
    for each in HOOKS.values():
        assert {"id", "name", "description", "language", "entry", "types_or"} <= set(each)
        assert (each["language"], each["types_or"], each["require_serial"]) == ("python", ["yaml", "json"], True)
        assert "--allow-empty" in each["entry"].split()  # it is handed every file, and most hold nothing of ours


def test_the_check_hooks_judge_files_and_an_edit_of_what_the_last_commit_has(repository: Path) -> None:
    assert hook("dynamo-check", repository, "good.yaml", "foreign.yaml")[0] == 0
    assert hook("dynamo-check", repository, "foreign.yaml")[0] == 0
    (repository / "bad.yaml").write_text(BAD)
    code, printed = hook("dynamo-check", repository, "good.yaml", "bad.yaml")
    assert (code, BAD_RULE in printed) == (1, True)
    assert hook("dynamo-check-update", repository, "alpha.yaml")[0] == 0
    (repository / "alpha.yaml").write_text(GROWN)
    code, printed = hook("dynamo-check-update", repository, "alpha.yaml")
    assert (code, "dgd-node-layout-immutable" in printed) == (1, True)


STRANGERS: Final = {
    "tsconfig.json": '{\n  // comments are allowed here\n  "compilerOptions": {},\n}\n',
    "twice.yaml": "a: 1\na: 2\n",
    "numbers.yaml": "a: .nan\n",
    "template.yaml": "{{- if .Values.a }}\na: {{ .b }}\n{{- end }}\n",
}


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_files_of_others_that_cannot_be_read_pass_with_a_note(
    repository: Path, command: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(repository)
    for file, text in STRANGERS.items():
        (repository / file).write_text(text)
    code, printed = hooked(command, name, *STRANGERS)  # one of them would be enough for another code
    assert code == 0, printed
    for file, text in STRANGERS.items():
        assert (repository / file).read_text() == text
        assert re.search(rf"^{re.escape(file)}:.*; it does not name nvidia\.com, and is skipped$", printed, re.MULTILINE)
        (repository / file).write_text(f"{text}# nvidia.com\n")
        assert hooked(command, name, file)[0] == 4


def test_the_conversion_hooks(repository: Path) -> None:
    before = (repository / "foreign.yaml").read_bytes()
    code, printed = hook("dynamo-convert-check", repository, "alpha.yaml", "foreign.yaml")
    assert (code, "alpha.yaml" in printed) == (1, True)
    assert (repository / "alpha.yaml").read_text() == ALPHA
    assert hook("dynamo-convert", repository, "alpha.yaml", "foreign.yaml")[0] == 0
    assert yaml.safe_load((repository / "alpha.yaml").read_text())["apiVersion"] == "nvidia.com/v1beta1"
    assert (repository / "foreign.yaml").read_bytes() == before
    assert hook("dynamo-convert-check", repository, "alpha.yaml", "foreign.yaml")[0] == 0


def test_the_action_declares_what_it_uses_and_puts_no_input_into_a_script() -> None:
    steps = ACTION["runs"]["steps"]
    assert (ACTION["runs"]["using"], [step["name"] for step in steps]) == ("composite", ["Install", "Check"])
    used = {name for step in steps for value in step["env"].values() for name in re.findall(r"inputs\.([a-z-]+)", value)}
    assert used == set(ACTION["inputs"])
    for step in steps:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # an input is no code
        assert "uses" not in step
    installs = [line for line in steps[0]["run"].splitlines() if '"${install[@]}"' in line]
    assert [line for line in installs if "--require-hashes" not in line and "--no-deps --no-build-isolation" not in line] == []
    assert len(installs) == 2
    assert {output["value"] for output in ACTION["outputs"].values()} == {
        f"${{{{ steps.check.outputs.{name} }}}}" for name in ACTION["outputs"]
    }
    written = set(re.findall(r'^ *echo "([a-z-]+)=', steps[1]["run"], re.MULTILINE))
    assert written == set(ACTION["outputs"])


class Runner:
    """Runs the steps as GitHub does: `bash --noprofile --norc -eo pipefail`, inputs in the environment, outputs from a file."""

    def __init__(self, home: Path) -> None:
        self.home, self.action = home, home / "action"

    def step(self, number: int, folder: Path, inputs: dict[str, str], **environment: str) -> tuple[int, str, dict[str, str]]:
        step = ACTION["runs"]["steps"][number]
        values = {f"inputs.{name}": inputs.get(name, about["default"]) for name, about in ACTION["inputs"].items()}
        values["github.action_path"] = str(self.action)
        given = {name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text) for name, text in step["env"].items()}
        script, outputs = self.home / "script", self.home / "outputs"
        script.write_text(step["run"])
        outputs.write_text("")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        around = {**os.environ, "PATH": path, "RUNNER_TEMP": str(self.home), "GITHUB_OUTPUT": str(outputs), **environment, **given}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        ran = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr, dict(line.split("=", 1) for line in outputs.read_text().splitlines())

    def check(self, folder: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
        """The second step, with what the first one has installed."""
        named = {name.replace("_", "-"): value for name, value in inputs.items()}
        return self.step(1, folder, named)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """As after the first step, but with the command of these tests."""
    made = Runner(tmp_path)
    script = made.home / "dynamo-webhooks" / "bin" / "dynamo-webhooks"
    script.parent.mkdir(parents=True)
    script.symlink_to(Path(sys.executable).with_name("dynamo-webhooks"))
    return made


@pytest.mark.neighbours  # the first step fetches the locked packages
def test_the_action_installs_the_command(repository: Path, tmp_path: Path) -> None:
    made = Runner(tmp_path)
    copy_sources(made.action, "requirements-build.lock", "requirements-files.lock", "action.yml")
    code, printed, _ = made.step(0, made.home, {})
    assert code == 0, printed
    assert (made.home / "dynamo-webhooks" / "bin" / "dynamo-webhooks").is_file()
    assert made.check(repository)[0] == 0


def test_the_action_tells_its_exit_code_marks_findings_and_writes_a_report(runner: Runner, repository: Path) -> None:
    code, printed, outputs = runner.check(repository, paths="good.yaml\nforeign.yaml\n")
    assert (code, outputs) == (0, {"exit-code": "0", "sarif": ""}), printed
    assert runner.check(repository)[0] == 0  # the whole repository, by default
    (repository / "bad one.yaml").write_text(BAD)
    code, printed, outputs = runner.check(repository, paths="good.yaml\nbad one.yaml", sarif="found.sarif")
    assert (code, outputs) == (1, {"exit-code": "1", "sarif": "found.sarif"})
    assert re.search(r"^::error .*file=bad one\.yaml", printed, re.MULTILINE)
    report = json.loads((repository / "found.sarif").read_text())
    assert [result["ruleId"] for result in report["runs"][0]["results"]]
    assert runner.check(repository, paths="bad one.yaml", fail_on="never")[0] == 0


def test_the_action_hands_on_the_other_inputs(runner: Runner, repository: Path) -> None:
    assert runner.check(repository, paths="foreign.yaml")[0] == 3
    assert runner.check(repository, paths="foreign.yaml", allow_empty="true")[0] == 0
    (repository / "alpha.yaml").write_text(GROWN)
    code, printed, _ = runner.check(repository, paths="alpha.yaml", against="HEAD")
    assert (code, "dgd-node-layout-immutable" in printed) == (1, True)
    (repository / "facts.yaml").write_text("groove: true\n")
    code, printed, _ = runner.check(repository, paths="good.yaml", facts="facts.yaml")
    assert (code, "groove" in printed) == (2, True)
    code, printed, _ = runner.check(repository, paths="good.yaml", line="0.9")
    assert (code, "--line: must be one of 1.2" in printed) == (2, True)


def test_an_input_is_data_whatever_it_holds(runner: Runner, repository: Path) -> None:
    for text in ("$(touch pwned)", "`touch pwned`", "'; touch pwned; '", "--allow-empty"):
        code, _, outputs = runner.check(repository, paths=text)
        assert (code, outputs["exit-code"]) == (4, "4")
    assert not (repository / "pwned").exists()


def test_an_old_python_is_told_of(runner: Runner, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o700)
    code, printed, _ = runner.step(0, repository, {}, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (code, "::error::Python 3.11 or newer must be there" in printed) == (1, True)
