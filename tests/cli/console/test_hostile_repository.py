"""Each command and each report on a repository whose every string is hostile prints no character that a terminal obeys."""

import json
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.admission.userrules.policy import DESCRIPTION
from tests.cli.conftest import Command, Files
from tests.cli.console.test_control_characters import BAD, FORBIDDEN, GOOD, ODD, RAW, WRITTEN
from tests.cli.repository import Repository
from tests.cli.runners import obeyed
from tests.cli.userrules.samples import GRAPH, binding, policy

REPORTS: Final = ("text", "markdown", "github", "junit", "gitlab", "sarif", "json", "jsonl")
HIDDEN: Final = "\u200b\u200d\ufeff"  # characters of no width
ALL: Final = ODD + HIDDEN
LINE: Final = ALL.translate({10: None, 13: None})
POLICY: Final = "few"
FILE: Final = f"graph{ODD}{HIDDEN}.yaml"
LED: Final = "::stop-commands::x##vso[task.setvariable]y.yaml"  # a file, and a path that names none
COMMANDS: Final = (
    *(("check", ".", "-o", form, "--answer") for form in REPORTS),
    *(("check", "graphs", "--color", "always", "-v"), ("check", "graphs", "--summary"), ("check", "graphs", "--show-settings")),
    *(("check", "graphs", "-q"), ("check", "graphs", "--changed-since", ALL), ("check", "graphs", "--against", "HEAD", "-o", "markdown")),
    *(("rules",), ("rules", "-o", "json"), ("rules", "--kind", ALL)),
    *(
        ("explain", f"user/{POLICY}", "--examples"),
        ("explain", f"user/{POLICY}", "-o", "json"),
        ("explain", f"refused [user/{POLICY}] {ALL}"),
    ),
    *(("policy", "test"), ("policy", "test", "-v"), ("policy", "test", "policies"), ("policy", "new", ALL), ("policy", ALL)),
    *(("test", "cases"), ("test", "cases", "-v"), ("test", "cases", "-o", "json"), ("test", "cases", "-o", "junit")),
    *(("diff", "HEAD", "."), ("diff", f"refs/heads/{ALL}", "."), ("diff", "graphs/good.yaml", f"graphs/{FILE}", "-o", "json")),
    *(("default", "graphs", "-o", form) for form in ("text", "json", "patch", "diff")),
    *(("convert", "graphs", "--to", "v1beta1", "-o", form) for form in ("yaml", "json")),
    *(("convert", "graphs", "--to", "v1beta1", "--check")),
    *(("render", "graphs/good.yaml", "-o", "json"), ("render", "graphs/good.yaml"), ("render", f"graphs/{FILE}")),
    *(("config", "--config", "configuration.yaml", "--lenient-config", "-o", form) for form in ("text", "yaml", "json")),
    *(("review", "review.json"), ("review", FILE), ("schema", ALL), ("crds", "--kind", ALL), ("version",), ("facts", ALL)),
    *(("completion", ALL), ("completion", "bash"), ("certs", "inspect", FILE), ("migrate", ALL), ("doctor", "--context", ALL)),
    *((ALL,), ("check", f"--{ALL}"), ("check", "graphs", f"--set-fact={ALL}"), ("check", "graphs", "--project", FILE)),
    *(("check", "graphs", "--baseline", "baseline.json"), ("check", "graphs", "--facts", "baseline.json")),
    *((*words, LED) for words in (("check",), ("check", "-q"), ("check", "--answer", "--color", "always"), ("check", "-o", "markdown"))),
    *((*words, LED) for words in (("convert", "--check", "--to", "v1beta1"), ("default",), ("render",))),
    *((*words, f"{LED}.") for words in (("check",), ("render",), ("convert", "--to", "v1beta1"), ("explain",), ("test",))),
    *(("diff", "graphs/good.yaml", LED), (LED,), (f"--{LED}",), ("check", LED, f"--set={LED}"), ("check", "unread")),
)


