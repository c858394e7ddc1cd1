"""The layout that people rely on: rooms, their READMEs, what gets installed, and generated files that are up to date.

And the files that adopters look for first: licence, changelog, security policy. The tests know nothing of the machine that they run on, and
each ends by itself.
"""

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final
from unittest import mock

import pytest

from tests import durations
from tests.conftest import LEADING
from tests.contracts import cycle
from tests.manifests.environment import ROOMS
from tools.manual.console import terminal

ROOT = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
with mock.patch("setuptools.setup"):
    SETUP: Final = runpy.run_path(str(ROOT / "setup.py"))


@pytest.mark.parametrize("room", [*ROOMS, "reconciler/engine", "reconciler/render", "manifests", "tests", "tests/cluster", "tools"])
def test_a_room_says_what_it_is_for_in_twelve_lines(room: str) -> None:
    lines = (ROOT / room / "README.md").read_text().splitlines()
    assert 1 < len(lines) <= 12, f"{room}/README.md has {len(lines)} lines; say in 2 to 12 what the room is for, and the rest in docs/"


def test_every_room_is_below_the_one_name_that_is_installed() -> None:
    linked = {path.name: path.readlink() for path in (ROOT / "dynamo_webhooks").iterdir() if path.is_symlink()}
    assert linked == {room: Path("..") / room for room in ROOMS}, (
        "a room is a link in dynamo_webhooks/ and a name in ROOMS of tests/manifests/environment.py"
    )
    assert {*SETUP["ROOMS"]} == {*ROOMS}, "setup.py names each room, too: it installs them without the links"


def test_nothing_is_imported_by_the_name_of_its_folder() -> None:
    """In a checkout `import cli` finds a folder, too, and would load everything a second time."""
    bare = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(ROOMS)})\b", re.MULTILINE)
    files = [path for room in (*ROOMS, "tests", "tools") for path in (ROOT / room).rglob("*.py")]
    assert len(files) > 1000
    assert [str(path) for path in files if bare.search(path.read_text())] == [], "in these files, write dynamo_webhooks.ROOM or ..ROOM"


def test_no_other_top_level_folder_appears() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    beside = {"dynamo_webhooks", "manifests", "tests", "tools", "docs", "editors", ".ci", ".github"}
    new = {name.split("/")[0] for name in tracked if "/" in name} - {*ROOMS, *beside}
    assert not new, f"put {', '.join(new)} below a folder that is there; a new room is agreed on first, and named in ROOMS"


def test_only_make_neighbours_builds_more_than_a_control_plane_and_helm() -> None:
    named = "LWS|SCHEDULER|KWOK|CERT_MANAGER|PROMTOOL|ACTIONLINT|neighbourhood"
    beyond = re.compile(rf"^from tests\.cluster.* import .*\b(?:{named})\b", re.MULTILINE)
    files = (path for path in (ROOT / "tests").rglob("*.py") if "node" not in path.parts)  # which only make node runs
    names = {path.name for path in files if beyond.search(path.read_text())}
    marked = {name for name in names if name.startswith("test_neighbours")}
    assert len(marked) == 7, f"{len(marked)} files of tests need neighbours: change the number here, and say in the Makefile what is new"
    assert names - marked == {"neighbourhood.py"}, (
        "name a file of tests with neighbours test_neighbours_..., which only make neighbours runs"
    )


@pytest.mark.slow("writes all generated files anew; those of docs run each example")
@pytest.mark.parametrize("generator", ["tools.pages", "tools.schemas", "tools.project_schema", "tools.crd_files", "tools.shipped_objects"])
def test_generated_files_are_what_their_generator_writes_on_any_machine(generator: str, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n autocrlf = true\n[diff]\n noprefix = true\n[color]\n ui = always\n")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # all of which makes Python take files for ASCII
    odd = {"HOME": str(tmp_path), "TZ": "Pacific/Kiritimati", "COLUMNS": "40", "FORCE_COLOR": "1", "TMPDIR": str(tmp_path), **plain}
    done = subprocess.run(
        [sys.executable, "-m", generator, "--check"], cwd=ROOT, env={**os.environ, **odd}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_rooms_import_in_one_direction() -> None:
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_cycle_of_imports_is_found_and_named() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) in (["b", "c", "b"], ["c", "b", "c"])
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_compiled_function_has_one_name_for_errors_of_two_types() -> None:
    """mypyc takes the first type for the variable's, and raises a TypeError where another error is to be handled."""
    files = {file for pattern in SETUP["CORE"] for file in (ROOT / "dynamo_webhooks").glob(pattern)}
    wrong = []
    for file in files:
        for function in ast.walk(ast.parse(file.read_text())):
            caught = [node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler) and node.name]
            names = {(handler.name, ast.unparse(handler.type)) for handler in caught if handler.type}
            if isinstance(function, ast.FunctionDef) and len(names) > len({name for name, _ in names}):
                wrong.append(f"{file}: {function.name}")
    assert len(files) > 50
    assert wrong == []


