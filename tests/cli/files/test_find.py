"""Which files a run reads: folders, globs, lists and exclusions, each file once and in a stable order."""

import errno
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.files import documents
from dynamo_webhooks.cli.files.documents import read_documents
from dynamo_webhooks.cli.files.find import find_files, read_file_list
from dynamo_webhooks.cli.yaml.load import InputError, Source


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
        (["**"], [], [".hidden.yaml", "a.yml", "b.yaml", "c.json", "sub/z.yaml", "sub/deep/a.yaml"]),
        (["sub/**"], [], ["sub/z.yaml", "sub/deep/a.yaml"]),
        (["s?b/d*"], [], ["sub/deep/a.yaml"]),
        (["sub/*/../z.yaml"], [], ["sub/deep/../z.yaml"]),
        (["[bc].*", "*.json"], [], ["b.yaml", "c.json"]),
        (["."], ["sub/deep", "./b.yaml", "c.json/"], [".hidden.yaml", "a.yml", "sub/z.yaml"]),
        (["./sub", "*.json"], ["sub/*"], ["c.json"]),
        (["b.yaml", "sub/**"], ["b.yaml", "z.*"], ["sub/deep/a.yaml"]),
        (["-", "-"], [], ["-"]),
        (["*.json"], ["c.json"], []),
        ([], [], []),
    ],
)
@pytest.mark.usefixtures("tree")
def test_paths_mean_files(paths: list[str], excluded: list[str], wanted: list[str]) -> None:
    found = find_files(paths, excluded)
    assert found == wanted


def test_paths_come_from_a_list(tree: Path) -> None:
    (tree / "list").write_text("a.yml\n\n  sub  \n")
    assert read_file_list("list") == ["a.yml", "sub"]
    (tree / "list").write_bytes(b"\xef\xbb\xbfa.yml\r\nn\xff\xc2\x85.yaml\n")
    assert read_file_list("list") == ["a.yml", os.fsdecode(b"n\xff\xc2\x85.yaml")]
    (tree / "list").write_bytes(b"two\nlines.yaml\0 sub \0")
    assert read_file_list("list") == ["two\nlines.yaml", " sub "]
    with pytest.raises(UsageError, match="--files-from none: does not exist"):
        read_file_list("none")


def test_one_file_is_read_once_whatever_it_is_called(tree: Path) -> None:
    (tree / "link.yaml").symlink_to("b.yaml")
    (tree / "hard.yaml").hardlink_to(tree / "b.yaml")
    assert find_files(["sub/loop/b.yaml", str(tree / "b.yaml"), "link.yaml", "hard.yaml", "b.yaml"]) == ["sub/loop/b.yaml"]
    assert find_files(["gone.yaml", "./gone.yaml", "sub/../gone.yaml"]) == ["gone.yaml"]


def _said(found: list[str | InputError]) -> list[str]:
    return [str(one) for one in found if isinstance(one, InputError)]


def test_what_never_ends_is_left_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yaml")
    Path("also.yaml").symlink_to("pipe.yaml")
    bound = socket.socket(socket.AF_UNIX)
    with bound:
        bound.bind("socket.yaml")
    Path("nowhere.yaml").symlink_to("none")
    Path("itself.yaml").symlink_to("itself.yaml")
    Path("folder.yaml").mkdir()
    found = find_files(["."])
    ends = ": is a pipe, a socket or a device; name it itself if it is to be read"
    assert _said(found) == [f"{name}.yaml{ends}" for name in ("also", "pipe", "socket")]
    assert [one for one in found if isinstance(one, str)] == ["itself.yaml", "nowhere.yaml"]
    read = [next(iter(read_documents(one, ""))) for one in found if isinstance(one, str)]
    assert list(map(str, read)) == ["itself.yaml: can't be read: Too many levels of symbolic links", "nowhere.yaml: does not exist"]
    assert find_files(["pipe.yaml"]) == ["pipe.yaml"]


def test_circles_of_links_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a/b").mkdir(parents=True)
    for place in ("a", "a/b"):
        for name in ("one", "two"):
            (Path(place) / name).symlink_to(tmp_path)
    Path("a/b/x.yaml").write_text("")
    assert find_files(["."]) == ["a/b/x.yaml"]
    assert find_files(["**/*.yaml"]) == ["a/b/x.yaml"]
    assert find_files(["a/one/a/b"]) == ["a/one/a/b/x.yaml"]


def test_a_file_or_folder_that_vanishes_or_is_locked_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def failing(path: str) -> Any:
        if path.endswith("deep"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    found = find_files(["sub"])
    assert [str(one) for one in found] == ["sub/z.yaml", "sub/deep: may not be read (permission denied)"]
    assert find_files(["sub"], ["deep"]) == ["sub/z.yaml"]
    assert find_files(["sub/*/a.yaml", "sub/z.yaml"], [])[-1] == "sub/z.yaml"
    (tree / "sub" / "z.yaml").unlink()
    assert [str(one) for one in read_documents("sub/z.yaml", "")] == ["sub/z.yaml: does not exist"]


def test_odd_names_are_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = sorted(os.fsdecode(name) for name in (b"a\nb.yaml", b"\xff.yaml", b"-.yaml", b"*.yaml", b" .yaml", b"BB.YAML", b"CC.Json"))
    for name in names:
        Path(name).write_text("")
    assert find_files(["."]) == names
    assert find_files(["*.yaml"]) == ["*.yaml"]
    assert find_files(["?.yaml"]) == [name for name in names if len(name) == 6]


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 300, "/".join(["x" * 200] * 40), "x" * 300 + "*", "*/" * 3000])
def test_a_path_that_no_file_can_have_is_an_error_in_its_place(tree: Path, path: str) -> None:
    [found] = find_files([path])
    [said] = [str(found)] if isinstance(found, InputError) else map(str, read_documents(found, ""))
    assert said.partition(": ")[2] in ("is not a usable path", "can't be read: File name too long", "matches no files")


@pytest.mark.parametrize("path", [".", "**/*.yaml"])
def test_a_link_to_a_folder_elsewhere_is_said_and_not_followed(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "x.yaml").write_text("")
    (tree / "sub" / "out").symlink_to(elsewhere)
    (tree / "sub" / ".hidden").symlink_to(elsewhere)
    assert not [file for file in find_files([path]) if "out" in str(file)]
    assert capsys.readouterr().err == "sub/out: is a link to a folder, and is passed over; name it itself if it is to be read\n"
    assert find_files(["sub/out"]) == ["sub/out/x.yaml"]


def test_a_file_of_broken_documents_is_searched_for_templates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(documents, "re", SimpleNamespace(search=lambda *words: asked.append(words[0])))
    found = list(read_documents(Source("a.yaml", "---\na: [\n" * 50), ""))
    assert len(found) == 50
    assert asked == [documents._TEMPLATE]
