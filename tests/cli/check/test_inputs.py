"""Which inputs of `check` go together, and how lists of paths and standard input come in."""

import io
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What standard input holds."""
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    return data


def _fill(stdin: io.BytesIO, text: bytes) -> None:
    stdin.write(text)
    stdin.seek(0)


def test_paths_come_from_standard_input(command: Command, files: Files, stdin: io.BytesIO) -> None:
    files(a=GOOD, b=BAD)
    _fill(stdin, b"a.yaml\r\n./b.yaml\n\n")
    ran = command("check", "--files-from", "-", "b.yaml", "-o", "json")
    assert [finding["file"] for finding in ran.json["findings"]] == ["b.yaml"]
    assert ran.json["summary"]["objects"] == 2


def test_a_list_that_names_nothing_finds_nothing(command: Command, files: Files, stdin: io.BytesIO) -> None:
    files(a=GOOD)
    _fill(stdin, b"\n")
    assert command("check", "--files-from", "-").code == 3
    assert command("check", "--files-from", "-", "--allow-empty").code == 0


@pytest.mark.parametrize(
    ("words", "listed", "both"),
    [
        (["--files-from", "-", "-"], b"", "both - and --files-from - ask for it"),
        (["--files-from", "-"], b"-\n", "both - and --files-from - ask for it"),
        (["--old", "-", "-"], b"", "both - and --old - ask for it"),
        (["--facts", "-", "--old", "-", "a.yaml"], b"", "--old - and --facts -"),
    ],
)
def test_standard_input_has_one_reader(
    command: Command, files: Files, stdin: io.BytesIO, words: list[str], listed: bytes, both: str
) -> None:
    files(a=GOOD)
    _fill(stdin, listed)
    ran = command("check", *words)
    assert (ran.code, ran.out) == (2, "")
    assert both in ran.err


def test_a_pipe_that_is_named_is_checked(command: Command) -> None:
    reading, writing = os.pipe()
    os.write(writing, BAD.encode())
    os.close(writing)
    try:
        ran = command("check", f"/dev/fd/{reading}", "-q")
    finally:
        os.close(reading)
    assert ran.out.startswith(f"/dev/fd/{reading}:10:7 error {BAD_RULE}")


def test_a_folder_with_a_pipe_is_checked_without_it(command: Command, files: Files) -> None:
    files(a=BAD)
    os.mkfifo("pipe.yaml")
    Path("circle").symlink_to(".")
    ran = command("check", ".", "-q")
    assert (ran.code, ran.err) == (4, "pipe.yaml: is a pipe, a socket or a device; name it itself if it is to be read\n")
    assert ran.out.count(BAD_RULE) == 1
    assert command("check", ".", "-q", "--exclude", "pipe.yaml").code == 1
