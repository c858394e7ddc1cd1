"""Writes `cli/schema/project.schema.json`, what a project file may say; `--check` fails when it is stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from dynamo_webhooks.cli.check.outputs import FORMATS
from dynamo_webhooks.cli.check.record import OWN_RULES
from dynamo_webhooks.cli.project import keys
from dynamo_webhooks.cli.project.found import NAME
from dynamo_webhooks.policies.catalogue import declared

FILE: Final = Path(__file__).resolve().parent.parent / "cli" / "schema" / "project.schema.json"
_TEXT: Final = {"type": "string", "minLength": 1}
_SEVERITY: Final = {
    "type": "object",
    "required": ["severity", "reason"],
    "additionalProperties": False,
    "properties": {
        # a decoder of YAML 1.1 reads off as false
        "severity": {"description": "What its findings are; off: they do not count.", "enum": [*keys.SEVERITIES, False]},
        "reason": {"description": "Why, for whoever reads the file next.", **_TEXT},
    },
}


def text() -> str:
    """What the file must hold."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{NAME}, the project file of dynamo-webhooks",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {key.name: {"description": key.means, **_shape(key.shape)} for key in keys.KEYS},
        "$defs": {"severity": _SEVERITY},
    }
    return json.dumps(schema, indent=2) + "\n"


def _shape(shape: str) -> dict[str, Any]:
    rules = {rule.name: rule.title for rule in declared()} | {rule.name: rule.title for rule in OWN_RULES}
    shapes: dict[str, dict[str, Any]] = {
        keys.PATHS: {"type": "array", "items": _TEXT},
        keys.GLOBS: {"type": "array", "items": _TEXT},
        keys.PATH: _TEXT,
        keys.PROFILE: {"enum": [*keys.PROFILES, 1.2]},
        keys.LINE: {"enum": [*keys.LINES, *map(float, keys.LINES)]},
        keys.RULES: _mapping({name: {"description": title, "$ref": "#/$defs/severity"} for name, title in sorted(rules.items())}),
        keys.OUTPUTS: _mapping({form: {"description": f"Where the report as {form} goes.", **_TEXT} for form in FORMATS}),
    }
    return shapes[shape]


def _mapping(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def main(arguments: list[str]) -> int:
    """Writes the file, or with `--check` says that it is stale; returns the exit code."""
    if "--check" not in arguments:
        FILE.write_text(text(), "utf-8")
    elif not FILE.exists() or FILE.read_text("utf-8") != text():
        print("stale: cli/schema/project.schema.json; run make generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
