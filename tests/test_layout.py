"""The layout that people rely on: rooms, their READMEs, what gets installed, and generated files that are up to date."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("api", "policies", "conversion", "certs", "webhooks", "kube", "reconciler", "cli")


@pytest.mark.parametrize("room", [*ROOMS, "reconciler/loop", "reconciler/render", "manifests", "tests/cluster"])
def test_a_room_says_what_it_is_for_in_twelve_lines(room: str) -> None:
    lines = (ROOT / room / "README.md").read_text().splitlines()
    assert 1 < len(lines) <= 12


def test_the_application_installs_these_top_level_names_only() -> None:
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()}
    assert {name for name in packages if any(fnmatch(name, pattern) for pattern in include)} == set(ROOMS)


def test_no_other_top_level_folder_appears() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {name.split("/")[0] for name in tracked if "/" in name} <= {*ROOMS, "manifests", "tests", "docs", ".ci"}


@pytest.mark.parametrize("generator", ["cli.pages", "api.generate", "cli.crd_files"])
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


def test_the_readme_names_only_make_targets_that_exist() -> None:
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if line[:1].isalpha() and ":" in line}
    named = {line.split()[1] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("make ")}
    assert named
    assert named <= targets