def test_the_readme_names_only_make_targets_that_exist() -> None:
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if line[:1].isalpha() and ":" in line}
    named = {line.split()[1] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("make ")}
    assert named
    assert named <= targets


def test_the_declared_licence_is_there_as_a_whole() -> None:
    text = " ".join((ROOT / "LICENSE").read_text().split())
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert text.startswith("Apache License Version 2.0, January 2004")
    assert [number for number in range(1, 10) if f" {number}. " not in text] == []
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_has_the_version_and_what_comes_after_it() -> None:
    heads = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[:2] == ["Unreleased", PROJECT["version"]], "CHANGELOG.md begins with ## Unreleased, then the version of pyproject.toml"


def test_manifests_name_the_version() -> None:
    chart = (ROOT / "manifests" / "chart" / "Chart.yaml").read_text()
    images = "".join((ROOT / "manifests" / name / "kustomization.yaml").read_text() for name in ("base", "overlays/migrate"))
    named = re.findall(r"^(?:version|appVersion): (\S+)", chart, re.MULTILINE) + re.findall(r"newTag: (\S+)", images)
    assert named == [PROJECT["version"]] * 4
    assert json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())["version"] == PROJECT["version"]
    for file in (ROOT / "manifests" / "crds").glob("*/*"):
        assert f"generated-by: dynamo-webhooks {PROJECT['version']}\n" in file.read_text()


def test_every_lock_has_hashes_and_the_versions_that_are_tested() -> None:
    names = ("requirements.lock", *(f"requirements-{part}.lock" for part in ("server", "files", "lsp", "build")))
    locks = {name: (ROOT / name).read_text() for name in names}
    pinned = {name: dict(re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE)) for name, text in locks.items()}
    assert pinned["requirements-files.lock"].items() <= pinned["requirements-lsp.lock"].items()
    assert {"pyyaml", "orjson"} <= {name.lower() for name in pinned["requirements-files.lock"]}
    for name, text in locks.items():
        pins = re.split(r"\n(?=\S)", text.strip())
        assert [pin for pin in pins if "--hash=sha256:" not in pin] == [], name
        assert pinned[name].items() <= pinned["requirements.lock"].items(), name


def test_the_security_policy_names_a_private_way_to_report_and_no_address() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    assert "private advisory" in page
    assert not re.search(r"[\w.]+@[\w.]+", page)
    assert {"## Report a vulnerability", "## Supported versions", "## Threat model"} <= set(page.splitlines())


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
    with terminal() as shell:
        assert "of-this-machine" not in shell.run("env | grep POD; env | grep KUBE || true") + shell.run("dynamo-webhooks config")
    assert os.environ["KUBECONFIG"] == "of-this-machine"


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_test_that_waits_for_ever_fails(text: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests import conftest\nfrom tests.conftest import *\nconftest.MAX_TEST_SECONDS = 1\n")
    (tmp_path / "test_it.py").write_text(text)
    words = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, timeout=120, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "has not ended within 1 s" in done.stdout


def test_slow_tests_without_a_reason_are_found_in_a_recorded_run(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_runtest_call\n")
    busy = "    end = time.process_time() + 0.3\n    while time.process_time() < end: pass\n"
    marked = f"@pytest.mark.slow('it is')\ndef test_two():\n{busy}"
    text = f"import pytest, time\ndef test_one():\n{busy}{marked}def test_three(): assert True\n"
    (tmp_path / "test_it.py").write_text(text)
    words = ["-q", "-p", "no:cacheprovider", "-o", "markers=slow(reason)", "--rootdir", str(tmp_path), "--junit-xml", "r.xml", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, env=environment, check=True, capture_output=True)
    with mock.patch.object(durations, "MAX_CPU_SECONDS", 0.15):
        [line] = durations.find_unexplained((tmp_path / "r.xml").read_bytes())
    assert line.endswith("test_it::test_one")
