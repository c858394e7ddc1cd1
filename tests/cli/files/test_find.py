"""Which files a run reads: folders, globs, lists and exclusions, each file once and in a stable order.

And `check -k`: what a kustomization renders to is checked, whichever program renders it.
"""

import errno
import os
import socket
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import pytest

from dynamo_webhooks.cli.console.exits import UsageError
from dynamo_webhooks.cli.files import documents
from dynamo_webhooks.cli.files.documents import read_documents
from dynamo_webhooks.cli.files.find import find_files, read_file_list
from dynamo_webhooks.cli.yaml.load import InputError, Source
from tests.cli.conftest import Command, Files, write_program
from tests.cli.samples import BAD, BAD_RULE, BY_DEFAULT, GOOD
from tests.rows import run_each


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.yaml", "a.yml", "c.json", "notes.txt", "sub/z.yaml", "sub/deep/a.yaml", ".git/x.yaml", ".hidden.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@run_each(
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
    files = find_files(paths, excluded)
    assert files == wanted


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


def _said(entries: list[str | InputError]) -> list[str]:
    return [str(entry) for entry in entries if isinstance(entry, InputError)]


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
    entries = find_files(["."])
    ends = ": is a pipe, a socket or a device; name it itself if it is to be read"
    assert _said(entries) == [f"{name}.yaml{ends}" for name in ("also", "pipe", "socket")]
    assert [entry for entry in entries if isinstance(entry, str)] == ["itself.yaml", "nowhere.yaml"]
    read = [next(iter(read_documents(entry, ""))) for entry in entries if isinstance(entry, str)]
    assert list(map(str, read)) == ["itself.yaml: can't be read: Too many levels of symbolic links", "nowhere.yaml: does not exist"]
    assert find_files(["pipe.yaml"]) == ["pipe.yaml"]


def test_a_file_or_folder_that_vanishes_or_is_locked_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def failing(path: str) -> Any:
        if path.endswith("deep"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    entries = find_files(["sub"])
    assert [str(entry) for entry in entries] == ["sub/z.yaml", "sub/deep: may not be read (permission denied)"]
    assert find_files(["sub"], ["deep"]) == ["sub/z.yaml"]
    assert find_files(["sub/*/a.yaml", "sub/z.yaml"], [])[-1] == "sub/z.yaml"
    (tree / "sub" / "z.yaml").unlink()
    assert [str(error) for error in read_documents("sub/z.yaml", "")] == ["sub/z.yaml: does not exist"]


def test_odd_names_are_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = sorted(os.fsdecode(name) for name in (b"a\nb.yaml", b"\xff.yaml", b"-.yaml", b"*.yaml", b" .yaml", b"BB.YAML", b"CC.Json"))
    for name in names:
        Path(name).write_text("")
    assert find_files(["."]) == names
    assert find_files(["*.yaml"]) == ["*.yaml"]
    assert find_files(["?.yaml"]) == [name for name in names if len(name) == 6]


@run_each("path", ["", "a\0b", "x" * 300, "/".join(["x" * 200] * 40), "x" * 300 + "*", "*/" * 3000])
def test_a_path_that_no_file_can_have_is_an_error_in_its_place(tree: Path, path: str) -> None:
    [entry] = find_files([path])
    [message] = [str(entry)] if isinstance(entry, InputError) else map(str, read_documents(entry, ""))
    assert message.partition(": ")[2] in ("is not a usable path", "can't be read: File name too long", "matches no files")


@pytest.mark.parametrize("path", [".", "**/*.yaml"])
def test_a_link_to_a_folder_elsewhere_is_said_and_not_followed(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "x.yaml").write_text("")
    (tree / "sub" / "out").symlink_to(elsewhere)
    (tree / "sub" / ".hidden").symlink_to(elsewhere)
    assert not [file for file in find_files([path]) if "out" in str(file)]
    assert capsys.readouterr().err == "sub/out: is a link to a folder, and is skipped; name it itself if it is to be read\n"
    assert find_files(["sub/out"]) == ["sub/out/x.yaml"]


def test_a_file_of_broken_documents_is_searched_for_templates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns: list[str] = []
    monkeypatch.setattr(documents, "re", SimpleNamespace(search=lambda *words: patterns.append(words[0])))
    errors = list(read_documents(Source("a.yaml", "---\na: [\n" * 50), ""))
    assert len(errors) == 50
    assert patterns == [documents._TEMPLATE]


PRINTING = 'while IFS= read -r line; do printf "%s\\n" "$line"; done < "$2/out.yaml"'


@pytest.mark.parametrize(("name", "words"), [("kustomize", "kustomize build"), ("kubectl", "kubectl kustomize")])
def test_the_rendered_text_is_checked(command: Command, files: Files, programs: Path, name: str, words: str) -> None:
    write_program(programs, name, f'echo "$0 $1" > called\n{PRINTING}')
    files(prod__out=f"# rendered\n{BAD}---\n{GOOD}")
    ran = command("check", "-k", "prod")
    assert ran.code == 1
    assert ran.out.startswith(f"kustomize:prod:11:7 error {BAD_RULE}")
    summary = f"2 objects {BY_DEFAULT}: 1 error\n"
    assert ran.err == f"kustomize:prod: lines are those that `{words} prod` prints\n{summary}"
    assert Path("called").read_text() == f"{programs / name} {words.split()[1]}\n"
    assert command("check", "-k", "prod", "-q").err == ""
    assert command("check", "-k", "prod", "-q", "-v").err == "reading kustomize:prod\n"


def test_kustomize_itself_comes_first_and_folders_go_with_files(command: Command, files: Files, programs: Path) -> None:
    write_program(programs, "kustomize", PRINTING)
    write_program(programs, "kubectl", "exit 1")
    files(a__out=BAD, b__out=GOOD, c=BAD)
    report = command("check", "-k", "b", "-k", "a", "-k", "a", "c.yaml", "-o", "json").json
    assert [finding["file"] for finding in report["findings"]] == ["c.yaml", "kustomize:a"]
    assert report["summary"]["objects"] == 3


@run_each(
    ("script", "sentence"),
    [
        ("echo Warning: old >&2; echo 'Error: no such base' >&2; exit 1", "kustomize:prod: can't be rendered: no such base"),
        (
            'echo \'E1121 18:30:58.8 1 run.go:72] "command failed" err="unable to find \\"x\\""\' >&2; exit 1',
            'kustomize:prod: can\'t be rendered: unable to find "x"',
        ),
        (
            "printf 'E1123 run.go:72] \"failed\" err=<\\n\\ttrouble: `\\n\\ta: b\\n\\t`: must specify --enable-helm\\n >\\n' >&2; exit 1",
            "kustomize:prod: can't be rendered: trouble: ` a: b `: must specify --enable-helm",
        ),
        ("exit 3", "kustomize:prod: can't be rendered: no reason given"),
        ("printf '\\377'", "kustomize:prod:1:1: must be UTF-8, found the byte 0xff"),
        ("echo 'a: ['", "kustomize:prod:2:1: a value is required here"),
    ],
)
def test_what_cannot_be_rendered_is_unreadable_in_one_sentence(
    command: Command, files: Files, programs: Path, script: str, sentence: str
) -> None:
    write_program(programs, "kustomize", script)
    files(a=GOOD)
    ran = command("check", "-k", "prod", "a.yaml", "-q")
    assert (ran.code, ran.err) == (4, sentence + "\n")


def test_a_program_that_does_not_start_is_unreadable(command: Command, programs: Path) -> None:
    (programs / "kustomize").write_bytes(b"\x7fELF")
    (programs / "kustomize").chmod(0o755)
    ran = command("check", "-k", "prod", "-q")
    assert (ran.code, ran.err) == (4, "kustomize:prod: kustomize can't be run: Exec format error\n")


REPOSITORY = "github.com/example/repository"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-k", "prod"], "-k needs kustomize or kubectl, and neither can be found"),
        (["-k", ""], "-k '': must be a folder with a kustomization"),
        (["-k=--enable-helm"], "-k '--enable-helm': must be a folder with a kustomization"),
        (
            ["-k", f"https://user:hunter2@{REPOSITORY}"],
            f"-k https://{REPOSITORY}: must be a local folder; nothing is fetched, so clone it first",
        ),
    ],
)
def test_without_a_program_or_folder_it_is_wrong_usage(command: Command, programs: Path, words: list[str], sentence: str) -> None:
    ran = command("check", *words)
    assert (ran.code, ran.err) == (2, f"dynamo-webhooks check: {sentence}\n")


