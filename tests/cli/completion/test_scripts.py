"""All scripts as texts: the same bytes each time, no text that a shell would run, and for zsh and fish every flag in its own form."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dynamo_webhooks.cli.commands import load
from dynamo_webhooks.cli.commands.completion.command import SHELLS
from dynamo_webhooks.cli.commands.completion.fish import fish
from dynamo_webhooks.cli.commands.completion.model import PLACES, Flag, Values, commands, lists
from dynamo_webhooks.cli.commands.completion.zsh import _flag, zsh
from dynamo_webhooks.cli.console.program import COMMANDS
from tests.cli.conftest import Command


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_the_same_each_time(command: Command, shell: str) -> None:
    first, second = command("completion", shell), command("completion", shell)
    assert (first.code, first.err, first.out) == (0, "", second.out)
    assert f"written by `dynamo-webhooks completion {shell}`" in first.out


def test_another_shell_is_wrong_usage(command: Command) -> None:
    assert command("completion", "tcsh").code == 2


def test_every_list_has_its_place_and_only_words_that_need_no_quoting() -> None:
    known = lists()
    used = {each.list for one in commands() for each in (one.argument, *(flag.values for flag in one.flags if flag.values is not None))}
    assert used - {""} == set(known) - {"switches"} == {*PLACES.values(), "facts", "formats"}
    places = {(each.name, action) for each in commands() for action in _places(each.name)}
    assert set(PLACES) <= places
    words = [word for words in known.values() for word in words]
    words += [word for each in commands() for flag in each.flags if flag.values is not None for word in flag.values.words]
    assert all(re.fullmatch(r"[A-Za-z0-9.=-]+", word) for word in words)


def _places(name: str) -> set[str]:
    import argparse

    parser = argparse.ArgumentParser()
    load(name).configure(parser)
    return {action.dest for action in parser._actions}


def test_zsh_has_a_case_for_every_command_with_every_flag() -> None:
    script = zsh()
    for each in commands():
        case = script.partition(f"\n    {each.name})\n")[2].partition("\n      ;;\n")[0]
        for flag in each.flags:
            for spec in _flag(flag):
                assert "'" + spec.replace("'", "'\\''") + "'" in case


def test_zsh_specifications() -> None:
    plain = Flag(("-o", "--output"), "it's [one]: text", Values(("a", "b")), repeats=False, metavar="X:Y")
    assert list(_flag(plain)) == [
        "(-o --output)-o[it's \\[one\\]\\: text]:X\\:Y:(a b)",
        "(-o --output)--output=[it's \\[one\\]\\: text]:X\\:Y:(a b)",
    ]
    switch = Flag(("--quiet",), "less", None, repeats=False, metavar="")
    assert list(_flag(switch)) == ["(--quiet)--quiet[less]"]
    listed = Flag(("--select",), "rules", Values(list="rules"), repeats=True, metavar="WORD")
    assert list(_flag(listed)) == ["*--select=[rules]:WORD:_dynamo_webhooks_rules"]


def test_zsh_defines_what_it_calls() -> None:
    script = zsh()
    called = set(re.findall(r":(_dynamo_webhooks_\w+)", script)) | {"_dynamo_webhooks_formats", "_dynamo_webhooks_switches"}
    assert called <= set(re.findall(r"^(_dynamo_webhooks_\w+)\(\)", script, re.MULTILINE))
    assert script.startswith("#compdef dynamo-webhooks kubectl-dynamo\n")
    assert [line.split("'")[1].partition(":")[0] for line in script.partition("commands=(\n")[2].partition("\n  )")[0].splitlines()] == [
        *COMMANDS
    ]


def test_fish_has_a_line_for_every_flag() -> None:
    lines = fish().splitlines()
    for each in commands():
        assert any(line.startswith(f"complete -c dynamo-webhooks -n __dynamo_webhooks_first -a {each.name} -d ") for line in lines)
        own = [line for line in lines if f"-n '__dynamo_webhooks_in {each.name}' " in line]
        assert len(own) == len(each.flags) + each.argument.known
        for flag in each.flags:
            [line] = [line for line in own if f" {'-l' if flag.names[-1].startswith('--') else '-s'} {flag.names[-1].lstrip('-')} " in line]
            takes = " -r -F" if flag.values is not None and flag.values.files else " -x" if flag.values is not None else ""
            assert (takes in line, " -r" in line or " -x" in line) == (True, flag.values is not None)
    assert lines[-1] == "complete -c kubectl-dynamo -w dynamo-webhooks"


def test_quotes_are_even_in_every_line_of_fish() -> None:
    for line in fish().splitlines():
        assert len(re.findall(r"(?<!\\)'", line)) % 2 == 0, line


@pytest.mark.parametrize(("shell", "script"), [("zsh", zsh), ("fish", fish)])
def test_the_shell_itself_can_read_it(shell: str, script: object, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine: its script is checked as text by the tests above")
    file = tmp_path / "script"
    file.write_text(script())  # type: ignore[operator] # one of two functions without arguments
    ran = subprocess.run([program, "-n", file], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
