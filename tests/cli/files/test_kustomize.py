"""`check -k`: what a kustomization renders to is checked, whichever program renders it."""

import re
from pathlib import Path
from textwrap import indent

import pytest

from tests.cli.conftest import Command, Files, write_program
from tests.cli.samples import BAD, BAD_RULE, GOOD

PRINTING = 'while IFS= read -r line; do printf "%s\\n" "$line"; done < "$2/out.yaml"'


@pytest.mark.parametrize(("name", "words"), [("kustomize", "kustomize build"), ("kubectl", "kubectl kustomize")])
def test_the_rendered_text_is_checked(command: Command, files: Files, programs: Path, name: str, words: str) -> None:
    write_program(programs, name, f'echo "$0 $1" > called\n{PRINTING}')
    files(prod__out=f"# rendered\n{BAD}---\n{GOOD}")
    ran = command("check", "-k", "prod")
    assert ran.code == 1
    assert ran.out.startswith(f"kustomize:prod:11:7 error {BAD_RULE}")
    told = "2 objects checked by line 1.6 (the default; --line names another): 1 error\n"
    assert ran.err == f"kustomize:prod: lines are those that `{words} prod` prints\n{told}"
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


@pytest.mark.parametrize(
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


REMOTE = [
    "https://localhost:1/crds.yaml",
    "HTTP://localhost:1/crds.yaml",
    "https://user:hunter2@localhost:1/crds.yaml",
    "github.com/example/repository//base?ref=v1",
    "git@example.com:example/repository",
    "git::https://example.com/repository",
    "gh:example/repository",
    "ssh://git@example.com/repository",
    "file:///srv/repository",
    "../x/repository.git//base",
    "example.com/repository?ref=main",
]


@pytest.mark.parametrize("address", REMOTE)
def test_what_would_be_fetched_is_refused_before_anything_runs(command: Command, files: Files, programs: Path, address: str) -> None:
    write_program(programs, "kustomize", "echo called > called")
    files(prod__kustomization=f"resources:\n- ../base\n- {address}\n", base__kustomization="resources: [a.yaml]\n", base__a=GOOD)
    ran = command("check", "-k", "prod", "-q")
    assert ran.code == 4
    assert ran.err.startswith("prod/kustomization.yaml:3:3: resources[1] must be a local file or folder, got ")
    assert "hunter2" not in ran.err
    assert not Path("called").exists()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("bases: [{}]\n", "bases[0]"),
        ("components: [{}]\n", "components[0]"),
        ("patches: [{{path: '{}'}}]\n", "patches[0].path"),
        ("patchesStrategicMerge: ['{}']\n", "patchesStrategicMerge[0]"),
        ("configMapGenerator: [{{name: c, files: ['key={}']}}]\n", "configMapGenerator[0].files[0]"),
        ("secretGenerator: [{{name: c, envs: ['{}']}}]\n", "secretGenerator[0].envs[0]"),
        ("openapi: {{path: '{}'}}\n", "openapi.path"),
    ],
)
def test_every_field_that_names_files_is_looked_at_in_everything_that_is_included(
    command: Command, files: Files, programs: Path, text: str, field: str
) -> None:
    write_program(programs, "kustomize", "echo called > called")
    address = "https://localhost:1/x.yaml"
    files(
        prod__kustomization="resources: [../base]\n",
        base__kustomization="resources: [../prod, deep]\n",
        base__deep__kustomization=text.format(address),
    )
    ran = command("check", "-k", "prod", "-q")
    file = "prod/../base/deep/kustomization.yaml"
    assert ran.code == 4
    assert re.match(rf"{re.escape(file)}:1:\d+: {re.escape(field)} must be a local file or folder", ran.err)
    assert not Path("called").exists()


GENERATOR = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: c}\nfiles: ['http://localhost:1/x']\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Resources: ['http://localhost:1/x']\n", "1:13: Resources[0] must be"),  # kustomize reads names in any case
        ("re\u017fources: ['http://localhost:1/x']\n", "1:13: re\u017fources[0] must be"),
        ("resources: [a]\nresources: ['http://localhost:1/x']\n", '2:1: duplicate key "resources"'),  # and takes the last
        (f"generators:\n- |\n{indent(GENERATOR, '  ')}", "2:3: generators[0].files[0] must be"),
        ('transformers: [\'{"path": "http://localhost:1/x"}\']\n', "1:16: transformers[0].path must be"),
        ("generators: ['a: [']\n", "1:14: generators[0]: a value is required here"),
    ],
)
def test_kustomize_reads_nothing_that_was_not_looked_at(command: Command, files: Files, programs: Path, text: str, place: str) -> None:
    write_program(programs, "kustomize", "echo called > called")
    files(prod__kustomization=text)
    Path("prod", "apiVersion: builtin").write_text("")  # the first line of a text, which is none the less no file
    ran = command("check", "-k", "prod", "-q")
    assert (ran.code, ran.err.partition(":")[2][: len(place)]) == (4, place)
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