ADDRESSES = [
    "HTTP://localhost:1/crds.yaml",
    "https://user:hunter2@localhost:1/crds.yaml",
    "github.com/example/repository//base?ref=v1",
    "git@example.com:example/repository",
    "git::https://example.com/repository",
    "gh:example/repository",
    "../x/repository.git//base",
    "example.com/repository?ref=main",
]
ADDRESS = "https://localhost:1/x.yaml"
GENERATOR = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: c}\nfiles: ['http://localhost:1/x']\n"
# a kustomization that two others include, and what is said of it
REFUSED = [
    *((f"resources:\n- {address}\n", "2:3: resources[0] must be a local file or folder, got ") for address in ADDRESSES),
    # in every field that names files
    (f"bases: [{ADDRESS}]\n", "1:9: bases[0] must be"),
    (f"components: [{ADDRESS}]\n", "1:14: components[0] must be"),
    (f"patches: [{{path: '{ADDRESS}'}}]\n", "1:18: patches[0].path must be"),
    (f"patchesStrategicMerge: ['{ADDRESS}']\n", "1:25: patchesStrategicMerge[0] must be"),
    (f"configMapGenerator: [{{name: c, files: ['key={ADDRESS}']}}]\n", "1:40: configMapGenerator[0].files[0] must be"),
    (f"secretGenerator: [{{name: c, envs: ['{ADDRESS}']}}]\n", "1:36: secretGenerator[0].envs[0] must be"),
    (f"openapi: {{path: '{ADDRESS}'}}\n", "1:17: openapi.path must be"),
    ("Resources: ['http://localhost:1/x']\n", "1:13: Resources[0] must be"),  # kustomize reads names in any case
    ("re\u017fources: ['http://localhost:1/x']\n", "1:13: re\u017fources[0] must be"),
    ("resources: [a]\nresources: ['http://localhost:1/x']\n", '2:1: duplicate key "resources"'),  # and takes the last
    (f"generators:\n- |\n{indent(GENERATOR, '  ')}", "2:3: generators[0].files[0] must be"),
    ('transformers: [\'{"path": "http://localhost:1/x"}\']\n', "1:16: transformers[0].path must be"),
    ("generators: ['a: [']\n", "1:14: generators[0]: a value is required here"),
]


