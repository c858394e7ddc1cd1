"""Pages show the examples of rules as the line of their rule has the objects."""

import pytest
import yaml

from dynamo_webhooks.policies.catalogue import find_rule
from tools.manual.rules import list_twins


@pytest.mark.parametrize("name", ["checkpoint-gate", "checkpoint-layout-unsupported"])
def test_pages_show_blocks_as_the_line_of_their_rule_has_them(name: str) -> None:
    rule = find_rule(name)
    assert rule is not None
    blocks = [yaml.safe_load(block) for example in list_twins(rule) for block in filter(None, example)]
    services = [service for block in blocks for service in block["spec"]["services"].values()]
    checkpoints = [checkpoint for each in services if (checkpoint := each.get("checkpoint")) is not None]
    assert checkpoints
    assert all("enabled" in checkpoint for checkpoint in checkpoints)
