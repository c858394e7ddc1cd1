"""No text that is made inert has a line that a CI runner obeys, and JSON and YAML keep their values.

What the commands print of a repository with such texts: test_hostile_repository.py. How runners read lines: actions/runner
(ActionCommand.cs), azure-pipelines-agent (Command.cs), GitLab's sections of a log.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.cli.console.escaping import JSON, encode_json, escape_commands, find_command
from dynamo_webhooks.cli.rewrite.emit import emit_json, emit_yaml
from tests.cli.conftest import Command, Files
from tests.cli.runners import obeyed
from tests.rows import run_each

# a terminal's title, its bell, text from right to left, red; commands of GitHub (two kinds), Azure, TeamCity and GitLab
ODD: Final = "\x1b]0;x\x07\u202e\x9b31m\n ::stop-commands::x##[b]##vso[c]d##teamcity[e]\rsection_start:1:x\r\x1b[0K"
# the same in double quotes of YAML
WRITTEN: Final = r"\e]0;x\a\u202e\x9b31m\n ::stop-commands::x##[b]##vso[c]d##teamcity[e]\rsection_start:1:x\r\e[0K"
RAW: Final = "\u202e\u2066"  # what YAML takes as it is
FORBIDDEN: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BAD: Final = f"""\
# comment {RAW}
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: "g{WRITTEN}"
  namespace: "n{WRITTEN}"
  annotations: {{"k{WRITTEN}": v, nvidia.com/dynamo-kube-discovery-mode: "m{WRITTEN}"}}
spec:
  backendFramework: "vllm{WRITTEN}"  # {RAW}
  "unknown{WRITTEN}": "y{WRITTEN}"
  services:
    "w{WRITTEN}": {{componentType: "worker{WRITTEN}", replicas: -1, "q{WRITTEN}": z, volumeMounts: [{{name: "v{WRITTEN}"}}]}}
    x: {{componentType: worker, replicas: "t{WRITTEN}"}}
"""
GOOD: Final = f"""\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: g, namespace: n, annotations: {{k: "v{WRITTEN}"}}}}
spec: {{envs: [{{name: A, value: "B{WRITTEN}"}}], services: {{w: {{componentType: worker}}}}}}
"""


@pytest.fixture
def folder(files: Files) -> Path:
    """Files with odd characters wherever a file may hold some."""
    return files(good=GOOD, bad=BAD)


def test_json_and_yaml_hold_the_very_same_values_and_no_command(folder: Path, command: Command) -> None:
    report = command("check", "bad.yaml", "-o", "json").json
    assert {finding["object"]["name"] for finding in report["findings"]} == {f"g{ODD}"}
    for words in ("convert good.yaml --to v1beta1 -o json", "convert good.yaml --to v1beta1 -o yaml", "default good.yaml -o yaml"):
        printed = command(*words.split()).out
        assert not any(map(obeyed, printed.split("\n")))
        assert yaml.safe_load(printed)["metadata"]["annotations"]["k"] == f"v{ODD}"


DOCUMENT: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
  annotations:
    note: |
      ::stop-commands::x
spec:
  services:
    w: {componentType: worker}
"""


@pytest.mark.parametrize("runner", ["GITHUB_ACTIONS", "TF_BUILD", "GITLAB_CI", "TEAMCITY_VERSION", ""])
@pytest.mark.parametrize(
    "words",
    [
        ("convert", "script.yaml", "--to", "v1beta1"),
        ("default", "script.yaml", "-o", "diff", "--set-fact=operatorVersion=1.5.0"),
        ("check", "script.yaml", "--fix", "--diff"),
    ],
    ids=" ".join,
)
def test_a_document_that_a_runner_would_obey_is_not_printed(
    folder: Path, command: Command, words: tuple[str, ...], runner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_ACTIONS", "TF_BUILD", "GITLAB_CI", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)
    (folder / "script.yaml").write_text(DOCUMENT.replace("componentType", "componenttype") if "--fix" in words else DOCUMENT)
    if runner:
        monkeypatch.setenv(runner, "true")
    ran = command(*words)
    if runner:
        assert (ran.code, ran.out) == (2, "")
        assert "is not printed, since the CI runner would obey it: ::stop-commands::x; redirect it into a file" in ran.err
    else:
        assert "::stop-commands::x\n" in ran.out


def test_a_document_in_a_file_is_what_its_author_wrote(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (folder / "script.yaml").write_text(DOCUMENT)
    with Path("out").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "dynamo_webhooks.cli.main", "convert", "script.yaml", "--to", "v1beta1"], stdout=out, check=False
        )
    assert (done.returncode, "      ::stop-commands::x\n" in Path("out").read_text()) == (0, True)


PARTS = ("::", ":", "##", "#", "[", "vso", "teamcity", "section_start:1", "section_end:1")
BETWEEN = (" ", "\t", "\n", "\r", "\x1b[1m", "\u00a0", "a", "\\")
TEXTS = st.lists(st.sampled_from(PARTS + BETWEEN), max_size=12).map("".join)


def lines(text: str) -> list[str]:
    """The lines that a runner reads, without the colours that they begin with; those inside a command keep it from being one."""
    return [re.sub(r"^(?:\s|\x1b\[1m)+", "", line) for line in re.split("[\r\n]", text)]


@given(TEXTS)
def test_no_line_is_obeyed_and_nothing_else_changes(text: str) -> None:
    made = escape_commands(text)
    assert not any(map(obeyed, lines(made)))
    assert made.replace(r"\x3a", ":").replace(r"\x23", "#").replace(r"\x73", "s") == text
    assert (made != text) == (find_command(text) is not None)
    assert escape_commands(made) == made


@settings(max_examples=50)
@given(st.recursive(TEXTS, lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(TEXTS, inner, min_size=1, max_size=3)))
def test_data_keeps_its_values(data: object) -> None:
    for text in (encode_json(data), emit_json(data), escape_commands(json.dumps(data), JSON)):
        assert json.loads(text) == data
        assert not any(map(obeyed, text.split("\n")))
    text = escape_commands(emit_yaml(data))
    assert yaml.safe_load(text) == data
    assert not any(map(obeyed, lines(text)))


@run_each("part", ["\n", " ", "#", ":", "##a", "\x1b[1", "\n ", "section_start:", "##[", "\n::"])
def test_it_costs_as_much_as_the_text_is_long(part: str) -> None:
    began = process_time()
    assert escape_commands("::##" + part * (200_000 // len(part)))
    assert process_time() - began < 5.0


def test_the_place_of_a_command_is_found() -> None:
    assert find_command("a::b\n\n  ::stop-commands::x\n") == (3, "::stop-commands::x")
    assert find_command("a: ##vso[b]\n") == (1, "##vso[b]")
