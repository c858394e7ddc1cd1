"""Sentences of the schema's errors: each shape that the walk makes has one, and none repeats the server's."""

from typing import Any

from dynamo_webhooks.api.paths import MISSING
from dynamo_webhooks.api.walk.errors import FieldError, Reason
from dynamo_webhooks.api.walk.structure import structure_errors
from dynamo_webhooks.cli.validation.schema_messages import SchemaMessage, explain_schema_error, suggest_quotes
from tests.rows import run_each

LONG = "x" * 500
CASES: list[tuple[dict[str, Any], Any, SchemaMessage]] = [
    ({"minimum": 2}, 1, SchemaMessage("must be 2 or more, got 1", "Write 2 or more")),
    ({"minimum": 2, "exclusiveMinimum": True}, 2, SchemaMessage("must be greater than 2, got 2", "Write more than 2")),
    ({"maximum": 2}, 3, SchemaMessage("must be 2 or less, got 3", "Write 2 or less")),
    ({"maximum": 2, "exclusiveMaximum": True}, 2, SchemaMessage("must be less than 2, got 2", "Write less than 2")),
    ({"enum": ["Always", "Never"]}, "always", SchemaMessage('must be one of "Always", "Never", got "always"', 'Write "Always"', "Always")),
    ({"enum": ["Always", "Never"]}, "Alway s on", SchemaMessage('must be one of "Always", "Never", got "Alway s on"', 'Write "Always"')),
    ({"enum": ["a", "b"]}, "zzz", SchemaMessage('must be one of "a", "b", got "zzz"', "Write one of these")),
    ({"enum": [True]}, False, SchemaMessage("must be true, got false", "Write true")),
    ({"maxLength": 3}, "abcd", SchemaMessage("must have at most 3 characters, got 4", "Shorten it to 3 characters")),
    ({"minLength": 1}, "", SchemaMessage("must not be empty", "Write a value, or leave the field out")),
    ({"minLength": 3}, "ab", SchemaMessage("must have at least 3 characters, got 2", "Write 3 characters or more")),
    ({"pattern": "^[a-z0-9-]+$"}, "My Name", SchemaMessage("must match '^[a-z0-9-]+$', got \"My Name\"", 'Write "my-name"')),
    ({"pattern": "^[0-9]+$"}, "My", SchemaMessage("must match '^[0-9]+$', got \"My\"", "Write a text of this form")),
    ({"minItems": 2}, [1], SchemaMessage("must have at least 2 items, got 1", "Write 2 or more")),
    ({"maxItems": 1}, [1, 2], SchemaMessage("must have at most 1 items, got 2", "Keep 1 of them at most")),
    ({"minProperties": 1}, {}, SchemaMessage("must have at least 1 items, got 0", "Write 1 or more")),
    ({"type": "string"}, 5, SchemaMessage("must be of type string, got integer", "Put the value in quotes")),
    ({"type": "string"}, MISSING, SchemaMessage("must be given", "Add the field")),
    ({"enum": ["a", "b"]}, LONG, SchemaMessage(f'must be one of "a", "b", got "{LONG[:78]}…', "Write one of these")),
    ({"type": "string", "format": "date-time"}, "x", SchemaMessage('must be of type date-time, got "x"')),
]


@run_each(("node", "value", "wanted"), CASES)
def test_each_error_of_the_walk_has_a_sentence(node: dict[str, Any], value: Any, wanted: SchemaMessage) -> None:
    held = {} if value is MISSING else {"f": value}
    (error,) = structure_errors(held, {"type": "object", "properties": {"f": node}, "required": ["f"]})
    assert explain_schema_error(error, value) == wanted


def test_the_switch_of_a_checkpoint_says_what_line_1_2_meant_without_it() -> None:
    path = ("spec", "components", 0, "experimental", "checkpoint", "enabled")
    assert explain_schema_error(FieldError(path, "", Reason.REQUIRED, "Required value"), MISSING).fix.startswith(
        "Write enabled: true, which"
    )


@run_each(
    ("wanted", "value", "fix"),
    [
        ("integer", " 12 ", "Write 12, without quotes"),
        ("integer", "1.5", ""),
        ("integer", "--5", ""),
        ("integer", "9" * 5000, ""),
        ("boolean", "False", "Write false, without quotes"),
        ("boolean", "yes", ""),
        ("string", True, "Put the value in quotes"),
        ("string", [], ""),
        ("object", "x", ""),
    ],
)
def test_a_scalar_of_another_type_may_lack_quotes_or_have_too_many(wanted: str, value: Any, fix: str) -> None:
    assert suggest_quotes(wanted, value) == fix
