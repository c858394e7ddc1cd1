"""Flags in commands that users wrote, and the framework that a command calls."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.reconciler.render.framework import (
    add_flags,
    detect_frameworks,
    has_flag,
    is_python,
    join_shell,
    quote_word,
    read_flag,
)
from tests.rows import run_each

Fields = dict[str, Any]
_CALL = ["python3", "-m", "dynamo.vllm"]
_TEXT = "python -m dynamo.vllm"


def _shell(*args: str) -> Fields:
    return {"command": ["sh", "-c"], "args": [*args]}


@run_each(
    ("container", "shell", "want"),
    [
        ({"command": _CALL, "args": ["--a"]}, False, ["--a", "--x", "1"]),
        ({"command": ["/usr/bin/python3.11"], "args": ["-m", "dynamo.vllm"]}, False, ["-m", "dynamo.vllm", "--x", "1"]),
        ({"command": ["python"]}, False, ["--x", "1"]),
        ({"command": _CALL, "args": ["--j", '{"a": 1}']}, True, ['exec python3 -m dynamo.vllm --j "{\\"a\\": 1}" --x 1']),
        (_shell("cd / && python3 -m dynamo.vllm --a | tee log"), True, ["cd / && python3 -m dynamo.vllm --x 1 --a | tee log"]),
        (_shell("no", _TEXT, _TEXT), False, ["no", f"{_TEXT} --x 1", _TEXT]),
        ({"args": [f"{_TEXT} & {_TEXT}; wait"]}, False, [f"{_TEXT} --x 1 & {_TEXT} --x 1; wait"]),
        ({"args": ["exec python3 -mdynamo.vllm --a"]}, False, ["exec python3 -mdynamo.vllm --x 1 --a"]),
        ({"command": ["serve"], "args": ["--model", "m"]}, False, ["--model", "m"]),
    ],
)
def test_flags_stand_behind_the_call(container: Fields, shell: bool, want: list[str]) -> None:
    before = container.get("command")
    into_a_shell = shell and is_python(container)
    add_flags(container, "--x 1", "vllm", shell=shell)
    assert container["args"] == want
    assert container.get("command") == (["sh", "-c"] if into_a_shell else before)


@run_each(
    ("word", "want"),
    [
        ("plain-1.2/3:4=5,6", "plain-1.2/3:4=5,6"),
        ("a b", '"a b"'),
        ("it's", '"it\'s"'),
        ("a&b", '"a&b"'),
        ("", '""'),
        ('say "x"', '"say \\"x\\""'),
        ("$HOME", '"\\$HOME"'),
        ("a\\b", '"a\\\\b"'),
        ("`x`", '"\\`x\\`"'),
        ("{1}", '"{1}"'),
    ],
)
def test_words_are_quoted_where_a_shell_would_change_them(word: str, want: str) -> None:
    assert quote_word(word) == want
    assert join_shell([word, "x"]) == f"{want} x"


WORDS = (
    "a b",
    "it's",
    'say "x"',
    "$HOME",
    "$(id)",
    "a\\b",
    "`x`",
    "{1,2}",
    "a&b",
    "a|b;c",
    "(d)",
    "<e>",
    "",
    "tab\there",
    "a\nb",
    "!x",
    "[f]",
)


@pytest.mark.parametrize("line", [join_shell(WORDS), f"sh -c {shlex.quote(f'show {join_shell(WORDS)}')}"])
def test_a_shell_reads_the_same_words_again(line: str, tmp_path: Path) -> None:
    """Also a line within a line, as one that MPI starts."""
    program = tmp_path / "show"
    program.write_text("#!/bin/sh\nfor word; do printf '%s\\036' \"$word\"; done\n")
    program.chmod(0o755)
    shell = shutil.which("sh")
    assert shell
    line = line if line.startswith("sh -c") else f"show {line}"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([shell, "-c", line], env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\036")[:-1] == list(WORDS)


@run_each(
    ("args", "want"),
    [(["--n", "4"], 4), (["run --n 8 --m"], 8), (["--n=4"], 1), (["--n", "x"], 1), (["--n"], 1), ([], 1), (["--n", "9" * 20], 1)],
)
def test_values_of_flags_are_whole_numbers_or_one(args: list[str], want: int) -> None:
    assert read_flag({"args": args}, "--n") == want


@run_each("line", ["python -m " * 40_000, "python dynamo. " * 40_000, "python -m dynamo.vll " * 40_000])
def test_a_line_that_is_long_on_purpose_is_read_once(line: str) -> None:
    """Searching it over and over would take hours, and nothing else would be reconciled meanwhile."""
    main = {"name": "main", "command": ["/bin/sh", "-c"], "args": [line]}
    assert detect_frameworks({"type": "worker", "podTemplate": {"spec": {"containers": [main]}}}) == []
    add_flags(main, "--x", "vllm")
    assert main["args"] == [line]


def test_flags_are_whole_words() -> None:
    assert has_flag({"args": ["run --enable-x"]}, "--enable-x")
    assert not has_flag({"args": ["--enable-xy"]}, "--enable-x")
    assert not has_flag({}, "--enable-x")


@run_each(
    ("command", "want"),
    [(["python"], True), (["python3.11"], True), (["/a/b/python3"], True), (["pythonic"], False), (["sh", "python"], False), ([], False)],
)
def test_interpreters_are_told_by_their_names(command: list[str], want: bool) -> None:
    assert is_python({"command": command}) is want


@run_each(
    ("kind", "line", "want"),
    [
        ("worker", "python3 -m dynamo.vllm --model m", ["vllm"]),
        ("decode", "cd /x && python3.11 -u -m dynamo.sglang", ["sglang"]),
        ("prefill", "env A=1 python -m dynamo.trtllm", ["trtllm"]),
        ("worker", "python3 -m dynamo.vllm & python3 -m dynamo.sglang", ["vllm", "sglang"]),
        ("worker", "python3 setup.py; -m dynamo.vllm", []),
        ("worker", "python3 -u -mdynamo.vllm --model m", ["vllm"]),
        ("worker", "python3 -m dynamo.mocker", []),
        ("worker", "python3 -m dynamo.vllm2", []),
        ("frontend", "python3 -m dynamo.vllm", []),
        ("", "python3 -m dynamo.vllm", []),
    ],
)
def test_a_framework_is_what_a_workers_command_calls(kind: str, line: str, want: list[str]) -> None:
    main = {"name": "main", "command": ["/bin/sh", "-c"], "args": [line]}
    assert detect_frameworks({"type": kind, "podTemplate": {"spec": {"containers": [{"name": "other"}, main]}}}) == want
