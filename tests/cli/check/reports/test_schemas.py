"""Every report against its format's schema, with thousands of findings, with one of everything, and as the command prints it."""

import json
from typing import Any

import jsonschema_rs

from dynamo_webhooks.cli.commands.check.reports import github, junit, sarif
from dynamo_webhooks.cli.commands.check.reports import json as machine
from dynamo_webhooks.cli.commands.check.reports.text import format_report
from dynamo_webhooks.cli.commands.schema.outputs import load, names
from dynamo_webhooks.cli.console import exits
from dynamo_webhooks.cli.validation.levels import CEL, COMMENT, CONVERSION, DECODE, POLICIES, SCHEMA
from tests.cli.check.reports.official import complaints, ours, parsed_junit, read_commands
from tests.cli.check.reports.official import sarif as sarif_judge
from tests.cli.check.reports.results import everything, many
from tests.cli.sizes import by_day_and_night
from tests.rows import run_each


@by_day_and_night("count", 3_000, 30_000)
def test_many_findings_are_valid_in_every_format(count: int) -> None:
    result = many(count)
    log = json.loads(sarif.document(result, 1))
    assert complaints(sarif_judge(), log) == []
    results = log["runs"][0]["results"]
    assert len(results) == len({entry["partialFingerprints"][sarif.FINGERPRINT] for entry in results}) == count + len(result.suppressed)
    root = parsed_junit(junit.document(result, "warning"))
    assert sum(1 for _ in root.iter("failure")) == count
    assert sum(1 for _ in root.iter("testcase")) == len(result.checked)
    document = json.loads(machine.document(result, 1))
    assert complaints(ours("check"), document) == []
    assert len(document["findings"]) == document["summary"]["errors"] + document["summary"]["warnings"] == count
    rows = [json.loads(line) for line in machine.lines(result, 1).splitlines()]
    assert [row for row in rows if not ours("check-lines").is_valid(row)] == []
    assert [row["type"] for row in rows].count("finding") == count
    read = read_commands(github.format_commands(result))
    assert (len(read), {annotation.level for annotation in read}) == (count, {"error", "warning"})


def test_everything_that_can_happen_is_valid_in_every_format() -> None:
    result = everything()
    log = json.loads(sarif.document(result, 70))
    assert complaints(sarif_judge(), log) == []
    document = json.loads(machine.document(result, 70))
    assert complaints(ours("check"), document) == []
    assert all(document[key] for key in document), "the example has one of everything"
    # objects, others, errors, warnings, faults, rules that were not evaluated, suppressed findings, unreadable inputs, exit code
    assert [*document["summary"].values()] == [2, 0, 1, 1, 1, 2, 2, 3, 70]
    values = [*document["findings"][0].values()]
    assert values[:9] == ["a.yaml", 1, 4, 5, "spec.modelName", "ingress-host-required", "DYN202", "error", "policies"]
    assert values[9:12] == [{"kind": "DynamoModel", "namespace": "llm", "name": "m"}, "must be something else", "Write something else"]
    assert [(note["rule"], note["flag"]) for note in document["notEvaluated"]] == [
        ("policies", ""),
        ("priority-class-requires-grove", "--set-fact grove=true"),
    ]
    assert [(error["file"], error["line"]) for error in document["unreadable"]] == [("", 0), ("b.yaml", 2), ("c", 0)]
    rows = [json.loads(line) for line in machine.lines(result, 70).splitlines()]
    assert [complaints(ours("check-lines"), row) for row in rows] == [[]] * len(rows)
    types = ["finding", "notEvaluated", "unreadable", "suppressed", "answer", "unreachable", "passedOver", "summary"]
    assert [*dict.fromkeys(row["type"] for row in rows)] == types
    parsed_junit(junit.document(result, "error"))
    assert read_commands(github.format_commands(result))
    assert format_report(result, colour=False, quiet=False)


def _properties(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [field for part in schema for field in _properties(part)]
    if not isinstance(schema, dict):
        return []
    return [*schema.get("properties", {}).values(), *(field for part in schema.values() for field in _properties(part))]


@run_each("name", names())
def test_our_schemas_are_schemas_and_describe_every_field(name: str) -> None:
    schema = load(name)
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    fields = _properties(schema) if name.startswith("check") else []
    assert all("description" in field or "$ref" in field or "const" in field for field in fields)


def test_the_schema_knows_every_stage_and_code() -> None:
    schema = load("check")
    stages = (COMMENT, DECODE, SCHEMA, CEL, POLICIES, CONVERSION)
    assert schema["$defs"]["stage"]["enum"] == list(stages)
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert set(schema["$defs"]["summary"]["properties"]["exit"]["enum"]) == codes - {exits.INTERRUPTED}
