"""Where reports go: stdout or files, several at once, written whole or not at all; colours by flag, variable and terminal; stable bytes."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from dynamo_webhooks.cli.main import main
from dynamo_webhooks.cli.project.reports import FORMATS
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BY_DEFAULT, GOOD
from tests.rows import run_each

COLOURED = "\x1b[31;1merror\x1b[0m"


def test_several_reports_are_written_in_one_run(command: Command, files: Files) -> None:
    folder = files(a=BAD)
    summary = f"1 object {BY_DEFAULT}: 1 error\n"
    alone = {form: command("check", "a.yaml", "-o", form) for form in FORMATS}
    assert {form for form, ran in alone.items() if ran.err != summary} == {"json", "jsonl"}, "they have the summary"
    wanted = {form: ran.out for form, ran in alone.items()}
    (folder / "json.out").write_text("what was there before " * 1000)
    (folder / "json.out").chmod(0o640)
    ran = command("check", "a.yaml", "-o", "text", *(word for form in FORMATS for word in ("-o", f"{form}={form}.out")))
    assert (ran.code, ran.out) == (1, wanted["text"])
    assert {form: (folder / f"{form}.out").read_text() for form in FORMATS} == wanted
    assert (ran.err, (folder / "json.out").stat().st_mode & 0o777) == (summary, 0o640)
    assert command("check", "a.yaml", "-q").err == ""
    for form in FORMATS[1:]:
        assert command("check", "a.yaml", "-o", form, "--color", "always").out == wanted[form], "only text has colours"


@pytest.mark.parametrize(
    ("words", "report"),
    [
        (["a.yaml"], "a.yaml"),
        (["link.yaml"], "a.yaml"),
        (["a.yaml", "--old", "old.yaml"], "old.yaml"),
        (["a.yaml", "--facts", "facts.yaml"], "./facts.yaml"),
        (["--files-from", "list.yaml"], "list.yaml"),
        (["--files-from", "list.yaml"], "a.yaml"),
        (["."], "a.yaml"),
        (["*.yaml", "--fix"], "./old.yaml"),
        (["a.yaml", "--baseline", "new.json", "--update-baseline"], "new.json"),
    ],
)
def test_a_report_takes_the_place_of_nothing_that_the_run_needs(command: Command, files: Files, words: list[str], report: str) -> None:
    folder = files(a=BAD, old=GOOD, facts="grove: true\n", list="a.yaml\n")
    (folder / "link.yaml").symlink_to("a.yaml")
    before = {file.name: file.read_text() for file in folder.iterdir()}
    ran = command("check", *words, "-o", f"json={report}")
    sentence = f"-o json={report}: the report would take the place of a file that this run needs; name another"
    assert ran == (2, "", f"dynamo-webhooks check: {sentence}\n")
    assert {file.name: file.read_text() for file in folder.iterdir()} == before


def test_a_report_may_take_the_place_of_an_earlier_one(command: Command, files: Files) -> None:
    folder = files(a=BAD)
    reports = []
    for _ in range(2):
        assert command("check", ".", "-o", "json=report.json").code == 1
        reports.append(json.loads((folder / "report.json").read_text())["findings"])
    assert reports[0] == reports[1]


def test_a_report_that_can_not_be_written_keeps_no_other_back(command: Command, files: Files) -> None:
    folder = files(a=BAD)
    ran = command("check", "a.yaml", "-o", f"sarif={'x' * 300}", "-o", "json=report", "-o", "text")
    assert ran.code == 2
    assert ran.out == command("check", "a.yaml").out
    assert (folder / "report").exists()
    assert ran.err.startswith("dynamo-webhooks check: -o sarif: ")
    assert "can't be written" in ran.err


@run_each("form", [form for form in FORMATS if form != "text"])
def test_reports_for_programs_are_utf_8_whatever_the_terminal_speaks(files: Files, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    folder = files(a=BAD.replace("name: bad", "name: é😀"))
    printed = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(printed, encoding="ascii"))
    assert main(["check", "a.yaml", "-o", form]) == 1
    assert main(["check", "a.yaml", "-o", f"{form}=report"]) == 1
    assert printed.getvalue() == (folder / "report").read_bytes()
    assert "é😀" in (folder / "report").read_text(encoding="utf-8")


@run_each(
    ("words", "variables", "coloured"),
    [
        ([], {}, False),
        ([], {"TERM": "xterm"}, True),  # on a terminal
        ([], {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        ([], {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": ""}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_in_a_pipe_and_on_a_terminal(
    command: Command, files: Files, monkeypatch: pytest.MonkeyPatch, words: list[str], variables: dict[str, str], coloured: bool
) -> None:
    files(a=BAD)
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: "TERM" in variables)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (COLOURED in command("check", "a.yaml", *words).out) is coloured
    assert (COLOURED in command("check", "-q", "a.yaml", *words).out) is coloured
    command("check", "a.yaml", "-o", "text=report", *words)
    assert (COLOURED in Path("report").read_text()) is (words == ["--color", "always"]), "a file only when the flag says so"
