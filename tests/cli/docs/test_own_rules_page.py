"""The examples of docs/own-rules.md: policies that pass their own cases, and are rules of a project."""

import re
from pathlib import Path

import yaml

from dynamo_webhooks.cli.commands.policy.command import EXAMPLES
from tests.cli.conftest import Command, Files

PAGE = (Path(__file__).parents[3] / "docs" / "own-rules.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_pass_their_cases_and_are_rules(files: Files, command: Command) -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \| ", PAGE, re.MULTILINE)) >= set(EXAMPLES)
    named = {found[1]: text for text in BLOCKS if (found := re.match(r"# (policies/\S+)\.yaml\n", text))}
    assert len(named) == 6
    folder = files(**{name.replace("/", "__"): text for name, text in named.items()})
    ran = command("policy", "test", "policies")
    assert (ran.code, "6 cases: 6 passed, 0 failed" in ran.err) == (0, True), ran
    (project,) = (text for text in BLOCKS if text.startswith("rules-from:"))
    (folder / ".dynamo-webhooks.yaml").write_text(project)
    rules = [row["name"] for row in command("rules", "-o", "json").json if row["code"] == "USER"]
    assert sorted(rules) == ["user/images-allowed", "user/replica-limit", "user/team-label"]
    cases = yaml.safe_load((folder / "policies/replica-limit.cases.yaml").read_text())
    (folder / "graph.yaml").write_text(yaml.safe_dump(cases["deny"][0]["object"]))
    found = command("check", "graph.yaml", "--select", "user/", "-o", "json").json["findings"]
    assert {row["rule"] for row in found} >= {"user/replica-limit"}
    assert "spec.services[worker].replicas" in {row["path"] for row in found}
