"""The pyz on an interpreter that has nothing installed."""

import ast
import importlib.machinery
import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.manifests.test_wheel import GRAPH, OPERATOR
from tools.release.archives import START, merge_wheels, read_zip, write_pyz, write_zip
from tools.release.source import ReleaseError

WAIT_SECONDS = 60
SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]


def run(python: Path, packed: Path, home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), str(packed), *words]
    around = {"HOME": str(home), "TMPDIR": str(home), **environment}
    return subprocess.run(command, cwd=home, env=around, capture_output=True, text=True, check=False, timeout=WAIT_SECONDS)


def unpacked(home: Path) -> list[Path]:
    return sorted(home.glob(".cache/dynamo-webhooks/*"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "graph.yaml").write_text(GRAPH)
    return tmp_path


def test_it_says_what_the_installed_command_says_and_unpacks_once(bare: Path, packed: Path, home: Path) -> None:
    installed = [sys.executable, "-m", "dynamo_webhooks", "check", "graph.yaml", "-o", "json"]
    wanted = subprocess.run(installed, cwd=home, capture_output=True, text=True, check=False)
    first = run(bare, packed, home, "check", "graph.yaml", "-o", "json")
    assert (first.returncode, first.stdout, first.stderr) == (wanted.returncode, wanted.stdout, wanted.stderr)
    assert json.loads(first.stdout)["findings"][0]["rule"] == "replicas-non-negative"
    [folder] = unpacked(home)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {file.name.partition(".")[2] for file in folder.rglob("*.so")} == {SUFFIX[1:]}
    (folder / "orjson").rename(home / "orjson")  # a second start must not unpack again: without it, `version` fails
    assert run(bare, packed, home, "version").returncode != 0
    (home / "orjson").rename(folder / "orjson")
    assert run(bare, packed, home, "--version").stdout == "dynamo-webhooks 0.1.0\n"
    assert unpacked(home) == [folder]


def test_commands_that_need_data_files_and_several_processes_run(bare: Path, packed: Path, home: Path) -> None:
    (home / "operator.yaml").write_text(OPERATOR)
    (home / "many").mkdir()
    for number in range(60):
        (home / "many" / f"{number}.yaml").write_text(GRAPH.replace("name: g", f"name: g{number}") + "#" * 5000)
    for words, code in (("explain replicas-non-negative", 0), ("config --config operator.yaml", 0), ("crds", 0), ("check many", 1)):
        done = run(bare, packed, home, *words.split())
        assert (done.returncode, "internal error" in done.stderr) == (code, False), done.stderr
        assert done.stdout
    done = run(bare, packed, home, "doctor")
    assert (done.returncode, "not installed; run pip install '.[cluster]' in a checkout, or " in done.stderr) == (2, True)


def test_without_a_cache_to_write_it_leaves_nothing_behind(bare: Path, packed: Path, home: Path) -> None:
    before = sorted(home.iterdir())
    done = run(bare, packed, home, "check", "graph.yaml", XDG_CACHE_HOME="/dev/null")
    assert (done.returncode, "replicas-non-negative" in done.stdout) == (1, True), done.stderr
    assert sorted(home.iterdir()) == before


def test_a_folder_that_others_may_write_is_not_run(bare: Path, packed: Path, home: Path) -> None:
    assert run(bare, packed, home, "--version").returncode == 0
    [folder] = unpacked(home)
    (folder / "dynamo_webhooks" / "cli" / "main.py").write_text("raise SystemExit('a stranger ran')")
    assert "a stranger ran" in run(bare, packed, home, "--version").stderr  # so it is this file that runs
    folder.chmod(0o770)
    done = run(bare, packed, home, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "dynamo-webhooks 0.1.0\n", "")


def test_two_first_starts_at_once_unpack_one_folder(bare: Path, packed: Path, home: Path) -> None:
    command = [str(bare), str(packed), "check", "graph.yaml", "-q"]
    both = [subprocess.Popen(command, cwd=home, env={"HOME": str(home)}, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(each.communicate(timeout=WAIT_SECONDS)[0].count("DYN201"), each.returncode) for each in both] == [(1, 1), (1, 1)]
    assert len(unpacked(home)) == 1


def test_it_says_which_interpreter_it_needs(bare: Path, packed: Path, home: Path) -> None:
    foreign = home / "foreign.pyz"
    write_zip(home / "application", {"orjson.cpython-399-linux.so": b""}, 0)
    entries = {**read_zip(packed), "application.zip": (home / "application").read_bytes()}
    write_zip(foreign, entries, 0, compressed=False)
    done = run(bare, foreign, home, "--version")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dynamo-webhooks.pyz: the interpreter must be CPython 3.11 to 3.14 on Linux with glibc")
    assert f"*{SUFFIX};" in done.stderr


def test_older_interpreters_can_read_its_start() -> None:
    ast.parse(START.read_text(), feature_version=(3, 6))


def test_it_may_be_executed_and_is_the_same_whatever_the_order_of_wheels(wheels: list[Path], packed: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(packed.stat().st_mode) == 0o755
    assert packed.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    write_pyz(reversed(wheels), tmp_path / packed.name, 0)
    assert (tmp_path / packed.name).read_bytes() == packed.read_bytes()


def test_wheels_that_differ_in_a_file_are_refused(tmp_path: Path) -> None:
    for name, text in (("a.whl", b"1"), ("b.whl", b"2")):
        write_zip(tmp_path / name, {"x/__init__.py": text, "x-1.dist-info/RECORD": text}, 0)
    with pytest.raises(ReleaseError, match=r"^b\.whl must hold the same x/__init__\.py as the wheels before it"):
        merge_wheels([tmp_path / "a.whl", tmp_path / "b.whl"])
    with zipfile.ZipFile(tmp_path / "a.whl") as archive:
        assert archive.getinfo("x/__init__.py").date_time == (1980, 1, 1, 0, 0, 0)
