"""What a stranger's repository may try on a command that reads it: writing outside by links, taking files by the project file.

And files are replaced in one step or left alone; what is no regular file is written to.
"""

import json
import os
import stat
from pathlib import Path

import pytest

from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.files.find import find_files
from dynamo_webhooks.cli.files.write import replace_file
from dynamo_webhooks.cli.project.reports import FORMATS, SUFFIXES
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, GOOD
from tests.rows import run_each

MENDED = GOOD.replace("componentType", "componenttype")  # a name that --fix writes anew
PROJECT = ".dynamo-webhooks.yaml"
WRITING = [
    ("convert", "--to", "v1beta1", "--write"),
    ("default", "--write", "--set-fact=operatorVersion=1.5.0"),
    ("check", "--fix"),
]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the user, outside of the repository, that every command would change."""
    file = tmp_path_factory.mktemp("home") / "mine.yaml"
    file.write_text(MENDED)
    return file


def beside(file: Path) -> list[str]:
    """The names of all files in the folder of one."""
    return sorted(path.name for path in file.parent.iterdir())


@pytest.fixture(params=["repository", "folder"])
def folder(request: pytest.FixtureRequest, files: Files, outside: Path) -> Path:
    """A repository, or a folder that is none, whose file is a link to the user's."""
    made = files(deploy__good=GOOD)
    (made / "deploy" / "link.yaml").symlink_to(outside)
    (made / "deploy" / "out").symlink_to(outside.parent)
    if request.param == "repository":
        (made / ".git").mkdir()
    return made


@run_each("words", WRITING)
@pytest.mark.parametrize("path", ["deploy", "deploy/*.yaml", "deploy/*/mine.yaml", "**/*.yaml"])
def test_no_search_writes_or_reads_through_a_link_out(
    folder: Path, outside: Path, command: Command, words: tuple[str, ...], path: str
) -> None:
    if path == "deploy/*/mine.yaml":
        (folder / "deploy" / "in").mkdir(exist_ok=True)
        (folder / "deploy" / "in" / "mine.yaml").write_text(GOOD)
    ran = command(words[0], path, *words[1:])
    assert ran.code == 4
    assert "is a link out of the" in ran.err
    assert (outside.read_text(), outside.is_symlink(), beside(outside)) == (MENDED, False, ["mine.yaml"])


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
@pytest.mark.parametrize("path", ["deploy/link.yaml", "deploy/out/mine.yaml", "deploy/out"])
@pytest.mark.parametrize("folder", ["repository"], indirect=True)
def test_a_link_that_is_named_is_read_and_not_written_where_it_leads_out_of_its_repository(
    folder: Path, outside: Path, command: Command, words: tuple[str, ...], path: str
) -> None:
    """A shell names all links that its globs match."""
    ran = command(words[0], path, *words[1:])
    assert f"can't be written: it is a link out of the repository {folder}; name its target if that is meant" in ran.err
    assert (ran.code, outside.read_text()) == (1, MENDED)
    assert command(words[0], outside, *words[1:]).code == 0
    assert outside.read_text() != MENDED


def test_a_link_of_the_user_stays_a_link(files: Files, outside: Path) -> None:
    """Outside of a repository, what is named is meant; and so is a link to a whole repository."""
    made = files(a__b=GOOD)
    (made / "link.yaml").symlink_to(outside)
    replace_file("link.yaml", "new")
    assert (outside.read_text(), Path("link.yaml").is_symlink()) == ("new", True)
    (made / "a" / ".git").mkdir()
    (made / "short").symlink_to("a")
    replace_file("short/b.yaml", "new")
    assert (made / "a" / "b.yaml").read_text() == "new"


