"""Flags in commands that users wrote, and the framework that a command calls."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.render.flags import add_flags, flag_value, has_flag, is_python, joined, quoted
from reconciler.render.framework import detected

Fields = dict[str, Any]


@pytest.mark.parametrize(
    ("container", "shell", "want"),
    [
        ({"command": ["python3", "-m", "dynamo.vllm"], "args": ["--a"]}, False, ["--a", "--x", "1"]),
        ({"command": ["/usr/bin/python3.11"], "args": ["-m", "dynamo.vllm"]}, False, ["-m", "dynamo.vllm", "--x", "1"]),
        ({"command": ["python"]}, False, ["--x", "1"]),
        (
            {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--j", '{"a": 1}']},
            True,
            ['exec python3 -m dynamo.vllm --j "{\\"a\\": 1}" --x 1'],
        ),
        (
            {"command": ["sh", "-c"], "args": ["cd / && python3 -m dynamo.vllm --a | tee log"]},
            True,
            ["cd / && python3 -m dynamo.vllm --x 1 --a | tee log"],
        ),
        (
            {"command": ["sh", "-c"], "args": ["no", "python -m dynamo.vllm", "python -m dynamo.vllm"]},
            False,
            ["no", "python -m dynamo.vllm --x 1", "python -m dynamo.vllm"],
        ),
        (
            {"args": ["python -m dynamo.vllm & python -m dynamo.vllm; wait"]},
            False,
            ["python -m dynamo.vllm --x 1 & python -m dynamo.vllm --x 1; wait"],
        ),
        ({"command": ["serve"], "args": ["--model", "m"]}, False, ["--model", "m"]),
    ],
)
def test_flags_stand_behind_the_call(container: Fields, shell: bool, want: list[str]) -> None:
    before = container.get("command")
    into_a_shell = shell and is_python(container)
    add_flags(container, "--x 1", "vllm", shell=shell)
    assert container["args"] == want
    assert container.get("command") == (["sh", "-c"] if into_a_shell else before)


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("plain-1.2/3:4=5,6", "plain-1.2/3:4=5,6"),
        ("a b", '"a b"'),
        ("it's", '"it\'"\'"\'s"'),
        ('say "x"', '"say \\"x\\""'),
        ("$HOME", '"\\$HOME"'),
        ("a\\b", '"a\\\\b"'),
        ("`x`", '"\\`x\\`"'),
        ("{1}", '"{1}"'),
    ],
)
def test_words_are_quoted_where_a_shell_would_change_them(word: str, want: str) -> None:
    assert quoted(word) == want
    assert joined([word, "x"]) == f"{want} x"


@pytest.mark.parametrize(
    ("args", "want"),
    [(["--n", "4"], 4), (["run --n 8 --m"], 8), (["--n=4"], 1), (["--n", "x"], 1), (["--n"], 1), ([], 1), (["--n", "9" * 20], 1)],
)
def test_values_of_flags_are_whole_numbers_or_one(args: list[str], want: int) -> None:
    assert flag_value({"args": args}, "--n") == want


def test_flags_are_whole_words() -> None:
    assert has_flag({"args": ["run --enable-x"]}, "--enable-x")
    assert not has_flag({"args": ["--enable-xy"]}, "--enable-x")
    assert not has_flag({}, "--enable-x")


@pytest.mark.parametrize(
    ("command", "want"),
    [(["python"], True), (["python3.11"], True), (["/a/b/python3"], True), (["pythonic"], False), (["sh", "python"], False), ([], False)],
)
def test_interpreters_are_told_by_their_names(command: list[str], want: bool) -> None:
    assert is_python({"command": command}) is want


@pytest.mark.parametrize(
    ("kind", "line", "want"),
    [
        ("worker", "python3 -m dynamo.vllm --model m", ["vllm"]),
        ("decode", "cd /x && python3.11 -u -m dynamo.sglang", ["sglang"]),
        ("prefill", "env A=1 python -m dynamo.trtllm", ["trtllm"]),
        ("worker", "python3 -m dynamo.vllm & python3 -m dynamo.sglang", ["vllm", "sglang"]),
        ("worker", "python3 setup.py; -m dynamo.vllm", []),
        ("worker", "python3 -m dynamo.mocker", []),
        ("worker", "python3 -m dynamo.vllm2", []),
        ("frontend", "python3 -m dynamo.vllm", []),
        ("", "python3 -m dynamo.vllm", []),
    ],
)
def test_a_framework_is_what_a_workers_command_calls(kind: str, line: str, want: list[str]) -> None:
    main = {"name": "main", "command": ["/bin/sh", "-c"], "args": [line]}
    assert detected({"type": kind, "podTemplate": {"spec": {"containers": [{"name": "other"}, main]}}}) == want