@run_each(("text", "message"), REFUSED)
def test_what_would_be_fetched_is_refused_before_anything_runs(
    command: Command, files: Files, programs: Path, text: str, message: str
) -> None:
    write_program(programs, "kustomize", "echo called > called")
    files(prod__kustomization="resources: [../base]\n", base__kustomization="resources: [../prod, deep]\n", base__deep__kustomization=text)
    Path("base", "deep", "apiVersion: builtin").write_text("")  # the first line of a text, which is none the less no file
    ran = command("check", "-k", "prod", "-q")
    assert ran.code == 4
    assert ran.err.startswith(f"prod/../base/deep/kustomization.yaml:{message}")
    assert "hunter2" not in ran.err
    assert not Path("called").exists()


def test_generators_of_a_folder_are_looked_at(command: Command, files: Files, programs: Path) -> None:
    write_program(programs, "kustomize", PRINTING)
    files(prod__kustomization="generators: [../made]\n", made__kustomization="resources: [g.yaml]\n", made__g=GENERATOR)
    assert "made/g.yaml:4:9: files[0] must be a local file or folder" in command("check", "-k", "prod", "-q").err
    # what is no generator may say what it likes, and so may the files of one
    local = "generators: ['{\"files\": [\"data\"]}', '@g.yaml']\n"
    files(made__kustomization=local, prod__kustomization="resources: [../made, x.yaml]\n", prod__out=GOOD, prod__x=GENERATOR)
    Path("made", "data").write_text("a: [")
    Path("made", "@g.yaml").write_text("files: [data]\n")
    ran = command("check", "-k", "prod", "-q")
    assert (ran.code, ran.err) == (0, "")


def test_what_is_local_is_rendered(command: Command, files: Files, programs: Path) -> None:
    """A file may have a name that looks like an address or is too long, and an inline patch or a literal may hold one."""
    write_program(programs, "kustomize", PRINTING)
    patch = (
        "patches: [{patch: '{\"a\": \"https://localhost:1/x\"}'}]\nconfigMapGenerator: [{name: c, literals: ['a=https://localhost:1/x']}]\n"
    )
    files(prod__out=GOOD, prod__kustomization=f"resources: [{'a' * 5_000}]\ngenerators: [{'b' * 5_000}]\n")
    assert command("check", "-k", "prod", "-q") == (0, "", "")
    files(prod__kustomization=f"resources: [out.yaml, 'a@b:c', ../x.git/]\n{patch}")
    Path("prod", "a@b:c").write_text(GOOD)
    assert "resources[2]" in command("check", "-k", "prod", "-q").err
    files(prod__kustomization=f"resources: [out.yaml, 'a@b:c']\n{patch}")
    assert (command("check", "-k", "prod", "-q").code, command("check", "-k", "prod", "-q").err) == (0, "")


def test_the_program_itself_may_not_reach_a_network(command: Command, files: Files, programs: Path) -> None:
    write_program(programs, "kustomize", f'echo "$https_proxy $HTTP_PROXY $NO_PROXY $GIT_ALLOW_PROTOCOL" > called\n{PRINTING}')
    files(prod__out=GOOD)
    assert command("check", "-k", "prod", "-q").code == 0
    assert Path("called").read_text() == "http://127.0.0.1:1 http://127.0.0.1:1  none\n"