def test_a_repository_behind_a_link_of_another_is_outside(files: Files, outside: Path) -> None:
    (files() / ".git").mkdir()
    (outside.parent / ".git").mkdir()
    Path("out").symlink_to(outside.parent)
    for file in ("out/mine.yaml", "out/new.yaml"):
        with pytest.raises(UsageError, match="is a link out of the repository"):
            replace_file(file, "x")
    assert (outside.read_text(), beside(outside)) == (MENDED, [".git", "mine.yaml"])


@pytest.mark.parametrize("words", [("check", "deploy/good.yaml", "-o", "json=o.json"), ("schema", "--catalogue", "o")], ids=" ".join)
def test_a_file_that_a_flag_names_is_no_link_out(files: Files, outside: Path, command: Command, words: tuple[str, ...]) -> None:
    (files(deploy__good=GOOD) / ".git").mkdir()
    Path("o.json").symlink_to(outside)
    Path("o").symlink_to(outside.parent)
    assert command(*words).code == 2
    assert (outside.read_text(), beside(outside)) == (MENDED, ["mine.yaml"])


@pytest.mark.parametrize("link", ["rendered", "rendered/llm"])
def test_render_follows_no_link_below_its_folder(files: Files, outside: Path, command: Command, link: str) -> None:
    made = files(good=GOOD)
    (made / "rendered").mkdir() if link != "rendered" else (made / ".git").mkdir()
    (made / link).symlink_to(outside.parent)
    ran = command("render", "good.yaml", "-d", "rendered")
    assert (ran.code, beside(outside)) == (2, ["mine.yaml"])
    assert "can't be written" in ran.err


