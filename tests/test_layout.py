"""The layout that people rely on: rooms, their READMEs, what gets installed, and generated files that are up to date."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts import cycle
from tools import size

ROOT = Path(__file__).parents[1]
ROOMS = ("cel", "api", "policies", "conversion", "admission", "certs", "webhooks", "kube", "reconciler", "cli")


@pytest.mark.parametrize("room", [*ROOMS, "reconciler/engine", "reconciler/render", "manifests", "tests", "tests/cluster", "tools"])
def test_a_room_says_what_it_is_for_in_twelve_lines(room: str) -> None:
    lines = (ROOT / room / "README.md").read_text().splitlines()
    assert 1 < len(lines) <= 12


def test_every_room_is_below_the_one_name_that_is_installed() -> None:
    linked = {path.name: path for path in (ROOT / "dynamo_webhooks").iterdir() if path.is_symlink()}
    assert {name: path.readlink() for name, path in linked.items()} == {room: Path("..") / room for room in ROOMS}


def test_nothing_is_imported_by_the_name_of_its_folder() -> None:
    """In a checkout `import cli` finds a folder, too, and would load everything a second time."""
    bare = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(ROOMS)})\b", re.MULTILINE)
    files = [path for room in (*ROOMS, "tests", "tools") for path in (ROOT / room).rglob("*.py")]
    assert len(files) > 1000
    assert [str(path) for path in files if bare.search(path.read_text())] == []


def test_no_other_top_level_folder_appears() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {name.split("/")[0] for name in tracked if "/" in name} <= {
        *ROOMS,
        "dynamo_webhooks",
        "manifests",
        "tests",
        "tools",
        "docs",
        "editors",
        ".ci",
        ".github",
    }


def test_only_make_neighbours_builds_more_than_a_control_plane_and_helm() -> None:
    named = "LWS|SCHEDULER|KWOK|CERT_MANAGER|PROMTOOL|ACTIONLINT|neighbourhood"
    beyond = re.compile(rf"^from tests\.cluster.* import .*\b(?:{named})\b", re.MULTILINE)
    found = {path.name for path in (ROOT / "tests").rglob("*.py") if beyond.search(path.read_text())}
    marked = {name for name in found if name.startswith("test_neighbours")}
    assert len(marked) == 6
    assert found - marked == {"neighbours.py"}


@pytest.mark.parametrize("generator", ["tools.pages", "tools.schemas", "tools.rule_index", "tools.crd_files"])
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


def test_sizes_are_reported_for_every_room_and_refuse_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(size.BUDGETS, "api", 1)
    rows = {line.split()[0]: line.split() for line in size.report().splitlines()}
    assert {*ROOMS, "tools", "manifests", "tests", "source"} == rows.keys() - {"room"}
    assert rows["api"][1:3] == ["1", str(sum(len(path.read_text().splitlines()) for path in (ROOT / "api").rglob("*.py")))]
    assert rows["api"][-1] == "over"


def test_the_readme_names_only_make_targets_that_exist() -> None:
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if line[:1].isalpha() and ":" in line}
    named = {line.split()[1] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("make ")}
    assert named
    assert named <= targets
