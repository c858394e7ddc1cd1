"""The same words give the same bytes, whatever order hashes have: one process a seed runs every offline command over many objects."""

import json
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from dynamo_webhooks.cli.project.keys import FORMATS
from dynamo_webhooks.policies.catalogue import list_declared
from tests.cli.check.alone import FORBIDDING, run
from tests.policies.examples import parse

SEEDS: Final = ("0", "1", "random")
EACH: Final = 9  # of the rules' examples
ALL: Final = """
import json
from dynamo_webhooks.cli.main import main

for words in json.loads(sys.argv[1]):
    print("=", *words, flush=True)
    print("=", *words, file=sys.stderr, flush=True)
    print("= ended with", main(words), flush=True)
"""
FACTS: Final = ("--set-fact", "operatorVersion=1.2.0", "--set-fact", "grove=true")
COMMANDS: Final[list[list[str]]] = [
    *(["check", "new", "--old", "old", "--answer", "-o", form, *FACTS] for form in FORMATS),
    ["check", "new", "--validate=strict", "-v", "--require-facts"],
    ["convert", "new", "--to", "v1beta1", "-v"],
    ["convert", "new", "--to", "v1alpha1"],
    ["convert", "--fields", "DynamoGraphDeployment"],
    *(["default", "new", "-o", form, *FACTS] for form in ("text", "json", "diff", "patch", "yaml")),
    *(["diff", "old", "new", "-o", form, *FACTS] for form in ("text", "json")),
    *(["render", "graph.yaml", "-o", form, *FACTS] for form in ("yaml", "json")),
    *(["rules", "-o", form] for form in ("text", "json", "markdown")),
    ["explain", "restart-order-unknown", "--examples"],
    ["explain", "spec.services.*.failover", "-o", "json"],
    ["explain", "DynamoGraphDeployment"],
    ["schema", "DynamoGraphDeployment"],
    ["crds"],
    ["config"],
    ["completion", "zsh"],
    ["version"],
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Objects that find many rules, some of them with an older form, and a graph to be rendered."""
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
    blocks = [(rule, block) for rule in list_declared() for block in (*rule.bad, *rule.good)][::EACH]
    for number, (rule, block) in enumerate(blocks):
        example = parse(block, rule.kinds[0], rule.name)
        kind, _, version = example.kind.partition("/")
        review = example.review()
        for place, obj in (("new", review.object), ("old", review.old)):
            if obj:
                named = {
                    **obj,
                    "apiVersion": f"nvidia.com/{version}",
                    "kind": kind,
                    "metadata": {**obj.get("metadata", {}), "name": f"n{number}"},
                }
                (tmp_path / place / f"{number}.yaml").write_text(yaml.safe_dump(named))
    services = {
        f"part-{number}": {"componentType": "worker", "replicas": number, "envs": [{"name": "A", "value": "b"}]} for number in range(7)
    }
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g", "namespace": "n"}}
    (tmp_path / "graph.yaml").write_text(yaml.safe_dump({**graph, "spec": {"services": services}}))
    return tmp_path


def test_every_command_prints_the_same_bytes(folder: Path) -> None:
    runs = [run(folder, FORBIDDING + ALL, json.dumps(COMMANDS), PYTHONHASHSEED=seed) for seed in SEEDS]
    assert [done.returncode for done in runs] == [0, 0, 0], runs[0].stderr[-2000:]
    codes = re.findall(r"^= ended with (\d+)$", runs[0].stdout.decode(), re.MULTILINE)
    assert len(codes) == len(COMMANDS)
    wrong = [words for words, code in zip(COMMANDS, codes, strict=True) if code not in ("0", "1", "5")]
    assert wrong == [], runs[0].stderr[-2000:]
    for done in runs[1:]:
        assert done.stdout.splitlines(keepends=True) == runs[0].stdout.splitlines(keepends=True)
        assert done.stderr.splitlines(keepends=True) == runs[0].stderr.splitlines(keepends=True)