def test_render_replaces_a_link_instead_of_its_target(files: Files, outside: Path, command: Command) -> None:
    files(good=GOOD)
    assert command("render", "good.yaml", "-d", "rendered").code == 0
    first = next(iter(Path("rendered").rglob("*.yaml")))
    text = first.read_text()
    first.unlink()
    first.symlink_to(outside)
    assert command("render", "good.yaml", "-d", "rendered").code == 0
    assert (first.is_symlink(), first.read_text(), outside.read_text()) == (False, text, MENDED)


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(files: Files, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = files(deploy__good=GOOD)
    real = os.path.realpath(made / "deploy" / "good.yaml")
    (made / ".git").mkdir()
    (made / "deploy").rename(made / "before")
    (made / "deploy").symlink_to(outside.parent)
    monkeypatch.setattr(os.path, "realpath", lambda path: real if str(path).endswith(".yaml") else str(path))
    with pytest.raises(UsageError, match="can't be written"):
        replace_file("deploy/good.yaml", "x")
    assert beside(outside) == ["mine.yaml"]


def test_no_case_is_written_through_a_link(files: Files, outside: Path, command: Command) -> None:
    made = files(cases__x="") / "cases"
    (made / "x.yaml").unlink()
    (made / "default.g.yaml").write_text(GOOD)
    (made / "default.g.expected.yaml").symlink_to(outside)
    ran = command("test", "cases", "--update")
    assert "default.g.expected.yaml is left as it is: it is a link" in ran.err
    assert (ran.code != 0, outside.read_text()) == (True, MENDED)


def test_a_search_ends_in_the_deepest_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deeper than calls may be nested; each path is still one that the system takes."""
    monkeypatch.chdir(tmp_path)
    deep = "top" + "/a" * 1_200
    for depth in range(3, len(deep) + 1, 2):
        Path(deep[:depth]).mkdir()
    Path(deep, "g.yaml").write_text(GOOD)
    try:
        assert find_files(["top"]) == [f"{deep}/g.yaml"]
    finally:  # what tidies up after tests can't go so deep
        Path(deep, "g.yaml").unlink()
        os.removedirs(deep)


TAKEN = [("Makefile", "text"), (".env", "text"), ("package.json", "json"), ("notes.md", "markdown"), ("x.txt", "github")]


@run_each(("name", "form"), [*TAKEN, *((name, "json") for name in ("new.yaml", ".bashrc", "../up.json"))])
def test_a_project_file_takes_and_makes_no_file_of_another_kind_or_place(files: Files, command: Command, name: str, form: str) -> None:
    made = files(inner__deploy__bad=BAD)
    (made / ".git").mkdir(exist_ok=True)
    for taken, _ in TAKEN:
        (made / "inner" / taken).write_text("mine\n")
    (made / "inner" / PROJECT).write_text(f"paths: [deploy]\noutputs: {{{form}: {name}}}\n")
    before = sorted(made.rglob("*"))
    ran = command("check", "inner/deploy")
    assert (ran.code, sorted(made.rglob("*"))) == (2, before)
    assert f"inner/{PROJECT}:2: outputs.{form}: must " in ran.err
    assert {(made / "inner" / taken).read_text() for taken, _ in TAKEN} == {"mine\n"}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("text", [BAD, GOOD], ids=["findings", "clean"])
def test_a_project_file_replaces_its_earlier_reports(files: Files, command: Command, form: str, text: str) -> None:
    made = files(deploy__g=text)
    for suffix in SUFFIXES[form]:
        file = made / f"report{suffix}"
        (made / PROJECT).write_text(f"paths: [deploy]\noutputs: {json.dumps({form: file.name})}\n")
        codes = {command("check", *words).code for words in ((), (), ("-q",), (), ("--answer", "--color=always"), ())}
        assert codes == {int(text is BAD)}
        assert file.exists()
    assert set(SUFFIXES) == set(FORMATS)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _names() -> list[str]:
    return sorted(file.name for file in Path().iterdir())


def test_a_file_is_made_with_the_mode_that_any_new_file_has() -> None:
    Path("other").write_text("")
    replace_file("new", "é\n")
    assert Path("new").read_bytes() == "é\n".encode()
    assert Path("new").stat().st_mode == Path("other").stat().st_mode
    assert _names() == ["new", "other"]


def test_an_old_file_keeps_its_mode_a_link_its_target_and_a_reader_the_old_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its owner, where that may be given."""
    Path("old").write_text("old")
    Path("old").chmod(0o640)
    Path("link").symlink_to("old")
    before, given = Path("old").stat(), []

    def give(_: int, user: int, group: int) -> None:
        given.append((user, group))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", give)
    with Path("old").open() as reading:
        replace_file("link", "new")
        assert (reading.read(), Path("old").read_text()) == ("old", "new")
    assert given == [(before.st_uid, before.st_gid)]
    assert stat.S_IMODE(Path("old").stat().st_mode) == 0o640
    assert Path("link").is_symlink()


def test_a_stream_is_written_to(here: Path) -> None:
    reading, writing = os.pipe()
    try:
        replace_file(f"/dev/fd/{writing}", b"through a pipe")
        assert os.read(reading, 100) == b"through a pipe"
    finally:
        os.close(reading)
        os.close(writing)
    with Path("redirected").open("wb") as out:
        replace_file(f"/dev/fd/{out.fileno()}", b"by its number")
        assert os.fstat(out.fileno()).st_ino == Path("redirected").stat().st_ino
    assert Path("redirected").read_bytes() == b"by its number"
    replace_file(os.devnull, b"gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("no/such/file", "its folder does not exist"),
        ("here", "Is a directory"),
        ("circle", "Too many levels of symbolic links"),
        ("a" * 300, "File name too long"),
        ("a/b", "Not a directory"),
        ("", "Is a directory"),
        ("zero\0", "it is no usable path"),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing_behind(file: str, reason: str) -> None:
    Path("here").mkdir()
    Path("circle").symlink_to("circle")
    Path("a").write_text("")
    before = _names()
    with pytest.raises(UsageError, match=f"can't be written: {reason}"):
        replace_file(file, "x")
    assert _names() == before


def test_what_fails_half_way_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    Path("a").write_text("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="a can't be written: No space left on device"):
        replace_file("a", "new")
    assert (_names(), Path("a").read_text()) == (["a"], "old")
