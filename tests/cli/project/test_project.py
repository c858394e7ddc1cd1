"""The project file: where it is found, what it decides, what wins over it, and what it can't do to who checks a stranger's repository.

It may extend one other, and weigh rules in some files.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from dynamo_webhooks.cli.commands.schema.outputs import load
from dynamo_webhooks.cli.main import main
from tests.cli.check.alone import COMMAND, run
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_CODE, BAD_RULE, BY_DEFAULT, GOOD, NEEDS_GROVE, WARNED
from tests.rows import run_each

NAME = ".dynamo-webhooks.yaml"
OFF = f"rules: {{{BAD_RULE}: {{severity: off, reason: the gateway sets it}}}}\n"


@pytest.fixture
def repository(files: Files) -> Path:
    """A repository of git with a broken graph in deploy/ and a folder beside it."""
    folder = files(deploy__bad=BAD, deploy__old__warned=WARNED, other__good=GOOD)
    (folder / ".git").mkdir()
    return folder


def project(folder: Path, text: str) -> None:
    (folder / NAME).write_text(text)


def test_paths_and_excludes_are_relative_to_the_file(repository: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    project(repository, "paths: [deploy, other]\nexclude: ['deploy/old/*']\n")
    assert [row["object"]["name"] for row in command("check", "-o", "json", "--answer").json["answers"]] == ["bad", "good"]
    monkeypatch.chdir(repository / "deploy")
    answers = command("check", "-o", "json", "--answer").json["answers"]
    assert [row["file"] for row in answers] == ["../other/good.yaml", "bad.yaml"]
    # a person may name what is left out; a hook names whatever has changed
    for path in ("old/warned.yaml", "./old", "old/"):
        answers = command("check", path, "bad.yaml", "-o", "json", "--answer").json["answers"]
        assert [row["object"]["name"] for row in answers] == ["bad", "warned"]
        answers = command("check", path, "bad.yaml", "--allow-empty", "-o", "json", "--answer").json["answers"]
        assert [row["object"]["name"] for row in answers] == ["bad"]
    assert command("default", "old/warned.yaml").code == 0
    assert command("convert", "old/warned.yaml", "--to", "v1beta1").code == 0
    assert [row["object"]["name"] for row in command("check", ".", "-o", "json", "--answer").json["answers"]] == ["bad"]


def test_the_nearest_file_up_to_the_root_counts_and_none_above(repository: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = repository / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "bad.yaml").write_text(BAD)
    project(repository, OFF)
    assert command("check", "deploy/bad.yaml").code == 0
    assert command("check", "inner/bad.yaml").code == 1, "another repository's"
    project(repository / "deploy", "{}\n")
    assert command("check", "deploy/bad.yaml").code == 1, "the nearest one counts alone"
    monkeypatch.chdir(inner)
    assert command("check", "bad.yaml").code == 1
    (inner / ".git").rmdir()
    assert command("check", "bad.yaml").code == 0, "now a folder of the outer repository"


def test_outside_of_a_repository_the_working_directory_is_the_root(files: Files, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(deploy__bad=BAD)
    project(folder, OFF)
    assert command("check", "deploy").code == 0
    monkeypatch.chdir(folder / "deploy")
    assert command("check", "bad.yaml").code == 1
    monkeypatch.chdir("/")
    assert command("check", folder / "deploy").code == 1
    assert command("check", folder).code == 0


def test_a_rule_may_be_off_or_another_level_with_its_reason(repository: Path, command: Command) -> None:
    project(repository, f"paths: [deploy/bad.yaml]\n{OFF}")
    ran = command("check", "-o", "json")
    assert (ran.code, ran.json["findings"]) == (0, [])
    assert [(row["rule"], row["by"], row["reason"]) for row in ran.json["suppressed"]] == [(BAD_RULE, "project", "the gateway sets it")]
    assert command("check").err == f"1 object {BY_DEFAULT}: 1 switched off by the project file\n"
    assert [command("check", "--select", word).code for word in (BAD_RULE, BAD_CODE, BAD_RULE[:7])] == [1, 1, 0], "the flag wins"
    project(repository, f"paths: [deploy/bad.yaml]\nrules: {{{BAD_RULE}: {{severity: warning, reason: x}}}}\n")
    assert (command("check").code, f"warning {BAD_RULE}" in command("check").out) == (0, True)
    assert command("check", "--fail-on", "warning").code == 1
    assert command("check", "--no-project", "deploy/bad.yaml").code == 1


def test_a_validation_wins_over_a_severity_of_unknown_fields(repository: Path, command: Command) -> None:
    project(repository, "rules: {unknown-field: {severity: off, reason: x}}\n")
    (repository / "odd.yaml").write_text(GOOD + "      nothing: 1\n")
    assert [command("check", "odd.yaml", *words).code for words in ([], ["--fail-on", "warning"], ["--validate=strict"])] == [0, 0, 1]


def test_a_rule_that_is_off_needs_no_facts(repository: Path, command: Command) -> None:
    (repository / "grove.yaml").write_text(NEEDS_GROVE)
    assert command("check", "grove.yaml", "--require-facts").code == 5
    project(repository, "rules: {priority-class-requires-grove: {severity: off, reason: x}}\n")
    assert command("check", "grove.yaml", "--require-facts").code == 0


def test_facts_come_from_the_file_where_no_flag_says_them(repository: Path, command: Command) -> None:
    (repository / "grove.yaml").write_text(NEEDS_GROVE)
    (repository / "facts.yaml").write_text("grove: true\noperatorVersion: 1.2.0\n")
    project(repository, "facts: facts.yaml\n")
    for words in (["check"], ["default"]):
        assert command(*words, "grove.yaml", "--require-facts").code == 0, words
    assert command("check", "grove.yaml", "--require-facts", "--facts", os.devnull).code == 5
    assert "facts.yaml" in command("check", "--show-config").out
    (repository / "facts.yaml").write_text("grov: true\n")
    assert [command(*words).code for words in (["check", "grove.yaml"], ["diff", "grove.yaml", "grove.yaml"], ["lsp"])] == [2, 2, 2]
    assert command("check", "grove.yaml").err.startswith("dynamo-webhooks check: .dynamo-webhooks.yaml:1: facts: facts.yaml: ")


def test_baseline_and_outputs(repository: Path, command: Command) -> None:
    project(repository, "paths: [deploy]\nbaseline: known.json\noutputs: {json: out.json, junit: out.xml}\n")
    assert command("check").code == 2, "the baseline isn't there"
    assert command("check", "--update-baseline").code == 0
    ran = command("check")
    assert (ran.code, BAD_RULE in ran.out) == (0, False)
    assert json.loads((repository / "out.json").read_text())["summary"]["suppressed"] == 2
    assert (repository / "out.xml").exists()
    (repository / "out.xml").unlink()
    assert command("check", "-o", "json").json["summary"]["exit"] == 0
    assert not (repository / "out.xml").exists(), "the flag wins"
    project(repository, "paths: [deploy]\noutputs: {json: '-'}\n")
    assert command("check").json["summary"]["exit"] == 1


def test_convert_and_default_read_paths(repository: Path, command: Command) -> None:
    project(repository, "paths: [deploy]\nexclude: [old]\n")
    assert "1 of 1 objects would change" in command("convert", "--to", "v1beta1", "--check", "-q").err
    assert command("convert", "--to", "v1beta1", "--check", "-q").err.count("would change") == 1
    assert "name: bad" in command("default", "-o", "yaml").out
    assert command("default", "--no-project").code == command("convert", "--to", "v1beta1", "--no-project").code == 2


def test_children_are_those_of_the_line_and_facts_of_the_file(repository: Path, command: Command) -> None:
    """On line 1.2 a checkpoint must say which it is; line 1.5 only has fewer children then."""
    graph = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}}
    worker = {"name": "w", "type": "worker", "experimental": {"checkpoint": {"enabled": True}}}
    (repository / "g.yaml").write_text(json.dumps({**graph, "spec": {"components": [worker]}}))
    (repository / "facts.yaml").write_text("{grove: false, lws: false, dra: true, istio: false}")
    project(repository, "line: '1.2'\nfacts: facts.yaml\n")
    words = ("render", "g.yaml")
    assert "not known" not in command(*words).err
    assert [command(*words, *more).code for more in ((), ("--line", "1.5"), ("--no-project",))] == [1, 0, 0]
    project(repository, "line: '1.9'\n")
    assert [command(*words).code, command(*words, "--no-project").code] == [2, 0]


def test_what_holds_is_shown_with_its_origin(repository: Path, command: Command) -> None:
    project(repository, f"paths: [deploy]\nexclude: [old]\nfacts: facts.yaml\n{OFF}baseline: b.json\noutputs: {{sarif: s.sarif}}\n")
    rows = [line.split() for line in command("check", "--show-config", "--facts", "x").out.splitlines()]
    assert rows == [
        ["project", "file", NAME],
        ["paths", "deploy", f"{NAME}:1"],
        ["exclude", "old", f"{NAME}:2"],
        ["line", "-", "default"],
        ["facts", "x", "flag", "--facts"],
        ["rules-from", "-", "default"],
        ["kubernetes", "-", "default"],
        [f"rules.{BAD_RULE}", "off", f"{NAME}:4", "(the", "gateway", "sets", "it)"],
        ["baseline", "b.json", f"{NAME}:5"],
        ["site", "-", "default"],
        ["outputs.text", "-", f"{NAME}:6"],
        ["outputs.sarif", "s.sarif", f"{NAME}:6"],
    ]
    none = command("check", "--no-project", "--show-config", "--ignore", BAD_CODE, "a.yaml").out
    assert [line.split() for line in none.splitlines()][:2] == [["project", "file", "none"], ["paths", "a.yaml", "flag", "PATH"]]
    assert ["ignore", BAD_CODE, "flag", "--ignore"] in [line.split() for line in none.splitlines()]


OUTSIDE = "must be a path in the repository, relative to this file"
KEYS = "paths, exclude, line, facts, rules-from, kubernetes, rules, baseline, site, outputs"
WRONG = [
    ("\npath: [a]\n", "2: path: there is no such key; did you mean paths?"),
    ("nonsense: 1\n", f"1: nonsense: there is no such key; known here: {KEYS}"),
    ("kubernetes: 1.32\n", "1: kubernetes: must be a text that is not empty, got 1.32"),
    ('kubernetes: "1.29"\n', '1: kubernetes: must be a release of Kubernetes from "1.30" on, got 1.29'),
    ("paths: deploy\n", '1: paths: must be a list, got "deploy"'),
    ("paths:\n- deploy\n- 3\n", "3: paths[1]: must be a text that is not empty, got 3"),
    ("rules: {ingress-host-requird: {}}\n", f"1: rules.ingress-host-requird: there is no such rule; did you mean {BAD_RULE}?"),
    (f"rules:\n  {BAD_RULE}: off\n", f"2: rules.{BAD_RULE}: must be a mapping, got false"),
    (f"rules:\n  {BAD_RULE}: {{severity: off}}\n", f"2: rules.{BAD_RULE}: must have a reason"),
    (
        f"rules:\n  {BAD_RULE}:\n    severity: none\n    reason: x\n",
        f'3: rules.{BAD_RULE}.severity: must be one of error, warning, off, got "none"',
    ),
    (
        "outputs: {pdf: a.pdf}\n",
        "1: outputs.pdf: there is no such format; known here: text, json, jsonl, sarif, github, junit, gitlab, markdown",
    ),
    ("a: 1\n---\nb: 1\n", f"3: must be one mapping; known keys: {KEYS}"),
    ("- a\n", f"1: must be one mapping; known keys: {KEYS}"),
    ("paths: [\n", "2:1: a value is required here"),
    ("facts: ../facts.yaml\n", f'1: facts: {OUTSIDE}, got "../facts.yaml"'),
    ("facts: /etc/passwd\n", f'1: facts: {OUTSIDE}, got "/etc/passwd"'),
    ("paths: [out]\n", f'1: paths[0]: {OUTSIDE}, got "out"'),
    ("paths: ['deploy/*']\n", '1: paths[0]: must be a file or folder, got "deploy/*"; exclude takes globs'),
    ("outputs: {text: .git/config}\n", '1: outputs.text: must not be a file of git itself, got ".git/config"'),
    ("baseline: inner/.GIT/config\n", '1: baseline: must not be a file of git itself, got "inner/.GIT/config"'),
    *((f"{key}: pipe\n", f'1: {key}: must be a file or folder, "pipe" is a pipe or device') for key in ("baseline", "facts")),
    ("paths: [pipe]\n", '1: paths[0]: must be a file or folder, "pipe" is a pipe or device'),
    ("outputs: {json: pipe}\n", '1: outputs.json: must be a file or folder, "pipe" is a pipe or device'),
]


@pytest.fixture
def linked(repository: Path) -> Path:
    """The repository with a link out of it, and a pipe."""
    (repository / "out").symlink_to("/etc")
    os.mkfifo(repository / "pipe")
    return repository


@run_each(("text", "message"), WRONG)
def test_what_can_not_be_used_is_one_sentence_with_its_line(linked: Path, command: Command, text: str, message: str) -> None:
    project(linked, text)
    ran = command("check", "deploy")
    assert (ran.code, ran.out, ran.err) == (2, "", f"dynamo-webhooks check: {NAME}:{message}\n")
    assert command("check", "deploy", "--no-project").code == 1


def test_an_empty_file_says_nothing(repository: Path, command: Command) -> None:
    project(repository, "# nothing yet\n")
    assert command("check", "deploy").code == 1
    assert "paths in .dynamo-webhooks.yaml" in command("check").err


def test_a_link_out_of_the_repository_is_not_followed(repository: Path, command: Command, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("home") / "secret.yaml"
    secret.write_text(BAD)
    (repository / "deploy" / "link.yaml").symlink_to(secret)
    project(repository, "paths: [deploy]\n")
    ran = command("check")
    assert (ran.code, "deploy/link.yaml: is a link out of the repository" in ran.err) == (4, True)
    assert "link.yaml" not in ran.out
    (repository / NAME).unlink()
    (repository / NAME).symlink_to(secret)
    assert command("check", "deploy").err == f"dynamo-webhooks check: {NAME}: must lie in the repository, and is a link out of it\n"


def _large(file: Path) -> None:
    with file.open("wb") as out:
        out.truncate(2**30)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "must be a file, is a pipe or device"),
        (Path.mkdir, "must be a file, is a folder"),
        (_large, "must be at most 1 MiB long, got 1024 MiB"),
    ],
)
@pytest.mark.parametrize("words", [("check", "deploy"), ("default", "deploy"), ("convert", "--to", "v1beta1", "deploy")])
def test_what_is_no_file_of_a_fit_size_is_not_read(
    repository: Path, command: Command, make: Callable[[Path], None], message: str, words: tuple[str, ...]
) -> None:
    make(repository / NAME)
    ran = command(*words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"dynamo-webhooks {words[0]}: {NAME}: {message}\n")
    assert command(*words, "--no-project").code != 2


def test_a_name_that_is_a_hyphen_is_a_file(repository: Path, command: Command) -> None:
    (repository / "-").write_text(BAD)
    project(repository, "paths: ['-']\n")
    assert [row["file"] for row in command("check", "-o", "json", "--answer").json["answers"]] == ["./-"]


def test_it_runs_nothing_and_writes_nothing(repository: Path) -> None:
    project(repository, f"paths: [deploy]\nexclude: [x]\n{OFF}")
    done = run(repository, COMMAND, "check", "-q")
    assert (done.returncode, done.stderr) == (0, b"")


@run_each("text", [text for text, _ in WRONG[:9]])
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    check = jsonschema_rs.Draft202012Validator(load("project"))
    assert not check.is_valid(yaml.safe_load(text))


def test_the_schema_takes_what_the_reader_takes(repository: Path) -> None:
    check = jsonschema_rs.Draft202012Validator(load("project"))
    text = f"paths: [deploy]\nexclude: [a]\nfacts: f\n{OFF}baseline: b\noutputs: {{text: '-', sarif: s.sarif}}\n"
    project(repository, text)
    assert main(["check", "--show-config"]) == 0
    assert check.is_valid(yaml.safe_load(text))
    assert check.is_valid(None)
