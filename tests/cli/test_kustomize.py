"""`check -k`: what a kustomization renders to is checked, whichever program renders it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.objects import BAD, BAD_RULE, GOOD


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs, empty."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


PRINTING = 'while IFS= read -r line; do printf "%s\\n" "$line"; done < "$2/out.yaml"'


@pytest.mark.parametrize(("name", "words"), [("kustomize", "kustomize build"), ("kubectl", "kubectl kustomize")])
def test_the_rendered_text_is_checked(command: Command, files: Files, programs: Path, name: str, words: str) -> None:
    _program(programs, name, f'echo "$0 $1" > called\n{PRINTING}')
    files(prod__out=f"# rendered\n{BAD}---\n{GOOD}")
    ran = command("check", "-k", "prod")
    assert ran.code == 1
    assert ran.out.startswith(f"kustomize:prod:11:7 error {BAD_RULE}")
    assert ran.err == f"kustomize:prod: lines are those that `{words} prod` prints\n2 objects checked: 1 error\n"
    assert Path("called").read_text() == f"{programs / name} {words.split()[1]}\n"
    assert command("check", "-k", "prod", "-q").err == ""
    assert command("check", "-k", "prod", "-q", "-v").err == "reading kustomize:prod\n"


def test_kustomize_itself_comes_first_and_folders_go_with_files(command: Command, files: Files, programs: Path) -> None:
    _program(programs, "kustomize", PRINTING)
    _program(programs, "kubectl", "exit 1")
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
        ("exit 3", "kustomize:prod: can't be rendered: no reason given"),
        ("printf '\\377'", "kustomize:prod:1:1: must be UTF-8, found the byte 0xff"),
        ("echo 'a: ['", "kustomize:prod:2:1: a value must stand here"),
    ],
)
def test_what_cannot_be_rendered_is_unreadable_in_one_sentence(
    command: Command, files: Files, programs: Path, script: str, sentence: str
) -> None:
    _program(programs, "kustomize", script)
    files(a=GOOD)
    ran = command("check", "-k", "prod", "a.yaml", "-q")
    assert (ran.code, ran.err) == (4, sentence + "\n")


def test_a_program_that_does_not_start_is_unreadable(command: Command, programs: Path) -> None:
    (programs / "kustomize").write_bytes(b"\x7fELF")
    (programs / "kustomize").chmod(0o755)
    ran = command("check", "-k", "prod", "-q")
    assert (ran.code, ran.err) == (4, "kustomize:prod: kustomize can't be run: Exec format error\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-k", "prod"], "-k needs kustomize or kubectl, and neither can be found"),
        (["-k", ""], "-k '': must be a folder with a kustomization"),
        (["-k=--enable-helm"], "-k '--enable-helm': must be a folder with a kustomization"),
    ],
)
def test_without_a_program_or_folder_it_is_wrong_usage(command: Command, programs: Path, words: list[str], sentence: str) -> None:
    ran = command("check", *words)
    assert (ran.code, ran.err) == (2, f"dynamo-webhooks check: {sentence}\n")
