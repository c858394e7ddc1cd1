"""Inputs of `check`: what can't be read is one sentence and exit code 4, and the others are checked; lists of paths, standard input."""

import io
import os
import sys

import pytest

from dynamo_webhooks.cli.files import read as reading
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, BY_DEFAULT, GOOD
from tests.rows import run_each


@run_each(
    ("content", "sentence"),
    [
        (b"\x7fELF\x02\x01\x00\x00", "raw:1:7: is binary (it holds a zero byte), not YAML or JSON"),
        (b"a: 1\nb: \xff\n", "raw:2:4: must be UTF-8, found the byte 0xff"),
        (b"\xef\xbb\xbfa: \xe9\n", "raw:1:4: must be UTF-8, found the byte 0xe9"),
        ("a: 1".encode("utf-16"), "raw: must be UTF-8, is UTF-16"),
        (b"a: \xed\xa0\x80", "raw:1:4: must be UTF-8, found the byte 0xed"),
        (b"a: b: c", "raw:1:5: a colon with a blank is not allowed here; check the indentation, or quote the value"),
        (b'{"a":' * 100_000, "raw:1:1001: must not be nested deeper than 200 levels"),
    ],
)
def test_a_file_that_is_no_yaml(command: Command, files: Files, content: bytes, sentence: str) -> None:
    files(raw=content, bad=BAD)
    ran = command("check", "raw", "bad.yaml", "-q")
    assert ran.code == 4
    assert ran.err == f"{sentence}\n"
    assert ran.out.startswith("bad.yaml:10:7 error")


def test_what_is_beyond_the_limit_is_not_even_read(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(good=GOOD)
    with (folder / "huge.yaml").open("wb") as file:
        file.truncate(100 * 2**20)
    assert command("check", "huge.yaml") == (4, "", f"huge.yaml: is larger than 32 MiB\n0 objects {BY_DEFAULT}: 1 unreadable\n")
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"#" * 1001)))
    assert command("check", "-").err.startswith("-: is larger than")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("none.yaml", "none.yaml: does not exist"),
        ("none/*.yaml", "none/*.yaml: matches no files"),
        ("good.yaml/x", "good.yaml/x: can't be read: Not a directory"),
        ("empty", "empty: holds no YAML or JSON files"),
    ],
)
def test_a_path_that_means_nothing(command: Command, files: Files, path: str, sentence: str) -> None:
    folder = files(good=GOOD)
    (folder / "empty").mkdir()
    ran = command("check", path, "good.yaml")
    assert ran.code == 4
    assert ran.err == f"{sentence}\n1 object {BY_DEFAULT}: 1 unreadable\n"


def test_a_file_that_may_not_be_read(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files(secret=GOOD)

    def refuse(file: str, *_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied", file)  # chmod would not keep root out

    monkeypatch.setattr(os, "open", refuse)
    assert command("check", "secret.yaml", "-q") == (4, "", "secret.yaml: may not be read (permission denied)\n")


@run_each(
    "content", [b"", b"\n", b"---\n", b"null\n", b"# c\n", b"\xef\xbb\xbf", b"5\n", b"- a\n", b"text\n", b"kind: 5\napiVersion: []\n"]
)
def test_what_holds_no_object_is_no_error_but_no_success(command: Command, files: Files, content: bytes) -> None:
    files(a=content)
    ran = command("check", "a.yaml", "-q")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "no Dynamo object (group nvidia.com) found; --allow-empty accepts that\n"


WRONG = ["null", "5", "[]", "{}", "text", "[null]", "{a: null}", "{'': 1}", "true", "[[[]]]", "-1e308", "!!binary AA=="]
PLACES = ["metadata", "metadata.name", "metadata.labels", "spec", "spec.services", "spec.services.w", "spec.services.w.extraPodSpec"]


@pytest.mark.parametrize("kind", ["DynamoGraphDeployment", "DynamoModel", "DynamoCheckpoint"])
@run_each("place", PLACES)
def test_a_wrong_value_anywhere_is_a_finding_and_no_crash(command: Command, files: Files, kind: str, place: str) -> None:
    steps = place.split(".")
    for wrong in WRONG:
        text = f"apiVersion: nvidia.com/v1alpha1\nkind: {kind}\n" + "".join(f"{'  ' * i}{step}:\n" for i, step in enumerate(steps))
        files(a=text.rstrip() + f" {wrong}\n")
        for words in ([], ["--no-schema"], ["--old", "a.yaml"]):
            assert command("check", "a.yaml", "-o", "json", *words).code in (0, 1, 4), (wrong, words)


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("%YAML 1.2\n---\n", "", "a.yaml:1:1"),
        ("\n# a\n%YAML 1.2\n---\n", "", "a.yaml:3:1"),
        ("", "---\njust a text\n", "a.yaml:13:1"),
        ("", "---\n- 1\n", "a.yaml:13:1"),
    ],
)
def test_what_kubectl_does_not_read_beside_an_object_is_unreadable(
    command: Command, files: Files, before: str, after: str, place: str
) -> None:
    files(a=f"{before}{GOOD}{after}", b=f"{after}{before}")
    ran = command("check", "-q", "a.yaml", "b.yaml")
    assert (ran.code, ran.out) == (4, "")
    assert [line.partition(" must ")[0] for line in ran.err.splitlines()] == [f"{place}:"]


@pytest.mark.parametrize("words", [("check",), ("default",), ("convert", "--to", "v1beta1"), ("render", "-q")])
def test_beside_an_unreadable_file_nothing_is_missed(command: Command, files: Files, words: tuple[str, ...]) -> None:
    files(bad="a: [\n", other="kind: X\n")
    for paths in (["bad.yaml"], ["bad.yaml", "other.yaml"], ["missing.yaml"]):
        ran = command(*words, *paths)
        assert ran.code == 4
        assert "found" not in ran.err, ran.err
    ran = command(*words, "other.yaml")
    assert ran.code == 3
    assert "found; --allow-empty accepts that" in ran.err


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What standard input holds."""
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    return data


def _fill(stdin: io.BytesIO, text: bytes) -> None:
    stdin.seek(0)
    stdin.write(text)
    stdin.seek(0)


def test_standard_input_has_the_name_that_it_is_given(command: Command, stdin: io.BytesIO) -> None:
    for words, name in (([], "-"), (["--stdin-name", "deploy.yaml"], "deploy.yaml")):
        _fill(stdin, BAD.encode())
        assert command("check", "-", "-q", *words).out.startswith(f"{name}:10:7 error")


def test_paths_come_from_standard_input(command: Command, files: Files, stdin: io.BytesIO) -> None:
    files(a=GOOD, b=BAD)
    _fill(stdin, b"a.yaml\r\n./b.yaml\n\n")
    ran = command("check", "--files-from", "-", "b.yaml", "-o", "json")
    assert [finding["file"] for finding in ran.json["findings"]] == ["b.yaml"]
    assert ran.json["summary"]["objects"] == 2
    _fill(stdin, b"\n" * 20)
    assert command("check", "--files-from", "-").code == 3


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
