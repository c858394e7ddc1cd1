"""The pages of docs/: those that are made are complete, those by people have the parts that they must have, and links lead somewhere.

Outputs of commands in pages are made anew, everything else stays as people wrote it.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.cli.commands.completion.candidates import list_actions
from dynamo_webhooks.cli.commands.policy.options import EXAMPLES
from dynamo_webhooks.cli.console.program import COMMANDS, PROGRAM
from dynamo_webhooks.policies.catalogue import find_rule, list_all, list_declared, list_rules
from dynamo_webhooks.policies.checks import CHECKS
from dynamo_webhooks.policies.rule_sections import format_diff
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE
from tests.rows import run_each
from tools import pages
from tools.demo import PATH
from tools.manual.console import PageError, TerminalError, refresh, terminal
from tools.manual.rules import FILES, make_rule_pages, show_example

ROOT: Final = Path(__file__).parents[3]
DOCS: Final = ROOT / "docs"
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCED: Final = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def test_stale_missing_and_left_over_pages_are_found_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "pages", lambda: {"a.md": "a\n", "rules/b.md": "b\n", "rules/c.md": "c\n"})
    (tmp_path / "rules").mkdir()
    (tmp_path / "a.md").write_text("a\n")
    (tmp_path / "by-hand.md").write_text("mine\n")
    (tmp_path / "rules" / "b.md").write_text("old\n")
    (tmp_path / "rules" / "gone.md").write_text("gone\n")
    assert pages.main(["--check"], tmp_path) == 1
    messages = [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert messages == ["b.md is stale", "c.md is stale", "gone.md is left over"]
    assert (tmp_path / "rules" / "b.md").read_text() == "old\n"
    assert pages.main([], tmp_path) == 0
    left = {file.stem: file.read_text() for file in tmp_path.rglob("*.md")}
    assert left == {"a": "a\n", "b": "b\n", "c": "c\n", "by-hand": "mine\n"}
    assert pages.main(["--check"], tmp_path) == 0


@pytest.mark.parametrize(
    "error", [PageError("ls has no end"), TerminalError("x: fails with an internal error"), FileNotFoundError("docs/ci.md")]
)
def test_pages_that_cannot_be_made_are_told_in_a_sentence_and_nothing_is_written(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> dict[str, str]:
        raise error

    monkeypatch.setattr(pages, "pages", fail)
    assert pages.main([], tmp_path) == 1
    assert (capsys.readouterr().err, [*tmp_path.iterdir()]) == (f"the pages can't be made: {error}\n", [])


def test_every_rule_default_and_check_has_a_page_with_its_parts() -> None:
    made = make_rule_pages()
    assert set(made) == {f"rules/{rule.name}.md" for rule in list_all()}
    for rule in list_all():
        page = made[f"rules/{rule.name}.md"]
        assert all(text in page for text in (rule.code, rule.title, rule.why, (find_rule(rule.name) or rule).fix)), rule.name
        blocks = (*rule.bad, *rule.good) if rule.is_default else [format_diff(*each) for each in rule.examples]
        assert all(block in page for block in blocks), rule.name
        assert all(f"`{fact}`" in page for fact in rule.needs), rule.name
        assert (f"ignore[{rule.name}] reason" in page) is not rule.is_default
        if rule.difference:
            assert rule.difference.because in page or any(other.name == rule.name and not other.difference for other in list_declared())


def test_every_check_shows_what_it_prints_of_a_file() -> None:
    # the first needs a flag, the last two a cluster
    assert {check.name for check in CHECKS} - set(FILES) == {
        "checkpoint-ref-other-kind",
        "conversion-loss",
        "namespace-missing",
        "object-conflict",
    }
    for check in CHECKS:
        page = (DOCS / "rules" / f"{check.name}.md").read_text()
        assert (f" {check.name} ({check.code}) [" in page) is (check.name in FILES)


def test_a_file_without_the_finding_is_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES, "unknown-field", FILES["legacy-kind"])
    with pytest.raises(PageError, match="has no such finding"):
        show_example("unknown-field")


@pytest.mark.parametrize("line", ["1.6", "1.7"])
def test_the_table_of_an_upgrade_has_rules_that_the_release_adds_and_the_latest_page_all_of_them(line: str) -> None:
    page = (DOCS / f"moving-to-{line}.md").read_text()
    table, named = page.partition("## What is refused")[2].partition("\n## ")[0], r"\]\(rules/([\w-]+)\.md\)"
    rules, checks = {rule.name: rule.lines[0] for rule in list_rules()}, {check.name for check in CHECKS}
    assert {name for name in re.findall(named, table) if rules.get(name) != line} <= checks
    if line == NEWEST:
        assert {name for name, since in rules.items() if since == line} <= set(re.findall(named, page))


def _options(name: str) -> set[str]:
    return {option for action in list_actions(name) for option in action.option_strings}


@run_each("name", list(COMMANDS))
def test_every_command_has_a_page_with_examples_flags_and_exit_codes(name: str) -> None:
    page = (DOCS / "commands" / f"{name}.md").read_text()
    assert [option for option in _options(name) - {"--help"} if option not in page] == []
    _, examples, of_flags = re.split(r"^## (?:Examples|Flags)$", page, flags=re.MULTILINE)
    assert re.search(rf"^```+(?:console|sh)\n.*\b{PROGRAM} {name}\b", examples, re.MULTILINE)
    codes = set(re.findall(r"^\| (\d+) \|", of_flags.partition("## Exit codes")[2], re.MULTILINE))
    known = set(re.findall(r"^\| (\d+) \|", (DOCS / "commands.md").read_text(), re.MULTILINE))
    assert {"0", "2", "70"} <= codes <= known


def _pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in listed]


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def _links(page: Path) -> Iterator[str]:
    for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCED.sub("", page.read_text()))):
        if not link.startswith(("http://", "https://")):
            yield link


def test_every_link_leads_somewhere_and_the_index_of_docs_names_every_page_once() -> None:
    count = 0
    for page in _pages():
        for link in _links(page):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page.relative_to(ROOT)}: {link}"
            if anchor:
                assert anchor in _anchors(target), f"{page.relative_to(ROOT)}: {link}"
            count += 1
    assert count > 300
    named = [link for link in _links(DOCS / "README.md") if not link.startswith("..")]
    assert sorted(named) == sorted(file.name for file in DOCS.glob("*.md") if file.name != "README.md")


def test_no_page_names_a_command_or_flag_that_does_not_exist() -> None:
    flags = {name: _options(name) for name in COMMANDS}
    count = 0
    for page in _pages():
        for name, rest in re.findall(rf"(?:`|^|[ /]){PROGRAM} ([a-z]+)\b([^`\n|>#]*)", page.read_text(), re.MULTILINE):
            if name not in COMMANDS and not rest.strip().startswith("-"):
                continue  # the program's name in a sentence
            assert name in COMMANDS, f"{page.relative_to(ROOT)}: {name}"
            unknown = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)) - flags[name]
            assert not unknown, f"{page.relative_to(ROOT)}: {name} {unknown}"
            count += 1
    assert count > 100


def test_the_examples_that_people_are_told_to_use_do_what_the_pages_say(command: Command) -> None:
    examples = DOCS / "examples"
    accepted = command("check", str(examples / "graph.yaml"), "--set-fact", "grove=false", "--fail-on", "warning")
    assert (accepted.code, "1 object checked" in accepted.err) == (0, True), accepted
    refused = command("review", str(examples / "review.json"), "--path", PATH)
    assert (refused.code, "spec.components[0].replicas: must be 0 or more, got -1 [replicas-non-negative]" in refused.out) == (1, True)
    assert f"--data @docs/examples/review.json \\\n  https://127.0.0.1:9443{PATH}\n" in (DOCS.parent / "README.md").read_text()
    assert "kubectl apply -f docs/examples/graph.yaml\n" in (DOCS / "try.md").read_text()


def test_example_policies_pass_their_cases_and_are_rules(files: Files, command: Command) -> None:
    """Of docs/own-rules.md, which names all that the command knows."""
    page = (DOCS / "own-rules.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert set(re.findall(r"^\| `([a-z-]+)` \| ", page, re.MULTILINE)) >= set(EXAMPLES)
    named = {match[1]: text for text in blocks if (match := re.match(r"# (policies/\S+)\.yaml\n", text))}
    assert len(named) == 6
    folder = files(**{name.replace("/", "__"): text for name, text in named.items()})
    ran = command("policy", "test", "policies")
    assert (ran.code, "6 cases: 6 passed, 0 failed" in ran.err) == (0, True), ran
    (project,) = (text for text in blocks if text.startswith("rules-from:"))
    (folder / ".dynamo-webhooks.yaml").write_text(project)
    rules = [row["name"] for row in command("rules", "-o", "json").json if row["code"] == "USER"]
    assert sorted(rules) == ["user/images-allowed", "user/replica-limit", "user/team-label"]
    cases = yaml.safe_load((folder / "policies/replica-limit.cases.yaml").read_text())
    (folder / "graph.yaml").write_text(yaml.safe_dump(cases["deny"][0]["object"]))
    findings = command("check", "graph.yaml", "--select", "user/", "-o", "json").json["findings"]
    assert {row["rule"] for row in findings} >= {"user/replica-limit"}
    assert "spec.services[worker].replicas" in {row["path"] for row in findings}


PARTS: dict[str, Callable[[], str]] = {"table": lambda: "| made |\n"}


def test_outputs_are_replaced_and_the_rest_stays_byte_for_byte() -> None:
    page = (
        "# Title  \n\n<!-- file: a/bad.yaml -->\n```yaml\n" + BAD + "```\n\nText.\n```console\n$ dynamo-webhooks check a -q\nold output\n"
        "more of it\n$ echo $?\n```\n\n\n```sh\n$ not run\n```\nend without a line end"
    )
    made = refresh(page, PARTS)
    head, _, tail = page.partition("old output\nmore of it\n")
    message = "spec.services[worker].ingress.host: must name a host while the ingress is enabled, got nothing"
    assert made == f"{head}a/bad.yaml:10:7 error {BAD_RULE} (DYN202): {message}\n" + tail.replace("$ echo $?", "$ echo $?\n1")
    assert refresh(made, PARTS) == made


def test_a_session_keeps_its_files_until_a_fresh_one_begins() -> None:
    page = "<!-- run: echo one > x -->\n```console\n$ cat x\n```\n<!-- fresh -->\n```console\n$ ls\n$ echo a | tr a b\n```\n"
    assert refresh(page, PARTS) == page.replace("$ cat x\n", "$ cat x\none\n").replace("a b\n", "a b\nb\n")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("```console\n$ ls\n", "```console has no end"),
        ("<!-- made: table -->\nx\n", "has no end"),
        ("<!-- made: nothing -->\n<!-- end -->\n", "no generator has that name"),
        ("```console\n$ printf '```\\n'\n```\n", "one backtick more"),
    ],
)
def test_a_page_that_does_not_fit_together_is_named(page: str, sentence: str) -> None:
    with pytest.raises(PageError, match=sentence):
        refresh(page, PARTS)


def test_a_longer_fence_holds_a_shorter_one_and_made_parts_are_written_between_their_marks() -> None:
    page = "<!-- made: table -->\nold\n\n<!-- end -->\nafter\n"
    assert refresh(page, PARTS) == "<!-- made: table -->\n\n| made |\n\n<!-- end -->\nafter\n"
    page = "````console\n$ printf '```\\nx\\n```\\n'\n````\n"
    assert refresh(page, PARTS) == "````console\n$ printf '```\\nx\\n```\\n'\n```\nx\n```\n````\n"


def test_a_terminal_leaves_the_process_as_it_was_and_shows_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    before, here = dict(os.environ), Path.cwd()
    with terminal() as session:
        session.write("bad.yaml", BAD)
        own = session.run("dynamo-webhooks check bad.yaml")
        assert (session.code, "\033" in own) == (1, False)
        assert own.endswith("1 object checked for operator 1.6 (the default; --line names another): 1 error\n")
        assert session.run("dynamo-webhooks check bad.yaml | cat") == own  # the same through a shell
        assert session.run("dynamo-webhooks nonsense") == "dynamo-webhooks: unknown command nonsense; dynamo-webhooks --help lists all\n"
        assert session.code == 2
        with pytest.raises(TerminalError, match="where the session's folder is"):
            session.run("pwd")
    assert (dict(os.environ), Path.cwd()) == (before, here)
