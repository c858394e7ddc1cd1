"""The extension for VS Code: its own tests under Node, what it may do in a workspace, and its package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.manifests.environment import ROOT
from tools.release import vsix
from tools.release.archives import read_zip
from tools.release.source import Source

SOURCE: Final = Source("0.1.0", "0" * 40, 1_700_000_000, "", "https://github.com/OWNER/dynamo-webhooks")
MANIFEST: Final[dict[str, Any]] = json.loads((ROOT / vsix.FOLDER / "package.json").read_text())
WAIT_SECONDS: Final = 900  # each test starts a server or two


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension with its locked packages."""
    assert shutil.which("npm"), "these tests need node and npm, of Debian's packages nodejs and npm"
    home = tmp_path_factory.mktemp("vscode")
    shutil.copytree(ROOT / "editors", home / "editors", ignore=shutil.ignore_patterns("node_modules", "dist"))
    return vsix.install(home)


def npm(folder: Path, script: str) -> str:
    around = {**os.environ, "DYNAMO_WEBHOOKS": str(Path(sys.executable).parent / "dynamo-webhooks")}
    done = subprocess.run(["npm", "run", script], cwd=folder, env=around, capture_output=True, text=True, check=False, timeout=WAIT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_types_fit(folder: Path) -> None:
    assert "error" not in npm(folder, "check")


def test_its_own_tests_pass_with_the_real_server_and_none_is_left_out(folder: Path) -> None:
    out = npm(folder, "test")
    counts = dict(re.findall(r"^\S+ (tests|pass|fail|cancelled|skipped|todo) (\d+)$", out, re.MULTILINE))
    written = sum(file.read_text().count("\ntest('") for file in (ROOT / vsix.FOLDER / "test").glob("*.test.js"))
    assert counts == {"tests": str(written), "pass": str(written), "fail": "0", "cancelled": "0", "skipped": "0", "todo": "0"}


def test_its_package_holds_what_it_runs_and_is_made_of_the_same_bytes_twice(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "dynamo-webhooks.pyz"
    packed.write_bytes(b"a program")
    made = [tmp_path / name for name in ("one.vsix", "two.vsix")]
    for target in made:
        vsix.build(folder, packed, target, SOURCE.epoch)
    assert made[0].read_bytes() == made[1].read_bytes()
    held = read_zip(made[0])
    named = {name.removeprefix("extension/").lower() for name in held if name.startswith("extension/")}
    assert named == {"package.json", "readme.md", "license.txt", "third-party.txt", "dynamo-webhooks.pyz", "dist/extension.js"}
    assert held["extension/dynamo-webhooks.pyz"] == b"a program"
    from cyclonedx.schema import SchemaVersion  # takes two seconds to import
    from cyclonedx.validation.json import JsonStrictValidator

    vsix.write_bill(folder, tmp_path / "bill.json", SOURCE)
    text = (tmp_path / "bill.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    listed = {component["name"] for component in json.loads(text)["components"]}
    assert {"vscode-languageclient", "vscode-jsonrpc", "minimatch"} <= listed
    third = held["extension/THIRD-PARTY.txt"].decode()
    assert all(re.search(rf"^{re.escape(name)} \d", third, re.MULTILINE) for name in listed)


def test_an_untrusted_workspace_executes_nothing_and_chooses_no_program() -> None:
    assert MANIFEST["capabilities"]["untrustedWorkspaces"]["supported"] is False
    assert MANIFEST["capabilities"]["virtualWorkspaces"]["supported"] is False
    settings = MANIFEST["contributes"]["configuration"]["properties"]
    chosen = {name: about["scope"] for name, about in settings.items() if name != "dynamoWebhooks.diagnostics.schema"}
    assert chosen == {"dynamoWebhooks.path": "machine-overridable", "dynamoWebhooks.arguments": "machine-overridable"}


def test_its_packages_are_pinned_by_digest_and_run_no_script() -> None:
    lock = json.loads((ROOT / vsix.FOLDER / "package-lock.json").read_text())["packages"]
    assert [name for name, about in lock.items() if name and "integrity" not in about] == []
    pinned = {**MANIFEST["dependencies"], **MANIFEST["devDependencies"]}
    assert {name: lock[f"node_modules/{name}"]["version"] for name in pinned} == pinned
    assert not {"preinstall", "install", "postinstall", "prepare"} & MANIFEST["scripts"].keys()


def test_its_commands_and_settings_are_those_of_its_code() -> None:
    code = (ROOT / vsix.FOLDER / "src" / "extension.ts").read_text().replace("${SECTION}", "dynamoWebhooks")
    registered = set(re.findall(r"registerCommand\(`([\w.]+)`", code))
    assert registered == {command["command"] for command in MANIFEST["contributes"]["commands"]}
    read = {f"dynamoWebhooks.{name}" for name in re.findall(r"settings\.get<[^>]+>\('([\w.]+)'", code)}
    assert read == MANIFEST["contributes"]["configuration"]["properties"].keys()
