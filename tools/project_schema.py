"""Writes `cli/commands/schema/project.schema.json`, what a project file may say (`--check` fails when it is stale)."""

import json
import sys
from typing import Any, Final

from dynamo_webhooks.api.wording import URL
from dynamo_webhooks.cli.console.kubernetes import RELEASE
from dynamo_webhooks.cli.project import keys
from dynamo_webhooks.cli.project.discover import NAME
from dynamo_webhooks.cli.project.reports import FORMATS
from dynamo_webhooks.policies.catalogue import list_all
from tools.written import ROOT, update

FILE: Final = ROOT / "cli" / "commands" / "schema" / "project.schema.json"
_TEXT: Final = {"type": "string", "minLength": 1}
_PATTERNS: Final = {"type": "array", "items": _TEXT}
_LINE: Final = {"enum": [*keys.LINES, *map(float, keys.LINES)]}
_SEVERITY: Final = {
    "type": "object",
    "required": ["severity", "reason"],
    "additionalProperties": False,
    "properties": {
        # a decoder of YAML 1.1 reads off as false
        "severity": {"description": "What its findings are; off: they do not count.", "enum": [*keys.SEVERITIES, False]},
        "reason": {"description": "Why, for the next reader of the file.", **_TEXT},
    },
}


def project_schema() -> str:
    """Returns what the schema of the project file must hold."""
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
    rules = {rule.name: rule.title for rule in list_all()}
    severities = _mapping({name: {"description": title, "$ref": "#/$defs/severity"} for name, title in sorted(rules.items())})
    severities["patternProperties"] = {f"^{keys.USER}": {"description": "A rule of rules-from.", "$ref": "#/$defs/severity"}}
    shapes: dict[str, dict[str, Any]] = {
        keys.PATHS: _PATTERNS,
        keys.INSIDE: _PATTERNS,
        keys.GLOBS: _PATTERNS,
        keys.PATH: _TEXT,
        keys.URL: {"type": "string", "pattern": f"^{URL.pattern}$"},
        keys.KUBERNETES: {"type": "string", "pattern": f"^{RELEASE.pattern}$"},
        keys.LINE: _LINE,
        keys.RULES: severities,
        keys.OUTPUTS: _mapping({form: {"description": f"Where the report as {form} goes.", **_TEXT} for form in FORMATS}),
    }
    return shapes[shape]


def _mapping(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def main(arguments: list[str]) -> int:
    """Writes the file, or with `--check` says that it is stale; returns the exit code."""
    return update({FILE: project_schema().encode()}, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