@pytest.fixture
def hostile(files: Files) -> Path:
    """A repository with odd characters wherever it may hold some."""
    made = yaml.safe_load(policy(name=POLICY))
    made["metadata"] |= {"annotations": {DESCRIPTION: ALL, f"x{ALL}": ALL}, "labels": {"a": ALL}}
    computed = {"message": f"few{LINE}", "messageExpression": f"'few' + {json.dumps(LINE)}"}
    made["spec"]["validations"] = [
        {"expression": "object.spec.components.size() < 1", **computed},
        {"expression": "object.metadata.name == ''", "message": LINE},
    ]
    strange = {**made, "metadata": {"name": f"strange{ALL}"}}
    document = f"# {RAW}\n{yaml.safe_dump(made)}{binding(POLICY)}"
    cases = {sort: [{"name": f"case{ALL}", "message": LINE, "object": yaml.safe_load(GOOD)}] for sort in ("allow", "deny")}
    folder = files(
        graphs__good=GOOD.replace("nvidia.com/v1alpha1", f"nvidia.com/v1alpha1 # {RAW}"),
        graphs__chat=GRAPH,
        policies__few=document,
        **{"policies__few.cases": yaml.safe_dump(cases)},
        strangers__policy=yaml.safe_dump(strange),
        cases__x=BAD,
        unread__a=f"nvidia.com: {RAW} c: d\n",
        configuration=f'"k{WRITTEN}": "{WRITTEN}"\nlogging: {{level: "{WRITTEN}"}}\n',
    )
    (folder / "graphs" / FILE).write_text(BAD)
    (folder / "cases" / "x.yaml").rename(folder / "cases" / "deny.x.yaml")
    for name in (FILE, LED):
        (folder / name).write_text(BAD)
    (folder / "review.json").write_text(json.dumps({"kind": ALL, "apiVersion": ALL, "request": {"uid": ALL, ALL: ALL}}))
    (folder / "baseline.json").write_text(json.dumps({"version": ALL, "findings": [{ALL: ALL, "reason": ALL, "file": ALL}], ALL: ALL}))
    (folder / ".dynamo-webhooks.yaml").write_text("rules-from: [policies]\n")
    git = Repository(folder)
    git.commit()
    git("branch", "odd\u202ebranch\u200b")
    (folder / "graphs" / "good.yaml").write_text(GOOD.replace("componentType: worker", "componentType: worker, replicas: 7"))
    return folder


def _assert_plain(text: str, *, painted: bool = False) -> None:
    for line in text.split("\n"):
        shown = line.replace("\x1b[", "") if painted else line
        assert not FORBIDDEN.search(shown.replace("\t", " ")), ascii(line)
        assert not any(character in shown for character in HIDDEN), ascii(line)
        assert not obeyed(line), ascii(line)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: ascii(" ".join(words)))
def test_nothing_is_printed_that_a_terminal_obeys(hostile: Path, command: Command, words: tuple[str, ...]) -> None:
    ran = command(*words)
    assert ran.code != 70
    _assert_plain(ran.out, painted="always" in words)
    _assert_plain(ran.err)


@pytest.mark.parametrize("project", [f'rules-from: ["{WRITTEN}"]', f'"k{WRITTEN}": 1', f'rules: {{"{WRITTEN}": {{level: "{WRITTEN}"}}}}',
    f'baseline: "{WRITTEN}"', f'facts: "{WRITTEN}"', "rules-from: [strangers]", f'set-facts: {{"{WRITTEN}": "{WRITTEN}"}}'])  # fmt: skip
@pytest.mark.parametrize("words", [("check", "graphs"), ("rules",), ("explain", "user/few"), ("policy", "test"), ("diff", "HEAD", ".")])
def test_a_hostile_project_is_told_about_plainly(hostile: Path, command: Command, project: str, words: tuple[str, ...]) -> None:
    (hostile / ".dynamo-webhooks.yaml").write_text(project)
    ran = command(*words)
    assert ran.code != 70
    _assert_plain(ran.out)
    _assert_plain(ran.err)


def test_what_a_policy_says_is_shown_as_escapes(hostile: Path, command: Command) -> None:
    assert r"\x1b]0;x\x07\u202e" in command("explain", f"user/{POLICY}").out
    assert r"\x1b]0;x\x07\u202e" in command("rules").out


def test_a_document_is_cleaned_on_its_way_to_a_terminal_only(hostile: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("convert", "graphs/good.yaml", "--to", "v1alpha1")
    (hostile / "graphs" / "good.yaml").write_text(f"# {RAW}\n{GRAPH}")
    written = command(*words).out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    _assert_plain(command(*words).out)
    assert RAW in written
