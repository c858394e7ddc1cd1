"""The scripts for bash and for kubectl's plugin, sourced and run by a real bash, asked as readline and kubectl ask."""

import shlex
import subprocess
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.cli.commands.completion.bash import bash, kubectl
from dynamo_webhooks.cli.commands.completion.model import PROGRAMS, commands, lists
from dynamo_webhooks.cli.console.program import COMMANDS
from dynamo_webhooks.policies.facts import Facts

BREAKS: Final = " \t\n\"'><=;|&(:"  # bash's own


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "dynamo-webhooks.bash"
    file.write_text(bash())
    return file


def ask(script: Path, *lines: list[str], breaks: str = BREAKS) -> list[list[str]]:
    """What is offered for each line: its words as bash splits them behind the program's name, of which the last is unfinished."""
    asked = [f"COMP_WORDBREAKS={shlex.quote(breaks)}"]
    for words in lines:
        asked += [f"COMP_WORDS=(dynamo-webhooks {shlex.join(words)})", f"COMP_CWORD={len(words)}", "COMPREPLY=(stale)", "_dynamo_webhooks"]
        asked += ['printf "%s\\n" "${COMPREPLY[@]}"', 'printf -- "--end--\\n"']
    source = "\n".join([f"source {shlex.quote(str(script))}", *asked])
    ran = subprocess.run(["bash", "--norc", "-c", source], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [[line for line in part.split("\n") if line] for part in ran.stdout.split("--end--\n")[:-1]]


def test_commands_are_offered_first(script: Path) -> None:
    assert ask(script, [""], ["che"], ["zzz"]) == [list(COMMANDS), ["check"], []]


def test_every_flag_of_every_command_is_offered(script: Path) -> None:
    known = commands()
    found = ask(script, *([each.name, "-"] for each in known), *([each.name, "x", "--"] for each in known))
    every = [[name for flag in each.flags for name in flag.names] for each in known]
    assert found[: len(known)] == every
    assert found[len(known) :] == [[name for name in names if name.startswith("--")] for names in every]
    assert all("--help" in names for names in every)


def test_every_choice_of_every_flag_is_offered(script: Path) -> None:
    asked, wanted = [], []
    for each in commands():
        for flag in each.flags:
            if flag.values is not None and flag.values.words:
                for name in flag.names:
                    asked.append([each.name, name, ""])
                    wanted.append(list(flag.values.words))
    assert ask(script, *asked) == wanted
    assert len(asked) > 10


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["check", "--op", "c"], ["create"]),
        (["check", "--op", "=", "c"], ["create"]),  # bash splits words at an equals sign
        (["check", "--op", "="], ["auto", "create", "update", "delete"]),
        (["check", "--set-fact", "gro"], ["grove="]),
        (["check", "--set-fact", "grove", "=", "t"], ["true"]),
        (["check", "-o", "sa"], ["sarif"]),
        (["check", "--select", "failover-interpod-gp"], ["failover-interpod-gpu-invalid"]),
        (["check", "--ignore", "failover-interpod-gp"], ["failover-interpod-gpu-invalid"]),
        (["explain", "DynamoMod"], ["DynamoModel"]),
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
def test_words(script: Path, words: list[str], offered: list[str]) -> None:
    assert ask(script, words) == [offered]


def test_lists_are_whole(script: Path) -> None:
    found = ask(script, ["check", "--select", ""], ["check", "--set-fact", ""], ["schema", ""], ["explain", ""])
    assert found == [list(lists()[name]) for name in ("rules", "facts", "schemas", "pages")]
    assert found[1] == [f"{name}=" for name in Facts._fields]


def test_words_that_are_not_split_are_offered_whole(script: Path) -> None:
    """As where somebody took the equals sign out of COMP_WORDBREAKS."""
    whole = ask(script, ["check", "--op=c"], ["check", "--set-fact", "grove=t"], breaks=" \t\n")
    assert whole == [["--op=create"], ["grove=true"]]


@pytest.mark.parametrize("words", [["check", "x"], ["check", "--facts", "x"], ["check", "-o", "sarif", "=", "x"], ["facts", "-o", "x"]])
def test_where_files_may_stand_readline_is_left_to_offer_them(script: Path, words: list[str]) -> None:
    """COMPREPLY is empty, and `+o default` is asked for only where no file can stand."""
    for line, files in ((words, True), (["check", "--op", "x"], False)):
        asked = f"COMP_WORDS=(p {shlex.join(line)}); COMP_CWORD={len(line)}; _dynamo_webhooks; echo ${{#COMPREPLY[@]}}"
        source = f"source {shlex.quote(str(script))}; compopt() {{ echo compopt $*; }}; {asked}"
        ran = subprocess.run(["bash", "--norc", "-c", source], capture_output=True, text=True, check=True)
        assert ran.stdout == ("0\n" if files else "compopt +o default\n0\n")


def test_all_names_of_the_program_are_completed_and_an_unfinished_fact_gets_no_blank(script: Path) -> None:
    source = f"source {shlex.quote(str(script))}; complete -p"
    ran = subprocess.run(["bash", "--norc", "-c", source], capture_output=True, text=True, check=True)
    assert sorted(ran.stdout.splitlines()) == sorted(f"complete -o default -F _dynamo_webhooks {name}" for name in PROGRAMS)
    source = (
        f"source {shlex.quote(str(script))}; compopt() {{ echo $*; }}; COMP_WORDS=(p check --set-fact gro); COMP_CWORD=3; _dynamo_webhooks"
    )
    ran = subprocess.run(["bash", "--norc", "-c", source], capture_output=True, text=True, check=True)
    assert "-o nospace\n" in ran.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["che"], "check\n:4\n"),
        (["check", "--op=c"], "--op=create\n:4\n"),
        (["check", "--op", "c"], "create\n:4\n"),
        (["check", ""], ":0\n"),
        (["check", "--set-fact", "gro"], "grove=\n:6\n"),
        (["check", "--set-fact", "grove=f"], "grove=false\n:4\n"),
        (["check", "-o", "sarif="], ":0\n"),
    ],
)
def test_kubectl_is_told_candidates_and_what_else_to_do(tmp_path: Path, words: list[str], told: str) -> None:
    program = tmp_path / "kubectl_complete-dynamo"
    program.write_text(kubectl())
    program.chmod(0o700)
    ran = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, told, "")
