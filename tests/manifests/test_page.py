"""docs/install.md and docs/migration.md name only what there is."""

import argparse
import re
from typing import Any, Final

import yaml

from dynamo_webhooks.api.operator.configuration import leaves
from dynamo_webhooks.cli.commands.migrate import command
from tests.manifests.environment import ROOT

PAGE: Final = (ROOT / "docs" / "install.md").read_text()
MIGRATION: Final = (ROOT / "docs" / "migration.md").read_text()
VALUES: Final[dict[str, Any]] = yaml.safe_load((ROOT / "manifests" / "chart" / "values.yaml").read_text())


def test_the_values_that_it_names_are_values_of_the_chart() -> None:
    sections = "webhook|controllerManager|reconciler|metricsService|monitoring|namespaceRestriction|migrate"
    named = set(re.findall(rf"`((?:{sections})\.[A-Za-z.]+)(?:=[^`]*)?`", PAGE + MIGRATION))
    assert len(named) >= 11
    for name in named:
        found: Any = VALUES
        for part in name.split("."):
            assert part in found, name
            found = found[part]


def test_the_keys_of_the_configuration_that_it_names_exist() -> None:
    named = set(re.findall(r"`((?:certificates|serving)\.[A-Za-z]+)`", PAGE))
    assert len(named) >= 2
    for name in named:
        assert tuple(name.split(".")) in {path[:2] for path, _ in leaves()}, name


def test_the_overlays_that_it_names_exist_and_none_is_forgotten() -> None:
    named = set(re.findall(r"overlays/([a-z-]+)", PAGE))
    # what other overlays are made with is no way to install
    assert named == {folder.name for folder in (ROOT / "manifests" / "overlays").iterdir()} - {"provided"}


def test_the_flags_of_migrate_that_it_names_exist() -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    spans = re.findall(r"`([^`\n]+)`|^(dynamo-webhooks migrate .*)$", MIGRATION, re.MULTILINE)
    texts = [one or other for one, other in spans if (one or other).startswith(("--", "migrate ", "dynamo-webhooks migrate "))]
    named = {flag for text in texts for flag in re.findall(r"--[a-z-]+", text)}
    assert len(named) >= 9
    assert named - {"--all"} <= {flag for action in parser._actions for flag in action.option_strings}
