"""The entry of the command: finding sub-commands, wrong words, interrupts, bugs, and readers that go away."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands import load
from dynamo_webhooks.cli.console import flags
from dynamo_webhooks.cli.console.program import COMMANDS, installed_version
from dynamo_webhooks.cli.main import reword_argparse_error
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, GOOD

SCRIPT = Path(sys.executable).with_name("dynamo-webhooks")


def test_the_table_of_commands_is_true() -> None:
    folder = Path(__file__).parents[3] / "cli" / "commands"
    assert {file.stem for file in folder.iterdir() if not file.name.startswith("_")} == set(COMMANDS)
    for name, text in COMMANDS.items():
        module = load(name)
        assert text == module.HELP
        parser = argparse.ArgumentParser()
        module.configure(parser)
        assert all(action.help for action in parser._actions), f"every flag of {name} has a help text"


def test_the_overview_lists_every_command(command: Command) -> None:
    ran = command("--help")
    assert ran.code == 0
    assert all(f"  {name}" in ran.out for name in COMMANDS)
    assert command().code == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["chek"], "dynamo-webhooks: unknown command chek; did you mean check?"),
        (["xyzzy"], "dynamo-webhooks: unknown command xyzzy; dynamo-webhooks --help lists all"),
        (["--verison"], "dynamo-webhooks: unknown flag --verison; did you mean version?"),
        (["check", "--fact", "f", "x"], "dynamo-webhooks check: unknown flag --fact; did you mean --facts?"),
        (["check", "--frobnicate"], "dynamo-webhooks check: unknown flag --frobnicate"),
        (["render", "--silent"], "dynamo-webhooks render: unknown flag --silent"),
        (["rules", "--xyzzy=1"], "dynamo-webhooks rules: unknown flag --xyzzy"),
        (["version", "more"], "dynamo-webhooks version: unknown argument more"),
        (["rules", "--kind", "DynamoModl"], "dynamo-webhooks rules: --kind DynamoModl: no such kind; did you mean DynamoModel?"),
    ],
)
def test_unknown_words_are_answered_with_the_nearest_known_one(command: Command, words: list[str], sentence: str) -> None:
    assert command(*words) == (2, "", f"{sentence}\n")


def test_help_of_a_command_can_be_asked_both_ways(command: Command) -> None:
    assert command("help", "check") == command("check", "--help")
    assert "unknown command chek; did you mean check?" in command("help", "chek").err


@pytest.mark.parametrize(
    "words",
    [
        ["a.yaml", "-q", "b.yaml"],
        ["-q", "a.yaml", "b.yaml"],
        ["a.yaml", "--fail-on", "error", "b.yaml", "-q"],
        ["a.yaml", "-q", "--", "b.yaml"],
    ],
)
def test_paths_may_stand_on_both_sides_of_a_flag(command: Command, files: Files, words: list[str]) -> None:
    files(a=BAD, b=BAD)
    ran = command("check", *words)
    assert ran.code == 1
    assert {line.partition(":")[0] for line in ran.out.splitlines()} == {"a.yaml", "b.yaml"}


def test_words_after_two_dashes_are_paths(command: Command, files: Files) -> None:
    files(a=BAD)
    ran = command("check", "a.yaml", "-q", "--", "--answer")
    assert (ran.code, ran.err) == (4, "--answer: does not exist\n")


def _broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(arguments: argparse.Namespace) -> int:
        raise error

    def configure(parser: argparse.ArgumentParser) -> None:
        flags.verbose(parser)
        parser.add_argument("paths", nargs="*")

    module = ModuleType("dynamo_webhooks.cli.commands.version")
    module.__dict__.update(HELP="", configure=configure, run=run)
    monkeypatch.setitem(sys.modules, "dynamo_webhooks.cli.commands.version", module)


def test_a_bug_of_ours_is_a_sentence_with_a_replay_command(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _broken(monkeypatch, KeyError("x"))
    ran = command("version")
    assert (ran.code, ran.out) == (70, "")
    assert ran.err == "dynamo-webhooks version: internal error: KeyError; to replay it: dynamo-webhooks version -v\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_takes_the_flag_that_the_sentence_about_a_bug_advises(name: str) -> None:
    parser = argparse.ArgumentParser()
    load(name).configure(parser)
    assert "show tracebacks of internal errors" in " ".join(parser.format_help().split())
    assert {"-v", "--verbose"} <= {flag for action in parser._actions for flag in action.option_strings}


def test_the_replay_command_keeps_a_path_that_begins_with_a_hyphen(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _broken(monkeypatch, KeyError("x"))
    assert command("version", "--", "-x").err.endswith("to replay it: dynamo-webhooks version -v -- -x\n")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_one_line(command: Command, flag: str) -> None:
    ran = command(flag)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"dynamo-webhooks {installed_version()}\n"


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in sorted(COMMANDS) if name != "completion")])
@pytest.mark.parametrize("columns", ["72", "100"])
def test_help_is_no_wider_than_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str], columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = command(*words).out
    if words[0] in ("explain", "test"):  # what stands below their flags is printed as it is written
        parser = argparse.ArgumentParser()
        load(words[0]).configure(parser)
        shown = shown.partition((parser.epilog or "").lstrip().partition("\n")[0])[0]
    assert max(map(len, shown.splitlines())) <= int(columns)


def test_a_bug_of_ours_has_a_traceback_for_those_who_ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from dynamo_webhooks.cli.main import main

    _broken(monkeypatch, KeyError("x"))
    assert main(["version", "-v"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_130_without_a_word(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _broken(monkeypatch, KeyboardInterrupt())
    assert command("version") == (130, "", "")


def _run(*words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([SCRIPT, *words], cwd=cwd, capture_output=True, env={**os.environ, **more}, check=False)


def test_the_console_script_is_the_same_command(files: Files) -> None:
    folder = files(good=GOOD, bad=BAD)
    assert _run("check", "good.yaml", cwd=folder).returncode == 0
    ran = _run("check", "-q", ".", cwd=folder)
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"bad.yaml:10:7 error")
    assert _run("chek", cwd=folder).returncode == 2


def test_a_folder_that_was_removed_is_no_bug_of_ours(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = command("check", ".")
    assert ran == (2, "", "dynamo-webhooks check: the current folder was removed; change to one that exists\n")


def test_a_terminal_without_unicode_gets_escapes(files: Files) -> None:
    folder = files(a=BAD.replace("worker:", "wörker-漢:"))
    ran = _run("check", "a.yaml", cwd=folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.returncode == 1
    assert b"w\\xf6rker-\\u6f22" in ran.stdout


def test_a_reader_that_goes_away_is_no_error(files: Files) -> None:
    folder = files(a="".join(f"{BAD.replace('name: bad', f'name: bad{i}')}---\n" for i in range(500)))
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([SCRIPT, "check", "a.yaml"], cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert ran.returncode == 1
    assert ran.stderr == b"500 objects checked by line 1.6 (the default; --line names another): 500 errors\n"


BANNED = (
    "aiohttp",
    "asyncio",
    "kubernetes",
    "cryptography",
    "pydantic",
    "uvloop",
    "multiprocessing",
    "webhooks",
    "certs",
    "difflib",
    "glob",
)


@pytest.mark.parametrize("words", [["--help"], ["check", "good.yaml"], ["check", "good.yaml", "-o", "json"], ["rules"]])
def test_light_commands_import_nothing_heavy(files: Files, words: list[str]) -> None:
    folder = files(good=GOOD)
    script = "import sys; from dynamo_webhooks.cli.main import main; code = main(sys.argv[1:]); "
    script += "print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(code)"
    ran = subprocess.run([sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = {name.removeprefix("dynamo_webhooks.").partition(".")[0] for name in ran.stderr.split()}
    assert "cli" in loaded
    assert loaded.isdisjoint(BANNED), loaded.intersection(BANNED)


def test_the_overview_imports_no_command(files: Files) -> None:
    script = "import sys; from dynamo_webhooks.cli.main import main; main(['--help']); "
    script += "print([n for n in sys.modules if n.startswith('dynamo_webhooks.cli.commands.')])"
    ran = subprocess.run([sys.executable, "-c", script], cwd=files(), capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\n[]\n")


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("the following arguments are required: --config", "--config must be given; me --help says more"),
        (
            "argument -o/--output: invalid choice: 'jsn' (choose from 'text', 'json')",
            "--output must be one of text, json, got jsn; did you mean json?",
        ),
        ("argument --op: invalid choice: 'x' (choose from create, update)", "--op must be one of create, update, got x"),
        ("argument --facts: expected one argument", "--facts must be followed by a value; me --help says which"),
        ("argument --debounce: invalid int value: 'x'", "--debounce must be a whole number, got x"),
        ("argument --drain-lag: invalid float value: '1s'", "--drain-lag must be a number, got 1s"),
        ('argument --listen: must be HOST:PORT, got "x"', '--listen: must be HOST:PORT, got "x"'),
        ("something new", "something new"),
    ],
)
def test_what_argparse_says_is_said_in_our_words(said: str, ours: str) -> None:
    assert reword_argparse_error(said, "me") == ours


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["completion"], "completion: shell must be given; dynamo-webhooks completion --help says more"),
        (["completion", "basch"], "shell must be one of bash, zsh, fish, kubectl, got basch; did you mean bash?"),
        (["check", "--line", "1.9"], f"--line: must be one of {', '.join(Line)}, got 1.9"),
        (["check", "--op"], "check: --op must be followed by a value"),
        (["rules", "-o", "yaml"], "rules: --output must be one of text, json, got yaml"),
        (["serve", "--drain-lag", "x"], "serve: --drain-lag must be a number, got x"),
        (["serve", "--workers", "2"], "serve: --workers: must be removed: a pod serves with one process; raise the replicas"),
        (["nonsens"], "dynamo-webhooks: unknown command nonsens; dynamo-webhooks --help lists all"),
        (["explain"], "explain: name a rule, a kind, a field or a message"),
    ],
)
def test_wrong_usage_is_one_sentence_on_stderr(command: Command, words: list[str], sentence: str) -> None:
    ran = command(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert sentence in ran.err
