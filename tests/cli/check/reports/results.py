"""Results of runs that never were: as many findings as a test wants, of every kind that a report must be able to say."""

from typing import Any

from dynamo_webhooks.cli.commands.check.result import (
    BASELINE,
    COMMENT,
    CheckedObject,
    CheckResult,
    SuppressedFinding,
    make_empty_result,
    sort_result,
)
from dynamo_webhooks.cli.objects.manifest import Identity
from dynamo_webhooks.cli.validation import levels
from dynamo_webhooks.cli.validation.finding import DuplicateFinding, LocatedFinding, NotEvaluated
from dynamo_webhooks.cli.validation.levels import ERROR, FAULT, POLICIES, SCHEMA, WARNING
from dynamo_webhooks.cli.validation.server_response import ServerResponse
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Position, Source

RULES = (
    ("ingress-host-required", "DYN202"),
    ("warn-dynamo-namespace", "DYN901"),
    ("schema-mismatch", "DYN004"),
    ("unknown-field", "DYN003"),
)
LEVELS = (ERROR, WARNING)
A_FILE = 100  # findings of one file
AN_OBJECT = 10  # findings of one object


def reported(**fields: object) -> LocatedFinding:
    """A finding; what isn't given is ordinary."""
    usual = {
        "rule": RULES[0][0],
        "code": RULES[0][1],
        "level": ERROR,
        "stage": POLICIES,
        "source": Source("a.yaml", "a: b\n"),
        "position": Position(1, 4, 5),
        "identity": Identity("DynamoModel", "llm", "m"),
        "path": "spec.modelName",
        "message": "must be something else",
        "fix": "Write something else",
    }
    return LocatedFinding(**{**usual, **fields})  # type: ignore[arg-type]  # the test names the fields


def assemble_result(**parts: Any) -> CheckResult:
    """A result of these parts, sorted; the others are empty."""
    return sort_result(make_empty_result()._replace(**parts))


def many(count: int) -> CheckResult:
    """A result of that many findings in files of a hundred, some of them suppressed beside; every object is named, a clean one last."""
    findings: list[LocatedFinding] = []
    checked: list[CheckedObject] = []
    sources: list[Source] = []
    for number in range(count):
        if number % A_FILE == 0:
            sources.append(Source(f"folder/file {number // A_FILE:04}.yaml", "key: value\n" * 3 * A_FILE))
        identity = Identity("DynamoGraphDeployment", "llm", f"graph-{number // AN_OBJECT}")
        line = 3 * (number % A_FILE) + 1
        if number % AN_OBJECT == 0:
            checked.append(CheckedObject(sources[-1], line, identity, "CREATE"))
        rule, code = RULES[number % len(RULES)]
        level = LEVELS[number % len(LEVELS)]
        findings.append(reported(rule=rule, code=code, level=level, source=sources[-1], position=Position(line, 6, 11), identity=identity))
    clean = Source("clean.yaml", "a: b\n")
    checked.append(CheckedObject(clean, 1, Identity("DynamoModel", "", "clean"), "UPDATE"))
    hidden = [SuppressedFinding(finding, COMMENT if number % 2 else BASELINE, "known") for number, finding in enumerate(findings[::50])]
    return assemble_result(findings=findings, checked=checked, suppressed=hidden)


def everything() -> CheckResult:
    """A small result with one of each thing that can happen."""
    source = Source("a.yaml", "a: b\n")
    identity = Identity("DynamoModel", "llm", "m")
    where = (source, 1, identity, "CREATE")
    comment = reported(rule="unused-ignore", code="DYN007", level=WARNING, stage=levels.COMMENT, identity=None, path="")
    return assemble_result(
        findings=[
            reported(source=source, also=(DuplicateFinding("schema-mismatch", "DYN004", SCHEMA, "spec.modelName", "must be another"),)),
            comment,
            reported(level=FAULT, rule="schema-rule", code="DYN005", fix=""),
        ],
        not_evaluated=[
            NotEvaluated(
                "priority-class-requires-grove", "DYN106", source, 1, identity, "the fact grove is not known", "--set-fact grove=true"
            ),
            NotEvaluated("policies", "", source, 1, identity, "the object can't be read into its type", ""),
        ],
        unreadable=[InputError("a value must stand here", "b.yaml", 2, 3), InputError("is a folder", "c"), InputError("is nothing")],
        checked=[CheckedObject(*where), CheckedObject(source, 9, identity, "UPDATE")],
        suppressed=[
            SuppressedFinding(reported(path="spec"), COMMENT, "agreed"),
            SuppressedFinding(reported(path="status"), BASELINE, "in the baseline"),
        ],
        answers=[
            ServerResponse(*where, 201, "", "", "", ("one", "two")),
            ServerResponse(source, 9, identity, "UPDATE", 422, "Invalid", "is invalid", "schema", (), (("spec.a", "must be b"),)),
        ],
        unreachable=["the cluster did not answer"],
        passed=[InputError("must not hold comments; it does not name nvidia.com, and is skipped", "tsconfig.json", 2, 3)],
    )
