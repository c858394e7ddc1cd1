"""Writes `policies/index.json`, what every rule declares: `python -m tools.rule_index`; `--check` fails when it is stale."""

import json
import sys
from pathlib import Path
from typing import Any

from dynamo_webhooks.policies import catalogue
from dynamo_webhooks.policies.rule import Rule
from tools.written import update


def text() -> str:
    """What the file must hold: one line a module and a rule."""
    modules = ",\n".join(f"{json.dumps(name)}: {size}" for name, size in sorted(catalogue.measure_modules().items()))
    rows = ",\n".join(json.dumps(_row(rule)) for rule in catalogue.import_all())
    return f'{{"modules": {{\n{modules}}},\n"rules": [\n{rows}]}}\n'


def _row(rule: Rule) -> dict[str, Any]:
    attribute = next(name for name, value in vars(sys.modules[rule.module]).items() if value is rule)
    row = {**rule.declared(), "attribute": attribute, "where": dict(rule.where), "on": sorted(rule.on)}
    return {name: row[name] for name in sorted(row)}


def main(arguments: list[str]) -> int:
    """Writes the file, or with `--check` says that it is stale; returns the exit code."""
    return update({Path(catalogue.INDEX): text().encode()}, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
