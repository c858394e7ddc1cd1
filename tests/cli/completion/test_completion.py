"""What is offered at the end of a command line, and the scripts that ask for it: run by a real bash, and as kubectl runs them."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.cli.commands.completion.candidates import NAMES, find_candidates, list_actions
from dynamo_webhooks.cli.commands.completion.command import SCRIPTS
from dynamo_webhooks.cli.console.program import COMMANDS
from dynamo_webhooks.policies.facts import Facts
from tests.cli.conftest import Command, write_program
from tests.rows import run_each


@run_each(
    ("words", "offered"),
    [
        ([""], list(COMMANDS)),
        (["che"], ["check"]),
        (["zzz"], []),
        (["check", "--op", "c"], ["create"]),
        (["check", "--op=c"], ["--op=create"]),
        (["check", "--op="], ["--op=auto", "--op=create", "--op=update", "--op=delete"]),
        (["check", "--set-fact", ""], [f"{name}=" for name in Facts._fields]),
        (["check", "--set-fact", "gro"], ["grove="]),
        (["check", "--set-fact", "grove=t"], ["grove=true"]),
        (["check", "--set-fact=grove=t"], ["--set-fact=grove=true"]),
        (["check", "-o", "sa"], ["sarif"]),
        (["check", "--select", "failover-interpod-gp"], ["failover-interpod-gpu-invalid"]),
        (["check", "--ignore", "failover-interpod-gp"], ["failover-interpod-gpu-invalid"]),
        (["explain", "DynamoMod"], ["DynamoModel"]),
        (["explain", "failover-interpod-gp"], ["failover-interpod-gpu-invalid"]),
        (["rules", "--kind", "DynamoC"], ["DynamoComponentDeployment", "DynamoCheckpoint"]),
        (["schema", "DynamoModel.v"], ["DynamoModel.v1alpha1"]),
        (["schema", "dynamo", "--version", "v1b"], ["v1beta1"]),
        (["certs", "iss"], ["issue"]),
        (["completion", ""], ["bash", "zsh", "fish", "kubectl"]),
        (["serve", "--drain-lag", ""], []),
        (["serve", "--work"], []),
        (["nonsense", ""], []),
        (["nonsense", "--"], []),
    ],
)
def test_words(words: list[str], offered: list[str]) -> None:
    candidates, files = find_candidates(words)
    assert (list(candidates), files) == (offered, False)


@pytest.mark.parametrize(
    "words", [["check", "x"], ["check", "--facts", "x"], ["check", "--facts=x"], ["check", "-o", "sarif=x"], ["facts", "-o", "x"]]
)
def test_where_files_may_stand(words: list[str]) -> None:
    assert find_candidates(words) == ({}, True)


@run_each("name", COMMANDS)
def test_every_flag_and_choice_of_a_command_is_offered_with_its_help(name: str) -> None:
    actions = [action for action in list_actions(name) if action.option_strings]
    candidates, _ = find_candidates([name, "x", "-"])
    assert list(candidates) == [flag for action in actions for flag in action.option_strings]
    assert ("--help" in candidates, "" in candidates.values(), "%(" in str(candidates)) == (True, False, False)
    for action in actions:
        for flag in action.option_strings if action.choices else ():
            assert list(find_candidates([name, flag, ""])[0]) == [str(choice) for choice in action.choices or ()]


def test_names_have_their_places_and_need_no_quoting() -> None:
    assert all(dest in [action.dest for action in list_actions(command)] for command, dest in NAMES)
    assert all(re.fullmatch(r"[A-Za-z0-9.-]+", word) for names in NAMES.values() for word in names())


def test_a_script_asks_in_the_form_of_its_shell(command: Command) -> None:
    for shell, script in SCRIPTS.items():
        assert command("completion", shell) == (0, script, "")
        assert f"written by `dynamo-webhooks completion {shell}`" in script
        assert f" completion {shell} -- " in script
        candidate = f"check\t{COMMANDS['check']}" if shell in ("zsh", "fish") else "check"
        assert command("completion", shell, "--", "che") == (0, f"{candidate}\n:4\n", "")
    assert command("completion", "bash", "--", "check", "").out == ":0\n"
    assert command("completion", "bash", "--", "check", "--", "").out == ":0\n"
    assert "--upgrade-to\n" in command("completion", "bash", "--", "check", "--").out
    assert command("completion", "bash", "--", "check", "--set-fact", "gro").out == "grove=\n:6\n"


@pytest.fixture
def path(programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs with this one, by both names, in front of the usual ones."""
    monkeypatch.undo()
    for name in ("dynamo-webhooks", "kubectl-dynamo"):
        write_program(programs, name, f'exec {shlex.quote(sys.executable)} -m dynamo_webhooks.cli.main "$@"')
    return programs


def test_kubectl_is_told_candidates_and_what_else_to_do(path: Path) -> None:
    write_program(path, "kubectl_complete-dynamo", SCRIPTS["kubectl"])
    source = f"PATH={path}:$PATH; kubectl_complete-dynamo check --op=c"
    ran = subprocess.run(["bash", "-c", source], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "--op=create\n:4\n", "")


# how each shell starts without a user's files, and takes the script
SHELLS: Final = {
    "bash": (("bash", "--norc", "-i"), "source <(dynamo-webhooks completion bash); bind 'set show-all-if-ambiguous on'"),
    "zsh": (("zsh", "-f", "-i"), "autoload -Uz compinit; compinit -u -D; source <(dynamo-webhooks completion zsh)"),
    "fish": (("fish", "--no-config", "-i"), "dynamo-webhooks completion fish | source"),
}


def _type(shell: str, path: Path, keys: str, awaited: str) -> str:
    """The screen of a shell after some keys, once it shows a text."""
    argv, begin = SHELLS[shell]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(path)
        set_up = {"PATH": f"{path}:{os.environ['PATH']}", "HOME": str(path), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        os.execvpe(argv[0], argv, set_up)  # noqa: S606 - by its name
    termios.tcsetwinsize(terminal, (200, 200))
    screen = ""
    try:
        for typed, shown in ((f"{begin}; echo rea''dy\n", "ready"), (keys, awaited)):
            os.write(terminal, typed.encode())
            while shown not in screen and select.select([terminal], [], [], 30)[0]:
                screen += os.read(terminal, 65_536).decode(errors="replace")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return screen.partition("ready\r\n")[2]


@pytest.mark.parametrize("shell", ["bash", *(pytest.param(name, marks=pytest.mark.neighbours) for name in ("zsh", "fish"))])
def test_a_real_shell_lists_flags_and_completes_values(shell: str, path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")  # of the neighbours, which need not be there
    (path / "report.sarif").touch()
    screen = _type(shell, path, "dynamo-webhooks check --\t\t", "--against")
    assert ("--against" in screen, "check check" in screen) == (True, False)
    rows = {"--op=c": "--op=create", "--set-fact grove=t": "grove=true", "--set-fact gro": "grove=", "-o sarif=rep": "sarif=report.sarif"}
    for typed, completed in rows.items():
        assert completed in _type(shell, path, f"dynamo-webhooks check {typed}\t", completed)
    if shell == "bash":  # which splits words at an equals sign by default alone
        assert "--op=create" in _type(shell, path, "COMP_WORDBREAKS=' '\ndynamo-webhooks check --op=c\t", "--op=create")
