"""The entry of the command: finding sub-commands, wrong words, interrupts, bugs, and readers that go away."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands import load
from dynamo_webhooks.cli.console import flags
from dynamo_webhooks.cli.console.parser import Parser, reword_argparse_error
from dynamo_webhooks.cli.console.program import COMMANDS, PROGRAM, installed_version
from dynamo_webhooks.cli.main import main
from tests.cli.conftest import Command, Files
from tests.cli.daemon.processes import CONFIG
from tests.cli.samples import BAD, GOOD
from tests.rows import run_each

SCRIPT = Path(sys.executable).with_name("dynamo-webhooks")


def test_the_table_of_commands_is_true() -> None:
    folder = Path(__file__).parents[3] / "cli" / "commands"
    assert {file.stem for file in folder.iterdir() if not file.name.startswith("_")} == set(COMMANDS)
    for name, text in COMMANDS.items():
        module = load(name)
        assert text == module.HELP
        parser = Parser(name, module)
        assert all(action.help for action in parser._actions), f"every flag of {name} has a help text"
        assert {"-v", "--verbose"} <= {flag for action in parser._actions for flag in action.option_strings}, "a bug's sentence advises it"


def test_the_overview_lists_every_command_and_help_can_be_asked_both_ways(command: Command) -> None:
    ran = command("--help")
    assert ran.code == 0
    assert all(f"  {name}" in ran.out for name in COMMANDS)
    assert command().code == 2
    assert command("help", "check") == command("check", "--help")
    assert command("--version") == command("-V") == (0, f"dynamo-webhooks {installed_version()}\n", "")


@run_each(
    ("words", "sentence"),
    [
        (["chek"], "dynamo-webhooks: unknown command chek; did you mean check?"),
        (["help", "chek"], "dynamo-webhooks: unknown command chek; did you mean check?"),
        (["xyzzy"], "dynamo-webhooks: unknown command xyzzy; dynamo-webhooks --help lists all"),
        (["--verison"], "dynamo-webhooks: unknown flag --verison; did you mean version?"),
        (["check", "--fact", "f", "x"], "dynamo-webhooks check: unknown flag --fact; did you mean --facts?"),
        (["render", "--silent"], "dynamo-webhooks render: unknown flag --silent"),
        (["rules", "--xyzzy=1"], "dynamo-webhooks rules: unknown flag --xyzzy"),
        (["version", "more"], "dynamo-webhooks version: unknown argument more"),
        (["rules", "--kind", "DynamoModl"], "dynamo-webhooks rules: --kind DynamoModl: no such kind; did you mean DynamoModel?"),
        (["completion"], "completion: shell must be given; dynamo-webhooks completion --help says more"),
        (["completion", "basch"], "shell must be one of bash, zsh, fish, kubectl, got basch; did you mean bash?"),
        (["check", "--line", "1.9"], f"--line: must be one of {', '.join(Line)}, got 1.9"),
        (["check", "--op"], "check: --op must be followed by a value; dynamo-webhooks check --help says which"),
        (["rules", "-o", "yaml"], "rules: --output must be one of text, json, got yaml"),
        (["serve", "--drain-lag", "1s"], "serve: --drain-lag must be a number, got 1s"),
        (["serve", "--workers", "2"], "serve: --workers: must be removed: a pod serves with one process; raise the replicas"),
        (["explain"], "explain: name a rule, a kind, a field or a message"),
        (["convert", "a.yaml"], "--to must name the version"),
        (["convert", "--to", "v1beta1"], "name at least one file"),
        (["convert", "a.yaml", "--to", "v2"], "--to must be one of v1alpha1, v1beta1, got v2"),
        (["convert", "a.yaml", "--to", "v1beta1", "--check", "--write"], "use one of them"),
        (["convert", "-", "--to", "v1beta1", "--write"], "can't change standard input"),
        (["convert", "a.yaml", "--to", "v1beta1", "--write", "-o", "json"], "keep the format"),
        (["convert", "--fields", "dgdd"], "no such kind"),
        (["convert", "--fields", "DynamoModel"], "has one version"),
        (["convert", "--fields", "DynamoGraphDeployment", "a.yaml"], "--fields prints a table and reads no files: leave out a.yaml"),
        (["default"], "name at least one file"),
        (["default", "--check", "--write", "a"], "use one of them"),
        (["default", "--write", "-"], "can't change standard input"),
        (["default", "--write", "-o", "diff", "a"], "-o is for printed output"),
        (["default", "--op", "update", "a"], "needs --old"),
        (["default", "--set-fact", "grove=3", "a"], "grove: must be true"),
        (["render"], "name at least one file"),
        (["render", "--set-fact", "moon=true", "a.yaml"], "--set-fact moon=true: must be NAME=VALUE with a known fact"),
        (["render", "-o", "xml", "a.yaml"], "--output must be one of"),
        (["render", "--facts", "none.yaml", "a.yaml"], "--facts none.yaml: does not exist"),
        (["schema", "dgd", "--catalogue", "x"], "--catalogue is every kind"),
        (["schema", "--catalogue", ""], '--catalogue "": must name a folder'),
        (["schema", "dgd", "--version", "v1beta2"], "DynamoGraphDeployment is in v1alpha1 and v1beta1; did you mean v1beta1?"),
        (["schema", "dm", "--version", "v1beta1"], "DynamoModel is in v1alpha1"),
        (["schema", "dm.v1beta1"], "dm.v1beta1: DynamoModel is in v1alpha1"),
        (["schema", "dgd.v1alpha1", "--version", "v1beta1"], "dgd.v1alpha1 names another version: leave one of them out"),
        (["schema", "rules", "--version", "v1beta1"], "--version is for kinds"),
        (["schema", "DynamoModell"], "did you mean DynamoModel"),
        (["migrate"], "--to: must be given"),
        (["migrate", "--to", "v1beta1", "--retire", "v1beta1"], "--retire v1beta1: must be another version"),
        (["migrate", "--to", "v1beta1", "--verify", "--dry-run"], "--verify: writes objects"),
        (["migrate", "--to", "v1beta1", "--kind", "dm"], "--kind DynamoModel: has one version"),
        (["migrate", "--to", "v1beta1", "--kind", "graf"], "--kind graf: no such kind"),
        (["migrate", "--to", "v1beta1", "--rate", "0"], "--rate: must be more than 0"),
        (["migrate", "--to", "v1beta1", "--rate", "x"], "--rate must be a number, got x"),
        (["migrate", "--to", "v1beta1", "--settle", "nan"], "--settle: must be a number that is not negative, got nan"),
        (["migrate", "--to", "v1beta1", "--kubeconfig", "nowhere"], "--kubeconfig: a kubeconfig must be a file"),
        (["certs", "inspect", "--compromised"], "--compromised: is for rotate alone"),
        (["certs", "inspect", "--kubeconfig", "nowhere.yaml"], "--kubeconfig: a kubeconfig must be a file"),
        (["doctor", "--kubeconfig", "nowhere"], "--kubeconfig: a kubeconfig must be a file"),
        (["doctor", "-o", "yaml"], "--output must be one of text, json, got yaml"),
        (["up", "--kubeconfig", "nowhere"], "--kubeconfig: a kubeconfig must be a file"),
        (["crds", "--url", "http://127.0.0.1"], "crds: --url must be like https://HOST:PORT/convert"),
        (["crds", "--url", "https://"], "crds: --url must be like https://HOST:PORT/convert"),
        (["crds", "--url", "https://a:70000"], "crds: --url must be like https://HOST:PORT/convert"),
        (["crds", "--url", "https://[::1"], "crds: --url must be like https://HOST:PORT/convert"),
        (
            ["crds", "--url", "https://user:word@a"],
            "dynamo-webhooks crds: --url must hold neither a user, a query nor a fragment; the API server refuses them\n",
        ),
        (["crds", "--url", "https://a/?b"], "crds: --url must hold neither a user, a query nor a fragment"),
        (["crds", "--url", "https://a", "--service", "b"], "crds: --url names a server outside the cluster, --service one inside"),
        (["crds", "--url", "https://a", "--namespace", "b"], "crds: --url names a server outside the cluster, --namespace one inside"),
        (["crds", "--kubeconfig", "k.yaml"], "crds: --kubeconfig is for --cluster: add it to compare with a cluster's definitions"),
        (["crds", "--context", "c"], "crds: --context is for --cluster: add it to compare with a cluster's definitions"),
        (["facts"], "facts: --cluster must be given"),
        (["facts", "--cluster", "--kubeconfig", "none"], "facts: --kubeconfig: "),
        (["provision"], "dynamo-webhooks provision: --config must be given"),
        (["provision", "--config", "config.yaml", "--once", "--kubeconfig", "nowhere"], "--kubeconfig: "),
        (["provision", "--config", "homeless.yaml", "--once"], "operator.namespace: must name the namespace"),
        (["provision", "--config", "config.yaml", "--probe-listen", "x", "--metrics-listen", ":0"], "--probe-listen: must be HOST:PORT"),
        (["provision", "--config", "config.yaml", "--metrics-listen", "x", "--probe-listen", ":0"], "--metrics-listen: must be HOST:PORT"),
        (["reconcile"], "dynamo-webhooks reconcile: --config must be given"),
        (["reconcile", "--config", "homeless.yaml"], "operator.namespace: must name the namespace"),
        (["reconcile", "--config", "config.yaml", "--probe-listen", "x"], "--probe-listen: must be HOST:PORT"),
    ],
)
def test_wrong_usage_is_one_sentence_on_stderr(command: Command, files: Files, words: list[str], sentence: str) -> None:
    files(a=GOOD, config=CONFIG, homeless=CONFIG.replace("operator: {namespace: dynamo-system}\n", ""))
    ran = command(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert sentence in ran.err


def test_newer_interpreters_quote_no_choices_and_other_words_of_argparse_stay() -> None:
    message = "argument --op: invalid choice: 'x' (choose from create, update)"
    assert reword_argparse_error(message, "me") == "--op must be one of create, update, got x"
    assert reword_argparse_error("something new", "me") == "something new"


@pytest.mark.parametrize(
    "words", [["a.yaml", "-q", "b.yaml"], ["a.yaml", "--fail-on", "error", "b.yaml", "-q"], ["a.yaml", "-q", "--", "b.yaml"]]
)
def test_paths_may_stand_on_both_sides_of_a_flag(command: Command, files: Files, words: list[str]) -> None:
    files(a=BAD, b=BAD)
    ran = command("check", *words)
    assert ran.code == 1
    assert {line.partition(":")[0] for line in ran.out.splitlines()} == {"a.yaml", "b.yaml"}
    assert command("check", "-q", "--", "--answer").err == "--answer: does not exist\n"


def _broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    class Options(NamedTuple):
        paths: flags.Paths = ()
        verbose: flags.Verbose = False

    def run(_options: Options) -> int:
        raise error

    module = ModuleType("dynamo_webhooks.cli.commands.version")
    module.__dict__.update(HELP="", Options=Options, run=run)
    monkeypatch.setitem(sys.modules, "dynamo_webhooks.cli.commands.version", module)


def test_a_bug_is_a_sentence_with_a_replay_command_and_an_interrupt_none(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _broken(monkeypatch, KeyError("x"))
    message = "dynamo-webhooks version: internal error: KeyError; to replay it: dynamo-webhooks version -v"
    assert command("version") == (70, "", f"{message}\n")
    assert command("version", "--", "-x").err == f"{message} -- -x\n"
    assert main(["version", "-v"]) == 70
    assert "Traceback" in capsys.readouterr().err
    _broken(monkeypatch, KeyboardInterrupt())
    assert command("version") == (130, "", "")


@run_each("words", [["--help"], *([name, "--help"] for name in sorted(COMMANDS) if name != "completion")])
@pytest.mark.parametrize("columns", ["72", "100"])
def test_help_is_no_wider_than_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str], columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = command(*words).out
    assert shown.startswith(f"usage: {PROGRAM} {words[0] if words != ['--help'] else 'COMMAND'} ")
    if words[0] in ("explain", "test"):  # what stands below their flags is printed as it is written
        shown = shown.partition((Parser(words[0], load(words[0])).epilog or "").lstrip().partition("\n")[0])[0]
    assert max(map(len, shown.splitlines())) <= int(columns)


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
    assert ran.stderr == b"500 objects checked for operator 1.6 (the default; --line names another): 500 errors\n"
