"""Which files a run reads: folders, globs, lists and exclusions, each file once and in a stable order."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.check.sources import find, listed
from cli.exits import UsageError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.yaml", "a.yml", "c.json", "notes.txt", "sub/z.yaml", "sub/deep/a.yaml", ".git/x.yaml", ".hidden.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "excluded", "wanted"),
    [
        (["."], [], [".hidden.yaml", "a.yml", "b.yaml", "c.json", "sub/z.yaml", "sub/deep/a.yaml"]),
        (["sub", "b.yaml"], [], ["sub/z.yaml", "sub/deep/a.yaml", "b.yaml"]),
        (["b.yaml", "./b.yaml", "sub/../b.yaml"], [], ["b.yaml"]),
        (["notes.txt"], [], ["notes.txt"]),
        (["*.y*ml"], [], ["a.yml", "b.yaml"]),
        (["**/a.y*ml"], [], ["a.yml", "sub/deep/a.yaml"]),
        (["."], ["sub", "*.json"], [".hidden.yaml", "a.yml", "b.yaml"]),
        (["."], ["sub/deep/*", ".*"], ["a.yml", "b.yaml", "c.json", "sub/z.yaml"]),
        (["-", "-"], [], ["-"]),
        ([], [], []),
    ],
)
@pytest.mark.usefixtures("tree")
def test_paths_mean_files(paths: list[str], excluded: list[str], wanted: list[str]) -> None:
    found = find(paths, excluded)
    assert [str(file) for file in found if "loop" not in str(file)] == wanted


@pytest.mark.usefixtures("tree")
def test_a_glob_that_matches_only_excluded_files_is_no_error() -> None:
    assert find(["*.json"], ["c.json"]) == []


def test_a_file_whose_name_looks_like_a_glob_is_a_file(tree: Path) -> None:
    (tree / "x[1].yaml").write_text("")
    assert find(["x[1].yaml"]) == ["x[1].yaml"]


def test_paths_come_from_a_list(tree: Path) -> None:
    (tree / "list").write_text("a.yml\n\n  sub  \n")
    assert listed("list") == ["a.yml", "sub"]
    with pytest.raises(UsageError, match="--files-from none: does not exist"):
        listed("none")
